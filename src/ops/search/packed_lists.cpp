// SPDX-License-Identifier: Apache-2.0
#include "ops/search/packed_lists.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cpu/parallel.hpp"
#include "ops/search/postings.hpp"

namespace quern::search_detail {
namespace {

constexpr std::size_t unit = sizeof(packed_unit);

struct packed_list {
    std::vector<packed_block> blocks;
    std::vector<packed_unit> numbers;
    packed_lists::place bounds;

    void append(const char* bytes, std::size_t units) {
        if (units == 0) return;
        const std::size_t at = numbers.size();
        numbers.resize(at + units);
        std::memcpy(numbers.data() + at, bytes, units * unit);
    }

    /// The postings after the last full block.
    void append_tail(packed_block block, const postings_cursor& cursor) {
        std::uint32_t gaps[block_size]{}, extras[block_size]{};
        std::uint64_t next = block.lowest;
        std::uint32_t all_gaps = 0, all_extras = 0;
        for (std::size_t i = 0; i < cursor.documents().size(); ++i) {
            gaps[i] = static_cast<std::uint32_t>(cursor.documents()[i] - next);
            extras[i] = cursor.frequencies()[i] - 1;
            next = std::uint64_t{cursor.documents()[i]} + 1;
            all_gaps |= gaps[i];
            all_extras |= extras[i];
        }
        block.gap_width = static_cast<std::uint8_t>(std::bit_width(all_gaps));
        block.frequency_width = static_cast<std::uint8_t>(std::bit_width(all_extras));
        block.size = static_cast<std::uint8_t>(cursor.documents().size());
        char bytes[2 * packed_bytes(32)];
        pack_block(gaps, block.gap_width, bytes);
        pack_block(extras, block.frequency_width, bytes + packed_bytes(block.gap_width));
        blocks.push_back(block);
        append(bytes, std::size_t{block.gap_width} + block.frequency_width);
    }
};

/// Calls use(cursor) at every block that may have documents in [first, last).
template <class Use>
void for_each_block(const posting_list& list, std::span<const std::uint32_t> document_lengths,
                    std::uint64_t first, std::uint64_t last, Use use) {
    postings_cursor cursor(list, document_lengths);
    if (first != 0) cursor.seek_block(static_cast<std::uint32_t>(first));
    for (; !cursor.done() && cursor.lowest() < last; cursor.next_block()) use(cursor);
}

packed_list pack_list(const posting_list& list, std::span<const std::uint32_t> document_lengths,
                      std::uint64_t first, std::uint64_t last) {
    packed_list result;
    for_each_block(list, document_lengths, first, last, [&](const postings_cursor& cursor) {
        packed_block block{};
        block.lowest = static_cast<std::uint32_t>(cursor.lowest());
        block.last = cursor.last();
        block.at = static_cast<std::uint32_t>(result.numbers.size());
        result.bounds.max_frequency = std::max(result.bounds.max_frequency, cursor.max_frequency());
        result.bounds.min_length = std::min(result.bounds.min_length, cursor.min_length());
        if (cursor.decoded()) {  // only past the full blocks
            result.append_tail(block, cursor);
            return;
        }
        const postings_cursor::packed_numbers packed = cursor.packed();
        block.gap_width = static_cast<std::uint8_t>(packed.gap_width);
        block.frequency_width = static_cast<std::uint8_t>(packed.frequency_width);
        block.size = block_size;
        result.blocks.push_back(block);
        result.append(packed.bytes.data(), packed.bytes.size() / unit);
    });
    result.bounds.blocks = static_cast<std::uint32_t>(result.blocks.size());
    return result;
}

}  // namespace

packed_lists pack_lists(std::span<const posting_list> lists, std::span<const std::uint32_t> document_lengths,
                        std::uint64_t first, std::uint64_t last, const context& ctx) {
    cpu_place place(ctx);
    std::vector<packed_list> made(lists.size());
    const auto each = [&](const auto& work) {
        const std::size_t pieces = pieces_for(place, lists.size(), 1, 64);
        for_each_piece(place, pieces, [&](std::size_t p) {
            ctx.check_stop();
            const auto [begin, end] = piece_of(lists.size(), pieces, p);
            for (std::size_t i = begin; i < end; ++i) work(i);
        });
    };
    each([&](std::size_t i) { made[i] = pack_list(lists[i], document_lengths, first, last); });
    packed_lists all;
    std::uint64_t at = 0;
    for (packed_list& list : made) {
        list.bounds.at = at;
        at += list.blocks.size() + list.numbers.size();
        all.lists.push_back(list.bounds);
    }
    all.units.resize(at);
    each([&](std::size_t i) {
        if (made[i].blocks.empty()) return;
        packed_unit* const to = all.units.data() + made[i].bounds.at;
        std::memcpy(to, made[i].blocks.data(), made[i].blocks.size() * unit);
        std::ranges::copy(made[i].numbers, to + made[i].blocks.size());
        made[i] = {};
    });
    return all;
}

std::uint64_t max_units(const posting_list& list, std::span<const std::uint32_t> document_lengths,
                        std::uint64_t first, std::uint64_t last) {
    constexpr std::uint64_t max_of_tail = 1 + 2 * packed_bytes(32) / unit;  // its entry and its numbers
    if (first == 0 && last >= document_lengths.size()) return list.bytes.size() / unit + 1 + max_of_tail;
    std::uint64_t units = 0;
    for_each_block(list, document_lengths, first, last, [&](const postings_cursor& cursor) {
        units += cursor.decoded() ? max_of_tail : 1 + cursor.packed().bytes.size() / unit;
    });
    return units;
}

}  // namespace quern::search_detail
