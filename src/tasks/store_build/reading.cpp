// SPDX-License-Identifier: Apache-2.0
// A pipeline of five steps over units of the corpus, at most `threads + 2` of them in progress:
//   cut (in order) → parse (parallel) → admit: ids, numbers, links (in order)
//                  → analyse, invert, compress (parallel) → append to the store (in order).
// Results depend only on the documents and their order, so that the bytes of the store do not depend on threads, unit
// size or memory.
#include "tasks/store_build/reading.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/listed_words.hpp"
#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "io/corpus/corpus.hpp"
#include "io/store/section.hpp"
#include "ops/search/indexing/inverter.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/statistics.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/store/field_values.hpp"
#include "tasks/store/listed_section.hpp"
#include "tasks/store_build/text_store.hpp"

namespace quern {
namespace {

/// Measures the calling thread's computing time, without waiting for the disk.
class stopwatch {
  public:
    double seconds() const { return thread_cpu_seconds() - begin_; }

  private:
    double begin_ = thread_cpu_seconds();
};

/// One unit in the pipeline.
struct unit_in_work {
    std::unique_ptr<io::corpus_unit> raw;
    io::parsed_unit parsed;
    std::vector<raw_text_block> full_blocks, full_field_blocks;
    std::vector<compressed_text_block> frames, field_frames;
    field_census fields;
    compared_documents compared;
    search_detail::sorted_run words, title_words;
    std::vector<search_detail::sorted_run> field_words;
    std::uint32_t first_document = 0;
    std::vector<std::uint32_t> document_lengths, words_in_order;
    std::string passages;  ///< of each document
    weight_range weights;
    step_seconds seconds;
};

/// The steps' state; only one in-order step uses each member.
class collection_reader {
  public:
    collection_reader(const build_options& options, const text_options& text, index_source source,
                      const std::filesystem::path& store, const scratch_folder& scratch,
                      collection_pieces& pieces, const context& ctx)
        : options_(options),
          pieces_(pieces),
          ctx_(ctx),
          source_(std::move(source)),
          resolved_(options.ids),
          parser_(ctx, source_.is_admitted ? work_on_document{.a_byte = 0} : work_of_index, text),
          analyzers_([text] { return text::analyzer(text); }),
          ids_(store_layout::file_of(store, store_layout::ids), scratch.file("id_ends")),
          titles_(store_layout::file_of(store, store_layout::titles), scratch.file("title_ends")),
          text_ends_(store_layout::file_of(store, store_layout::text_ends)),
          lengths_(store_layout::file_of(store, store_layout::document_lengths)),
          blocks_(store) {
        if (!options.fields.kept.empty()) fields_.emplace(store);
        if (!source_.is_admitted && !source_.excluded.empty()) positions_.emplace();
        if (source_.old == nullptr) return;
        for (std::uint64_t i = 0; i < source_.old->copies(); ++i)
            pieces_.ids.insert(source_.old->copy(i).id, source_.old->kept(i));
        old_links_.emplace(*source_.old);
        for (const auto& r : old_links_->redirects()) pieces_.links.add_redirect(r);
    }

    void run_pipeline() {
        pipeline<unit_in_work> line(units_at_once(ctx_));
        line.from([this](unit_in_work& unit) { return cut(unit); });
        line.alone_when([this](const unit_in_work& unit) { return parser_.is_large(*unit.raw); });
        line.in_parallel_or_alone([this](unit_in_work& unit, bool alone) { return parse(unit, alone); });
        line.in_order([this](unit_in_work& unit) { admit(unit); });
        line.in_parallel([this](unit_in_work& unit) { index(unit); });
        line.in_order([this](unit_in_work& unit) { append(unit); });
        line.run();
        finish();
        refuse_too_many_errors();
        resolved_.tell(ctx_);
        if (next_excluded_ != source_.excluded.size()) {
            throw invalid_input(
                names_of(options_).back().string(), 0,
                "changed while it was being read: documents found in the first pass are missing");
        }
    }

  private:
    bool cut(unit_in_work& unit) {
        ctx_.check_stop();
        const stopwatch watch;
        const auto tell = [this] {
            ctx_.report(
                {source_.progress, source_.corpus->consumed_bytes(), source_.corpus->total_bytes(), "bytes"});
        };
        tell();  // before it waits
        unit.raw = source_.corpus->next();
        unit.seconds.read = watch.seconds();
        tell();
        return unit.raw != nullptr;
    }

