// SPDX-License-Identifier: Apache-2.0
// Almost every line of almost every list is two integers with one separator. Such lines take a fast path; all others go
// to cut_line(), which has all the rules.
#include "io/graph/edge_lines.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "io/lines/numbers.hpp"
#include "io/lines/plain_lines.hpp"
#include "io/matrix/matrix_market.hpp"

namespace quern::io {
namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_separator(char c) {
    return is_blank(c) || c == ',';
}

const char* skip_blanks(const char* text) {
    while (is_blank(*text)) ++text;
    return text;
}

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

/// `%` begins a comment, but a name may begin with an encoded byte: %C3%A9.
bool is_comment(const char* text) {
    const auto hex = [](char c) { return is_digit(c) || (c >= 'A' && c <= 'F'); };
    return *text == '#' || (*text == '%' && !(hex(text[1]) && hex(text[2])));
}

/// The contents of a line.
struct cut {
    bool integers = false;  ///< both ends are integers, a and b
    std::uint64_t a = 0, b = 0;
    std::string_view from, to;
    std::string_view third;  ///< empty: no third field
    const char* problem = nullptr;
    std::string_view about;  ///< the field with the problem; empty: the line
};

/// Splits at blanks, tabs and commas, if the first two fields are integers.
bool cut_integers(const char* text, const char* end, cut& line) {
    const char* at = text;
    const digit_run a = take_digits(at);
    if (!a.fits || !a.canonical(text) || !is_separator(*at)) return false;
    line.from = {text, at};
    at = skip_blanks(at);
    if (*at == ',') at = skip_blanks(at + 1);
    const char* const second = at;
    const digit_run b = take_digits(at);
    if (!b.fits || !b.canonical(second) || (at != end && !is_separator(*at))) return false;
    line.to = {second, at};
    at = skip_blanks(at);
    if (*at == ',') at = skip_blanks(at + 1);
    const char* const third = at;
    while (at < end && !is_separator(*at)) ++at;
    if (third < end) line.third = {third, at};
    line.a = a.value;
    line.b = b.value;
    line.integers = true;
    return true;
}

const char* problem_of_name(std::string_view name, bool commas) {
    if (name.empty()) return "an id is empty";
    if (name[0] == '-' && name.size() > 1 && std::all_of(name.begin() + 1, name.end(), is_digit))
        return "a negative id";
    for (const char c : name) {
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) return "a control character in an id";
    }
    if (!commas) return nullptr;
    if (name[0] == '"') return "quoted fields are not supported; separate fields by tabs, without quotes";
    if (std::any_of(name.begin(), name.end(), is_blank))
        return "ambiguous separators: blanks and commas; separate fields by tabs";
    return nullptr;
}

/// Separators: tabs if there is one; else commas; else blanks.
void cut_names(std::string_view text, cut& line) {
    text = without_blanks(text);
    const bool tabs = text.find('\t') != std::string_view::npos;
    const bool commas = !tabs && text.find(',') != std::string_view::npos;
    const char separator = tabs ? '\t' : commas ? ',' : ' ';
    const auto take = [&]() {
        const std::size_t end = std::min(text.find(separator), text.size());
        const std::string_view field = without_blanks(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!commas) text = without_blanks(text);  // several count as one
        return field;
    };
    line.from = take();
    if (text.empty()) {
        line.problem = "only one field (expected `from to`, separated by tabs, a comma or blanks)";
        return;
    }
    line.to = take();
    line.third = take();
    for (const std::string_view name : {line.from, line.to}) {
        line.problem = problem_of_name(name, commas);
        line.about = name;
        if (line.problem != nullptr) return;
    }
}

/// `text` begins after blanks; `end` is its line feed.
cut cut_line(const char* text, const char* end) {
    cut line;
    if (end > text && end[-1] == '\r') --end;
    if (std::memchr(text, '\r', static_cast<std::size_t>(end - text)) != nullptr) {
        line.problem = "a carriage return within the line (expected LF or CR LF at its end)";
        return line;
    }
    if (!cut_integers(text, end, line)) {
        line = {};
        cut_names({text, end}, line);
    }
    return line;
}

