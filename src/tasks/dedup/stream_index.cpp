// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/stream_index.hpp"

#include <algorithm>
#include <bit>
#include <ranges>

#include "device/cpu/place.hpp"
#include "ops/near_duplicates/pair_bounds.hpp"
#include "ops/near_duplicates/units.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

using namespace near_duplicates_detail;

constexpr std::uint64_t longest = (std::uint64_t{1} << 31) - 1;

template <class Unit>
stream_index::entry describe_units(std::span<const Unit> units) {
    if (units.size() > longest) throw usage_error("a document has 2^31 units or more");
    stream_index::entry made;
    std::array<std::uint8_t, pair_buckets> pairs{};  // not kept: a kilobyte a text
    made.length = static_cast<std::uint32_t>(units.size());
    sketch(units, made.sketch.data(), pairs.data());
    return made;
}

}  // namespace

stream_index::entry stream_index::describe(std::string_view text) const {
    const std::uint64_t offsets[] = {0, text.size()};
    const text_list one{{text.data(), text.size()}, offsets};
    if (unit_ == edit_unit::byte) return describe_units(as_bytes(one).units);
    cpu_place place(context::cpu(1));
    const decoded_texts decoded = decode(place, one);
    return describe_units(decoded.list().units);
}

std::size_t stream_index::shelf_of(std::uint64_t length) {
    if (length < 16) return length;
    const auto shift = static_cast<unsigned>(std::bit_width(length)) - 5;  // what is left has five bits
    return 16 + std::size_t{16} * shift + (length >> shift) - 16;
}

void stream_index::add(std::uint32_t document, const entry& text) {
    const std::size_t at = shelf_of(text.length);
    if (at >= shelves_.size()) shelves_.resize(at + 1);
    shelf& s = shelves_[at];
    s.lengths.push_back(text.length);
    s.documents.push_back(document);
    s.sketches.insert(s.sketches.end(), text.sketch.begin(), text.sketch.end());
}

std::vector<std::uint32_t> stream_index::candidates(const entry& text, std::uint32_t before) const {
    constexpr std::size_t at_once = 256;
    const std::uint64_t length = text.length;
    const auto shorter = std::views::iota(std::uint64_t{0}, length);
    const std::uint64_t first = static_cast<std::uint64_t>(
        std::ranges::partition_point(shorter,
                                     [&](std::uint64_t l) { return !lengths_allow(threshold_, l, length); }) -
        shorter.begin());
    const auto longer = std::views::iota(length, longest + 1);
    const std::uint64_t last =
        length + static_cast<std::uint64_t>(
                     std::ranges::partition_point(
                         longer, [&](std::uint64_t l) { return lengths_allow(threshold_, length, l); }) -
                     longer.begin());  // the first that is too long
    std::vector<std::uint32_t> found;
    std::array<std::uint32_t, at_once> norms{};
    for (std::size_t at = shelf_of(first); at < shelves_.size() && at <= shelf_of(last - 1); ++at) {
        const shelf& s = shelves_[at];
        for (std::size_t begin = 0; begin < s.documents.size(); begin += at_once) {
            const std::size_t count = std::min(at_once, s.documents.size() - begin);
            unit_norms(text.sketch.data(), s.sketches.data() + begin * unit_buckets, count, norms.data());
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint64_t other = s.lengths[begin + i];
                const std::uint64_t apart = other < length ? length - other : other - length;
                const std::uint32_t d = largest_distance(threshold_, length + other);
                if (apart > d || norms[i] > largest_norm(1, d, apart)) continue;
                if (s.documents[begin + i] < before) found.push_back(s.documents[begin + i]);
            }
        }
    }
    std::ranges::sort(found);
    return found;
}

std::uint64_t stream_index::memory_bytes() const {
    std::uint64_t bytes = shelves_.capacity() * sizeof(shelf);
    for (const shelf& s : shelves_) {
        bytes += 4 * (s.lengths.capacity() + s.documents.capacity()) + s.sketches.capacity();
    }
    return bytes;
}

}  // namespace quern
