// SPDX-License-Identifier: Apache-2.0
// Sums over rows are taken in chunks whose number depends only on the rows, and added in the order of the chunks. Free
// threads take the next chunk; the assignment does not change a bit.
//
// Orthonormalising: block Gram-Schmidt against the basis, then Cholesky's factor of the block's own products, both twice
// ("twice is enough": Giraud, Langou, Rozložník and van den Eshof 2005; CholeskyQR2: Yamamoto et al. 2015). The products
// are summed in double, where the squares of floats are exact, so Cholesky's factor tolerates a condition of 10^5.
#include "ops/word_similarity/vectors/svd.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"

namespace quern::word_similarity_detail {
namespace {

// splitmix64's finaliser (Steele, Lea and Flood 2014).
std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

// The value of a seed at a row and column: 24 bits, so that the float is exact.
float random_value(std::uint64_t seed, std::uint64_t row, std::uint64_t column) {
    const std::uint64_t bits = mixed(mixed(seed + 0x9e3779b97f4a7c15u * (row + 1)) + column);
    return static_cast<float>(static_cast<std::int32_t>(bits >> 40) - (1 << 23)) * 0x1p-23f;
}

// Rows of a chunk over which sums are taken: whole panels, and at most 64 chunks.
constexpr std::size_t panel_rows = 256;
std::size_t chunk_rows(std::size_t rows) {
    const std::size_t panels = (rows + panel_rows - 1) / panel_rows;
    return std::max<std::size_t>((panels + 63) / 64, 1) * panel_rows;
}

// Calls work(begin, end) for ranges of rows; the result does not depend on their bounds.
template <class Work>
void for_each_chunk(cpu_place& place, std::size_t rows, std::size_t each, const Work& work) {
    for_each_piece(place, (rows + each - 1) / each, [&](std::size_t p) {
        place.ctx().check_stop();
        work(p * each, std::min(rows, (p + 1) * each));
    });
}

// The first row of piece p of `pieces` with about equal numbers of entries.
std::size_t row_of_piece(const sparse_rows& matrix, std::size_t pieces, std::size_t p) {
    if (p == pieces) return matrix.rows;
    const std::uint64_t entry = piece_of(matrix.column.size() + matrix.rows, pieces, p).begin;
    std::size_t low = 0, high = matrix.rows;  // the cost of a row: its entries plus one
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (matrix.offsets[middle] + middle < entry)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Replaces the columns by an orthonormal basis of their span: Cholesky's factor R of `products`, and the block times its
// inverse. If a column's rest is below 10^-5 of its length (the root of length_squared), it is lost in rounding errors: R
// gets a row of zeros there and 1 on the diagonal, and `lost` the column.
struct triangle {
    std::size_t size;
    std::vector<double> values;  // by rows, upper
    std::vector<std::size_t> lost;

    triangle(std::size_t size_, std::vector<double> products, std::span<const double> length_squared)
        : size(size_), values(std::move(products)) {
        for (std::size_t k = 0; k < size; ++k) {
            double* const row = values.data() + k * size;
            if (!(row[k] > 1e-10 * length_squared[k])) {
                lost.push_back(k);
                std::fill(row, row + size, 0);
                row[k] = 1;
                continue;
            }
            const double root = std::sqrt(row[k]);
            for (std::size_t j = k; j < size; ++j) row[j] /= root;
            for (std::size_t i = k + 1; i < size; ++i)
                for (std::size_t j = i; j < size; ++j) values[i * size + j] -= row[i] * row[j];
        }
    }

    // Its inverse, also upper, without the lost columns.
    std::vector<float> inverse() const {
        std::vector<double> result(size * size);
        for (std::size_t j = 0; j < size; ++j) {
            result[j * size + j] = 1 / values[j * size + j];
            for (std::size_t i = j; i-- > 0;) {
                double sum = 0;
                for (std::size_t k = i + 1; k <= j; ++k) sum += values[i * size + k] * result[k * size + j];
                result[i * size + j] = -sum / values[i * size + i];
            }
        }
        for (const std::size_t j : lost)
            for (std::size_t i = 0; i < size; ++i) result[i * size + j] = 0;
        return {result.begin(), result.end()};
    }
};

// block −= Σ basis[i] · (its rows of products).
void take_off(cpu_place& place, std::span<const dense_block> basis, const std::vector<double>& products,
              dense_block& block) {
    std::vector<float> factors(products.size());
    std::transform(products.begin(), products.end(), factors.begin(),
                   [](double x) { return -static_cast<float>(x); });
    for_each_chunk(place, block.rows, panel_rows, [&](std::size_t begin, std::size_t end) {
        const float* b = factors.data();
        for (const dense_block& left : basis) {
            add_product(product<float>{end - begin, block.width, left.width, left.row(begin), left.width, 1,
                                       b, block.width, block.row(begin), block.width});
            b += left.width * block.width;
        }
    });
}

// block = block · factor.
void multiply_by(cpu_place& place, const std::vector<float>& factor, dense_block& block) {
    const std::size_t width = block.width;
    for_each_chunk(place, block.rows, panel_rows, [&](std::size_t begin, std::size_t end) {
        std::vector<float> old(block.row(begin), block.row(end));
        std::fill(block.row(begin), block.row(end), 0.0f);
        add_product(product<float>{end - begin, width, width, old.data(), width, 1, factor.data(), width,
                                   block.row(begin), width});
    });
}

}  // namespace

turned_rows::turned_rows(cpu_place& place, const sparse_rows& matrix)
    : rows_(matrix.columns),
      columns_(matrix.rows),
      offsets_(place, rows_ + 1, "the matrix turned over"),
      column_(place, matrix.column.size(), "the matrix turned over"),
      weight_(place, matrix.column.size(), "the matrix turned over") {
    // Each piece of the old rows counts its entries by new row, which gives their positions.
    const std::size_t pieces = pieces_for(place, matrix.column.size(), std::size_t{1} << 18, 1);
    const spilled_array<std::uint64_t> at(place, pieces * rows_, "the matrix turned over");
    const auto each_entry = [&](std::size_t p, std::uint64_t between_checks, const auto& work) {
        paced_checks checks(place.ctx(), between_checks);
        for (std::size_t r = row_of_piece(matrix, pieces, p), end = row_of_piece(matrix, pieces, p + 1);
             r < end; ++r) {
            for (std::uint64_t e = matrix.offsets[r]; e < matrix.offsets[r + 1]; ++e) {
                checks.after(1);
                work(r, e);
            }
        }
    };
    for_each_piece(place, pieces, [&](std::size_t p) {
        std::uint64_t* const count = at.data() + p * rows_;
        std::fill_n(count, rows_, std::uint64_t{0});
        each_entry(p, neighbouring_values, [&](std::size_t, std::uint64_t e) { ++count[matrix.column[e]]; });
    });
    std::uint64_t total = 0;
    paced_checks checks(place.ctx(), scattered_values);
    for (std::size_t r = 0; r < rows_; ++r) {
        checks.after(pieces);
        offsets_.data()[r] = total;
        for (std::size_t p = 0; p < pieces; ++p) {
            const std::uint64_t count = at.data()[p * rows_ + r];
            at.data()[p * rows_ + r] = total;
            total += count;
        }
    }
    offsets_.data()[rows_] = total;
    for_each_piece(place, pieces, [&](std::size_t p) {
        std::uint64_t* const next = at.data() + p * rows_;
        each_entry(p, scattered_values, [&](std::size_t r, std::uint64_t e) {
            const std::uint64_t to = next[matrix.column[e]]++;
            column_.data()[to] = static_cast<std::uint32_t>(r);
            weight_.data()[to] = matrix.weight[e];
        });
    });
}

dense_block multiply(cpu_place& place, const sparse_rows& matrix, float scale, const dense_block& x) {
    dense_block result(place, matrix.rows, x.width);
    const std::size_t pieces =
        pieces_for(place, matrix.column.size() + matrix.rows, std::size_t{1} << 14, 16);
    // An entry takes its row of x, wherever that lies.
    const std::uint64_t between_checks =
        x.values.spilled_bytes() != 0 ? entries_at_once : neighbouring_values;
    static_assert(neighbouring_values % entries_at_once == 0);
    for_each_piece(place, pieces, [&](std::size_t p) {
        paced_checks checks(place.ctx(), between_checks);
        for (std::size_t r = row_of_piece(matrix, pieces, p), end = row_of_piece(matrix, pieces, p + 1);
             r < end; ++r) {
            std::fill_n(result.row(r), x.width, 0.0f);
            for (std::uint64_t e = matrix.offsets[r], last = matrix.offsets[r + 1]; e < last;
                 e += between_checks) {
                const std::uint64_t entries = std::min(between_checks, last - e);
                checks.after(entries);
                multiply_row({matrix.column.data() + e, matrix.weight.data() + e, entries}, scale,
                             x.values.data(), x.width, result.row(r));
            }
        }
    });
    return result;
}

std::vector<std::vector<double>> inner_products(cpu_place& place, std::span<const dense_block> lefts,
                                                std::span<const right_block> rights) {
    const std::size_t rows = rights[0].block->rows, width = rights[0].block->width;
    const std::size_t square = width * width, panel_size = panel_rows * width;
    const std::size_t each = chunk_rows(rows), chunks = (rows + each - 1) / each;
    std::vector<std::size_t> begins{0};  // of the products of each right block
    for (const right_block& right : rights) begins.push_back(begins.back() + right.lefts * square);
    const std::size_t size = begins.back();
    std::vector<double> all(size);
    // Some chunks at a time, whose sums wait to be added in order. Few chunks are cut by their left blocks, too.
    const std::size_t at_once = std::min<std::size_t>(chunks, 2 * place.threads());
    const std::size_t wanted =
        at_once == 0 || at_once == 2 * place.threads() ? 1 : 4 * place.threads() / at_once;
    const std::size_t parts = std::clamp<std::size_t>(lefts.size() / 4, 1, wanted);
    const spilled_array<double> sums(place, at_once * size, "inner products");
    for (std::size_t first = 0; first < chunks; first += at_once) {
        const std::size_t count = std::min(at_once, chunks - first);
        for_each_piece(place, count * parts, [&](std::size_t piece) {
            const item_range mine = piece_of(lefts.size(), parts, piece % parts);
            const std::size_t begin = (first + piece / parts) * each, end = std::min(rows, begin + each);
            double* const out = sums.data() + piece / parts * size;
            for (std::size_t r = 0; r < rights.size(); ++r) {
                const std::size_t last = std::min(mine.end, rights[r].lefts);
                if (mine.begin < last)
                    std::fill(out + begins[r] + mine.begin * square, out + begins[r] + last * square, 0.0);
            }
            std::vector<double> panels(rights.size() * panel_size), left_panel(panel_size);
            for (std::size_t row = begin; row < end; row += panel_rows) {
                const std::size_t depth = std::min(panel_rows, end - row);
                place.ctx().check_stop();
                for (std::size_t r = 0; r < rights.size(); ++r)
                    widen(rights[r].block->row(row), depth * width, panels.data() + r * panel_size);
                for (std::size_t l = mine.begin; l < mine.end; ++l) {
                    widen(lefts[l].row(row), depth * width, left_panel.data());
                    for (std::size_t r = 0; r < rights.size(); ++r)
                        if (l < rights[r].lefts)
                            add_exact_product(product<double>{width, width, depth, left_panel.data(), 1,
                                                              width, panels.data() + r * panel_size, width,
                                                              out + begins[r] + l * square, width});
                }
            }
        });
        const std::size_t pieces = pieces_for(place, size, std::size_t{1} << 12);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const item_range part = piece_of(size, pieces, p);
            for (std::size_t s = 0; s < count; ++s)
                for (std::size_t i = part.begin; i < part.end; ++i) all[i] += sums.data()[s * size + i];
        });
    }
    std::vector<std::vector<double>> result;
    for (std::size_t r = 0; r < rights.size(); ++r)
        result.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(begins[r]),
                            all.begin() + static_cast<std::ptrdiff_t>(begins[r + 1]));
    return result;
}

