// SPDX-License-Identifier: Apache-2.0
// From a corpus to rows: the words become ids (ngram_corpus), the operation gives the rows by n-gram, document_rows brings them
// into the order of documents, and they go out one by one or as text. What is counted of the whole collection is gathered on the
// way, where a file of it is asked for.
#include "quern/tasks/ngrams.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "device/files/scratch_folder.hpp"
#include "ops/ngram_likelihood/joined_rows.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dictionary.hpp"
#include "quern/tasks/output_file.hpp"
#include "report/tsv.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/memory_left.hpp"
#include "tasks/ngrams/arpa_model.hpp"
#include "tasks/ngrams/collection_counts.hpp"
#include "tasks/ngrams/document_rows.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"
#include "tasks/ngrams/row_text.hpp"
#include "tasks/ngrams/text_batches.hpp"
#include "tasks/pinned_to_device.hpp"
#include "tasks/stage_clock.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "text/analyzer.hpp"

namespace quern {
namespace {

/// Where the rows go: nowhere, one by one, or as text.
struct row_destination {
    std::function<void(const ngram_row&)> take;
    row_format format = row_format::tsv;
    std::function<void(std::string_view)> write;

    bool wanted() const { return take || write; }
};

/// Text that goes to a file, to the caller, or is not asked for.
class text_target {
  public:
    text_target(const std::filesystem::path& path, const std::function<void(std::string_view)>& take,
                bool replace, const context& run)
        : take_(take) {
        if (!take && !path.empty()) file_.emplace(path, output_options{.replace = replace}, run);
    }
    bool wanted() const { return file_ || take_; }
    std::uint64_t bytes() const { return bytes_; }
    void write(std::string_view text) {
        bytes_ += text.size();
        file_ ? file_->write(text) : take_(text);
    }
    void commit() {
        if (file_) file_->commit();
    }

  private:
    std::optional<output_file> file_;
    const std::function<void(std::string_view)>& take_;
    std::uint64_t bytes_ = 0;
};

class ngrams_run {
  public:
    ngrams_run(const ngrams_options& options, const context& run, const row_destination& to)
        : options_(options),
          run_(pinned_to_device(run, place_asked(options.ngrams.method), result_.statistics,
                                offered_by(options.ngrams.method))),
          to_(to),
          totals_text_(options.totals, options.take_totals, options.replace, run_),
          arpa_text_(options.arpa, options.take_arpa, options.replace, run_),
          scratch_(run_),
          tables_(run_.memory_limit() / 2) {}

    ngrams_result run() {
        const std::unique_ptr<word_dictionary> known = open_dictionary();
        corpus_ = read_ngram_corpus(options_, text_, known.get(), scratch_, tables_, run_);
        spilled_ = corpus_.spilled_bytes;
        clock_.end_stage("read", corpus_.input_bytes);
        options_.ngrams.history_counts ? count_and_write<document_row_with_history>()
                                       : count_and_write<document_row>();
        fill_result();
        return std::move(result_);
    }

  private:
    static const char* place_asked(ngram_method method) {
        return method == ngram_method::suffix_sigma ? "method suffix-sigma" : "ngrams";
    }
    static offered_places offered_by(ngram_method method) {
        return method == ngram_method::suffix_sigma ? offered_places::cpu_only : offered_places::all;
    }

    /// The dictionary, and with what text options the words are made.
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
            throw usage_error(path + " was made with stop words from a file, which is needed here too");
        if (as_recorded(text_) != info.text) throw usage_error(path + " was made with other text options");
        text::warn_of_other_unicode(path, info.unicode_version, run_);
        return known;
    }

