// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/column_documents.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include "io/corpus/encoding.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

/// Puts several texts together, an empty line between them. False if all are null.
bool document_plan::take_text(std::span<parquet_entries> entries, std::string& text) const {
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

std::string document_plan::id_of(const parquet_entries& entry) const {
    const std::string_view value = entry.value();
    if (entry.leaf().width == 0) return std::string(value);
    std::string written;
    append_json_value(written, columns_.columns.nodes[entry.leaf().node], entry.leaf(), value);
    if (written.starts_with('"')) written = written.substr(1, written.size() - 2);  // a UUID
    return written;
}

std::vector<std::string> document_plan::links_of(parquet_entries& entry, const reading_budget& budget) const {
    std::vector<std::string> links;
    for (bool begun = false; entry.has_entry() && (!begun || entry.repetition() != 0); begun = true) {
        if (entry.has_value()) add_link(links, id_of(entry), budget);
        entry.pass();
    }
    return links;
}

bool document_plan::has_budget(std::span<parquet_entries> entries, std::uint64_t line,
                               const reading_budget& budget, parsed_unit& out) const {
    std::uint64_t bytes = 0;
    for (const parquet_entries& each : entries.first(first_kept_))
        if (each.leaf().max_repetition == 0 && each.has_value()) bytes += each.value().size();
    if (bytes > position_.limit.bytes) {
        reject(out, position_.path, line, position_.limit.reason());
        return false;
    }
    require_budget(budget, reading_factor * bytes, "a document");
    return true;
}

void document_plan::take_row(std::span<parquet_entries> entries, std::uint64_t line,
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

}  // namespace quern::io
