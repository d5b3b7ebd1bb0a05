// SPDX-License-Identifier: Apache-2.0
// JSON lines: {"id", "text"} with optional "title" and "links"; of equal keys the last counts. field_names.hpp has other
// names of these two, and document_fields may choose others; a line without an id gets one from its position. Other
// members are ignored, unless they are kept (kept_fields.hpp).
//
// The whole line is parsed (simdjson's document model, one parser per thread), because skipping the ignored values
// would accept malformed lines. Valid JSON that this parser refuses is read again by slower means: integers beyond 64
// bits, numbers beyond a double, values nested deeper than 1,024, lone surrogates.
#include <simdjson.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/corpus/encoding.hpp"
#include "io/corpus/field_names.hpp"
#include "io/corpus/json_scan.hpp"
#include "io/corpus/kept_fields.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

/// A relevant member; of several names the preferred one.
struct member {
    std::optional<std::string> value;
    std::uint8_t rank = UINT8_MAX;
    bool wrong = false;  ///< it has the wrong type

    /// Whether a member of this rank counts; of equal ones the last does. Resets the value.
    bool begin(std::uint8_t of_rank) {
        if (of_rank > rank) return false;
        *this = {};
        rank = of_rank;
        return true;
    }
};

/// The relevant members of a line.
struct members {
    member id, text, title;
    std::vector<std::string> links;
    bool wrong_links = false;
    reading_budget budget;           ///< of the links
    std::vector<std::string> names;  ///< the first ones, if a text or the id is missing
    named_members named;             ///< of document_fields

    /// Before the line is read once more.
    void begin_again() {
        const reading_budget kept = budget;
        *this = {};
        budget = kept;
    }
};

constexpr std::size_t max_names = named_members::max_found;  // that are reported

std::string shown_name(std::string_view written) {
    std::string name(written.substr(0, 40));
    repair_utf8(name);
    return name;
}

std::string with_names(std::string reason, const std::vector<std::string>& names) {
    if (names.empty()) return reason;
    reason += ", found ";
    for (std::size_t i = 0; i < std::min(names.size(), max_names); ++i)
        reason.append(i == 0 ? "\"" : ", \"").append(shown_name(names[i])).append("\"");
    if (names.size() > max_names) reason += ", …";
    return reason;
}

std::string missing_text(const members& found, const document_fields& fields) {
    if (fields.text.empty())
        return with_names("no text: expected " + expected_names(text_names), found.names);
    std::string reason = "no text: expected \"";
    for (std::size_t i = 0; i < fields.text.size(); ++i)
        reason.append(i == 0 ? "" : "\" or \"").append(fields.text[i]);
    return with_names(reason + "\"", found.names);
}

/// Why a line is not a document; empty if it is one.
std::string problem_of(const members& found, const document_fields& fields) {
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
    out.wrong_links = value.get_array().get(list) != simdjson::SUCCESS;
    if (out.wrong_links) return;
    for (const auto& link : list) {
        auto target = string_or_integer(link);
        out.wrong_links |= !target;
        if (!target) return;
        add_link(out.links, std::move(*target), out.budget);
    }
}

void take_string(const simdjson::dom::element& value, member& out) {
    std::string_view text;
    if (value.get_string().get(text) == simdjson::SUCCESS) {
        out.value.emplace(text);
    } else {
        out.wrong = true;
    }
}

/// A parsed value, for value_at().
struct dom_value {
    simdjson::dom::element value;

    std::optional<dom_value> member(std::string_view name) const {
        std::optional<dom_value> found;
        simdjson::dom::object object;
        if (value.get_object().get(object) != simdjson::SUCCESS) return found;
        for (const auto& [key, each] : object) {
            if (key == name) found = dom_value{each};
        }
        return found;
    }
    bool is_null() const { return value.is_null(); }
    std::optional<std::string> text() const {
        std::string_view found;
        if (value.get_string().get(found) != simdjson::SUCCESS) return std::nullopt;
        return std::string(found);
    }
    std::optional<std::string> text_or_integer() const { return string_or_integer(value); }
    void take_links_into(members& out) const { take_links(value, out); }
};

/// The same for a line that only the slow reader takes.
struct written_value {
    json_value value;

