// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and eigenvectors of a dense symmetric matrix, the same bits on every machine: LAPACK's change with the
// BLAS below it.
#pragma once

#include <cstddef>
#include <vector>

#include "device/array.hpp"

namespace quern::word_similarity_detail {

struct eigen_pairs {
    std::vector<double> values;  ///< all of them, falling
    /// size × stride by rows: column j is the eigenvector of values[j], of length 1. Beyond those asked for: zeros.
    cpu_array<double> vectors;
    std::size_t stride = 0;
};

/// Of `matrix`, size × size by rows of stride whole_groups(size), symmetric to the last bit, its greatest absolute value
/// not above 1; it is overwritten. Vectors of the first `wanted` values. Error of a value: some size · 2^-53 of the
/// greatest. Cost: 4/3 size³ to tridiagonal form, about 5 size³ for the rotations, both spread over the threads.
eigen_pairs symmetric_eigen(cpu_place& place, std::size_t size, double* matrix, std::size_t wanted);

}  // namespace quern::word_similarity_detail
