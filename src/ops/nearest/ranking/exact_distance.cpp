// SPDX-License-Identifier: Apache-2.0
// Sums of products of floats are integer multiples of a very small unit. They are added in fixed point, wide enough for
// every possible product, and compared as integers. Cosines are compared by their squares, s²/x against s'²/x', without
// roots: the query's length is the same on both sides. A cosine's digits come from an integer root, with as many digits as
// needed.
#include "ops/nearest/ranking/exact_distance.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "ops/nearest/ranking/bounded_distance.hpp"

namespace quern::nearest_detail {
namespace {

/// Values, not expressions: the analyzer takes boost's expressions for references that outlive their ends.
using integer =
    boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>, boost::multiprecision::et_off>;

/// number · 2^exponent. For 0 the exponent has no meaning.
struct dyadic {
    integer number;
    int exponent = 0;
};

dyadic operator*(const dyadic& a, const dyadic& b) {
    return {a.number * b.number, a.exponent + b.exponent};
}

/// Both as multiples of the smaller unit.
std::pair<integer, integer> aligned(const dyadic& a, const dyadic& b) {
    const int least = std::min(a.exponent, b.exponent);
    return {a.number << (a.exponent - least), b.number << (b.exponent - least)};
}
/// Negative, 0 or positive.
int compared(const dyadic& a, const dyadic& b) {
    const int of_a = a.number.sign(), of_b = b.number.sign();
    if (of_a != of_b || of_a == 0) return of_a - of_b;
    const auto [left, right] = aligned(a, b);
    return left.compare(right);
}

// ---- Sums ----

/// A decomposed float: sign · number · 2^exponent.
struct parts_of_float {
    std::uint64_t number;
    int exponent;
    bool negative;
};

/// A sum of products in fixed point. The sum has limbs of 32 bits in 64, so that carries can be deferred. Doubles: any
/// finite ones; otherwise values of f32, whose products have 48 bits instead of 106.
template <bool Doubles>
class fixed_sum {
  public:
    /// Adds (negative: subtracts) a · b · 2^doublings.
    void add(double a, double b, bool negative, unsigned doublings = 0) {
        const parts_of_float x = parts(a), y = parts(b);
        if (x.number == 0 || y.number == 0) return;
        const bool down = (x.negative != y.negative) != negative;
        const auto at = static_cast<unsigned>(x.exponent + y.exponent - unit) + doublings;
        if constexpr (Doubles) {
            const auto product = static_cast<wide>(x.number) * y.number;
            add_bits(static_cast<std::uint64_t>(product), at, down);
            add_bits(static_cast<std::uint64_t>(product >> 64), at + 64, down);
        } else {
            add_bits(x.number * y.number, at, down);
        }
        if (++waiting_ == max_waiting) carry();
    }
    dyadic sum() {
        std::int64_t over = carry();
        std::array<std::uint32_t, limbs> digits{};
        for (std::size_t i = 0; i < limbs; ++i) digits[i] = static_cast<std::uint32_t>(limbs_[i]);
        const bool negative = over < 0;
        if (negative) {  // two's complement
            std::uint64_t one = 1;
            for (std::uint32_t& digit : digits) {
                one += static_cast<std::uint32_t>(~digit);
                digit = static_cast<std::uint32_t>(one);
                one >>= 32;
            }
        }
        const auto some = [](std::uint32_t digit) { return digit != 0; };
        const auto first = std::find_if(digits.begin(), digits.end(), some);
        if (first == digits.end()) return {};
        const auto last = std::find_if(digits.rbegin(), digits.rend(), some).base();
        dyadic result{{}, unit + 32 * static_cast<int>(first - digits.begin())};
        import_bits(result.number, first, last, 32, false);
        // Smaller numbers multiply faster.
        const auto zeros = lsb(result.number);
        result.number >>= zeros;
        result.exponent += static_cast<int>(zeros);
        if (negative) result.number = -result.number;
        return result;
    }

  private:
    using wide = unsigned __int128;
    /// The minimum exponent of a product: for doubles −1074 each; for f32, whose numbers are here normal ones of 24 bits,
    /// −149 − 23.
    static constexpr int unit = Doubles ? -2148 : -344;
    static constexpr std::size_t limbs = Doubles ? 138 : 24;
    static constexpr std::uint32_t max_waiting = 1u << 28;

