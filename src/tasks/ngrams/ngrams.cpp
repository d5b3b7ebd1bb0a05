// SPDX-License-Identifier: Apache-2.0
// From a corpus to rows: the words become ids (ngram_corpus), the operation produces the rows by n-gram, document_rows
// reorders them by document, and they are written one by one or as text. Counts of the whole collection are gathered
// meanwhile, if a file of them is requested.
#include "quern/tasks/ngrams.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/files/scratch_folder.hpp"
#include "ops/ngram_likelihood/rows/joined_rows.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/base/threads_within.hpp"
#include "quern/tasks/dictionary.hpp"
#include "quern/tasks/ngrams_tasks.hpp"
#include "quern/tasks/output_file.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/cluster/corpus_shards.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/ngrams/arpa_model.hpp"
#include "tasks/ngrams/collection_counts.hpp"
#include "tasks/ngrams/document_rows.hpp"
#include "tasks/ngrams/kneser_ney_model.hpp"
#include "tasks/ngrams/model_pruning.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"
#include "tasks/ngrams/part_counts.hpp"
#include "tasks/ngrams/part_words.hpp"
#include "tasks/ngrams/row_text.hpp"
#include "tasks/ngrams/text_batches.hpp"
#include "tasks/ngrams/total_lines.hpp"
#include "tasks/shared/device_ahead.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "tasks/store/stop_words_file.hpp"

namespace quern {
namespace {

/// The destination of the rows: none, one by one, or as text.
struct row_destination {
    std::function<void(const ngram_row&)> take;
    row_format format = row_format::tsv;
    std::function<void(std::string_view)> write;

    bool wanted() const { return take || write; }
};

/// Text that goes to a file, to the caller, or nowhere.
class text_target {
  public:
    text_target(const std::filesystem::path& path, const std::function<void(std::string_view)>& sink,
                bool replace, const context& ctx)
        : take_(sink) {
        if (!sink && !path.empty()) file_.emplace(path, output_options{.replace = replace}, ctx);
    }
    bool wanted() const { return file_ || take_; }
    std::uint64_t bytes() const { return bytes_; }
    void write(std::string_view text) {
        bytes_ += text.size();
        file_ ? file_->write(text) : take_(text);
    }
    output_file* file() { return file_ ? &*file_ : nullptr; }

  private:
    std::optional<output_file> file_;
    const std::function<void(std::string_view)>& take_;
    std::uint64_t bytes_ = 0;
};

/// With the budget as a number: otherwise the system would be queried for every document.
context with_threads_that_fit(const context& ctx) {
    context fitting = with_threads_within_memory(ctx);
    fitting.memory_bytes = ctx.memory_limit();
    return fitting;
}

/// Counts a few words, so that the device has loaded the code when those of the corpus come.
void count_few_words(ngram_options requested, const context& ctx) {
    if (requested.method != ngram_method::automatic) return;
    if (requested.smoothing == ngram_smoothing::kneser_ney) requested.smoothing = {};  // not of documents
    constexpr std::uint32_t vocabulary = 1 << 18;
    constexpr std::uint64_t documents[] = {0, 400, 1000};
    std::vector<std::uint32_t> words(1000);
    for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i * i % 97;
    ngram_likelihood({.words = words, .documents = documents, .vocabulary = vocabulary}, requested, ctx,
                     [](const ngram_rows&) {});
}

class ngrams_run {
  public:
    ngrams_run(const ngrams_options& options, const context& ctx, const row_destination& to)
        : options_(options),
          ctx_(with_threads_that_fit(ctx)),
          device_(
              ctx_, place_requested(options.ngrams.method), offered_by(options.ngrams.method),
              [requested = options.ngrams](const context& pinned) { count_few_words(requested, pinned); }),
          to_(to),
          totals_text_(options.totals, options.take_totals, options.replace, ctx_),
          arpa_text_(options.arpa, options.take_arpa, options.replace, ctx_),
          scratch_(ctx_),
          tables_(ctx_.memory_limit() / 2) {}

    ngrams_result run() {
        read(nullptr);
        options_.ngrams.history_counts ? count_and_write<document_row_with_history>()
                                       : count_and_write<document_row>();
        fill_result();
        return std::move(result_);
    }

