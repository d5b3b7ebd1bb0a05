// SPDX-License-Identifier: Apache-2.0
// Texts go to disk when they are parsed and are compared in place, mapped, as in dedup.cpp.
#include "quern/tasks/dedup_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "device/files/scratch_folder.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dedup.hpp"
#include "quern/tasks/dedup_parts_option_table.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/dedup_checks.hpp"
#include "tasks/dedup/document_reader.hpp"
#include "tasks/dedup/document_table.hpp"
#include "tasks/dedup/duplicate_store.hpp"
#include "tasks/dedup/kept_folder.hpp"
#include "tasks/dedup/kept_request.hpp"
#include "tasks/dedup/old_documents.hpp"
#include "tasks/dedup/record_file.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "text/word_boundaries.hpp"

namespace quern {

struct dedup_parts_result::state {
    explicit state(const context& ctx) : scratch(ctx) {}

    std::span<const text_cut> cuts_of(std::uint32_t document) const {
        const auto found = std::ranges::equal_range(cuts, document, {}, &text_cut::document);
        return {found.begin(), found.end()};
    }
    /// The text of a document after these cuts.
    std::string rest_of(std::uint32_t document, std::span<const text_cut> its) const {
        const std::string_view text = table.text(document);
        std::string rest;
        std::uint64_t at = 0;
        for (const text_cut& cut : its) {
            rest += text.substr(at, cut.begin - at);
            at = cut.end;
        }
        return rest.append(text.substr(at));
    }
    // By document of the corpus.
    std::uint32_t position(std::size_t i) const { return static_cast<std::uint32_t>(first_new + i); }
    bool is_left(std::size_t i) const { return !dropped[position(i)]; }
    std::optional<std::string> new_text_of(std::size_t i) const {
        const auto its = cuts_of(position(i));
        if (its.empty()) return std::nullopt;
        return rest_of(position(i), its);
    }

    scratch_folder scratch;
    document_table table;
    std::uint32_t first_new = 0;
    std::vector<text_cut> cuts;
    std::vector<bool> dropped;  ///< by position
    std::uint32_t changed_count = 0, dropped_count = 0;
    std::uint64_t characters = 0, characters_cut = 0;
    std::optional<record_file> records;
    std::unique_ptr<kept_folder> folder;
    std::vector<bool> is_copied;  ///< with a folder, by document of the corpus: a file, or a row of Parquet
};

namespace {

std::uint64_t code_points(std::string_view text) {
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
    return text.size() - static_cast<std::uint64_t>(std::ranges::count_if(text, continues));
}

/// The parts of reading and checking that dedup() shares.
dedup_options as_dedup(const dedup_parts_options& options) {
    dedup_options out;
    static_cast<corpus_input&>(out) = options;
    out.against = options.against;
    return out;
}

void check_parts_request(const dedup_parts_options& options) {
    check_ranges(options);
    if (options.level == dedup_level::document)
        throw usage_error(
            "level: whole documents are compared by dedup() (expected paragraph, line or substring)");
    if (options.whole_words && options.level != dedup_level::substring)
        throw usage_error("whole_words requires level substring");
    if (options.keep_records && !options.kept_folder.empty())
        throw usage_error("the kept documents can go to a file or to a folder, not to both");
    const bool is_written = options.keep_records || !options.kept_folder.empty();
    if (options.fields.text.size() > 1 && is_written) {
        throw usage_error(fmt::format(
            "text_field: parts of a text that is joined of {} fields cannot be removed from its record "
            "(expected one name)",
            options.fields.text.size()));
    }
    if (options.input_format == "binary") throw usage_error("binary files have no text to cut");
    check_request(as_dedup(options));
}

text_part part_of(dedup_level level) {
    if (level == dedup_level::paragraph) return text_part::paragraph;
    return level == dedup_level::line ? text_part::line : text_part::substring;
}

/// The work of one call.
class parts_run {
  public:
    parts_run(const dedup_parts_options& options, const context& ctx)
        : options_(options),
          shared_(as_dedup(options)),
          ctx_(pinned_to_device(ctx, fmt::format("dedup --level {}", name_of(options.level)), statistics_,
                                offered_places::cpu_only)) {
        request_ = {options, options.keep_records || !options.kept_folder.empty(), {}, {}};
        if (!options.kept_folder.empty())
            found_->folder = std::make_unique<kept_folder>(
                kept_target{options.kept_folder, options, describe_kept(options)}, ctx_);
        if (options.keep_records) found_->records.emplace(found_->scratch.file("records"), options.fields);
    }

