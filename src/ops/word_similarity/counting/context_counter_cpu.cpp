// SPDX-License-Identifier: Apache-2.0
// Counting on the CPU, without sorting pairs.
// - A segment is inverted: the positions of every word (a counting sort of the positions).
// - Then each word is counted separately, because all its contexts are around its positions. A row of counters, one for
//   each word, stays in the cache. Flags mark its touched lines, so that a rare word needs no scan of the vocabulary.
//   Counts come out in the order of columns, and are weighted immediately.
// - Memory: 8 bytes per word of text; pairs to sort would take 8 bytes per co-occurrence.
//
// The weights need the sums of all rows before the first row is counted. A word's sum is the number of words around its
// positions: the pass that counts words counts these too.
//
// Text that does not fit memory is processed in several segments. The rows of each are written as a sorted run, and finally
// the same counters add up a row of all runs.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <string>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/word_similarity/counting/context_counter.hpp"
#include "ops/word_similarity/counting/context_counter_rows.hpp"
#include "ops/word_similarity/counting/context_counter_runs.hpp"
#include "ops/word_similarity/counting/pmi.hpp"

namespace quern::word_similarity_detail {
namespace {

/// The positions of every word of a segment, and their contexts.
class turned_segment {
  public:
    /// Adds the contexts of the words to `rows`, in the layout of marginals.
    turned_segment(cpu_place& host, const counting_shape& shape, const text_segment& segment,
                   std::vector<std::uint64_t>& rows)
        : host_(host), shape_(shape), segment_(segment), first_(host, shape.words + std::size_t{1}) {
        const std::size_t words = shape.words, size = segment.end - segment.begin;
        const std::size_t tables = words * (shape.relations + std::size_t{1});
        // No more threads than the text justifies: one thread adds up their tables.
        const std::size_t pieces =
            std::clamp<std::size_t>(size / std::max<std::size_t>(tables, 1), 1, host.threads());
        cpu_array<std::uint32_t> counts(host, pieces * words, "words counted by each thread");
        cpu_array<std::uint32_t> contexts(host, pieces * words * shape.relations,
                                          "words counted by each thread");
        for_each_piece(host, pieces, [&](std::size_t p) {
            const item_range part = piece_of(size, pieces, p);
            const auto mine = counts.span().subspan(p * words, words);
            const auto my_contexts =
                contexts.span().subspan(mine.size() * p * shape.relations, words * shape.relations);
            std::fill(mine.begin(), mine.end(), 0);
            std::fill(my_contexts.begin(), my_contexts.end(), 0);
            for_each_range(part, [&](std::size_t begin, std::size_t end) {
                count_words(begin, end, mine, my_contexts);
            });
        });
        std::uint32_t sum = 0;
        for (std::size_t w = 0; w < words; ++w) {
            first_.data()[w] = sum;
            for (std::size_t p = 0; p < pieces; ++p) sum += std::exchange(counts.data()[p * words + w], sum);
        }
        first_.data()[words] = sum;
        for (std::size_t p = 0; p < pieces; ++p)
            for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += contexts.data()[p * rows.size() + i];

        places_ = cpu_array<std::uint32_t>(host, sum + place_margin, "the places of words");
        std::fill_n(places_.data() + sum, place_margin, static_cast<std::uint32_t>(segment.begin));
        for_each_piece(host, pieces, [&](std::size_t p) {
            const item_range part = piece_of(size, pieces, p);
            std::uint32_t* const next = counts.data() + p * words;
            for_each_range(part, [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) {
                    const std::uint32_t word = segment.text[i];
                    if (word < words) places_.data()[next[word]++] = static_cast<std::uint32_t>(i);
                }
            });
        });
    }

    std::uint32_t places_of(std::uint32_t word) const {
        return first_.data()[word + 1] - first_.data()[word];
    }

