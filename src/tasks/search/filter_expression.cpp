// SPDX-License-Identifier: Apache-2.0
// Operator precedence with an explicit stack (Dijkstra's shunting yard): parentheses take no stack of the machine, and the
// result is evaluated step by step.
#include "tasks/search/filter_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "quern/tasks/search.hpp"

namespace quern {
namespace {

using kind = filter_comparison::kind;

constexpr std::array<std::string_view, 8> keywords = {"AND",    "OR",      "NOT",    "IN",
                                                      "EXISTS", "BETWEEN", "STARTS", "WITH"};

std::string upper(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    return out;
}

struct token {
    enum class kind { end, word, quoted, keyword, symbol };
    kind what = kind::end;
    std::string text;  ///< of a keyword in capital letters
    std::size_t position = 0;
};

class tokens {
  public:
    explicit tokens(std::string_view filter) : filter_(filter) { advance(); }

    const token& current() const { return current_; }
    token take() {
        token taken = std::move(current_);
        advance();
        return taken;
    }
    bool at(token::kind what, std::string_view text) const {
        return current_.what == what && current_.text == text;
    }
    bool at_keyword(std::string_view word) const { return at(token::kind::keyword, word); }
    bool at_symbol(std::string_view symbol) const { return at(token::kind::symbol, symbol); }
    bool at_end() const { return current_.what == token::kind::end; }
    [[noreturn]] void fail(std::size_t position, std::string_view reason) const {
        throw filter_error(filter_, position, reason);
    }

  private:
    static bool is_symbol(char c) { return std::string_view("()=!<>,").find(c) != std::string_view::npos; }

    void advance() {
        while (at_ < filter_.size() && is_space(filter_[at_])) ++at_;
        current_ = {token::kind::end, {}, at_};
        if (at_ == filter_.size()) return;
        const char c = filter_[at_];
        if (c == '"' || c == '\'') return take_quoted(c);
        if (is_symbol(c)) return take_symbol(c);
        const std::size_t begin = at_;
        while (at_ < filter_.size() && !is_space(filter_[at_]) && !is_symbol(filter_[at_]) &&
               filter_[at_] != '"' && filter_[at_] != '\'')
            ++at_;
        current_.text = filter_.substr(begin, at_ - begin);
        current_.what = token::kind::word;
        if (current_.text == "&&" || current_.text == "||")
            fail(begin, fmt::format("write {}", current_.text == "&&" ? "AND" : "OR"));
        std::string capital = upper(current_.text);
        if (std::ranges::find(keywords, capital) == keywords.end()) return;
        current_.what = token::kind::keyword;
        current_.text = std::move(capital);
    }

    void take_symbol(char c) {
        const std::string_view pair = filter_.substr(at_, 2);
        if (pair == "==") fail(at_, "write = for equal values");
        if (pair == "<>") fail(at_, "write != for other values");
        const bool both = pair == "!=" || pair == "<=" || pair == ">=";
        if (c == '!' && !both) fail(at_, "write NOT, or != for other values");
        current_.what = token::kind::symbol;
        current_.text = both ? pair : pair.substr(0, 1);
        at_ += current_.text.size();
    }

    void take_quoted(char mark) {
        const std::size_t begin = at_++;
        current_.what = token::kind::quoted;
        for (; at_ < filter_.size() && filter_[at_] != mark; ++at_) {
            if (filter_[at_] == '\\') {
                const char next = at_ + 1 < filter_.size() ? filter_[at_ + 1] : '\0';
                if (next != '\\' && next != '"' && next != '\'')
                    fail(at_, "a backslash must be before a quote or a backslash");
                ++at_;
            }
            current_.text += filter_[at_];
        }
        if (at_ == filter_.size()) fail(begin, "this quote is not closed");
        ++at_;
    }

    std::string_view filter_;
    std::size_t at_ = 0;
    token current_;
};

class parser {
  public:
    explicit parser(std::string_view filter) : from_(filter) {
        if (filter.size() > max_filter_bytes)
            from_.fail(0, fmt::format("it is too long (at most {} bytes)", max_filter_bytes));
    }

