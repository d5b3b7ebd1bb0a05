// SPDX-License-Identifier: Apache-2.0
// Vectors as text: word2vec (a line with the numbers of words and dimensions, then a word and its numbers per line),
// GloVe (without that first line), and numbers alone. The text is in memory, so that threads can first count the rows
// of their ranges and then write the numbers to their final position. A number is the float nearest to the decimal. The
// double nearest to a short decimal rounds to that float unless it lies halfway between two floats; those, and all
// longer decimals, go to the standard library.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>
#include <utility>

#include "base/ascii.hpp"
#include "io/lines/numbers.hpp"
#include "io/vectors/vector_file_state.hpp"

namespace quern::io {
namespace {

// ---- Numbers ----

constexpr std::size_t readable_after = 16;  ///< bytes that take_digits may read

number_problem parse_float(std::string_view text, float& value) {
    const bool negative = text.starts_with('-');
    std::string_view digits = text;
    if (negative || text.starts_with('+')) digits.remove_prefix(1);
    if (digits.starts_with('-') || digits.starts_with('+')) return number_problem::not_a_number;
    const char* const end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, value);
    if (read.ptr != end || (read.ec != std::errc{} && read.ec != std::errc::result_out_of_range))
        return number_problem::not_a_number;
    const bool spelled_out = digits[0] == 'i' || digits[0] == 'I' || digits[0] == 'n' || digits[0] == 'N';
    if (read.ec == std::errc::result_out_of_range || (std::isinf(value) && !spelled_out)) {
        const parsed_number wide = parse_double(digits);
        if (wide.problem != number_problem::none || wide.value > 1) return number_problem::too_large;
        value = static_cast<float>(wide.value);
    }
    if (negative) value = -value;
    return number_problem::none;
}

/// The float to which a double rounds, if the number that was rounded to that double has the same nearest float. 0, or
/// 1e-22 to 1e38.
bool float_of(double value, float& nearest) {
    constexpr std::uint64_t below = (std::uint64_t{1} << 29) - 1, halfway = std::uint64_t{1} << 28;
    nearest = static_cast<float>(value);
    return (std::bit_cast<std::uint64_t>(value) & below) != halfway;
}

/// The short decimal that begins at `at`; returns its end, or null if there is none. Rounded as parse_float.
const char* take_short(const char* at, float& value) {
    double wide = 0;
    return take_short_decimal(at, wide) && float_of(wide, value) ? at : nullptr;
}

// ---- Lines ----

/// The format of a line.
struct line_form {
    std::uint64_t dimensions = 0;
    bool named = false;   ///< a word precedes the numbers
    bool commas = false;  ///< also separate fields

    bool separates(char c) const { return c == ' ' || c == '\t' || (commas && c == ','); }
    std::string_view without_ends(std::string_view line) const {
        if (line.ends_with('\r')) line.remove_suffix(1);
        while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
        return line;
    }
    /// An empty line, or a comment in a file of numbers.
    bool is_empty(std::string_view line) const {
        const std::size_t first = line.find_first_not_of(ascii_space);
        return first == std::string_view::npos || (!named && (line[first] == '#' || line[first] == '%'));
    }
    /// Removes the last field and its separator from the line; "" if there is none.
    std::string_view take_last(std::string_view& line) const {
        std::size_t end = line.size();
        while (end > 0 && separates(line[end - 1])) --end;
        std::size_t begin = end;
        while (begin > 0 && !separates(line[begin - 1])) --begin;
        const std::string_view field = line.substr(begin, end - begin);
        line = line.substr(0, begin);
        return field;
    }
    std::string_view first_field(std::string_view line) const {
        std::size_t begin = 0;
        while (begin < line.size() && separates(line[begin])) ++begin;
        std::size_t end = begin;
        while (end < line.size() && !separates(line[end])) ++end;
        return line.substr(begin, end - begin);
    }
    std::uint64_t fields(std::string_view line) const {
        std::uint64_t count = 0;
        while (!take_last(line).empty()) ++count;
        return count;
    }
};

bool is_number(std::string_view field) {
    float value = 0;
    return parse_float(field, value) != number_problem::not_a_number;
}

/// A line → its word, and its numbers at `out`. Returns the problem, or "".
class line_parser {
  public:
    explicit line_parser(const line_form& form) : form_(form) {}

