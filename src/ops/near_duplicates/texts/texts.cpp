// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/texts/texts.hpp"

#include <algorithm>
#include <numeric>

#include "base/utf8.hpp"
#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::near_duplicates_detail {
namespace {

template <class Sink>
void for_each_unit(std::string_view text, const Sink& sink) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t point = next_utf8(text, at);
        if (point != ill_formed) {
            sink(static_cast<std::uint32_t>(point));
        } else {
            for (std::size_t i = begin; i < at; ++i) sink(0x110000u + static_cast<unsigned char>(text[i]));
        }
    }
}

}  // namespace

unit_list<std::uint8_t> as_bytes(const text_list& texts) {
    return {{reinterpret_cast<const std::uint8_t*>(texts.bytes.data()), texts.bytes.size()}, texts.offsets};
}

namespace {

template <class TextOf>
decoded_texts decode_each(cpu_place& place, std::size_t count, const TextOf& text_of) {
    decoded_texts decoded;
    decoded.offsets.resize(count + 1);
    const std::size_t pieces = count / 256 + 1;
    const auto for_each_text = [&](const auto& work) {
        for_each_piece(place, pieces, [&](std::size_t p) {
            place.ctx().check_stop();
            const item_range mine = piece_of(count, pieces, p);
            for (std::size_t i = mine.begin; i < mine.end; ++i) work(i);
        });
    };
    for_each_text([&](std::size_t i) {
        std::uint64_t units = 0;
        for_each_unit(text_of(i), [&](std::uint32_t) { ++units; });
        decoded.offsets[i + 1] = units;
    });
    for (std::size_t i = 0; i < count; ++i) decoded.offsets[i + 1] += decoded.offsets[i];
    decoded.units = make_array<std::uint32_t>(place, decoded.offsets.back(), "decoded texts");
    for_each_text([&](std::size_t i) {
        std::uint32_t* to = decoded.units.data() + decoded.offsets[i];
        for_each_unit(text_of(i), [&](std::uint32_t unit) { *to++ = unit; });
    });
    return decoded;
}

}  // namespace

decoded_texts decode(cpu_place& place, const text_list& texts) {
    return decode_each(place, texts.size(), [&](std::size_t i) { return texts[i]; });
}

decoded_texts decode(cpu_place& place, const text_list& texts, std::span<const std::uint32_t> chosen) {
    return decode_each(place, chosen.size(), [&](std::size_t i) { return texts[chosen[i]]; });
}

void decode(std::string_view text, std::vector<std::uint32_t>& units) {
    units.clear();
    for_each_unit(text, [&](std::uint32_t unit) { units.push_back(unit); });
}

text_classes::text_classes(cpu_place& place, const sketch_list& sketches, std::uint32_t begin,
                           std::uint32_t end, bool old_are_linked)
    : memory_(place.memory(), array_bytes<std::uint32_t>(3 * (end - begin + std::size_t{1})),
              "groups of equal texts"),
      first_new_(sketches.first_new()),
      any_old_(begin < first_new_) {
    const std::uint32_t n = end - begin;
    const cpu_array<std::uint64_t> keys(place, n, "the hashes of texts");  // the length, and half of the hash
    const cpu_array<std::uint32_t> order(place, n, "texts in order");
    const std::size_t pieces = pieces_for(place, n, 4096);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const item_range mine = piece_of(n, pieces, p);
        for (std::size_t i = mine.begin; i < mine.end; ++i) {
            const auto text = begin + static_cast<std::uint32_t>(i);
            const text_sketch& sketch = sketches[text];
            keys.data()[i] = std::uint64_t{sketch.length} << 32 | sketch.hash >> 32;
            order.data()[i] = text;
        }
    });
    primitives::sort_pairs(place, keys.span(), order.span());  // stable

    const auto are_equal = [&](std::uint32_t a, std::uint32_t b) {
        if (a == b) return true;
        if (old_are_linked && std::max(a, b) < first_new_)
            return sketches[a].first_equal == sketches[b].first_equal;
        return sketches.are_equal(a, b);
    };
    // Texts with one key stay where they are, in the order of their classes.
    const std::span<const std::uint64_t> sorted = keys.span();
    members_.resize(n);
    std::vector<std::vector<std::uint32_t>> begins(pieces);  // of the classes that begin in a piece
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const item_range mine = piece_of(n, pieces, p);
        std::vector<std::uint32_t> rest, others;
        std::size_t i = mine.begin;
        while (i != 0 && i < mine.end && sorted[i] == sorted[i - 1]) ++i;  // of the piece before
        while (i < mine.end) {
            // Texts of one length and nearly always of one hash, nearly always equal.
            std::size_t past_end = i + 1;
            while (past_end < n && sorted[past_end] == sorted[i]) ++past_end;
            rest.assign(order.data() + i, order.data() + past_end);
            while (!rest.empty()) {
                begins[p].push_back(static_cast<std::uint32_t>(i));
                others.clear();
                for (const std::uint32_t text : rest) {
                    if (are_equal(rest.front(), text)) {
                        members_[i++] = text;
                    } else {
                        others.push_back(text);
                    }
                }
                rest.swap(others);
            }
        }
    });
    std::vector<std::size_t> firsts(pieces + 1);
    for (std::size_t p = 0; p < pieces; ++p) firsts[p + 1] = firsts[p] + begins[p].size();
    begins_.resize(firsts[pieces] + 1);
    lengths_.resize(firsts[pieces]);
    for_each_piece(place, pieces, [&](std::size_t p) {
        for (std::size_t i = 0; i < begins[p].size(); ++i) {
            begins_[firsts[p] + i] = begins[p][i];
            lengths_[firsts[p] + i] = static_cast<std::uint32_t>(sorted[begins[p][i]] >> 32);
        }
    });
    begins_.back() = n;
}

class_range window_of(const text_classes& classes, const decimal& threshold, std::uint32_t b) {
    const length_window near_lengths = lengths_near(threshold, classes.length(b));
    const auto lengths = classes.lengths();
    const auto first = std::ranges::lower_bound(lengths, near_lengths.shortest) - lengths.begin();
    if (!classes.any_old()) return {static_cast<std::uint32_t>(first), b};
    const auto last = std::ranges::upper_bound(lengths, near_lengths.longest) - lengths.begin();
    return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
}

std::uint64_t pairs_in_windows(cpu_place& place, const text_classes& classes, const decimal& threshold) {
    const std::size_t pieces = pieces_for(place, classes.size(), 4096);
    std::vector<std::uint64_t> pairs(pieces);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const item_range mine = piece_of(classes.size(), pieces, p);
        std::uint64_t own = 0;
        std::uint32_t first = 0;
        for (auto c = static_cast<std::uint32_t>(mine.begin); c < mine.end; ++c) {
            if (c == mine.begin || classes.length(c) != classes.length(c - 1))
                first = window_of(classes, threshold, c).first;
            own += c - first;
        }
        pairs[p] = own;
    });
    return std::accumulate(pairs.begin(), pairs.end(), std::uint64_t{0});
}

}  // namespace quern::near_duplicates_detail
