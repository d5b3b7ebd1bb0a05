// SPDX-License-Identifier: Apache-2.0
// Rows of numbers from files → vectors of a type that has distances. Rows of such a type stay in place; all threads
// convert the rest, and the first number reported as not fitting is the first of the file, whatever the number of
// threads.
#include <algorithm>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>
#include <utility>

#include "io/vectors/vector_file_state.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

constexpr std::uint64_t max_rows = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::uint64_t max_columns = std::numeric_limits<std::uint32_t>::max();

std::string plain(std::uint64_t number) {
    return std::to_string(number);
}

// ---- Numbers ----

template <class T>
struct is_a {
    using type = T;
};

/// Calls work(is_a<T>()) for a type that C++ has.
template <class Work>
decltype(auto) with_number(number_type type, const Work& work) {
    using enum number_type;
    switch (type) {
        case f64:
            return work(is_a<double>());
        case i8:
            return work(is_a<std::int8_t>());
        case i16:
            return work(is_a<std::int16_t>());
        case u16:
        case f16:
        case bf16:
            return work(is_a<std::uint16_t>());
        case i32:
            return work(is_a<std::int32_t>());
        case u32:
            return work(is_a<std::uint32_t>());
        case i64:
            return work(is_a<std::int64_t>());
        case u64:
            return work(is_a<std::uint64_t>());
        case f32:
            return work(is_a<float>());
        default:
            return work(is_a<std::uint8_t>());
    }
}

template <class T>
T number_at(const std::byte* at, bool big_endian) {
    std::byte bytes[sizeof(T)];
    std::memcpy(bytes, at, sizeof(T));
    if (big_endian) std::reverse(std::begin(bytes), std::end(bytes));
    return std::bit_cast<T>(bytes);
}

/// Whether it fits.
template <class To, class From>
bool put(From value, To& out) {
    out = static_cast<To>(value);
    if constexpr (std::same_as<To, From>)
        return true;
    else
        return std::in_range<To>(value);
}

/// Whether this is also a component type of vectors.
constexpr bool is_of_vectors(number_type type) {
    using enum number_type;
    return type == f64 || type == f32 || type == f16 || type == bf16 || type == i16 || type == i8 ||
           type == u8;
}

class rows_reader {
  public:
    rows_reader(vector_reading& reading, const number_rows& rows) : reading_(reading), rows_(rows) {}

    void take() {
        using enum number_type;
        if (rows_.rows > max_rows)
            reading_.refuse(plain(rows_.rows) + " rows; at most " + plain(max_rows) + " are read");
        if (rows_.columns == 0 || rows_.columns > max_columns)
            reading_.refuse("rows of " + plain(rows_.columns) + " numbers; a vector has 1 to " +
                            plain(max_columns));
        if (reading_.options.as_bits && rows_.type != u8 && rows_.type != boolean) {
            throw usage_error(reading_.made.file.name() + ": numbers of type " +
                              std::string(name_of(rows_.type)) + " are not bits; bytes are (uint8)");
        }
        switch (rows_.type) {
            case boolean:
                return take_booleans();
            case u8:
                return reading_.options.as_bits ? take_bits() : take_as<std::uint8_t>(vector_type::u8);
            case f64:
                return take_as<double>(vector_type::f64);
            case u16:
            case i32:
            case u32:
            case i64:
            case u64:
                return take_integers();
            case f16:
                return take_as<std::uint16_t>(vector_type::f16);
            case bf16:
                return take_as<std::uint16_t>(vector_type::bf16);
            case i16:
                return take_as<std::int16_t>(vector_type::i16);
            case i8:
                return take_as<std::int8_t>(vector_type::i8);
            case f32:
                return take_as<float>(vector_type::f32);
        }
    }

  private:
    const std::byte* row(std::uint64_t i) const {
        return reading_.bytes().data() + rows_.begin + i * rows_.stride;
    }
    std::uint64_t bytes_of_a_row() const { return rows_.columns * size_of(rows_.type); }

