// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/table_columns.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "io/corpus/field_names.hpp"

namespace quern::io {
namespace {

std::string_view without_line_end(std::string_view record) {
    if (record.ends_with('\n')) record.remove_suffix(1);
    if (record.ends_with('\r')) record.remove_suffix(1);
    return record;
}

}  // namespace

std::optional<table_columns> table_columns::of(const std::vector<std::string>& names) {
    table_columns found;
    found.count = names.size();
    std::uint8_t id_rank = UINT8_MAX, text_rank = UINT8_MAX;
    std::vector<std::string> seen;
    for (std::size_t i = 0; i < names.size(); ++i) {
        std::string name = lower(trimmed(names[i]));
        if (name.empty() || std::ranges::find(seen, name) != seen.end()) return std::nullopt;
        const named_field named = field_named(name);
        seen.push_back(std::move(name));
        if (named.what == field::id && named.rank < id_rank) {
            id_rank = named.rank;
            found.id = i;
        } else if (named.what == field::text && named.rank < text_rank) {
            text_rank = named.rank;
            found.text = i;
        } else if (named.what == field::title) {
            found.title = i;
        }
    }
    const bool is_heading = found.text != absent && (found.id != absent || found.title != absent);
    return is_heading ? std::optional(found) : std::nullopt;
}

void split_tabs(std::string_view line, std::size_t max, std::vector<std::string>& fields) {
    fields.clear();
    while (fields.size() + 1 < max) {
        const std::size_t tab = line.find('\t');
        if (tab == std::string_view::npos) break;
        fields.emplace_back(line.substr(0, tab));
        line.remove_prefix(tab + 1);
    }
    fields.emplace_back(line);
}

std::size_t csv_record_end(std::string_view bytes) {
    return csv_scan().end_in(bytes);
}

std::size_t csv_scan::end_in(std::string_view piece) {
    for (std::size_t at = 0; at < piece.size();) {
        switch (state_) {
            case state::field_begins:
                state_ = piece[at] == '"' ? state::quoted : state::plain;
                at += piece[at] == '"' ? 1 : 0;
                break;
            case state::quoted:
                at = piece.find('"', at);
                if (at == std::string_view::npos) return 0;
                state_ = state::after_quote;
                ++at;
                break;
            case state::after_quote:  // a doubled quote is part of the text
                state_ = piece[at] == '"' ? state::quoted : state::plain;
                at += piece[at] == '"' ? 1 : 0;
                break;
            case state::plain:
                at = piece.find_first_of(",\n", at);
                if (at == std::string_view::npos) return 0;
                if (piece[at++] == '\n') return at;
                state_ = state::field_begins;
                break;
        }
    }
    return 0;
}

bool split_csv(std::string_view record, std::vector<std::string>& fields) {
    fields.clear();
    std::size_t at = 0;
    while (true) {
        std::string& field = fields.emplace_back();
        if (at < record.size() && record[at] == '"') {
            for (++at;;) {
                const std::size_t quote = record.find('"', at);
                if (quote == std::string_view::npos) return false;
                field += record.substr(at, quote - at);
                at = quote + 1;
                if (at >= record.size() || record[at] != '"') break;
                field += '"';
                ++at;
            }
        }
        const std::size_t comma = std::min(record.find(',', at), record.size());
        field += record.substr(at, comma - at);  // also text after a closing quote
        if (comma == record.size()) return true;
        at = comma + 1;
    }
}

std::vector<std::string> fields_of(std::string_view record, char separator) {
    std::vector<std::string> fields;
    if (separator == ',') {
        split_csv(record, fields);
    } else {
        split_tabs(record, record.size() + 1, fields);
    }
    return fields;
}

namespace {

/// Removes the first record of `head`; nothing if its end is not visible.
std::optional<std::string_view> take_record(std::string_view& head, bool whole, char separator) {
    const std::size_t end = separator == ',' ? csv_record_end(head) : head.find('\n') + 1;
    if (end == 0 && (!whole || head.empty())) return std::nullopt;
    const std::string_view record = head.substr(0, end == 0 ? head.size() : end);
    head.remove_prefix(record.size());
    return without_line_end(record);
}

}  // namespace

std::optional<std::string> table_heading(std::string_view head, bool whole, char separator) {
    const auto first = take_record(head, whole, separator);
    if (!first || !table_columns::of(fields_of(*first, separator))) return std::nullopt;
    return std::string(*first);
}

bool looks_like_csv(std::string_view head, bool whole) {
    if (!table_heading(head, whole, ',')) return false;
    const auto first = take_record(head, whole, ','), second = take_record(head, whole, ',');
    return !second || second->empty() || fields_of(*second, ',').size() == fields_of(*first, ',').size();
}

}  // namespace quern::io
