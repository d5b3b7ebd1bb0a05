// SPDX-License-Identifier: Apache-2.0
// Truncated singular value decomposition by a randomised block Krylov space (Halko, Martinsson and Tropp 2011; Musco
// and Musco 2015). The spectrum of a matrix of mutual information falls slowly: subspace iteration needs several times
// the products for the same error (docs/word_similarity.md). With S the matrix or its transpose, whichever has fewer
// rows, and blocks of 32 columns:
//
//     Q₀ = orth(S Ω), Ω pseudo-random;   Qᵢ₊₁ = orth(S Sᵀ Qᵢ) against all before;   W = Sᵀ Q
//     Wᵀ W = X Λ Xᵀ;   singular values √Λ, singular vectors Q X and W X Λ^-½
//
// Wᵀ W is summed in double from W, so that a singular value is lost only below some 10^-7 of the greatest; the
// tridiagonal matrix of Lanczos's method, which is a free by-product, would lose it below 10^-3.5. If S has no more rows
// than the space would have, Q is the identity.
//
// The space grows until the requested pairs of Wᵀ W have converged: with x an eigenvector for the value λ over the first
// blocks, the residual of Q x is what the next block adds, (its part of Wᵀ W)ᵀ x. The test sees only sums in a fixed
// order, so the space is the same on every machine.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "device/own_threads.hpp"
#include "device/paced_checks.hpp"
#include "ops/word_similarity/vectors/svd.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"
#include "quern/ops/word_similarity_option_table.hpp"

namespace quern {
namespace {

using namespace word_similarity_detail;

/// Calls work(begin, end) for parts of the entries, concurrently, with checks of the context between them.
template <class Work>
void for_each_checked_part(cpu_place& place, std::size_t entries, const Work& work) {
    const std::size_t pieces = pieces_for(place, entries, std::size_t{1} << 16, 1);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const item_range part = piece_of(entries, pieces, p);
        in_checked_parts(place.ctx(), part.begin, part.end, neighbouring_values, work);
    });
}

constexpr std::size_t max_block = 32;
constexpr double min_ratio = 0x1p-18;  // ratio to the largest singular value: below, rounding errors

[[noreturn]] void name_first_bad_entry(const context_matrix_view& matrix) {
    for (std::size_t e = 0;; ++e) {
        if (matrix.columns[e] >= matrix.column_counts.size())
            throw usage_error("entry " + std::to_string(e) + " is in a column past the matrix's last");
        if (!std::isfinite(matrix.weights[e]))
            throw usage_error("the weight of entry " + std::to_string(e) + " is not a finite number");
    }
}

bool has_bad_entry(const context_matrix_view& matrix, std::size_t begin, std::size_t end) {
    bool bad = false;
    for (std::size_t e = begin; e < end; ++e)
        bad |= matrix.columns[e] >= matrix.column_counts.size() || !std::isfinite(matrix.weights[e]);
    return bad;
}

sparse_rows checked(cpu_place& place, const context_matrix_view& matrix, const svd_options& options) {
    check_ranges(options);
    const std::size_t entries = matrix.columns.size();
    const bool no_words = matrix.words == 0 && matrix.offsets.size() <= 1;
    if (matrix.weights.size() != entries ||
        (!no_words && matrix.offsets.size() != std::size_t{matrix.words} + 1) ||
        (matrix.offsets.empty() ? entries != 0
                                : matrix.offsets.front() != 0 || matrix.offsets.back() != entries))
        throw usage_error("the offsets, columns and weights of the matrix do not match");
    for (std::size_t w = 0; w < matrix.words; ++w)
        if (matrix.offsets[w] > matrix.offsets[w + 1])
            throw usage_error("the offsets of row " + std::to_string(w) + " fall");
    std::atomic<bool> bad = false;
    for_each_checked_part(place, entries, [&](std::uint64_t begin, std::uint64_t end) {
        if (has_bad_entry(matrix, begin, end)) bad = true;
    });
    if (bad) name_first_bad_entry(matrix);
    return {matrix.words, matrix.column_counts.size(), matrix.offsets, matrix.columns, matrix.weights};
}

