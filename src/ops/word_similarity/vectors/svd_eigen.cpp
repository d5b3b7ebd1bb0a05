// SPDX-License-Identifier: Apache-2.0
// Householder's reflections to tridiagonal form, then the implicit QL method with Wilkinson's shift (Golub and Van Loan,
// Matrix Computations, §8.3; Bowdler, Martin, Reinsch and Wilkinson 1968), in one fixed order. The only function of the
// mathematical library is the square root, which IEEE 754 rounds correctly.
//
// The rotations of QL are recorded and applied later, thousands at a time, to slices of 64 components: a slice stays in the
// cache, each thread takes its own, and no sum crosses slices.
#include "ops/word_similarity/vectors/svd.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"

namespace quern::word_similarity_detail {
namespace {

constexpr double epsilon = 0x1p-53;

struct tridiagonal {
    std::vector<double> diagonal, extra;  // next to[i]: between i and i + 1; the last is 0
};

// Row k of the matrix becomes the vector of a reflection I − τ v vᵀ, zero up to and including k; τ is factors[k], 0 for
// none.
class to_tridiagonal {
  public:
    to_tridiagonal(cpu_place& place, std::size_t size, double* matrix)
        : place_(place), size_(size), stride_(whole_groups(size)), matrix_(matrix), pair_(2 * stride_) {}

    tridiagonal run(std::vector<double>& factors) {
        tridiagonal result{std::vector<double>(size_), std::vector<double>(size_)};
        factors.assign(size_, 0);
        for (std::size_t k = 0; k < size_; ++k) {
            place_.ctx().check_stop();
            double* const row = matrix_ + k * stride_;
            result.diagonal[k] = row[k];
            result.extra[k] = k + 2 < size_ ? reflect(k, factors[k]) : k + 1 < size_ ? row[k + 1] : 0;
            std::fill(row, row + std::min(k + 1, size_), 0);
        }
        return result;
    }

  private:
    // Makes row k's vector and applies its reflection from both sides to the rows below: A − v wᵀ − w vᵀ with w = τ (A v −
    // ½ τ (vᵀ A v) v). Returns the off-diagonal element.
    double reflect(std::size_t k, double& factor) {
        double* const v = matrix_ + k * stride_;
        const std::size_t first = k + 1;
        double below = 0;
        for (std::size_t i = first + 1; i < size_; ++i) below += v[i] * v[i];
        const double lead = v[first];
        if (below <= 0x1p-1000) return lead;  // nothing to reflect: the squares of the rest underflow
        const double length = std::sqrt(lead * lead + below);
        const double extra = lead > 0 ? -length : length;
        v[first] = lead - extra;
        factor = 2 / (v[first] * v[first] + below);
        std::fill(v, v + first, 0);

        const std::size_t begin = first / lane_group * lane_group, columns = stride_ - begin;
        double* const w = pair_.data();
        std::fill(w, w + stride_, 0);
        each_part(columns, [&](std::size_t from, std::size_t count) {
            add_product(product<double>{1, count, size_ - first, v + first, 0, 1,
                                        matrix_ + first * stride_ + begin + from, stride_, w + begin + from,
                                        0});
        });
        double shared = 0;
        for (std::size_t i = first; i < size_; ++i) shared += v[i] * w[i];
        const double half = factor * shared / 2;
        for (std::size_t i = first; i < size_; ++i) w[i] = factor * (w[i] - half * v[i]);
        std::fill(w, w + first, 0);
        std::copy(v, v + stride_, w + stride_);

        // Rows (−v, −w) by columns (w; v): an element and its mirror add the same two products, so that the matrix stays
        // symmetric to the last bit.
        std::vector<double> left;
        for (std::size_t i = first; i < size_; ++i) left.insert(left.end(), {-v[i], -w[i]});
        each_part(columns, [&](std::size_t from, std::size_t count) {
            add_product(product<double>{size_ - first, count, 2, left.data(), 2, 1, w + begin + from, stride_,
                                        matrix_ + first * stride_ + begin + from, stride_});
        });
        return extra;
    }

    // Splits columns into parts for the threads if there is enough work.
    template <class Work>
    void each_part(std::size_t columns, const Work& work) {
        const std::size_t groups = columns / lane_group;
        const std::size_t parts = columns < 512 ? 1 : pieces_for(place_, groups, 8, 1);
        for_each_piece(place_, parts, [&](std::size_t p) {
            const item_range part = piece_of(groups, parts, p);
            if (part.begin < part.end) work(part.begin * lane_group, (part.end - part.begin) * lane_group);
        });
    }

    cpu_place& place_;
    std::size_t size_, stride_;
    double* matrix_;
    std::vector<double> pair_;  // two rows: w and v
};

// The vectors of the tridiagonal matrix, transposed: slice s holds components 64 s … 64 s + 63, one row of them per vector.
class rotated_slices {
  public:
    rotated_slices(cpu_place& place, std::size_t size)
        : place_(place),
          size_(size),
          slices_((size + rotated_width - 1) / rotated_width),
          values_(place, slices_ * size * rotated_width, "eigenvectors") {
        std::fill_n(values_.data(), values_.size(), 0.0);
        for (std::size_t i = 0; i < size; ++i)
            slice(i / rotated_width)[i * rotated_width + i % rotated_width] = 1;
    }

