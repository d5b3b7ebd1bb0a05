// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/kept_fields.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/corpus/encoding.hpp"

namespace quern::io {

void append_json_text(std::string& out, std::string_view text) {
    if (!is_utf8(text)) {
        out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        return;
    }
    const auto is_escaped = [](char c) {
        return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 32;
    };
    out += '"';
    for (auto at = text.begin(); at != text.end();) {
        const auto next = std::find_if(at, text.end(), is_escaped);
        out.append(at, next);
        if (next == text.end()) break;
        constexpr std::string_view marks = "\"\\\b\f\n\r\t", letters = "\"\\bfnrt", hex = "0123456789abcdef";
        const std::size_t known = marks.find(*next);
        if (known != std::string_view::npos) {
            out.append({'\\', letters[known]});
        } else {
            const auto code = static_cast<unsigned char>(*next);
            out.append("\\u00").append({hex[code >> 4], hex[code & 15]});
        }
        at = next + 1;
    }
    out += '"';
}

void fields_writer::add_text(std::string_view name, std::string_view text) {
    std::string value;
    append_json_text(value, text);
    add_json(name, std::move(value));
}

namespace {

bool is_number_in_a_cell(std::string_view cell) {
    std::string_view rest = cell;
    const auto take = [&](std::string_view one_of) {
        const bool is_present = !rest.empty() && one_of.find(rest.front()) != std::string_view::npos;
        if (is_present) rest.remove_prefix(1);
        return is_present;
    };
    const auto take_digits = [&] {
        const std::size_t end = std::min(rest.find_first_not_of("0123456789"), rest.size());
        const std::string_view digits = rest.substr(0, end);
        rest.remove_prefix(end);
        return digits;
    };
    const auto is_value_of = [&](auto value) {
        return std::from_chars(cell.data(), cell.data() + cell.size(), value).ec == std::errc();
    };
    take("-");
    const std::string_view whole = take_digits();
    if (whole.empty() || (whole.size() > 1 && whole.front() == '0')) return false;
    if (rest.empty()) return is_value_of(std::int64_t{0});
    if (take(".") && take_digits().empty()) return false;
    if (take("eE")) {
        take("+-");
        if (take_digits().empty()) return false;
    }
    return rest.empty() && is_value_of(0.0);
}

}  // namespace

void fields_writer::add_cell(std::string_view name, std::string_view cell) {
    if (cell == "true" || cell == "false" || is_number_in_a_cell(cell))
        return add_json(name, std::string(cell));
    add_text(name, cell);
}

void fields_writer::add_json(std::string_view name, std::string value) {
    const auto [at, is_new] = places_.emplace(name, members_.size());
    if (is_new) {
        members_.push_back({at->first, std::move(value)});
    } else {
        members_[at->second].value = std::move(value);
    }
}

std::string fields_writer::finish() {
    std::string out;
    for (member& each : members_) {
        out += out.empty() ? '{' : ',';
        append_json_text(out, each.name);
        out.append(":").append(each.value);
        each.value = std::string();  // both are never there as a whole
    }
    return out.empty() ? out : out + '}';
}

kept_members keep_members(const json_value& record, const document_fields& fields,
                          std::span<const std::string> used, named_members& named) {
    fields_writer writer;
    kept_members result;
    const auto add = [&](std::string_view name, const json_value& value) {
        if (value.depth() > fields_writer::max_depth) {
            std::string shown(name.substr(0, 40));
            repair_utf8(shown);
            result.problem = "the field \"" + shown + "\" is nested deeper than " +
                             std::to_string(fields_writer::max_depth) + " levels";
            return;
        }
        if (writer.size() == max_kept_fields) {
            result.problem = "more than " + std::to_string(max_kept_fields) + " fields";
            return;
        }
        std::string compact;
        value.append_compact(compact);
        writer.add_json(name, std::move(compact));
    };
    if (fields.keeps_all()) {
        for (json_parts parts(record); result.problem.empty() && parts.next();) {
            const std::string name = parts.name();
            if (std::ranges::find(used, name) == used.end()) add(name, parts.value());
        }
    } else {
        const std::size_t first = named_fields(fields).size() - fields.kept.size();
        for (std::size_t i = 0; i < fields.kept.size(); ++i) {
            const auto found = value_at(record, fields.kept[i]);
            if (!found) continue;
            named.saw(first + i);
            add(fields.kept[i], *found);
        }
    }
    result.fields = writer.finish();
    return result;
}

std::string missing_fields(const document_fields& fields, const named_members& named) {
    const auto names = named_fields(fields);
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i < named.seen.size() && named.seen[i] != 0) continue;
        std::string option = "--" + std::string(names[i].first);
        std::ranges::replace(option, '_', '-');
        std::string message = "no record has a field \"" + names[i].second + "\" (" + option + ")";
        if (!named.any_record)
            return message +
                   ": fields are those of JSON lines, Parquet, Arrow, CSV and TSV with a heading, mail, WARC "
                   "and the front matter of Markdown, and there are none";
        for (std::size_t k = 0; k < named.found.size(); ++k)
            message += (k == 0 ? "; the first has \"" : ", \"") + named.found[k] + "\"";
        return message;
    }
    return {};
}

}  // namespace quern::io
