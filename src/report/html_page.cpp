// SPDX-License-Identifier: Apache-2.0
#include "report/html_page.hpp"

#include <fmt/format.h>

#include "report/utf8_output.hpp"

namespace quern::report {
namespace {

constexpr std::string_view before_title = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>)";
constexpr std::string_view common_style = R"(</title>
<style>
:root { color-scheme: light dark; --line: #8886; --soft: #8882; --del: #d33a2c38; --ins: #1a8f3a38; --bar: #3572b0 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem }
h1, h2, h3 { line-height: 1.2 } h2 { margin-top: 2.5rem }
table { border-collapse: collapse } th { text-align: left; font-weight: 600 }
h1, h2, p, summary, td { overflow-wrap: anywhere } td:not(.n, .bar) { min-width: 4.5rem }
td, th { padding: .15rem .8rem .15rem 0; vertical-align: top }
.scrolls { overflow-x: auto }
td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.bar { width: min(24rem, 30vw) } .bar div { background: var(--bar); height: .8rem; min-width: 1px; margin-top: .3rem }
.note { opacity: .7 }
@media (max-width: 30rem) { table { font-size: 14px } td, th { padding-right: .4rem } td:not(.n, .bar) { min-width: 2.5rem } }
)";

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
    each_code_point(text, [&](char32_t c) {
        if (c == '<') {
            out += "&lt;";
        } else if (c == '>') {
            out += "&gt;";
        } else if (c == '&') {
            out += "&amp;";
        } else if (c == '"') {
            out += "&quot;";
        } else if (c == '\'') {
            out += "&#39;";
        } else if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') {
            append_code_point(out, 0x2400 + c);  // control pictures
        } else if ((c >= 0x7F && c < 0xA0) || (c & 0xFFFE) == 0xFFFE || (c >= 0x202A && c <= 0x202E) ||
                   (c >= 0x2066 && c <= 0x2069)) {
            append_code_point(out, 0xFFFD);  // also characters that would change the direction of the page
        } else {
            append_code_point(out, c);
        }
    });
}

std::string escaped(std::string_view text) {
    std::string out;
    append_escaped(out, text);
    return out;
}

std::string shown_bytes(std::uint64_t bytes) {
    if (bytes < 1000) return fmt::format("{} bytes", bytes);
    static constexpr std::string_view units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double value = static_cast<double>(bytes) / 1e3;
    std::size_t unit = 0;
    while (value >= 999.95) {
        value /= 1e3;
        ++unit;
    }
    return fmt::format("{:.1f} {}", value, units[unit]);
}

void write_summary(std::span<const std::pair<std::string, std::string>> rows,
                   const std::function<void(std::string_view)>& out) {
    out("<table>\n");
    for (const auto& [name, value] : rows) {
        out("<tr><th>" + escaped(name) + "</th><td class=\"n\">" + escaped(value) + "</td></tr>\n");
    }
    out("</table>\n");
}

std::string scored_words(std::span<const std::pair<std::string, double>> words) {
    std::string list;
    for (const auto& [word, score] : words) {
        list += fmt::format("{}{} <span class=\"note\">{:.3f}</span>", list.empty() ? "" : " · ",
                            escaped(word), score);
    }
    return list;
}

std::string page_head(std::string_view title, std::string_view style) {
    return std::string(before_title).append(title).append(common_style).append(style) +
           "</style>\n</head>\n<body>\n";
}

}  // namespace quern::report
