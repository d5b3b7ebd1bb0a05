// SPDX-License-Identifier: Apache-2.0
#include "primitives/sparse/multiply.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "on_each_place.hpp"
#include "on_every_target.hpp"
#include "primitives/sparse/exact_sum.hpp"
#include "primitives/sparse_products.hpp"
#include "quern/base/error.hpp"

namespace quern::sparse_multiply_test {
namespace {

using primitives::sparse_format;

template <class Tested>
class sparse_multiply_test : public on_sparse_place<Tested> {
  protected:
    template <class Value>
    void expect_every_shape(sparse_values kind) {
        for (const row_shape& shape : row_shapes())
            this->expect_exact(sparse_case_of<Value>(shape.name, 700, shape.lengths, kind, 11));
    }
    /// Values of every kind in rows of many lengths: look(case) for each.
    template <class Look>
    static void for_every_kind(const Look& look) {
        std::vector<std::uint64_t> lengths;
        for (std::uint64_t n = 0; n < 40; ++n) lengths.insert(lengths.end(), 2, n);
        lengths.push_back(1000);
        for (const sparse_values kind : all_sparse_values) {
            const std::string name = "values of kind " + std::to_string(static_cast<int>(kind));
            look(sparse_case_of<float>(name, 90, lengths, kind, 5));
            look(sparse_case_of<double>(name, 90, lengths, kind, 7));
        }
    }
};
TYPED_TEST_SUITE(sparse_multiply_test, tested_places, tested_place_names);

TYPED_TEST(sparse_multiply_test, every_shape) {
    this->template expect_every_shape<float>(sparse_values::ordinary);
    this->template expect_every_shape<double>(sparse_values::ordinary);
}

TYPED_TEST(sparse_multiply_test, every_kind_of_values) {
    this->for_every_kind([&](const auto& tested) { this->expect_exact(tested); });
}

TYPED_TEST(sparse_multiply_test, every_instruction_set_gives_the_same) {
    if (!std::is_same_v<typename TestFixture::place_type, cpu_place>) GTEST_SKIP() << "of the CPU";
    this->for_every_kind([&](const auto& tested) {
        const auto expected = bits_of(reference::sparse_product(tested.view(), tested.x));
        on_every_target([&] { this->expect_products(tested, expected); });
    });
}

/// All formats agree on matrices too large for the reference: a power law with rows that all threads share.
TYPED_TEST(sparse_multiply_test, large_matrices) {
    std::mt19937_64 random(31);
    std::vector<std::uint64_t> lengths;
    for (std::size_t entries = 0; entries < large_size() / 3;) {
        lengths.push_back(30'000 / (1 + random() % 30'000));
        entries += lengths.back();
    }
    lengths[lengths.size() / 2] = 300'000;
    lengths[lengths.size() / 3] = 131'072;
    const auto check = [&]<class Value>(const sparse_case<Value>& tested) {
        const auto first = this->product(sparse_format::csr, tested.view(), tested.x);
        for (const std::uint32_t row : {tested.rows() / 2, tested.rows() / 3, tested.rows() - 1}) {
            primitives::exact_sum<Value> sum;
            for (std::uint64_t e = tested.offsets[row]; e < tested.offsets[row + 1]; ++e)
                sum.add_product(tested.value[e], tested.x[tested.column[e]]);
            EXPECT_EQ(bits_of(std::vector<Value>{first[row]}), bits_of(std::vector<Value>{sum.rounded()}));
        }
        for (const sparse_format format : {sparse_format::coo, sparse_format::brcp})
            EXPECT_EQ(0, std::memcmp(this->product(format, tested.view(), tested.x).data(), first.data(),
                                     first.size() * sizeof(Value)))
                << name_of(format);
    };
    check(sparse_case_of<float>("large", 100'003, lengths, sparse_values::ordinary, 1));
    check(sparse_case_of<double>("large", 100'003, lengths, sparse_values::wide, 2));
}

// ---- The kernels as printed ----

/// brc's arithmetic: a lane's products added in turn, lanes added to y block after block.
template <class Value>
std::vector<Value> brc_model(const primitives::brc_matrix<cpu_place, Value>& matrix,
                             const std::vector<Value>& x) {
    std::vector<Value> y(matrix.rows);
    for (std::size_t b = 0; b < matrix.block_begin.size(); ++b) {
        for (std::size_t l = 0; l < 32; ++l) {
            const std::uint32_t row = matrix.row_perm.data()[32 * b + l];
            if (row == primitives::no_index) continue;
            Value sum = 0;
            for (std::size_t k = 0; k < matrix.nz_per_block.data()[b]; ++k) {
                const std::size_t at = matrix.block_begin.data()[b] + 32 * k + l;
                if (matrix.column.data()[at] != primitives::no_index)
                    sum += matrix.value.data()[at] * x[matrix.column.data()[at]];
            }
            y[row] += sum;
        }
    }
    return y;
}

/// Algorithms 2 and 3 of Yang et al. 2019, warp after warp.
template <class Value>
std::vector<Value> brcp_model(const primitives::brcp_matrix<cpu_place, Value>& matrix,
                              const std::vector<Value>& x) {
    std::vector<Value> y(matrix.rows);
    for (std::size_t b = 0; b + 1 < matrix.block_ptr.size(); ++b) {
        std::vector<Value> in(32);
        for (std::size_t l = 0; l < 32; ++l) {
            for (std::size_t at = matrix.block_ptr.data()[b] + l; at < matrix.block_ptr.data()[b + 1];
                 at += 32) {
                if (matrix.column.data()[at] != primitives::no_index)
                    in[l] += matrix.value.data()[at] * x[matrix.column.data()[at]];
            }
        }
        std::vector<Value> space = in;
        for (std::size_t offset = 1; offset < 32; offset *= 2) {
            const std::vector<Value> before = space;
            for (std::size_t l = offset; l < 32; ++l) space[l] = before[l] + before[l - offset];
        }
        for (std::size_t l = 0; l < 32; ++l) {
            const std::uint32_t length = matrix.row_seg_len.data()[32 * b + l];
            if (length > 0) y[matrix.row_perm.data()[32 * b + l]] += in[l] + space[l + length - 1] - space[l];
        }
    }
    return y;
}

TYPED_TEST(sparse_multiply_test, printed_kernels_are_as_printed) {
    for (const row_shape& shape : row_shapes()) {
        SCOPED_TRACE(shape.name);
        const auto check = [&]<class Value>(const sparse_case<Value>& tested) {
            cpu_place host(context::cpu(1));
            const auto brc = brc_model(primitives::to_brc(host, tested.view()), tested.x);
            const auto brcp = brcp_model(primitives::to_brcp(host, tested.view()), tested.x);
            const auto found_brc = this->product(sparse_format::brc, tested.view(), tested.x);
            const auto found_brcp = this->product(sparse_format::brcp_paper, tested.view(), tested.x);
            if (std::is_same_v<TypeParam, cpu_one_thread>) {
                EXPECT_EQ(bits_of(found_brc), bits_of(brc));
                EXPECT_EQ(bits_of(found_brcp), bits_of(brcp));
                return;
            }
            // Elsewhere the order of additions to a row is free. brcp's differences of prefix sums lose values that are
            // small relative to the whole warp's sum.
            for (std::uint32_t i = 0; i < tested.rows(); ++i) {
                const auto rounding = static_cast<double>(std::numeric_limits<Value>::epsilon());
                EXPECT_NEAR(static_cast<double>(found_brc[i]), static_cast<double>(brc[i]), 6000 * rounding);
                EXPECT_NEAR(static_cast<double>(found_brcp[i]), static_cast<double>(brcp[i]),
                            6000 * rounding);
            }
        };
        check(sparse_case_of<float>(shape.name, 700, shape.lengths, sparse_values::ordinary, 3));
        check(sparse_case_of<double>(shape.name, 700, shape.lengths, sparse_values::ordinary, 4));
    }
}

/// The reason for brcp besides brcp_paper.
TYPED_TEST(sparse_multiply_test, the_printed_kernel_loses_small_rows) {
    sparse_case<float> tested;
    tested.columns = 2;
    tested.x = {1, 1};
    for (const auto& row : {std::vector<float>{1e8F, 1}, std::vector<float>{0.25F, 0.5F}}) {
        for (const float value : row) {
            tested.column.push_back(0);
            tested.value.push_back(value);
        }
        tested.offsets.push_back(tested.column.size());
    }
    EXPECT_EQ(this->product(sparse_format::brcp, tested.view(), tested.x), (std::vector<float>{1e8F, 0.75F}));
    EXPECT_NE(this->product(sparse_format::brcp_paper, tested.view(), tested.x).at(1), 0.75F);
}

}  // namespace
}  // namespace quern::sparse_multiply_test