    bool parse(unit_in_work& unit, bool alone) {
        const stopwatch watch;
        const bool done = parser_.parse(unit.raw, unit.parsed, alone);
        unit.seconds.parse += watch.seconds();
        return done;
    }

    void admit(unit_in_work& unit) {
        const stopwatch watch;
        io::parsed_unit& parsed = unit.parsed;
        pieces_.record.take(parsed);
        unit.first_document = static_cast<std::uint32_t>(pieces_.documents);
        std::erase_if(parsed.documents, [&](document& d) { return !admit_id(d); });
        for (const document& d : parsed.documents) {
            ids_.append(d.id);
            titles_.append(d.title);
            const bool is_old = source_.old != nullptr && appended_ < source_.old->documents();
            if (is_old) {
                pieces_.links.add_document(old_links_->next());
            } else {
                pieces_.links.add_document(d);
            }
            ++appended_;
            gatherer_.add(d.text, unit.full_blocks);
            pieces_.verbatim |= d.verbatim;
            note_listing(d);
            if (source_.old != nullptr && d.verbatim != source_.old->store().info().verbatim)
                throw usage_error("word lines and other documents cannot be in one store");
            if (fields_) fields_->add(d.fields, unit.full_field_blocks);
            text_bytes_ += d.text.size();
            text_ends_.append_value(text_bytes_);
        }
        for (const redirect& r : parsed.redirects) pieces_.links.add_redirect(r);
        pieces_.record.refuse_early(options_);
        unit.seconds.admit = watch.seconds();
    }

    void note_listing(const document& d) {
        if (appended_ == 1) pieces_.listed = d.listed;
        if (d.listed != pieces_.listed ||
            (source_.old != nullptr && d.listed != source_.old->store().info().listed))
            throw usage_error("lists of words and other documents cannot be in one store");
    }

    /// The number of the document that has an id, among those read, not only those kept.
    std::optional<std::uint32_t> holder_of(std::string_view id) const {
        return positions_ ? positions_->find(hash128(id)) : pieces_.ids.find(hash128(id));
    }

    bool admit_id(document& d) {
        if (pieces_.documents >= std::numeric_limits<std::uint32_t>::max() - 1) {
            throw invalid_input(names_of(options_).back().string(), 0,
                                "a store holds at most 4294967294 documents");
        }
        const bool excluded = next_excluded_ < source_.excluded.size() &&
                              source_.excluded[next_excluded_].position == pieces_.documents + next_excluded_;
        const auto number =
            excluded ? source_.excluded[next_excluded_].kept : static_cast<std::uint32_t>(pieces_.documents);
        const auto position = static_cast<std::uint32_t>(pieces_.documents + next_excluded_);
        if (!source_.is_admitted) {
            const auto found = store_to_update::settle(resolved_, d, position, source_.old,
                                                       [this](std::string_view id) { return holder_of(id); });
            if (found == document_ids::outcome::repeated)
                pieces_.record.reject_repeated(d, resolved_.reason());
            if (found != document_ids::outcome::fresh) return false;
        }
        if (positions_) positions_->insert(d.id, position);
        pieces_.ids.insert(d.id, number);
        // Links within its file find it by its original id.
        if (!d.given.empty()) pieces_.links.add_scoped_id(d, number, pieces_.ids);
        const std::uint64_t taken = pieces_.ids.memory_bytes() + resolved_.memory_bytes() +
                                    (positions_ ? positions_->memory_bytes() : 0);
        if (taken > memory_limit_ / 2)
            throw out_of_memory("the table of document ids", 2 * taken, memory_limit_ / 2);
        ++(excluded ? next_excluded_ : pieces_.documents);
        return !excluded;
    }

