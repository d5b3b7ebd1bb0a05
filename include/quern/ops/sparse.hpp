// SPDX-License-Identifier: Apache-2.0
// y = A·x for a sparse matrix, correctly rounded: the same bits in every storage format and on every device.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

/// brc and brcp_paper add floats in the order of their papers; all others round the exact sum once.
enum class sparse_storage { automatic, coo, csr, ell, brc, brcp, brcp_paper };
inline constexpr std::string_view sparse_storage_names[] = {"auto", "coo",  "csr",       "ell",
                                                            "brc",  "brcp", "brcp-paper"};

/// Entries of row i: columns and values from offsets[i] up to offsets[i + 1], in any order; entries at the same
/// position are added.
template <class Value>
struct sparse_matrix_view {
    std::uint32_t rows = 0, columns = 0;     ///< each below 2^32 - 1
    std::span<const std::uint64_t> offsets;  ///< rows + 1, from 0; empty: no rows
    std::span<const std::uint32_t> column;
    std::span<const Value> value;
};

struct multiply_options {
    sparse_storage storage = sparse_storage::automatic;
    std::uint32_t repeat = 1;  ///< number of products, for timing; at least 1
};

template <class Value>
struct product {
    std::vector<Value> y;
    sparse_storage storage = sparse_storage::automatic;  ///< the choice of `automatic`
    std::uint64_t bytes = 0;                             ///< of the matrix as stored
    double conversion_seconds = 0;
    std::vector<double> seconds;  ///< of each product, without transfers
    std::string place;
};

/// Value: float or double. Throws usage_error for inconsistent sizes, a repeat of 0, and ell that would be
/// mostly padding; invalid_value, with the position, for offsets that do not ascend from 0 to the number of
/// entries and for a column out of range; out_of_memory, interrupted, device_error.
template <class Value>
product<Value> multiply(const sparse_matrix_view<Value>& matrix, std::span<const Value> x,
                        const multiply_options& options, const context& ctx);

}  // namespace quern