    /// Counts the n-grams of a part of the corpus.
    void write_counts(const ngram_part& part, task_results& results) {
        read(&part);
        results.ran_on(result_.statistics.device);
        ngram_options requested = options_.ngrams;
        requested.min_count = 1;  // that of the sum
        requested.history_counts = false;
        const std::uint64_t memory = ctx_.memory_limit() / 8;
        collection_counts counts(scratch_, requested.only ? requested.order : 1, requested.order, false,
                                 memory);
        const std::uint64_t held = tables_.taken() + corpus_.memory_bytes() + memory;
        count(requested, with_remaining_memory(ctx_, held, "the words of the corpus"),
              [&](const ngram_collection& collection, const context& ctx) {
                  return count_collection_ngrams(collection, requested, ctx,
                                                 [&](const collection_ngrams& block) { counts.add(block); });
              });
        counts.finish();
        write_part_counts(corpus_, counts, result_.totals, results, ctx_);
        if (options_.dictionary.empty()) write_part_words(corpus_, scratch_, tables_, results, ctx_);
    }

  private:
    void read(const ngram_part* part) {
        const std::unique_ptr<word_dictionary> known = open_dictionary();
        corpus_ = read_ngram_corpus(options_, text_, known.get(), scratch_, tables_, device_.reading(), part);
        spilled_ = corpus_.spilled_bytes;
        ::malloc_trim(0);  // freed memory goes back to the system, also from the threads' heaps
        clock_.end_stage("read", corpus_.input_bytes);
        ctx_ = device_.pinned(result_.statistics);
    }

    static const char* place_requested(ngram_method method) {
        return method == ngram_method::suffix_sigma ? "method suffix-sigma" : "ngrams";
    }
    /// One GPU makes a row in less than a nanosecond (docs/results.md), and the host needs several for it: a second one would only
    /// cost its context.
    static offered_places offered_by(ngram_method method) {
        return method == ngram_method::suffix_sigma ? offered_places::cpu_only : offered_places::all;
    }

    /// The dictionary, and the text options of its words.
    std::unique_ptr<word_dictionary> open_dictionary() {
        if (options_.dictionary.empty()) {
            text_ = options_.text.value_or(text_options{});
            return nullptr;
        }
        const std::string path = options_.dictionary.string();
        auto known = std::make_unique<word_dictionary>(word_dictionary::open(options_.dictionary));
        const dictionary_info& info = known->info();
        if (info.verbatim) {
            text_ = options_.text.value_or(text_options{});
            return known;
        }
        text_ = options_.text.value_or(info.text);
        if (text_.stop_words == info.text.stop_words && text_.stop_words.starts_with('@'))
            throw usage_error(path + " was made with stop words from a file; pass the same file here");
        if (as_recorded(text_) != info.text) throw usage_error(path + " was made with other text options");
        text::warn_of_other_unicode(path, info.unicode_version, ctx_);
        return known;
    }

    template <class Row>
    void count_and_write() {
        const std::uint64_t memory = ctx_.memory_limit();
        std::unique_ptr<document_rows<Row>> rows;
        std::unique_ptr<collection_counts> counts;
        std::uint64_t held = tables_.taken() + corpus_.memory_bytes();
        ngram_options requested = options_.ngrams;
        if (to_.wanted()) {
            held += memory / 4 + 4 * corpus_.document_count();
            rows = std::make_unique<document_rows<Row>>(scratch_, corpus_.documents, requested, memory / 4,
                                                        pieces_at_once());
        }
        if (totals_text_.wanted() || arpa_text_.wanted()) {
            const bool histories = arpa_text_.wanted() && model_needs_histories(requested);
            requested.history_counts |= histories;
            held += memory / 8;
            counts = std::make_unique<collection_counts>(scratch_, requested.only ? requested.order : 1,
                                                         requested.order, histories, memory / 8);
        }
        const auto add_counts = [&](const collection_ngrams& block) { counts->add(block); };
        ngram_detail::joined_rows joined(corpus_.sequences(), requested.order, add_counts);
        if (!options_.counts_of_job.empty()) {
            ctx_.report({"merge", 0, 0, "n-grams"});
            result_.totals = merge_part_counts(options_.counts_of_job, corpus_, requested, ctx_, *counts);
            clock_.end_stage("merge", 0);
        } else {
            count(requested, with_remaining_memory(ctx_, held, "the words of the corpus"),
                  [&](const ngram_collection& collection, const context& ctx) {
                      if (counts && !rows)
                          return count_collection_ngrams(collection, requested, ctx, add_counts);
                      return ngram_likelihood(collection, requested, ctx, [&](const ngram_rows& block) {
                          if (rows) rows->add(host_, block);
                          if (counts) joined.add(block);
                      });
                  });
        }
        if (counts) {
            ctx_.report({"join", 0, 0, "n-grams"});
            counts->finish();
            spilled_ += counts->spilled_bytes();
        }
        if (rows) {
            write_rows(*rows);
            spilled_ += rows->spilled_bytes();
            rows.reset();
        }
        if (counts) write_files(*counts);
    }