    /// Sets the view to the file's rows.
    void set_view(vector_type type, std::uint64_t dimensions) {
        const std::uint64_t bytes = rows_.rows == 0 ? 0 : (rows_.rows - 1) * rows_.stride + bytes_of_a_row();
        reading_.made.dense = {type, rows_.rows, static_cast<std::uint32_t>(dimensions), rows_.stride,
                               reading_.bytes().subspan(rows_.begin, bytes)};
    }
    /// Memory for new contiguous rows.
    std::byte* make_rows(vector_type type) {
        const auto dimensions = static_cast<std::uint32_t>(rows_.columns);
        const std::uint64_t stride = bytes_of_row(type, dimensions);
        auto& values = reading_.made.values;
        values = large_array<std::byte>(reading_.place.memory(), "vectors", rows_.rows * stride);
        values.settle();
        reading_.made.dense = {type, rows_.rows, dimensions, stride, values.span()};
        return values.data();
    }

    template <class To>
    void take_as(vector_type type) {
        const bool same = is_of_vectors(rows_.type) && !rows_.big_endian;
        const bool aligned =
            (reinterpret_cast<std::uintptr_t>(row(0)) | (rows_.rows > 1 ? rows_.stride : 0)) % sizeof(To) ==
            0;
        if (same && aligned) return set_view(type, rows_.columns);
        To* const out = reinterpret_cast<To*>(make_rows(type));
        with_number(rows_.type, [&](auto stored) {
            using from = typename decltype(stored)::type;
            if constexpr (std::same_as<from, To> || (std::integral<from> && std::integral<To>))
                convert<from>(out);
        });
    }

    template <class From, class To>
    void convert(To* out) {
        std::atomic<std::uint64_t> first_bad{nowhere};
        const std::uint64_t columns = rows_.columns;
        over_rows(reading_.place, rows_.rows, bytes_of_a_row(), [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; ++i) {
                const std::byte* const from = row(i);
                for (std::uint64_t j = 0; j < columns; ++j) {
                    if (!put(number_at<From>(from + j * sizeof(From), rows_.big_endian),
                             out[i * columns + j]))
                        return lower_to(first_bad, i * columns + j);
                }
            }
        });
        if (const std::uint64_t bad = first_bad.load(); bad != nowhere) refuse_number<From>(bad);
    }

    template <class From>
    [[noreturn]] void refuse_number(std::uint64_t number) const {
        const std::uint64_t i = number / rows_.columns, j = number % rows_.columns;
        const std::byte* const at = row(i) + j * sizeof(From);
        reading_.refuse("row " + plain(i) + " holds " +
                        std::to_string(number_at<From>(at, rows_.big_endian)) + " at offset " +
                        plain(static_cast<std::uint64_t>(at - reading_.bytes().data())) +
                        "; integers become int8, uint8 or int16, and it fits none of them");
    }

    /// The narrowest type that fits all of them.
    void take_integers() {
        with_number(rows_.type, [&](auto stored) {
            using from = typename decltype(stored)::type;
            if constexpr (std::integral<from>) {
                const std::pair<from, from> range = bounds<from>();
                const auto all_fit = [&range]<class To>(is_a<To> /*type*/) {
                    return std::in_range<To>(range.first) && std::in_range<To>(range.second);
                };
                if (all_fit(is_a<std::int8_t>()))
                    take_as<std::int8_t>(vector_type::i8);
                else if (all_fit(is_a<std::uint8_t>()))
                    take_as<std::uint8_t>(vector_type::u8);
                else
                    take_as<std::int16_t>(vector_type::i16);
                reading_.made.notes.push_back(
                    std::string(name_of(rows_.type)) + " values became " +
                    std::string(vector_type_names[static_cast<std::size_t>(reading_.made.dense.type)]) +
                    ", which holds all of them");
            }
        });
    }

    template <class From>
    std::pair<From, From> bounds() const {
        std::atomic<From> least{0}, greatest{0};
        over_rows(reading_.place, rows_.rows, bytes_of_a_row(), [&](std::uint64_t begin, std::uint64_t end) {
            From low = 0, high = 0;
            for (std::uint64_t i = begin; i < end; ++i) {
                const std::byte* const from = row(i);
                for (std::uint64_t j = 0; j < rows_.columns; ++j) {
                    const From value = number_at<From>(from + j * sizeof(From), rows_.big_endian);
                    low = std::min(low, value);
                    high = std::max(high, value);
                }
            }
            lower_to(least, low);
            From now = greatest.load();
            while (high > now && !greatest.compare_exchange_weak(now, high)) {
            }
        });
        return {least.load(), greatest.load()};
    }

    void take_bits() {
        if (rows_.columns > max_columns / 8) {
            reading_.refuse("rows of " + plain(rows_.columns) + " bytes; as bits a vector has at most " +
                            plain(max_columns / 8));
        }
        set_view(vector_type::bits, 8 * rows_.columns);
    }

    /// Packs bytes of 0 or 1 into bits.
    void take_booleans() {
        std::byte* const out = make_rows(vector_type::bits);
        const std::uint64_t stride = reading_.made.dense.stride, columns = rows_.columns;
        std::atomic<std::uint64_t> first_bad{nowhere};
        over_rows(reading_.place, rows_.rows, columns, [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; ++i) {
                for (std::uint64_t j = 0; j < columns; ++j) {
                    const std::byte value = row(i)[j];
                    if (value > std::byte{1}) return lower_to(first_bad, i * columns + j);
                    out[i * stride + j / 8] |= value << (j % 8);
                }
            }
        });
        if (const std::uint64_t bad = first_bad.load(); bad != nowhere) {
            const std::byte* const at = row(bad / columns) + bad % columns;
            reading_.refuse("row " + plain(bad / columns) + " holds the byte " +
                            plain(std::to_integer<unsigned>(*at)) + " at offset " +
                            plain(static_cast<std::uint64_t>(at - reading_.bytes().data())) +
                            "; a boolean is 0 or 1");
        }
    }

    vector_reading& reading_;
    const number_rows& rows_;
};

}  // namespace

