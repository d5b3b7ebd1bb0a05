// SPDX-License-Identifier: Apache-2.0
// A parser by recursive descent, for two readings. The strict one refuses text outside the grammar. The lenient one,
// for text that people type, takes a character as an operator only where it can hardly be anything else, and reports
// whether there was one.
#include "tasks/search/query_syntax.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.hpp"
#include "tasks/search/quote_marks.hpp"

namespace quern {
namespace {

using kind = syntax_node::kind;

enum class reading { strict, lenient };

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

struct field_name {
    std::string_view name;
    query_field field;
};
constexpr std::array field_names = {field_name{"title", query_field::title},
                                    field_name{"text", query_field::text},
                                    field_name{"body", query_field::text}};

class parser {
  public:
    parser(std::string_view query, std::span<const std::string> fields, std::span<const std::string> kept,
           reading how)
        : query_(query), fields_(fields), kept_(kept), lenient_(how == reading::lenient) {
        // Of a query in capital letters AND is a word.
        const auto lower = [](char c) { return (c >= 'a' && c <= 'z') || (c & 0x80) != 0; };
        keywords_ = !lenient_ || std::ranges::any_of(query, lower);
    }

    syntax_node parse() {
        syntax_node tree = list(0, query_field::any);
        refuse_only_excluded(tree);
        return tree;
    }
    /// Whether the query has an operator besides quotes and parentheses.
    bool has_operator() const { return has_operator_; }
    /// Of the first kept field that stands before a colon, which no query reads: how a filter does.
    const std::string& filter_hint() const { return filter_hint_; }

  private:
    [[noreturn]] void fail(std::size_t at, std::string_view reason) const {
        throw query_error(query_, at, reason);
    }

    bool at_end() const { return at_ >= query_.size(); }
    char current() const { return at_end() ? '\0' : query_[at_]; }
    char peek(std::size_t ahead = 1) const {
        return at_ + ahead < query_.size() ? query_[at_ + ahead] : '\0';
    }
    void skip_blanks() {
        while (!at_end() && is_space(query_[at_])) ++at_;
    }
    bool ends_at(std::size_t at) const { return at >= query_.size() || is_space(query_[at]); }
    bool closes_at(std::size_t at) const { return at < query_.size() && query_[at] == ')' && depth_ > 0; }

    /// A keyword as a word of its own.
    bool at_keyword(std::string_view word) const {
        return keywords_ && query_.substr(at_).starts_with(word) &&
               (ends_at(at_ + word.size()) || closes_at(at_ + word.size()) ||
                query_[at_ + word.size()] == '(');
    }
    bool take_keyword(std::string_view word) {
        if (!at_keyword(word)) return false;
        at_ += word.size();
        has_operator_ = true;
        return true;
    }

    /// Whether a sign begins here. To the lenient reading, one before a digit or another sign is text (-5 degrees, --help).
    bool at_sign() const {
        if (current() != '+' && current() != '-') return false;
        if (!lenient_) return true;
        const char next = peek();
        return is_letter(next) || next == '(' || (next & 0x80) != 0 || next == '"';
    }

    bool at_list_end() {
        skip_blanks();
        if (at_end()) return true;
        if (current() != ')') return false;
        if (depth_ > 0) return true;
        if (!lenient_) fail(at_, "this parenthesis closes none; write \\) for the character");
        return false;
    }

    syntax_node list(unsigned depth, query_field field) {
        if (depth > max_query_depth)
            fail(at_, fmt::format("too many parentheses in each other (at most {})", max_query_depth));
        syntax_node result;
        result.position = at_;
        while (!at_list_end()) result.members.push_back(clause(depth, field));
        return result;
    }

    syntax_node clause(unsigned depth, query_field field) {
        const std::size_t begin = at_;
        occurrence occurs = occurrence::optional;
        if (at_sign()) {
            occurs = current() == '+' ? occurrence::required : occurrence::excluded;
            ++at_;
            has_operator_ = true;
            if (ends_at(at_) || closes_at(at_))
                fail(begin, "a sign must be directly before a word, a phrase or a parenthesis");
        } else if (take_keyword("NOT")) {
            occurs = occurrence::excluded;
            need_operand(begin, "NOT needs a word after it");
        } else {
            return alternative(depth, field);
        }
        syntax_node result = item(depth, field);
        result.occurs = occurs;
        result.position = begin;
        skip_blanks();
        if (at_keyword("AND") || at_keyword("OR"))
            fail(at_, "AND and OR cannot follow a part with a sign; use parentheses");
        return result;
    }

