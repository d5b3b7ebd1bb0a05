// SPDX-License-Identifier: Apache-2.0
// From a corpus to a space: read and number the words, choose the vocabulary, count, weigh, compare, write. The corpus
// is read once; its words wait as numbers of 4 bytes until the vocabulary is known. Everything goes into a folder under
// another name, which gets its own at the very end.
#include "quern/tasks/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/release.hpp"
#include "device/files/file_writer.hpp"
#include "device/files/scratch_folder.hpp"
#include "io/files/atomic_folder.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/pinned_to_device.hpp"
#include "tasks/stage_clock.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/words/corpus_words.hpp"
#include "tasks/words/document_matrix.hpp"
#include "tasks/words/door.hpp"
#include "tasks/words/space_layout.hpp"
#include "tasks/words/space_writer.hpp"
#include "tasks/words/triple_reader.hpp"
#include "tasks/words/vocabulary.hpp"
#include "text/analyzer.hpp"

namespace quern {
namespace {

/// The work of one call, in the order of its members' names.
class words_run {
  public:
    /// `store`: read in place of the inputs; or none.
    words_run(const words_options& options, const opened_store* store, const context& run)
        : options_(options),
          store_(store),
          question_(options.question),
          run_(pinned_to_device(run, "words", result_.statistics)),
          folder_(options.space, options.force ? io::existing::replace : io::existing::refuse),
          scratch_(run_),
          writer_(folder_.temporary(), scratch_.file("string_ends")) {}

    words_result run() {
        read();
        count_and_weigh();
        compare();
        write();
        return std::move(result_);
    }

  private:
    bool of_triples() const { return options_.input_format == triples_format; }
    bool by_documents() const { return makes_vectors() && question_.lsa_of == reduced_matrix::documents; }
    bool makes_vectors() const { return question_.dimensions != 0; }

    /// The run, left with what the parts that stay in memory leave of its budget.
    context with_memory_beside(std::uint64_t held) const {
        context left = run_;
        const std::uint64_t limit = run_.memory_limit();
        left.memory_bytes = std::max(limit / 4, limit - std::min(limit, held));
        return left;
    }

    void read() {
        text_ = keep_stop_words(options_.text, folder_.temporary());
        const std::uint64_t memory = run_.memory_limit() / 4;
        if (of_triples()) {
            triples_.emplace(scratch_, memory);
            read_triples(options_, *triples_, run_);
        } else {
            corpus_.emplace(scratch_, memory);
            const text_options text = with_stop_words_of(text_, folder_.temporary());
            if (store_ != nullptr) {
                read_words(*store_, question_, text, by_documents(), *corpus_, run_);
            } else {
                read_words(options_, text, by_documents(), *corpus_, run_);
            }
        }
        word_tally& distinct = of_triples() ? triples_->distinct : corpus_->distinct;
        reading_record& record = of_triples() ? triples_->record : corpus_->record;
        info_.documents = of_triples() ? 0 : record.counts.documents;
        info_.occurrences = of_triples() ? triples_->occurrences : corpus_->occurrences;
        info_.distinct = distinct.size();
        info_.verbatim = of_triples() || corpus_->verbatim;
        result_.counts = std::move(record.counts);
        result_.issues = std::move(record.issues);
        clock_.end_stage("read", of_triples() ? triples_->input_bytes : corpus_->input_bytes);

        chosen_ = choose_words(distinct, question_.min_count, question_.vocabulary);
        distinct = {};
        if (chosen_.size() < 2) {
            refuse(fmt::format(
                "of {} distinct words {} occurs at least {} times (--min-count), and two are needed",
                info_.distinct, chosen_.size() == 0 ? "none" : "one", question_.min_count));
        }
        writer_.write_words(chosen_);
        release(chosen_.words);
        release(chosen_.frequencies);
        words_ = static_cast<std::uint32_t>(
            std::ranges::count_if(chosen_.id_of, [](std::uint32_t id) { return id != unknown_word; }));
        clock_.end_stage("vocabulary", 0);
    }

    [[noreturn]] void refuse(const std::string& why) const {
        throw too_little(options_.inputs.front().string(), 0, "is too little for a thesaurus: " + why);
    }

    void count_and_weigh() {
        const std::uint64_t held =
            of_triples() ? triples_->triples.memory_bytes()
                         : corpus_->numbers.memory_bytes() + 4 * corpus_->document_lengths.capacity();
        const context run = with_memory_beside(held + 4 * chosen_.id_of.capacity());
        const std::uint32_t relations = of_triples() ? triples_->relations.size() : 0;
        context_counter counter(words_, relations, question_.counting, run);
        of_triples() ? push_triples(counter) : push_words(counter);
        release(chosen_.id_of);
        clock_.end_stage("count", 0);

        matrix_ = counter.weigh(question_.weighing);
        const counting_record& record = counter.record();
        info_.meetings = record.meetings;
        info_.triples = record.triples;
        info_.relations = matrix_.relations;
        info_.entries = matrix_.columns.size();
        result_.statistics.counts["spilled_bytes"] += record.bytes_spilled;
        clock_.end_stage("weigh", matrix_.columns.size() * 8);
        if (record.triples == 0) {
            refuse(of_triples() ? "no two words of the vocabulary are in a triple together"
                                : fmt::format("no two words of the vocabulary meet within {} places",
                                              question_.counting.window));
        }
        if (info_.entries == 0) {
            run_.log(log_level::warning,
                     "no two words meet more often than by chance: no word has contexts or neighbours");
        }
    }