    dedup_parts_result run() {
        read();
        find_cuts();
        if (options_.whole_words) shrink_to_words();
        if (found_->folder) refuse_changed_copies();
        count();
        return result();
    }

  private:
    static std::string_view name_of(dedup_level level) {
        return dedup_level_names[static_cast<std::size_t>(level)];
    }

    void read() {
        document_table& table = found_->table;
        if (!options_.against.empty()) {
            read_old_documents(shared_, found_->scratch, table, nullptr, record_.issues, ctx_);
            for (std::uint32_t d = 0; d < table.size(); ++d) {
                ctx_.check_stop();
                table.text(d);  // checks what comes from a store
            }
            clock_.end_stage("against", table.texts().bytes.size());
        }
        found_->first_new = table.size();
        document_reader reader(request_, nullptr, "read", ctx_);
        const auto number = static_cast<std::uint32_t>(options_.against.size());
        shard_writer texts(found_->scratch.path(), number, table.overlap(), found_->scratch.file("ids"));
        reader.read(std::numeric_limits<std::uint64_t>::max(), [&](document& d) {
            if (d.verbatim) throw usage_error("the corpus form lines has words, and no text to cut");
            const document_reader::verdict v = reader.settle(d, table);
            if (v != document_reader::verdict::taken) return v;
            table.add(d.id, d.text.size());
            texts.add(d.id, d.text);
            if (found_->records) found_->records->append(d);
            if (found_->folder) {
                found_->folder->append(d);
                found_->is_copied.push_back(d.line == 0 || found_->folder->copies_rows());
            }
            if (table.memory_bytes() > ctx_.memory_limit() / 2)
                throw out_of_memory("the table of documents", 2 * table.memory_bytes(),
                                    ctx_.memory_limit() / 2);
            return v;
        });
        if (table.size() == found_->first_new && options_.source == nullptr)
            reader.record().refuse_empty(options_);
        table.map_texts(texts.finish_texts());
        if (found_->folder) found_->folder->end_batch(nullptr, reader.record(), std::nullopt);
        record_.counts = reader.record().counts;
        const auto& issues = reader.record().issues;
        record_.issues.insert(record_.issues.end(), issues.begin(), issues.end());
        clock_.end_stage("read", reader.consumed_bytes());
    }

    void find_cuts() {
        ctx_.check_stop();
        const text_list texts = found_->table.texts();
        const repeated_text_result repeated =
            repeated_text(texts, found_->first_new, {part_of(options_.level), options_.min_length}, ctx_);
        found_->cuts.reserve(repeated.spans.size());
        for (const repeated_span& span : repeated.spans)
            found_->cuts.push_back({span.begin, span.end, span.text, span.first});
        statistics_.counts["compared"] = repeated.counts.compared;
        statistics_.counts["spilled_bytes"] = repeated.counts.spilled;
        clock_.end_stage("compare", texts.bytes.size());
    }

    void shrink_to_words() {
        text::word_boundaries boundaries;
        std::uint32_t current = found_->table.size();
        std::erase_if(found_->cuts, [&](text_cut& cut) {
            const std::string_view text = found_->table.text(cut.document);
            if (cut.document != current) {
                ctx_.check_stop();
                boundaries.begin_text(text);
                current = cut.document;
            }
            const std::uint64_t begin = boundaries.from(cut.begin), end = boundaries.up_to(cut.end);
            if (begin >= end || code_points(text.substr(begin, end - begin)) < options_.min_length)
                return true;
            cut.begin = begin;
            cut.end = end;
            return false;
        });
        clock_.end_stage("words", 0);
    }

    void refuse_changed_copies() const {
        for (const text_cut& cut : found_->cuts) {
            if (!found_->is_copied[cut.document - found_->first_new]) continue;
            throw usage_error(
                fmt::format("{}: a part of this document is cut out, which is a file or a row of Parquet, "
                            "and is copied to a "
                            "folder of outputs as it is (expected the name of a file as the output, or lines "
                            "as the corpus)",
                            found_->table.id(cut.document)));
        }
    }

