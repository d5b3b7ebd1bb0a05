// SPDX-License-Identifier: Apache-2.0
// The rules of the segments, on the host: no pair within the bounds is lost, and few others pass.
#include "ops/near_duplicates/papers/signatures/signature_segments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "ops/near_duplicates/papers/signatures/signature_join.hpp"
#include "reference/fuzzy_signature_reference.hpp"

namespace quern::signature_segments_test {
namespace {

using namespace near_duplicates_detail;

std::uint8_t letter_at(const std::string& x, std::size_t at) {
    return at < x.size() ? static_cast<std::uint8_t>(x[at]) : no_letter;
}
const std::uint8_t* letters_of(const std::string& x) {
    return reinterpret_cast<const std::uint8_t*>(x.data());
}

std::uint32_t neighbours(const std::string& x, std::size_t gram, bool after, unsigned count) {
    std::uint32_t packed = 0;
    for (unsigned k = 0; k < count; ++k)
        packed |= std::uint32_t{letter_at(x, after ? gram + gram_letters + k : gram - 1 - k)} << 8 * k;
    return packed;
}

/// Whether what the kernels mark of one leads them to the other.
bool share_pairs(std::uint32_t three, std::uint32_t four) {
    const unsigned nearest = letter_pair(four, 0, 1), last_two = letter_pair(three, 1, 2),
                   first_and_last = letter_pair(three, 0, 2);
    return (three & fits_all) != 0 || last_two == nearest || last_two == letter_pair(four, 1, 2) ||
           last_two == letter_pair(four, 2, 3) || letter_pair(three, 0, 1) == nearest ||
           first_and_last == nearest || first_and_last == letter_pair(four, 0, 2);
}

struct passed {
    std::size_t grams = 0, fitting = 0, taken = 0;
};

/// What the kernels do for one pair.
passed compare(const std::string& x, const std::string& y, const signature_bounds& bounds) {
    const auto length = static_cast<unsigned>(y.size()), x_length = static_cast<unsigned>(x.size());
    const segment_cut cut{length, segments_of(length, bounds.at(2 * length))};
    passed found;
    for (unsigned s = 0; s < cut.count; ++s)
        for (unsigned at = 0; at + gram_letters <= x_length; ++at) {
            if (gram_of(letters_of(x) + at) != gram_of(letters_of(y) + cut.begin(s))) continue;
            ++found.grams;
            std::uint32_t three = s << 24;
            three |= cut.is_alone(s) ? fits_all : neighbours(y, cut.begin(s), s % 2 == 0, 3);
            const std::uint32_t four = neighbours(x, at, s % 2 == 0, 4);
            if (!share_pairs(three, four) || !fits(three, four)) continue;
            ++found.fitting;
            found.taken += may_stand(cut, s, x_length, at, bounds.at(length + x_length)) &&
                           !is_repeat(cut, s, letters_of(y), letters_of(x), at);
        }
    return found;
}

std::string random_string(std::mt19937_64& random, std::size_t size, unsigned alphabet) {
    std::string made(size, '\0');
    for (char& c : made) c = static_cast<char>(random() % alphabet);
    return made;
}

/// Edits of some kinds, everywhere, at one end, or at equal distances.
std::string with_edits(std::mt19937_64& random, std::string x, unsigned edits, unsigned alphabet) {
    const auto kinds = 1 + random() % 7, where = random() % 4;
    for (unsigned e = 0; e < edits && !x.empty(); ++e) {
        const auto kind = random() % 3;
        if ((kinds >> kind & 1) == 0) continue;
        const std::size_t quarter = std::max<std::size_t>(1, x.size() / 4);
        const std::size_t at = where == 0   ? random() % quarter
                               : where == 1 ? x.size() - 1 - random() % quarter
                               : where == 2 ? e * x.size() / edits % x.size()
                                            : random() % x.size();
        const char c = static_cast<char>(random() % alphabet);
        if (kind == 0)
            x[at] = c;
        else if (kind == 1)
            x.erase(at, 1);
        else
            x.insert(at + random() % 2, 1, c);
    }
    return x;
}

TEST(signature_segments, cut_into_as_many_as_needed_and_long_enough) {
    const signature_bounds bounds({3, 1}, {5, 100}, 256);
    for (unsigned length = 0; length <= 256; ++length) {
        const segment_cut cut{length, segments_of(length, bounds.at(2 * length))};
        if (length >= 18) {
            EXPECT_GT(static_cast<int>(cut.count), bounds.at(2 * length)) << length;
        }
        if (cut.count == 0) continue;
        EXPECT_EQ(cut.begin(0), 0u);
        EXPECT_EQ(cut.begin(cut.count), length);
        for (unsigned s = 0; s < cut.count; ++s) EXPECT_GE(cut.begin(s + 1) - cut.begin(s), gram_letters);
    }
    EXPECT_EQ(segments_of(100, 100), 0u) << "more edits than segments";
}

TEST(signature_segments, one_edit_fits) {
    // Three letters below 3, and four that may also be beyond the end.
    const auto is_prefix = [](const std::string& three, const std::string& four) {
        for (std::size_t size = 0; size <= 4; ++size) {
            if (size > 0 && four[size - 1] == static_cast<char>(no_letter)) break;
            if (reference::table_distance(three, four.substr(0, size)) <= 1) return true;
        }
        return false;
    };
    std::size_t fitting = 0, sharing = 0, near = 0;
    for (unsigned n = 0; n < 27 * 256; ++n) {
        std::string three, four;
        for (unsigned k = 0, rest = n % 27; k < 3; ++k, rest /= 3) three += static_cast<char>(rest % 3);
        bool ended = false;
        for (unsigned k = 0, rest = n / 27; k < 4; ++k, rest /= 4) {
            ended |= rest % 4 == 3;
            four += ended ? static_cast<char>(no_letter) : static_cast<char>(rest % 4);
        }
        const bool one_edit = is_prefix(three, four);
        const std::uint32_t three_letters = neighbours("aaa" + three, 0, true, 3),
                            four_letters = neighbours("aaa" + four, 0, true, 4);
        const bool fit = fits(three_letters, four_letters), shared = share_pairs(three_letters, four_letters);
        EXPECT_TRUE(fit || !one_edit) << n;
        EXPECT_TRUE(shared || !fit) << n;
        EXPECT_EQ(fits(three_letters | 23u << 24, four_letters), fit) << n;
        EXPECT_TRUE(fits(three_letters | fits_all, four_letters)) << n;
        fitting += fit;
        sharing += shared;
        near += one_edit;
    }
    EXPECT_LT(fitting, near + near / 4);
    EXPECT_LT(sharing, 2 * fitting);  // beyond the end is marked as letter 0 is
}

TEST(signature_segments, no_near_pair_is_lost) {
    std::mt19937_64 random(1);
    std::size_t near = 0;
    for (const decimal threshold : {decimal{1, 100}, decimal{3, 100}, decimal{5, 100}, decimal{6, 100}}) {
        const signature_bounds bounds({3, 1}, threshold, 200);
        for (int i = 0; i < 20'000; ++i) {
            const unsigned alphabet = std::array{1u, 2u, 8u, 64u}[random() % 4];
            std::string y = random_string(random, 3 + random() % 110, alphabet);
            if (random() % 4 == 0)  // periodic
                for (std::size_t k = 0; k < y.size(); ++k) y[k] = y[k % (1 + i % 7)];
            const auto most =
                static_cast<unsigned>(std::max(0, bounds.at(2 * static_cast<unsigned>(y.size()))));
            std::string x = with_edits(random, y, static_cast<unsigned>(random() % (most + 2)), alphabet);
            if (x.size() > y.size()) std::swap(x, y);
            if (y.size() > 200) continue;
            const auto length = static_cast<unsigned>(y.size());
            if (segments_of(length, bounds.at(2 * length)) == 0) continue;
            const auto total = static_cast<unsigned>(x.size() + y.size());
            if (static_cast<int>(reference::table_distance(x, y)) > bounds.at(total)) continue;
            ++near;
            EXPECT_GT(compare(x, y, bounds).taken, 0u) << x.size() << " and " << length << " letters";
        }
    }
    EXPECT_GT(near, 40'000u);
}

TEST(signature_segments, equal_strings_are_taken_once) {
    std::mt19937_64 random(2);
    const signature_bounds bounds({3, 1}, {5, 100}, 100);
    for (int i = 0; i < 200; ++i) {
        const std::string x = random_string(random, 30 + random() % 70, 64);
        EXPECT_EQ(compare(x, x, bounds).taken, 1u);
    }
}

TEST(signature_segments, few_distant_pairs_pass) {
    std::mt19937_64 random(3);
    const signature_bounds bounds({3, 1}, {5, 100}, 100);
    passed all;
    constexpr std::size_t pairs = 100'000;
    std::vector<std::string> strings;
    for (int i = 0; i < 1000; ++i) strings.push_back(random_string(random, 70 + random() % 10, 64));
    for (std::size_t p = 0; p < pairs; ++p) {
        const std::string *x = &strings[random() % 1000], *y = &strings[random() % 1000];
        if (x == y) continue;
        if (x->size() > y->size()) std::swap(x, y);
        const passed found = compare(*x, *y, bounds);
        all.grams += found.grams;
        all.fitting += found.fitting;
    }
    EXPECT_LT(all.grams, pairs / 50);
    EXPECT_LT(all.fitting, 10u);
}

}  // namespace
}  // namespace quern::signature_segments_test