    /// The bytes after the line must be readable.
    bool take_plain(std::string_view line, std::string_view& word, float* out) const {
        const char* at = line.data();
        const char* const end = at + line.size();
        if (form_.named) {
            while (at < end && !form_.separates(*at)) ++at;
            word = {line.data(), at};
        }
        for (std::uint64_t j = 0; j < form_.dimensions; ++j) {
            while (at < end && form_.separates(*at)) ++at;
            if (at >= end) return false;
            at = take_short(at, out[j]);
            if (at == nullptr || at > end || (at < end && !form_.separates(*at))) return false;
        }
        return at == end;
    }

    /// From the end: the numbers are the last fields, and a word may contain blanks.
    std::string take(std::string_view line, std::string_view& word, float* out) const {
        std::string_view rest = line;
        std::string problem;
        std::uint64_t count = 0;
        for (; count < form_.dimensions; ++count) {
            const std::string_view field = form_.take_last(rest);
            if (field.empty()) break;
            const number_problem now = parse_float(field, out[form_.dimensions - 1 - count]);
            if (now == number_problem::not_a_number)
                problem = "the value " + io::quoted(field) + " is not a number";
            if (now == number_problem::too_large)
                problem = "the value " + io::quoted(field) + " is beyond float32";
        }
        std::string_view before = rest;
        const std::string_view last_of_word = form_.take_last(before);
        const bool has_word = !last_of_word.empty();
        const bool may_have_none = form_.named && !line.empty() && form_.separates(line[0]);
        const bool surplus = form_.named ? form_.fields(before) != 0 && is_number(last_of_word) : has_word;
        if (count < form_.dimensions || surplus || (form_.named && !has_word && !may_have_none))
            return count_problem(form_.fields(line));
        if (has_word) word = {form_.first_field(rest).data(), last_of_word.data() + last_of_word.size()};
        return problem;
    }

  private:
    std::string count_problem(std::uint64_t fields) const {
        const std::string wanted = std::to_string(form_.dimensions);
        if (!form_.named) return std::to_string(fields) + " numbers; the rows have " + wanted;
        return std::to_string(fields) + " fields; the rows have a word and " + wanted + " numbers";
    }

    const line_form& form_;
};

/// Whether commas separate the fields of a first line, "1,2" or "1, 2": no blank follows anything else than one. The word of a row
/// may be a comma.
bool commas_separate(std::string_view line) {
    for (std::size_t at = line.find_first_of(" \t"); at != std::string_view::npos;
         at = line.find_first_of(" \t", line.find_first_not_of(" \t", at)))
        if (at < 2 || line[at - 1] != ',') return false;
    return line.find(',') != std::string_view::npos;
}

// ---- The file ----

class text_reader {
  public:
    explicit text_reader(vector_reading& reading) : reading_(reading), text_(reading.text()) {
        if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
        form_.commas = plain_name(reading.made.file.name()).text.ends_with(".csv") ||
                       commas_separate(form_.without_ends(text_.substr(0, text_.find('\n'))));
    }

    void read() {
        find_form();
        cut();
        for_each_range([&](text_range& now) { count(now); });
        std::uint64_t rows = 0, lines = header_lines_;
        for (text_range& each : text_ranges_) {
            each.first_row = rows;
            each.first_line = lines;
            rows += each.rows;
            lines += each.lines;
        }
        if (header_ && header_->rows != rows) {
            reading_.refuse_line(header_lines_, "says " + std::to_string(header_->rows) +
                                                    " rows; the file has " + std::to_string(rows));
        }
        const auto bytes = product_of(rows, form_.dimensions, sizeof(float));
        auto& values = reading_.made.values;
        values = large_array<std::byte>(reading_.place.memory(), "vectors",
                                        bytes.value_or(~std::uint64_t{0} >> 1));
        for_each_range([&](text_range& now) { parse(now); });
        for (const text_range& each : text_ranges_)
            if (each.issue) reading_.refuse_line(each.first_line + each.issue.line, each.issue.reason);
        values.settle();
        const auto columns = static_cast<std::uint32_t>(form_.dimensions);
        reading_.made.dense = {vector_type::f32, rows, columns, columns * sizeof(float), values.span()};
        if (form_.named) keep_names(rows);
    }

