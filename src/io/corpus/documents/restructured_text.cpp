// SPDX-License-Identifier: Apache-2.0
// reStructuredText as text: the marks of headings, roles, links, emphasis and directives vanish, comments too; the content
// of a directive stays, with its argument. Code and tables keep their lines.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "io/corpus/documents/text_writer.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/html_links.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

struct source_line {
    std::string_view text;   ///< without blanks at either end
    std::size_t indent = 0;  ///< a tab counts as one
};

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           static_cast<unsigned char>(c) >= 0x80;
}

/// A line of one repeated sign, as under a heading.
bool is_adornment(std::string_view line) {
    constexpr std::size_t min_length = 3;
    return line.size() >= min_length && !is_word(line[0]) &&
           line.find_first_not_of(line[0]) == std::string_view::npos;
}

/// A mark that ends what another begins is near it: so time is linear in a line's length.
std::size_t find_near(std::string_view text, std::string_view mark, std::size_t from) {
    constexpr std::size_t near = 2000;
    if (from > text.size()) return std::string_view::npos;
    const std::size_t found = text.substr(from, near).find(mark);
    return found == std::string_view::npos ? found : from + found;
}

/// The borders of tables: "=== ====", "+---+===+".
bool is_border(std::string_view line) {
    constexpr std::size_t min_length = 3;
    if (line.size() < min_length) return false;
    if (line[0] == '+') return line.find_first_not_of("+-=") == std::string_view::npos;
    return (line[0] == '=' || line[0] == '-') &&
           line.find_first_not_of(line.substr(0, 1) == "=" ? "= " : "- ") == std::string_view::npos;
}

class reader {
  public:
    reader(const convertible& file, std::string_view text)
        : file_(file), out_(file), base_(file.path), rest_(text) {}

    converted read() {
        std::size_t number = 0;
        while (!rest_.empty() || has_next_) {
            if (++number % 4096 == 0) file_.ctx.check_stop();
            take(next());
        }
        converted result;
        result.title = collapsed(title_);
        result.text = out_.take();
        result.links = std::move(links_);
        return result;
    }

  private:
    source_line next() {
        if (has_next_) {
            has_next_ = false;
            return peeked_;
        }
        const std::size_t end = std::min(rest_.find('\n'), rest_.size());
        const std::string_view line = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        const std::string_view text = trimmed(line);
        return {text, text.empty() ? 0 : static_cast<std::size_t>(text.data() - line.data())};
    }
    const source_line& peek() {
        if (!has_next_) {
            peeked_ = next();
            has_next_ = true;
        }
        return peeked_;
    }
    bool at_end() const { return rest_.empty() && !has_next_; }

    void take(const source_line& line) {
        if (line.text.empty()) {
            out_.want(html_text::paragraph);
            if (awaits_literal_) literal_block();
            return;
        }
        awaits_literal_ = false;
        if (line.text == ".." || line.text.starts_with(".. ")) return explicit_markup(line);
        if (line.text.starts_with("__ ")) return;
        if (is_border(line.text) || is_adornment(line.text)) {
            if (line.text[0] != '+' && line.indent == 0 && is_adornment(line.text) && !at_end()) {
                // A heading with a line above and below.
                const source_line inner = next();
                if (!inner.text.empty() && !at_end() && is_adornment(peek().text) &&
                    peek().text == line.text) {
                    next();
                    return heading(inner.text);
                }
                if (inner.text.empty()) {
                    out_.want(html_text::paragraph);
                    return;
                }
                out_.want(html_text::line);
                return text_line(inner);
            }
            out_.want(html_text::line);
            return;
        }
        if (line.indent == 0 && !at_end() && is_adornment(peek().text) && peek().indent == 0 &&
            peek().text.find_first_of("=-`:'\"~^_*+#<>.") == 0 && !was_text_) {
            next();
            return heading(line.text);
        }
        text_line(line);
    }

    void heading(std::string_view text) {
        out_.want(html_text::paragraph);
        const std::string shown = inline_text(text);
        if (title_.empty()) title_ = shown;
        out_.add(shown);
        out_.want(html_text::paragraph);
        was_text_ = false;
    }