// The number of blocks of the space, and of columns of a block.
struct space_size {
    std::size_t block;
    std::size_t first;  // blocks at the first test
    std::size_t max;    // blocks in all

    space_size(std::size_t dimensions, std::size_t iterations)
        : block(std::min(whole_groups(dimensions), max_block)),
          first(blocks_of(dimensions, first_test)),
          max(blocks_of(dimensions, iterations)) {}

  private:
    static constexpr std::size_t first_test = 4;  // iterations: no real matrix has converged before
    std::size_t blocks_of(std::size_t dimensions, std::size_t iterations) const {
        return std::max((dimensions * (2 + iterations) / 2 + block - 1) / block, iterations + 1);
    }
};

// A pair has converged if its residual is at most this part of its eigenvalue, or that of the greatest: then its singular
// value is right to about a millionth. Products in floats leave residuals of some 2^-24 of the greatest.
constexpr double max_residual = 0x1p-14, max_residual_of_greatest = 0x1p-22;
// A further block makes the greatest residual smaller by no more than this factor; of words and documents, by 1.2 to 3.3.
constexpr double fastest_fall = 8;

class truncation {
  public:
    truncation(cpu_place& place, const sparse_rows& matrix, const svd_options& options)
        : place_(place),
          matrix_(matrix),
          turned_(place, matrix),
          by_words_(matrix.rows <= matrix.columns),
          short_(by_words_ ? matrix : turned_.view()),
          long_(by_words_ ? turned_.view() : matrix),
          options_(options) {
        std::mutex mutex;
        float greatest = 0;
        for_each_checked_part(place, matrix.weight.size(), [&](std::uint64_t begin, std::uint64_t end) {
            float of_part = 0;
            for (std::uint64_t e = begin; e < end; ++e)
                of_part = std::max(of_part, std::fabs(matrix.weight[e]));
            const std::lock_guard lock(mutex);
            greatest = std::max(greatest, of_part);
        });
        (void)std::frexp(greatest, &exponent_);
        exponent_ = std::max(exponent_, -120);
        scale_ = std::ldexp(1.0f, -exponent_);
    }

    word_vectors run() {
        const std::size_t dimensions = std::min<std::size_t>(options_.dimensions, short_.rows);
        const std::uint64_t counted = count_result(array_bytes<float>(matrix_.rows * dimensions));
        word_vectors result{static_cast<std::uint32_t>(matrix_.rows), static_cast<std::uint32_t>(dimensions),
                            std::vector<float>(matrix_.rows * dimensions), std::vector<double>(dimensions)};
        if (dimensions == 0 || matrix_.column.empty()) return result;
        const space_size space(dimensions, options_.iterations);
        width_ = space.block;
        if (short_.rows <= space.block * std::min(space.first, space.max) ||
            !take_krylov_space(space, dimensions))
            take_whole_space();
        finish(dimensions, result);
        place_.memory().give_back(counted);  // it is the caller's
        return result;
    }

  private:
    /// Counts the vectors as memory of the place, as far as a quarter of it stays free for arrays that can be spilled. A small
    /// rest is not counted: few words need no large budget. Returns what was counted.
    std::uint64_t count_result(std::uint64_t bytes) {
        constexpr std::uint64_t largest_rest = std::uint64_t{16} << 20;
        if (bytes == 0) return 0;
        const std::uint64_t others = place_.memory().limit() / 4;
        const std::uint64_t left = place_.memory().left();
        const std::uint64_t counted = std::min(bytes, left - std::min(left, others));
        if (bytes - counted > largest_rest)
            throw out_of_memory("the vectors of words", bytes, counted + largest_rest);
        place_.memory().take(counted, "the vectors of words");
        return counted;
    }

    void take_whole_space() {
        basis_.clear(), images_.clear(), products_.clear();
        for (std::size_t begin = 0; begin < short_.rows; begin += width_) {
            dense_block block(place_, short_.rows, width_);
            std::fill_n(block.values.data(), block.values.size(), 0.0f);
            for (std::size_t j = 0; j < width_ && begin + j < short_.rows; ++j) block.row(begin + j)[j] = 1;
            add_to_space(std::move(block));
        }
        add_products();
        solve(basis_.size(), std::min<std::size_t>(options_.dimensions, short_.rows));
    }