  private:
    struct text_range {
        std::string_view text;
        std::uint64_t lines = 0, rows = 0, first_line = 0, first_row = 0;
        line_issue issue;
        std::string words;  ///< concatenated
        std::vector<std::uint64_t> word_sizes;
    };
    struct sizes {
        std::uint64_t rows = 0, dimensions = 0;
    };

    /// Removes the first line of `text`.
    static std::string_view take_line(std::string_view& text) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        return line;
    }
    /// The next non-empty line.
    std::string_view take_full_line(std::string_view& text) const {
        while (!text.empty()) {
            const std::string_view line = form_.without_ends(take_line(text));
            if (!form_.is_empty(line)) return line;
        }
        return {};
    }

    static std::optional<sizes> sizes_of(std::string_view line) {
        line = trimmed(line);
        const std::size_t blank = std::min(line.find_first_of(" \t"), line.size());
        const auto rows = integer_of(line.substr(0, blank)),
                   dimensions = integer_of(trimmed(line.substr(blank)));
        if (!rows || !dimensions) return std::nullopt;
        return sizes{*rows, *dimensions};
    }

    /// Whether the first line is a header, whether there are words, and how many numbers a row has.
    void find_form() {
        std::string_view rest = text_;
        const std::string_view first = take_full_line(rest);
        if (first.empty()) reading_.refuse("the file holds no vectors");
        const std::string_view after = rest;
        std::string_view line = take_full_line(rest);
        const auto header = sizes_of(first);
        // Two integers alone may also be a vector, if the lines that follow have two fields as well.
        if (header && !line.empty() && (form_.fields(line) != 2 || is_right(*header, after))) {
            header_ = header;
            const std::string_view before = text_.substr(0, text_.size() - after.size());
            header_lines_ = static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
            text_ = after;
            form_.dimensions = header->dimensions;
            const std::uint64_t fields = form_.fields(line);
            form_.named = fields != header->dimensions;
            if (header->dimensions == 0 || fields < header->dimensions) {
                reading_.refuse_line(header_lines_, "says " + std::to_string(header->dimensions) +
                                                        " numbers a row; the first row has " +
                                                        std::to_string(fields) + " fields");
            }
            return;
        }
        form_.named = !begin_with_numbers();
        const std::uint64_t fields = form_.fields(first);
        form_.dimensions = fields - (form_.named ? 1 : 0);
        if (form_.dimensions == 0) reading_.refuse("the first line is a word without numbers");
        if (fields > 1 && all_fields(first, [](std::string_view field) { return !is_number(field); })) {
            const auto ends = std::count(text_.data(), first.data(), '\n');
            reading_.refuse_line(
                1 + static_cast<std::uint64_t>(ends),
                "a line without numbers (expected a vector); if it names the columns, remove it");
        }
        // As pandas names the columns of an array.
        std::uint64_t at = fields;
        if (form_.commas && fields > 1 && !line.empty() &&
            all_fields(first, [&](std::string_view field) { return integer_of(field) == --at; }))
            reading_.made.notes.emplace_back(
                "the first line, 0, 1 …, is a vector like the others; if it names the columns, remove it");
    }
    /// From the last one.
    template <class Is>
    bool all_fields(std::string_view line, const Is& is) const {
        for (auto field = form_.take_last(line); !field.empty(); field = form_.take_last(line))
            if (!is(field)) return false;
        return true;
    }
    /// If the lines have two fields each: a word and one number, or two numbers.
    bool is_right(const sizes& header, std::string_view after) const {
        std::uint64_t lines = 0;
        while (!take_full_line(after).empty()) ++lines;
        return lines == header.rows && (header.dimensions == 1 || header.dimensions == 2);
    }
    bool begin_with_numbers() const {
        constexpr int looked_at = 100;
        std::string_view rest = text_;
        for (int i = 0; i < looked_at; ++i) {
            const std::string_view line = take_full_line(rest);
            if (line.empty()) break;
            if (!is_number(form_.first_field(line))) return false;
        }
        return true;
    }

