// SPDX-License-Identifier: Apache-2.0
// From a corpus to a word space: read and number the words, choose the vocabulary, count, weigh, compare, write. The
// corpus is read once; its words are kept as 4-byte numbers until the vocabulary is known. Everything is written to a
// folder under a temporary name, which gets the final name at the very end.
#include "quern/tasks/words.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/release.hpp"
#include "device/cpu/parallel.hpp"
#include "device/files/file_writer.hpp"
#include "device/files/scratch_folder.hpp"
#include "device/own_threads.hpp"
#include "io/files/atomic_folder.hpp"
#include "io/files/mapped_file.hpp"
#include "ops/word_similarity/similarity_methods.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/words_tasks.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/cluster/corpus_shards.hpp"
#include "tasks/cluster/job_files.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/shared/device_ahead.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/words/corpus_words.hpp"
#include "tasks/words/document_matrix.hpp"
#include "tasks/words/space_layout.hpp"
#include "tasks/words/space_writer.hpp"
#include "tasks/words/triple_reader.hpp"
#include "tasks/words/word_counts.hpp"
#include "tasks/words/words_checks.hpp"
#include "tasks/words/words_of_tasks.hpp"

namespace quern {
namespace {

/// The work of one call; the members' names give the order.
class words_run {
  public:
    /// `store`: read instead of the inputs; or null. `reader`: of its words, if not of its texts. `job`: the folder of one whose tasks have counted and compared; or empty.
    words_run(const words_options& options, const opened_store* store, const std::filesystem::path& job,
              const context& ctx, const words_reader& reader = {})
        : options_(options),
          store_(store),
          reader_(reader),
          job_(job),
          params_(options.params),
          device_(ctx, "words", offered_places::several_gpus),
          ctx_(device_.reading()),
          folder_(options.space, options.force ? io::existing::replace : io::existing::refuse),
          scratch_(ctx_),
          writer_(folder_.temporary(), scratch_.file("string_ends")) {}

    /// The first task of a job: with the part of the comparison that `shares` others need.
    void write_counts(task_results& results, std::uint64_t shares) {
        read();
        const counting_record record = count_and_weight();
        writer_.end_contexts(matrix_);
        map_contexts();
        write_weights(contexts(), record, results);
        const auto pass_on = [&](const word_similarity_detail::shared_rows& rows) {
            write_shared_rows(rows, results);
        };
        write_neighbours(word_similarity_detail::begin_shared_search(contexts(), similarity_of(options_),
                                                                     shares, context_to_compare(), pass_on),
                         results);
    }

    words_result run() {
        read();
        ::malloc_trim(0);  // freed memory goes back to the system, also from the threads' heaps
        if (job_.empty()) {
            count_and_weight();
        } else {
            take_weights();
        }
        ::malloc_trim(0);
        compare();
        write();
        return std::move(result_);
    }

  private:
    bool of_triples() const { return options_.input_format == triples_format; }
    bool by_documents() const { return makes_vectors() && params_.lsa_of == reduced_matrix::documents; }
    bool makes_vectors() const { return params_.dimensions != 0; }

    context with_memory(std::uint64_t bytes) const {
        context result = ctx_;
        result.memory_bytes = bytes;
        return result;
    }
    /// The context, with the memory left by the parts that stay in memory.
    context with_extra_memory(std::uint64_t held) const {
        const std::uint64_t limit = ctx_.memory_limit();
        return with_memory(std::max(limit / 4, limit - std::min(limit, held)));
    }
    std::uint64_t memory_of_documents() const { return by_documents() ? ctx_.memory_limit() / 4 : 0; }

    /// The contexts are in the space already.
    context_matrix_view contexts() const {
        const std::uint64_t entries = writer_.entries();
        return {matrix_.words,
                matrix_.relations,
                matrix_.offsets,
                {reinterpret_cast<const std::uint32_t*>(columns_.bytes().data()), entries},
                {reinterpret_cast<const float*>(weights_.bytes().data()), entries},
                matrix_.column_counts};
    }