    void text_line(source_line line) {
        if (line.text.starts_with('|') && line.text.ends_with('|') && line.text.size() > 1)
            return table_row(line.text);
        // ":name: value" of a list of fields; items; the sign of a quoted line.
        const std::size_t field =
            line.text.starts_with(':') ? line.text.find(": ", 1) : std::string_view::npos;
        const bool is_item = line.text.starts_with("- ") || line.text.starts_with("* ") ||
                             line.text.starts_with("+ ") || line.text.starts_with("#. ") ||
                             line.text.starts_with("| ");
        if (is_item) {
            out_.want(html_text::line);
            line.text = trimmed(line.text.substr(line.text.find(' ')));
        } else if (field != std::string_view::npos && line.text.find('`') > field) {
            out_.want(html_text::line);
            out_.add(line.text.substr(1, field - 1));
            out_.want(html_text::space);
            line.text = trimmed(line.text.substr(field + 2));
        }
        const bool opens_literal = line.text.ends_with("::");
        if (opens_literal) {
            line.text.remove_suffix(line.text == "::" ? 2 : 1);
            literal_indent_ = line.indent;
        }
        awaits_literal_ = opens_literal;
        // Columns of a simple table are two blanks apart.
        if (line.text.find("  ") != std::string_view::npos) {
            out_.want(html_text::line);
            for (std::string_view cells = line.text; !cells.empty();) {
                const std::size_t end = std::min(cells.find("  "), cells.size());
                out_.add(inline_text(cells.substr(0, end)));
                out_.want(html_text::tab);
                cells = trimmed(cells.substr(end));
            }
            out_.want(html_text::line);
        } else {
            out_.add(inline_text(line.text));
            out_.want(html_text::space);
        }
        was_text_ = !at_end() && !peek().text.empty();
        if (opens_literal && !at_end() && !peek().text.empty()) awaits_literal_ = false;
    }

    void table_row(std::string_view row) {
        out_.want(html_text::line);
        row = row.substr(1, row.size() - 2);
        bool first = true;
        while (!row.empty()) {
            const std::size_t end = std::min(row.find('|'), row.size());
            if (!first) out_.want(html_text::tab);
            first = false;
            out_.add(inline_text(trimmed(row.substr(0, end))));
            row.remove_prefix(std::min(end + 1, row.size()));
        }
        out_.want(html_text::line);
    }

    /// The indented lines that follow, as they are.
    void literal_block() {
        awaits_literal_ = false;
        std::string block;
        std::size_t min_indent = SIZE_MAX;
        while (!at_end()) {
            const source_line& line = peek();
            if (!line.text.empty() && line.indent <= literal_indent_) break;
            if (line.text.empty()) {
                if (!block.empty()) block += '\n';
            } else {
                min_indent = std::min(min_indent, line.indent);
                block.append(line.indent - min_indent, ' ').append(line.text).append("\n");
            }
            next();
            if (block.size() > (1U << 20)) {
                out_.add_verbatim(block);
                block.clear();
            }
        }
        while (block.ends_with('\n')) block.pop_back();
        if (block.empty()) return;
        out_.want(html_text::paragraph);
        out_.add_verbatim(block);
        out_.want(html_text::paragraph);
    }

    /// Directives, footnotes, targets, substitutions and comments.
    void explicit_markup(const source_line& line) {
        const std::string_view inner = trimmed(line.text.substr(2));
        out_.want(html_text::paragraph);
        if (inner.starts_with('_') && (inner.find(": ") != std::string_view::npos || inner.ends_with(':')))
            return;
        if (inner.starts_with('[')) {  // a footnote
            const std::size_t end = inner.find(']');
            if (end != std::string_view::npos) {
                out_.add(inline_text(trimmed(inner.substr(end + 1))));
                out_.want(html_text::space);
                return;
            }
        }
        std::string_view directive = inner;
        if (directive.starts_with('|')) {
            const std::size_t end = directive.find('|', 1);
            directive = end == std::string_view::npos ? directive : trimmed(directive.substr(end + 1));
        }
        const std::size_t colons = directive.find("::");
        const std::string_view name = directive.substr(0, std::min(colons, directive.size()));
        if (colons == std::string_view::npos || name.empty() || name.find(' ') != std::string_view::npos)
            return skip_block(line.indent);  // a comment
        const std::string_view argument = trimmed(directive.substr(colons + 2));
        // Not "class": a name of styles for docutils, but for Sphinx the name of what is described, as of "autoclass".
        constexpr std::string_view without_text[] = {
            "image",          "include",       "raw",    "contents", "toctree",      "highlight", "index",
            "role",           "default-role",  "meta",   "only",     "unicode",      "date",      "sectnum",
            "literalinclude", "currentmodule", "module", "replace",  "bibliography", "header",    "footer"};
        if (name == "toctree") return contents(line.indent);
        skip_options(line.indent);
        if (name == "code" || name == "code-block" || name == "sourcecode" || name == "parsed-literal" ||
            name == "math" || name == "prompt" || name == "doctest" || name == "literal") {
            literal_indent_ = line.indent;
            return literal_block();
        }
        if (std::ranges::find(without_text, name) != std::end(without_text)) {
            if (name == "raw" || name == "index") skip_block(line.indent);
            if (name == "replace") out_.add(inline_text(argument));
            return;
        }
        if (name == "figure") return;  // its caption follows
        out_.add(inline_text(argument));
        out_.want(html_text::paragraph);
    }

