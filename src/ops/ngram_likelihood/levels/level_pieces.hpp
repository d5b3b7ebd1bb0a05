// SPDX-License-Identifier: Apache-2.0
// Runs ngram_levels.hpp on a collection of any size: in one piece if the place's memory holds it, otherwise in pieces of
// neighbouring first words, whose rows follow each other. As long as all words fit besides a piece they stay on the place;
// otherwise the host copies each occurrence of a piece with the words that follow it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/ngram_likelihood/levels/ngram_levels.hpp"
#include "ops/ngram_likelihood/rows/documents.hpp"
#include "ops/ngram_likelihood/rows/range_turns.hpp"
#include "primitives/load_balance/load_balance.hpp"
#include "quern/base/error.hpp"

namespace quern::ngram_detail {

/// Words on a place, with their positions, as far as counting needs them.
template <class Place>
struct placed_words {
    array_on<Place, std::uint32_t> words, document_of, firsts;
    array_on<Place, std::uint8_t> left;

    static constexpr std::uint64_t word_bytes = 13;

    occurrence_table table(unsigned stride) const {
        return {words.data(), stride, document_of.data(), firsts.data(), left.data()};
    }
    /// Computes the rest from `words` and the documents' offsets.
    void locate(Place& place, span_on<Place, const std::uint64_t> documents, unsigned order) {
        const std::size_t size = words.size();
        document_of = make_array<std::uint32_t>(place, size, "words");
        firsts = make_array<std::uint32_t>(place, size, "words");
        left = make_array<std::uint8_t>(place, size, "words");
        if (size == 0) return;
        primitives::load_balancing_search<std::uint32_t>(place, documents, document_of.span());
        for_each_item(place, size, count_firsts{documents.data(), document_of.data(), firsts.data()});
        for_each_item(place, size, count_left{documents.data(), document_of.data(), order, left.data()});
    }
};

/// First words [first, last] and the number of their occurrences.
struct word_range {
    std::uint32_t first, last;
    std::uint64_t occurrences;
};

/// Ranges of neighbouring words, at most `max` occurrences in total each. Throws out_of_memory if one word has more.
inline std::vector<word_range> cut_into_ranges(std::span<const std::uint64_t> counts, std::uint64_t max,
                                               std::uint64_t bytes_each) {
    std::vector<word_range> ranges;
    for (std::uint32_t w = 0; w < counts.size(); ++w) {
        if (counts[w] > max)
            throw out_of_memory("the n-grams that begin with one word", counts[w] * bytes_each,
                                max * bytes_each);
        if (ranges.empty() || ranges.back().occurrences + counts[w] > max) ranges.push_back({w, w, 0});
        ranges.back().last = w;
        ranges.back().occurrences += counts[w];
    }
    return ranges;
}

template <class Place>
class level_pieces {
    template <class T>
    using array = array_on<Place, T>;

  public:
    /// `words`: their number. If they are already on the place, the collection need not provide them.
    level_pieces(Place& place, const ngram_collection& collection, std::uint64_t words,
                 const ngram_options& options, const std::function<void(const ngram_rows&)>& sink)
        : place_(place),
          host_(place.ctx()),
          collection_(collection),
          options_(options),
          documents_(array_from(place, collection.documents, "documents")),
          stats_{options,
                 collection.vocabulary,
                 words,
                 collection.documents.empty() ? 0 : collection.documents.size() - 1,
                 documents_.span(),
                 {}},
          take_(sink) {
        for (unsigned n = options.only ? options.order : 1; n <= options.order; ++n)
            totals_.push_back({.n = n});
    }

    /// Whether all words, which already take `bytes_on_device` bytes of the place, can stay there while pieces of them are counted.
    bool words_stay(std::uint64_t bytes_on_device) const {
        const std::uint64_t resident = stats_.words * placed_words<Place>::word_bytes,
                            memory = memory_with(bytes_on_device);
        return stats_.words <= std::numeric_limits<std::uint32_t>::max() &&
               (resident <= memory / 2 ||
                resident + stats_.words * ngram_levels<Place>::item_bytes <= memory);
    }

    /// Call it once. `device_words`: the words, if they are already on the place and can stay.
    void run(ngram_record& record, array<std::uint32_t> device_words = {}) {
        if (stats_.words != 0) count(std::move(device_words));
        record.totals = std::move(totals_);
        record.pieces = std::max<std::uint64_t>(pieces_, 1);
    }

