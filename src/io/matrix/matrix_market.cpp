// SPDX-License-Identifier: Apache-2.0
#include "io/matrix/matrix_market.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/ascii.hpp"
#include "io/lines/numbers.hpp"
#include "io/lines/plain_lines.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

parsed_number take_number(const char* begin, const char* end) {
    double value = 0;
    const char* at = begin;
    if (take_short_decimal(at, value) && at == end) return {value};
    return parse_double({begin, end});
}

std::string problem_of_value(std::string_view field, const parsed_number& number) {
    if (number.problem == number_problem::none) return {};
    const std::string which = "the value " + quoted(field);
    if (number.problem == number_problem::too_large) return which + " is beyond the range of a double";
    return which + " is not a number";
}

std::string problem_of_weight(std::string_view field, const parsed_number& number) {
    if (number.problem == number_problem::none && is_weight(number.value)) return {};
    if (field.empty()) return "no weight: a weighted link is `from to weight`";
    const std::string which = "the weight " + quoted(field);
    if (number.problem == number_problem::too_large) return which + " is beyond the range of a double";
    if (number.problem == number_problem::not_a_number || std::isnan(number.value))
        return which + " is not a number";
    if (std::isinf(number.value) && number.value > 0) return which + " is infinite";
    if (number.value < 0) return which + " is negative";
    return which + " is zero (or too small for a double); remove the link";
}

namespace {

constexpr std::uint64_t max_rows = 0xfffffffe;

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}
const char* skip_blanks(const char* text) {
    while (is_blank(*text)) ++text;
    return text;
}

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> fields;
    for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
        const auto end = std::find_if(line.begin(), line.end(), is_space);
        fields.emplace_back(line.begin(), end);
        line.remove_prefix(fields.back().size());
    }
    return fields;
}

class header_reader {
  public:
    explicit header_reader(text_blocks& lines) : lines_(lines) {}

    matrix_header read() {
        matrix_header header;
        take_banner(header);
        for (;;) {
            const auto line = lines_.next_line();
            if (!line) refuse(lines_.lines_taken(), "the file ends before the line with the sizes");
            const std::string_view text = trimmed(*line);
            if (text.empty() || text[0] == '%') continue;
            take_sizes(header, text);
            return header;
        }
    }

  private:
    [[noreturn]] void refuse(std::uint64_t line, const std::string& reason) const {
        throw invalid_input(lines_.name(), line, reason);
    }

    void take_banner(matrix_header& header) {
        const auto banner = lines_.next_line();
        const std::string line = lower(banner.value_or(""));
        const auto words = fields_of(line);
        if (words.empty() || words[0] != lower(matrix_market_banner))
            refuse(1, "a Matrix Market file begins with %%MatrixMarket");
        if (words.size() != 5) {
            refuse(1, "the banner is `%%MatrixMarket matrix FORMAT FIELD SYMMETRY`; this one has " +
                          std::to_string(words.size()) + " words");
        }
        if (words[1] != "matrix") refuse(1, "the object " + quoted(words[1]) + " is not a matrix");
        if (words[2] != "coordinate" && words[2] != "array")
            refuse(1, "the format " + quoted(words[2]) + " is neither coordinate nor array");
        header.dense = words[2] == "array";
        if (words[3] == "complex")
            refuse(1, "complex matrices are not supported: their values have no order");
        if (words[3] != "real" && words[3] != "double" && words[3] != "integer" && words[3] != "pattern")
            refuse(1, "the field " + quoted(words[3]) + " is neither real, integer nor pattern");
        header.pattern = words[3] == "pattern";
        if (header.dense && header.pattern) refuse(1, "an array cannot be a pattern");
        if (words[4] == "hermitian") refuse(1, "hermitian matrices are complex, and not supported");
        if (words[4] == "symmetric")
            header.symmetry = matrix_header::symmetry_kind::symmetric;
        else if (words[4] == "skew-symmetric")
            header.symmetry = matrix_header::symmetry_kind::skew;
        else if (words[4] != "general")
            refuse(1,
                   "the symmetry " + quoted(words[4]) + " is neither general, symmetric nor skew-symmetric");
    }