    filter_expression parse() {
        for (bool operand = true; operand || !from_.at_end();) {
            if (operand) {
                operand = take_operand();
            } else {
                operand = take_operator();
            }
        }
        while (!open_.empty()) {
            if (open_.back().what == pending::kind::parenthesis)
                from_.fail(open_.back().position, "this parenthesis is not closed");
            close_one();
        }
        return std::move(made_);
    }

  private:
    struct pending {
        enum class kind { parenthesis, either, both, negation };  ///< the later ones bind closer
        kind what;
        std::size_t position;
    };

    void close_one() {
        const pending::kind what = open_.back().what;
        made_.steps.push_back({what == pending::kind::either ? filter_step::kind::either
                               : what == pending::kind::both ? filter_step::kind::both
                                                             : filter_step::kind::negation});
        open_.pop_back();
    }
    void close_down_to(pending::kind least) {
        while (!open_.empty() && open_.back().what >= least) close_one();
    }

    /// Whether another operand must follow.
    bool take_operand() {
        if (from_.at_symbol("(")) {
            if (++depth_ > max_filter_depth)
                from_.fail(from_.current().position,
                           fmt::format("too many parentheses in each other (at most {})", max_filter_depth));
            open_.push_back({pending::kind::parenthesis, from_.take().position});
            return true;
        }
        if (from_.at_keyword("NOT")) {
            open_.push_back({pending::kind::negation, from_.take().position});
            return true;
        }
        made_.steps.push_back({filter_step::kind::comparison, made_.comparisons.size()});
        made_.comparisons.push_back(comparison());
        close_down_to(pending::kind::negation);
        return false;
    }

    bool take_operator() {
        if (from_.at_symbol(")")) {
            close_down_to(pending::kind::either);
            if (open_.empty()) from_.fail(from_.current().position, "this parenthesis closes none");
            open_.pop_back();
            --depth_;
            from_.take();
            close_down_to(pending::kind::negation);
            return false;
        }
        const bool both = from_.at_keyword("AND");
        if (!both && !from_.at_keyword("OR")) {
            from_.fail(from_.current().position,
                       "expected AND, OR or the end (a name or value with blanks or signs needs quotes)");
        }
        const pending::kind what = both ? pending::kind::both : pending::kind::either;
        close_down_to(what);
        open_.push_back({what, from_.take().position});
        return true;
    }

    filter_value take_value(std::string_view expected) {
        const token& next = from_.current();
        if (next.what == token::kind::keyword)
            from_.fail(next.position,
                       fmt::format("expected {}; a word such as {} needs quotes", expected, next.text));
        if (next.what != token::kind::word && next.what != token::kind::quoted)
            from_.fail(next.position, fmt::format("expected {}{}", expected,
                                                  next.text == ">"   ? "; write >= for at least"
                                                  : next.text == "<" ? "; write <= for at most"
                                                                     : ""));
        token taken = from_.take();
        return {std::move(taken.text), taken.position, taken.what == token::kind::quoted};
    }

    filter_comparison comparison() {
        filter_comparison result;
        if (from_.at_keyword("EXISTS")) {
            result.position = from_.take().position;
            result.what = kind::exists;
            result.field = take_value("the name of a field");
            return result;
        }
        result.field = take_value("the name of a field");
        result.position = from_.current().position;
        if (from_.current().what == token::kind::symbol) return by_sign(std::move(result));
        if (from_.at_keyword("NOT")) {
            result.negated = true;
            from_.take();
        }
        if (from_.at_keyword("EXISTS")) {
            from_.take();
            result.what = kind::exists;
        } else if (from_.at_keyword("IN")) {
            from_.take();
            result.what = kind::one_of;
            take_list(result);
        } else if (from_.at_keyword("BETWEEN")) {
            from_.take();
            result.what = kind::between;
            result.values.push_back(take_value("the least value"));
            if (!from_.at_keyword("AND"))
                from_.fail(from_.current().position, "expected AND and the greatest value");
            from_.take();
            result.values.push_back(take_value("the greatest value"));
        } else if (from_.at_keyword("STARTS")) {
            from_.take();
            if (!from_.at_keyword("WITH")) from_.fail(from_.current().position, "expected WITH");
            from_.take();
            result.what = kind::starts_with;
            result.values.push_back(take_value("the beginning of a value"));
        } else {
            fail_without_operator(result);
        }
        return result;
    }