    /// One place's part of the work of several, which all call it for the same words. Nothing is counted and the result is
    /// false if the words do not stay on every place. `record` has only the part of this place.
    bool run_part(ngram_record& record, range_turns& turns, array<std::uint32_t> device_words = {}) {
        const std::uint64_t bytes_on_device = device_words.size() * sizeof(std::uint32_t);
        const bool stay = words_stay(bytes_on_device);
        const std::uint64_t memory = turns.min_of_all(
            stay ? memory_with(bytes_on_device) - stats_.words * placed_words<Place>::word_bytes : 0);
        if (memory == 0) return false;
        if (stats_.words != 0) {
            const placed_words<Place> text = place_words(std::move(device_words));
            const ranges_of_words ranges = cut_for_places(text.words.span(), memory, turns.places());
            std::size_t current = 0;
            const std::function<void(const ngram_rows&)> in_turn = [&](const ngram_rows& rows) {
                turns.give(current, rows);
            };
            work_on(
                ranges, [&](const word_range& range) { return resident_piece(text, range); }, in_turn,
                [&](std::size_t previous) -> std::optional<std::size_t> {
                    if (previous != none) turns.complete(previous);
                    const auto next = turns.begin_next(ranges.size());
                    current = next.value_or(0);
                    return next;
                });
        }
        record.totals = std::move(totals_);
        record.pieces = pieces_;
        return true;
    }

  private:
    using ranges_of_words = std::vector<word_range>;
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    void count(array<std::uint32_t> device_words) {
        const std::uint64_t bytes_on_device = device_words.size() * sizeof(std::uint32_t),
                            memory = memory_with(bytes_on_device);
        if (!words_stay(bytes_on_device)) {
            carried_pieces(memory);
            return;
        }
        const placed_words<Place> text = place_words(std::move(device_words));
        resident_pieces(text, memory - stats_.words * placed_words<Place>::word_bytes);
    }

    placed_words<Place> place_words(array<std::uint32_t> device_words) {
        placed_words<Place> text;
        text.words = device_words.size() != 0 ? std::move(device_words)
                                              : array_from(place_, collection_.words, "words");
        text.locate(place_, documents_.span(), options_.order);
        return text;
    }

    /// Memory for pieces and the words already there, besides the blocks of rows and small data.
    std::uint64_t memory_with(std::uint64_t bytes_on_device) const {
        const std::uint64_t left = place_.memory().left() + bytes_on_device;
        return left / 16 * 15 - row_blocks<Place>::bytes_for(options_.history_counts, left);
    }

    void resident_pieces(const placed_words<Place>& text, std::uint64_t memory) {
        const occurrence_table table = text.table(1);
        constexpr std::uint64_t each = ngram_levels<Place>::item_bytes;
        if (stats_.words <= memory / each) {
            const auto all = [&] {
                auto spots = make_array<std::uint32_t>(place_, stats_.words, "n-grams");
                for_each_item(place_, stats_.words, count_up{spots.data()});
                return spots;
            };
            work_on({{0, collection_.vocabulary, stats_.words}},
                    [&](const word_range&) { return std::pair(table, all()); });
            return;
        }
        const std::vector<word_range> ranges =
            cut_into_ranges(counts_on_device(text.words.span(), memory), memory / (each + 1), each + 1);
        work_on(ranges, [&](const word_range& range) { return resident_piece(text, range); });
    }

    /// The table of words on the place, and the spots of a range.
    std::pair<occurrence_table, array<std::uint32_t>> resident_piece(const placed_words<Place>& text,
                                                                     const word_range& range) {
        auto flags = make_array<std::uint8_t>(place_, stats_.words, "n-grams");
        for_each_item(place_, stats_.words,
                      flag_words{text.words.data(), range.first, range.last, flags.data()});
        auto spots = make_array<std::uint32_t>(place_, range.occurrences, "n-grams");
        primitives::compact_positions<std::uint32_t>(place_, flags.span(), spots.span());
        return {text.table(1), std::move(spots)};
    }