    /// By counting(collection, run).
    template <class Counting>
    void count(const ngram_options& requested, const context& ctx, const Counting& counting) {
        ngram_collection collection{.words = corpus_.words.span(),
                                    .documents = corpus_.sequences(),
                                    .vocabulary = corpus_.vocabulary};
        std::vector<std::uint64_t> starts;
        std::vector<std::uint32_t> lengths;
        if (requested.method == ngram_method::strings) {
            starts.reserve(collection.words.size());
            lengths.reserve(collection.words.size());
            const char* const text = corpus_.letters.span().data();
            for (const std::uint32_t id : collection.words) {
                const std::string_view word = corpus_.word(id);
                starts.push_back(static_cast<std::uint64_t>(word.data() - text));
                lengths.push_back(static_cast<std::uint32_t>(word.size()));
            }
            collection.text = {text, corpus_.letters.size()};
            collection.starts = starts;
            collection.lengths = lengths;
        }
        ctx_.report({"count", 0, collection.words.size(), "words"});
        const ngram_record record = counting(collection, ctx);
        result_.totals = record.totals;
        spilled_ += record.bytes_spilled;
        result_.statistics.counts["pieces"] = record.pieces;
        clock_.end_stage("count", 0);
    }

    template <class Row>
    void write_rows(document_rows<Row>& rows) {
        const row_text texts(corpus_, to_.format, ngram_columns(options_.ngrams));
        std::uint64_t bytes = 0, done = 0, all = 0;
        for (const ngram_totals& of_n : result_.totals) all += of_n.rows;
        struct part {
            typename document_rows<Row>::piece rows;
            std::uint64_t count = 0;
            std::string text;
        };
        const auto wrote = [&](std::uint64_t count) { ctx_.report({"write", done += count, all, "rows"}); };
        if (to_.take) {
            for (typename document_rows<Row>::piece piece; rows.next(piece);) {
                piece.drain([&](std::span<const Row> ordered) {
                    for (const Row& row : ordered) hand_over(row);
                    wrote(ordered.size());
                });
            }
            clock_.end_stage("write", bytes);
            return;
        }
        reused_texts free_texts;
        pipeline<part> line(pieces_at_once());
        line.from([&](part& p) {
            ctx_.check_stop();
            return rows.next(p.rows);
        });
        line.in_parallel([&](part& p) {
            p.text = free_texts.take();
            p.rows.drain([&](std::span<const Row> ordered) {
                p.count += ordered.size();
                texts.append(p.text, ordered);
            });
        });
        line.in_order([&](part& p) {
            bytes += p.text.size();
            to_.write(p.text);
            wrote(p.count);
            free_texts.give_back(std::move(p.text));
        });
        run_parallel(ctx_, [&] { line.run(); });
        clock_.end_stage("write", bytes);
    }

    std::size_t pieces_at_once() const { return std::size_t{ctx_.thread_count()} + 2; }

    template <class Row>
    void hand_over(const Row& row) {
        ctx_.check_stop();
        words_.clear();
        append_words(words_, corpus_, corpus_.documents[row.document] + row.first, row.n);
        ngram_row out{.document = corpus_.name(row.document),
                      .n = row.n,
                      .words = words_,
                      .in_document = row.in_document,
                      .in_collection = row.in_collection,
                      .weight = row.weight};
        if constexpr (std::is_same_v<Row, document_row_with_history>) {
            out.history_in_document = static_cast<std::uint32_t>(row.history_in_document);
            out.history_in_collection = row.history_in_collection;
        }
        to_.take(out);
    }