    void read() {
        text_ = keep_stop_words(options_.text, folder_.temporary());
        const std::uint64_t memory = ctx_.memory_limit() / 4;
        if (of_triples()) {
            triples_.emplace(scratch_, memory);
            read_triples(options_, *triples_, ctx_);
        } else {
            corpus_.emplace(scratch_, memory);
            const text_options text = with_stop_words_of(text_, folder_.temporary());
            if (reader_) {
                reader_(*corpus_, ctx_);
            } else if (store_ != nullptr) {
                read_words(*store_, params_, text, by_documents(), *corpus_, ctx_);
            } else {
                read_words(options_, text, by_documents(), *corpus_, ctx_);
            }
        }
        reading_record& record = of_triples() ? triples_->record : corpus_->record;
        info_.documents = of_triples() ? 0 : record.counts.documents;
        info_.occurrences = of_triples() ? triples_->occurrences : corpus_->occurrences;
        info_.verbatim = of_triples() || corpus_->verbatim;
        result_.counts = std::move(record.counts);
        result_.issues = std::move(record.issues);
        clock_.end_stage("read", of_triples() ? triples_->input_bytes : corpus_->input_bytes);
        ctx_ = device_.pinned(result_.statistics);

        ctx_.report({"vocabulary", 0, 0, "words"});
        choose();
        if (chosen_.size() < 2) {
            refuse(fmt::format(
                "of {} distinct words {} occurs at least {} times (--min-count), and two are needed",
                info_.distinct, chosen_.size() == 0 ? "none" : "one", params_.min_count));
        }
        writer_.write_words(chosen_);
        words_ = chosen_.size();
        require_memory();
        release(chosen_.words);
        release(chosen_.frequencies);
        clock_.end_stage("vocabulary", 0);
    }

    void choose() {
        if (of_triples()) {
            chosen_ = choose_words(triples_->distinct, params_.min_count, params_.vocabulary, vocabulary_);
            info_.distinct = triples_->distinct.size();
            triples_->distinct = {};
        } else if (!corpus_->counts_of_store.empty()) {
            const std::vector<std::uint64_t> counts = std::exchange(corpus_->counts_of_store, {});
            chosen_ = choose_words(store_->words().dictionary(), counts, params_.min_count,
                                   params_.vocabulary, vocabulary_);
            info_.distinct = static_cast<std::uint64_t>(
                std::ranges::count_if(counts, [](std::uint64_t count) { return count != 0; }));
        } else {
            chosen_ = corpus_->distinct.choose(params_.min_count, params_.vocabulary, vocabulary_);
            info_.distinct = corpus_->distinct.distinct();
            result_.statistics.counts["spilled_bytes"] += corpus_->distinct.spilled_bytes();
        }
    }

    /// Neighbours by vectors or from a GPU stay in memory until all are known; others are written as they are sorted.
    std::uint64_t bytes_of_kept_neighbours() const {
        constexpr std::uint64_t neighbour = 12;
        const bool passed_on =
            params_.measure != word_measure::lsa && ctx_.device.where == device_choice::kind::cpu;
        return passed_on ? 0 : neighbour * std::min<std::uint64_t>(params_.top, words_);
    }
    /// The memory per word that is never spilled: sums, ends of rows, and vectors that are compared.
    std::uint64_t bytes_of_a_word() const {
        constexpr std::uint64_t sums = 40;
        const bool keeps_vectors = params_.measure == word_measure::lsa;
        return sums + bytes_of_kept_neighbours() + (keeps_vectors ? sizeof(float) * params_.dimensions : 0);
    }
    /// A quarter of the budget is for the steps themselves; the memory per word may exceed the rest by 12 MB.
    void require_memory() const {
        constexpr std::uint64_t extra = std::uint64_t{12} << 20;
        const std::uint64_t stays = held_by_counting() + bytes_of_a_word() * words_,
                            limit = ctx_.memory_limit();
        if (stays <= extra || (stays - extra) / 3 * 4 <= limit) return;
        throw out_of_memory(fmt::format("a space of {} words with {} neighbours each", words_,
                                        std::min<std::uint64_t>(params_.top, words_)),
                            (stays - extra) / 3 * 4, limit);
    }

