// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/latex_commands.hpp"

#include <unicode/unorm2.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/utf8.hpp"

namespace quern::io {
namespace {

/// Commands whose arguments are not text, with the number of these; of others the arguments stay.
struct command_arguments {
    std::string_view name;
    int count;
};
constexpr command_arguments without_text[] = {{"label", 1},
                                              {"ref", 1},
                                              {"eqref", 1},
                                              {"pageref", 1},
                                              {"autoref", 1},
                                              {"cref", 1},
                                              {"Cref", 1},
                                              {"cite", 1},
                                              {"citep", 1},
                                              {"citet", 1},
                                              {"citeauthor", 1},
                                              {"citeyear", 1},
                                              {"nocite", 1},
                                              {"parencite", 1},
                                              {"textcite", 1},
                                              {"footcite", 1},
                                              {"autocite", 1},
                                              {"includegraphics", 1},
                                              {"input", 1},
                                              {"include", 1},
                                              {"usepackage", 1},
                                              {"documentclass", 1},
                                              {"bibliography", 1},
                                              {"bibliographystyle", 1},
                                              {"vspace", 1},
                                              {"hspace", 1},
                                              {"setlength", 2},
                                              {"addtolength", 2},
                                              {"newcommand", 2},
                                              {"renewcommand", 2},
                                              {"providecommand", 2},
                                              {"DeclareMathOperator", 2},
                                              {"newenvironment", 3},
                                              {"newtheorem", 2},
                                              {"hypersetup", 1},
                                              {"pagestyle", 1},
                                              {"thispagestyle", 1},
                                              {"color", 1},
                                              {"textcolor", 1},
                                              {"colorbox", 1},
                                              {"href", 1},
                                              {"addbibresource", 1},
                                              {"graphicspath", 1},
                                              {"setcounter", 2},
                                              {"addtocounter", 2},
                                              {"index", 1},
                                              {"glossary", 1},
                                              {"resizebox", 2},
                                              {"scalebox", 1},
                                              {"rotatebox", 1},
                                              {"fontsize", 2},
                                              {"pagenumbering", 1},
                                              {"tableofcontents", 0},
                                              {"multicolumn", 2},
                                              {"multirow", 2},
                                              {"cmidrule", 1},
                                              {"cline", 1},
                                              {"hyphenation", 1},
                                              {"definecolor", 3},
                                              {"lstset", 1},
                                              {"usetikzlibrary", 1},
                                              {"RequirePackage", 1},
                                              {"bibitem", 1},
                                              {"foreignlanguage", 1},
                                              {"selectlanguage", 1},
                                              {"geometry", 1},
                                              {"includepdf", 1},
                                              {"lstinputlisting", 1},
                                              {"minipage", 1},
                                              {"theoremstyle", 1}};

struct latex_character {
    std::string_view name, text;
};
constexpr latex_character characters[] = {{"ss", "\u00DF"},
                                          {"o", "\u00F8"},
                                          {"O", "\u00D8"},
                                          {"ae", "\u00E6"},
                                          {"AE", "\u00C6"},
                                          {"oe", "\u0153"},
                                          {"OE", "\u0152"},
                                          {"aa", "\u00E5"},
                                          {"AA", "\u00C5"},
                                          {"l", "\u0142"},
                                          {"L", "\u0141"},
                                          {"i", "i"},
                                          {"j", "j"},
                                          {"S", "\u00A7"},
                                          {"P", "\u00B6"},
                                          {"copyright", "\u00A9"},
                                          {"pounds", "\u00A3"},
                                          {"euro", "\u20AC"},
                                          {"dots", "\u2026"},
                                          {"ldots", "\u2026"},
                                          {"textellipsis", "\u2026"},
                                          {"LaTeX", "LaTeX"},
                                          {"TeX", "TeX"},
                                          {"LaTeXe", "LaTeX2e"},
                                          {"BibTeX", "BibTeX"},
                                          {"textbackslash", "\\"},
                                          {"textasciitilde", "~"},
                                          {"textasciicircum", "^"},
                                          {"textunderscore", "_"},
                                          {"textbar", "|"},
                                          {"textless", "<"},
                                          {"textgreater", ">"},
                                          {"textendash", "\u2013"},
                                          {"textemdash", "\u2014"},
                                          {"textquoteleft", "\u2018"},
                                          {"textquoteright", "\u2019"},
                                          {"textquotedblleft", "\u201C"},
                                          {"textquotedblright", "\u201D"},
                                          {"textregistered", "\u00AE"},
                                          {"texttrademark", "\u2122"},
                                          {"textdegree", "\u00B0"},
                                          {"textbullet", "\u2022"},
                                          {"slash", "/"},
                                          {"today", ""}};

}  // namespace

std::optional<int> latex_arguments_that_are_no_text(std::string_view command) {
    const auto* const known = std::ranges::find(without_text, command, &command_arguments::name);
    if (known == std::end(without_text)) return {};
    return known->count;
}

std::optional<std::string_view> latex_character_of(std::string_view command) {
    const auto* const known = std::ranges::find(characters, command, &latex_character::name);
    if (known == std::end(characters)) return {};
    return known->text;
}

char32_t latex_mark_of(std::string_view name) {
    constexpr std::string_view names = "'`^\"~=.cvuHrkdb";
    constexpr std::array<char32_t, 15> marks = {0x301, 0x300, 0x302, 0x308, 0x303, 0x304, 0x307, 0x327,
                                                0x30C, 0x306, 0x30B, 0x30A, 0x328, 0x323, 0x331};
    if (name.size() != 1) return 0;
    const std::size_t at = names.find(name[0]);
    return at == std::string_view::npos ? 0 : marks[at];
}

std::string with_latex_mark(std::string_view base, char32_t mark) {
    std::string out;
    if (base.empty()) return out;
    std::size_t at = 0;
    const char32_t letter = next_utf8(base, at);
    if (letter == ill_formed) return std::string(base);
    UErrorCode failed = U_ZERO_ERROR;
    const UNormalizer2* const nfc = unorm2_getNFCInstance(&failed);
    const UChar32 composed =
        U_FAILURE(failed) ? -1
                          : unorm2_composePair(nfc, static_cast<UChar32>(letter), static_cast<UChar32>(mark));
    append_utf8(composed < 0 ? letter : static_cast<char32_t>(composed), out);
    if (composed < 0) append_utf8(mark, out);
    return out.append(base.substr(at));
}

}  // namespace quern::io
