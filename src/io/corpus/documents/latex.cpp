// SPDX-License-Identifier: Apache-2.0
// LaTeX sources as text: commands vanish and their text stays, mathematics stay as they are written; without comments,
// the preamble, references to labels and citations, the bibliography and drawings. Other files are not read.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "io/corpus/documents/latex_commands.hpp"
#include "io/corpus/documents/text_writer.hpp"
#include "io/corpus/encoding.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

template <typename List>
bool holds(const List& list, std::string_view wanted) {
    return std::ranges::find(list, wanted) != std::end(list);
}

class source_reader {
  public:
    source_reader(const convertible& file, std::string_view text) : file_(file), out_(file), text_(text) {}

    converted read() {
        constexpr std::string_view begin = "\\begin{document}";
        const std::size_t body = text_.find(begin);
        if (body != std::string_view::npos) {
            read_title(text_.substr(0, body));
            at_ = body + begin.size();
        }
        for (std::size_t steps = 0; at_ < text_.size(); ++steps) {
            if (steps % 65'536 == 0) file_.ctx.check_stop();
            step();
        }
        converted result;
        result.title = collapsed(title_.empty() ? heading_ : title_);
        result.text = out_.take();
        return result;
    }

  private:
    static constexpr std::size_t longest_argument = 2 << 10, longest_accented = 64;

    void read_title(std::string_view preamble) {
        const std::size_t at = preamble.find("\\title");
        if (at == std::string_view::npos) return;
        std::size_t next = at + 6;
        skip_optional(preamble, next);
        title_ = plain(group(preamble, next));
    }

    void step() {
        const char c = text_[at_];
        if (c == '\\') return command();
        if (c == '%') {
            at_ = std::min(text_.find('\n', at_), text_.size());
            if (at_ < text_.size()) ++at_;
            const std::size_t next = text_.find_first_not_of(" \t", at_);
            at_ = std::min(next, text_.size());
            return;
        }
        if (c == '$') return mathematics(text_.substr(at_).starts_with("$$") ? "$$"sv : "$"sv);
        if (c == '\n') return line_end();
        if (c == '{' || c == '}') {
            ++at_;
            if (c == '{') ++depth_;
            if (c == '}' && depth_ != 0) {
                --depth_;
                if (in_heading_ && depth_ == heading_depth_) end_heading();
            }
            return;
        }
        if (c == '~' || c == '&') {
            ++at_;
            out_.want(c == '&' ? html_text::tab : html_text::space);
            if (in_heading_) heading_ += ' ';
            return;
        }
        struct sign {
            std::string_view source, shown;
        };
        for (const auto& [source, shown] :
             {sign{"---", "\u2014"}, sign{"--", "\u2013"}, sign{"``", "\u201C"}, sign{"''", "\u201D"}}) {
            if (text_.substr(at_, source.size()) == source) {
                at_ += source.size();
                return add(shown);
            }
        }
        if (c == '-' || c == '`' || c == '\'') {
            add(text_.substr(at_++, 1));
            return;
        }
        const std::size_t end = std::min(text_.find_first_of("\\%$\n{}~&-`'", at_), text_.size());
        add(text_.substr(at_, end - at_));
        at_ = end;
    }

    void line_end() {
        std::size_t lines = 0;
        while (at_ < text_.size() && is_space(text_[at_]))
            lines += static_cast<std::size_t>(text_[at_++] == '\n');
        out_.want(lines > 1 ? html_text::paragraph : html_text::space);
        if (in_heading_) heading_ += ' ';
    }

    void add(std::string_view text) {
        constexpr std::size_t longest = 1000;
        out_.add(text);
        if (in_heading_ && heading_.size() < longest) heading_.append(text);
    }

    void end_heading() {
        in_heading_ = false;
        out_.want(html_text::paragraph);
    }

    /// From its first mark to its last, as it is written.
    void mathematics(std::string_view close) {
        constexpr std::size_t longest = 16 << 10;
        at_ += close == "$" || close == "$$" ? close.size() : 0;
        // Where an earlier search found nothing is not searched again: time is linear.
        std::size_t& searched = searched_[close == "$" ? 0 : close == "$$" ? 1 : close == "\\]" ? 2 : 3];
        const std::size_t from = std::max(at_, searched), last = std::min(at_ + longest, text_.size());
        const std::size_t found =
            from < last ? text_.substr(0, last).find(close, from) : std::string_view::npos;
        if (found == std::string_view::npos) {
            searched = std::max(searched, last - std::min<std::size_t>(last, close.size() - 1));
            return;
        }
        const std::size_t end = found - at_;
        if (close != "$") out_.want(html_text::line);
        add(text_.substr(at_, end));
        at_ += end + close.size();
        if (close != "$") out_.want(html_text::line);
    }

    void command() {
        const std::size_t begin = ++at_;
        if (begin == text_.size()) return;
        while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
        if (at_ == begin) ++at_;
        const std::string_view name = text_.substr(begin, at_ - begin);
        if (at_ < text_.size() && text_[at_] == '*') ++at_;
        const bool is_sign = !is_letter(name[0]);
        if (is_sign && "%&_#${}"sv.find(name[0]) != std::string_view::npos) return add(name);
        if (name == "\\") {
            skip_optional(text_, at_);
            return out_.want(html_text::line);
        }
        if (name == "[") return mathematics("\\]");
        if (name == "(") return mathematics("\\)");
        if (is_sign && " ,;:/\n\t"sv.find(name[0]) != std::string_view::npos)
            return out_.want(html_text::space);
        if (const char32_t mark = latex_mark_of(name); mark != 0 && accent(name, mark)) return;
        if (is_sign) return;
        if (name == "begin") return begin_environment();
        if (name == "end") {
            if (group(text_, at_) == "document") at_ = text_.size();  // TeX reads no further
            return out_.want(html_text::paragraph);
        }
        constexpr std::array headings = {"part"sv,          "chapter"sv,   "section"sv,      "subsection"sv,
                                         "subsubsection"sv, "paragraph"sv, "subparagraph"sv, "frametitle"sv};
        if (holds(headings, name)) return begin_heading();
        if (name == "title" || name == "maketitle") return title_command(name);
        if (name == "item" || name == "newline" || name == "tabularnewline") out_.want(html_text::line);
        if (name == "par" || name == "newpage" || name == "clearpage" || name == "caption" ||
            name == "bigskip" || name == "medskip" || name == "smallskip")
            out_.want(html_text::paragraph);
        if (name == "footnote" || name == "quad" || name == "qquad" || name == "hfill")
            out_.want(html_text::space);
        if (name == "verb") return verbatim_word();
        if (name == "def" || name == "let") return skip_definition();
        if (const auto character = latex_character_of(name)) {
            add(*character);
            // "\ss{} x" and "\ss x" alike: blanks after a command end its name.
            if (text_.substr(at_, 2) == "{}") {
                at_ += 2;
            } else {
                at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
            }
            return;
        }
        const std::optional<int> no_text = latex_arguments_that_are_no_text(name);
        if (!no_text) {
            if (name == "item") return item_label();
            return skip_optional(text_, at_);
        }
        for (int i = 0; i < *no_text; ++i) {
            skip_optional(text_, at_);
            skip_optional(text_, at_);
            group(text_, at_);
        }
    }

    bool accent(std::string_view name, char32_t mark) {
        std::size_t next = at_;
        const bool is_letter_name = is_letter(name[0]);
        if (is_letter_name && next < text_.size() && text_[next] != '{' && text_[next] != ' ') return false;
        while (next < text_.size() && text_[next] == ' ') ++next;
        std::string_view base;
        if (next < text_.size() && text_[next] == '{') {
            base = group(text_, next, longest_accented);
        } else if (next < text_.size() && text_[next] == '\\') {
            base = text_.substr(next, 2);
            next += 2;
        } else if (next < text_.size()) {
            std::size_t end = next;
            next_utf8(text_, end);
            base = text_.substr(next, end - next);
            next = end;
        }
        if (base == "\\i" || base == "\\j") base.remove_prefix(1);
        if (!base.empty() && (base[0] == '\\' || base[0] == '\n')) return false;
        at_ = next;
        add(with_latex_mark(base, mark));
        return true;
    }

    void begin_heading() {
        skip_optional(text_, at_);
        out_.want(html_text::paragraph);
        if (at_ < text_.size() && text_[at_] == '{') {
            in_heading_ = heading_.empty();
            heading_depth_ = depth_;
            ++depth_;
            ++at_;
            if (!in_heading_) {
                // Its end is a paragraph's, too.
                const std::size_t end = at_ - 1;
                std::size_t after = end;
                if (const std::string_view inner = group(text_, after); after != end) {
                    --depth_;
                    add(plain(inner));
                    at_ = after;
                    out_.want(html_text::paragraph);
                }
            }
        }
    }

    void title_command(std::string_view name) {
        if (name == "maketitle") {
            out_.want(html_text::paragraph);
            out_.add(title_);
            out_.want(html_text::paragraph);
            return;
        }
        skip_optional(text_, at_);
        title_ = plain(group(text_, at_));
    }

    void begin_environment() {
        const std::string_view name = group(text_, at_);
        out_.want(html_text::paragraph);
        const std::string_view bare = name.ends_with('*') ? name.substr(0, name.size() - 1) : name;
        constexpr std::array dropped = {"comment"sv, "thebibliography"sv, "tikzpicture"sv, "pgfpicture"sv,
                                        "filecontents"sv};
        constexpr std::array as_written = {"verbatim"sv, "Verbatim"sv, "lstlisting"sv, "minted"sv, "alltt"sv};
        constexpr std::array math = {"equation"sv, "align"sv,       "gather"sv,  "eqnarray"sv, "multline"sv,
                                     "math"sv,     "displaymath"sv, "alignat"sv, "flalign"sv};
        const bool drops = holds(dropped, bare);
        if (drops || holds(as_written, bare) || holds(math, bare)) {
            if (!holds(math, bare)) skip_optional(text_, at_);
            if (bare == "minted") group(text_, at_);
            const std::string close = "\\end{" + std::string(name) + "}";
            const std::size_t end = std::min(text_.find(close, at_), text_.size());
            if (!drops) {
                std::string_view inner = text_.substr(at_, end - at_);
                while (inner.starts_with('\n')) inner.remove_prefix(1);
                out_.add_verbatim(inner.substr(0, inner.find_last_not_of(ascii_space) + 1));
            }
            at_ = std::min(end + close.size(), text_.size());
            out_.want(html_text::paragraph);
            return;
        }
        skip_optional(text_, at_);
        constexpr std::array with_columns = {"tabular"sv,   "array"sv,    "longtable"sv, "minipage"sv,
                                             "multicols"sv, "tabularx"sv, "tabulary"sv};
        if (!holds(with_columns, bare)) return;
        group(text_, at_);
        if (bare == "tabularx" || bare == "tabulary") group(text_, at_);
    }

    /// "[label]" of an item, which is text.
    void item_label() {
        const std::size_t begin = std::min(text_.find_first_not_of(" \t", at_), text_.size());
        std::size_t end = begin;
        skip_optional(text_, end);
        if (end == begin) return;
        add(plain(text_.substr(begin + 1, end - begin - 2)));
        out_.want(html_text::space);
        at_ = end;
    }

    void verbatim_word() {
        if (at_ >= text_.size()) return;
        const std::size_t end =
            text_.substr(0, std::min(at_ + longest_argument, text_.size())).find(text_[at_], at_ + 1);
        if (end == std::string_view::npos) return;
        add(text_.substr(at_ + 1, end - at_ - 1));
        at_ = end + 1;
    }

    /// \def\name#1{…}, \let\a\b.
    void skip_definition() {
        const std::string_view near = text_.substr(at_, 200);
        const std::size_t stop = near.find_first_of("{\n");
        if (stop == std::string_view::npos) return;
        at_ += stop;
        if (near[stop] == '{') group(text_, at_);
    }

    /// The contents of "{…}" at `at`, which moves past it; nothing, and no move, if there is none that is near.
    static std::string_view group(std::string_view text, std::size_t& at,
                                  std::size_t longest = longest_argument) {
        std::size_t begin = at;
        while (begin < text.size() && is_space(text[begin]) && begin < at + 100) ++begin;
        if (begin >= text.size() || text[begin] != '{') return {};
        std::size_t open = 0;
        const std::size_t last = std::min(text.size(), begin + longest);
        for (std::size_t i = begin; i < last; ++i) {
            if (text[i] == '\\') {
                ++i;
            } else if (text[i] == '{') {
                ++open;
            } else if (text[i] == '}' && --open == 0) {
                at = i + 1;
                return text.substr(begin + 1, i - begin - 1);
            }
        }
        return {};
    }
    static void skip_optional(std::string_view text, std::size_t& at) {
        if (at >= text.size() || text[at] != '[') return;
        constexpr std::size_t longest = 2 << 10;
        const std::size_t end = text.substr(at, longest).find(']');
        if (end != std::string_view::npos) at += end + 1;
    }
    /// A short text without commands: for titles.
    std::string plain(std::string_view source) const {
        constexpr int deepest = 3;
        if (nested_ == deepest) return {};
        source_reader inner(file_, source);
        inner.nested_ = nested_ + 1;
        return inner.read().text;
    }

    const convertible& file_;
    text_writer out_;
    std::string_view text_;
    std::size_t at_ = 0, depth_ = 0, heading_depth_ = 0;
    std::array<std::size_t, 4> searched_{};  ///< by the mark that ends mathematics
    int nested_ = 0;
    std::string title_, heading_;
    bool in_heading_ = false;
};

}  // namespace

converted convert_latex(const convertible& file) {
    std::string repaired;
    const std::string text = decode_text(file.bytes, repaired);
    converted result = source_reader(file, text).read();
    result.repaired = std::move(repaired);
    return result;
}

}  // namespace quern::io