    [[noreturn]] void refuse(const std::string& why) const {
        throw too_little(names_of(options_).front().string(), 0, "is too little for a thesaurus: " + why);
    }

    /// The weights of the first task of a job.
    void take_weights() {
        const weights_of_job taken(job_);
        const context_matrix_view& of = taken.view();
        if (of.words != words_)
            throw usage_error(
                job_.string() +
                ": the tasks had another corpus, with other words; make a plan in another folder");
        if (of_triples())
            static_cast<void>(write_relations());
        else
            corpus_.reset();
        triples_.reset();
        chosen_.id_of = {};
        constexpr std::size_t at_once = std::size_t{1} << 20;
        for (std::size_t i = 0; i < of.columns.size(); i += at_once) {
            ctx_.check_stop();
            const std::size_t size = std::min(at_once, of.columns.size() - i);
            writer_.append_contexts(of.columns.subspan(i, size), of.weights.subspan(i, size));
        }
        matrix_.words = of.words;
        matrix_.relations = of.relations;
        matrix_.offsets.assign(of.offsets.begin(), of.offsets.end());
        matrix_.column_counts.assign(of.column_counts.begin(), of.column_counts.end());
        note_counting(taken.record());
    }

    counting_record count_and_weight() {
        const std::uint64_t held =
            of_triples() ? triples_->triples.memory_bytes()
                         : corpus_->numbers.memory_bytes() + 4 * corpus_->document_lengths.capacity();
        const context ctx = with_extra_memory(held + vocabulary_.memory().used() + memory_of_documents() +
                                              held_by_counting() + share_of_vectors());
        const std::uint32_t relations = of_triples() ? triples_->relations.size() : 0;
        context_counter counter(words_, relations, params_.counting, ctx);
        of_triples() ? push_triples(counter) : push_words(counter);
        chosen_.id_of = {};
        clock_.end_stage("count", 0);
        if (makes_vectors_alongside()) {
            require_documents();
            making_vectors_.start([this] { made_vectors_ = decompose(with_share_of_memory()); });
        }

        ctx_.report({"weigh", 0, 0, "words"});
        matrix_ = counter.pmi(params_.pmi,
                              [&](std::span<const std::uint32_t> columns, std::span<const float> weights) {
                                  writer_.append_contexts(columns, weights);
                              });
        counting_record record = counter.record();
        result_.statistics.counts["spilled_bytes"] += record.bytes_spilled;
        note_counting(record);
        return record;
    }

    void note_counting(const counting_record& record) {
        info_.cooccurrences = record.cooccurrences;
        info_.triples = record.triples;
        info_.relations = matrix_.relations;
        info_.entries = writer_.entries();
        clock_.end_stage("weigh", info_.entries * 8);
        if (record.triples == 0) {
            refuse(of_triples() ? "no triple has two words of the vocabulary"
                                : fmt::format("no two words of the vocabulary co-occur within {} positions",
                                              params_.counting.window));
        }
        if (info_.entries == 0) {
            ctx_.log(log_level::warning,
                     "no two words co-occur more often than by chance: no word has contexts or neighbours");
        }
    }

    /// Sums of rows and of columns, offsets and weights.
    std::uint64_t held_by_counting() const {
        const counting_options& requested = params_.counting;
        const std::uint64_t relations = of_triples() ? triples_->relations.size()
                                        : requested.relation == word_relation::position ? 2 * requested.window
                                                                                        : 1;
        return 40 * relations * words_;
    }

