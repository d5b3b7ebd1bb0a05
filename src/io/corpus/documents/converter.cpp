// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/converter.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/ascii.hpp"
#include "io/corpus/detect.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/html.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

constexpr auto text_extensions = std::to_array<std::string_view>(
    {"txt", "text", "adoc", "asciidoc", "org", "log", "pod", "texi", "texinfo", "textile", "debian"});
constexpr auto markdown_extensions =
    std::to_array<std::string_view>({"md", "markdown", "mkd", "mdx", "qmd", "rmd"});
constexpr auto html_extensions = std::to_array<std::string_view>({"html", "htm", "xhtml"});
constexpr auto source_extensions = std::to_array<std::string_view>(
    {"ac",     "ada",   "adb", "ads",  "am",         "asm",     "astro",  "awk",  "bash", "bat",   "bats",
     "bib",    "bzl",   "c",   "c++",  "cc",         "cfg",     "cjs",    "clj",  "cljs", "cls",   "cmake",
     "cob",    "conf",  "cpp", "cs",   "css",        "cts",     "cu",     "cuh",  "cxx",  "d",     "dart",
     "diff",   "dpr",   "el",  "elm",  "erl",        "ex",      "exs",    "f",    "f03",  "f90",   "f95",
     "for",    "fs",    "fsx", "go",   "gradle",     "graphql", "groovy", "h",    "h++",  "hcl",   "hh",
     "hpp",    "hs",    "hxx", "in",   "inc",        "ini",     "inl",    "ino",  "ipp",  "java",  "jl",
     "js",     "jsx",   "kt",  "kts",  "less",       "lisp",    "lpr",    "lua",  "m",    "m4",    "mak",
     "mjs",    "mk",    "ml",  "mli",  "mm",         "mts",     "nim",    "nix",  "pas",  "patch", "php",
     "pl",     "pm",    "pp",  "pro",  "properties", "proto",   "ps1",    "py",   "pyi",  "pyx",   "r",
     "rb",     "rkt",   "rs",  "s",    "sass",       "scala",   "scm",    "scss", "sh",   "sql",   "sty",
     "svelte", "swift", "tcl", "tf",   "thrift",     "toml",    "ts",     "tsx",  "v",    "vb",    "vhd",
     "vhdl",   "vim",   "vue", "yaml", "yml",        "zig",     "zsh"});
constexpr auto manual_extensions = std::to_array<std::string_view>({"man", "mdoc"});
constexpr auto restructured_extensions = std::to_array<std::string_view>({"rst", "rest"});
constexpr auto latex_extensions = std::to_array<std::string_view>({"tex", "latex", "ltx"});
constexpr auto notebook_extensions = std::to_array<std::string_view>({"ipynb"});
constexpr auto subtitle_extensions = std::to_array<std::string_view>({"srt", "vtt"});
constexpr auto rich_text_extensions = std::to_array<std::string_view>({"rtf"});
constexpr auto office_extensions = std::to_array<std::string_view>(
    {"docx", "docm", "dotx", "dotm", "doc",  "xlsx", "xlsm", "xltx", "xltm", "xlsb",
     "xls",  "pptx", "pptm", "ppsx", "ppsm", "potx", "potm", "ppt",  "pps",  "odt",
     "ott",  "fodt", "odp",  "otp",  "fodp", "ods",  "ots",  "fods", "epub"});
constexpr auto pdf_extensions = std::to_array<std::string_view>({"pdf"});

struct kind_row {
    file_kind kind;
    std::span<const std::string_view> extensions;
    converted (*convert)(const convertible&);
    bool in_parts = false;
};

/// Every kind. No extension is in two rows.
constexpr std::array kinds = {
    kind_row{file_kind::text, text_extensions, convert_text},
    kind_row{file_kind::markdown, markdown_extensions, convert_markdown},
    kind_row{file_kind::html, html_extensions, convert_html},
    kind_row{file_kind::source, source_extensions, convert_text},
    kind_row{file_kind::manual, manual_extensions, convert_manual},
    kind_row{file_kind::restructured, restructured_extensions, convert_restructured},
    kind_row{file_kind::latex, latex_extensions, convert_latex},
    kind_row{file_kind::notebook, notebook_extensions, convert_notebook},
    kind_row{file_kind::subtitles, subtitle_extensions, convert_subtitles},
    kind_row{file_kind::rich_text, rich_text_extensions, convert_rich_text},
    kind_row{file_kind::office, office_extensions, convert_office, true},
    kind_row{file_kind::pdf, pdf_extensions, convert_pdf, true},
};