    std::optional<written_value> member(std::string_view name) const {
        if (const auto found = value.member(name)) return written_value{*found};
        return std::nullopt;
    }
    bool is_null() const { return value.is_null(); }
    std::optional<std::string> text() const {
        return value.is_string() ? std::optional(value.text()) : std::nullopt;
    }
    std::optional<std::string> text_or_integer() const {
        if (value.is_integer()) return std::string(value.bytes() == "-0" ? "0" : value.bytes());
        return text();
    }
    void take_links_into(members& out) const {
        out.links.clear();
        out.wrong_links = !value.is_array();
        if (out.wrong_links) return;
        for (json_parts parts(value); parts.next() && !out.wrong_links;) {
            auto target = written_value{parts.value()}.text_or_integer();
            out.wrong_links = !target;
            if (target) add_link(out.links, std::move(*target), out.budget);
        }
    }
};

/// Takes the members that `fields` names instead of those with the known names.
template <class Value>
void take_chosen(const Value& root, const document_fields& fields, members& out) {
    std::size_t number = 0;  // in named_fields()
    const auto find = [&](const std::string& name) {
        auto found = value_at(root, name);
        if (found) out.named.saw(number);
        ++number;
        return found && !found->is_null() ? found : std::nullopt;
    };
    const auto settle = [](member& of, std::optional<std::string> value) {
        of.wrong = !value;
        of.value = std::move(value);
    };
    if (!fields.id.empty()) {
        out.id = {};
        if (const auto found = find(fields.id)) settle(out.id, found->text_or_integer());
    }
    if (!fields.title.empty()) {
        out.title = {};
        if (const auto found = find(fields.title)) settle(out.title, found->text());
    }
    if (!fields.links.empty()) {
        out.links.clear();
        out.wrong_links = false;
        if (const auto found = find(fields.links)) found->take_links_into(out);
    }
    if (fields.text.empty()) return;
    out.text = {};
    for (const std::string& name : fields.text) {
        const auto found = find(name);
        if (!found || out.text.wrong) continue;
        auto value = found->text();
        if (!value) {
            settle(out.text, std::nullopt);
        } else if (!out.text.value || out.text.value->empty()) {
            out.text.value = std::move(value);
        } else if (!value->empty()) {
            out.text.value->append("\n\n").append(*value);
        }
    }
}

void take_member(std::string_view key, const simdjson::dom::element& value, members& out) {
    const named_field named = field_named(key);
    if (named.what == field::none || (value.is_null() && named.what != field::text)) return;
    switch (named.what) {
        case field::id:
            if (!out.id.begin(named.rank)) return;
            out.id.value = string_or_integer(value);
            out.id.wrong = !out.id.value;
            return;
        case field::text:
            if (out.text.begin(named.rank)) take_string(value, out.text);
            return;
        case field::title:
            if (out.title.begin(named.rank)) take_string(value, out.title);
            return;
        default:
            take_links(value, out);
    }
}

/// The slow reader's events, for lines that the fast one cannot parse: only members of the outermost object matter.
class slow_handler final : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit slow_handler(members& out, const document_fields* fields = nullptr)
        : out_(out), fields_(fields) {}
    bool outermost_object() const { return object_; }
    bool names_text() const { return names_text_; }       ///< whether a possible text member has begun
    std::size_t failed_at() const { return failed_at_; }  ///< position at which the line proved malformed

    bool null() override { return here() && named_.what != field::text ? true : other(); }
    bool boolean(bool) override { return other(); }
    bool number_integer(number_integer_t value) override { return integer(std::to_string(value)); }
    bool number_unsigned(number_unsigned_t value) override { return integer(std::to_string(value)); }
    bool number_float(number_float_t, const string_t& digits) override {
        const bool whole = digits.find_first_not_of("-0123456789") == std::string::npos;
        return whole ? integer(digits) : other();
    }
    bool string(string_t& value) override {
        if (in_links()) {
            add_link(out_.links, std::move(value), out_.budget);
            return true;
        }
        member* const to = member_here();
        if (to == nullptr) return other();
        if (to->begin(named_.rank)) to->value = value;
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
        const bool links = here() && named_.what == field::links;
        if (links) out_.links.clear();
        if (links) out_.wrong_links = false;
        if (!links) other();
        ++depth_;
        links_ = links_ || links;
        return true;
    }
    bool key(string_t& name) override {
        if (depth_ != 1) return true;
        named_ = field_named(name);
        names_text_ |= object_ && is_text(name);
        if (object_ && out_.names.size() <= max_names) out_.names.push_back(name);
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
    /// The string member that the value belongs to, if any.
    member* member_here() {
        if (!here()) return nullptr;
        if (named_.what == field::id) return &out_.id;
        if (named_.what == field::text) return &out_.text;
        return named_.what == field::title ? &out_.title : nullptr;
    }
    bool integer(std::string digits) {
        if (in_links()) {
            add_link(out_.links, std::move(digits), out_.budget);
            return true;
        }
        if (!here() || named_.what != field::id) return other();
        if (out_.id.begin(named_.rank)) out_.id.value = std::move(digits);
        return true;
    }
    /// A value of a type that its member must not have; irrelevant elsewhere.
    bool other() {
        if (in_links() || (here() && named_.what == field::links)) out_.wrong_links = true;
        member* const of = member_here();
        if (of != nullptr && of->begin(named_.rank)) of->wrong = true;
        return true;
    }

    bool is_text(std::string_view name) const {
        if (fields_ == nullptr || fields_->text.empty()) return named_.what == field::text;
        return std::ranges::any_of(fields_->text, [&](std::string_view chosen) {
            return chosen.starts_with(name) && (chosen.size() == name.size() || chosen[name.size()] == '.');
        });
    }

    members& out_;
    const document_fields* fields_;
    named_field named_;
    std::size_t depth_ = 0, failed_at_ = 0;
    bool object_ = false, links_ = false, names_text_ = false;
};