    void take_sizes(matrix_header& header, std::string_view line) {
        header.size_line = lines_.lines_taken();
        const auto words = fields_of(line);
        const std::size_t wanted = header.dense ? 2 : 3;
        std::uint64_t sizes[3] = {};
        bool right = words.size() == wanted;
        for (std::size_t i = 0; i < wanted && right; ++i) {
            const auto size = integer_of(words[i]);
            right = size.has_value();
            sizes[i] = size.value_or(0);
        }
        if (!right) {
            refuse(header.size_line, "the sizes are `" +
                                         std::string(header.dense ? "rows columns" : "rows columns entries") +
                                         "`, not " + quoted(line));
        }
        if (std::max(sizes[0], sizes[1]) > max_rows) {
            refuse(header.size_line,
                   "more than " + std::to_string(max_rows) + " rows or columns are not supported");
        }
        header.rows = static_cast<std::uint32_t>(sizes[0]);
        header.columns = static_cast<std::uint32_t>(sizes[1]);
        using symmetry_kind = matrix_header::symmetry_kind;
        if (header.symmetry != symmetry_kind::general && header.rows != header.columns) {
            refuse(header.size_line, "a symmetric matrix of " + std::to_string(header.rows) + " rows and " +
                                         std::to_string(header.columns) + " columns");
        }
        const std::uint64_t n = header.rows;
        if (!header.dense)
            header.lines = sizes[2];
        else if (header.symmetry == symmetry_kind::general)
            header.lines = n * header.columns;
        else if (header.symmetry == symmetry_kind::symmetric)
            header.lines = n * (n + 1) / 2;
        else
            header.lines = n == 0 ? 0 : n * (n - 1) / 2;
    }

    text_blocks& lines_;
};

class entry_parser {
  public:
    entry_parser(link_block& block, const matrix_header& header, entry_values values)
        : block_(block),
          header_(header),
          values_(values),
          mirrored_(header.symmetry != matrix_header::symmetry_kind::general),
          skew_(header.symmetry == matrix_header::symmetry_kind::skew) {}

    void parse() {
        const std::string_view text = block_.lines.text();
        const char* at = text.data();
        const char* const end = at + text.size();
        plain_lines plain(end);
        while (at < end && !block_.issue) {
            at = take_plain_lines(plain, at);
            if (at == end) break;
            ++block_.line_count;
            at = take_line(at);
        }
    }

  private:
    static const char* after_line(const char* at) {
        return static_cast<const char*>(::rawmemchr(at, '\n')) + 1;
    }

