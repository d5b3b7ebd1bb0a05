// SPDX-License-Identifier: Apache-2.0
#include "ops/repeated_text/text_parts.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "device/progress_meter.hpp"

namespace quern::repeated_text_detail {
namespace {

bool has_length(std::string_view part, std::uint32_t length) {
    if (part.size() < length) return false;
    const auto continuing = static_cast<std::uint64_t>(std::ranges::count_if(part, continues));
    return part.size() - continuing >= length;
}

}  // namespace

struct text_parts::piece {
    std::vector<std::uint64_t> hashes, positions;
    std::uint64_t parts = 0;
};

void text_parts::scan_texts(std::uint32_t begin, std::uint32_t end, piece& out) const {
    out.hashes.clear();  // but not their memory
    out.positions.clear();
    out.parts = 0;
    for (std::uint32_t i = begin; i < end; ++i) {
        const std::string_view text = texts_[i];
        for_each_part(text, options_.part, [&](const part_range& range) {
            const std::string_view part = trimmed(text.substr(range.begin, range.end - range.begin));
            ++out.parts;
            if (!has_length(part, options_.min_length)) return;
            out.hashes.push_back(hash_of_bits(hash64(part), tuned_.hash_bits));
            out.positions.push_back(static_cast<std::uint64_t>(part.data() - texts_.bytes.data()));
        });
    }
}

/// Pieces are whole texts.
void text_parts::scan(const take_hashes& take) {
    const std::uint64_t piece_bytes = piece_bytes_for(place_, tuned_, 1);
    progress_meter done(place_.ctx(), "scan", texts_.bytes.size(), "bytes");
    std::vector<std::uint32_t> begins;
    std::vector<piece> pieces;
    counts_.compared = 0;
    const auto size = static_cast<std::uint32_t>(texts_.size());
    for (std::uint32_t next = 0; next < size;) {
        begins.assign(1, next);
        while (next < size && begins.size() <= pieces_at_once(place_)) {
            const std::uint64_t begin = texts_.offsets[next];
            while (next < size && texts_.offsets[next] - begin < piece_bytes) ++next;
            begins.push_back(next);
        }
        pieces.resize(begins.size() - 1);
        for_each_piece(place_, pieces.size(), [&](std::size_t p) {
            scan_texts(begins[p], begins[p + 1], pieces[p]);
            done.add(texts_.offsets[begins[p + 1]] - texts_.offsets[begins[p]]);
        });
        for (const piece& made : pieces) {
            take(made.hashes, made.positions);
            counts_.compared += made.parts;
        }
    }
}

void text_parts::compare(std::span<const std::uint64_t> positions, std::span<const std::uint64_t> firsts,
                         std::span<std::uint8_t> is_repeated) {
    const std::size_t pieces = pieces_for(place_, positions.size(), std::size_t{1} << 10);
    for_each_piece(place_, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(positions.size(), pieces, p);
        paced_checks checks(place_.ctx(), scattered_values);
        for (std::size_t i = begin; i < end; ++i) {
            checks.after(1);
            is_repeated[i] = part_at(positions[i]) == part_at(firsts[i]) ? 1 : 0;
        }
    });
}

std::string_view text_parts::part_at(std::uint64_t position) const {
    const std::uint32_t number = repeated_text_detail::text_at(texts_, position);
    const std::string_view rest = texts_[number].substr(position - texts_.offsets[number]);
    std::uint64_t at = 0;
    part_range part = next_line(rest, at);
    while (options_.part == text_part::paragraph && at < rest.size()) {
        const part_range line = next_line(rest, at);
        if (trimmed(rest.substr(line.begin, line.end - line.begin)).empty()) break;
        part.end = line.end;
    }
    return trimmed(rest.substr(0, part.end));
}

std::uint64_t text_parts::hash_at(std::uint64_t position) const {
    return hash_of_bits(hash64(part_at(position)), tuned_.hash_bits);
}

void text_parts::append_spans(std::uint32_t number, std::span<const occurrence> repeated,
                              std::vector<repeated_span>& spans) const {
    const std::string_view text = texts_[number];
    const std::uint64_t offset = texts_.offsets[number];
    struct cut_part {
        part_range range;
        std::uint64_t part = 0, before = 0, next = 0;  ///< its number, the end before it, the begin after it
    };
    std::vector<cut_part> cut;
    cut.reserve(repeated.size());
    std::uint64_t parts = 0, last_end = 0;
    for_each_part(text, options_.part, [&](const part_range& range) {
        if (!cut.empty() && cut.back().part + 1 == parts) cut.back().next = range.begin;
        if (cut.size() < repeated.size() && offset + range.end > repeated[cut.size()].position)
            cut.push_back({range, parts, parts == 0 ? range.begin : last_end, range.end});
        last_end = range.end;
        ++parts;
    });
    std::uint64_t last_run = parts;  // parts from here on are all cut
    for (std::size_t i = cut.size(); i > 0 && cut[i - 1].part + 1 == last_run; --i) --last_run;
    for (std::size_t i = 0; i < cut.size(); ++i) {
        const bool is_last = cut[i].part >= last_run;
        spans.push_back({.begin = is_last ? cut[i].before : cut[i].range.begin,
                         .end = is_last ? cut[i].range.end : cut[i].next,
                         .text = number,
                         .first = repeated_text_detail::text_at(texts_, repeated[i].first)});
    }
}

}  // namespace quern::repeated_text_detail
