// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/record_text.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "io/corpus/field_names.hpp"
#include "io/corpus/table_columns.hpp"

namespace quern::io {
namespace {

struct range {
    std::size_t begin = 0, end = 0;
};

/// The members of a JSON object that is known to be well-formed.
class json_members {
  public:
    explicit json_members(std::string_view line) : line_(line), at_(line.find('{') + 1) {}

    /// The value that the reader took for the text: of the preferred name the last one.
    range text() {
        range found;
        std::uint8_t best = UINT8_MAX;
        for (skip_to_value(); line_[at_] != '}'; skip_to_value()) {
            const range key = value();
            at_ = line_.find(':', at_) + 1;
            skip_to_value();
            const range its = value();
            const named_field named = field_named(name(line_.substr(key.begin, key.end - key.begin)));
            if (named.what != field::text || named.rank > best) continue;
            best = named.rank;
            found = its;
        }
        return found;
    }

  private:
    void skip_to_value() { at_ = line_.find_first_not_of(" \t\r\n,", at_); }

    /// The value that begins here; the next place is after it.
    range value() {
        const std::size_t begin = at_;
        if (line_[at_] == '"') {
            skip_string();
        } else if (line_[at_] == '{' || line_[at_] == '[') {
            for (std::size_t depth = 0; depth != 0 || at_ == begin;) {
                at_ = line_.find_first_of("\"{}[]", at_);
                if (line_[at_] == '"') {
                    skip_string();
                    continue;
                }
                depth += line_[at_] == '{' || line_[at_] == '[' ? 1 : std::size_t{0} - 1;
                ++at_;
            }
        } else {
            at_ = line_.find_first_of(" \t\r\n,}", at_);
        }
        return {begin, at_};
    }
    void skip_string() {
        for (++at_; line_[at_] != '"'; at_ = line_.find_first_of("\"\\", at_))
            at_ += line_[at_] == '\\' ? 2 : 0;
        ++at_;
    }
    /// A key as it is written, quotes included.
    static std::string name(std::string_view key) {
        if (key.find('\\') == std::string_view::npos) return std::string(key.substr(1, key.size() - 2));
        const auto parsed = nlohmann::json::parse(key, nullptr, false);
        return parsed.is_string() ? parsed.get<std::string>() : std::string();
    }

    std::string_view line_;
    std::size_t at_;
};

range tab_field(std::string_view line, std::size_t number, std::size_t count) {
    range field;
    for (std::size_t i = 0; i < number; ++i) field.begin = line.find('\t', field.begin) + 1;
    field.end = number + 1 == count ? line.size() : line.find('\t', field.begin);
    return field;
}

/// As split_csv() divides a record.
range comma_field(std::string_view record, std::size_t number) {
    range field;
    for (std::size_t i = 0;; ++i) {
        std::size_t at = field.begin;
        if (at < record.size() && record[at] == '"') {
            ++at;
            while (true) {
                at = record.find('"', at) + 1;
                if (at >= record.size() || record[at] != '"') break;
                ++at;  // a doubled quote
            }
        }
        field.end = std::min(record.find(',', at), record.size());
        if (i == number) return field;
        field.begin = field.end + 1;
    }
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) out.append(c == '"' ? 2 : 1, c);
    return out + '"';
}

}  // namespace

std::string with_text(std::string_view record, document::record_form form, std::string_view heading,
                      std::string_view text) {
    std::string_view line = record;
    if (line.ends_with('\n')) line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    range at;
    std::string made(text);
    if (form == document::record_form::json) {
        at = json_members(line).text();
        made = nlohmann::json(made).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    } else if (form == document::record_form::tsv) {
        at = {line.find('\t') + 1, line.size()};
    } else {
        heading.remove_suffix(1);
        const char separator = heading.find('\t') == std::string_view::npos ? ',' : '\t';
        const table_columns columns = table_columns::of(fields_of(heading, separator)).value();
        at = separator == '\t' ? tab_field(line, columns.text, columns.count)
                               : comma_field(line, columns.text);
        if (separator == ',') made = quoted(text);
    }
    return std::string(record.substr(0, at.begin)).append(made).append(record.substr(at.end));
}

}  // namespace quern::io