    /// The pages of a table of contents are links.
    void contents(std::size_t indent) {
        while (!at_end() && (peek().text.empty() || peek().indent > indent)) {
            std::string_view entry = next().text;
            if (entry.empty() || entry.starts_with(':')) continue;
            if (entry.ends_with('>') && entry.find('<') != std::string_view::npos)
                entry = entry.substr(entry.rfind('<') + 1, entry.size() - entry.rfind('<') - 2);
            link_to(std::string(entry) + (entry.ends_with(".rst") ? "" : ".rst"));
        }
    }
    void skip_options(std::size_t indent) {
        while (!at_end() && peek().indent > indent && peek().text.starts_with(':')) next();
    }
    void skip_block(std::size_t indent) {
        while (!at_end() && (peek().text.empty() || peek().indent > indent)) next();
    }

    void link_to(std::string_view href) {
        if (auto target = base_.resolve(href)) add_link(links_, std::move(*target), file_.budget);
    }

    // Marks within a line.

    std::string inline_text(std::string_view text) {
        std::string out;
        for (std::size_t at = 0; at < text.size();) {
            const char c = text[at];
            const bool opens = at == 0 || !is_word(text[at - 1]);
            if (c == '\\') {
                if (at + 1 < text.size() && text[at + 1] != ' ') out += text[at + 1];
                at += 2;
            } else if (text.substr(at).starts_with("``")) {
                const std::size_t end = find_near(text, "``", at + 2);
                if (end == std::string_view::npos) {
                    at += 2;
                    continue;
                }
                out.append(text.substr(at + 2, end - at - 2));
                at = end + 2;
            } else if (c == '`') {
                at = interpreted(text, at, "", out);
            } else if (c == ':' && opens) {
                const std::size_t end = find_near(text, ":`", at + 1);
                const bool is_role =
                    end != std::string_view::npos && end != at + 1 &&
                    std::ranges::all_of(text.substr(at + 1, end - at - 1), [](char d) {
                        return is_word(d) || d == ':' || d == '-' || d == '_' || d == '.' || d == '+';
                    });
                if (is_role) {
                    at = interpreted(text, end + 1, text.substr(at + 1, end - at - 1), out);
                } else {
                    out += c;
                    ++at;
                }
            } else if (c == '*' && (opens || (at + 1 == text.size() || !is_word(text[at + 1])))) {
                const bool single =
                    at + 1 < text.size() && text[at + 1] == ' ' && (at == 0 || text[at - 1] == ' ');
                if (single) out += c;
                ++at;
            } else if (c == '|' && (opens || at + 1 == text.size() || !is_word(text[at + 1]))) {
                ++at;
            } else if (c == '_' && !opens && (at + 1 == text.size() || !is_word(text[at + 1])) &&
                       (at + 1 == text.size() || text[at + 1] != '(')) {
                ++at;  // "name_"
                if (at < text.size() && text[at] == '_') ++at;
            } else {
                out += c;
                ++at;
            }
        }
        return out;
    }

    /// `at` is the opening backquote. Returns the position after the mark.
    std::size_t interpreted(std::string_view text, std::size_t at, std::string_view role, std::string& out) {
        const std::size_t end = find_near(text, "`", at + 1);
        if (end == std::string_view::npos) return at + 1;
        std::string_view inner = text.substr(at + 1, end - at - 1);
        std::string_view target;
        const std::size_t open = inner.rfind('<');
        if (inner.ends_with('>') && open != std::string_view::npos && open != 0) {
            target = inner.substr(open + 1, inner.size() - open - 2);
            inner = trimmed(inner.substr(0, open));
        } else if (role == "doc") {
            target = inner;
        }
        if (inner.starts_with('~'))
            inner = inner.substr(inner.rfind('.') == std::string_view::npos ? 1 : inner.rfind('.') + 1);
        out.append(inner);
        if (role == "doc") {
            link_to(std::string(target) + (target.ends_with(".rst") ? "" : ".rst"));
        } else if (role.empty() && !target.empty() && !target.ends_with('_')) {
            link_to(target);
        }
        std::size_t after = end + 1;
        while (after < text.size() && text[after] == '_' && after < end + 3) ++after;
        return after;
    }

    const convertible& file_;
    text_writer out_;
    link_base base_;
    std::string_view rest_;
    source_line peeked_;
    std::string title_;
    std::vector<std::string> links_;
    std::size_t literal_indent_ = 0;
    bool has_next_ = false, awaits_literal_ = false, was_text_ = false;
};

}  // namespace

converted convert_restructured(const convertible& file) {
    std::string repaired;
    const std::string text = decode_text(file.bytes, repaired);
    converted result = reader(file, text).read();
    result.repaired = std::move(repaired);
    return result;
}

}  // namespace quern::io
