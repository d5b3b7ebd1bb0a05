// SPDX-License-Identifier: Apache-2.0
// JSON lines: {"id", "text"} with optional "title" and "links", other keys ignored, the last of equal keys
// counting. A whole line is parsed (simdjson's document model, one parser a thread), because skipping the
// ignored values would let malformed lines through. What that parser refuses and JSON allows is read again by
// slower means: integers beyond 64 bits, values nested deeper than 1,024, halves of surrogate pairs.
#include <simdjson.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/corpus/encoding.hpp"
#include "io/corpus/line_records.hpp"

namespace quern::io {
namespace {

/// A line's members of interest, or why it is rejected.
struct members {
    std::optional<std::string> id, text, title;
    std::vector<std::string> links;
    std::string wrong;  ///< the first member of a wrong type, in words
};

constexpr std::string_view wrong_id = "the id is neither a string nor an integer";
constexpr std::string_view wrong_text = "the text is not a string";
constexpr std::string_view wrong_title = "the title is not a string";
constexpr std::string_view wrong_links = "the links are not an array of strings or integers";

std::optional<std::string> string_or_integer(const simdjson::dom::element& value) {
    using type = simdjson::dom::element_type;
    switch (value.type()) {
        case type::STRING:
            return std::string(value.get_string().value_unsafe());
        case type::INT64:
            return std::to_string(value.get_int64().value_unsafe());
        case type::UINT64:
            return std::to_string(value.get_uint64().value_unsafe());
        default:
            return std::nullopt;
    }
}

void take_links(const simdjson::dom::element& value, members& out) {
    out.links.clear();
    simdjson::dom::array list;
    if (value.get_array().get(list) != simdjson::SUCCESS) {
        out.wrong = wrong_links;
        return;
    }
    for (const auto& link : list) {
        auto target = string_or_integer(link);
        if (!target) {
            out.wrong = wrong_links;
            return;
        }
        out.links.push_back(std::move(*target));
    }
}

void take_string(const simdjson::dom::element& value, std::optional<std::string>& out, std::string_view wrong,
                 members& all) {
    std::string_view text;
    if (value.get_string().get(text) == simdjson::SUCCESS) {
        out.emplace(text);
    } else {
        all.wrong = wrong;
    }
}

void take_member(std::string_view key, const simdjson::dom::element& value, members& out) {
    if (key == "id") {
        out.id = string_or_integer(value);
        if (!out.id) out.wrong = wrong_id;
    } else if (key == "text") {
        take_string(value, out.text, wrong_text, out);
    } else if (key == "title" && !value.is_null()) {
        take_string(value, out.title, wrong_title, out);
    } else if (key == "links" && !value.is_null()) {
        take_links(value, out);
    }
}

/// The slow reader's events, for lines the fast one cannot take: only members of the outermost object matter.
class slow_handler final : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit slow_handler(members& out) : out_(out) {}
    bool outermost_object() const { return object_; }
    bool names_text() const { return names_text_; }       ///< the member `text` began
    std::size_t failed_at() const { return failed_at_; }  ///< bytes read when the line proved malformed

    bool null() override {
        if (here() && (key_ == "title" || key_ == "links")) return true;
        return other();
    }
    bool boolean(bool) override { return other(); }
    bool number_integer(number_integer_t value) override { return integer(std::to_string(value)); }
    bool number_unsigned(number_unsigned_t value) override { return integer(std::to_string(value)); }
    bool number_float(number_float_t, const string_t& digits) override {
        const bool whole = digits.find_first_not_of("-0123456789") == std::string::npos;
        return whole ? integer(digits) : other();
    }
    bool string(string_t& value) override {
        if (in_links()) {
            out_.links.push_back(value);
        } else if (here() && key_ == "id") {
            out_.id = value;
        } else if (here() && key_ == "text") {
            out_.text = value;
        } else if (here() && key_ == "title") {
            out_.title = value;
        } else {
            return other();
        }
        return true;
    }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override {
        if (depth_ == 0) object_ = true;
        if (depth_ != 0) other();
        ++depth_;
        return true;
    }
    bool start_array(std::size_t) override {
        const bool links = here() && key_ == "links";
        if (links) out_.links.clear();
        if (!links) other();
        ++depth_;
        links_ = links_ || links;
        return true;
    }
    bool key(string_t& name) override {
        if (depth_ == 1) key_ = name;
        names_text_ |= depth_ == 1 && object_ && name == "text";
        return true;
    }
    bool end_object() override {
        --depth_;
        return true;
    }
    bool end_array() override {
        if (--depth_ == 1) links_ = false;
        return true;
    }
    bool parse_error(std::size_t bytes, const std::string&, const nlohmann::detail::exception&) override {
        failed_at_ = bytes;
        return false;
    }