    void push_words(context_counter& counter) {
        if (by_documents()) documents_.emplace(words_, run_.memory_limit() / 2);
        // Document d is taken where d · lsa_words / occurrences, rounded down, rises with it.
        const std::uint64_t all = corpus_->occurrences;
        const auto is_taken = [&](std::uint64_t d) {
            const std::uint64_t most = question_.lsa_words;
            return most == all_words || all <= most || (d + 1) * most / all != d * most / all;
        };
        std::size_t document = 0;
        std::vector<std::uint32_t> text;  // of the document at hand
        std::uint64_t done = 0;
        corpus_->numbers.drain([&](std::span<std::uint32_t> numbers) {
            run_.check_stop();
            for (std::uint32_t& n : numbers) {
                if (n < passage_end) n = chosen_.id_of[n];
            }
            counter.push(std::span<const std::uint32_t>(numbers));
            done += numbers.size();
            run_.report({"count", done, corpus_->numbers.size(), "words"});
            if (!documents_) return;
            for (std::span<std::uint32_t> rest = numbers;;) {
                while (document < corpus_->document_lengths.size() &&
                       text.size() == corpus_->document_lengths[document]) {
                    if (is_taken(document)) documents_->add(text);
                    text.clear();
                    ++document;
                }
                if (rest.empty()) break;
                const std::size_t wanted = corpus_->document_lengths[document] - text.size();
                const auto part = rest.first(std::min(wanted, rest.size()));
                text.insert(text.end(), part.begin(), part.end());
                rest = rest.subspan(part.size());
            }
        });
        result_.statistics.counts["spilled_bytes"] += corpus_->numbers.spilled_bytes();
        corpus_.reset();
    }

    void push_triples(context_counter& counter) {
        // Relations by their names, so that what is computed does not depend on the order of lines.
        const word_tally& names = triples_->relations;
        std::vector<std::uint32_t> order(names.size()), rank(names.size());
        for (std::uint32_t r = 0; r < names.size(); ++r) order[r] = r;
        std::ranges::sort(order, {}, [&](std::uint32_t r) { return names.word(r); });
        std::vector<std::string> sorted;
        for (std::uint32_t i = 0; i < names.size(); ++i) {
            rank[order[i]] = i;
            sorted.emplace_back(names.word(order[i]));
        }
        writer_.write_relations(sorted);
        std::vector<word_triple> known;
        triples_->triples.drain([&](std::span<const word_triple> triples) {
            run_.check_stop();
            known.clear();
            for (const word_triple& t : triples) {
                const std::uint32_t word = chosen_.id_of[t.word], other = chosen_.id_of[t.other];
                if (word == unknown_word || other == unknown_word) continue;
                known.push_back({word, rank[t.relation], other, t.count});
            }
            counter.push(std::span<const word_triple>(known));
        });
        result_.statistics.counts["spilled_bytes"] += triples_->triples.spilled_bytes();
        triples_.reset();
    }

    void compare() {
        const std::uint64_t held = matrix_bytes(matrix_);
        writer_.write_contexts(matrix_);
        clock_.end_stage("write", writer_.bytes());
        if (makes_vectors()) make_vectors();
        const context run = with_memory_beside(held + 4 * vectors_.values.size());
        const similarity_options asked = similarity_of(question_, options_.method);
        neighbour_lists lists;
        if (question_.top == 0) {
            lists.offsets.assign(std::size_t{words_} + 1, 0);
        } else if (question_.measure == word_measure::lsa) {
            lists = similar_vectors(vectors_, question_.lsa_measure, question_.top, run);
        } else {
            lists = similar_words(matrix_.view(), asked, run);
        }
        info_.neighbours = lists.words.size();
        clock_.end_stage("similar", 0);
        writer_.write_neighbours(lists);
        lists = {};
        if (question_.full_matrix) write_all_similarities(asked, run);
    }