std::vector<double> inner_products(cpu_place& place, std::span<const dense_block> lefts,
                                   const dense_block& right) {
    return std::move(inner_products(place, lefts, std::array{right_block{&right, lefts.size()}}).front());
}

void fill_randomly(cpu_place& place, std::uint64_t seed, dense_block& block) {
    for_each_chunk(place, block.rows, panel_rows, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r)
            for (std::size_t j = 0; j < block.width; ++j) block.row(r)[j] = random_value(seed, r, j);
    });
}

void orthonormalise(cpu_place& place, std::span<const dense_block> basis, std::uint64_t seed,
                    dense_block& block) {
    const std::size_t width = block.width;
    const std::span<const dense_block> self(&block, 1);
    std::vector<std::size_t> lost;
    unsigned clean = 0;  // rounds since a column was lost
    for (std::uint64_t round = 0; clean < 2; ++round) {
        for_each_chunk(place, lost.empty() ? 0 : block.rows, panel_rows,
                       [&](std::size_t begin, std::size_t end) {
                           for (std::size_t r = begin; r < end; ++r)
                               for (const std::size_t j : lost)
                                   block.row(r)[j] = random_value(mixed(seed + 1) + round, r, j);
                       });
        std::vector<double> length_squared(width), products = inner_products(place, self, block);
        for (std::size_t j = 0; j < width; ++j) length_squared[j] = products[j * width + j];
        if (!basis.empty()) {
            take_off(place, basis, inner_products(place, basis, block), block);
            products = inner_products(place, self, block);
        }
        const triangle factor(width, std::move(products), length_squared);
        multiply_by(place, factor.inverse(), block);
        lost = factor.lost;
        clean = lost.empty() ? clean + 1 : 0;
    }
}

void combine(cpu_place& place, std::span<const dense_block> lefts, const double* right, std::size_t stride,
             std::size_t columns, float* out) {
    const std::size_t width = whole_groups(columns);
    std::vector<float> factors;
    for (const dense_block& left : lefts)
        for (std::size_t k = 0; k < left.width; ++k, right += stride)
            for (std::size_t j = 0; j < width; ++j)
                factors.push_back(j < columns ? static_cast<float>(right[j]) : 0.0f);
    for_each_chunk(place, lefts.empty() ? 0 : lefts[0].rows, panel_rows,
                   [&](std::size_t begin, std::size_t end) {
                       std::vector<float> sums((end - begin) * width);
                       const float* b = factors.data();
                       for (const dense_block& left : lefts) {
                           add_product(product<float>{end - begin, width, left.width, left.row(begin),
                                                      left.width, 1, b, width, sums.data(), width});
                           b += left.width * width;
                       }
                       for (std::size_t r = begin; r < end; ++r)
                           std::copy_n(sums.data() + (r - begin) * width, columns, out + r * columns);
                   });
}

}  // namespace quern::word_similarity_detail