constexpr std::string_view not_an_object = "not a JSON object";

std::string malformed(simdjson::error_code code) {
    if (code == simdjson::UTF8_ERROR) return "not valid UTF-8";
    return std::string("malformed JSON: ") + simdjson::error_message(code);
}

/// Empty if `line` was read; else the reason to reject it.
std::string read_slowly(std::string_view line, const document_fields& fields, members& out) {
    slow_handler handler(out);
    const bool whole = nlohmann::json::sax_parse(line.begin(), line.end(), &handler);
    if (!whole) return "malformed JSON";
    if (!handler.outermost_object()) return std::string(not_an_object);
    if (fields.any_chosen()) take_chosen(written_value{json_value::of_line(line)}, fields, out);
    return {};
}

/// The parser's memory is kept between lines, except that of one giant line.
constexpr std::size_t kept_parser_bytes = 2 << 20;

/// Whether the fast parser's tables, 24 bytes a value, fit in addition to the line and its strings. The slow reader
/// needs none.
bool has_budget_for_tables(std::string_view line, const reading_budget& budget) {
    constexpr std::uint64_t bytes_a_value = 24;
    if (line.size() < budget.bytes / bytes_a_value) return true;
    const auto values = static_cast<std::uint64_t>(
        std::ranges::count_if(line, [](char c) { return c == ',' || c == ':' || c == '[' || c == '{'; }));
    return bytes_a_value * values + reading_factor * line.size() <= budget.bytes;
}

std::string read_fast(simdjson::dom::parser& parser, std::string_view line, const document_fields& fields,
                      members& out, simdjson::error_code& code) {
    simdjson::dom::element root;
    code = parser.parse(line.data(), line.size(), false).get(root);
    if (code != simdjson::SUCCESS) return malformed(code);
    simdjson::dom::object object;
    if (root.get_object().get(object) != simdjson::SUCCESS) return std::string(not_an_object);
    for (const auto& [key, value] : object) take_member(key, value, out);
    if (fields.any_chosen()) take_chosen(dom_value{root}, fields, out);
    if (!out.text.value || (!out.id.value && !fields.id.empty())) {
        for (const auto& [key, value] : object) {
            if (out.names.size() <= max_names) out.names.emplace_back(key);
        }
    }
    return {};
}

/// Replaces every escaped lone surrogate by \ufffd. Returns whether it replaced any.
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

/// Replaces numbers that may exceed the range of a double by 0.0, because both parsers stop at one; no relevant member
/// is such a number. Malformed text stays unchanged.
void tame_numbers(std::string& line) {
    constexpr std::size_t max_digits = 200, max_of_exponent = 2;
    std::size_t at = 0;
    const auto is_digit = [&] { return at < line.size() && line[at] >= '0' && line[at] <= '9'; };
    const auto take_digits = [&] {
        const std::size_t from = at;
        while (is_digit()) ++at;
        return at - from;
    };
    while (at < line.size()) {
        if (line[at] == '"') {
            for (++at; at < line.size() && line[at] != '"'; ++at) {
                if (line[at] == '\\') ++at;
            }
        }
        if (!is_digit()) {
            ++at;
            continue;
        }
        const std::size_t begin = at, whole = take_digits();
        bool valid = whole == 1 || line[begin] != '0';
        if (at < line.size() && line[at] == '.') {
            ++at;
            valid = take_digits() != 0 && valid;
        }
        std::size_t exponent = 0;
        if (at < line.size() && (line[at] | 32) == 'e') {
            ++at;
            if (at < line.size() && (line[at] == '+' || line[at] == '-')) ++at;
            exponent = take_digits();
            valid = exponent != 0 && valid;
        }
        valid = valid &&
                (at == line.size() || std::string_view(",]} \t\r").find(line[at]) != std::string_view::npos);
        if (!valid || (whole <= max_digits && exponent <= max_of_exponent)) continue;
        line.replace(begin, at - begin, "0.0");
        at = begin + 3;
    }
}