    // False: it would have as many columns as rows.
    bool take_krylov_space(const space_size& space, std::size_t dimensions) {
        std::size_t test = space.first;
        while (test < space.max) {
            if (!grow(test + 1)) return false;
            add_products();
            if (eigenvectors_take_one_thread(test)) {
                // Meanwhile the others make the blocks of the next test, which most often follows.
                alongside solving;
                solving.start([&] { solve(test, dimensions); });
                static_cast<void>(grow(std::min(test_after(test) + 1, space.max)));
                solving.wait();
            } else {
                solve(test, dimensions);
            }
            double times = residual(dimensions);
            if (times <= 1) return true;
            // A test costs the cube of the blocks. One is left out while the residual is too great for it.
            std::size_t possible = test;
            for (; times > 1 && possible < space.max; times /= fastest_fall) ++possible;
            while (test < possible) test = test_after(test);
        }
        if (!grow(space.max)) return false;
        add_products();
        solve(space.max, dimensions);
        return true;
    }

    static std::size_t test_after(std::size_t test) { return test + std::max<std::size_t>(1, test / 8); }

    // The space gets the blocks up to `blocks`; false, if it would have as many columns as rows.
    bool grow(std::size_t blocks) {
        for (std::size_t i = basis_.size(); i < blocks; ++i) {
            if ((i + 1) * width_ >= short_.rows) return false;
            dense_block next = i == 0 ? multiply(place_, short_, scale_, random_block())
                                      : multiply(place_, short_, scale_, images_.back());
            orthonormalise(place_, basis_, options_.seed + i, next);
            add_to_space(std::move(next));
            place_.ctx().report({"vectors", i + 1, 0, "blocks"});
        }
        return true;
    }

    dense_block random_block() const {
        dense_block block(place_, long_.rows, width_);
        fill_randomly(place_, options_.seed, block);
        return block;
    }

    // Steps of a few columns are too short to be shared.
    bool eigenvectors_take_one_thread(std::size_t blocks) const {
        constexpr std::size_t few_columns = 1024;
        constexpr unsigned many_threads = 4;
        return place_.threads() >= many_threads && blocks * width_ <= few_columns;
    }

    // The eigenvectors of WᵀW over the first blocks, whose products are there.
    void solve(std::size_t blocks, std::size_t dimensions) {
        const std::size_t size = blocks * width_;
        spilled_array<double> products = all_products(size, exponent_of_products_);
        found_ = symmetric_eigen(place_, size, products.data(), dimensions);
        blocks_ = blocks;
    }

    // The greatest residual of a pair, in units of what it may be: by the products of the first blocks with the next one.
    double residual(std::size_t dimensions) const {
        const std::vector<double>& next = products_[blocks_];
        const std::size_t size = blocks_ * width_;
        std::vector<double> sums(width_);
        double greatest = 0;
        for (std::size_t j = 0; j < dimensions; ++j) {
            std::fill(sums.begin(), sums.end(), 0.0);
            for (std::size_t i = 0; i < size; ++i) {
                const double x = found_.vectors.data()[i * found_.stride + j];
                for (std::size_t k = 0; k < width_; ++k) sums[k] += x * next[i * width_ + k];
            }
            double square = 0;
            for (const double s : sums) square += s * s;
            const double length = std::ldexp(std::sqrt(square), -exponent_of_products_);
            const double allowed =
                std::max(max_residual * found_.values[j], max_residual_of_greatest * found_.values[0]);
            if (length > allowed) greatest = std::max(greatest, length / allowed);
        }
        return greatest;
    }

    // Q gets a block, and W its image.
    void add_to_space(dense_block block) {
        basis_.push_back(std::move(block));
        images_.push_back(multiply(place_, long_, scale_, basis_.back()));
    }

    // WᵀW gets the products of the blocks added since with all before them, a few blocks at a time.
    void add_products() {
        constexpr std::size_t at_once = 4;
        while (products_.size() < images_.size()) {
            std::vector<right_block> rights;
            for (std::size_t i = products_.size(); i < images_.size() && rights.size() < at_once; ++i)
                rights.push_back({&images_[i], i + 1});
            const auto lefts = std::span<const dense_block>(images_).first(rights.back().lefts);
            for (std::vector<double>& found : inner_products(place_, lefts, rights))
                products_.push_back(std::move(found));
        }
    }