class edge_parser {
  public:
    edge_parser(link_block& block, id_kind kind, bool weighted)
        : block_(block), kind_(kind), weighted_(weighted) {}

    bool parse() {
        const std::string_view text = block_.lines.text();
        const char* at = text.data();
        const char* const end = at + text.size();
        plain_lines plain(end);
        while (at < end) {
            if (kind_ != id_kind::word) at = take_plain_lines(plain, at);
            if (at == end) break;
            const auto* const after =
                static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
            ++block_.line_count;
            if (!take_line(skip_blanks(at), after)) return false;
            if (block_.issue) break;
            at = after + 1;
        }
        if (waiting_ != 0) number_names();
        block_.entries = block_.size;
        block_.ids = kind_;
        return true;
    }

  private:
    const char* take_plain_lines(plain_lines& plain, const char* at) {
        if (kind_ == id_kind::wide)
            return weighted_ ? take_plain_lines<true, true>(plain, at)
                             : take_plain_lines<true, false>(plain, at);
        return weighted_ ? take_plain_lines<false, true>(plain, at)
                         : take_plain_lines<false, false>(plain, at);
    }

    template <bool Wide, bool Weighted>
    const char* take_plain_lines(plain_lines& plain, const char* at) {
        link* const begin = block_.links.get() + block_.size;
        link* out = begin;  // local copies of what the loop changes: the compiler keeps them in registers
        double* weight = block_.weights.get() + (Weighted ? block_.size : 0);
        integer_table* const integers = block_.integers;
        const auto take_line = [&](const plain_line& line) {
            const std::size_t a_digits = line.first_digits(), b_digits = line.second_digits();
            const bool zeros =
                ((*line.first == '0') & (a_digits > 1)) | ((*line.second == '0') & (b_digits > 1));
            if (zeros || std::max(a_digits, b_digits) > 16) return false;
            if (Weighted ? !take_weight(line, *weight) : has_return(line)) return false;
            const std::uint64_t a = number_before(line.first_end, a_digits),
                                b = number_before(line.second_end, b_digits);
            if constexpr (Wide) {
                const std::uint32_t from = integers->number_of(a);
                *out++ = {from, integers->number_of(b)};
            } else {
                if ((a | b) >> 32 != 0) return false;
                *out++ = note_range({static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)});
            }
            weight += Weighted;
            return true;
        };
        for (const link* before = nullptr; before != out;) {
            if constexpr (!Wide && !Weighted) out = take_short_lines(plain, at, out);
            before = out;
            at = plain.take(at, is_separator, 64, take_line);
        }
        const auto taken = static_cast<std::uint64_t>(out - begin);
        if (taken != 0 && block_.size == 0) block_.first_line = block_.line_count + 1;
        block_.size += taken;
        block_.line_count += taken;
        return at;
    }

    link* take_short_lines(plain_lines& plain, const char*& at, link* out) {
        constexpr std::size_t at_once = 256;
        std::uint64_t characters[2 * at_once];
        while (const std::size_t lines = plain.take_short(at, is_separator, characters, at_once)) {
            number_range range{block_.least, block_.largest};
            convert_digits({characters, 2 * lines}, &out->from, range);
            block_.least = range.least;
            block_.largest = range.largest;
            out += lines;
        }
        return out;
    }

    link note_range(link ids) {
        block_.least = std::min({block_.least, ids.from, ids.to});
        block_.largest = std::max({block_.largest, ids.from, ids.to});
        return ids;
    }

    /// Whether the skipped characters include a carriage return.
    static bool has_return(const plain_line& line) {
        const char* const rest = line.second_end;
        return rest != line.end &&
               std::memchr(rest, '\r', static_cast<std::size_t>(line.end - rest)) != nullptr;
    }
    static bool take_weight(const plain_line& line, double& weight) {
        if (line.second_end == line.end) return false;
        const parsed_number number = take_number(line.second_end + 1, line.end);
        weight = number.value;
        return number.problem == number_problem::none && is_weight(weight);
    }

    /// False: this kind of ids cannot represent the line.
    bool take_line(const char* text, const char* end) {
        if (text == end || (*text == '\r' && text + 1 == end) || is_comment(text)) return true;
        const cut line = cut_line(text, end);
        if (line.problem != nullptr) {
            block_.refuse(line.about.data() == nullptr ? line.problem
                                                       : line.problem + (": " + quoted(line.about)));
            return true;
        }
        if (!line.integers && kind_ != id_kind::word) return later_kind(id_kind::word);
        if (kind_ == id_kind::narrow && std::max(line.a, line.b) >> 32 != 0) return later_kind(id_kind::wide);
        if (weighted_) {
            const parsed_number weight =
                line.third.empty() ? parsed_number{}
                                   : take_number(line.third.data(), line.third.data() + line.third.size());
            const std::string problem = problem_of_weight(line.third, weight);
            if (!problem.empty()) {
                block_.refuse(problem);
                return true;
            }
            block_.weights[block_.size] = weight.value;
        }
        if (block_.size == 0) block_.first_line = block_.line_count;
        note_names(line);
        block_.links[block_.size++] = numbers_of(line);
        return true;
    }

    bool later_kind(id_kind kind) {
        block_.ids = kind;
        return false;
    }

    void note_names(const cut& line) {
        if (line.integers) return;
        ++block_.named_links;
        if (block_.size == 0) block_.first_names_both = !integer_of(line.from) && !integer_of(line.to);
    }

    link numbers_of(const cut& line) {
        switch (kind_) {
            case id_kind::narrow: {
                return note_range({static_cast<std::uint32_t>(line.a), static_cast<std::uint32_t>(line.b)});
            }
            case id_kind::wide: {
                const std::uint32_t a = block_.integers->number_of(line.a);
                return {a, block_.integers->number_of(line.b)};
            }
            default:
                if (waiting_ == waiting_names_.size()) number_names();
                waiting_names_[waiting_++] = line.from;
                waiting_names_[waiting_++] = line.to;
                return {};  // number_names() writes it
        }
    }

    /// Names are collected up to the batch size of the table: those of the last links.
    void number_names() {
        std::uint32_t numbers[word_table::at_once];
        block_.words->numbers_of({waiting_names_.data(), waiting_}, numbers);
        link* const into = block_.links.get() + block_.size - waiting_ / 2;
        for (std::size_t i = 0; i < waiting_; i += 2) into[i / 2] = {numbers[i], numbers[i + 1]};
        waiting_ = 0;
    }

    link_block& block_;
    id_kind kind_;
    bool weighted_;
    std::array<std::string_view, word_table::at_once> waiting_names_;
    std::size_t waiting_ = 0;
};

}  // namespace

bool parse_edge_lines(link_block& block, id_kind kind, bool weighted) {
    block.begin(block.lines.text().size() / 4 + 1, weighted);  // "1 2" and the line's end
    return edge_parser(block, kind, weighted).parse();
}

bool fits_edge_line(std::string_view id) {
    constexpr std::size_t longest = (std::size_t{1} << 19) - 2;  // two of them must fit a readable line
    if (id.size() > longest || id.starts_with("\xef\xbb\xbf")) return false;
    const std::string name(id);
    for (const auto& [from, to] :
         {std::pair(name, name), std::pair(name, std::string("1")), std::pair(std::string("1"), name)}) {
        std::string text = from;
        text += '\t';
        text += to;
        text += '\n';
        if (is_blank(text[0]) || is_comment(text.data())) return false;
        const cut line = cut_line(text.data(), text.data() + text.size() - 1);
        if (line.problem != nullptr || line.from != from || line.to != to) return false;
    }
    return true;
}

}  // namespace quern::io
