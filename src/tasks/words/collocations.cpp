// SPDX-License-Identifier: Apache-2.0
// Reads and counts a corpus as words() does; then the counts come row by row, a word's row is ranked, and its best pairs
// go to the caller.
#include "quern/tasks/collocations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "device/cpu/cpu_place.hpp"
#include "device/files/scratch_folder.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/collocations_option_table.hpp"
#include "quern/tasks/store.hpp"
#include "quern/tasks/words_option_table.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/words/corpus_words.hpp"
#include "tasks/words/word_counts.hpp"

namespace quern {
namespace {

struct collocate {
    std::uint32_t context = 0;  ///< relation · words + word
    cooccurrence_counts counts;
    association measures;
    double value = 0;
};

/// The rows of the counter, in pieces of any size: calls take(word, columns, counts) for each whole row.
template <class Take>
class whole_rows {
  public:
    explicit whole_rows(Take take) : take_(std::move(take)) {}

    void add(const context_matrix& sums, std::span<const std::uint32_t> columns,
             std::span<const std::uint32_t> counts) {
        for (std::size_t at = 0; at < columns.size();) {
            while (sums.offsets[word_ + 1] == taken_) end_row(sums);
            const std::size_t more =
                std::min<std::uint64_t>(columns.size() - at, sums.offsets[word_ + 1] - taken_);
            std::ranges::copy(columns.subspan(at, more), std::back_inserter(columns_));
            std::ranges::copy(counts.subspan(at, more), std::back_inserter(counts_));
            at += more;
            taken_ += more;
        }
    }
    void finish(const context_matrix& sums) {
        while (word_ < sums.words) end_row(sums);
    }

  private:
    void end_row(const context_matrix& sums) {
        if (!columns_.empty()) take_(sums, static_cast<std::uint32_t>(word_), columns_, counts_);
        columns_.clear();
        counts_.clear();
        ++word_;
    }

    Take take_;
    std::size_t word_ = 0;
    std::uint64_t taken_ = 0;
    std::vector<std::uint32_t> columns_, counts_;
};

class collocations_run {
  public:
    /// `store`: read instead of the inputs; or null.
    collocations_run(const collocations_options& options, const opened_store* store, const context& ctx,
                     const std::function<void(const collocation_row&)>& sink)
        : options_(options),
          store_(store),
          sink_(sink),
          ctx_(pinned_to_device(ctx, "collocations", result_.statistics, offered_places::cpu_only)),
          scratch_(ctx_),
          corpus_(std::in_place, scratch_, ctx_.memory_limit() / 4),
          vocabulary_(with_memory(ctx_.memory_limit() / 4)) {}

    collocations_result run() {
        read();
        choose();
        count();
        note_counts();
        return std::move(result_);
    }

  private:
    context with_memory(std::uint64_t bytes) const {
        context result = ctx_;
        result.memory_bytes = bytes;
        return result;
    }

    void read() {
        if (store_ != nullptr) {
            read_words(*store_, options_.params, options_.text, false, *corpus_, ctx_);
        } else {
            words_options reading;
            static_cast<corpus_input&>(reading) = options_;
            reading.params = options_.params;
            read_words(reading, options_.text, false, *corpus_, ctx_);
        }
        result_.counts = std::move(corpus_->record.counts);
        result_.issues = std::move(corpus_->record.issues);
        result_.occurrences = corpus_->occurrences;
        clock_.end_stage("read", corpus_->input_bytes);
    }

    void choose() {
        ctx_.report({"vocabulary", 0, 0, "words"});
        chosen_ =
            corpus_->distinct.choose(options_.params.min_count, options_.params.vocabulary, vocabulary_);
        result_.distinct = corpus_->distinct.distinct();
        result_.statistics.counts["spilled_bytes"] += corpus_->distinct.spilled_bytes();
        result_.vocabulary = chosen_.size();
        if (chosen_.size() < 2) {
            throw invalid_input(names_of(options_).front().string(), 0,
                                fmt::format("of {} distinct words {} occurs at least {} times (--min-count), "
                                            "and two are needed for collocations",
                                            result_.distinct, chosen_.size() == 0 ? "none" : "one",
                                            options_.params.min_count));
        }
        find_words();
        clock_.end_stage("vocabulary", 0);
    }

    /// The given words in the form that the text options give them.
    void find_words() {
        if (options_.words.empty()) return;
        text::analyzer analyzer(options_.text);
        text::token_list found;
        is_given_.assign(chosen_.size(), false);
        for (const std::string& typed : options_.words) {
            std::string word = typed;
            if (!corpus_->verbatim) {
                analyzer.analyze(typed, found);
                if (found.tokens.size() != 1) {
                    throw usage_error(fmt::format("'{}' is {} by the text options", typed,
                                                  found.tokens.empty()
                                                      ? "not a word, a stop word or too short"
                                                      : "more than one word"));
                }
                word = found.word(found.tokens[0]);
            }
            const auto at = std::ranges::find(chosen_.words, word);
            if (at == chosen_.words.end()) {
                result_.unknown.push_back(typed);
            } else {
                is_given_[static_cast<std::size_t>(at - chosen_.words.begin())] = true;
            }
        }
    }

