// SPDX-License-Identifier: Apache-2.0
// Sparse products of every format at the place of a test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "on_each_place.hpp"
#include "primitives/sparse/by_format.hpp"
#include "primitives/sparse_cases.hpp"
#include "reference/sparse_reference.hpp"

namespace quern {

/// Values as text that distinguishes any two of them.
template <class Value>
std::vector<std::string> bits_of(const std::vector<Value>& values) {
    std::vector<std::string> made;
    for (const Value value : values) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        char text[64];
        std::snprintf(text, sizeof text, "%a (%llx)", static_cast<double>(value),
                      static_cast<unsigned long long>(bits));
        made.emplace_back(text);
    }
    return made;
}

inline constexpr primitives::sparse_format exact_formats[] = {
    primitives::sparse_format::coo, primitives::sparse_format::csr, primitives::sparse_format::ell,
    primitives::sparse_format::brcp};

inline std::string name_of(primitives::sparse_format format) {
    return std::string(primitives::sparse_format_names[static_cast<std::size_t>(format)]);
}

template <class Tested>
class on_sparse_place : public on_place<Tested> {
  protected:
    /// Calls use(matrix) with the matrix in that format at the place.
    template <class Value, class Use>
    void in_format(primitives::sparse_format format, const primitives::csr_view<Value>& rows, Use&& use) {
        using primitives::sparse_format;
        cpu_place host(context::cpu(2));
        switch (format) {
            case sparse_format::coo:
                return use(primitives::to_place(this->place(), primitives::to_coo(host, rows)));
            case sparse_format::csr:
                return use(primitives::to_place(this->place(), primitives::to_csr(host, rows)));
            case sparse_format::ell:
                return use(primitives::to_place(this->place(), primitives::to_ell(host, rows, 1e9)));
            case sparse_format::brc:
                return use(primitives::to_place(this->place(), primitives::to_brc(host, rows)));
            case sparse_format::brcp:
            case sparse_format::brcp_paper:
                return use(primitives::to_place(this->place(), primitives::to_brcp(host, rows)));
        }
    }
    template <class Value>
    std::vector<Value> product(primitives::sparse_format format, const primitives::csr_view<Value>& rows,
                               const std::vector<Value>& x) {
        const auto device_x = this->array(x);
        const auto device_y = this->template output<Value>(rows.rows);
        in_format(format, rows, [&](const auto& matrix) {
            if constexpr (requires { matrix.row_seg_len; }) {
                if (format == primitives::sparse_format::brcp_paper) {
                    primitives::multiply_as_printed(this->place(), matrix, device_x.view(), device_y.span());
                    return this->place().synchronise();
                }
            }
            primitives::multiply(this->place(), matrix, device_x.view(), device_y.span());
            this->place().synchronise();
        });
        return device_y.host();
    }
    template <class Value>
    void expect_exact(const sparse_case<Value>& tested) {
        expect_products(tested, bits_of(reference::sparse_product(tested.view(), tested.x)));
    }
    template <class Value>
    void expect_products(const sparse_case<Value>& tested, const std::vector<std::string>& expected) {
        for (const primitives::sparse_format format : exact_formats) {
            SCOPED_TRACE(name_of(format) + ", " + tested.name);
            EXPECT_EQ(bits_of(this->product(format, tested.view(), tested.x)), expected);
        }
    }
};

}  // namespace quern