  private:
    bool here() const { return depth_ == 1 && object_; }
    bool in_links() const { return depth_ == 2 && links_; }
    bool integer(std::string digits) {
        if (in_links()) {
            out_.links.push_back(std::move(digits));
        } else if (here() && key_ == "id") {
            out_.id = std::move(digits);
        } else {
            return other();
        }
        return true;
    }
    /// A value of a type that its member may not have; elsewhere it does not matter.
    bool other() {
        if (in_links() || (here() && key_ == "links")) out_.wrong = wrong_links;
        if (here() && key_ == "id") out_.wrong = wrong_id;
        if (here() && key_ == "text") out_.wrong = wrong_text;
        if (here() && key_ == "title") out_.wrong = wrong_title;
        return true;
    }

    members& out_;
    std::string key_;
    std::size_t depth_ = 0, failed_at_ = 0;
    bool object_ = false, links_ = false, names_text_ = false;
};

constexpr std::string_view not_an_object = "not a JSON object";

std::string malformed(simdjson::error_code code) {
    if (code == simdjson::UTF8_ERROR) return "not valid UTF-8";
    return std::string("malformed JSON: ") + simdjson::error_message(code);
}

/// Empty where `line` was read; else the reason to reject it.
std::string read_slowly(std::string_view line, members& out) {
    slow_handler handler(out);
    const bool whole = nlohmann::json::sax_parse(line.begin(), line.end(), &handler);
    if (!whole) return "malformed JSON";
    if (!handler.outermost_object()) return std::string(not_an_object);
    return {};
}

/// The parser's memory is kept from line to line, but not that of one giant line.
constexpr std::size_t kept_parser_bytes = 16 << 20;

std::string read_fast(simdjson::dom::parser& parser, std::string_view line, members& out,
                      simdjson::error_code& code) {
    simdjson::dom::element root;
    code = parser.parse(line.data(), line.size(), false).get(root);
    if (code != simdjson::SUCCESS) return malformed(code);
    simdjson::dom::object object;
    if (root.get_object().get(object) != simdjson::SUCCESS) return std::string(not_an_object);
    for (const auto& [key, value] : object) take_member(key, value, out);
    return {};
}

/// Replaces every escaped half of a surrogate pair that stands alone by \ufffd; false where there is none.
bool mend_surrogates(std::string& line) {
    const auto unit_at = [&line](std::size_t at) -> unsigned {
        if (at + 6 > line.size() || line[at] != '\\' || line[at + 1] != 'u') return 0;
        unsigned value = 0;
        for (std::size_t i = at + 2; i < at + 6; ++i) {
            const char c = line[i];
            const bool digit = c >= '0' && c <= '9';
            const bool letter = (c | 32) >= 'a' && (c | 32) <= 'f';
            if (!digit && !letter) return 0;
            value = value * 16 + static_cast<unsigned>(digit ? c - '0' : (c | 32) - 'a' + 10);
        }
        return value;
    };
    bool found = false;
    for (std::size_t at = line.find('\\'); at != std::string::npos; at = line.find('\\', at)) {
        const unsigned unit = unit_at(at);
        if (unit < 0xD800 || unit >= 0xE000) {
            at += 2;
            continue;
        }
        const unsigned next = unit_at(at + 6);
        if (unit < 0xDC00 && next >= 0xDC00 && next < 0xE000) {
            at += 12;
            continue;
        }
        line.replace(at, 6, "\\ufffd");
        found = true;
        at += 6;
    }
    return found;
}

bool all_utf8(const members& found) {
    const auto good = [](const std::optional<std::string>& text) { return !text || is_utf8(*text); };
    return good(found.id) && good(found.text) && good(found.title) &&
           std::all_of(found.links.begin(), found.links.end(),
                       [](const std::string& link) { return is_utf8(link); });
}

/// Empty where `line` was read into `found`; else the reason to reject it. unit_padding bytes are read beyond it.
std::string read(std::string_view line, members& found, std::string& mended) {
    static thread_local simdjson::dom::parser parser;
    simdjson::error_code code = simdjson::SUCCESS;
    std::string reason = read_fast(parser, line, found, code);
    const bool refused = code == simdjson::NUMBER_ERROR || code == simdjson::DEPTH_ERROR ||
                         code == simdjson::STRING_ERROR || (reason.empty() && !all_utf8(found));
    if (refused) {
        std::string copy(line);
        const bool halves = mend_surrogates(copy);
        found = {};
        reason = read_slowly(copy, found);
        if (halves && reason.empty()) mended = "an escaped half of a surrogate pair replaced";
    }
    if (parser.capacity() > kept_parser_bytes) parser = simdjson::dom::parser();
    return reason;
}

/// A line that is not seen to its end: whether it is an object so far, and names `text`.
json_lines judge_beginning(std::string_view line) {
    members found;
    slow_handler handler(found);
    nlohmann::json::sax_parse(line.begin(), line.end(), &handler);
    if (!handler.outermost_object() || handler.failed_at() < line.size()) return json_lines::none;
    return handler.names_text() ? json_lines::documents : json_lines::objects;
}

class jsonl final : public line_form {
    void parse_line(std::string_view line, const unit_place& place, std::uint64_t number,
                    parsed_unit& out) const override {
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
        members found;
        std::string mended;
        std::string reason = read(line, found, mended);
        if (reason.empty()) reason = found.wrong;
        if (reason.empty() && !found.id) reason = "the id is missing: a document needs \"id\" and \"text\"";
        if (reason.empty() && found.id->empty()) reason = "the id is empty";
        if (reason.empty() && !found.text) reason = "the text is missing";
        if (!reason.empty()) {
            const bool array = number == 1 && line.starts_with('[');
            return reject(out, place.path, number,
                          array ? "a JSON array; JSON lines have one object a line" : std::move(reason));
        }
        if (!mended.empty()) mend(out, place.path, number, std::move(mended));
        document made;
        made.path = place.path;
        made.line = number;
        made.id = std::move(*found.id);
        made.text = std::move(*found.text);
        if (found.title) made.title = std::move(*found.title);
        made.links = std::move(found.links);
        keep(out, std::move(made), place.path, number);
    }
};

static_assert(unit_padding >= simdjson::SIMDJSON_PADDING);

}  // namespace

json_lines judge_json_lines(std::string_view head, bool whole) {
    constexpr std::size_t lines_judged = 10;
    std::size_t lines = 0, objects = 0, documents = 0;
    std::string copy;
    while (!head.empty() && lines < lines_judged) {
        const std::size_t end = head.find('\n');
        const std::string_view line = head.substr(0, end);
        head.remove_prefix(std::min(line.size() + 1, head.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        if (end == std::string_view::npos && !whole) {
            if (lines == 0) return judge_beginning(line);
            break;
        }
        copy.assign(line);
        copy.reserve(line.size() + unit_padding);
        members found;
        std::string mended;
        ++lines;
        if (!read(copy, found, mended).empty()) continue;
        ++objects;
        documents += static_cast<std::size_t>(found.text.has_value());
    }
    if (lines == 0) return json_lines::none;
    if (2 * documents >= lines) return json_lines::documents;
    return 2 * objects >= lines ? json_lines::objects : json_lines::none;
}

std::shared_ptr<const record_form> jsonl_form() {
    return std::make_shared<jsonl>();
}

}  // namespace quern::io