    void index(unit_in_work& unit) {
        stopwatch watch;
        text::analyzer& analyzer = analyzers_.local();
        search_detail::inverter all(search_detail::inverter::word_order::kept), titles;
        std::vector<search_detail::inverter> fields(options_.indexed_fields.size());
        text::token_list words;
        std::vector<std::string_view> spelled;
        std::uint32_t number = unit.first_document;
        for (const document& d : unit.parsed.documents) {
            if (fields_) unit.fields.add(d.fields);
            if (source_.before != nullptr) source_.before->compare(d, unit.compared);
            words.tokens.clear();
            if (d.listed == word_listing::none) analyzer.analyze(d.title, words);
            for (const text::token& t : words.tokens) {
                all.add(words.word(t));
                titles.add(words.word(t));
            }
            const auto title_size = static_cast<std::uint32_t>(words.tokens.size());
            std::uint32_t text_size = 0;
            const auto add = [&](const text::token_list& piece) {
                text_size += static_cast<std::uint32_t>(piece.tokens.size());
                spelled.clear();
                for (const text::token& t : piece.tokens) spelled.push_back(piece.word(t));
                all.add(spelled);
            };
            std::optional<std::uint32_t> length;
            if (d.listed != word_listing::none) {
                length = add_listed(d, all, unit.weights);
            } else if (d.verbatim) {
                text::analyzer::take_lines(d.text, words);
                add(words);
            } else {
                const bool has_ends = add_text(d.text, analyzer, words, add);
                if (pieces_.passages)
                    text_passages::add(unit.passages, title_size, text_size, has_ends, words.paragraph_ends);
            }
            for (std::size_t i = 0; i < fields.size(); ++i) {
                if (d.listed == word_listing::none && !d.verbatim)
                    each_text_of(d.fields, options_.indexed_fields[i], [&](std::string_view text) {
                        analyzer.analyze(text, words);
                        add(words);
                        for (const text::token& t : words.tokens) fields[i].add(words.word(t));
                    });
                fields[i].end_document();
            }
            unit.words_in_order.push_back(all.end_document());
            unit.document_lengths.push_back(length.value_or(unit.words_in_order.back()));
            // A list contains only documents that have words.
            const std::uint32_t in_store = source_.numbers.empty() ? number : source_.numbers[number];
            if (unit.words_in_order.back() != 0 && source_.duplicates.count(in_store) != 0) {
                for (const std::string& word : other_titles(in_store, d.title, analyzer)) titles.add(word);
            }
            titles.end_document();
            ++number;
            ctx_.check_stop();
        }
        release(unit.parsed.documents);
        unit.words = all.finish();
        unit.title_words = titles.finish();
        for (search_detail::inverter& field : fields) unit.field_words.push_back(field.finish());
        unit.seconds.analyse = watch.seconds();
        watch = {};
        for (const raw_text_block& block : unit.full_blocks) unit.frames.push_back(compress(block));
        release(unit.full_blocks);
        for (const raw_text_block& block : unit.full_field_blocks)
            unit.field_frames.push_back(compress(block));
        release(unit.full_field_blocks);
        unit.seconds.compress = watch.seconds();
    }

    /// Calls `add` with the words of a text. Returns whether the ends of its paragraphs are in `words`: not for a long text,
    /// whose words are never all in memory.
    template <class Add>
    bool add_text(std::string_view text, text::analyzer& analyzer, text::token_list& words,
                  const Add& add) const {
        constexpr std::size_t long_text = std::size_t{1} << 18;
        if (!pieces_.passages || text.size() > long_text) {
            analyzer.analyze_in_pieces(text, words, add);
            return false;
        }
        analyzer.analyze(text, words, text::boundaries::paragraphs);
        add(words);
        return true;
    }

    /// Returns the document's length if it is listed.
    static std::optional<std::uint32_t> add_listed(const document& d, search_detail::inverter& to,
                                                   weight_range& weights) {
        std::optional<std::uint32_t> length;
        if (d.listed == word_listing::weights) {
            each_listed<float>(d.text, [&](std::string_view word, float weight) {
                weights.add(weight);
                to.add_valued(word, bits_of_weight(weight));
            });
        } else {
            each_listed<std::uint32_t>(d.text, [&](std::string_view word, std::uint32_t count) {
                if (word.empty()) {
                    length = count;
                } else {
                    to.add_repeated(word, count);
                }
            });
        }
        return length;
    }