    static parts_of_float parts(double value) {
        const auto bits = std::bit_cast<std::uint64_t>(value);
        const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
        const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
        const bool negative = bits >> 63 != 0;
        if (exponent == 0) return {fraction, -1074, negative};
        const std::uint64_t number = fraction | std::uint64_t{1} << 52;
        if constexpr (Doubles) return {number, exponent - 1075, negative};
        return {number >> 29, exponent - 1046, negative};
    }
    void add_bits(std::uint64_t bits, unsigned at, bool down) {
        const wide shifted = static_cast<wide>(bits) << (at % 32);
        std::int64_t* const to = limbs_.data() + at / 32;
        const std::int64_t low = static_cast<std::uint32_t>(shifted),
                           middle = static_cast<std::uint32_t>(shifted >> 32),
                           high = static_cast<std::uint32_t>(shifted >> 64);
        to[0] += down ? -low : low;
        to[1] += down ? -middle : middle;
        to[2] += down ? -high : high;
    }
    /// Reduces every limb to 32 bits; returns the rest, the sign.
    std::int64_t carry() {
        std::int64_t over = 0;
        for (std::int64_t& limb : limbs_) {
            limb += over;
            over = limb >> 32;
            limb &= 0xffffffff;
        }
        // A negative sum stays negative: its last limb keeps the sign.
        if (over < 0 && waiting_ == max_waiting) {
            limbs_.back() -= std::int64_t{1} << 32;
            over = 0;
        }
        waiting_ = 0;
        return over;
    }

    std::array<std::int64_t, limbs> limbs_{};
    std::uint32_t waiting_ = 0;
};

template <bool Doubles>
dyadic sum_of_products(std::span<const double> a, std::span<const double> b) {
    fixed_sum<Doubles> sum;
    for (std::size_t j = 0; j < a.size(); ++j) sum.add(a[j], b[j], false);
    return sum.sum();
}

/// (a − b)² = a² − 2ab + b².
template <bool Doubles>
dyadic sum_of_squares(std::span<const double> a, std::span<const double> b) {
    fixed_sum<Doubles> sum;
    for (std::size_t j = 0; j < a.size(); ++j) {
        sum.add(a[j], a[j], false);
        sum.add(a[j], b[j], true, 1);
        sum.add(b[j], b[j], false);
    }
    return sum.sum();
}

template <bool Doubles>
dyadic sum_of_differences(std::span<const double> a, std::span<const double> b) {
    fixed_sum<Doubles> sum;
    for (std::size_t j = 0; j < a.size(); ++j) {
        sum.add(std::max(a[j], b[j]), 1, false);
        sum.add(std::min(a[j], b[j]), 1, true);
    }
    return sum.sum();
}

/// Rounding preserves order: the maximum difference is among those whose rounded value is the maximum.
template <bool Doubles>
dyadic greatest_difference(std::span<const double> a, std::span<const double> b) {
    double largest = 0;
    for (std::size_t j = 0; j < a.size(); ++j) largest = std::max(largest, std::fabs(a[j] - b[j]));
    dyadic found;
    for (std::size_t j = 0; j < a.size(); ++j) {
        if (std::fabs(a[j] - b[j]) != largest) continue;
        dyadic difference = sum_of_differences<Doubles>(a.subspan(j, 1), b.subspan(j, 1));
        if (compared(found, difference) < 0) found = std::move(difference);
    }
    return found;
}

// ---- Rounding ----

/// Rounds a number that is not negative, or, with `more`, a number just above it.
double rounded_number(const dyadic& value, bool more, unsigned bits) {
    if (value.number == 0) return 0;
    const auto size = static_cast<int>(msb(value.number)) + 1;
    const int kept = static_cast<int>(bits_kept(bits, value.exponent + size - 1));
    if (kept < 0) return 0;
    if (kept >= size) return std::ldexp(static_cast<double>(value.number), value.exponent);
    const auto shift = static_cast<unsigned>(size - kept);
    integer quotient = value.number >> shift;
    const integer rest = value.number - (quotient << shift);
    const int beyond_half = rest.compare(integer(1) << (shift - 1));
    if (beyond_half > 0 || (beyond_half == 0 && (more || bit_test(quotient, 0)))) ++quotient;
    return std::ldexp(static_cast<double>(quotient), value.exponent + static_cast<int>(shift));
}

/// 1 − s/√(x·y) for s of any sign and a product x·y above 0: from ⌊|s|/√(x·y) · 2^digits⌋, with so many digits that the
/// rest does not change the rounded result. It terminates, because a number that is halfway has few digits.
double rounded_cosine(const dyadic& s, const dyadic& x, const dyadic& y, unsigned bits) {
    const integer size = abs(s.number);
    const dyadic squared{size * size, 2 * s.exponent}, lengths = x * y;
    for (unsigned digits = 192;; digits *= 2) {
        integer top = squared.number, bottom = lengths.number;
        const int shift = squared.exponent - lengths.exponent + 2 * static_cast<int>(digits);
        (shift >= 0 ? top : bottom) <<= static_cast<unsigned>(std::abs(shift));
        integer rest;
        integer quotient, root_rest;
        divide_qr(top, bottom, quotient, rest);
        const integer root = sqrt(quotient, root_rest);
        const bool exact = rest == 0 && root_rest == 0;
        const integer one = integer(1) << digits;
        const int exponent = -static_cast<int>(digits);
        // |cosine| is in [root, root + 1): 1 − cosine in (least, least + 1], or exactly at one end.
        const integer least =
            s.number.sign() < 0 ? integer(one + root) : integer(one - root - (exact ? 0 : 1));
        const double lower = rounded_number({least, exponent}, !exact, bits);
        if (exact) return lower;
        if (least != 0 && lower == rounded_number({least + 1, exponent}, false, bits)) return lower;
    }
}

}  // namespace

struct exact_distance::state {
    vector_metric metric = vector_metric::l2;
    dyadic sum;            ///< sum; for cosine, of products
    dyadic row, query;     ///< for cosine, sums of squares
    dyadic signed_square;  ///< for cosine, sum · |sum|

