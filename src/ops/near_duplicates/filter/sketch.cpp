// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/sketch.hpp"

#include <algorithm>
#include <atomic>

#include "base/hash.hpp"
#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/near_duplicates/texts/texts.hpp"
#include "quern/base/error.hpp"

namespace quern::near_duplicates_detail {
namespace {

/// Counts saturate at 255.
template <std::size_t Buckets>
void write(const std::array<std::uint32_t, Buckets>& counts, std::uint8_t* to) {
    for (const std::uint32_t count : counts) *to++ = static_cast<std::uint8_t>(std::min(count, 255u));
}

/// unit_bucket() of every byte.
constexpr auto bucket_of_byte = [] {
    std::array<std::uint8_t, 256> buckets{};
    for (unsigned byte = 0; byte < buckets.size(); ++byte)
        buckets[byte] = static_cast<std::uint8_t>(unit_bucket(byte));
    return buckets;
}();

}  // namespace

template <class Unit>
void sketch_units(std::span<const Unit> text, std::uint8_t* to) {
    // Four counts each, by turns: a letter that comes again at once does not wait for its last count.
    constexpr std::size_t turns = 4;
    std::array<std::array<std::uint32_t, unit_buckets>, turns> counts{};
    const auto bucket_of = [](Unit unit) -> unsigned {
        if constexpr (sizeof(Unit) == 1) return bucket_of_byte[unit];
        return unit_bucket(unit);
    };
    std::size_t i = 0;
    for (; i + turns <= text.size(); i += turns)
        for (std::size_t k = 0; k < turns; ++k) ++counts[k][bucket_of(text[i + k])];
    for (; i < text.size(); ++i) ++counts[0][bucket_of(text[i])];
    for (std::size_t k = 1; k < turns; ++k)
        for (std::size_t b = 0; b < unit_buckets; ++b) counts[0][b] += counts[k][b];
    write(counts[0], to);
}

template <class Unit>
void sketch_pairs(std::span<const Unit> text, std::uint8_t* to) {
    std::array<std::uint32_t, pair_buckets> counts{};
    for (std::size_t i = 1; i < text.size(); ++i) ++counts[pair_bucket(text[i - 1], text[i])];
    write(counts, to);
}

template void sketch_units(std::span<const std::uint8_t>, std::uint8_t*);
template void sketch_units(std::span<const std::uint32_t>, std::uint8_t*);
template void sketch_pairs(std::span<const std::uint8_t>, std::uint8_t*);
template void sketch_pairs(std::span<const std::uint32_t>, std::uint8_t*);

}  // namespace quern::near_duplicates_detail

namespace quern {

using namespace near_duplicates_detail;

namespace {

constexpr std::uint64_t max_units = (std::uint64_t{1} << 31) - 1;

text_sketch sketch_text(std::string_view text, edit_unit unit, std::vector<std::uint32_t>& scratch) {
    text_sketch result;
    result.hash = hash64(text);
    std::uint64_t length = text.size();
    if (unit == edit_unit::character) {
        decode(text, scratch);
        length = scratch.size();
        sketch_units<std::uint32_t>(scratch, result.counts.data());
    } else {
        sketch_units<std::uint8_t>({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()},
                                   result.counts.data());
    }
    if (length > max_units) throw usage_error("a document has 2^31 units or more");
    result.length = static_cast<std::uint32_t>(length);
    return result;
}

}  // namespace

text_sketch sketch_text(std::string_view text, edit_unit unit) {
    std::vector<std::uint32_t> scratch;
    return sketch_text(text, unit, scratch);
}

std::vector<text_sketch> sketch_texts(const text_list& texts, std::uint32_t first, edit_unit unit,
                                      const context& ctx) {
    cpu_place place(ctx);
    std::vector<text_sketch> result(texts.size() - std::min<std::size_t>(first, texts.size()));
    const std::size_t pieces = result.size() / 64 + 1;
    for_each_piece(place, pieces, [&](std::size_t p) {
        ctx.check_stop();
        const item_range mine = piece_of(result.size(), pieces, p);
        std::vector<std::uint32_t> scratch;
        for (std::size_t i = mine.begin; i < mine.end; ++i)
            result[i] = sketch_text(texts[first + i], unit, scratch);
    });
    return result;
}

namespace near_duplicates_detail {

sketch_list::sketch_list(cpu_place& place, const text_list& texts, const text_sketches& known, edit_unit unit,
                         std::uint32_t first_new)
    : texts_(texts), known_(known), first_new_(first_new), were_known_(known.size() >= first_new) {
    if (were_known_) {
        check_known(place);
        for (const auto& chunk : known.chunks)
            if (!chunk.empty()) chunks_.push_back(chunk);
    }
    std::size_t count = 0;
    for (const auto& chunk : chunks_) begins_.push_back(static_cast<std::uint32_t>(count += chunk.size()));
    memory_.emplace(place.memory(), array_bytes<text_sketch>(texts.size() - count), "sketches of texts");
    made_ = sketch_texts(texts, static_cast<std::uint32_t>(count), unit, place.ctx());
    if (!made_.empty() || chunks_.empty()) {
        chunks_.emplace_back(made_);
        begins_.push_back(static_cast<std::uint32_t>(count + made_.size()));
    }
    if (!were_known_) link_old_texts(place);
}

void sketch_list::check_known(cpu_place& place) const {
    if (known_.size() > texts_.size()) throw usage_error("there are more sketches than texts");
    std::atomic<bool> is_too_long = false, is_not_linked = false;
    std::uint32_t first = 0;
    for (const auto& chunk : known_.chunks) {
        const std::size_t pieces = pieces_for(place, chunk.size(), 4096);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const item_range mine = piece_of(chunk.size(), pieces, p);
            bool is_long = false, is_unlinked = false;
            for (std::size_t i = mine.begin; i < mine.end; ++i) {
                const auto text = first + static_cast<std::uint32_t>(i);
                is_long |= chunk[i].length > texts_.length(text);
                is_unlinked |= text < first_new_ && chunk[i].first_equal > text;
            }
            if (is_long) is_too_long = true;
            if (is_unlinked) is_not_linked = true;
        });
        first += static_cast<std::uint32_t>(chunk.size());
    }
    if (is_too_long) throw usage_error("a sketch has more units than its text has bytes");
    if (is_not_linked) throw usage_error("the sketch of an old text lacks the first text that is equal");
}

void sketch_list::link_old_texts(cpu_place& place) {
    if (first_new_ == 0) return;
    for (std::uint32_t i = 0; i < first_new_; ++i) made_[i].first_equal = i;
    const text_classes old(place, *this, 0, first_new_, false);
    for (std::uint32_t c = 0; c < old.size(); ++c)
        for (const std::uint32_t text : old.members(c)) made_[text].first_equal = old.text(c);
}

bool sketch_list::are_equal(std::uint32_t a, std::uint32_t b) const {
    const text_sketch &x = (*this)[a], &y = (*this)[b];
    return x.hash == y.hash && x.length == y.length && read(a) == read(b);
}

}  // namespace near_duplicates_detail
}  // namespace quern