    void write_files(collection_counts& counts) {
        if (totals_text_.wanted()) {
            write_totals(counts);
            clock_.end_stage("totals", totals_text_.bytes());
        }
        if (arpa_text_.wanted()) {
            ctx_.report({"model", 0, 0, "n-grams"});
            write_model(counts);
            clock_.end_stage("model", arpa_text_.bytes());
        }
        std::vector<output_file*> files{totals_text_.file(), arpa_text_.file()};
        std::erase(files, nullptr);
        output_file::commit_together(files);
    }

    void write_model(collection_counts& counts) {
        const auto sink = [&](std::string_view text) { arpa_text_.write(text); };
        if (!corpus_.has_marks) result_.excluded_words = leave_out_unwritable_words(corpus_, counts, ctx_);
        if (options_.ngrams.smoothing != ngram_smoothing::kneser_ney) {
            result_.model_ngrams =
                write_arpa_model(corpus_, options_.ngrams, counts, scratch_, tables_, ctx_, sink);
            return;
        }
        model_pruning pruning{prune_thresholds(options_.prune, options_.ngrams.order), {}};
        if (!options_.limit_vocabulary.empty())
            pruning.excluded_words = words_outside(options_.limit_vocabulary, corpus_, ctx_);
        result_.model_ngrams = write_kneser_ney_model(corpus_, options_.ngrams.order, pruning, counts,
                                                      scratch_, tables_, ctx_, sink);
    }

    void write_totals(collection_counts& counts) {
        std::uint64_t done = 0;
        total_lines lines(corpus_, ctx_);
        for (const ngram_totals& of_n : result_.totals) {
            lines.write(counts.of(of_n.n), of_n.n, [&](std::string_view text, std::uint64_t ngrams) {
                totals_text_.write(text);
                ctx_.report({"totals", done += ngrams, 0, "n-grams"});
            });
        }
    }

    void fill_result() {
        result_.counts = std::move(corpus_.record.counts);
        result_.issues = std::move(corpus_.record.issues);
        result_.documents = corpus_.document_count();
        result_.words = corpus_.word_count();
        result_.sentences = corpus_.sentences;
        result_.distinct = corpus_.distinct;
        result_.unknown = corpus_.unknown;
        result_.distinct_unknown = corpus_.distinct_unknown;
        run_statistics& statistics = result_.statistics;
        statistics.threads = ctx_.thread_count();
        statistics.peak_memory_bytes = peak_memory_bytes();
        auto& counts = statistics.counts;
        counts.insert({{"documents", result_.documents},
                       {"rejected", result_.counts.rejected},
                       {"words", result_.words},
                       {"sentences", result_.sentences},
                       {"distinct", result_.distinct},
                       {"unknown", result_.unknown},
                       {"distinct_unknown", result_.distinct_unknown},
                       {"vocabulary", corpus_.vocabulary},
                       {"model_words_left_out", result_.excluded_words},
                       {"spilled_bytes", spilled_}});
        for (const ngram_totals& of_n : result_.totals) {
            const std::string n = "_" + std::to_string(of_n.n);
            counts["occurrences" + n] = of_n.occurrences;
            counts["with_unknown" + n] = of_n.with_unknown;
            counts["distinct" + n] = of_n.distinct;
            counts["rows" + n] = of_n.rows;
            if (of_n.occurrences != 0)
                statistics.measures["unknown_share" + n] =
                    static_cast<double>(of_n.with_unknown) / static_cast<double>(of_n.occurrences);
        }
    }