std::string_view name_of(number_type type) {
    constexpr std::string_view names[] = {"float16", "bfloat16", "float32", "float64", "int8",
                                          "uint8",   "int16",    "uint16",  "int32",   "uint32",
                                          "int64",   "uint64",   "boolean"};
    return names[static_cast<std::size_t>(type)];
}

void vector_reading::refuse(const std::string& reason) const {
    throw invalid_input(made.file.name(), 0, reason);
}
void vector_reading::refuse_line(std::uint64_t line, const std::string& reason) const {
    throw invalid_input(made.file.name(), line, reason);
}

std::optional<std::uint64_t> product_of(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product) || __builtin_mul_overflow(product, c, &product) ||
        product >> 63 != 0) {
        return std::nullopt;
    }
    return product;
}

number_rows rows_to_the_end(const vector_reading& reading, number_type type, std::uint64_t rows,
                            std::uint64_t columns, std::uint64_t begin) {
    const std::string says = "says " + plain(rows) + " rows of " + plain(columns) + " " +
                             std::string(name_of(type)) + " from offset " + plain(begin);
    const std::uint64_t bytes_present = reading.bytes().size() - begin;
    const auto row_bytes = product_of(columns, size_of(type));
    const auto wanted = product_of(rows, columns, size_of(type));
    if (!row_bytes || !wanted || *wanted > bytes_present) {
        const std::uint64_t whole = row_bytes ? bytes_present / *row_bytes : 0;
        reading.refuse(says + ", but the file ends at offset " + plain(reading.bytes().size()) +
                       (whole == 0 ? ", within row 0" : ", after row " + plain(whole - 1)));
    }
    if (*wanted < bytes_present)
        reading.refuse(says + ", but " + plain(bytes_present - *wanted) + " bytes follow them at offset " +
                       plain(begin + *wanted));
    return {type, false, rows, columns, begin, *row_bytes};
}

void take_rows(vector_reading& reading, const number_rows& rows) {
    rows_reader(reading, rows).take();
}

}  // namespace quern::io