    /// Calls add(other) for every context of `word`, in its single relation, including the unknown word.
    template <class Add>
    void for_each_context(std::uint32_t word, const Add& add) const {
        const std::uint32_t* const text = segment_.text.data();
        const std::uint32_t end = shape_.end();
        const unsigned window = shape_.window;
        for (std::size_t k = first_.data()[word]; k < first_.data()[word + 1]; ++k) {
            __builtin_prefetch(text + places_.data()[k + place_margin]);
            const std::uint32_t* const at = text + places_.data()[k];
            for (unsigned d = 1; d <= window && at[d] != end; ++d) add(at[d]);
            for (unsigned d = 1; d <= window && at[-static_cast<int>(d)] != end; ++d)
                add(at[-static_cast<int>(d)]);
        }
    }

    /// The numbers of words before and after each position of `word`, within the window.
    struct reach {
        std::uint8_t before, after;
    };
    void find_reaches(std::uint32_t word, std::span<reach> reaches) const {
        const std::uint32_t end = shape_.end();
        for (std::size_t k = first_.data()[word], i = 0; k < first_.data()[word + 1]; ++k, ++i) {
            __builtin_prefetch(segment_.text.data() + places_.data()[k + place_margin]);
            const std::uint32_t* const at = segment_.text.data() + places_.data()[k];
            unsigned before = 0, after = 0;
            while (after < shape_.window && at[after + 1] != end) ++after;
            while (before < shape_.window && at[-static_cast<int>(before) - 1] != end) ++before;
            reaches[i] = {static_cast<std::uint8_t>(before), static_cast<std::uint8_t>(after)};
        }
    }
    /// Calls add(other) for the words `distance` positions after (before, if negative) each position of `word`; with the
    /// unknown word if there is none.
    template <class Add>
    void for_each_at(std::uint32_t word, int distance, std::span<const reach> reaches, const Add& add) const {
        const std::uint32_t* const text = segment_.text.data();
        const std::uint32_t unknown = shape_.unknown();
        const std::uint32_t* const places = places_.data() + first_.data()[word];
        const std::size_t count = places_of(word);
        for (std::size_t i = 0; i < count; ++i) {
            const bool has_context =
                distance > 0 ? reaches[i].after >= distance : reaches[i].before >= -distance;
            // Without a context, no neighbour is read: it may be outside the segment.
            add(has_context ? text[static_cast<std::ptrdiff_t>(places[i]) + distance] : unknown);
        }
    }

  private:
    static constexpr std::size_t place_margin = 12;  ///< prefetched ahead

    /// work(begin, end) for ranges of a part of the segment's words, so that an interruption is noticed soon.
    template <class Work>
    void for_each_range(const item_range& part, const Work& work) const {
        constexpr std::size_t max = std::size_t{1} << 22;
        for (std::size_t begin = part.begin; begin < part.end; begin += max) {
            host_.ctx().check_stop();
            work(segment_.begin + begin, segment_.begin + std::min(begin + max, part.end));
        }
    }

    void count_words(std::size_t begin, std::size_t end, std::span<std::uint32_t> counts,
                     std::span<std::uint32_t> contexts) const {
        const std::uint32_t unknown = shape_.unknown();
        const bool self_too = shape_.count_self;
        const auto is_counted = [&](std::uint32_t word, std::uint32_t other) -> std::uint32_t {
            return (other != unknown) & ((other != word) | self_too);
        };
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint32_t* const at = segment_.text.data() + i;
            const std::uint32_t word = *at;
            if (word >= unknown) continue;
            ++counts[word];
            std::uint32_t* const row = contexts.data() + std::size_t{word} * shape_.relations;
            if (shape_.positional) {
                for (unsigned d = 1; d <= shape_.window && at[d] != shape_.end(); ++d)
                    row[shape_.after(d)] += is_counted(word, at[d]);
                for (int d = 1; d <= static_cast<int>(shape_.window) && at[-d] != shape_.end(); ++d)
                    row[shape_.before(static_cast<unsigned>(d))] += is_counted(word, at[-d]);
            } else {
                std::uint32_t sum = 0;
                for (unsigned d = 1; d <= shape_.window && at[d] != shape_.end(); ++d)
                    sum += is_counted(word, at[d]);
                for (int d = 1; d <= static_cast<int>(shape_.window) && at[-d] != shape_.end(); ++d)
                    sum += is_counted(word, at[-d]);
                *row += sum;
            }
        }
    }