    void rotate(std::size_t first, double c, double s) {
        waiting_.push_back({static_cast<std::uint32_t>(first), c, s});
        if (waiting_.size() == max_waiting) apply();
    }
    void apply() {
        place_.ctx().check_stop();
        for_each_piece(place_, slices_,
                       [&](std::size_t s) { rotate_rows(slice(s), waiting_.data(), waiting_.size()); });
        waiting_.clear();
    }
    double at(std::size_t component, std::size_t vector) const {
        return slice(component / rotated_width)[vector * rotated_width + component % rotated_width];
    }

  private:
    static constexpr std::size_t max_waiting = std::size_t{1} << 16;
    double* slice(std::size_t s) const { return values_.data() + s * size_ * rotated_width; }

    cpu_place& place_;
    std::size_t size_, slices_;
    spilled_array<double> values_;
    std::vector<rotation> waiting_;
};

// One QL sweep over rows from … to of an unreduced block, with Wilkinson's shift; false if a rotation split it.
void sweep(tridiagonal& t, std::size_t from, std::size_t to, rotated_slices& vectors) {
    std::vector<double>&d = t.diagonal, &e = t.extra;
    double g = (d[from + 1] - d[from]) / (2 * e[from]);
    double r = std::sqrt(g * g + 1);
    g = d[to] - d[from] + e[from] / (g + (g < 0 ? -r : r));
    double s = 1, c = 1, p = 0;
    for (std::size_t i = to; i-- > from;) {
        const double f = s * e[i], b = c * e[i];
        r = std::sqrt(f * f + g * g);
        e[i + 1] = r;
        if (r == 0) {  // split: the rest is swept again
            d[i + 1] -= p;
            e[to] = 0;
            return;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        vectors.rotate(i, c, s);
    }
    d[from] -= p;
    e[from] = g;
    e[to] = 0;
}

void diagonalise(tridiagonal& t, rotated_slices& vectors) {
    const std::size_t size = t.diagonal.size();
    double norm = 0;
    for (std::size_t i = 0; i < size; ++i)
        norm = std::max(norm, std::fabs(t.diagonal[i]) + std::fabs(t.extra[i]));
    const double nothing = epsilon * norm;
    for (std::size_t from = 0; from < size; ++from)
        for (;;) {
            std::size_t to = from;
            while (to + 1 < size && std::fabs(t.extra[to]) > nothing) ++to;
            if (to == from) break;
            sweep(t, from, to, vectors);
        }
    vectors.apply();
}

// Z becomes (I − τ v vᵀ) Z for every reflection, the last first; threads take parts of the columns.
void reflect_back(cpu_place& place, std::size_t size, const double* matrix,
                  const std::vector<double>& factors, double* z, std::size_t stride) {
    const std::size_t of_matrix = whole_groups(size), groups = stride / lane_group;
    const std::size_t parts = pieces_for(place, groups, 1, 1);
    for_each_piece(place, parts, [&](std::size_t p) {
        const item_range part = piece_of(groups, parts, p);
        const std::size_t from = part.begin * lane_group, columns = (part.end - part.begin) * lane_group;
        std::vector<double> sums(columns);
        for (std::size_t k = size; k-- > 0;) {
            place.ctx().check_stop();
            if (factors[k] == 0) continue;
            const double* const v = matrix + k * of_matrix;
            double* const below = z + (k + 1) * stride + from;
            std::fill(sums.begin(), sums.end(), 0);
            add_product(
                product<double>{1, columns, size - k - 1, v + k + 1, 0, 1, below, stride, sums.data(), 0});
            for (double& sum : sums) sum *= -factors[k];
            add_product(
                product<double>{size - k - 1, columns, 1, v + k + 1, 1, 0, sums.data(), 0, below, stride});
        }
    });
}

}  // namespace

eigen_pairs symmetric_eigen(cpu_place& place, std::size_t size, double* matrix, std::size_t wanted) {
    std::vector<double> factors;
    tridiagonal t = to_tridiagonal(place, size, matrix).run(factors);
    rotated_slices rotated(place, size);
    diagonalise(t, rotated);

    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return t.diagonal[a] > t.diagonal[b]; });
    eigen_pairs result;
    for (const std::size_t i : order) result.values.push_back(t.diagonal[i]);
    result.stride = whole_groups(wanted);
    result.vectors = spilled_array<double>(place, size * result.stride, "eigenvectors");
    std::fill_n(result.vectors.data(), result.vectors.size(), 0.0);
    paced_checks checks(place.ctx(), scattered_values);
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < wanted; ++j) {
            checks.after(1);
            result.vectors.data()[i * result.stride + j] = rotated.at(i, order[j]);
        }
    reflect_back(place, size, matrix, factors, result.vectors.data(), result.stride);
    return result;
}

}  // namespace quern::word_similarity_detail
