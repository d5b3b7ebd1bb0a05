// SPDX-License-Identifier: Apache-2.0
// Manual pages, in man(7) and mdoc(7) of roff: the text that they show, laid out by paragraphs. Macros that a page defines
// are not run, conditions count as on a terminal, equations are left out.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "io/corpus/documents/manual_escapes.hpp"
#include "io/corpus/documents/manual_macros.hpp"
#include "io/corpus/documents/text_writer.hpp"
#include "io/corpus/encoding.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

class page_reader {
  public:
    explicit page_reader(const convertible& file) : out_(file), file_(file) {}

    converted read(std::string_view text) {
        std::size_t lines = 0;
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            std::string_view line = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            if (line.ends_with('\r')) line.remove_suffix(1);
            if (++lines % 4096 == 0) file_.ctx.check_stop();
            take_line(line);
        }
        if (verbatim_) end_verbatim();
        converted result;
        result.title = collapsed(title_);
        result.text = out_.take();
        if (result.text.empty() && !alias_.empty())
            throw not_convertible("another name of a page", "another name of the page " + alias_);
        return result;
    }

  private:
    // Lines.

    void take_line(std::string_view line) {
        if (!until_.empty()) {  // a definition, or lines to ignore
            if (trimmed(line) == until_) until_.clear();
            return;
        }
        if (skipped_blocks_ != 0) {
            skipped_blocks_ = blocks_after(line, skipped_blocks_);
            return;
        }
        if (line == "'\\\"" || line.starts_with("'\\\" ") || line.starts_with(".\\\"")) return;
        const bool is_control = !line.empty() && (line[0] == '.' || line[0] == '\'');
        const bool in_table = table_ != table::none && !(is_control && line.starts_with(".TE"));
        // A cell over several lines may have macros.
        if (in_table && !(is_control && in_cell_ && !line.starts_with(".T&"))) return take_row(line);
        if (!is_control) return take_text(line);
        line.remove_prefix(1);
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        if (line.starts_with("\\}")) line.remove_prefix(2);
        const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
        control(line.substr(0, end), line.substr(end));
    }

    void take_text(std::string_view line) {
        if (verbatim_) {
            add_kept(shown(line));
            return;
        }
        const std::string text = shown(line);
        if (trimmed(text).empty()) {
            if (!in_equation_) out_.want(html_text::paragraph);
            return;
        }
        if (in_equation_) return;
        if (line.starts_with(' ')) out_.want(html_text::line);
        out_.add(text);
        end_of_line();
    }

    /// After a line of text: a tag or a heading on its own line ends.
    void end_of_line() {
        out_.want(html_text::space);
        if (next_is_tag_ || next_is_heading_) {
            out_.want(next_is_heading_ ? html_text::paragraph : html_text::line);
            next_is_tag_ = next_is_heading_ = false;
        }
    }

    void take_row(std::string_view line) {
        if (table_ == table::format) {
            const std::string_view inner = trimmed(line);
            if (inner.ends_with(';')) {
                const std::size_t tab = inner.find("tab(");
                if (tab != std::string_view::npos && tab + 4 < inner.size()) column_end_ = inner[tab + 4];
            } else if (inner.ends_with('.')) {
                table_ = table::rows;
            }
            return;
        }
        if (line.starts_with(".")) {  // T& changes the format; macros within a cell
            if (line.starts_with(".T&")) table_ = table::format;
            return;
        }
        if (line == "_" || line == "=") return;
        std::string row = shown(line);
        const bool ends_block = row.starts_with("T}");
        if (ends_block) row.erase(0, 2);
        bool first = !ends_block;
        for (std::string_view rest = row; !rest.empty();) {
            const std::size_t end = std::min(rest.find(column_end_), rest.size());
            const std::string_view cell = rest.substr(0, end);
            rest.remove_prefix(std::min(end + 1, rest.size()));
            if (!first) out_.want(html_text::tab);
            first = false;
            if (cell == "T{") {
                in_cell_ = true;
            } else if (cell != "_" && cell != "\\^") {
                out_.add(cell);
            }
        }
        if (ends_block) in_cell_ = row.ends_with("T{");
        out_.want(in_cell_ ? html_text::space : html_text::line);
    }

    // Conditions: \{ opens a block, \} ends it.

    static std::size_t blocks_after(std::string_view line, std::size_t open) {
        for (std::size_t i = 0; i + 1 < line.size(); ++i) {
            if (line[i] != '\\') continue;
            ++i;
            if (line[i] == '{') ++open;
            if (line[i] == '}' && open != 0) --open;
        }
        return open;
    }

    void condition(std::string_view macro, std::string_view rest) {
        rest = trimmed(rest);
        bool holds = false;
        if (macro == "el") {
            holds = !last_held_;
        } else {
            const bool negated = rest.starts_with('!');
            if (negated) rest.remove_prefix(1);
            // n: not typeset; \n(.g: groff's extensions. Others are about registers, as definitions have them.
            holds = (rest.starts_with("n ") || rest.starts_with("n\\{")) != negated;
            const std::size_t end = rest.starts_with("n\\{") || rest.starts_with("t\\{")
                                        ? 1
                                        : std::min(rest.find(' '), rest.size());
            const bool known = end == 1 && (rest[0] == 'n' || rest[0] == 't');
            holds = holds && known;
            rest = trimmed(rest.substr(end));
            last_held_ = holds;
        }
        const bool opens = rest.starts_with("\\{");
        if (!holds) {
            if (opens) skipped_blocks_ = blocks_after(rest, 0);
            return;
        }
        if (opens) rest = trimmed(rest.substr(2));
        if (rest.starts_with('\\') && rest.size() == 1) return;
        constexpr std::size_t deepest = 20;
        if (rest.empty() || depth_ == deepest) return;
        ++depth_;
        take_line(rest);
        --depth_;
    }

    // Macros.

    static std::string joined(const std::vector<std::string_view>& words, std::string_view between) {
        std::string out;
        for (std::size_t i = 0; i < words.size(); ++i) out.append(i == 0 ? "" : between).append(words[i]);
        return out;
    }

    void write_line(std::string_view text) {
        if (verbatim_) {
            add_kept(shown(text));
            return;
        }
        out_.add(shown(text));
        end_of_line();
    }

    void control(std::string_view macro, std::string_view rest) {
        if (macro.starts_with("\\\"") || macro.empty() || macro == ".") return;
        if (macro == "if" || macro == "ie" || macro == "el") return condition(macro, rest);
        const std::vector<std::string_view> args = macro_arguments(rest, unquoted_);
        if (macro == "de" || macro == "de1" || macro == "am" || macro == "ig") {
            const std::size_t end = macro == "ig" ? 0 : 1;
            until_ = "." + (args.size() > end ? std::string(args[end]) : std::string("."));
            return;
        }
        if (macro == "ds" || macro == "as") return define(rest);
        if (in_equation_) {
            in_equation_ = macro != "EN";
            return;
        }
        if (layout(macro, args)) return;
        if (is_mdoc_ || macro == "Dd" || macro == "Dt") return control_mdoc(macro, args);
        control_man(macro, args);
    }

    void define(std::string_view rest) {
        constexpr std::size_t longest = 200, most = 1000;
        rest = trimmed(rest);
        const std::size_t end = std::min(rest.find(' '), rest.size());
        std::string_view value = rest.substr(std::min(end + 1, rest.size()));
        if (value.starts_with('"')) value.remove_prefix(1);
        if (end == 0 || strings_.size() >= most) return;
        strings_[std::string(rest.substr(0, end))] = shown(value).substr(0, longest);
    }

    /// What both languages and roff itself have.
    bool layout(std::string_view macro, const std::vector<std::string_view>& args) {
        if (macro == "br") {
            out_.want(html_text::line);
        } else if (macro == "sp" || macro == "bp") {
            out_.want(html_text::paragraph);
        } else if (macro == "nf" || macro == "EX") {
            begin_verbatim();
        } else if (macro == "fi" || macro == "EE") {
            end_verbatim();
        } else if (macro == "TS") {
            table_ = table::format;
            column_end_ = '\t';
            in_cell_ = false;
            out_.want(html_text::paragraph);
        } else if (macro == "TE") {
            table_ = table::none;
            out_.want(html_text::paragraph);
        } else if (macro == "EQ") {
            in_equation_ = true;
        } else if (macro == "so") {
            if (!args.empty() && alias_.empty()) alias_ = args[0];
        } else {
            return false;
        }
        return true;
    }

    void begin_verbatim() {
        if (!verbatim_) out_.want(html_text::paragraph);
        verbatim_ = true;
    }
    void end_verbatim() {
        verbatim_ = false;
        flush_kept();
        out_.want(html_text::paragraph);
    }

    void flush_kept() {
        if (kept_lines_.empty()) return;
        kept_lines_.pop_back();
        out_.add_verbatim(kept_lines_);
        kept_lines_.clear();
        out_.want(html_text::line);
    }
    /// A line that keeps its form.
    void add_kept(std::string_view line) {
        constexpr std::size_t most = 1 << 20;
        kept_lines_.append(line).append("\n");
        if (kept_lines_.size() > most) flush_kept();
    }

    void heading(const std::vector<std::string_view>& args) {
        end_verbatim();
        if (args.empty()) {
            next_is_heading_ = true;
            return;
        }
        out_.add(shown(joined(args, " ")));
        out_.want(html_text::paragraph);
    }

    void control_man(std::string_view macro, const std::vector<std::string_view>& args) {
        if (macro == "TH") {
            if (!args.empty()) title_ = shown(args[0]);
            if (args.size() > 1) title_ += "(" + shown(args[1]) + ")";
        } else if (macro == "SH" || macro == "SS") {
            heading(args);
        } else if (macro == "PP" || macro == "P" || macro == "LP" || macro == "HP" || macro == "RS" ||
                   macro == "RE" || macro == "YS") {
            out_.want(html_text::paragraph);
        } else if (macro == "IP") {
            out_.want(html_text::paragraph);
            if (!args.empty()) {
                const std::string tag = shown(args[0]);
                out_.add(tag);
                out_.want(tag.size() > 4 ? html_text::line : html_text::space);
            }
        } else if (macro == "TP" || macro == "TQ") {
            out_.want(macro == "TQ" ? html_text::line : html_text::paragraph);
            next_is_tag_ = true;
        } else if (macro == "B" || macro == "I" || macro == "SM" || macro == "SB" || macro == "CW") {
            if (!args.empty()) write_line(joined(args, " "));
        } else if (macro == "BR" || macro == "RB" || macro == "BI" || macro == "IB" || macro == "IR" ||
                   macro == "RI") {
            if (!args.empty()) write_line(joined(args, ""));
        } else if (macro == "SY") {
            out_.want(html_text::line);
            if (!args.empty()) write_line(args[0]);
        } else if (macro == "OP") {
            write_line("[" + joined(args, " ") + "]");
        } else if (macro == "UR" || macro == "MT" || macro == "ME" || macro == "UE") {
            if (!args.empty()) write_line(args[0]);
        } else if (macro == "URL" || macro == "MTO") {  // of AsciiDoc: the address, a text, what follows
            if (args.size() > 1) out_.add(shown(args[1]) + " ");
            if (!args.empty())
                write_line("<" + std::string(args[0]) + ">" + std::string(args.size() > 2 ? args[2] : ""));
        } else if (macro == "MR") {
            if (!args.empty())
                write_line(std::string(args[0]) + (args.size() > 1 ? "(" + std::string(args[1]) + ")" : "") +
                           (args.size() > 2 ? std::string(args[2]) : ""));
        }
    }

    // mdoc: the arguments of a macro may be macros.

    void control_mdoc(std::string_view macro, const std::vector<std::string_view>& args) {
        is_mdoc_ = true;
        if (macro == "Dd" || macro == "Os" || macro == "Db" || macro == "Bf" || macro == "Ef" ||
            macro == "Sm")
            return;
        if (macro == "Dt") {
            if (!args.empty()) title_ = shown(args[0]);
            if (args.size() > 1) title_ += "(" + shown(args[1]) + ")";
        } else if (macro == "Sh" || macro == "Ss") {
            heading(args);
        } else if (macro == "Pp" || macro == "Lp" || macro == "El" || macro == "Bl" || macro == "Rs" ||
                   macro == "Re") {
            out_.want(html_text::paragraph);
        } else if (macro == "Bd") {
            const bool keeps = std::ranges::find(args, "-literal"sv) != args.end() ||
                               std::ranges::find(args, "-unfilled"sv) != args.end();
            if (keeps) begin_verbatim();
            out_.want(html_text::paragraph);
        } else if (macro == "Ed") {
            end_verbatim();
        } else if (macro == "Dl" || macro == "D1") {
            out_.want(html_text::paragraph);
            words(args, 0);
            out_.want(html_text::paragraph);
        } else if (macro == "It") {
            out_.want(html_text::paragraph);
            words(args, 0);
            out_.want(html_text::line);
        } else if (macro == "Nd") {
            write_line("\u2013 " + joined(args, " "));
        } else if (macro.starts_with('%')) {
            write_line(joined(args, " "));
        } else {
            std::vector<std::string_view> all{macro};
            all.insert(all.end(), args.begin(), args.end());
            words(all, 0);
        }
    }

    /// Writes words and macros from `at` on.
    void words(const std::vector<std::string_view>& all, std::size_t at) {
        if (verbatim_) flush_kept();
        std::string closing;
        bool no_space = false, is_flag = false;
        const auto write_word = [&](std::string_view word) {
            if (!closes_in_mdoc(word) && !no_space) out_.want(html_text::space);
            no_space = word == "(" || word == "[";
            out_.add(shown(word));
        };
        for (std::size_t i = at; i < all.size(); ++i) {
            const std::string_view word = all[i];
            if (const mdoc_enclosure* const found = mdoc_enclosure_of(word)) {
                if (!found->open.empty()) {
                    if (!no_space) out_.want(html_text::space);
                    out_.add(found->open);
                    no_space = true;
                }
                if (found->open.empty()) {
                    out_.add(found->close);
                } else {
                    closing.insert(0, found->close);
                }
                is_flag = false;
            } else if (is_mdoc_macro(word)) {
                const bool last =
                    i + 1 == all.size() || is_mdoc_macro(all[i + 1]) || closes_in_mdoc(all[i + 1]);
                is_flag = word == "Fl";
                if (word == "Ns" || word == "Ap") {
                    no_space = true;
                    if (word == "Ap") out_.add("'");
                } else if (word == "Fl" && last) {
                    write_word("-");
                } else if (word == "Ar" && last) {
                    write_word("file ...");
                } else if (word == "Nm") {
                    if (last) {
                        write_word(name_);
                    } else if (name_.empty()) {
                        name_ = shown(all[i + 1]);
                    }
                } else if (word == "Xr" && i + 2 < all.size() && !closes_in_mdoc(all[i + 2])) {
                    write_word(std::string(all[i + 1]) + "(" + std::string(all[i + 2]) + ")");
                    i += 2;
                } else if (word == "Fn" && i + 1 < all.size()) {
                    std::string call(all[++i]);
                    call += '(';
                    bool first = true;
                    while (i + 1 < all.size() && !closes_in_mdoc(all[i + 1])) {
                        call.append(first ? "" : ", ").append(all[++i]);
                        first = false;
                    }
                    write_word(call + ")");
                } else if (word == "Ta") {
                    out_.want(html_text::tab);
                } else if (word == "Ux") {
                    write_word("UNIX");
                } else if (word.size() == 2 && word[1] == 'x' &&
                           "NOFB"sv.find(word[0]) != std::string_view::npos) {
                    write_word(word == "Nx"   ? "NetBSD"
                               : word == "Ox" ? "OpenBSD"
                               : word == "Fx" ? "FreeBSD"
                                              : "BSD");
                }
            } else if (is_flag && !closes_in_mdoc(word)) {
                write_word("-" + std::string(word));
            } else {
                write_word(word);
            }
        }
        out_.add(closing);
        out_.want(verbatim_ ? html_text::line : html_text::space);
    }

    std::string shown(std::string_view text) const { return shown_by_roff(text, strings_); }

    enum class table : std::uint8_t { none, format, rows };

    text_writer out_;
    const convertible& file_;
    std::string title_, name_, alias_, until_, kept_lines_;
    roff_strings strings_;
    std::vector<std::string> unquoted_;
    std::size_t skipped_blocks_ = 0, depth_ = 0;
    table table_ = table::none;
    char column_end_ = '\t';
    bool is_mdoc_ = false, verbatim_ = false, in_equation_ = false, in_cell_ = false, last_held_ = false;
    bool next_is_tag_ = false, next_is_heading_ = false;
};

}  // namespace

converted convert_manual(const convertible& file) {
    std::string repaired;
    const std::string text = decode_text(file.bytes, repaired);
    converted result = page_reader(file).read(text);
    result.repaired = std::move(repaired);
    return result;
}

}  // namespace quern::io
