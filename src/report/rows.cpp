// SPDX-License-Identifier: Apache-2.0
#include "quern/base/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "quern/base/terminal_text.hpp"
#include "report/json.hpp"
#include "report/tsv.hpp"
#include "report/utf8_output.hpp"

namespace quern {

// Numbers as text. std::to_chars without a format picks the shortest decimal that reads back to the same value,
// independent of the locale; of the two notations it uses the shorter one, as in 1e+20.

namespace {

template <typename Float>
std::string shortest_decimal(Float value) {
    if (std::isnan(value)) return "nan";  // the sign of a NaN has no meaning
    char text[32];
    const auto [end, failure] = std::to_chars(text, text + sizeof text, value);
    return failure == std::errc{} ? std::string(text, end) : std::string();
}

}  // namespace

std::string shortest(double value) {
    return shortest_decimal(value);
}
std::string shortest(float value) {
    return shortest_decimal(value);
}

namespace {

using report::append_json_string;
using report::append_tsv_field;

/// For a table: four decimals suffice for the scores and measures shown; below 0.1 four significant digits, for ranks
/// of nodes.
std::string rounded(double value) {
    const double size = std::abs(value);
    if (!std::isfinite(value)) return shortest(value);
    if (size != 0 && (size < 1e-3 || size >= 1e9)) return fmt::format("{:.4e}", value);
    const int decimals = size == 0 || size >= 0.1 ? 4 : size >= 0.01 ? 5 : 6;
    return fmt::format("{:.{}f}", value, decimals);
}

template <typename Value>
inline constexpr bool is_text = std::is_same_v<Value, std::string_view>;
template <typename Value>
inline constexpr bool is_nothing = std::is_same_v<Value, std::monostate>;

/// The text of a cell, if it holds one.
std::optional<std::string_view> text_of(const cell& c) {
    if (const auto* text = std::get_if<std::string_view>(&c)) return *text;
    if (const auto* json = std::get_if<raw_json>(&c)) return json->text;
    if (const auto* marked = std::get_if<marked_text>(&c)) return marked->text;
    return {};
}

void append_tsv(std::string& out, const cell& c) {
    std::visit(
        [&](auto value) {
            using value_type = decltype(value);
            if constexpr (is_text<value_type>) {
                append_tsv_field(out, value);
            } else if constexpr (std::is_same_v<value_type, raw_json> ||
                                 std::is_same_v<value_type, marked_text>) {
                append_tsv_field(out, value.text);
            } else if constexpr (is_nothing<value_type>) {
                // an empty field
            } else if constexpr (std::is_integral_v<value_type>) {
                out += std::to_string(value);
            } else {
                out += shortest(value);
            }
        },
        c);
}

}  // namespace

void append_json(std::string& out, const cell& c) {
    if (const auto* text = std::get_if<std::string_view>(&c)) {
        append_json_string(out, *text);
        return;
    }
    if (const auto* json = std::get_if<raw_json>(&c)) {
        out += json->text;
        return;
    }
    if (const auto* marked = std::get_if<marked_text>(&c)) {
        append_json_string(out, marked->text);
        return;
    }
    const auto* wide = std::get_if<double>(&c);
    const auto* narrow = std::get_if<float>(&c);
    const bool finite =
        (wide == nullptr || std::isfinite(*wide)) && (narrow == nullptr || std::isfinite(*narrow));
    if (finite && !std::holds_alternative<std::monostate>(c)) {
        append_tsv(out, c);
    } else {
        out += "null";
    }
}

namespace {

/// Appends the terminal form of a text with marks of bold. `bold`: whether it begins bold; afterwards, whether the next
/// line does.
void append_shown(std::string& out, std::string_view text, bool& bold) {
    constexpr std::string_view begin = "\x1b[1m", end = "\x1b[22m";
    if (bold) out += begin;
    for (const char c : text) {
        if (c == report::bold_begin || c == report::bold_end) {
            bold = c == report::bold_begin;
            out += bold ? begin : end;
        } else {
            out += c;
        }
    }
    if (bold) out += end;
}

void append_padded(std::string& out, std::string_view text, std::size_t width, bool right, bool last) {
    const std::size_t used = report::display_width(text);
    const std::size_t fill = width > used ? width - used : 0;
    if (right) out.append(fill, ' ');
    bool bold = false;
    append_shown(out, text, bold);
    if (!right && !last) out.append(fill, ' ');
}

/// Takes columns from the widest text column until the row fits; keeps each readable.
void fit(std::vector<std::size_t>& widths, const std::vector<bool>& numeric, std::size_t limit) {
    constexpr std::size_t least = 8;
    std::size_t total = 2 * (widths.size() - 1);
    for (const std::size_t width : widths) total += width;
    while (total > limit) {
        std::size_t widest = widths.size();
        for (std::size_t i = 0; i < widths.size(); ++i) {
            if (!numeric[i] && widths[i] > least &&
                (widest == widths.size() || widths[i] >= widths[widest])) {
                widest = i;
            }
        }
        if (widest == widths.size()) return;
        std::size_t second = least;
        for (std::size_t i = 0; i < widths.size(); ++i) {
            if (!numeric[i] && i != widest) second = std::max(second, widths[i]);
        }
        const std::size_t capacity =
            std::max<std::size_t>(1, widths[widest] - std::min(second, widths[widest]));
        const std::size_t taken = std::min(total - limit, capacity);
        widths[widest] -= taken;
        total -= taken;
    }
}

}  // namespace

void report::append_tsv_field(std::string& out, std::string_view text) {
    const auto is_plain = [](char c) { return (c & 0x80) == 0 && c != '\t' && c != '\n' && c != '\r'; };
    const auto plain = static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
    out.append(text.substr(0, plain));
    bool breaking = false;  // inside a run of tabs and line ends, which is one space
    each_code_point(text.substr(plain), [&](char32_t c) {
        const bool breaks = c == '\t' || c == '\n' || c == '\r';
        if (!breaks) {
            append_code_point(out, c);
        } else if (!breaking) {
            out += ' ';
        }
        breaking = breaks;
    });
}

row_writer::row_writer(row_format format, std::vector<std::string> columns, sink out, unsigned width)
    : format_(format), columns_(std::move(columns)), out_(std::move(out)), width_(width) {}

void row_writer::row(const std::vector<cell>& cells) {
    if (cells.size() != columns_.size())
        throw std::logic_error("a row has another number of cells than columns");
    if (format_ == row_format::table) {
        auto& held = held_.emplace_back().cells;
        for (const cell& c : cells) {
            std::string text;
            if (const auto* marked = std::get_if<marked_text>(&c)) {
                text = shown(*marked);
            } else if (const auto field = text_of(c)) {
                text = for_terminal(*field);
            } else if (const auto* wide = std::get_if<double>(&c)) {
                text = rounded(*wide);
            } else if (const auto* narrow = std::get_if<float>(&c)) {
                text = rounded(static_cast<double>(*narrow));
            } else {
                append_tsv(text, c);
            }
            held.push_back({std::move(text), !text_of(c)});
        }
        return;
    }
    line_.clear();
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (format_ == row_format::tsv) {
            if (i != 0) line_ += '\t';
            append_tsv(line_, cells[i]);
        } else {
            line_ += i == 0 ? '{' : ',';
            append_json_string(line_, columns_[i]);
            line_ += ':';
            append_json(line_, cells[i]);
        }
    }
    line_ += format_ == row_format::tsv ? "\n" : "}\n";
    out_(line_);
}