    cpu_place& host_;
    const counting_shape& shape_;
    text_segment segment_;
    cpu_array<std::uint32_t> first_, places_;
};

class segment_counter_cpu final : public segment_counter {
  public:
    segment_counter_cpu(cpu_place& host, const counting_shape& shape)
        : host_(host),
          shape_(shape),
          sums_{std::vector<std::uint64_t>(std::size_t{shape.words} * shape.relations), {}, {}, 0} {}

    std::size_t capacity() const override {
        // A third of memory, for text and positions; and no counter of 32 bits overflows.
        const std::uint64_t fits = host_.memory().limit() / 3 / (2 * sizeof(std::uint32_t));
        return std::min<std::uint64_t>(fits, 0xffffffffU / (2 * shape_.window) - 2 * shape_.window);
    }

    void add(const text_segment& segment) override {
        const turned_segment turned(host_, shape_, segment, sums_.rows);
        if (!runs_) runs_.emplace(cut_words(shape_, sums_.rows));
        write_run(turned);
    }

    context_matrix pmi(const text_segment& last, const pmi_options& options,
                       counting_record& record) override {
        return all_rows(last, &options, record, [](const context_matrix&) { return entry_sink(); });
    }
    context_matrix pmi_for(const text_segment& last, const pmi_options& options, counting_record& record,
                           const context_counter::entry_sink& sink) override {
        return all_rows(last, &options, record, [&](const context_matrix&) { return sink; });
    }
    context_matrix counts_for(const text_segment& last, counting_record& record,
                              const context_counter::count_sink& sink) override {
        return all_rows(last, nullptr, record, [&](const context_matrix& sums) -> entry_sink {
            return [&](std::span<const std::uint32_t> columns, std::span<const float> weights) {
                sink(sums, columns, counts_of(weights));
            };
        });
    }

  private:
    using entry_sink = context_counter::entry_sink;

    /// Weights, or without options counts. They go to sink_of(matrix), unless that is empty.
    template <class SinkOf>
    context_matrix all_rows(const text_segment& last, const pmi_options* options, counting_record& record,
                            const SinkOf& sink_of) {
        if (runs_) {
            if (last.begin != last.end) add(last);
        } else {
            turned_.emplace(host_, shape_, last, sums_.rows);
        }
        sums_.add_up_mirrored(shape_);
        const pmi_formula by =
            options == nullptr ? pmi_formula(shape_) : pmi_formula(host_, shape_, sums_, *options);
        context_matrix matrix{shape_.words,
                              shape_.relations,
                              std::vector<std::uint64_t>(shape_.words + std::size_t{1}),
                              {},
                              {},
                              std::move(sums_.columns)};
        record.cooccurrences = sums_.total;
        const entry_sink sink = sink_of(matrix);
        const entry_sink* const take = sink ? &sink : nullptr;
        record.triples =
            runs_ ? merge_runs(host_, shape_, *runs_, by, matrix, take) : pmi_rows(by, matrix, take);
        if (runs_) {
            record.runs_spilled = runs_->size();
            record.bytes_spilled = runs_->bytes();
        }
        return matrix;
    }

    using reach = turned_segment::reach;

