// SPDX-License-Identifier: Apache-2.0
// Two files, one type: no value changes in the conversion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "ops/nearest/distance/components.hpp"
#include "vector_bytes.hpp"

namespace quern::io::match_types_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace nearest_detail;

std::vector<std::vector<double>> values_of(const vector_file& file) {
    const vectors_view& view = file.dense();
    std::vector<std::vector<double>> rows(view.rows);
    for (std::uint64_t i = 0; i < view.rows; ++i) {
        with_type(view.type, [&](auto type) {
            const auto* const row = row_at<type()>(view.values.data(), view.stride, i);
            for (std::uint32_t j = 0; j < view.dimensions; ++j)
                rows[i].push_back(static_cast<double>(component<type()>(row, j)));
        });
    }
    return rows;
}

using pair_of_types = std::pair<vector_type, vector_type>;

class matching : public vector_files {
  protected:
    pair_of_types matched(vector_file& vectors, vector_file& queries) const {
        const auto before = std::pair(values_of(vectors), values_of(queries));
        match_types(vectors, queries, context::cpu(2));
        EXPECT_EQ(values_of(vectors), before.first);
        EXPECT_EQ(values_of(queries), before.second);
        return {vectors.dense().type, queries.dense().type};
    }
};

TEST_F(matching, types_that_both_can_have) {
    constexpr auto u8 = vector_type::u8, i8 = vector_type::i8, i16 = vector_type::i16, f16 = vector_type::f16,
                   f32 = vector_type::f32, f64 = vector_type::f64;
    const auto bytes = [&](std::uint8_t a) {
        return opened("u.bvecs", vecs_of<std::uint8_t>({{a, 7}, {3, 9}}));
    };
    const auto small = [&](std::int8_t a) { return opened("i.i8bin", bin_of<std::int8_t>({{a, 7}}, 2)); };
    const auto floats = [&](float a) { return opened("f.fvecs", vecs_of<float>({{a, 7}})); };
    const auto halves = [&](std::uint16_t a) {
        return opened("h.f16bin", bin_of<std::uint16_t>({{a, 0}}, 2));
    };
    const auto doubles = [&](double a) {
        return opened("d.npy", npy_of("<f8", "(1, 2)", little_all<double>({a, 7})));
    };
    const auto types = [&](vector_file one, vector_file other) { return matched(one, other); };
    EXPECT_EQ(types(bytes(1), small(1)), pair_of_types(u8, u8));
    EXPECT_EQ(types(bytes(1), small(-1)), pair_of_types(i16, i16));
    EXPECT_EQ(types(small(1), bytes(127)), pair_of_types(i8, i8));
    EXPECT_EQ(types(small(1), bytes(128)), pair_of_types(i16, i16));
    EXPECT_EQ(types(bytes(1), floats(255)), pair_of_types(u8, u8));
    EXPECT_EQ(types(bytes(1), floats(256)), pair_of_types(f32, f32));
    EXPECT_EQ(types(bytes(1), floats(-1)), pair_of_types(f32, f32));
    EXPECT_EQ(types(bytes(1), floats(0.5f)), pair_of_types(f32, f32));
    EXPECT_EQ(types(bytes(1), floats(HUGE_VALF)), pair_of_types(f32, f32));
    EXPECT_EQ(types(floats(0.1f), bytes(200)), pair_of_types(f32, f32));
    EXPECT_EQ(types(halves(0x3c01), floats(0.5f)), pair_of_types(f16, f16));
    EXPECT_EQ(types(halves(0x3c01), floats(0.1f)), pair_of_types(f32, f32));
    EXPECT_EQ(types(halves(0x3c01), bytes(255)), pair_of_types(f16, f16));
    EXPECT_EQ(types(bytes(1), halves(0x3c01)), pair_of_types(f32, f32));
    EXPECT_EQ(types(floats(0.1f), halves(0x0001)), pair_of_types(f32, f32));

    EXPECT_EQ(types(doubles(0.1), floats(0.1f)), pair_of_types(f64, f64));
    EXPECT_EQ(types(floats(0.1f), doubles(0.1)), pair_of_types(f64, f64));
    EXPECT_EQ(types(floats(0.1f), doubles(0.5)), pair_of_types(f32, f32));
    EXPECT_EQ(types(floats(0.1f), doubles(1e300)), pair_of_types(f64, f64));
    EXPECT_EQ(types(bytes(1), doubles(255)), pair_of_types(u8, u8));
    EXPECT_EQ(types(bytes(1), doubles(1e-300)), pair_of_types(f64, f64));
    EXPECT_EQ(types(doubles(0.1), halves(0x0001)), pair_of_types(f64, f64));
    EXPECT_EQ(types(halves(0x3c01), doubles(1 + 0x1p-10)), pair_of_types(f16, f16));
    EXPECT_EQ(types(halves(0x3c01), doubles(1 + 0x1p-40)), pair_of_types(f64, f64));

    vector_file set = bytes(1), queries = floats(2);
    matched(set, queries);
    EXPECT_THAT(set.notes(), IsEmpty());
    EXPECT_THAT(queries.notes(), ElementsAre("float32 values became uint8, unchanged, to be compared with " +
                                             at("u.bvecs").string()));
    vector_file bits = opened("b.u8bin", bin_of<std::uint8_t>({{1}}, 1), {.as_bits = true});
    match_types(bits, queries, context::cpu(1));
    EXPECT_EQ(bits.dense().type, vector_type::bits);
    EXPECT_EQ(queries.dense().type, u8);
}

TEST_F(matching, every_half_and_what_lies_next_to_it) {
    std::vector<std::uint16_t> halves;
    for (std::uint32_t bits = 0; bits < 65536; ++bits)
        if ((bits & 0x7c00) != 0x7c00) halves.push_back(static_cast<std::uint16_t>(bits));
    const auto count = static_cast<std::uint32_t>(halves.size());
    std::vector<float> floats;
    for (const std::uint16_t half : halves) floats.push_back(float_of_half(half));
    vector_file set = opened("h.f16bin", bin_of<std::uint16_t>({halves}, count));
    vector_file queries = opened("f.fbin", bin_of<float>({floats}, count));
    EXPECT_EQ(matched(set, queries), pair_of_types(vector_type::f16, vector_type::f16));
    EXPECT_EQ(rows_of<std::uint16_t>(queries)[0], halves);  // zeros keep their sign
    // One float between two halves, or beyond the last, and both become floats.
    for (const float odd : {0x1.0008p0f, 0x1p-25f, 0x1.8p-24f, 65505.0f, 65520.0f, -65536.0f}) {
        vector_file one = opened("h.f16bin", bin_of<std::uint16_t>({halves}, count));
        std::vector<float> row(count);
        row.back() = odd;
        vector_file other = opened("f.fbin", bin_of<float>({row}, count));
        EXPECT_EQ(matched(one, other), pair_of_types(vector_type::f32, vector_type::f32)) << odd;
    }
}

}  // namespace
}  // namespace quern::io::match_types_test