    void push_words(context_counter& counter) {
        if (by_documents()) documents_.emplace(words_, scratch_, with_memory(memory_of_documents()));
        // Takes document d if d · lsa_words / occurrences, rounded down, increases there.
        const std::uint64_t all = corpus_->occurrences;
        const auto is_taken = [&](std::uint64_t d) {
            const std::uint64_t max = params_.lsa_words;
            return max == all_words || all <= max || (d + 1) * max / all != d * max / all;
        };
        std::size_t document = 0;
        std::vector<std::uint32_t> text;  // of the current document
        std::uint64_t done = 0;
        corpus_->numbers.drain([&](std::span<std::uint32_t> numbers) {
            ctx_.check_stop();
            const std::size_t pieces = pieces_for(vocabulary_, numbers.size(), std::size_t{1} << 15);
            for_each_piece(vocabulary_, pieces, [&](std::size_t p) {
                const item_range part = piece_of(numbers.size(), pieces, p);
                for (std::uint32_t& n : numbers.subspan(part.begin, part.end - part.begin)) {
                    if (n < passage_end) n = chosen_.id_of.data()[n];
                }
            });
            counter.push(std::span<const std::uint32_t>(numbers));
            done += numbers.size();
            ctx_.report({"count", done, corpus_->numbers.size(), "words"});
            if (!documents_) return;
            for (std::span<std::uint32_t> rest = numbers;;) {
                while (document < corpus_->document_lengths.size() &&
                       text.size() == corpus_->document_lengths[document]) {
                    if (is_taken(document)) documents_->add(text);
                    text.clear();
                    ++document;
                }
                if (rest.empty()) break;
                const std::size_t missing = corpus_->document_lengths[document] - text.size();
                const auto part = rest.first(std::min(missing, rest.size()));
                rest = rest.subspan(part.size());
                if (text.empty() && part.size() == missing) {  // a whole document
                    if (is_taken(document)) documents_->add(part);
                    ++document;
                } else {
                    text.insert(text.end(), part.begin(), part.end());
                }
            }
        });
        result_.statistics.counts["spilled_bytes"] += corpus_->numbers.spilled_bytes();
        corpus_.reset();
    }

    /// By name, so that the result does not depend on the order of lines. Returns the rank of each.
    std::vector<std::uint32_t> write_relations() {
        const word_count_table& names = triples_->relations;
        std::vector<std::uint32_t> order(names.size()), rank(names.size());
        for (std::uint32_t r = 0; r < names.size(); ++r) order[r] = r;
        std::ranges::sort(order, {}, [&](std::uint32_t r) { return names.word(r); });
        std::vector<std::string> sorted;
        for (std::uint32_t i = 0; i < names.size(); ++i) {
            rank[order[i]] = i;
            sorted.emplace_back(names.word(order[i]));
        }
        writer_.write_relations(sorted);
        return rank;
    }

    void push_triples(context_counter& counter) {
        const std::vector<std::uint32_t> rank = write_relations();
        std::vector<word_triple> known;
        std::uint64_t done = 0;
        triples_->triples.drain([&](std::span<const word_triple> triples) {
            ctx_.check_stop();
            known.clear();
            for (const word_triple& t : triples) {
                const std::uint32_t word = chosen_.id_of.data()[t.word],
                                    other = chosen_.id_of.data()[t.other];
                if (word == unknown_word || other == unknown_word) continue;
                known.push_back({word, rank[t.relation], other, t.count});
            }
            counter.push(std::span<const word_triple>(known));
            done += triples.size();
            ctx_.report({"count", done, 0, "triples"});
        });
        result_.statistics.counts["spilled_bytes"] += triples_->triples.spilled_bytes();
        triples_.reset();
    }

    void map_contexts() {
        columns_ = io::mapped_file(space_layout::file_of(folder_.temporary(), space_layout::contexts));
        weights_ = io::mapped_file(space_layout::file_of(folder_.temporary(), space_layout::context_weights));
    }

