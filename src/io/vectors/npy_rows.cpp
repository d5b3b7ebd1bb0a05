// SPDX-License-Identifier: Apache-2.0
// NumPy's files (NEP 1): magic, version, the length of a header, the header (a dictionary as Python writes it, with
// descr, fortran_order and shape), then the numbers. Versions 1 (length in 16 bits), 2 and 3 (in 32 bits).
#include <charconv>
#include <cstring>
#include <string>

#include "io/lines/numbers.hpp"
#include "io/vectors/vector_file_state.hpp"

namespace quern::io {
namespace {

/// Parses the file's header. Offsets in messages are those of the file.
class npy_header_parser {
  public:
    npy_header_parser(const vector_reading& reading, std::string_view header, std::uint64_t offset)
        : reading_(reading), all_(header), text_(header), offset_(offset) {}

    std::string descr;
    bool by_columns = false;
    std::vector<std::uint64_t> shape;

    void parse() {
        bool seen[3] = {};
        expect('{');
        while (!take('}')) {
            const std::string key = string();
            expect(':');
            const std::size_t which = key == "descr"           ? 0
                                      : key == "fortran_order" ? 1
                                      : key == "shape"         ? 2
                                                               : 3;
            if (which == 3 || seen[which]) fail("the key " + io::quoted(key) + (which == 3 ? "" : " again"));
            seen[which] = true;
            if (which == 0) {
                if (next() == '[') reading_.refuse("an array of records; an array of numbers is read");
                descr = string();
            } else if (which == 1) {
                by_columns = truth();
            } else {
                sizes();
            }
            if (!take(',') && next() != '}') fail("something between two values that is no comma");
        }
        if (!(seen[0] && seen[1] && seen[2])) fail("no descr, fortran_order or shape before its end");
        if (next() != '\0') fail("something after the dictionary");
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        reading_.refuse("the header has " + what + " at offset " +
                        std::to_string(offset_ + all_.size() - text_.size()));
    }
    /// The next non-blank character; 0 at the end.
    char next() {
        while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
        return text_.empty() ? '\0' : text_[0];
    }
    bool take(char c) {
        if (next() != c) return false;
        text_.remove_prefix(1);
        return true;
    }
    void expect(char c) {
        if (!take(c)) fail(std::string("no '") + c + "'");
    }
    std::string string() {
        const char quote = next();
        if (quote != '\'' && quote != '"') fail("no quoted text");
        const std::size_t end = text_.find(quote, 1);
        if (end == std::string_view::npos) fail("a quoted text without end");
        std::string value(text_.substr(1, end - 1));
        text_.remove_prefix(end + 1);
        return value;
    }
    bool truth() {
        next();
        const bool is = text_.starts_with("True");
        if (!is && !text_.starts_with("False")) fail("neither True nor False");
        text_.remove_prefix(is ? 4 : 5);
        return is;
    }
    void sizes() {
        expect('(');
        while (!take(')')) {
            next();
            std::uint64_t size = 0;
            const auto read = std::from_chars(text_.data(), text_.data() + text_.size(), size);
            if (read.ec != std::errc{}) fail("no size of 0 to 2^64 - 1");
            text_.remove_prefix(static_cast<std::size_t>(read.ptr - text_.data()));
            take('L');  // as Python 2 wrote them
            shape.push_back(size);
            if (!take(',') && next() != ')') fail("no ',' or ')' after a size");
        }
    }

    const vector_reading& reading_;
    std::string_view all_, text_;
    std::uint64_t offset_;
};

number_type type_of(const vector_reading& reading, std::string_view descr) {
    struct known {
        std::string_view code;
        number_type type;
    };
    using enum number_type;
    constexpr known all[] = {{"f2", f16}, {"f4", f32}, {"f8", f64}, {"i1", i8},
                             {"u1", u8},  {"i2", i16}, {"u2", u16}, {"i4", i32},
                             {"u4", u32}, {"i8", i64}, {"u8", u64}, {"b1", boolean}};
    const std::string_view code = descr.substr(descr.empty() ? 0 : 1);
    for (const known& each : all) {
        if (code != each.code || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) continue;
        const bool one_byte = size_of(each.type) == 1;
        if (descr[0] == '>' && !one_byte)
            reading.refuse("big-endian numbers (" + io::quoted(descr) +
                           "); save them as little-endian: a.astype('<" + std::string(code) + "')");
        if (descr[0] == '<' || one_byte) return each.type;
    }
    reading.refuse("numbers of type " + io::quoted(descr) +
                   " are not read; float16 to float64, integers of 8 to 64 bits and booleans are");
}

}  // namespace

number_rows npy_rows(const vector_reading& reading) {
    const std::string_view text = reading.text();
    if (!text.starts_with(npy_magic))
        reading.refuse("not a .npy file (expected \\x93NUMPY as its first bytes)");
    const std::size_t major = text.size() > 6 ? static_cast<unsigned char>(text[6]) : 0;
    const std::size_t before = major == 1 ? 10 : 12;
    if (text.size() < before)
        reading.refuse("the file ends within the header at offset " + std::to_string(text.size()));
    if (major < 1 || major > 3)
        reading.refuse("version " + std::to_string(major) + " at offset 6; 1, 2 and 3 are read");
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < before - 8; ++i)
        length |= std::uint64_t{static_cast<unsigned char>(text[8 + i])} << 8 * i;
    if (length > text.size() - before)
        reading.refuse("says that the header ends at offset " + std::to_string(before + length) +
                       ", but the file ends at " + std::to_string(text.size()));
    npy_header_parser header(reading, text.substr(before, length), before);
    header.parse();
    const number_type type = type_of(reading, header.descr);
    const auto& shape = header.shape;
    if (shape.empty() || shape.size() > 2)
        reading.refuse("an array of " + std::to_string(shape.size()) +
                       " dimensions; rows of vectors have two, one vector one");
    if (header.by_columns && shape.size() == 2)
        reading.refuse(
            "an array in Fortran order, column by column; save it by rows: np.ascontiguousarray(a)");
    return rows_to_the_end(reading, type, shape.size() == 2 ? shape[0] : 1, shape.back(), before + length);
}

void read_npy(vector_reading& reading) {
    take_rows(reading, npy_rows(reading));
}

}  // namespace quern::io
