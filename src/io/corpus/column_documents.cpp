// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/column_documents.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include "io/corpus/encoding.hpp"
#include "io/corpus/parquet_json_value.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

column_documents::column_documents(parquet::schema columns, const std::string& name,
                                   const corpus_options& options)
    : columns_(choose_columns(std::move(columns), options.fields, name)),
      names_(named_fields(options.fields).size()),
      kept_(columns_.columns, columns_.kept),
      record_(columns_.columns, options.keep_records ? std::span<const parquet_columns::member>(columns_.all)
                                                     : std::span<const parquet_columns::member>()) {
    lists_ = options.lists;
    position_.path = name;
    position_.name = options.name;
    position_.limit = limit_of(options, options.document_memory);
    position_.keep_records = options.keep_records;
    for (const std::size_t leaf : columns_.text) leaves_.push_back(leaf);
    const auto add = [this](std::size_t leaf, std::size_t& number) {
        if (leaf == parquet_columns::absent) return;
        number = leaves_.size();
        leaves_.push_back(leaf);
    };
    add(columns_.id, id_);
    add(columns_.title, title_);
    add(columns_.links, links_);
    first_kept_ = leaves_.size();
    leaves_.insert(leaves_.end(), kept_.leaves().begin(), kept_.leaves().end());
    first_of_record_ = leaves_.size();
    leaves_.insert(leaves_.end(), record_.leaves().begin(), record_.leaves().end());
}

/// Puts several texts together, an empty line between them. False if all are null.
bool column_documents::take_text(std::span<column_entries> entries, std::string& text) const {
    bool any = false;
    for (std::size_t i = 0; i < columns_.text.size(); ++i) {
        if (!entries[i].has_value()) continue;
        const std::string_view value = entries[i].value();
        if (!text.empty() && !value.empty()) text += "\n\n";
        text += value;
        any = true;
    }
    return any;
}

std::string column_documents::id_of(const column_entries& entry) const {
    const std::string_view value = entry.value();
    if (entry.leaf().width == 0) return std::string(value);
    std::string written;
    append_json_value(written, columns_.columns.nodes[entry.leaf().node], entry.leaf(), value);
    if (written.starts_with('"')) written = written.substr(1, written.size() - 2);  // a UUID
    return written;
}

std::vector<std::string> column_documents::links_of(column_entries& entry,
                                                    const reading_budget& budget) const {
    std::vector<std::string> links;
    for (bool begun = false; entry.has_entry() && (!begun || entry.repetition() != 0); begun = true) {
        if (entry.has_value()) add_link(links, id_of(entry), budget);
        entry.pass();
    }
    return links;
}

bool column_documents::has_budget(std::span<column_entries> entries, std::uint64_t line,
                                  const reading_budget& budget, parsed_unit& out) const {
    std::uint64_t bytes = 0;
    for (const column_entries& each : entries.first(first_kept_))
        if (each.leaf().max_repetition == 0 && each.has_value()) bytes += each.value().size();
    if (bytes > position_.limit.bytes) {
        reject(out, position_.path, line, position_.limit.reason(bytes));
        return false;
    }
    require_budget(budget, reading_factor * bytes, "a document");
    return true;
}

void column_documents::take_row(std::span<column_entries> entries, std::uint64_t line,
                                const reading_budget& budget, parsed_unit& out) const {
    const std::string& path = position_.path;
    if (!has_budget(entries, line, budget, out)) return;
    document made;
    std::string repaired;
    const auto mend = [&repaired](std::string& text) {
        if (std::string done = repair_utf8(text); repaired.empty()) repaired = std::move(done);
    };
    if (!take_text(entries, made.text)) return reject(out, path, line, "the text is null");
    mend(made.text);
    const bool has_id = id_ != parquet_columns::absent && entries[id_].has_value();
    if (columns_.id_is_chosen && !has_id) return reject(out, path, line, "the id is null");
    made.is_numbered = !has_id;
    made.id = has_id ? id_of(entries[id_]) : position_.id_of_line(line);
    if (made.id.empty()) return reject(out, path, line, "the id is empty");
    if (!is_utf8(made.id)) return reject(out, path, line, "the id is not UTF-8");
    if (title_ != parquet_columns::absent && entries[title_].has_value()) {
        made.title = entries[title_].value();
        mend(made.title);
    }
    if (links_ != parquet_columns::absent) made.links = links_of(entries[links_], budget);
    for (std::string& link : made.links) mend(link);
    const std::uint64_t room = budget.bytes / reading_factor;
    try {
        const auto of_record = entries.subspan(first_of_record_);
        const auto of_kept = entries.subspan(first_kept_, first_of_record_ - first_kept_);
        if (!columns_.kept.empty()) kept_.write(made.fields, of_kept, room, path);
        if (position_.keep_records) {
            record_.write(made.record, of_record, room, path);
            made.record += '\n';
        }
    } catch (const invalid_input& why) {
        return reject(out, path, line, why.reason());
    }
    if (!repaired.empty()) repair(out, path, line, std::move(repaired));
    keep(out, std::move(made), path, line);
}

void column_documents::note_lost(std::uint64_t line, std::uint64_t count, const std::string& why,
                                 parsed_unit& out) const {
    std::string reason = "the row is lost: ";
    if (count > 1) reason = "the rows from here to " + std::to_string(line + count - 1) + " are lost: ";
    note(out, {position_.path, line, reason + why, true, false, true});
}

void column_documents::finish(parsed_unit& out) const {
    position_.name.give(out.documents);
    out.counts.documents += out.documents.size();
    // A name that the file lacks was refused when it was opened.
    out.named.any_record = true;
    for (std::size_t i = 0; i < names_; ++i) out.named.saw(i);
}

}  // namespace quern::io
