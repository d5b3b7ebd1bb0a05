// SPDX-License-Identifier: Apache-2.0
// y = A·x for sparse A, in every format; formats.hpp has the contract. x.size() = columns, y.size() = rows, and they do not
// overlap (usage_error). Extra memory: at most 8 bytes per row, and the split rows of formats.hpp. The CPU uses the threads
// of its place. CUDA: does not synchronise.
#pragma once

#include "primitives/sparse/formats.hpp"

namespace quern::primitives {

template <floating_value Value>
void multiply(cpu_place& place, const coo_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y);
template <floating_value Value>
void multiply(cuda_place& place, const coo_matrix<cuda_place, Value>& matrix, device_span<const Value> x,
              device_span<Value> y);
template <floating_value Value>
void multiply(cpu_place& place, const csr_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y);
template <floating_value Value>
void multiply(cuda_place& place, const csr_matrix<cuda_place, Value>& matrix, device_span<const Value> x,
              device_span<Value> y);
template <floating_value Value>
void multiply(cpu_place& place, const ell_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y);
template <floating_value Value>
void multiply(cuda_place& place, const ell_matrix<cuda_place, Value>& matrix, device_span<const Value> x,
              device_span<Value> y);
template <floating_value Value>
void multiply(cpu_place& place, const brc_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y);
template <floating_value Value>
void multiply(cuda_place& place, const brc_matrix<cuda_place, Value>& matrix, device_span<const Value> x,
              device_span<Value> y);
template <floating_value Value>
void multiply(cpu_place& place, const brcp_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y);
template <floating_value Value>
void multiply(cuda_place& place, const brcp_matrix<cuda_place, Value>& matrix, device_span<const Value> x,
              device_span<Value> y);

/// BRCP's kernel as printed in its paper (Yang et al. 2019, algorithms 2 and 3): a segment's sum is a difference of the
/// warp's prefix sums, joined atomically. It loses small rows after large ones; one infinity corrupts its warp.
template <floating_value Value>
void multiply_as_printed(cpu_place& place, const brcp_matrix<cpu_place, Value>& matrix,
                         std::span<const Value> x, std::span<Value> y);
template <floating_value Value>
void multiply_as_printed(cuda_place& place, const brcp_matrix<cuda_place, Value>& matrix,
                         device_span<const Value> x, device_span<Value> y);

}  // namespace quern::primitives
