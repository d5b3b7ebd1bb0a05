// SPDX-License-Identifier: Apache-2.0
// y = A·x for a sparse matrix, correctly rounded: the same bits in every storage format and on every device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/choose_device.hpp"
#include "quern/base/context.hpp"
#include "quern/base/device_memory.hpp"

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
    device_memory device_y;                              ///< instead of y, where x lies on a GPU
    sparse_storage storage = sparse_storage::automatic;  ///< the choice of `automatic`
    std::uint64_t bytes = 0;                             ///< of the matrix as stored
    double conversion_seconds = 0;
    std::vector<double> seconds;  ///< of each product, without transfers; of several GPUs the longest
    std::string place;
};

/// One product, or several of the same. Value: float or double. Throws usage_error for inconsistent sizes, a
/// repeat of 0, and ell that would be mostly padding; invalid_value, with the position, for offsets that do not
/// ascend from 0 to the number of entries and for a column out of range; out_of_memory, interrupted,
/// device_error.
template <class Value>
product<Value> multiply(const sparse_matrix_view<Value>& matrix, std::span<const Value> x,
                        const multiply_options& options, const context& ctx);

/// A vector in the memory of a GPU.
template <class Value>
struct device_numbers_view {
    const Value* values = nullptr;
    std::uint64_t size = 0;
    data_location where;  ///< a GPU
};

/// A matrix that is converted once, to its storage format in the memory of the chosen device, for many products:
///
///     resident_matrix<double> links(view, sparse_storage::automatic, run);
///     for (int step = 0; step < 50; ++step) ranks = links.multiply(ranks);
///
/// Move-only; one call at a time. Every product has the bits of `multiply`.
template <class Value>
class resident_matrix {
  public:
    /// The view is not needed afterwards. Throws as multiply does. Cost: as the conversion of one multiply.
    /// Several GPUs hold blocks of rows with equal numbers of entries, in coo, csr or brcp (which is then `automatic`);
    /// other formats use the first.
    resident_matrix(const sparse_matrix_view<Value>& matrix, sparse_storage storage, const context& ctx);
    /// On devices that are already chosen: the first ones, as many as have `entries_a_device` each. By default 0.1 ms
    /// of an H200.
    resident_matrix(const sparse_matrix_view<Value>& matrix, sparse_storage storage, const context& ctx,
                    const chosen_device& chosen, std::uint64_t entries_a_device = std::uint64_t{1} << 24);
    ~resident_matrix();
    resident_matrix(resident_matrix&&) noexcept;
    resident_matrix& operator=(resident_matrix&&) noexcept;

    /// y = A·x. Throws usage_error for a vector whose size is not the number of columns. Cost: one pass over the
    /// matrix; on a GPU, x is copied there and y back.
    std::vector<Value> multiply(std::span<const Value> x);
    /// The same `repeat` times, with the time of each. `conversion_seconds` is 0 after the first call.
    product<Value> multiply(std::span<const Value> x, std::uint32_t repeat);
    /// The same with y in the memory of the GPU of x, complete when this returns. Where the matrix lies on that
    /// GPU alone, nothing is copied; elsewhere x and y go through the host.
    product<Value> multiply(const device_numbers_view<Value>& x, std::uint32_t repeat = 1);

    std::uint32_t rows() const;
    std::uint32_t columns() const;
    sparse_storage storage() const;    ///< the choice of `automatic`
    std::uint64_t bytes() const;       ///< of the matrix as stored
    const std::string& place() const;  ///< the device, with the reason

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern
