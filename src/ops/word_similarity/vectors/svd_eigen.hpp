// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and eigenvectors of a dense symmetric matrix, with the same bits on every machine: LAPACK's depend on the
// underlying BLAS.
#pragma once

#include <cstddef>
#include <vector>

#include "device/array.hpp"

namespace quern::word_similarity_detail {

struct eigen_pairs {
    std::vector<double> values;  ///< all of them, descending
    /// size × stride by rows: column j is the eigenvector of values[j], of length 1. Past the requested ones: zeros.
    cpu_array<double> vectors;
    std::size_t stride = 0;
};

/// For `matrix`, size × size by rows of stride whole_groups(size), symmetric to the last bit, with maximum absolute value
/// at most 1; it is overwritten. Computes vectors for the first `wanted` values. Error of a value: about size · 2^-53 of
/// the greatest. Cost: 4/3 size³ for the tridiagonal form, about 5 size³ for the rotations, both on all threads.
eigen_pairs symmetric_eigen(cpu_place& place, std::size_t size, double* matrix, std::size_t wanted);

}  // namespace quern::word_similarity_detail