const kind_row* row_of(file_kind kind) {
    const auto* const found = std::ranges::find(kinds, kind, &kind_row::kind);
    return found == kinds.end() ? nullptr : found;
}

/// The section of a manual page: "1", "3pm", "8ssl".
bool is_section(std::string_view extension) {
    constexpr std::size_t longest = 6;
    return !extension.empty() && extension.size() <= longest && extension != "7z" && extension[0] >= '1' &&
           extension[0] <= '9' &&
           std::ranges::all_of(extension.substr(1), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// The kind of an office, PDF or RTF file; unknown for all others.
file_kind kind_by_content(std::string_view head) {
    if (head.starts_with("%PDF-")) return file_kind::pdf;
    if (head.starts_with("{\\rtf")) return file_kind::rich_text;
    if (!head.starts_with("PK\3\4")) return file_kind::unknown;
    for (const auto mark : {"[Content_Types].xml"sv, "mimetypeapplication/vnd.oasis.opendocument"sv,
                            "mimetypeapplication/epub+zip"sv}) {
        if (head.find(mark) != std::string_view::npos) return file_kind::office;
    }
    return file_kind::unknown;
}

/// Whether a line has a macro that every manual page has.
bool opens_as_manual(std::string_view head) {
    for (const auto macro : {".TH "sv, ".Dd "sv, ".SH "sv, ".Sh "sv, ".so "sv}) {
        for (std::size_t at = head.find(macro); at != std::string_view::npos; at = head.find(macro, at + 1)) {
            if (at == 0 || head[at - 1] == '\n') return true;
        }
    }
    return false;
}

}  // namespace

file_kind kind_of(std::string_view path) {
    const std::string name = extension_of(path);
    if (name.empty()) return file_kind::text;
    for (const kind_row& row : kinds) {
        if (std::ranges::find(row.extensions, name) != row.extensions.end()) return row.kind;
    }
    return file_kind::unknown;
}

file_kind kind_to_convert(std::string_view path, std::string_view head) {
    const file_kind named = kind_of(path);
    const bool open = named == file_kind::unknown || named == file_kind::text;
    if (!open && named != file_kind::office && named != file_kind::rich_text) return named;
    const file_kind shown = kind_by_content(head);
    if (shown != file_kind::unknown) return shown;
    if (named == file_kind::text) return named;
    if (opens_as_html(head)) return file_kind::html;  // programs export it as .doc and .xls
    if (open && is_section(extension_of(path)) && opens_as_manual(head)) return file_kind::manual;
    return named;
}

bool is_read_in_parts(file_kind kind) {
    const kind_row* const row = row_of(kind);
    return row != nullptr && row->in_parts;
}

converted convert(file_kind kind, const convertible& file) {
    const kind_row* const row = row_of(kind);
    converted result = row == nullptr ? convert_text(file) : row->convert(file);
    // Escapes that name bytes can cut characters apart.
    std::string repaired = repair_utf8(result.text);
    repair_utf8(result.title);
    for (std::string& link : result.links) repair_utf8(link);
    if (result.repaired.empty()) result.repaired = std::move(repaired);
    return result;
}

void require_text_room(const convertible& file, std::uint64_t bytes) {
    require_budget(file.budget, reading_factor * bytes, "the text of the document");
    if (bytes > file.max_text)
        throw not_convertible("too large", document_limit{file.max_text, false}.reason());
}

converted convert_text(const convertible& file) {
    converted result;
    result.text = decode_text(file.bytes, result.repaired);
    return result;
}

converted convert_html(const convertible& file) {
    html_page page = parse_html(file.bytes, file.path, file.budget);
    return {std::move(page.title), std::move(page.text), std::move(page.links), std::move(page.repaired)};
}

}  // namespace quern::io