    void count() {
        const document_table& table = found_->table;
        found_->dropped.resize(table.size());
        for (std::uint32_t d = found_->first_new; d < table.size(); ++d) {
            ctx_.check_stop();
            found_->characters += code_points(table.text(d));
        }
        for (auto at = found_->cuts.begin(); at != found_->cuts.end();) {
            ctx_.check_stop();
            const std::uint32_t document = at->document;
            const auto end = std::find_if(at, found_->cuts.end(),
                                          [&](const text_cut& cut) { return cut.document != document; });
            ++found_->changed_count;
            const std::string_view text = table.text(document);
            for (const text_cut& cut : std::span(at, end))
                found_->characters_cut += code_points(text.substr(cut.begin, cut.end - cut.begin));
            if (trimmed(found_->rest_of(document, {at, end})).empty()) {
                found_->dropped[document] = true;
                ++found_->dropped_count;
            }
            at = end;
        }
        clock_.end_stage("count", 0);
    }

    dedup_parts_result result() {
        auto& counts = statistics_.counts;
        counts["documents"] = found_->table.size() - found_->first_new;
        counts["earlier"] = found_->first_new;
        counts["text_bytes"] = found_->table.texts().bytes.size();
        counts["changed"] = found_->changed_count;
        counts["dropped"] = found_->dropped_count;
        counts["cuts"] = found_->cuts.size();
        counts["characters"] = found_->characters;
        counts["characters_cut"] = found_->characters_cut;
        counts["rejected"] = record_.counts.rejected;
        statistics_.threads = ctx_.thread_count();
        statistics_.peak_memory_bytes = peak_memory_bytes();
        dedup_parts_result made(std::move(found_));
        made.counts = record_.counts;
        made.issues = std::move(record_.issues);
        made.statistics = std::move(statistics_);
        return made;
    }

    const dedup_parts_options& options_;
    dedup_options shared_;
    run_statistics statistics_;
    context ctx_;
    stage_clock clock_{statistics_};
    std::unique_ptr<dedup_parts_result::state> found_ = std::make_unique<dedup_parts_result::state>(ctx_);
    corpus_request request_;
    reading_record record_;
};

}  // namespace

dedup_parts_result dedup_parts(const dedup_parts_options& options, const context& ctx) {
    require_documents(options);
    check_parts_request(options);
    return parts_run(options, ctx).run();
}

dedup_parts_result::dedup_parts_result(std::unique_ptr<state> found) : state_(std::move(found)) {}
dedup_parts_result::dedup_parts_result(dedup_parts_result&&) noexcept = default;
dedup_parts_result& dedup_parts_result::operator=(dedup_parts_result&&) noexcept = default;
dedup_parts_result::~dedup_parts_result() = default;

std::span<const text_cut> dedup_parts_result::cuts() const {
    return state_->cuts;
}
std::uint32_t dedup_parts_result::documents() const {
    return state_->table.size() - state_->first_new;
}
std::uint32_t dedup_parts_result::earlier() const {
    return state_->first_new;
}
std::uint32_t dedup_parts_result::changed() const {
    return state_->changed_count;
}
std::uint32_t dedup_parts_result::dropped() const {
    return state_->dropped_count;
}
std::uint64_t dedup_parts_result::characters() const {
    return state_->characters;
}
std::uint64_t dedup_parts_result::characters_cut() const {
    return state_->characters_cut;
}
std::string_view dedup_parts_result::id(std::uint32_t position) const {
    return state_->table.id(position);
}
std::string_view dedup_parts_result::text(std::uint32_t position) const {
    return state_->table.text(position);
}

void dedup_parts_result::write_kept(const sink& out) const {
    if (!state_->records) throw usage_error("the documents to write were not kept");
    state_->records->write([this](std::size_t i) { return state_->is_left(i); },
                           [this](std::size_t i) { return id(state_->position(i)); }, out,
                           [this](std::size_t i) { return state_->new_text_of(i); });
}

void dedup_parts_result::write_kept_folder(const context& ctx, const std::function<void()>& before) const {
    if (!state_->folder) throw usage_error("no folder for the documents to keep was given");
    state_->folder->publish([this](std::size_t i) { return state_->is_left(i); }, before, ctx,
                            [this](std::size_t i) { return state_->new_text_of(i); });
}

}  // namespace quern