    const ngrams_options& options_;
    ngrams_result result_;
    context ctx_;  ///< its device is the chosen one once the corpus is read
    device_ahead device_;
    const row_destination& to_;
    cpu_place host_{ctx_};
    stage_clock clock_{result_.statistics};
    text_target totals_text_, arpa_text_;
    scratch_folder scratch_;
    table_share tables_;
    text_options text_;
    ngram_corpus corpus_;
    std::string words_;
    std::uint64_t spilled_ = 0;
};

bool makes_files(const ngrams_options& options) {
    return !options.totals.empty() || options.take_totals || !options.arpa.empty() || options.take_arpa;
}

void refuse_unfit_model(const ngrams_options& options, bool wants_rows) {
    const bool has_model = !options.arpa.empty() || options.take_arpa;
    if (options.sentences && wants_rows)
        throw usage_error(
            "rows are those of documents, but sentences were requested; write only totals or a model");
    if (options.sentences && options.titles)
        throw usage_error("titles are not sentences; give one of the two");
    if (options.sentences && options.ngrams.method == ngram_method::strings)
        throw usage_error("the method strings has no marks of sentences");
    if (options.ngrams.smoothing != ngram_smoothing::kneser_ney) {
        if (!options.prune.empty() || !options.limit_vocabulary.empty())
            throw usage_error("pruning and a limited vocabulary need smoothing by kneser-ney");
        return;
    }
    if (!has_model || wants_rows)
        throw usage_error(
            "kneser-ney smooths a model of the collection, not the rows of documents; write only a "
            "model (ARPA)");
    if (!options.sentences)
        throw usage_error("kneser-ney needs sentences (--sentences): n-grams begin after <s>");
    if (options.ngrams.min_count > 1)
        throw usage_error(
            "kneser-ney needs the counts of all n-grams, so --min-count must be 1; exclude rare ones by "
            "pruning (--prune)");
    prune_thresholds(options.prune, options.ngrams.order);
}

void check_request(const ngrams_options& options, bool wants_rows) {
    require_documents(options);
    for (const std::filesystem::path& input : options.inputs) refuse_own_output(input);
    const ngram_options& requested = options.ngrams;
    validate(requested);
    if ((!options.arpa.empty() || options.take_arpa) && requested.only)
        throw usage_error(std::string(model_needs_all_lengths));
    refuse_unfit_model(options, wants_rows);
    if (!options.dictionary.empty() && requested.method == ngram_method::strings)
        throw usage_error(
            "the method strings compares the strings of words, and does not accept a dictionary");
    if (!options.counts_of_job.empty() && (wants_rows || !makes_files(options)))
        throw usage_error("tasks count the n-grams of the corpus, for totals and a model, not for rows");
}

ngrams_result checked_run(const ngrams_options& options, const context& ctx, const row_destination& to) {
    check_request(options, to.wanted());
    return ngrams_run(options, ctx, to).run();
}

/// The parameters of the counts.
std::vector<std::filesystem::path> files_of_words(const ngrams_options& options) {
    std::vector<std::filesystem::path> files;
    for (const std::filesystem::path& file : {options.dictionary, options.limit_vocabulary})
        if (!file.empty()) files.push_back(file);
    if (options.text && !is_builtin_stop_list(options.text->stop_words))
        files.emplace_back(options.text->stop_words);
    return files;
}

}  // namespace

std::vector<std::string> ngram_columns(const ngram_options& options) {
    std::vector<std::string> names = {"doc", "n", "words", "f(d)", "f(C)"};
    names.emplace_back("P");
    if (options.history_counts) names.insert(names.end(), {"h(d)", "h(C)"});
    return names;
}

ngrams_result ngrams(const ngrams_options& options, const context& ctx,
                     const std::function<void(const ngram_row&)>& sink) {
    return checked_run(options, ctx, {.take = sink, .write = {}});
}

std::vector<job_task> plan_ngrams(const ngrams_options& options, unsigned shards, const context& ctx) {
    check_request(options, false);
    if (!makes_files(options))
        throw usage_error("rows of documents are not distributed (expected counts, a model or both)");
    if (options.ids == id_rule::global)
        throw usage_error(
            "ids that are unique among all files need the whole corpus, which no task sees (expected --ids "
            "scoped or generate)");
    return tasks_of_corpus(options, "count", files_of_words(options), shards, ctx);
}

void run_ngrams_task(const ngrams_options& options, const task_file& file, task_results& results,
                     const context& ctx) {
    check_request(options, false);
    const corpus_shard shard = shard_of(options, files_of_words(options), file);
    ngrams_options mine = options;
    mine.inputs = inputs_of_shard(options, shard);
    mine.totals.clear();  // files of the run that merges the counts
    mine.arpa.clear();
    mine.take_totals = mine.take_arpa = nullptr;
    mine.max_errors = {.count = std::numeric_limits<std::uint64_t>::max(),
                       .is_share = false,
                       .forgives_incomplete = true};  // that run refuses what is too much
    ngrams_run(mine, ctx, {}).write_counts({shard.part, shard.parts}, results);
}

ngrams_result ngrams_as_text(const ngrams_options& options, row_format format, const context& ctx,
                             const std::function<void(std::string_view)>& sink) {
    if (format == row_format::table)
        throw usage_error("a table needs all rows at once; use the rows one by one");
    return checked_run(options, ctx, {.take = {}, .format = format, .write = sink});
}

}  // namespace quern
