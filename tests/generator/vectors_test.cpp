// SPDX-License-Identifier: Apache-2.0
// The generator of vectors: the same rows in pieces as in one go, what each kind promises, and its bytes.
#include "generator/vectors.hpp"

#include <gmock/gmock.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "base/hash.hpp"

namespace quern::generator::vectors_test {
namespace {

constexpr vectors_kind kinds[] = {vectors_kind::uniform, vectors_kind::embeddings, vectors_kind::sift};

TEST(generated_vectors_test, depend_on_the_number_of_the_row_only) {
    for (const vectors_kind kind : kinds) {
        const std::vector<float> whole = make_vectors(kind, 0, 3000, 33, 5);
        const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 1);
        const std::vector<float> part = make_vectors(kind, 1000, 500, 33, 5);
        EXPECT_TRUE(std::ranges::equal(part, std::span(whole).subspan(1000 * 33, 500 * 33)));
        EXPECT_NE(part, make_vectors(kind, 1000, 500, 33, 6));
    }
}

TEST(generated_vectors_test, embeddings_have_length_one_and_copies) {
    constexpr std::size_t rows = 6400, dimensions = 64;
    const std::vector<float> made = make_vectors(vectors_kind::embeddings, 0, rows, dimensions);
    std::map<std::vector<float>, int> seen;
    std::size_t copies = 0;
    for (std::size_t r = 0; r < rows; ++r) {
        const std::vector<float> row(made.begin() + static_cast<std::ptrdiff_t>(r * dimensions),
                                     made.begin() + static_cast<std::ptrdiff_t>((r + 1) * dimensions));
        double squares = 0;
        for (const float value : row) squares += static_cast<double>(value) * value;
        EXPECT_NEAR(squares, 1, 1e-4) << "row " << r;
        copies += seen[row]++ > 0 ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(copies), rows / 32.0, 60);
}

TEST(generated_vectors_test, sift_is_made_of_bytes_of_one_length) {
    const std::vector<float> made = make_vectors(vectors_kind::sift, 0, 4000, 128);
    std::size_t zeros = 0;
    for (const float value : made) {
        ASSERT_EQ(value, std::floor(value));
        ASSERT_TRUE(value >= 0 && value <= 255);
        zeros += value == 0 ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(zeros) / static_cast<double>(made.size()), 0.108, 0.01);
    for (std::size_t r = 0; r < 4000; ++r) {
        double squares = 0;
        for (std::size_t j = 0; j < 128; ++j)
            squares += static_cast<double>(made[r * 128 + j]) * made[r * 128 + j];
        ASSERT_NEAR(std::sqrt(squares), 512, 8) << "row " << r;
    }
}

TEST(generated_vectors_test, have_the_same_bytes_on_every_machine) {
    const auto fingerprint = [](vectors_kind kind) {
        const std::vector<float> values = make_vectors(kind, 10, 2000, 100, 3);
        return hash64({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
    };
    EXPECT_EQ(fingerprint(vectors_kind::uniform), 5988252525506955487U);
    EXPECT_EQ(fingerprint(vectors_kind::embeddings), 11716297692282254739U);
    EXPECT_EQ(fingerprint(vectors_kind::sift), 9349989531743358079U);
}

}  // namespace
}  // namespace quern::generator::vectors_test