    void compare() {
        ctx_.report({"write", 0, 0, "bytes"});
        writer_.end_contexts(matrix_);
        map_contexts();
        clock_.end_stage("write", writer_.bytes());
        const bool vectors_are_made = makes_vectors_alongside();
        if (makes_vectors() && !vectors_are_made) make_vectors();
        const context ctx = context_to_compare();
        const similarity_options requested = similarity_of(options_);
        neighbour_lists lists;
        if (params_.top == 0) {
            lists.offsets.assign(std::size_t{words_} + 1, 0);
        } else if (params_.measure == word_measure::lsa) {
            lists = similar_vectors(vectors_, params_.lsa_measure, params_.top, ctx);
            writer_.append_neighbours(lists.words, lists.scores);
        } else {
            if (vectors_are_made) {
                lists = similar_words(contexts(), requested, ctx);
                clock_.end_stage("similar", 0);
                ctx_.report({"vectors", 0, 0, "blocks"});
                making_vectors_.wait();
                vectors_ = std::move(made_vectors_);
                write_vectors();
            }
            const neighbour_sink sink = [&](std::span<const std::uint32_t> words,
                                            std::span<const double> scores) {
                writer_.append_neighbours(words, scores);
            };
            if (vectors_are_made)
                sink(lists.words, lists.scores);
            else
                lists = job_.empty() ? similar_words(contexts(), requested, ctx, sink)
                                     : merge_neighbours(job_, words_, params_.top, ctx, sink);
        }
        info_.neighbours = lists.offsets.back();
        clock_.end_stage("similar", 0);
        writer_.end_neighbours(lists.offsets);
        lists = {};
        ctx_.check_stop();
        if (params_.full_matrix) write_all_similarities(requested, ctx);
    }

    context context_to_compare() const {
        constexpr std::uint64_t sums_of_a_word = 64;
        return with_extra_memory(held_bytes() + 4 * vectors_.values.size() + memory_alongside() +
                                 words_ * (sums_of_a_word + bytes_of_kept_neighbours()));
    }

    /// Whether the host makes vectors while a GPU weighs and compares, if memory is not short.
    bool makes_vectors_alongside() const {
        constexpr std::uint64_t enough = std::uint64_t{8} << 30;
        return by_documents() && params_.top != 0 && params_.measure != word_measure::lsa && job_.empty() &&
               ctx_.device.where == device_choice::kind::cuda && ctx_.memory_limit() >= enough;
    }
    std::uint64_t share_of_vectors() const { return makes_vectors_alongside() ? ctx_.memory_limit() / 8 : 0; }
    std::uint64_t memory_alongside() const {
        return makes_vectors_alongside() ? share_of_vectors() + memory_of_documents() : 0;
    }
    /// For the vectors then: nothing is reported from another thread.
    context with_share_of_memory() const {
        context result = with_memory(share_of_vectors());
        result.on_progress = {};
        result.on_log = {};
        return result;
    }

    void require_documents() const {
        if (by_documents() && documents_->documents() < 2) {
            refuse("latent semantic analysis of documents needs two documents");
        }
    }

    void make_vectors() {
        require_documents();
        ctx_.report({"vectors", 0, 0, "blocks"});
        vectors_ = decompose(with_extra_memory(held_bytes() + memory_of_documents()));
        write_vectors();
    }

    word_vectors decompose(const context& ctx) {
        if (by_documents()) documents_->finish();
        const context_matrix_view matrix = by_documents() ? documents_->view() : contexts();
        svd_options requested;
        const auto smaller = std::min<std::uint64_t>(matrix.words, matrix.column_counts.size());
        requested.dimensions = static_cast<unsigned>(std::min<std::uint64_t>(params_.dimensions, smaller));
        requested.seed = params_.seed;
        return truncated_svd(matrix, requested, ctx);
    }

    void write_vectors() {
        if (vectors_.dimensions < params_.dimensions) {
            ctx_.log(log_level::info,
                     fmt::format("vectors have {} dimensions, not {}: the matrix has no more",
                                 vectors_.dimensions, params_.dimensions));
        }
        if (documents_) result_.statistics.counts["spilled_bytes"] += documents_->spilled_bytes();
        documents_.reset();
        info_.dimensions = vectors_.dimensions;
        writer_.write_vectors(vectors_);
        clock_.end_stage("vectors", vectors_.values.size() * sizeof(float));
        if (params_.measure != word_measure::lsa) release(vectors_.values);
    }