    /// Ranges for several places, about equal: the same at each. A range beyond `memory` is cut further.
    ranges_of_words cut_for_places(span_on<Place, const std::uint32_t> words, std::uint64_t memory,
                                   std::size_t places) {
        constexpr std::uint64_t each = ngram_levels<Place>::item_bytes + 1, ranges_of_place = 6;
        constexpr unsigned group_bits = 16;  // groups of neighbouring words: fewer counters than words
        const unsigned bits = static_cast<unsigned>(std::bit_width(collection_.vocabulary)),
                       shift = std::max(bits, group_bits) - group_bits;
        std::vector<std::uint64_t> counts;
        {
            auto groups = make_array<std::uint32_t>(place_, words.size(), "words");
            for_each_item(place_, words.size(), shift_words{words.data(), shift, groups.data()});
            auto counted = make_array<std::uint64_t>(
                place_, (collection_.vocabulary >> shift) + std::size_t{1}, "words");
            primitives::histogram<std::uint32_t>(place_, groups.span(), counted.span());
            counts = to_host(place_, counted.span());
        }
        const std::uint64_t at_most = words.size() / (ranges_of_place * places) + 1;
        ranges_of_words coarse;
        for (std::uint64_t group = 0; group < counts.size(); ++group) {
            if (coarse.empty() || coarse.back().occurrences + counts[group] > at_most)
                coarse.push_back({static_cast<std::uint32_t>(group << shift), 0, 0});
            coarse.back().last = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(((group + 1) << shift) - 1, collection_.vocabulary));
            coarse.back().occurrences += counts[group];
        }
        ranges_of_words ranges;
        std::vector<std::uint64_t> exact;  // of each word, if needed
        for (const word_range& range : coarse) {
            if (range.occurrences <= memory / each) {
                ranges.push_back(range);
                continue;
            }
            // NOLINTNEXTLINE(bugprone-use-after-move): once, as exact is not empty then
            if (exact.empty()) exact = shift == 0 ? std::move(counts) : counts_on_device(words, memory);
            for (word_range part : cut_into_ranges(
                     std::span(exact).subspan(range.first, range.last - range.first + std::size_t{1}),
                     memory / each, each)) {
                part.first += range.first;
                part.last += range.first;
                ranges.push_back(part);
            }
        }
        return ranges;
    }

    void carried_pieces(std::uint64_t memory) {
        const std::uint64_t each = ngram_levels<Place>::item_bytes + 9 + 4 * std::uint64_t{options_.order};
        const document_table documents(host_, collection_.documents);
        placed_words<Place> text;
        work_on(cut_into_ranges(count_words(), memory / each, each), [&](const word_range& range) {
            text = {};
            text = carry(range, documents);
            auto spots = make_array<std::uint32_t>(place_, range.occurrences, "n-grams");
            for_each_item(place_, range.occurrences, count_up{spots.data()});
            return std::pair(text.table(options_.order), std::move(spots));
        });
    }

    /// Counts piece by piece. piece_of(range) returns the table of a piece and its spots.
    template <class Piece>
    void work_on(const ranges_of_words& ranges, const Piece& piece_of) {
        work_on(ranges, piece_of, take_, [&](std::size_t previous) -> std::optional<std::size_t> {
            const std::size_t next = previous == none ? 0 : previous + 1;
            return next < ranges.size() ? std::optional(next) : std::nullopt;
        });
    }
    /// next(previous range, or `none`) returns the range that is counted next.
    template <class Piece, class Next>
    void work_on(const ranges_of_words& ranges, const Piece& piece_of,
                 const std::function<void(const ngram_rows&)>& take, const Next& next) {
        array<std::uint32_t> distinct;
        if (options_.smoothing == ngram_smoothing::absolute && totals_.front().n == 1) {
            distinct =
                make_array<std::uint32_t>(place_, stats_.document_count, "distinct words of documents");
            for_each_item(place_, stats_.document_count, fill<std::uint32_t>{distinct.data(), 0});
            for (const word_range& range : ranges) {
                auto [table, spots] = piece_of(range);
                ngram_levels<Place>(place_, stats_, table, std::move(spots)).count_distinct(distinct.span());
            }
            stats_.distinct_words = distinct.span();
        }
        row_blocks<Place> blocks(place_, options_.history_counts, stats_.words, take);
        std::vector<std::uint64_t> before{0};  // occurrences of earlier ranges
        for (const word_range& range : ranges) before.push_back(before.back() + range.occurrences);
        for (auto current = next(none); current; current = next(*current)) {
            place_.ctx().report({"count", before[*current], stats_.words, "words"});
            auto [table, spots] = piece_of(ranges[*current]);
            ngram_levels<Place>(place_, stats_, table, std::move(spots)).run(blocks, totals_);
            ++pieces_;
        }
    }

