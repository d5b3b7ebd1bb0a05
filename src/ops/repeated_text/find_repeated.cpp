// SPDX-License-Identifier: Apache-2.0
// Two sorts beyond memory: by hash, which brings equal parts together, the first one in front; then by position, so that
// texts are compared in their order. A part that differs from the first of its hash may equal a later one of that hash:
// the parts of such hashes, hardly ever any, are scanned again and compared with each other.
#include <algorithm>
#include <unordered_set>

#include "device/progress_meter.hpp"
#include "ops/repeated_text/compared_parts.hpp"
#include "primitives/external_sort/external_sort.hpp"

namespace quern::repeated_text_detail {
namespace {

using sorter = primitives::external_sorter<cpu_place, std::uint64_t, std::uint64_t>;

/// Pairs to be pushed together.
class pair_batch {
  public:
    explicit pair_batch(sorter& to) : to_(to) {
        keys_.reserve(capacity);
        values_.reserve(capacity);
    }
    void add(std::uint64_t key, std::uint64_t value) {
        keys_.push_back(key);
        values_.push_back(value);
        if (keys_.size() == capacity) push();
    }
    void push() {
        to_.push(keys_, values_);
        keys_.clear();
        values_.clear();
    }

  private:
    static constexpr std::size_t capacity = std::size_t{1} << 16;
    sorter& to_;
    std::vector<std::uint64_t> keys_, values_;
};

/// All parts of the given hashes, compared with each other.
std::vector<occurrence> find_hidden(compared_parts& parts, const std::unordered_set<std::uint64_t>& hashes) {
    struct member {
        std::uint64_t hash = 0, position = 0;
    };
    std::vector<member> members;
    parts.scan([&](std::span<const std::uint64_t> found, std::span<const std::uint64_t> positions) {
        for (std::size_t i = 0; i < found.size(); ++i)
            if (hashes.contains(found[i])) members.push_back({found[i], positions[i]});
    });
    std::ranges::sort(members, [&](const member& a, const member& b) {
        if (a.hash != b.hash) return a.hash < b.hash;
        const int order = parts.part_at(a.position).compare(parts.part_at(b.position));
        return order != 0 ? order < 0 : a.position < b.position;
    });
    std::vector<occurrence> hidden;
    std::size_t first = 0;
    for (std::size_t i = 1; i < members.size(); ++i) {
        const bool equal = members[i].hash == members[first].hash &&
                           parts.part_at(members[i].position) == parts.part_at(members[first].position);
        if (equal) {
            hidden.push_back({members[i].position, members[first].position});
        } else {
            first = i;
        }
    }
    std::ranges::sort(hidden, {}, &occurrence::position);
    return hidden;
}

}  // namespace

std::size_t pieces_at_once(const cpu_place& place) {
    return std::size_t{4} * place.threads();
}

std::uint64_t piece_bytes_for(const cpu_place& place, const tuning& tuned, std::uint64_t at_least) {
    if (tuned.piece_bytes != 0) return tuned.piece_bytes;
    constexpr std::uint64_t few = std::uint64_t{1} << 15, many = std::uint64_t{1} << 18;
    const std::uint64_t share = place.ctx().memory_limit() / 256 / place.threads();
    return std::max(std::clamp(share, few, many), at_least);
}

std::vector<occurrence> find_repeated(cpu_place& place, compared_parts& parts,
                                      const std::function<void(std::span<const occurrence>)>& take,
                                      repeated_text_counts& counts) {
    const std::uint64_t memory = std::min(place.memory().left() / 16 * 6, max_sort_bytes);
    const std::uint64_t least = std::min(memory, primitives::external_sort_min_memory);
    sorter by_position(place, memory, {}, least);
    {
        sorter by_hash(place, memory, {}, least);
        parts.scan([&](std::span<const std::uint64_t> hashes, std::span<const std::uint64_t> positions) {
            by_hash.push(hashes, positions);
        });
        counts.candidates = by_hash.record().pairs;
        pair_batch batch(by_position);
        bool any = false;
        std::uint64_t hash = 0, first = 0;
        progress_meter sorted(place.ctx(), "sort", counts.candidates, "parts");
        by_hash.finish([&](std::span<const std::uint64_t> hashes, std::span<const std::uint64_t> positions) {
            for (std::size_t i = 0; i < hashes.size(); ++i) {
                if (any && hashes[i] == hash) {
                    batch.add(positions[i], first);
                } else {
                    any = true;
                    hash = hashes[i];
                    first = positions[i];
                }
            }
            sorted.add(hashes.size());
        });
        batch.push();
        counts.spilled += by_hash.record().bytes_written;
    }
    counts.repeated = by_position.record().pairs;
    std::unordered_set<std::uint64_t> hiding;
    std::vector<std::uint8_t> is_repeated;
    std::vector<occurrence> found;
    progress_meter compared(place.ctx(), "compare", counts.repeated, "parts");
    by_position.finish([&](std::span<const std::uint64_t> positions, std::span<const std::uint64_t> firsts) {
        is_repeated.assign(positions.size(), 0);
        parts.compare(positions, firsts, is_repeated);
        found.clear();
        for (std::size_t i = 0; i < positions.size(); ++i) {
            if (is_repeated[i] != 0) {
                found.push_back({positions[i], firsts[i]});
            } else {
                hiding.insert(parts.hash_at(positions[i]));
            }
        }
        take(found);
        compared.add(positions.size());
    });
    counts.spilled += by_position.record().bytes_written;
    if (hiding.empty()) return {};
    return find_hidden(parts, hiding);
}

}  // namespace quern::repeated_text_detail
