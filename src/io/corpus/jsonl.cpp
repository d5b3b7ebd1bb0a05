// SPDX-License-Identifier: Apache-2.0
// JSON lines: {"id", "text"} with optional "title" and "links"; of equal keys the last counts. field_names.hpp has other
// names of these two, and document_fields may choose others; a line without an id gets one from its position. Other
// members are ignored, unless they are kept (kept_fields.hpp).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "io/corpus/encoding.hpp"
#include "io/corpus/field_names.hpp"
#include "io/corpus/json_line.hpp"
#include "io/corpus/json_repairs.hpp"
#include "io/corpus/json_scan.hpp"
#include "io/corpus/kept_fields.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

std::string shown_name(std::string_view written) {
    std::string name(written.substr(0, 40));
    repair_utf8(name);
    return name;
}

std::string with_names(std::string reason, const std::vector<std::string>& names) {
    if (names.empty()) return reason;
    reason += ", found ";
    for (std::size_t i = 0; i < std::min(names.size(), max_reported_names); ++i)
        reason.append(i == 0 ? "\"" : ", \"").append(shown_name(names[i])).append("\"");
    if (names.size() > max_reported_names) reason += ", …";
    return reason;
}

std::string missing_text(const line_members& found, const document_fields& fields) {
    if (fields.text.empty())
        return with_names("no text: expected " + expected_names(text_names), found.names) +
               " (--text-field names another)";
    std::string reason = "no text: expected \"";
    for (std::size_t i = 0; i < fields.text.size(); ++i)
        reason.append(i == 0 ? "" : "\" or \"").append(fields.text[i]);
    return with_names(reason + "\"", found.names);
}

/// Why a line is not a document; empty if it is one.
std::string problem_of(const line_members& found, const document_fields& fields) {
    if (found.id.wrong) return "the id is neither a string nor an integer";
    if (found.text.wrong) return "the text is not a string";
    if (found.title.wrong) return "the title is not a string";
    if (found.wrong_links) return "the links are not an array of strings or integers";
    if (found.id.value && found.id.value->empty()) return "the id is empty";
    if (!found.text.value) return missing_text(found, fields);
    if (!fields.id.empty() && !found.id.value)
        return with_names("no id: expected \"" + fields.id + "\"", found.names);
    return {};
}

/// The names of the members that became id, text, title and links, if they are of the outermost object.
std::vector<std::string> used_names(const line_members& found, const document_fields& fields) {
    std::vector<std::string> names = fields.text;
    if (fields.text.empty()) names.emplace_back(text_names.at(found.text.rank));
    if (!fields.id.empty()) {
        names.push_back(fields.id);
    } else if (found.id.value) {
        names.emplace_back(id_names.at(found.id.rank));
    }
    names.push_back(fields.title.empty() ? "title" : fields.title);
    names.push_back(fields.links.empty() ? "links" : fields.links);
    return names;
}

class jsonl final : public line_form {
  public:
    explicit jsonl(document_fields fields) : fields_(std::move(fields)) {}

  private:
    /// The members to keep; a reason to reject the line if they cannot be kept.
    kept_members keep_of(std::string_view line, line_members& found, std::string& repaired) const {
        std::string without_halves;
        if (line.find("\\u") != std::string_view::npos) {
            without_halves = line;
            if (mend_surrogates(without_halves)) repaired = "an escaped lone surrogate replaced";
            line = without_halves;
        }
        return keep_members(json_value::of_line(line), fields_, used_names(found, fields_), found.named);
    }
    /// Notes which of the named fields the line has.
    static void note_names(std::string_view line, const line_members& found, parsed_unit& out) {
        named_members of_line = found.named;
        of_line.any_record = true;
        if (!out.named.any_record) {
            json_parts parts(json_value::of_line(line));
            while (of_line.found.size() < max_reported_names && parts.next())
                of_line.found.push_back(shown_name(parts.name()));
        }
        out.named.add(of_line);
    }

    void parse_line(std::string_view line, const unit_position& position, std::uint64_t number,
                    parsed_unit& out) const override {
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
        line_members found;
        found.budget = position.budget;
        std::string repaired, reason;
        try {
            reason = read_json_line(line, fields_, found, repaired);
        } catch (const out_of_memory& why) {
            return reject_or_put_off(out, position, number, why);
        }
        const bool is_object = reason.empty();
        if (is_object) reason = problem_of(found, fields_);
        kept_members kept;
        if (reason.empty() && !fields_.kept.empty()) {
            kept = keep_of(line, found, repaired);
            reason = std::move(kept.problem);
        }
        if (is_object && names_any_) note_names(line, found, out);
        if (!reason.empty()) {
            if (number == 1 && line.starts_with('[')) {
                reason = "a JSON array; JSON lines have one object a line";
            } else if (number == 1 && !line.starts_with('{') && position.path == "-") {
                reason += "; standard input is read as JSON lines unless --input-format names another form";
            }
            return reject(out, position.path, number, std::move(reason));
        }
        if (!repaired.empty()) repair(out, position.path, number, std::move(repaired));
        document& made = out.documents.emplace_back();  // in place: it is large to move
        made.path = position.path;
        made.line = number;
        made.is_numbered = !found.id.value;
        made.id = made.is_numbered ? position.id_of_line(number) : std::move(*found.id.value);
        made.text = std::move(*found.text.value);
        if (found.title.value) made.title = std::move(*found.title.value);
        made.links = std::move(found.links);
        made.fields = std::move(kept.fields);
    }

    document_fields fields_;
    bool names_any_ = fields_.any_chosen() || !fields_.kept.empty();
};

}  // namespace

json_lines judge_json_lines(std::string_view head, bool whole, const document_fields& fields) {
    constexpr std::size_t lines_judged = 10;
    std::size_t lines = 0, objects = 0, documents = 0;
    std::string copy;
    while (!head.empty() && lines < lines_judged) {
        const std::size_t end = head.find('\n');
        const std::string_view line = head.substr(0, end);
        head.remove_prefix(std::min(line.size() + 1, head.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        if (end == std::string_view::npos && !whole) {
            if (lines == 0) return judge_json_beginning(line, fields);
            break;
        }
        copy.assign(line);
        copy.reserve(line.size() + unit_padding);
        line_members found;
        std::string repaired;
        ++lines;
        if (!read_json_line(copy, fields, found, repaired).empty()) continue;
        ++objects;
        documents += static_cast<std::size_t>(problem_of(found, fields).empty());
    }
    if (lines == 0) return json_lines::none;
    if (2 * documents >= lines) return json_lines::documents;
    return 2 * objects >= lines ? json_lines::objects : json_lines::none;
}

std::shared_ptr<const record_form> jsonl_form(const document_fields& fields) {
    return std::make_shared<jsonl>(fields);
}

}  // namespace quern::io