std::string row_writer::shown(const marked_text& text) const {
    if (!emphasises_ || text.marks.empty()) return for_terminal(text.text);
    std::string out;
    std::size_t at = 0;
    for (const text_mark& mark : text.marks) {
        if (mark.begin < at || mark.end <= mark.begin || mark.end > text.text.size()) continue;
        out += for_terminal(text.text.substr(at, mark.begin - at));
        out += report::bold_begin;
        out += for_terminal(text.text.substr(mark.begin, mark.end - mark.begin));
        out += report::bold_end;
        at = mark.end;
    }
    return out + for_terminal(text.text.substr(at));
}

void row_writer::text_below(const marked_text& text) {
    if (format_ == row_format::table && !held_.empty()) held_.back().below = shown(text);
}

void row_writer::finish() {
    if (format_ == row_format::table && !held_.empty()) write_table();
    held_.clear();
}

void row_writer::write_table() {
    const std::size_t count = columns_.size();
    std::vector<std::size_t> widths(count);
    std::vector<bool> numeric(count, true);
    for (std::size_t i = 0; i < count; ++i) {
        widths[i] = report::display_width(columns_[i]);
        for (const auto& row : held_) {
            widths[i] = std::max(widths[i], report::display_width(row.cells[i].text));
            numeric[i] = numeric[i] && row.cells[i].number;
        }
    }
    if (width_ != 0) fit(widths, numeric, width_);
    const layout columns{std::move(widths), std::move(numeric)};
    write_line(columns, {columns_.begin(), columns_.end()});
    constexpr std::size_t indent = 6, least = 16;
    const std::size_t capacity =
        width_ == 0 ? ~std::size_t{0} : std::max<std::size_t>(width_, indent + least) - indent;
    for (const auto& row : held_) {
        std::vector<std::string_view> cells;
        for (const text_cell& c : row.cells) cells.emplace_back(c.text);
        wraps_ ? write_wrapped(columns, std::move(cells)) : write_line(columns, cells);
        bool bold = false;
        for (std::string_view rest = row.below; !rest.empty();) {
            const std::size_t end = report::line_that_fits(rest, capacity);
            line_.append(indent, ' ');
            append_shown(line_, rest.substr(0, end), bold);
            line_ += '\n';
            rest.remove_prefix(std::min(rest.find_first_not_of(' ', end), rest.size()));
        }
        out_(line_);
        line_.clear();
    }
}

void row_writer::write_line(const layout& columns, const std::vector<std::string_view>& cells) {
    line_.clear();
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (i != 0) line_ += "  ";
        const std::size_t width = columns.widths[i];
        append_padded(line_, report::cut_to_width(cells[i], width), width, columns.numeric[i],
                      i + 1 == cells.size());
    }
    line_.erase(line_.find_last_not_of(' ') + 1);
    line_ += '\n';
    out_(line_);
    line_.clear();
}

/// Writes as many lines as the longest text takes in its column.
void row_writer::write_wrapped(const layout& columns, std::vector<std::string_view> rest) {
    std::vector<std::string> open(rest.size());  // formatting still active at the end of its last line
    do {
        std::vector<std::string> parts;
        for (std::size_t i = 0; i < rest.size(); ++i) {
            const std::size_t end = report::line_that_fits(rest[i], columns.widths[i]);
            parts.push_back(open[i] + std::string(rest[i].substr(0, end)));
            const std::size_t mark = parts[i].find_last_of(std::string{report::bold_begin, report::bold_end});
            const bool bold = mark != std::string::npos && parts[i][mark] == report::bold_begin;
            open[i] = bold ? std::string(1, report::bold_begin) : "";
            rest[i].remove_prefix(std::min(rest[i].find_first_not_of(' ', end), rest[i].size()));
        }
        write_line(columns, {parts.begin(), parts.end()});
    } while (std::ranges::any_of(rest, [](std::string_view text) { return !text.empty(); }));
}

}  // namespace quern
