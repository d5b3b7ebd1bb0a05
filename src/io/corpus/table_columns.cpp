// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/table_columns.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/field_names.hpp"

namespace quern::io {

std::string_view without_line_end(std::string_view record) {
    if (record.ends_with('\n')) record.remove_suffix(1);
    if (record.ends_with('\r')) record.remove_suffix(1);
    return record;
}

namespace {

std::string_view without_mark(std::string_view text) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    return text.starts_with(byte_order_mark) ? text.substr(byte_order_mark.size()) : text;
}

/// The names of a heading: without blanks around them, and the same in lower case.
struct heading_names {
    std::vector<std::string> written, lower_case;

    /// The column with this name, as it is written or else in any case.
    std::size_t find(std::string_view name) const {
        auto at = std::ranges::find(written, name) - written.begin();
        if (static_cast<std::size_t>(at) == written.size())
            at = std::ranges::find(lower_case, lower(name)) - lower_case.begin();
        return static_cast<std::size_t>(at) == written.size() ? table_columns::absent
                                                              : static_cast<std::size_t>(at);
    }
};

/// Empty if a name occurs twice. Columns without a name are ignored: pandas writes its index so.
std::optional<heading_names> names_of(const std::vector<std::string>& fields) {
    heading_names names;
    for (const std::string& field : fields) {
        std::string name(trimmed(field));
        std::string low = lower(name);
        if (!name.empty() && std::ranges::find(names.lower_case, low) != names.lower_case.end())
            return std::nullopt;
        repair_utf8(name);
        names.written.push_back(std::move(name));
        names.lower_case.push_back(std::move(low));
    }
    return names;
}

void find_known_names(const heading_names& names, table_columns& found) {
    std::uint8_t id_rank = UINT8_MAX, text_rank = UINT8_MAX;
    for (std::size_t i = 0; i < names.lower_case.size(); ++i) {
        const named_field named = field_named(names.lower_case[i]);
        if (named.what == field::id && named.rank < id_rank) {
            id_rank = named.rank;
            found.id = i;
        } else if (named.what == field::text && named.rank < text_rank) {
            text_rank = named.rank;
            found.text = {i};
        } else if (named.what == field::title) {
            found.title = i;
        }
    }
}

/// False if the id or every text is missing.
bool find_chosen_names(const heading_names& names, const document_fields& fields, table_columns& found) {
    std::size_t number = 0;  // in named_fields()
    const auto find = [&](const std::string& name) {
        const std::size_t at = names.find(name);
        if (at != table_columns::absent) found.found.push_back(number);
        ++number;
        return at;
    };
    if (!fields.id.empty()) found.id = find(fields.id);
    if (!fields.title.empty()) found.title = find(fields.title);
    if (!fields.links.empty()) found.links = find(fields.links);
    if (!fields.text.empty()) found.text.clear();
    for (const std::string& name : fields.text) {
        if (const std::size_t at = find(name); at != table_columns::absent) found.text.push_back(at);
    }
    if (fields.keeps_all()) {
        const auto is_used = [&](std::size_t i) {
            return i == found.id || i == found.title || i == found.links ||
                   std::ranges::find(found.text, i) != found.text.end();
        };
        for (std::size_t i = 0; i < names.written.size(); ++i) {
            if (!is_used(i) && !names.written[i].empty()) found.kept.push_back({i, names.written[i]});
        }
    } else {
        for (const std::string& name : fields.kept) {
            if (const std::size_t at = find(name); at != table_columns::absent)
                found.kept.push_back({at, name});
        }
    }
    return !found.text.empty() && (fields.id.empty() || found.id != table_columns::absent);
}

}  // namespace

std::optional<table_columns> table_columns::of(const std::vector<std::string>& names,
                                               const document_fields& fields) {
    const auto written = names_of(names);
    if (!written) return std::nullopt;
    table_columns found;
    found.count = names.size();
    find_known_names(*written, found);
    if (!find_chosen_names(*written, fields, found)) return std::nullopt;
    const bool is_heading = !fields.text.empty() || found.id != absent || found.title != absent;
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

std::size_t separator_line(std::string_view head) {
    const std::size_t end = head.find('\n') + 1;
    std::string_view line = without_line_end(head.substr(0, end));
    if (line.size() == 7 && line.starts_with('"') && line.ends_with('"')) line = line.substr(1, 5);
    constexpr std::string_view signs = ",;|:!#$%&*+-./<>?@^~";
    return line.size() == 5 && line.starts_with("sep=") && signs.find(line[4]) != signs.npos ? end : 0;
}

std::string_view heading_of(std::string_view beginning) {
    beginning = without_mark(beginning);
    return without_line_end(beginning.substr(separator_line(beginning)));
}

char csv_separator(std::string_view head) {
    head = without_mark(head);
    if (separator_line(head) != 0) return head[head.find('=') + 1];
    const std::string_view line = head.substr(0, head.find('\n'));
    return line.find(',') == line.npos && line.find(';') != line.npos ? ';' : ',';
}

char table_separator(std::string_view beginning) {
    const bool has_tab = heading_of(beginning).find('\t') != beginning.npos;
    return has_tab && separator_line(without_mark(beginning)) == 0 ? '\t' : csv_separator(beginning);
}

std::size_t csv_record_end(std::string_view bytes, char separator) {
    return csv_scan(separator).end_in(bytes);
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
                at = piece.find_first_of(std::string_view(ends_, sizeof ends_), at);
                if (at == std::string_view::npos) return 0;
                if (piece[at++] == '\n') return at;
                state_ = state::field_begins;
                break;
        }
    }
    return 0;
}

bool split_csv(std::string_view record, char separator, std::vector<std::string>& fields) {
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
        const std::size_t end = std::min(record.find(separator, at), record.size());
        field += record.substr(at, end - at);  // also text after a closing quote
        if (end == record.size()) return true;
        at = end + 1;
    }
}

std::vector<std::string> fields_of(std::string_view record, char separator) {
    std::vector<std::string> fields;
    if (separator == '\t') {
        split_tabs(record, record.size() + 1, fields);
    } else {
        split_csv(record, separator, fields);
    }
    return fields;
}

namespace {

/// Removes the first record of `head`; nothing if its end is not visible.
std::optional<std::string_view> take_record(std::string_view& head, bool whole, char separator) {
    const std::size_t end = separator == '\t' ? head.find('\n') + 1 : csv_record_end(head, separator);
    if (end == 0 && (!whole || head.empty())) return std::nullopt;
    const std::string_view record = head.substr(0, end == 0 ? head.size() : end);
    head.remove_prefix(record.size());
    return without_line_end(record);
}

}  // namespace

std::optional<std::string> table_beginning(std::string_view head, bool whole, char separator,
                                           const document_fields& fields) {
    std::string_view rest = head.substr(separator == '\t' ? 0 : separator_line(head));
    const auto first = take_record(rest, whole, separator);
    if (!first || !table_columns::of(fields_of(*first, separator), fields)) return std::nullopt;
    std::string beginning(head.substr(0, head.size() - rest.size()));
    if (!beginning.ends_with('\n')) beginning += '\n';
    return beginning;
}

bool looks_like_csv(std::string_view head, bool whole, const document_fields& fields) {
    const char separator = csv_separator(head);
    if (!table_beginning(head, whole, separator, fields)) return false;
    head.remove_prefix(separator_line(head));
    const auto first = take_record(head, whole, separator), second = take_record(head, whole, separator);
    return !second || second->empty() ||
           fields_of(*second, separator).size() == fields_of(*first, separator).size();
}

}  // namespace quern::io
