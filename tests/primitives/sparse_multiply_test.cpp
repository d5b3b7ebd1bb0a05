// SPDX-License-Identifier: Apache-2.0
#include "primitives/sparse/multiply.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "on_each_place.hpp"
#include "on_every_target.hpp"
#include "primitives/sparse_cases.hpp"
#include "quern/base/error.hpp"
#include "reference/sparse_reference.hpp"

namespace quern {
namespace {

using primitives::sparse_format;

/// The matrix where the place can read it.
template <class Matrix>
Matrix moved_to(cpu_place& /*place*/, Matrix matrix) {
    return matrix;
}
template <class Matrix>
auto moved_to(cuda_place& place, const Matrix& matrix) {
    return primitives::to_device(place, matrix);
}

template <class Value>
std::vector<std::string> bits_of(const std::vector<Value>& values) {
    std::vector<std::string> made;
    for (const Value value : values) {
        char text[64];
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        std::snprintf(text, sizeof text, "%a (%llx)", static_cast<double>(value),
                      static_cast<unsigned long long>(bits));
        made.emplace_back(text);
    }
    return made;
}

constexpr sparse_format exact_formats[] = {sparse_format::coo, sparse_format::csr, sparse_format::ell,
                                           sparse_format::brcp};

template <class Tested>
class sparse_multiply_test : public on_place<Tested> {
  protected:
    /// Calls use(matrix) with the matrix in that format at the place.
    template <class Value, class Use>
    void in_format(sparse_format format, const primitives::csr_view<Value>& rows, Use&& use) {
        cpu_place host(context::cpu(2));
        switch (format) {
            case sparse_format::coo:
                return use(moved_to(this->place(), primitives::to_coo(host, rows)));
            case sparse_format::csr:
                return use(moved_to(this->place(), primitives::to_csr(host, rows)));
            case sparse_format::ell:
                return use(moved_to(this->place(), primitives::to_ell(host, rows, 1e9)));
            case sparse_format::brc:
                return use(moved_to(this->place(), primitives::to_brc(host, rows)));
            case sparse_format::brcp:
            case sparse_format::brcp_paper:
                return use(moved_to(this->place(), primitives::to_brcp(host, rows)));
        }
    }
    template <class Value>
    std::vector<Value> product(sparse_format format, const primitives::csr_view<Value>& rows,
                               const std::vector<Value>& x) {
        const auto x_there = this->array(x);
        const auto y_there = this->template output<Value>(rows.rows);
        in_format(format, rows, [&](const auto& matrix) {
            if constexpr (requires { matrix.row_seg_len; }) {
                if (format == sparse_format::brcp_paper)
                    return primitives::multiply_as_printed(this->place(), matrix, x_there.view(),
                                                           y_there.span());
            }
            primitives::multiply(this->place(), matrix, x_there.view(), y_there.span());
            this->place().synchronise();
        });
        return y_there.host();
    }
    template <class Value>
    void expect_exact(const sparse_case<Value>& tested) {
        const auto expected = bits_of(reference::sparse_product(tested.view(), tested.x));
        for (const sparse_format format : exact_formats) {
            SCOPED_TRACE(std::string(primitives::sparse_format_names[static_cast<std::size_t>(format)]) +
                         ", " + tested.name);
            EXPECT_EQ(bits_of(this->product(format, tested.view(), tested.x)), expected);
        }
    }
    template <class Value>
    void expect_every_shape(sparse_values kind) {
        for (const row_shape& shape : row_shapes())
            expect_exact(sparse_case_of<Value>(shape.name, 700, shape.lengths, kind, 11));
    }
};
TYPED_TEST_SUITE(sparse_multiply_test, tested_places, tested_place_names);

TYPED_TEST(sparse_multiply_test, every_shape_gives_the_exact_sum_rounded) {
    this->template expect_every_shape<float>(sparse_values::ordinary);
    this->template expect_every_shape<double>(sparse_values::ordinary);
}

TYPED_TEST(sparse_multiply_test, hostile_values) {
    std::vector<std::uint64_t> lengths;
    for (std::uint64_t n = 0; n < 40; ++n) lengths.insert(lengths.end(), 3, n);
    lengths.push_back(1500);
    for (const sparse_values kind : all_sparse_values) {
        const std::string name = "values of kind " + std::to_string(static_cast<int>(kind));
        this->expect_exact(sparse_case_of<float>(name, 90, lengths, kind, 5));
        this->expect_exact(sparse_case_of<double>(name, 90, lengths, kind, 7));
    }
}

}  // namespace
}  // namespace quern