    void cut() {
        constexpr std::size_t least = std::size_t{1} << 20;
        for (std::string_view rest = text_; !rest.empty();) {
            std::size_t size = std::min(rest.find('\n', std::min(least, rest.size())), rest.size());
            size = std::min(size + 1, rest.size());
            text_ranges_.emplace_back().text = rest.substr(0, size);
            rest.remove_prefix(size);
        }
    }
    template <class Work>
    void for_each_range(const Work& work) {
        for_each_piece(reading_.place, text_ranges_.size(), [&](std::size_t i) {
            reading_.place.ctx().check_stop();
            work(text_ranges_[i]);
        });
    }

    void count(text_range& now) const {
        for (std::string_view rest = now.text; !rest.empty(); ++now.lines)
            if (!form_.is_empty(take_line(rest))) ++now.rows;
    }

    void parse(text_range& now) const {
        const line_parser parser(form_);
        const char* const last = reading_.text().data() + reading_.text().size() -
                                 std::min(readable_after, reading_.text().size());
        float* out = reinterpret_cast<float*>(reading_.made.values.data()) + now.first_row * form_.dimensions;
        std::uint64_t number = 0;
        for (std::string_view rest = now.text; !rest.empty();) {
            ++number;
            const std::string_view line = form_.without_ends(take_line(rest));
            if (form_.is_empty(line)) continue;
            std::string_view word;
            const bool plain = line.data() + line.size() <= last && parser.take_plain(line, word, out);
            if (!plain) {
                now.issue.reason = parser.take(line, word, out);
                if (!now.issue.reason.empty()) {
                    now.issue.line = number;
                    return;
                }
            }
            if (form_.named) {
                now.words += word;
                now.word_sizes.push_back(word.size());
            }
            out += form_.dimensions;
        }
    }

    void keep_names(std::uint64_t rows) {
        vector_file::state& made = reading_.made;
        std::uint64_t bytes = 0;
        for (const text_range& each : text_ranges_) bytes += each.words.size();
        made.name_bytes = large_array<char>(reading_.place.memory(), "the words of vectors", bytes);
        made.name_bytes.settle();
        made.names.reserve(rows);
        char* at = made.name_bytes.data();
        for (const text_range& each : text_ranges_) {
            std::ranges::copy(each.words, at);
            for (const std::uint64_t size : each.word_sizes) {
                made.names.emplace_back(at, size);
                at += size;
            }
        }
    }

    vector_reading& reading_;
    std::string_view text_;
    line_form form_;
    std::optional<sizes> header_;
    std::uint64_t header_lines_ = 0;
    std::vector<text_range> text_ranges_;
};

}  // namespace

bool begins_with_row(std::string_view bytes) {
    constexpr std::size_t longest = std::size_t{1} << 20;  // a row of tens of thousands of numbers
    std::string_view line = bytes.substr(0, std::min(bytes.find('\n'), longest));
    const bool is_text = std::ranges::none_of(line, [](char c) {
        return static_cast<unsigned char>(c) < ' ' && ascii_space.find(c) == std::string_view::npos;
    });
    const line_form with_commas{.commas = true};
    line = with_commas.without_ends(line);
    return is_text && is_number(with_commas.take_last(line));
}

void read_text(vector_reading& reading) {
    text_reader(reading).read();
    reading.made.file.let_go();
}

}  // namespace quern::io