    /// Counts one segment's rows one after another; holds the counters and their flags.
    struct row_worker {
        row_worker(cpu_place& host, const counting_shape& shape, const turned_segment& from)
            : counters(host, shape.words), reaches(host, shape.positional ? max_places(shape, from) : 0) {}
        static std::size_t max_places(const counting_shape& shape, const turned_segment& from) {
            std::uint32_t max = 0;
            for (std::uint32_t w = 0; w < shape.words; ++w) max = std::max(max, from.places_of(w));
            return max;
        }
        row_counters<std::uint32_t> counters;
        cpu_array<reach> reaches;
    };

    /// Calls sink(r) for every relation of a word, with the counts taken.
    template <class Sink>
    void count_row(const turned_segment& from, std::uint32_t word, row_worker& by, const Sink& sink) const {
        auto& counters = by.counters;
        const auto add = [&](std::uint32_t other) { counters.add(other); };
        const auto reaches = by.reaches.span().first(shape_.positional ? from.places_of(word) : 0);
        if (shape_.positional) from.find_reaches(word, reaches);
        for (std::uint32_t r = 0; r < shape_.relations; ++r) {
            const int window = static_cast<int>(shape_.window), relation = static_cast<int>(r);
            if (shape_.positional)
                from.for_each_at(word, relation < window ? relation - window : relation - window + 1, reaches,
                                 add);
            else
                from.for_each_context(word, add);
            counters.clear(shape_.unknown());
            if (!shape_.count_self) counters.clear(word);
            counters.take();
            sink(r);
        }
    }

    void write_run(const turned_segment& turned) {
        runs_->begin_run(host_.ctx());
        const word_pieces& pieces = runs_->pieces();
        auto working = one_per_thread<row_worker>(host_, pieces.size(),
                                                  [&] { return row_worker(host_, shape_, turned); });
        for_each_taken(host_, working.size(), pieces.size(), [&](std::size_t thread, std::size_t p) {
            std::string bytes;
            row_worker& mine = working[thread];
            for (std::uint32_t w = pieces.begin(p); w < pieces.end(p); ++w)
                count_row(turned, w, mine, [&](std::uint32_t) {
                    append_counts(bytes, mine.counters.columns(), mine.counters.counts());
                });
            runs_->write_piece(p, bytes);
        });
        runs_->end_run();
    }

    std::uint64_t pmi_rows(const pmi_formula& by, context_matrix& matrix,
                           const context_counter::entry_sink* take) {
        const word_pieces pieces = cut_words(shape_, sums_.rows);
        std::vector<row_piece> row_pieces(pieces.size());
        std::vector<row_lane> lanes;
        std::atomic<std::uint64_t> triples{0};
        {
            auto working = one_per_thread<row_worker>(host_, pieces.size(),
                                                      [&] { return row_worker(host_, shape_, *turned_); });
            for (std::size_t t = 0; t < working.size(); ++t) lanes.emplace_back(host_);
            for_each_taken(host_, working.size(), pieces.size(), [&](std::size_t thread, std::size_t p) {
                row_worker& mine = working[thread];
                std::uint64_t seen = 0;
                for (std::uint32_t w = pieces.begin(p); w < pieces.end(p); ++w)
                    count_row(*turned_, w, mine, [&](std::uint32_t r) {
                        seen += mine.counters.columns().size();
                        matrix.offsets[w + 1] +=
                            pmi_taken(by, w, r, mine.counters, lanes[thread], row_pieces[p]);
                    });
                triples += seen;
            });
        }
        turned_.reset();
        gather_rows(host_, lanes, row_pieces, matrix, take);
        return triples;
    }

    cpu_place& host_;
    counting_shape shape_;
    marginals sums_;
    std::optional<count_runs> runs_;
    std::optional<turned_segment> turned_;  ///< the only segment, if there is only one
};

}  // namespace

std::unique_ptr<segment_counter> make_segment_counter(cpu_place&, cpu_place& host,
                                                      const counting_shape& shape) {
    return std::make_unique<segment_counter_cpu>(host, shape);
}

}  // namespace quern::word_similarity_detail