    void write_all_similarities(const similarity_options& requested, const context& ctx) {
        writer_.write_similarities(words_, [&](const space_writer::row_sink& sink) {
            if (params_.measure == word_measure::lsa) {
                write_vector_similarities(sink, ctx);
                return;
            }
            all_similarities(contexts(), requested, ctx, [&](std::uint32_t w, std::span<const double> row) {
                ctx.check_stop();
                ctx.report({"similarities", w, words_, "words"});
                sink(row);
            });
        });
        clock_.end_stage("similarities", writer_.matrix_bytes());
    }

    /// Converts the lists of all words back into rows. A vector without a direction is similar to nothing, including
    /// itself.
    void write_vector_similarities(const space_writer::row_sink& sink, const context& ctx) const {
        const std::uint64_t bytes = std::uint64_t{words_} * words_ * 12;
        if (bytes > ctx.memory_limit()) {
            throw out_of_memory("the similarities of all vectors", bytes, ctx.memory_limit());
        }
        const neighbour_lists lists =
            similar_vectors(vectors_, params_.lsa_measure, std::max(1U, words_ - 1), ctx);
        std::vector<double> row(words_);
        for (std::uint32_t w = 0; w < words_; ++w) {
            std::ranges::fill(row, 0);
            row[w] = lists.offsets[w] == lists.offsets[w + 1] ? 0 : 1;
            for (std::uint64_t i = lists.offsets[w]; i < lists.offsets[w + 1]; ++i) {
                row[lists.words[i]] = lists.scores[i];
            }
            sink(row);
        }
    }

    void write() {
        ctx_.report({"commit", 0, 0, "bytes"});
        info_.format_version = space_format_version;
        info_.unicode_version = text::unicode_version();
        info_.requested = space_layout::requested_of(text_, params_);
        info_.vocabulary = words_;
        info_.matrix_bytes = writer_.matrix_bytes();
        info_.sections = writer_.sections();
        write_file(folder_.file(space_layout::manifest),
                   space_layout::manifest_text(info_, writer_.matrix_checksum()));
        result_.occurrences = info_.occurrences;
        result_.distinct = info_.distinct;
        result_.vocabulary = info_.vocabulary;
        result_.cooccurrences = info_.cooccurrences;
        result_.entries = info_.entries;
        result_.dimensions = info_.dimensions;
        result_.space_bytes = writer_.bytes();
        note_counts();
        write_file(folder_.file(space_layout::statistics), to_json(result_.statistics));
        ctx_.check_stop();
        folder_.commit();
        clock_.end_stage("commit", result_.space_bytes);
    }

    void note_counts() {
        run_statistics& statistics = result_.statistics;
        auto& counts = statistics.counts;
        counts["documents"] = info_.documents;
        counts["words"] = info_.occurrences;
        counts["distinct"] = info_.distinct;
        counts["vocabulary"] = info_.vocabulary;
        counts["meetings"] = info_.cooccurrences;
        counts["triples"] = info_.triples;
        counts["entries"] = info_.entries;
        counts["neighbours"] = info_.neighbours;
        counts["rejected"] = result_.counts.rejected;
        counts["damaged"] = result_.counts.damaged;
        counts["cut"] = result_.counts.truncated;
        counts["space_bytes"] = result_.space_bytes;
        for (const auto& [reason, count] : result_.counts.skipped) counts["skipped: " + reason] = count;
        statistics.threads = ctx_.thread_count();
        statistics.peak_memory_bytes = peak_memory_bytes();
    }

    /// The part of the contexts that is in memory.
    std::uint64_t held_bytes() const { return 8 * (matrix_.column_counts.size() + matrix_.offsets.size()); }