    void count() {
        const std::uint64_t held = corpus_->numbers.memory_bytes() + vocabulary_.memory().used();
        const std::uint64_t limit = ctx_.memory_limit();
        context_counter counter(chosen_.size(), 0, options_.params.counting,
                                with_memory(std::max(limit / 4, limit - std::min(limit, held))));
        std::uint64_t done = 0;
        corpus_->numbers.drain([&](std::span<std::uint32_t> numbers) {
            ctx_.check_stop();
            for (std::uint32_t& n : numbers) {
                if (n < passage_end) n = chosen_.id_of.data()[n];
            }
            counter.push(std::span<const std::uint32_t>(numbers));
            done += numbers.size();
            ctx_.report({"count", done, corpus_->numbers.size(), "words"});
        });
        result_.statistics.counts["spilled_bytes"] += corpus_->numbers.spilled_bytes();
        corpus_.reset();
        chosen_.id_of = {};
        clock_.end_stage("count", 0);

        whole_rows rows([this](const context_matrix& sums, std::uint32_t word,
                               std::span<const std::uint32_t> columns,
                               std::span<const std::uint32_t> counts) { rank(sums, word, columns, counts); });
        const context_matrix sums =
            counter.counts([&](const context_matrix& all, std::span<const std::uint32_t> columns,
                               std::span<const std::uint32_t> counts) { rows.add(all, columns, counts); });
        rows.finish(sums);
        const counting_record& record = counter.record();
        result_.cooccurrences = record.cooccurrences;
        result_.pairs = record.triples;
        result_.statistics.counts["spilled_bytes"] += record.bytes_spilled;
        clock_.end_stage("rank", 0);
    }

    /// The sums of relations, once.
    const std::vector<std::uint64_t>& relation_sums(const context_matrix& sums) {
        if (relation_sums_.empty()) {
            relation_sums_.resize(sums.relations);
            for (std::size_t c = 0; c < sums.column_counts.size(); ++c)
                relation_sums_[c / sums.words] += sums.column_counts[c];
        }
        return relation_sums_;
    }

    void rank(const context_matrix& sums, std::uint32_t word, std::span<const std::uint32_t> columns,
              std::span<const std::uint32_t> counts) {
        ctx_.check_stop();
        if (word % 1024 == 0) ctx_.report({"rank", word, sums.words, "words"});
        if (!is_given_.empty() && !is_given_[word]) return;
        const std::vector<std::uint64_t>& all = relation_sums(sums);
        row_sums_.assign(sums.relations, 0);
        for (std::size_t i = 0; i < columns.size(); ++i) row_sums_[columns[i] / sums.words] += counts[i];
        found_.clear();
        for (std::size_t i = 0; i < columns.size(); ++i) {
            if (counts[i] < options_.min_both) continue;
            const std::uint32_t relation = columns[i] / sums.words;
            const cooccurrence_counts of = {counts[i], row_sums_[relation], sums.column_counts[columns[i]],
                                            all[relation]};
            const association measures = association_of(of);
            found_.push_back({columns[i], of, measures, value_of(options_.by, of, measures)});
        }
        const auto before = [](const collocate& a, const collocate& b) {
            return a.value != b.value ? a.value > b.value : a.context < b.context;
        };
        if (found_.size() > options_.top) {
            std::ranges::nth_element(found_, found_.begin() + options_.top, before);
            found_.resize(options_.top);
        }
        std::ranges::sort(found_, before);
        for (const collocate& c : found_) {
            sink_({chosen_.words[word], chosen_.words[c.context % sums.words],
                   position_of(c.context / sums.words), c.counts, c.measures});
        }
        result_.rows += found_.size();
    }

    int position_of(std::uint32_t relation) const {
        const counting_options& counting = options_.params.counting;
        if (counting.relation == word_relation::none) return 0;
        const auto window = static_cast<int>(counting.window), r = static_cast<int>(relation);
        return r < window ? r - window : r - window + 1;
    }

    void note_counts() {
        run_statistics& statistics = result_.statistics;
        auto& counts = statistics.counts;
        counts["documents"] = result_.counts.documents;
        counts["words"] = result_.occurrences;
        counts["distinct"] = result_.distinct;
        counts["vocabulary"] = result_.vocabulary;
        counts["cooccurrences"] = result_.cooccurrences;
        counts["pairs"] = result_.pairs;
        counts["rows"] = result_.rows;
        counts["rejected"] = result_.counts.rejected;
        statistics.threads = ctx_.thread_count();
        statistics.peak_memory_bytes = peak_memory_bytes();
    }

    const collocations_options& options_;
    const opened_store* const store_;
    const std::function<void(const collocation_row&)>& sink_;
    collocations_result result_;
    context ctx_;
    stage_clock clock_{result_.statistics};
    scratch_folder scratch_;
    std::optional<corpus_words> corpus_;
    cpu_place vocabulary_;
    chosen_words chosen_;
    std::vector<bool> is_given_;  ///< by id; empty: all words
    std::vector<std::uint64_t> relation_sums_, row_sums_;
    std::vector<collocate> found_;
};

void check_request(const collocations_options& options) {
    require_documents(options);
    check_ranges(options);
    check_ranges(options.params);
    validate(options.params.counting);
    const text::analyzer refused_here(options.text);  // refuses an unknown language, an unreadable list
    for (const auto& input : options.inputs) {
        if (input == "-") continue;
        if (!is_store(input)) {
            refuse_own_output(input);
            continue;
        }
        if (options.inputs.size() > 1)
            throw usage_error(input.string() + " is a store, which must be the only input");
        if (!options.input_format.empty())
            throw usage_error("an input format applies to files, but " + input.string() + " is a store");
    }
}

}  // namespace

collocations_result collocations(const collocations_options& options, const context& ctx,
                                 const std::function<void(const collocation_row&)>& sink) {
    check_request(options);
    if (options.source == nullptr && is_store(options.inputs.front())) {
        const opened_store store = open_store(options.inputs.front());
        require_word_order(store, "collocations");
        return collocations_run(options, &store, ctx, sink).run();
    }
    return collocations_run(options, nullptr, ctx, sink).run();
}

}  // namespace quern