bool all_utf8(const members& found) {
    const auto good = [](const std::optional<std::string>& text) { return !text || is_utf8(*text); };
    return good(found.id.value) && good(found.text.value) && good(found.title.value) &&
           std::all_of(found.links.begin(), found.links.end(),
                       [](const std::string& link) { return is_utf8(link); });
}

/// Empty if `line` was read into `found`; else the reason to reject it. Reads up to unit_padding bytes past it.
std::string read(std::string_view line, const document_fields& fields, members& found,
                 std::string& repaired) {
    static thread_local simdjson::dom::parser parser;
    simdjson::error_code code = simdjson::SUCCESS;
    const bool fast = has_budget_for_tables(line, found.budget);
    if (!fast && !found.budget.is_last) throw out_of_memory("a line", line.size(), found.budget.bytes);
    std::string reason = fast ? read_fast(parser, line, fields, found, code) : std::string();
    const bool refused = !fast || code == simdjson::NUMBER_ERROR || code == simdjson::DEPTH_ERROR ||
                         code == simdjson::STRING_ERROR || (reason.empty() && !all_utf8(found));
    if (refused) {
        std::string copy(line);
        const bool halves = mend_surrogates(copy);
        if (code == simdjson::NUMBER_ERROR) tame_numbers(copy);
        found.begin_again();
        reason = read_slowly(copy, fields, found);
        if (halves && reason.empty()) repaired = "an escaped lone surrogate replaced";
    }
    if (parser.capacity() > kept_parser_bytes) parser = simdjson::dom::parser();
    return reason;
}

/// A line whose end is not visible: whether it is an object so far, and names a text.
json_lines judge_beginning(std::string_view line, const document_fields& fields) {
    members found;
    slow_handler handler(found, &fields);
    nlohmann::json::sax_parse(line.begin(), line.end(), &handler);
    if (!handler.outermost_object() || handler.failed_at() < line.size()) return json_lines::none;
    return handler.names_text() ? json_lines::documents : json_lines::objects;
}

/// The names of the members that became id, text, title and links, if they are of the outermost object.
std::vector<std::string> used_names(const members& found, const document_fields& fields) {
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
    kept_members keep_of(std::string_view line, members& found, std::string& repaired) const {
        std::string without_halves;
        if (line.find("\\u") != std::string_view::npos) {
            without_halves = line;
            if (mend_surrogates(without_halves)) repaired = "an escaped lone surrogate replaced";
            line = without_halves;
        }
        return keep_members(json_value::of_line(line), fields_, used_names(found, fields_), found.named);
    }
    /// Notes which of the named fields the line has.
    static void note_names(std::string_view line, const members& found, parsed_unit& out) {
        named_members of_line = found.named;
        of_line.any_record = true;
        if (!out.named.any_record) {
            json_parts parts(json_value::of_line(line));
            while (of_line.found.size() < max_names && parts.next())
                of_line.found.push_back(shown_name(parts.name()));
        }
        out.named.add(of_line);
    }

    void parse_line(std::string_view line, const unit_position& position, std::uint64_t number,
                    parsed_unit& out) const override {
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
        members found;
        found.budget = position.budget;
        std::string repaired, reason;
        try {
            reason = read(line, fields_, found, repaired);
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
            const bool array = number == 1 && line.starts_with('[');
            return reject(out, position.path, number,
                          array ? "a JSON array; JSON lines have one object a line" : std::move(reason));
        }
        if (!repaired.empty()) repair(out, position.path, number, std::move(repaired));
        document made;
        made.path = position.path;
        made.line = number;
        made.is_numbered = !found.id.value;
        made.id = made.is_numbered ? position.id_of_line(number) : std::move(*found.id.value);
        made.text = std::move(*found.text.value);
        if (found.title.value) made.title = std::move(*found.title.value);
        made.links = std::move(found.links);
        made.fields = std::move(kept.fields);
        keep(out, std::move(made), position.path, number);
    }

    document_fields fields_;
    bool names_any_ = fields_.any_chosen() || !fields_.kept.empty();
};

static_assert(unit_padding >= simdjson::SIMDJSON_PADDING);

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
            if (lines == 0) return judge_beginning(line, fields);
            break;
        }
        copy.assign(line);
        copy.reserve(line.size() + unit_padding);
        members found;
        std::string repaired;
        ++lines;
        if (!read(copy, fields, found, repaired).empty()) continue;
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