    void need_operand(std::size_t at, std::string_view reason) {
        if (at_list_end()) fail(at, reason);
    }

    syntax_node alternative(unsigned depth, query_field field) {
        syntax_node first = conjunction(depth, field);
        if (at_list_end() || !at_keyword("OR")) return first;
        syntax_node result;
        result.what = kind::any;
        result.position = first.position;
        result.members.push_back(std::move(first));
        for (std::size_t at = at_; !at_list_end() && take_keyword("OR"); at = at_) {
            need_operand(at, "OR needs a word after it");
            if (at_keyword("NOT")) fail(at_, "NOT cannot follow OR");
            result.members.push_back(conjunction(depth, field));
        }
        return result;
    }

    syntax_node conjunction(unsigned depth, query_field field) {
        syntax_node first = operand(depth, field);
        if (at_list_end() || !at_keyword("AND")) return first;
        syntax_node result;
        result.what = kind::all;
        result.position = first.position;
        result.members.push_back(std::move(first));
        for (std::size_t at = at_; !at_list_end() && take_keyword("AND"); at = at_) {
            need_operand(at, "AND needs a word after it");
            const std::size_t negation = at_;
            const bool excluded = take_keyword("NOT");
            if (excluded) need_operand(negation, "NOT needs a word after it");
            result.members.push_back(operand(depth, field));
            if (excluded) result.members.back().occurs = occurrence::excluded;
        }
        return result;
    }

    syntax_node operand(unsigned depth, query_field field) {
        for (const std::string_view word : {"AND", "OR"})
            if (at_keyword(word))
                fail(at_, fmt::format("{} needs a word before it; \"{}\" searches for the word", word, word));
        if (at_keyword("NOT")) fail(at_, "NOT can only follow AND or begin a part");
        if (at_sign()) fail(at_, "a sign cannot follow AND or OR; use NOT or parentheses");
        return item(depth, field);
    }

    syntax_node item(unsigned depth, query_field field) {
        if (!lenient_ && (current() == '+' || current() == '-'))
            fail(at_, "only one sign can be before a part; write \\+ or \\- for the character");
        for (const std::string_view word : {"AND", "OR", "NOT"})
            if (at_keyword(word))
                fail(at_, fmt::format("{} cannot be here; \"{}\" searches for the word", word, word));
        if (const auto named = field_here(); named) {
            if (field != query_field::any) fail(at_, "a field cannot be within a field");
            at_ += named->name.size() + 1;
            has_operator_ = true;
            return item(depth, named->field);
        }
        if (current() == '(') return group(depth, field);
        if (quote_mark_at(query_, at_) != 0) {
            if (auto quoted = phrase(field)) return std::move(*quoted);
        }
        return chunk(field);
    }

    /// A field's name and its colon, directly before a part.
    std::optional<field_name> field_here() {
        // Their names may have any characters, even colons: the longest one counts.
        std::optional<field_name> indexed;
        for (std::size_t i = 0; i < fields_.size(); ++i) {
            const std::string_view name = fields_[i], rest = query_.substr(at_);
            if (rest.starts_with(name) && rest.substr(name.size()).starts_with(':') &&
                (!indexed || name.size() > indexed->name.size()))
                indexed = field_name{name, indexed_field(i)};
        }
        if (indexed) return field_at(at_ + indexed->name.size(), *indexed);
        if (const std::string hint = hint_of_kept_field(); !hint.empty()) {
            if (!lenient_) fail(at_, hint);
            if (filter_hint_.empty()) filter_hint_ = hint;
        }
        if (!is_letter(current()) && current() != '_') return {};
        std::size_t end = at_;
        while (end < query_.size() && (is_letter(query_[end]) || is_digit(query_[end]) || query_[end] == '_'))
            ++end;
        if (end >= query_.size() || query_[end] != ':') return {};
        if (end + 1 < query_.size() && query_[end + 1] == ':') return {};  // std::deque
        const std::string_view name = query_.substr(at_, end - at_);
        const auto* const known = std::ranges::find(field_names, name, &field_name::name);
        if (known == field_names.end()) {
            if (lenient_) return {};
            fail(at_, fmt::format("there is no field '{}' (expected title{}{} or text); write \\: for the "
                                  "character",
                                  std::string(name), fields_.empty() ? "" : ", ", fmt::join(fields_, ", ")));
        }
        return field_at(end, *known);
    }

