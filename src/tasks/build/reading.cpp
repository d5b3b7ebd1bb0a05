// SPDX-License-Identifier: Apache-2.0
// A pipeline of five steps over units of the corpus, at most `threads + 2` of them under way:
//   cut (in order) → parse (parallel) → admit: ids, numbers, links (in order)
//                  → analyse, invert, compress (parallel) → append to the store (in order).
// What is computed depends on the documents and their order alone, so the bytes of the store do not depend on
// threads, unit size or memory.
#include "tasks/build/reading.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "io/corpus/corpus.hpp"
#include "io/store/string_column.hpp"
#include "ops/search/indexing/inverter.hpp"
#include "quern/base/error.hpp"
#include "tasks/build/text_store.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "text/analyzer.hpp"

namespace quern {
namespace {

class stopwatch {
  public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

  private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// One unit on its way through the pipeline.
struct unit_in_work {
    std::unique_ptr<io::corpus_unit> raw;
    io::parsed_unit parsed;
    std::vector<raw_text_block> full_blocks;
    std::vector<compressed_text_block> frames;
    search_detail::sorted_run words, title_words;
    std::uint32_t first_document = 0;
    std::vector<std::uint32_t> document_lengths;
    step_seconds seconds;
};

/// The steps' state; each member is touched by one in-order step only.
class collection_reader {
  public:
    collection_reader(const build_options& options, const text_options& text, index_source source,
                      const std::filesystem::path& store, const scratch_folder& scratch,
                      collection_pieces& pieces, const context& run)
        : options_(options),
          pieces_(pieces),
          run_(run),
          source_(std::move(source)),
          analyzers_([text] { return text::analyzer(text); }),
          ids_(store_layout::file_of(store, store_layout::ids), scratch.file("id_ends")),
          titles_(store_layout::file_of(store, store_layout::titles), scratch.file("title_ends")),
          text_ends_(store_layout::file_of(store, store_layout::text_ends)),
          lengths_(store_layout::file_of(store, store_layout::document_lengths)),
          blocks_(store) {
        if (source_.old == nullptr) return;
        const document_copies& copies = source_.old->store().copies();
        for (std::uint64_t i = 0; i < copies.size(); ++i) pieces_.ids.insert(copies[i].id, copies.kept(i));
        old_links_.emplace(source_.old->store());
        for (const auto& r : old_links_->redirects()) pieces_.links.add_redirect(r);
    }

    void run_pipeline() {
        pipeline<unit_in_work> line(units_at_once(run_));
        line.from([this](unit_in_work& unit) { return cut(unit); });
        line.in_parallel(parse);
        line.in_order([this](unit_in_work& unit) { admit(unit); });
        line.in_parallel([this](unit_in_work& unit) { index(unit); });
        line.in_order([this](unit_in_work& unit) { append(unit); });
        line.run();
        finish();
        refuse_too_many_errors();
        if (next_left_out_ != source_.left_out.size()) {
            throw invalid_input(options_.inputs.back().string(), 0,
                                "lacks documents that were there when near-duplicates were looked for");
        }
    }

  private:
    bool cut(unit_in_work& unit) {
        run_.check_stop();
        const stopwatch watch;
        unit.raw = source_.corpus->next();
        if (unit.raw) refuse_oversized(*unit.raw, run_);
        unit.seconds.read = watch.seconds();
        run_.report(
            {source_.progress, source_.corpus->consumed_bytes(), source_.corpus->total_bytes(), "bytes"});
        return unit.raw != nullptr;
    }

    static void parse(unit_in_work& unit) {
        const stopwatch watch;
        unit.parsed = unit.raw->parse();
        unit.raw.reset();
        unit.seconds.parse = watch.seconds();
    }

    void admit(unit_in_work& unit) {
        const stopwatch watch;
        io::parsed_unit& parsed = unit.parsed;
        pieces_.record.take(parsed);
        unit.first_document = static_cast<std::uint32_t>(pieces_.documents);
        std::erase_if(parsed.documents, [&](const document& d) { return !admit_id(d); });
        for (const document& d : parsed.documents) {
            ids_.append(d.id);
            titles_.append(d.title);
            const bool is_old = source_.old != nullptr && appended_ < source_.old->store().info().documents;
            if (is_old) {
                pieces_.links.add_document(old_links_->next());
            } else {
                pieces_.links.add_document(d);
            }
            ++appended_;
            gatherer_.add(d.text, unit.full_blocks);
            pieces_.verbatim |= d.verbatim;
            if (source_.old != nullptr && d.verbatim != source_.old->store().info().verbatim)
                throw usage_error("word lines and other documents cannot be in one store");
            text_bytes_ += d.text.size();
            text_ends_.append_value(text_bytes_);
        }
        for (const redirect& r : parsed.redirects) pieces_.links.add_redirect(r);
        pieces_.record.refuse_early(options_.max_errors, options_.inputs);
        unit.seconds.admit = watch.seconds();
    }