    /// The count of each word, including the unknown one; computed on the place if its memory holds the counters.
    std::vector<std::uint64_t> counts_on_device(span_on<Place, const std::uint32_t> words,
                                                std::uint64_t memory) {
        if (stats_.vocabulary >= memory / sizeof(std::uint64_t) && collection_.words.size() == words.size())
            return count_words();
        auto counts = make_array<std::uint64_t>(place_, std::size_t{collection_.vocabulary} + 1, "words");
        primitives::histogram<std::uint32_t>(place_, words, counts.span());
        return to_host(place_, counts.span());
    }
    std::vector<std::uint64_t> count_words() {
        const std::size_t size = std::size_t{collection_.vocabulary} + 1;
        // One array of counters per thread, while the counters are fewer than the words counted.
        const std::size_t threads =
            std::clamp<std::size_t>(collection_.words.size() / size, 1, host_.threads());
        std::vector<std::vector<std::uint64_t>> of_threads(threads);
        for_each_piece(host_, threads, [&](std::size_t t) {
            of_threads[t].resize(size);
            const auto [first, last] = piece_of(collection_.words.size(), threads, t);
            in_checked_parts(host_.ctx(), first, last, neighbouring_values,
                             [&](std::uint64_t begin, std::uint64_t end) {
                                 for (std::size_t i = begin; i < end; ++i)
                                     ++of_threads[t][collection_.words[i]];
                             });
        });
        for (std::size_t t = 1; t < threads; ++t)
            for (std::size_t w = 0; w < size; ++w) of_threads[0][w] += of_threads[t][w];
        return std::move(of_threads[0]);
    }

    /// The occurrences of a piece with the words that follow them.
    placed_words<Place> carry(const word_range& range, const document_table& table) {
        const unsigned order = options_.order;
        placed_words<Place> made;
        made.words = make_array<std::uint32_t>(place_, range.occurrences * order, "words");
        made.document_of = make_array<std::uint32_t>(place_, range.occurrences, "words");
        made.firsts = make_array<std::uint32_t>(place_, range.occurrences, "words");
        made.left = make_array<std::uint8_t>(place_, range.occurrences, "words");
        std::uint64_t carried = 0;
        constexpr std::uint64_t at_once = std::uint64_t{1} << 20;  // positions processed at a time
        std::vector<std::uint64_t> places;
        std::vector<std::uint32_t> words, documents, firsts;
        std::vector<std::uint8_t> left;
        for (std::uint64_t from = 0; from < stats_.words; from += at_once) {
            place_.ctx().check_stop();
            const std::uint64_t to = std::min(from + at_once, stats_.words);
            find(range, from, to, places);
            words.resize(places.size() * order);
            documents.resize(places.size());
            firsts.resize(places.size());
            left.resize(places.size());
            const std::size_t pieces = pieces_for(host_, places.size(), 1 << 12);
            for_each_piece(host_, pieces, [&](std::size_t p) {
                const auto [begin, end] = piece_of(places.size(), pieces, p);
                for (std::size_t i = begin; i < end; ++i) {
                    const auto where = table.of(places[i]);
                    documents[i] = where.document;
                    firsts[i] = static_cast<std::uint32_t>(places[i] - where.begin);
                    const auto count =
                        static_cast<std::size_t>(std::min<std::uint64_t>(order, where.end - places[i]));
                    left[i] = static_cast<std::uint8_t>(count);
                    std::copy_n(collection_.words.begin() + static_cast<std::ptrdiff_t>(places[i]), count,
                                words.begin() + static_cast<std::ptrdiff_t>(i * order));
                }
            });
            const auto bring = [&]<class T>(const std::vector<T>& values, array<T>& into, std::size_t each) {
                copy_in<T>(place_, values, into.span().subspan(carried * each, values.size()));
            };
            bring(words, made.words, order);
            bring(documents, made.document_of, 1);
            bring(firsts, made.firsts, 1);
            bring(left, made.left, 1);
            carried += places.size();
        }
        return made;
    }

    /// The positions in [from, to) whose words are in a range, ascending.
    void find(const word_range& range, std::uint64_t from, std::uint64_t to,
              std::vector<std::uint64_t>& places) {
        const std::size_t pieces = pieces_for(host_, to - from, 1 << 14);
        std::vector<std::vector<std::uint64_t>> found(pieces);
        for_each_piece(host_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(to - from, pieces, p);
            for (std::uint64_t i = from + begin; i < from + end; ++i)
                if (collection_.words[i] >= range.first && collection_.words[i] <= range.last)
                    found[p].push_back(i);
        });
        places.clear();
        for (const auto& part : found) places.insert(places.end(), part.begin(), part.end());
    }

    Place& place_;
    cpu_place host_;
    const ngram_collection& collection_;
    const ngram_options& options_;
    array<std::uint64_t> documents_;
    level_params<Place> stats_;
    const std::function<void(const ngram_rows&)>& take_;
    std::vector<ngram_totals> totals_;
    std::uint64_t pieces_ = 0;
};

}  // namespace quern::ngram_detail