    /// "lang is a kept field: use a filter, 'lang = de'"; empty if no such name and a colon stand here.
    std::string hint_of_kept_field() const {
        constexpr std::size_t shown = 40;
        const std::string_view rest = query_.substr(at_);
        for (const std::string& name : kept_) {
            if (!rest.starts_with(name) || !rest.substr(name.size()).starts_with(':')) continue;
            if (std::ranges::find(field_names, name, &field_name::name) != field_names.end()) continue;
            std::string_view value = rest.substr(name.size() + 1);
            value = value.substr(0, std::min(value.find_first_of(" \t\n)"), value.size()));
            const std::size_t sign = std::min(value.find_first_not_of("<>="), value.size());
            const bool is_plain = sign < value.size() && value[sign] != ':' &&
                                  value.find_first_of("\"'[]*~^!<>=,", sign) == std::string_view::npos;
            if (!is_plain || value.size() > shown)
                return fmt::format("{} is a kept field: use a filter, '{} = ...'", name, name);
            return fmt::format("{} is a kept field: use a filter, '{} {}{}'", name, name,
                               sign == 0 ? "= " : "", value);
        }
        return {};
    }

    /// The field whose colon is at `end`.
    std::optional<field_name> field_at(std::size_t end, field_name field) const {
        if (!ends_at(end + 1) && !closes_at(end + 1)) return field;
        if (!lenient_) fail(at_, "a field must be directly before a word, a phrase or a parenthesis");
        return {};
    }

    syntax_node group(unsigned depth, query_field field) {
        const std::size_t begin = at_++;
        ++depth_;
        syntax_node result = list(depth + 1, field);
        if (current() != ')') fail(begin, "this parenthesis is not closed; write \\( for the character");
        --depth_;
        ++at_;
        result.position = begin;
        if (result.members.empty()) fail(begin, "there is nothing in the parentheses");
        refuse_only_excluded(result);
        return result;
    }

    void refuse_only_excluded(const syntax_node& of) const {
        const auto excluded = [](const syntax_node& member) { return member.occurs == occurrence::excluded; };
        if (!of.members.empty() && std::ranges::all_of(of.members, excluded))
            fail(of.members.front().position, "only excluded words; at least one other is needed");
    }

    bool escaped(std::size_t at) const {
        std::size_t backslashes = 0;
        while (at > backslashes && query_[at - backslashes - 1] == '\\') ++backslashes;
        return backslashes % 2 != 0;
    }

    std::optional<syntax_node> phrase(query_field field) {
        const std::size_t begin = at_, from = at_ + quote_mark_at(query_, at_);
        std::size_t end = from, size = 0;
        // Where one quote has no end, a later one can only end at once.
        if (unclosed_ && quote_mark_at(query_, from) == 0) end = query_.size();
        for (; end < query_.size(); ++end) {
            size = quote_mark_at(query_, end);
            // As in split_at_quotes: no quote closes directly before a word.
            if (size != 0 && !escaped(end) && (end == from || !word_at(query_, end + size))) break;
        }
        if (end >= query_.size()) {
            unclosed_ = true;
            if (lenient_) return std::nullopt;
            fail(begin, "this quote is not closed; write \\\" for the character");
        }
        syntax_node result;
        result.what = kind::phrase;
        result.field = field;
        result.position = begin;
        for (std::size_t at = from; at < end; ++at) {
            if (query_[at] == '\\' && at + 1 < end) ++at;
            result.text += query_[at];
        }
        at_ = end + size;
        if (current() == '~' && is_digit(peek())) {
            const std::size_t tilde = at_++;
            std::uint64_t slop = 0;
            for (; is_digit(current()); ++at_)
                slop = std::min<std::uint64_t>(10 * slop + (current() - '0'), max_slop + 1);
            if (slop > max_slop) fail(tilde, fmt::format("the distance is too large (at most {})", max_slop));
            result.slop = static_cast<std::uint32_t>(slop);
            has_operator_ = true;
        } else if (!lenient_ && current() == '~') {
            fail(at_, "the ~ after a phrase needs a number, such as \"grain stones\"~2");
        }
        if (!lenient_ && current() == '*') fail(at_, "a phrase cannot be a prefix");
        return result;
    }

