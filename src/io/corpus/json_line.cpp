// SPDX-License-Identifier: Apache-2.0
// The whole line is parsed (simdjson's document model, one parser per thread), because skipping the ignored values
// would accept malformed lines. Valid JSON that this parser refuses is read again by slower means: integers beyond 64
// bits, numbers beyond a double, values nested deeper than 1,024, lone surrogates.
#include "io/corpus/json_line.hpp"

#include <simdjson.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <new>
#include <utility>

#include "base/ascii.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/field_names.hpp"
#include "io/corpus/json_repairs.hpp"
#include "io/corpus/json_scan.hpp"
#include "io/corpus/parse_json.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

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

void take_links(const simdjson::dom::element& value, line_members& out) {
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

void take_string(const simdjson::dom::element& value, line_member& out) {
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
    void take_links_into(line_members& out) const { take_links(value, out); }
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
    void take_links_into(line_members& out) const {
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
void take_chosen(const Value& root, const document_fields& fields, line_members& out) {
    std::size_t number = 0;  // in named_fields()
    const auto find = [&](const std::string& name) {
        auto found = value_at(root, name);
        if (found) out.named.saw(number);
        ++number;
        return found && !found->is_null() ? found : std::nullopt;
    };
    const auto settle = [](line_member& of, std::optional<std::string> value) {
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

void take_member(std::string_view key, const simdjson::dom::element& value, line_members& out) {
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
    explicit slow_handler(line_members& out, const document_fields* fields = nullptr)
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
        line_member* const to = member_here();
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
        if (object_ && out_.names.size() <= max_reported_names) out_.names.push_back(name);
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
    line_member* member_here() {
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
        line_member* const of = member_here();
        if (of != nullptr && of->begin(named_.rank)) of->wrong = true;
        return true;
    }

    bool is_text(std::string_view name) const {
        if (fields_ == nullptr || fields_->text.empty()) return named_.what == field::text;
        return std::ranges::any_of(fields_->text, [&](std::string_view chosen) {
            return chosen.starts_with(name) && (chosen.size() == name.size() || chosen[name.size()] == '.');
        });
    }

    line_members& out_;
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
std::string read_slowly(std::string_view line, const document_fields& fields, line_members& out) {
    if (has_nul(line)) return "malformed JSON";
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
                      line_members& out, simdjson::error_code& code) {
    simdjson::dom::element root;
    code = parse_json(parser, line, root);
    if (code != simdjson::SUCCESS) return malformed(code);
    simdjson::dom::object object;
    if (root.get_object().get(object) != simdjson::SUCCESS) return std::string(not_an_object);
    for (const auto& [key, value] : object) take_member(key, value, out);
    if (fields.any_chosen()) take_chosen(dom_value{root}, fields, out);
    if (!out.text.value || (!out.id.value && !fields.id.empty())) {
        for (const auto& [key, value] : object) {
            if (out.names.size() <= max_reported_names) out.names.emplace_back(key);
        }
    }
    return {};
}

/// Without them strings are parts of the line, which the parser has found to be UTF-8.
bool has_escapes(std::string_view line) {
    return line.find('\\') != std::string_view::npos;
}

bool all_utf8(const line_members& found) {
    const auto good = [](const std::optional<std::string>& text) { return !text || is_utf8(*text); };
    return good(found.id.value) && good(found.text.value) && good(found.title.value) &&
           std::all_of(found.links.begin(), found.links.end(),
                       [](const std::string& link) { return is_utf8(link); });
}

static_assert(unit_padding >= simdjson::SIMDJSON_PADDING);

}  // namespace

std::string read_json_line(std::string_view line, const document_fields& fields, line_members& found,
                           std::string& repaired) {
    static thread_local simdjson::dom::parser parser;
    simdjson::error_code code = simdjson::SUCCESS;
    const bool fast = has_budget_for_tables(line, found.budget);
    if (!fast && !found.budget.is_last) throw out_of_memory("a line", line.size(), found.budget.bytes);
    std::string reason = fast ? read_fast(parser, line, fields, found, code) : std::string();
    const bool refused = !fast || code == simdjson::NUMBER_ERROR || code == simdjson::DEPTH_ERROR ||
                         code == simdjson::STRING_ERROR ||
                         (reason.empty() && has_escapes(line) && !all_utf8(found));
    if (refused) {
        std::string copy(line);
        const bool halves = mend_surrogates(copy);
        if (code == simdjson::NUMBER_ERROR) tame_numbers(copy);
        found.begin_again();
        reason = read_slowly(copy, fields, found);
        if (halves && reason.empty()) repaired = "an escaped lone surrogate replaced";
    }
    if (parser.capacity() > kept_parser_bytes) parser = simdjson::dom::parser();
    if (!reason.empty() && trimmed(line) == "{")
        reason += "; an object must be on one line (jq -c . writes it so)";
    return reason;
}

json_lines judge_json_beginning(std::string_view line, const document_fields& fields) {
    line_members found;
    slow_handler handler(found, &fields);
    nlohmann::json::sax_parse(line.begin(), line.end(), &handler);
    if (!handler.outermost_object() || handler.failed_at() < line.size()) return json_lines::none;
    return handler.names_text() ? json_lines::documents : json_lines::objects;
}

}  // namespace quern::io