    template <class Row>
    void count_and_write() {
        const std::uint64_t memory = run_.memory_limit();
        std::unique_ptr<document_rows<Row>> rows;
        std::unique_ptr<collection_counts> counts;
        std::uint64_t held = tables_.taken();
        ngram_options asked = options_.ngrams;
        if (to_.wanted()) {
            held += memory / 4;
            rows = std::make_unique<document_rows<Row>>(scratch_, corpus_.documents, asked, memory / 4);
        }
        if (totals_text_.wanted() || arpa_text_.wanted()) {
            const bool histories = arpa_text_.wanted() && model_needs_histories(asked);
            asked.history_counts |= histories;
            held += memory / 8;
            counts = std::make_unique<collection_counts>(scratch_, asked.only ? asked.order : 1, asked.order,
                                                         histories, memory / 8);
        }
        const auto add_counts = [&](const collection_ngrams& block) { counts->add(block); };
        ngram_detail::joined_rows joined(corpus_.documents, asked.order, add_counts);
        count(asked, with_memory_left(run_, held, "the words of the corpus"),
              [&](const ngram_collection& collection, const context& run) {
                  if (counts && !rows) return count_collection_ngrams(collection, asked, run, add_counts);
                  return ngram_likelihood(collection, asked, run, [&](const ngram_rows& block) {
                      if (rows) rows->add(block);
                      if (counts) joined.add(block);
                  });
              });
        if (counts) {
            counts->finish();
            spilled_ += counts->spilled_bytes();
            if (arpa_text_.wanted()) check_arpa_words(corpus_, *counts, options_.inputs.front().string());
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
    void count(const ngram_options& asked, const context& run, const Counting& counting) {
        ngram_collection collection{
            .words = corpus_.words.span(), .documents = corpus_.documents, .vocabulary = corpus_.vocabulary};
        std::vector<std::uint64_t> starts;
        std::vector<std::uint32_t> lengths;
        if (asked.method == ngram_method::strings) {
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
        const ngram_record record = counting(collection, run);
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
        rows.drain([&](std::span<const Row> sorted) {
            if (to_.take) {
                for (const Row& row : sorted) hand_over(row);
            } else {
                write_in_batches(
                    run_, sorted.size(),
                    [&](std::string& out, std::uint64_t begin, std::uint64_t end) {
                        texts.append(out, sorted.subspan(begin, end - begin));
                    },
                    [&](std::string_view text) {
                        bytes += text.size();
                        to_.write(text);
                    });
            }
            done += sorted.size();
            run_.report({"write", done, all, "rows"});
        });
        clock_.end_stage("write", bytes);
    }

    template <class Row>
    void hand_over(const Row& row) {
        run_.check_stop();
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
            result_.model_ngrams = write_arpa_model(corpus_, options_.ngrams, counts, scratch_, tables_, run_,
                                                    [&](std::string_view text) { arpa_text_.write(text); });
            clock_.end_stage("model", arpa_text_.bytes());
        }
        totals_text_.commit();
        arpa_text_.commit();
    }

    void write_totals(collection_counts& counts) {
        for (const ngram_totals& of_n : result_.totals) {
            counts.of(of_n.n).for_each([&](std::span<const counted_ngram> part) {
                write_in_batches(
                    run_, part.size(),
                    [&](std::string& out, std::uint64_t begin, std::uint64_t end) {
                        std::string words;
                        for (const counted_ngram& g : part.subspan(begin, end - begin)) {
                            words.clear();
                            append_words(words, corpus_, g.position, of_n.n);
                            report::append_tsv_field(out, words);
                            out += '\t';
                            out += std::to_string(g.count);
                            out += '\n';
                        }
                    },
                    [&](std::string_view text) { totals_text_.write(text); });
            });
        }
    }

    void fill_result() {
        result_.counts = std::move(corpus_.record.counts);
        result_.issues = std::move(corpus_.record.issues);
        result_.documents = corpus_.document_count();
        result_.words = corpus_.words.size();
        result_.distinct = corpus_.distinct;
        result_.unknown = corpus_.unknown;
        result_.distinct_unknown = corpus_.distinct_unknown;
        run_statistics& statistics = result_.statistics;
        statistics.threads = run_.thread_count();
        statistics.peak_memory_bytes = peak_memory_bytes();
        auto& counts = statistics.counts;
        counts.insert({{"documents", result_.documents},
                       {"rejected", result_.counts.rejected},
                       {"words", result_.words},
                       {"distinct", result_.distinct},
                       {"unknown", result_.unknown},
                       {"distinct_unknown", result_.distinct_unknown},
                       {"vocabulary", corpus_.vocabulary},
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
    const context run_;
    const row_destination& to_;
    stage_clock clock_{result_.statistics};
    text_target totals_text_, arpa_text_;
    scratch_folder scratch_;
    table_share tables_;
    text_options text_;
    ngram_corpus corpus_;
    std::string words_;
    std::uint64_t spilled_ = 0;
};

ngrams_result checked_run(const ngrams_options& options, const context& run, const row_destination& to) {
    require_inputs(options.inputs);
    for (const std::filesystem::path& input : options.inputs) refuse_own_output(input);
    const ngram_options& asked = options.ngrams;
    ngram_likelihood({}, asked, context::cpu(1));  // options that are refused are so before the work
    if ((!options.arpa.empty() || options.take_arpa) && asked.only)
        throw usage_error(std::string(model_needs_all_lengths));
    if (!options.dictionary.empty() && asked.method == ngram_method::strings)
        throw usage_error("the method strings compares words as they stand, and takes no dictionary");
    return ngrams_run(options, run, to).run();
}

}  // namespace

std::vector<std::string> ngram_columns(const ngram_options& options) {
    std::vector<std::string> names = {"doc", "n", "words", "f(d)", "f(C)"};
    names.emplace_back("P");
    if (options.history_counts) names.insert(names.end(), {"h(d)", "h(C)"});
    return names;
}

ngrams_result ngrams(const ngrams_options& options, const context& run,
                     const std::function<void(const ngram_row&)>& take) {
    return checked_run(options, run, {.take = take, .write = {}});
}

ngrams_result ngrams_as_text(const ngrams_options& options, row_format format, const context& run,
                             const std::function<void(std::string_view)>& write) {
    if (format == row_format::table)
        throw usage_error("a table needs all rows at once: take the rows one by one");
    return checked_run(options, run, {.take = {}, .format = format, .write = write});
}

}  // namespace quern
