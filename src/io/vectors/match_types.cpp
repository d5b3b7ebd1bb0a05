// SPDX-License-Identifier: Apache-2.0
// Converts two files of vectors to one component type: .fvecs queries for a .bvecs set, int8 with uint8. Values are
// converted if the other type holds every one of them exactly, so that distances are exact.
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "io/vectors/vector_file_state.hpp"

namespace quern::io {
namespace {

/// Stored in 16 bits: ten of fraction after five of exponent.
float float_of_half(std::uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    float value = 0;
    if (exponent == 31)
        value =
            fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    else if (exponent == 0)
        value = std::ldexp(static_cast<float>(fraction), -24);
    else
        value = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    return half >> 15 != 0 ? -value : value;
}

struct half {
    std::uint16_t bits;
};
struct brain_half {
    std::uint16_t bits;
};

/// Calls work(T()) for the type in memory; not for bits.
template <class Work>
void with_stored(vector_type type, const Work& work) {
    if (type == vector_type::f64) return work(double());
    if (type == vector_type::f32) return work(float());
    if (type == vector_type::f16) return work(half());
    if (type == vector_type::bf16) return work(brain_half());
    if (type == vector_type::i16) return work(std::int16_t());
    if (type == vector_type::i8) return work(std::int8_t());
    return work(std::uint8_t());
}

/// As a double, which holds the values of every type.
template <class T>
double value_of(T stored) {
    if constexpr (std::is_same_v<T, half>)
        return double{float_of_half(stored.bits)};
    else if constexpr (std::is_same_v<T, brain_half>)
        return double{std::bit_cast<float>(std::uint32_t{stored.bits} << 16)};
    else
        return static_cast<double>(stored);
}

/// Whether `out` is the value exactly.
template <class T>
bool put(double value, T& out) {
    if constexpr (std::is_floating_point_v<T>) {
        out = static_cast<T>(value);
        return static_cast<double>(out) == value || std::isnan(value);
    } else if constexpr (std::is_integral_v<T>) {
        constexpr double lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
        if (!(value >= lowest && value <= highest)) return false;
        out = static_cast<T>(value);
        return static_cast<double>(out) == value;
    } else if constexpr (std::is_same_v<T, brain_half>) {
        float narrow = 0;
        const bool fits = put(value, narrow);
        const auto bits = std::bit_cast<std::uint32_t>(narrow);
        out.bits = static_cast<std::uint16_t>(bits >> 16);
        return fits && (bits & 0xffff) == 0;
    } else {
        if (!std::isfinite(value) || std::fabs(value) > 65504) return false;
        int exponent = 0;
        const double fraction = std::fabs(std::frexp(value, &exponent));  // 0.5 to 1, times 2^exponent
        const int unit = std::max(exponent - 11, -24);                    // of the last bit
        const double scaled = std::ldexp(fraction, exponent - unit);
        const auto whole = static_cast<std::uint32_t>(scaled);  // below 2^11
        if (static_cast<double>(whole) != scaled) return false;
        const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
        // An integer of 2^10 and more carries its first bit into the exponent.
        const std::uint32_t power = whole == 0 ? 0 : static_cast<std::uint32_t>(unit + 24) << 10;
        out.bits = static_cast<std::uint16_t>(sign | (power + whole));
        return true;
    }
}

/// The values as another type; nothing if one does not fit.
std::optional<large_array<std::byte>> converted(const vectors_view& view, vector_type to, cpu_place& place) {
    const std::uint64_t to_stride = bytes_of_row(to, view.dimensions);
    large_array<std::byte> result(place.memory(), "vectors", view.rows * to_stride);
    std::atomic<bool> all_fit{true};
    with_stored(view.type, [&](auto from) {
        with_stored(to, [&](auto target) {
            over_rows(place, view.rows, view.row_bytes(), [&](std::uint64_t begin, std::uint64_t end) {
                for (std::uint64_t i = begin; i < end && all_fit.load(std::memory_order_relaxed); ++i) {
                    auto stored = from;
                    auto out = target;
                    bool fits = true;
                    const std::byte* const row = view.values.data() + i * view.stride;
                    std::byte* const made_row = result.data() + i * to_stride;
                    for (std::uint32_t j = 0; j < view.dimensions; ++j) {
                        std::memcpy(&stored, row + j * sizeof stored, sizeof stored);
                        fits = put(value_of(stored), out) && fits;
                        std::memcpy(made_row + j * sizeof out, &out, sizeof out);
                    }
                    if (!fits) all_fit.store(false, std::memory_order_relaxed);
                }
            });
        });
    });
    if (!all_fit.load()) return std::nullopt;
    result.settle();
    return result;
}

bool is_integer(vector_type type) {
    return type == vector_type::i16 || type == vector_type::i8 || type == vector_type::u8;
}

/// Whether the conversion was possible.
bool convert(vector_file::state& file, vector_type to, const vector_file::state& other, cpu_place& place) {
    if (file.dense.type == to) return true;
    auto values = converted(file.dense, to, place);
    if (!values) return false;
    const auto name = [](vector_type type) {
        return std::string(vector_type_names[static_cast<std::size_t>(type)]);
    };
    file.notes.push_back(name(file.dense.type) + " values became " + name(to) +
                         ", unchanged, to be compared with " + other.file.name());
    file.values = std::move(*values);
    file.dense = {to, file.dense.rows, file.dense.dimensions, bytes_of_row(to, file.dense.dimensions),
                  file.values.span()};
    return true;
}

}  // namespace

void match_types(vector_file& vectors, vector_file& queries, const context& ctx) {
    vector_file::state &set = *vectors.state_, &requested = *queries.state_;
    const vector_type one = set.dense.type, other = requested.dense.type;
    if (set.is_sparse || requested.is_sparse || one == other || one == vector_type::bits ||
        other == vector_type::bits)
        return;
    cpu_place place(ctx);
    if (convert(requested, one, set, place)) return;
    const vector_type both = is_integer(one) && is_integer(other)                   ? vector_type::i16
                             : one == vector_type::f64 || other == vector_type::f64 ? vector_type::f64
                                                                                    : vector_type::f32;
    convert(set, both, requested, place);
    convert(requested, both, set, place);
}

}  // namespace quern::io