    bool admit_id(const document& d) {
        if (pieces_.documents >= std::numeric_limits<std::uint32_t>::max() - 1) {
            throw invalid_input(options_.inputs.back().string(), 0,
                                "a store holds at most 4294967294 documents");
        }
        const bool left_out = next_left_out_ < source_.left_out.size() &&
                              source_.left_out[next_left_out_].position == pieces_.documents + next_left_out_;
        const auto number =
            left_out ? source_.left_out[next_left_out_].kept : static_cast<std::uint32_t>(pieces_.documents);
        if (!pieces_.ids.insert(d.id, number)) {
            if (source_.old == nullptr || !source_.old->holds(d)) pieces_.record.reject_repeated(d);
            return false;
        }
        if (pieces_.ids.memory_bytes() > memory_limit_ / 2) {
            throw out_of_memory("the table of document ids", 2 * pieces_.ids.memory_bytes(),
                                memory_limit_ / 2);
        }
        ++(left_out ? next_left_out_ : pieces_.documents);
        return !left_out;
    }

    void index(unit_in_work& unit) {
        stopwatch watch;
        text::analyzer& analyzer = analyzers_.local();
        search_detail::inverter all(search_detail::inverter::word_order::kept), titles;
        text::token_list words;
        std::vector<std::string_view> spelled;
        std::uint32_t number = unit.first_document;
        for (const document& d : unit.parsed.documents) {
            analyzer.analyze(d.title, words);
            for (const text::token& t : words.tokens) {
                all.add(words.word(t));
                titles.add(words.word(t));
            }
            if (d.verbatim) {
                text::analyzer::take_lines(d.text, words);
            } else {
                analyzer.analyze(d.text, words);
            }
            spelled.clear();
            for (const text::token& t : words.tokens) spelled.push_back(words.word(t));
            all.add(spelled);
            unit.document_lengths.push_back(all.end_document());
            // A list is of documents that have words.
            if (unit.document_lengths.back() != 0 && source_.copies.count(number) != 0) {
                for (const std::string& word : other_titles(number, d.title, analyzer)) titles.add(word);
            }
            titles.end_document();
            ++number;
            run_.check_stop();
        }
        release(unit.parsed.documents);
        unit.words = all.finish();
        unit.title_words = titles.finish();
        unit.seconds.analyse = watch.seconds();
        watch = {};
        for (const raw_text_block& block : unit.full_blocks) unit.frames.push_back(compress(block));
        release(unit.full_blocks);
        unit.seconds.compress = watch.seconds();
    }

    /// The words of the titles of a document's copies that its own lacks, each once: who looks for a copy by its name finds the
    /// document in its place.
    std::set<std::string> other_titles(std::uint32_t document, std::string_view title,
                                       text::analyzer& analyzer) const {
        std::set<std::string> found;
        text::token_list words;
        for (const auto& copy : source_.copies.of(document)) {
            analyzer.analyze(copy.title, words);
            for (const text::token& t : words.tokens) found.emplace(words.word(t));
        }
        analyzer.analyze(title, words);
        for (const text::token& t : words.tokens) found.erase(std::string(words.word(t)));
        return found;
    }

    void append(unit_in_work& unit) {
        const stopwatch watch;
        for (const compressed_text_block& frame : unit.frames) blocks_.append(frame);
        lengths_.append_values(std::span<const std::uint32_t>(unit.document_lengths));
        pieces_.document_lengths.insert(pieces_.document_lengths.end(), unit.document_lengths.begin(),
                                        unit.document_lengths.end());
        for (const std::uint32_t length : unit.document_lengths) pieces_.words += length;
        pieces_.tokens.append(unit.words);
        pieces_.words_of_all.append(std::move(unit.words));
        pieces_.words_of_titles.append(std::move(unit.title_words));
        unit.seconds.append = watch.seconds();
        pieces_.seconds += unit.seconds;
    }

    void finish() {
        std::vector<raw_text_block> last;
        gatherer_.finish(last);
        for (const raw_text_block& block : last) blocks_.append(compress(block));
        pieces_.input_bytes = source_.corpus->consumed_bytes();
        const auto close = [&](std::string_view name, auto& section) {
            const auto summary = section.finish();
            pieces_.sections.push_back({std::string(name), summary.file_bytes, summary.checksum});
        };
        close(store_layout::ids, ids_);
        close(store_layout::titles, titles_);
        close(store_layout::text_ends, text_ends_);
        close(store_layout::document_lengths, lengths_);
        for (store_section& section : blocks_.finish()) pieces_.sections.push_back(std::move(section));
    }

    void refuse_too_many_errors() const {
        pieces_.record.refuse_too_many(options_.max_errors, options_.inputs);
    }

    const build_options& options_;
    collection_pieces& pieces_;
    const context& run_;
    const std::uint64_t memory_limit_ =
        run_.memory_limit();  // the system is not to be asked for every document
    index_source source_;
    std::uint64_t next_left_out_ = 0, appended_ = 0;
    std::optional<stored_links> old_links_;
    tbb::enumerable_thread_specific<text::analyzer> analyzers_;
    io::string_column_writer ids_, titles_;
    io::section_writer text_ends_, lengths_;
    text_block_writer blocks_;
    text_gatherer gatherer_;
    std::uint64_t text_bytes_ = 0;
};

}  // namespace

step_seconds& step_seconds::operator+=(const step_seconds& other) {
    read += other.read;
    parse += other.parse;
    admit += other.admit;
    analyse += other.analyse;
    compress += other.compress;
    append += other.append;
    return *this;
}

void read_collection(const build_options& options, const text_options& text, index_source source,
                     const std::filesystem::path& store, const scratch_folder& scratch,
                     collection_pieces& pieces, const context& run) {
    collection_reader reader(options, text, std::move(source), store, scratch, pieces, run);
    reader.run_pipeline();
}

}  // namespace quern