    // WᵀW from its block columns, symmetric, scaled to at most 1; exponent: of the scale.
    spilled_array<double> all_products(std::size_t size, int& exponent) const {
        const std::size_t stride = whole_groups(size);
        spilled_array<double> all(place_, size * stride, "the products of all blocks");
        double greatest = 0;
        for (std::size_t i = 0; i < size; ++i) {
            place_.ctx().check_stop();
            for (std::size_t j = i; j < size; ++j) {
                const double value = products_[j / width_][i * width_ + j % width_];
                all.data()[i * stride + j] = all.data()[j * stride + i] = value;
                greatest = std::max(greatest, std::fabs(value));
            }
        }
        (void)std::frexp(greatest, &exponent);
        for (std::size_t i = 0; i < all.size(); ++i) all.data()[i] = std::ldexp(all.data()[i], -exponent);
        return all;
    }

    void finish(std::size_t dimensions, word_vectors& result) {
        const std::size_t size = blocks_ * width_;
        const double unit = std::ldexp(1.0, exponent_);
        std::vector<double> factors(dimensions);  // of the columns of X
        for (std::size_t j = 0; j < dimensions; ++j) {
            const double value =
                std::sqrt(std::ldexp(std::max(found_.values[j], 0.0), exponent_of_products_));
            if (j > 0 && value * unit < min_ratio * result.singular_values[0]) break;  // zeros from here
            result.singular_values[j] = value * unit;
            factors[j] = by_words_ ? value * unit : unit;
        }
        for (std::size_t i = 0; i < size; ++i)
            for (std::size_t j = 0; j < dimensions; ++j)
                found_.vectors.data()[i * found_.stride + j] *= factors[j];
        const std::span<const dense_block> blocks = by_words_ ? basis_ : images_;
        combine(place_, blocks.first(blocks_), found_.vectors.data(), found_.stride, dimensions,
                result.values.data());
        set_signs(result);
    }

    /// The first of the greatest values of a column becomes positive.
    void set_signs(word_vectors& result) const {
        const std::size_t dimensions = result.dimensions, words = result.words;
        const std::size_t pieces = pieces_for(place_, words, std::size_t{1} << 10, 1);
        std::vector<float> greatest(pieces * dimensions);
        const auto replace_smaller = [&](float* by, const float* row) {
            for (std::size_t j = 0; j < dimensions; ++j)
                if (std::fabs(row[j]) > std::fabs(by[j])) by[j] = row[j];
        };
        const auto for_each_row = [&](const auto& work) {
            for_each_piece(place_, pieces, [&](std::size_t p) {
                const item_range part = piece_of(words, pieces, p);
                for (std::size_t w = part.begin; w < part.end; ++w)
                    work(p, result.values.data() + w * dimensions);
            });
        };
        for_each_row(
            [&](std::size_t p, float* row) { replace_smaller(greatest.data() + p * dimensions, row); });
        for (std::size_t p = 1; p < pieces; ++p)
            replace_smaller(greatest.data(), greatest.data() + p * dimensions);
        for_each_row([&](std::size_t, float* row) {
            for (std::size_t j = 0; j < dimensions; ++j)
                if (greatest[j] < 0) row[j] = 0 - row[j];
        });
    }

    cpu_place& place_;
    const sparse_rows matrix_;
    const turned_rows turned_;
    const bool by_words_;
    const sparse_rows short_, long_;
    const svd_options options_;
    int exponent_ = 0;
    float scale_ = 1;
    std::size_t width_ = 0;  // columns of a block
    std::vector<dense_block> basis_, images_;
    std::vector<std::vector<double>> products_;
    eigen_pairs found_;  // of the first blocks_ blocks
    int exponent_of_products_ = 0;
    std::size_t blocks_ = 0;
};

}  // namespace

word_vectors truncated_svd(const context_matrix_view& matrix, const svd_options& options,
                           const context& ctx) {
    cpu_place place(ctx);
    const sparse_rows rows = checked(place, matrix, options);
    return truncation(place, rows, options).run();
}

}  // namespace quern