    /// Valid lines with one blank between fields and nothing after them.
    const char* take_plain_lines(plain_lines& plain, const char* at) {
        const auto is_separator = [](char c) { return c == ' ' || c == '\t'; };
        const std::uint64_t before = block_.entries;
        const char* const after = plain.take(at, is_separator, ~std::size_t{0}, [&](const plain_line& line) {
            if (std::max(line.first_digits(), line.second_digits()) > 16) return false;
            const std::uint64_t row = number_before(line.first_end, line.first_digits()) - 1,
                                column = number_before(line.second_end, line.second_digits()) - 1;
            if (row >= header_.rows || column >= header_.columns || (skew_ && row == column)) return false;
            double value = 0;
            if (!take_plain_value({line.second_end, line.end}, value)) return false;
            ++block_.entries;
            put(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column), value);
            return true;
        });
        block_.line_count += block_.entries - before;
        return after;
    }
    /// `rest`: a blank and the value, or nothing.
    bool take_plain_value(std::string_view rest, double& value) const {
        if (values_ == entry_values::none || rest.size() < 2)
            return values_ == entry_values::none && rest.empty();
        if (values_ == entry_values::ignored)
            return std::none_of(rest.begin() + 1, rest.end(), [](char c) { return is_blank(c); });
        const parsed_number number = take_number(rest.data() + 1, rest.data() + rest.size());
        value = number.value;
        return number.problem == number_problem::none &&
               (values_ == entry_values::numbers || is_weight(value));
    }

    /// The next line, if this one is valid.
    const char* take_line(const char* at) {
        at = skip_blanks(at);
        if (*at == '\n') return at + 1;
        if (*at == '%') return after_line(at);
        ++block_.entries;
        const digit_run row = take_digits(at);
        if (row.digits == 0 || !is_blank(*at)) return refuse_form();
        at = skip_blanks(at);
        const digit_run column = take_digits(at);
        if (column.digits == 0 || (!is_blank(*at) && *at != '\n')) return refuse_form();
        // 0 wraps to the largest number, so that one comparison checks both bounds.
        if (!row.fits || row.value - 1 >= header_.rows) return refuse_index("row", row, header_.rows);
        if (!column.fits || column.value - 1 >= header_.columns)
            return refuse_index("column", column, header_.columns);
        at = skip_blanks(at);
        double value = 0;
        if (values_ != entry_values::none) {
            if (*at == '\n') return refuse("no value; an entry is `row column value`");
            const char* const begin = at;
            while (!is_blank(*at) && *at != '\n') ++at;
            if (!take_value({begin, at}, value)) return at;
            at = skip_blanks(at);
        }
        if (*at != '\n')
            return refuse(values_ == entry_values::none ? "more than `row column`, which a pattern's entry is"
                                                        : "more than `row column value`");
        if (skew_ && row.value == column.value)
            return refuse("an entry on the diagonal of a skew-symmetric matrix");
        put(static_cast<std::uint32_t>(row.value - 1), static_cast<std::uint32_t>(column.value - 1), value);
        return at + 1;
    }

    bool take_value(std::string_view field, double& value) {
        if (values_ == entry_values::ignored) return true;
        const parsed_number number = take_number(field.data(), field.data() + field.size());
        std::string problem = values_ == entry_values::weights ? problem_of_weight(field, number)
                                                               : problem_of_value(field, number);
        value = number.value;
        if (problem.empty()) return true;
        block_.refuse(std::move(problem));
        return false;
    }

    void put(std::uint32_t row, std::uint32_t column, double value) {
        const std::uint64_t i = block_.size;
        const bool valued = values_ >= entry_values::numbers;
        block_.links[i] = {row, column};
        if (valued) block_.weights[i] = value;
        block_.size = i + 1;
        if (!mirrored_ || row == column) return;
        block_.links[i + 1] = {column, row};
        if (valued) block_.weights[i + 1] = skew_ ? -value : value;
        block_.size = i + 2;
    }

    const char* refuse(std::string reason) {
        block_.refuse(std::move(reason));
        return nullptr;
    }
    const char* refuse_form() {
        return refuse(values_ == entry_values::none ? "an entry is `row column`, two whole numbers from 1"
                                                    : "an entry is `row column value`");
    }
    const char* refuse_index(const char* what, const digit_run& index, std::uint32_t last) {
        const std::string number = index.fits ? std::to_string(index.value) : "beyond 64 bits";
        return refuse(std::string(what) + " " + number + "; they are numbered from 1 to " +
                      std::to_string(last));
    }

    link_block& block_;
    const matrix_header& header_;
    entry_values values_;
    bool mirrored_, skew_;
};

}  // namespace

matrix_header read_matrix_header(text_blocks& lines) {
    return header_reader(lines).read();
}

void parse_entry_lines(link_block& block, const matrix_header& header, entry_values values) {
    const bool mirrored = header.symmetry != matrix_header::symmetry_kind::general;
    const std::uint64_t max = block.lines.text().size() / 4 + 1;  // "1 2" and the line's end
    block.begin(mirrored ? 2 * max : max, values >= entry_values::numbers);
    entry_parser(block, header, values).parse();
}

void parse_value_lines(link_block& block) {
    const std::string_view text = block.lines.text();
    block.begin(text.size() / 2 + 1, true);
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
        ++block.line_count;
        const auto* const after = static_cast<const char*>(::rawmemchr(at, '\n'));
        const std::string_view field = trimmed({at, after});
        at = after + 1;
        if (field.empty() || field[0] == '%' || field[0] == '#') continue;
        ++block.entries;
        const parsed_number number = take_number(field.data(), field.data() + field.size());
        std::string problem = problem_of_value(field, number);
        if (!problem.empty()) return block.refuse(std::move(problem));
        block.weights[block.size++] = number.value;
    }
}

std::uint64_t line_of_entry(const text_block& lines, std::uint64_t entry) {
    std::uint64_t line = 0, seen = 0;
    for (std::string_view text = lines.text(); !text.empty();) {
        const std::size_t end = text.find('\n');
        const std::string_view field = trimmed(text.substr(0, end));
        text.remove_prefix(end + 1);
        ++line;
        if (field.empty() || field[0] == '%' || field[0] == '#') continue;
        if (seen++ == entry) return line;
    }
    return line;
}

}  // namespace quern::io