    /// Text up to a blank, a quote or the end of the parentheses. Parentheses within it (as in f(x)) belong to it.
    syntax_node chunk(query_field field) {
        syntax_node result;
        result.what = kind::words;
        result.field = field;
        result.position = at_;
        std::size_t open = 0;
        for (; !at_end() && !is_space(query_[at_]); ++at_) {
            const char c = query_[at_];
            if (c == '\\') {
                if (at_ + 1 >= query_.size()) {
                    if (!lenient_) fail(at_, "a character must follow the backslash");
                } else {
                    ++at_;
                }
                result.text += query_[at_];
                continue;
            }
            if (c == ')' && open == 0 && depth_ > 0) break;
            if (c == ')' && open == 0 && !lenient_) break;
            if (c == '(') ++open;
            if (c == ')' && open > 0) --open;
            if (at_ > result.position && quote_mark_at(query_, at_) != 0 && !word_before(query_, at_)) {
                const std::size_t here = at_;
                const bool had_operator = has_operator_;
                const bool opens = !lenient_ || phrase(field).has_value();
                at_ = here;
                has_operator_ = had_operator;
                if (opens) break;
            }
            if (c == '*' && at_ > result.position && (ends_at(at_ + 1) || closes_at(at_ + 1)) &&
                (!lenient_ || word_before(query_, at_) || (query_[at_ - 1] & 0x80) != 0)) {
                ++at_;
                result.what = kind::prefix;
                has_operator_ = true;
                return result;
            }
            if (c == '~' && at_ > result.position && take_edits(result)) return result;
            if (!lenient_) refuse_unknown_operator(result.position);
            result.text += c;
        }
        return result;
    }

    /// ~1 or ~2 at the end of a word.
    bool take_edits(syntax_node& of) {
        const char digit = peek();
        const bool fits = is_digit(digit) && digit != '0' && digit <= static_cast<char>('0' + max_edits);
        if (!fits || !(ends_at(at_ + 2) || closes_at(at_ + 2))) return false;
        if (lenient_ && !word_before(query_, at_) && (query_[at_ - 1] & 0x80) == 0) return false;
        of.edits = static_cast<std::uint32_t>(digit - '0');
        at_ += 2;
        has_operator_ = true;
        return true;
    }

    /// Operators of other search engines.
    void refuse_unknown_operator(std::size_t begin) const {
        const char c = query_[at_];
        const auto numbers_follow = [&] {
            std::size_t at = at_ + 1;
            while (at < query_.size() && (is_digit(query_[at]) || query_[at] == '.')) ++at;
            return ends_at(at) || closes_at(at);
        };
        if (c == '*') fail(at_, "a * can only end a word; write \\* for the character");
        if (c == '~' && at_ > begin && numbers_follow())
            fail(at_, "the ~ after a word needs the number of edits, 1 or 2; write \\~ for the character");
        if (c == '^' && at_ > begin && numbers_follow())
            fail(at_, "words cannot have weights; write \\^ for the character");
        if (at_ == begin && (c == '&' || c == '|') && peek() == c && ends_at(at_ + 2))
            fail(at_,
                 c == '&' ? "write AND, or \\& for the character" : "write OR, or \\| for the character");
    }

    std::string_view query_;
    std::span<const std::string> fields_;
    std::span<const std::string> kept_;
    std::string filter_hint_;
    bool lenient_, keywords_ = true, has_operator_ = false, unclosed_ = false;
    std::size_t at_ = 0;
    unsigned depth_ = 0;  // of open parentheses
};

}  // namespace

syntax_node parse_operators(std::string_view query, std::span<const std::string> fields,
                            std::span<const std::string> kept) {
    return parser(query, fields, kept, reading::strict).parse();
}

automatic_syntax read_automatically(std::string_view query, std::span<const std::string> fields,
                                    std::span<const std::string> kept) {
    parser lenient(query, fields, kept, reading::lenient);
    automatic_syntax read;
    try {
        syntax_node tree = lenient.parse();
        if (lenient.has_operator()) read.tree = std::move(tree);
    } catch (const query_error& e) {
        if (lenient.has_operator()) read.note = e.what();
    }
    if (read.note.empty()) read.note = lenient.filter_hint();
    return read;
}

}  // namespace quern