    template <bool Doubles>
    void measure(std::span<const double> a, std::span<const double> b) {
        using enum vector_metric;
        switch (metric) {
            case ip:
                sum = sum_of_products<Doubles>(a, b);
                break;
            case cosine:
                sum = sum_of_products<Doubles>(a, b);
                row = sum_of_products<Doubles>(a, a);
                query = sum_of_products<Doubles>(b, b);
                signed_square = sum * dyadic{abs(sum.number), sum.exponent};
                break;
            case l1:
                sum = sum_of_differences<Doubles>(a, b);
                break;
            case linf:
                sum = greatest_difference<Doubles>(a, b);
                break;
            default:
                sum = sum_of_squares<Doubles>(a, b);
        }
    }
    bool no_angle() const { return row.number == 0 || query.number == 0; }
};

exact_distance::exact_distance(vector_metric metric, bool doubles, std::span<const double> row,
                               std::span<const double> query)
    : state_(std::make_unique<state>()) {
    state_->metric = metric;
    if (doubles)
        state_->measure<true>(row, query);
    else
        state_->measure<false>(row, query);
}
exact_distance::~exact_distance() = default;
exact_distance::exact_distance(exact_distance&&) noexcept = default;
exact_distance& exact_distance::operator=(exact_distance&&) noexcept = default;

bool exact_distance::operator<(const exact_distance& other) const {
    const state &mine = *state_, &its = *other.state_;
    if (mine.metric == vector_metric::ip) return compared(its.sum, mine.sum) < 0;
    if (mine.metric != vector_metric::cosine) return compared(mine.sum, its.sum) < 0;
    // A vector of length 0 is at distance 1, like one at a right angle.
    const dyadic one{1, 0};
    const dyadic& its_row = its.no_angle() ? one : its.row;
    const dyadic& my_row = mine.no_angle() ? one : mine.row;
    return compared(its.signed_square * my_row, mine.signed_square * its_row) < 0;
}

double exact_distance::rounded(unsigned bits) const {
    const state& mine = *state_;
    if (mine.metric == vector_metric::cosine)
        return mine.no_angle() ? 1 : rounded_cosine(mine.sum, mine.row, mine.query, bits);
    const double size = rounded_number({abs(mine.sum.number), mine.sum.exponent}, false, bits);
    return mine.sum.number.sign() < 0 ? -size : size;
}

}  // namespace quern::nearest_detail