    /// The words of the titles of a document's near-duplicates that its own title lacks, each once: a search for a
    /// near-duplicate by name then finds the kept document.
    std::set<std::string> other_titles(std::uint32_t document, std::string_view title,
                                       text::analyzer& analyzer) const {
        std::set<std::string> found;
        text::token_list words;
        for (const auto& copy : source_.duplicates.of(document)) {
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
        for (const compressed_text_block& frame : unit.field_frames) fields_->blocks.append(frame);
        pieces_.fields.add(unit.fields);
        pieces_.compared += unit.compared;
        lengths_.append_values(std::span<const std::uint32_t>(unit.document_lengths));
        pieces_.document_lengths.insert(pieces_.document_lengths.end(), unit.document_lengths.begin(),
                                        unit.document_lengths.end());
        for (const std::uint32_t length : unit.document_lengths) pieces_.words += length;
        note_words_in_order(unit);
        pieces_.weights.add(unit.weights);
        if (pieces_.passages)
            pieces_.passages->append(std::move(unit.passages), unit.document_lengths.size());
        pieces_.tokens.append(unit.words);
        pieces_.words_of_all.append(std::move(unit.words));
        pieces_.words_of_titles.append(std::move(unit.title_words));
        for (std::size_t i = 0; i < unit.field_words.size(); ++i)
            pieces_.words_of_fields[i].append(std::move(unit.field_words[i]));
        unit.seconds.append = watch.seconds();
        pieces_.seconds += unit.seconds;
    }

    /// They are kept only where they are not the lengths.
    void note_words_in_order(const unit_in_work& unit) {
        std::vector<std::uint32_t>& all = pieces_.words_in_order;
        if (all.empty() && unit.words_in_order == unit.document_lengths) return;
        const std::size_t before = pieces_.document_lengths.size() - unit.document_lengths.size();
        if (all.empty())
            all.assign(pieces_.document_lengths.begin(),
                       pieces_.document_lengths.begin() + static_cast<std::ptrdiff_t>(before));
        all.insert(all.end(), unit.words_in_order.begin(), unit.words_in_order.end());
    }

    void finish() {
        std::vector<raw_text_block> last;
        gatherer_.finish(last);
        for (const raw_text_block& block : last) blocks_.append(compress(block));
        pieces_.input_bytes = source_.corpus->consumed_bytes();
        const auto close = [&](std::string_view name, auto& section) {
            pieces_.sections.push_back(listed_section(name, section.finish()));
        };
        close(store_layout::ids, ids_);
        close(store_layout::titles, titles_);
        close(store_layout::text_ends, text_ends_);
        close(store_layout::document_lengths, lengths_);
        for (store_section& section : blocks_.finish()) pieces_.sections.push_back(std::move(section));
        if (!fields_) return;
        last.clear();
        fields_->gatherer.finish(last);
        for (const raw_text_block& block : last) fields_->blocks.append(compress(block));
        close(store_layout::field_ends, fields_->ends);
        for (store_section& section : fields_->blocks.finish())
            pieces_.sections.push_back(std::move(section));
    }

    /// The sections with the kept fields of every document.
    struct field_sections {
        explicit field_sections(const std::filesystem::path& store)
            : ends(store_layout::file_of(store, store_layout::field_ends)),
              blocks(store, store_layout::fields, store_layout::field_blocks) {}

        void add(std::string_view fields, std::vector<raw_text_block>& finished) {
            gatherer.add(fields, finished);
            bytes += fields.size();
            ends.append_value(bytes);
        }

        io::section_writer ends;
        text_block_writer blocks;
        text_gatherer gatherer{store_layout::text_block_bytes, max_documents_of_field_block};
        std::uint64_t bytes = 0;
    };

    void refuse_too_many_errors() const {
        if (!source_.is_admitted) pieces_.record.refuse_too_many(options_);  // else done when it was read
    }

    const build_options& options_;
    collection_pieces& pieces_;
    const context& ctx_;
    const std::uint64_t memory_limit_ = ctx_.memory_limit();  // avoids a system query for every document
    index_source source_;
    document_ids resolved_;
    std::optional<id_table> positions_;  // if documents are excluded: they have the numbers of the kept ones
    std::uint64_t next_excluded_ = 0, appended_ = 0;
    std::optional<stored_links> old_links_;
    unit_parser parser_;
    tbb::enumerable_thread_specific<text::analyzer> analyzers_;
    io::string_column_writer ids_, titles_;
    io::section_writer text_ends_, lengths_;
    text_block_writer blocks_;
    text_gatherer gatherer_;
    std::optional<field_sections> fields_;  ///< if fields are kept
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
                     collection_pieces& pieces, const context& ctx) {
    collection_reader reader(options, text, std::move(source), store, scratch, pieces, ctx);
    reader.run_pipeline();
}

}  // namespace quern