    const words_options& options_;
    const opened_store* const store_;
    const words_reader reader_;
    const std::filesystem::path job_;
    const space_params params_;
    words_result result_;
    device_ahead device_;
    context ctx_;  ///< that of `device_`
    stage_clock clock_{result_.statistics};
    io::atomic_folder folder_;
    scratch_folder scratch_;
    space_writer writer_;
    text_options text_;
    word_space_info info_;
    std::optional<corpus_words> corpus_;
    std::optional<read_triples_result> triples_;
    cpu_place vocabulary_{with_memory(ctx_.memory_limit() / 4)};
    chosen_words chosen_;
    std::uint32_t words_ = 0;
    std::optional<document_matrix> documents_;
    context_matrix matrix_;              ///< without entries:
    io::mapped_file columns_, weights_;  ///< in place, in the space
    word_vectors vectors_, made_vectors_;
    alongside making_vectors_;  ///< makes the latter of the documents
};

/// Options that tasks do not support.
void refuse_what_is_whole(const words_options& options) {
    const space_params& q = options.params;
    if (q.measure == word_measure::lsa || q.dimensions != 0)
        throw usage_error(
            "vectors of words are not distributed (expected a measure other than lsa, without --vectors)");
    if (q.full_matrix || q.top == 0)
        throw usage_error(
            "only the comparison for the K most similar words is distributed (expected --top K)");
    if (options.source != nullptr || options.inputs.front() == "-")
        throw usage_error("standard input cannot be cut into shards (expected files or folders)");
    if (is_store(options.inputs.front()))
        throw usage_error("a store is not distributed (expected the corpus that it was made of)");
}

}  // namespace

words_result words(const words_options& request, const context& ctx) {
    const words_options options = checked(request);
    if (options.source == nullptr && is_store(options.inputs.front())) {
        const opened_store store = open_store(options.inputs.front());
        require_word_order(store, "similar words");
        return words_run(options, &store, {}, ctx).run();
    }
    return words_run(options, nullptr, {}, ctx).run();
}

std::vector<job_task> plan_words(const words_options& request, unsigned shards, const context& ctx) {
    const words_options options = checked(request);
    refuse_what_is_whole(options);
    require_cpu(ctx, "the comparison of words in tasks");
    std::vector<std::filesystem::path> files = files_of(options);
    if (!is_builtin_stop_list(options.text.stop_words)) files.emplace_back(options.text.stop_words);
    const std::string parts = std::to_string(std::max(shards, 1u));
    std::vector<job_task> tasks(1);
    tasks[0].kind = "count";
    tasks[0].inputs = describe_inputs(files, ctx);
    tasks[0].parameters = {{"parts", parts}};
    for (unsigned part = 0; part < std::max(shards, 1u); ++part) {
        job_task& task = tasks.emplace_back();
        task.phase = 1;
        task.kind = "compare";
        task.after = {0};
        task.parameters = {{"part", std::to_string(part)},
                           {"parts", parts},
                           {std::string(job_files::reads), std::string(shared_rows_of_job::results)}};
    }
    return tasks;
}

void run_words_task(const words_options& request, const task_file& file, task_results& results,
                    const context& ctx) {
    words_options options = request;
    options.force = true;  // the run that makes the space refuses to replace one
    options = checked(options);
    refuse_what_is_whole(options);
    if (file.task.kind == "count") {
        const scratch_folder scratch(ctx);
        options.space = scratch.path() / "space";
        words_run(options, nullptr, {}, ctx).write_counts(results, file.task.number("parts"));
        return;
    }
    const std::uint64_t part = file.task.number("part"), parts = file.task.number("parts");
    if (part >= parts)
        throw usage_error(fmt::format("task {} has a part that the plan does not have", file.number));
    run_statistics statistics;
    const context comparing = pinned_to_device(ctx, "words", statistics, offered_places::cpu_only);
    const shared_rows_of_job shared(file.job);
    write_neighbours(
        word_similarity_detail::find_share(shared.rows(), part, parts, similarity_of(options), comparing),
        results);
}

words_result words_of_job(const words_options& request, const std::filesystem::path& job,
                          const context& ctx) {
    const words_options options = checked(request);
    refuse_what_is_whole(options);
    return words_run(options, nullptr, job, ctx).run();
}

words_result words_of_store(const opened_store& store, const words_options& options, const context& ctx,
                            const words_reader& read) {
    return words_run(options, &store, {}, ctx, read).run();
}

}  // namespace quern
