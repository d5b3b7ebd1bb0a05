// SPDX-License-Identifier: Apache-2.0
// The singular value decomposition of a small dense matrix by one-sided Jacobi rotations (Hestenes 1958): slow, and
// accurate to the last bits of a double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace quern::reference {

struct singular_vectors {
    std::vector<double> values;  // descending, one per column of the matrix
    std::vector<std::vector<double>>
        left;  // left[i]: for values[i], one component per row; zeros for a value of 0
};

/// `matrix[r][c]`, rows of one length.
inline singular_vectors decompose(const std::vector<std::vector<double>>& matrix) {
    const std::size_t rows = matrix.size(), columns = rows == 0 ? 0 : matrix[0].size();
    std::vector<std::vector<double>> column(columns, std::vector<double>(rows));
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) column[c][r] = matrix[r][c];
    const auto dot = [&](std::size_t a, std::size_t b) {
        return std::inner_product(column[a].begin(), column[a].end(), column[b].begin(), 0.0);
    };
    double whole = 0;
    for (std::size_t c = 0; c < columns; ++c) whole += dot(c, c);
    for (bool turned = true; turned;) {
        turned = false;
        for (std::size_t a = 0; a < columns; ++a)
            for (std::size_t b = a + 1; b < columns; ++b) {
                const double x = dot(a, a), y = dot(b, b), z = dot(a, b);
                if (std::fabs(z) <= 1e-14 * std::sqrt(x * y) || std::fabs(z) <= 1e-32 * whole) continue;
                turned = true;
                const double zeta = (y - x) / (2 * z);
                const double t = (zeta < 0 ? -1 : 1) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
                const double c = 1 / std::sqrt(1 + t * t), s = c * t;
                for (std::size_t r = 0; r < rows; ++r) {
                    const double old = column[a][r];
                    column[a][r] = c * old - s * column[b][r];
                    column[b][r] = s * old + c * column[b][r];
                }
            }
    }
    std::vector<std::size_t> order(columns);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return dot(a, a) > dot(b, b); });
    singular_vectors result;
    for (const std::size_t c : order) {
        const double length = std::sqrt(dot(c, c));
        result.values.push_back(length);
        result.left.push_back(column[c]);
        for (double& x : result.left.back()) x = length > 0 ? x / length : 0;
    }
    return result;
}

}  // namespace quern::reference