    void make_vectors() {
        if (by_documents() && documents_->documents() < 2) {
            refuse("latent semantic analysis of documents needs two documents");
        }
        const context_matrix of_documents = by_documents() ? documents_->finish() : context_matrix();
        documents_.reset();
        const context_matrix& matrix = by_documents() ? of_documents : matrix_;
        reduction_options asked;
        const auto smaller = std::min<std::uint64_t>(matrix.words, matrix.column_counts.size());
        asked.dimensions = static_cast<unsigned>(std::min<std::uint64_t>(question_.dimensions, smaller));
        asked.seed = question_.seed;
        if (asked.dimensions < question_.dimensions) {
            run_.log(log_level::info, fmt::format("vectors have {} dimensions, not {}: there are no more",
                                                  asked.dimensions, question_.dimensions));
        }
        vectors_ = reduce(matrix.view(), asked, with_memory_beside(matrix_bytes(matrix_)));
        info_.dimensions = vectors_.dimensions;
        writer_.write_vectors(vectors_);
        clock_.end_stage("vectors", vectors_.values.size() * sizeof(float));
    }

    void write_all_similarities(const similarity_options& asked, const context& run) {
        writer_.write_similarities(words_, [&](const space_writer::row_sink& take) {
            if (question_.measure == word_measure::lsa) {
                write_vector_similarities(take, run);
                return;
            }
            all_similarities(matrix_.view(), asked, run, [&](std::uint32_t w, std::span<const double> row) {
                run.check_stop();
                run.report({"similarities", w, words_, "words"});
                take(row);
            });
        });
        clock_.end_stage("similarities", writer_.matrix_bytes());
    }

    /// Lists of all words, turned back into rows. A vector that has no direction is near to nothing, itself included.
    void write_vector_similarities(const space_writer::row_sink& take, const context& run) const {
        const std::uint64_t bytes = std::uint64_t{words_} * words_ * 12;
        if (bytes > run.memory_limit()) {
            throw out_of_memory("the similarities of all vectors", bytes, run.memory_limit());
        }
        const neighbour_lists lists =
            similar_vectors(vectors_, question_.lsa_measure, std::max(1U, words_ - 1), run);
        std::vector<double> row(words_);
        for (std::uint32_t w = 0; w < words_; ++w) {
            std::ranges::fill(row, 0);
            row[w] = lists.offsets[w] == lists.offsets[w + 1] ? 0 : 1;
            for (std::uint64_t i = lists.offsets[w]; i < lists.offsets[w + 1]; ++i) {
                row[lists.words[i]] = lists.scores[i];
            }
            take(row);
        }
    }

    void write() {
        info_.format_version = space_format_version;
        info_.unicode_version = text::unicode_version();
        info_.asked = space_layout::asked_of(text_, question_);
        info_.vocabulary = words_;
        info_.matrix_bytes = writer_.matrix_bytes();
        info_.sections = writer_.sections();
        write_file(folder_.file(space_layout::manifest),
                   space_layout::manifest_text(info_, writer_.matrix_checksum()));
        result_.occurrences = info_.occurrences;
        result_.distinct = info_.distinct;
        result_.vocabulary = info_.vocabulary;
        result_.meetings = info_.meetings;
        result_.entries = info_.entries;
        result_.dimensions = info_.dimensions;
        result_.space_bytes = writer_.bytes();
        note_counts();
        write_file(folder_.file(space_layout::statistics), to_json(result_.statistics));
        run_.check_stop();
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
        counts["meetings"] = info_.meetings;
        counts["triples"] = info_.triples;
        counts["entries"] = info_.entries;
        counts["neighbours"] = info_.neighbours;
        counts["rejected"] = result_.counts.rejected;
        counts["damaged"] = result_.counts.damaged;
        counts["cut"] = result_.counts.cut;
        counts["space_bytes"] = result_.space_bytes;
        for (const auto& [reason, count] : result_.counts.skipped) counts["skipped: " + reason] = count;
        statistics.threads = run_.thread_count();
        statistics.peak_memory_bytes = peak_memory_bytes();
    }

    static std::uint64_t matrix_bytes(const context_matrix& matrix) {
        return 8 * (matrix.columns.size() + matrix.column_counts.size() + matrix.offsets.size());
    }

    const words_options& options_;
    const opened_store* const store_;
    const space_question question_;
    words_result result_;
    context run_;
    stage_clock clock_{result_.statistics};
    io::atomic_folder folder_;
    scratch_folder scratch_;
    space_writer writer_;
    text_options text_;
    word_space_info info_;
    std::optional<corpus_words> corpus_;
    std::optional<read_triples_result> triples_;
    chosen_words chosen_;
    std::uint32_t words_ = 0;
    std::optional<document_matrix> documents_;
    context_matrix matrix_;
    word_vectors vectors_;
};

}  // namespace

words_result words(const words_options& request, const context& run) {
    const words_options options = checked(request);
    if (is_store(options.inputs.front())) {
        const opened_store store = open_store(options.inputs.front());
        return words_run(options, &store, run).run();
    }
    return words_run(options, nullptr, run).run();
}

words_result words_of_store(const opened_store& store, const words_options& options, const context& run) {
    return words_run(options, &store, run).run();
}

}  // namespace quern