    [[noreturn]] void fail_without_operator(const filter_comparison& made) {
        if (made.negated) from_.fail(from_.current().position, "expected IN, BETWEEN, EXISTS or STARTS WITH");
        if (from_.current().what == token::kind::word) {  // a range as other engines write it: price 10 TO 20
            const token least = from_.take();
            if (from_.current().what == token::kind::word && upper(from_.current().text) == "TO") {
                from_.take();
                from_.fail(
                    least.position,
                    fmt::format("write BETWEEN {} AND {}", least.text,
                                from_.current().what == token::kind::word ? from_.current().text : "..."));
            }
        }
        from_.fail(
            made.position,
            "expected =, !=, <, <=, >, >=, IN, BETWEEN, EXISTS or STARTS WITH after the name of a field "
            "(a name or value with blanks or signs needs quotes)");
    }

    filter_comparison by_sign(filter_comparison result) {
        struct sign {
            std::string_view text;
            kind what;
            bool negated;
        };
        constexpr std::array signs = {
            sign{"=", kind::equal, false},   sign{"!=", kind::equal, true},
            sign{"<", kind::less, false},    sign{"<=", kind::less_equal, false},
            sign{">", kind::greater, false}, sign{">=", kind::greater_equal, false}};
        const auto* const found = std::ranges::find(signs, from_.current().text, &sign::text);
        if (found == signs.end())
            from_.fail(from_.current().position,
                       "expected =, !=, <, <=, >, >=, IN, BETWEEN, EXISTS or STARTS WITH");
        from_.take();
        result.what = found->what;
        result.negated = found->negated;
        result.values.push_back(take_value("a value"));
        return result;
    }

    void take_list(filter_comparison& made) {
        if (!from_.at_symbol("("))
            from_.fail(from_.current().position, "expected values in parentheses: IN (a, b)");
        from_.take();
        for (;;) {
            made.values.push_back(take_value("a value"));
            if (from_.at_symbol(")")) break;
            if (!from_.at_symbol(","))
                from_.fail(from_.current().position,
                           "expected a comma or a parenthesis (a value with blanks or signs needs quotes)");
            from_.take();
        }
        from_.take();
    }

    tokens from_;
    filter_expression made_;
    std::vector<pending> open_;
    std::size_t depth_ = 0;
};

}  // namespace

filter_expression parse_filter(std::string_view filter) {
    return parser(filter).parse();
}

std::vector<named_field> parse_field_names(std::string_view list, std::string_view option, bool signs) {
    const auto fail = [&](std::string_view reason) {
        throw usage_error(fmt::format("{}: invalid value '{}' ({})", option, list.substr(0, 200), reason));
    };
    std::vector<named_field> names;
    std::size_t at = 0;
    const auto skip_blanks = [&] {
        while (at < list.size() && is_space(list[at])) ++at;
    };
    for (;; ++at) {
        skip_blanks();
        named_field made;
        if (signs && at < list.size() && list[at] == '-') {
            made.descending = true;
            ++at;
        }
        made.name.position = at;
        if (at < list.size() && (list[at] == '"' || list[at] == '\'')) {
            const std::size_t end = list.find(list[at], at + 1);
            if (end == std::string_view::npos) fail("a quote is not closed");
            made.name.text = list.substr(at + 1, end - at - 1);
            at = end + 1;
            skip_blanks();
        } else {
            const std::size_t end = std::min(list.find(',', at), list.size());
            made.name.text = trimmed(list.substr(at, end - at));
            at = end;
        }
        if (made.name.text.empty()) fail("expected names of kept fields, separated by commas");
        const auto same = [&](const named_field& other) { return other.name.text == made.name.text; };
        if (std::ranges::any_of(names, same)) fail(fmt::format("'{}' is given twice", made.name.text));
        names.push_back(std::move(made));
        if (at == list.size()) return names;
        if (list[at] != ',') fail("expected a comma after a name");
    }
}

}  // namespace quern
