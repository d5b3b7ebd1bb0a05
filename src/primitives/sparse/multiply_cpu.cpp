// SPDX-License-Identifier: Apache-2.0
// y = A·x on the CPU. Vectors sum rows with an error bound (sum_kernels.hpp). A row that the bound leaves open is summed
// again: as the sum of two doubles, which is exact for integers and similar values, otherwise in a long accumulator
// (exact_sum.hpp). Every method gives the same bits, so free threads take pieces of rows, of entries and of blocks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "primitives/sparse/multiply.hpp"
#include "primitives/sparse/open_row.hpp"
#include "primitives/sparse/sum_kernels.hpp"
#include "primitives/sparse/vectors.hpp"

namespace quern::primitives {
namespace {

using namespace sparse_detail;

constexpr std::size_t lanes = 32;
constexpr std::size_t piece_work = std::size_t{1} << 15;  // entries and rows
constexpr std::size_t batch_rows = max_scanned;
constexpr std::size_t long_row = std::size_t{1} << 17;  // entries that all threads share

/// Gathers of floats take signed 32-bit indices. Larger matrices are summed without vectors.
template <floating_value Value>
bool vectors_serve(std::uint32_t columns) {
    return std::is_same_v<Value, double> || columns <= std::uint32_t{1} << 31;
}

template <class Matrix, floating_value Value>
entries<Value> entries_of(const Matrix& matrix, std::span<const Value> x) {
    return {matrix.column.data(), matrix.value.data(), matrix.column.size(), x.data()};
}

template <floating_value Value>
Value sum_open_range(const entries<Value>& from, std::uint64_t begin, std::uint64_t end) {
    return sum_open_row<Value>([&](auto&& use) {
        for (std::uint64_t e = begin; e < end; ++e) use(from.value[e], from.x[from.column[e]]);
    });
}

/// Rows that are too long for one thread, recorded while the others are summed.
class long_rows {
  public:
    struct row {
        std::uint64_t begin, end;
        std::size_t y;
    };
    void note(const row& found) {
        const std::lock_guard lock(mutex_);
        rows_.push_back(found);
    }
    /// Sums them, each with all threads.
    template <floating_value Value>
    void sum(cpu_place& place, const entries<Value>& from, std::span<Value> y) const {
        for (const row& one : rows_) {
            const std::size_t size = one.end - one.begin, pieces = pieces_for(place, size, piece_work, 4);
            std::vector<row_part> parts(pieces);
            for_each_piece(place, pieces, [&](std::size_t p) {
                place.ctx().check_stop();
                const auto [begin, end] = piece_of(size, pieces, p);
                parts[p] = sum_range(from, one.begin + begin, one.begin + end);
            });
            row_part whole;
            for (const row_part& part : parts) whole.add(part);
            if (!settle_row(whole, y[one.y])) y[one.y] = sum_open_range(from, one.begin, one.end);
        }
    }

  private:
    std::mutex mutex_;
    std::vector<row> rows_;
};

/// y[i] for rows [0, rows) of `offsets`; open rows are summed again.
template <floating_value Value>
void sum_batch(const entries<Value>& from, const std::uint64_t* offsets, std::size_t rows, bool vectors,
               Value* y) {
    std::uint32_t open[batch_rows];
    std::size_t opened = rows;
    if (vectors)
        opened = sum_rows(from, offsets, rows, y, open);
    else
        for (std::size_t i = 0; i < rows; ++i) open[i] = static_cast<std::uint32_t>(i);
    for (std::size_t i = 0; i < opened; ++i) {
        Value& found = y[open[i]];
        const std::uint64_t begin = offsets[open[i]], end = offsets[open[i] + 1];
        if constexpr (std::is_same_v<Value, double>) {
            if (found == 0 && adds_nothing(from, begin, end)) continue;  // all finite, and the sum is +0
        }
        found = sum_open_range(from, begin, end);
    }
}

/// The first row where the offsets and rows before it reach `work`.
std::size_t row_at(std::span<const std::uint64_t> offsets, std::uint64_t work) {
    std::size_t low = 0, high = offsets.size() - 1;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (offsets[middle] + middle < work)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

}  // namespace

template <floating_value Value>
void multiply(cpu_place& place, const csr_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y) {
    check_vectors<Value>(matrix, x, y);
    const entries<Value> from = entries_of(matrix, x);
    const std::span<const std::uint64_t> offsets = matrix.offsets.span();
    const bool vectors = vectors_serve<Value>(matrix.columns);
    const std::size_t work = matrix.column.size() + y.size();
    const std::size_t pieces = pieces_for(place, work, piece_work, 64);
    const bool share = place.threads() > 1 && vectors;
    long_rows shared;
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto piece = piece_of(work, pieces, p);
        const std::size_t end = row_at(offsets, piece.end);
        for (std::size_t begin = row_at(offsets, piece.begin); begin < end;) {
            place.ctx().check_stop();
            std::size_t stop = std::min(begin + batch_rows, end);
            if (share && offsets[stop] - offsets[begin] >= long_row) {
                const auto is_long = [&](std::size_t i) { return offsets[i + 1] - offsets[i] >= long_row; };
                std::size_t i = begin;
                while (i < stop && !is_long(i)) ++i;
                if (i == begin) {
                    shared.note({offsets[i], offsets[i + 1], i});
                    ++begin;
                    continue;
                }
                stop = i;
            }
            sum_batch(from, offsets.data() + begin, stop - begin, vectors, y.data() + begin);
            begin = stop;
        }
    });
    shared.sum(place, from, y);
}

template <floating_value Value>
void multiply(cpu_place& place, const coo_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y) {
    check_vectors<Value>(matrix, x, y);
    fill_zero(place, y);
    const entries<Value> from = entries_of(matrix, x);
    const std::span<const std::uint32_t> row = matrix.row.span();
    const bool vectors = vectors_serve<Value>(matrix.columns);
    const std::size_t pieces = pieces_for(place, row.size(), piece_work, 64);
    const bool share = place.threads() > 1 && vectors;
    long_rows shared;
    const auto row_begin = [&](std::size_t at) {  // the first entry from `at` on that begins a row
        if (at == 0 || at == row.size()) return at;
        return static_cast<std::size_t>(
            std::upper_bound(row.begin() + static_cast<std::ptrdiff_t>(at), row.end(), row[at - 1]) -
            row.begin());
    };
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto piece = piece_of(row.size(), pieces, p);
        const std::size_t end = row_begin(piece.end);
        std::size_t at = row_begin(piece.begin), begun = 0;
        std::uint64_t begins[batch_rows + 1];
        Value sums[batch_rows];
        while (at < end || begun != 0) {
            place.ctx().check_stop();
            if (at == 0) begins[begun++] = at++;
            const std::size_t scanned = std::min(end, at + batch_rows - begun);
            begun += find_row_begins(row.data(), at, scanned, begins + begun);
            at = scanned;
            if (at < end && begun < batch_rows) continue;
            std::size_t whole = begun;  // rows whose end is known
            if (at == end || row[at] != row[at - 1])
                begins[begun] = at;
            else
                --whole;
            const std::uint64_t carried = begins[whole];
            std::size_t first = 0;
            for (std::size_t i = 0; i < whole; ++i) {
                const bool alone = share && begins[i + 1] - begins[i] >= long_row;
                if (!alone && i + 1 < whole) continue;
                const std::size_t stop = alone ? i : i + 1;
                sum_batch(from, begins + first, stop - first, vectors, sums + first);
                for (std::size_t k = first; k < stop; ++k) y[row[begins[k]]] = sums[k];
                if (alone) shared.note({begins[i], begins[i + 1], row[begins[i]]});
                first = i + 1;
            }
            begun = 0;
            if (carried != at) begins[begun++] = carried;
        }
    });
    shared.sum(place, from, y);
}

template <floating_value Value>
void multiply(cpu_place& place, const ell_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y) {
    check_vectors<Value>(matrix, x, y);
    const entries<Value> from = entries_of(matrix, x);
    const bool vectors = vectors_serve<Value>(matrix.columns);
    const std::size_t rows = matrix.rows, tiles = (rows + max_tile_rows - 1) / max_tile_rows;
    const std::size_t pieces = pieces_for(place, tiles, 1, 64);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto piece = piece_of(tiles, pieces, p);
        for (std::size_t t = piece.begin; t < piece.end; ++t) {
            place.ctx().check_stop();
            const std::size_t first = t * max_tile_rows, count = std::min(max_tile_rows, rows - first);
            std::uint32_t open[max_tile_rows];
            std::size_t opened = count;
            if (vectors)
                opened = sum_tile(from, first, count, rows, matrix.width, y.data() + first, open);
            else
                for (std::size_t i = 0; i < count; ++i) open[i] = static_cast<std::uint32_t>(i);
            for (std::size_t i = 0; i < opened; ++i) {
                y[first + open[i]] = sum_open_row<Value>([&](auto&& use) {  // all padding is at the end
                    for (std::size_t k = 0, e = first + open[i]; k < matrix.width; ++k, e += rows) {
                        if (from.column[e] == no_index) break;
                        use(from.value[e], x[from.column[e]]);
                    }
                });
            }
        }
    });
}

namespace {

/// A product in brcp: threads take groups of blocks that contain whole rows.
template <floating_value Value>
class block_product {
  public:
    block_product(cpu_place& place, const brcp_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
                  std::span<Value> y)
        : place_(place),
          from_(entries_of(matrix, x)),
          begins_(matrix.block_ptr.span()),
          row_(matrix.row_perm.span()),
          run_(matrix.row_seg_len.data()),
          blocks_(begins_.size() - 1),
          vectors_(vectors_serve<Value>(matrix.columns)),
          y_(y) {}

    void run() {
        const std::size_t work = begins_[blocks_] + blocks_;  // one step per slot and block
        const std::size_t pieces = pieces_for(place_, work, piece_work, 64);
        wide_ =
            place_.threads() > 1 && vectors_ ? std::max(4 * long_row, work / place_.threads() / 4) : work + 1;
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const auto piece = piece_of(work, pieces, p);
            sum_piece(group_begin(row_at(begins_, piece.begin)), group_begin(row_at(begins_, piece.end)));
        });
        for (const group& shared : shared_) sum_shared(shared);
    }

  private:
    struct group {
        std::size_t begin, end;
    };

    /// The first block from `b` on that begins with a new row.
    std::size_t group_begin(std::size_t b) const {
        while (b != 0 && b < blocks_ && row_[b * lanes] == row_[b * lanes - 1]) ++b;
        return b;
    }
    bool is_wide(const group& some) const { return begins_[some.end] - begins_[some.begin] >= wide_; }

    void sum_piece(std::size_t b, std::size_t end) {
        std::vector<std::uint64_t> open;
        while (b < end) {
            place_.ctx().check_stop();
            group some{b, group_begin(b + 1)};
            if (is_wide(some)) {
                const std::lock_guard lock(mutex_);
                shared_.push_back(some);
            } else {
                for (group next{some.end, 0}; some.end < end && some.end - b < batch_blocks;
                     next = {some.end, 0}) {
                    next.end = group_begin(next.begin + 1);
                    if (is_wide(next)) break;
                    some.end = next.end;
                }
                open.clear();
                if (vectors_)
                    sum_blocks(from_, {begins_.data(), row_.data(), run_}, b, some.end, y_.data(), open);
                else
                    note_all(some, open);
                for (const std::uint64_t at : open) sum_open_lanes(at);
            }
            b = some.end;
        }
    }
    void note_all(const group& some, std::vector<std::uint64_t>& open) const {
        for (std::size_t l = some.begin * lanes; l < some.end * lanes; ++l)
            if (row_[l] != no_index && (l == 0 || row_[l] != row_[l - 1])) open.push_back(l);
    }
    /// For the row that begins at lane `at` of all.
    void sum_open_lanes(std::uint64_t at) {
        const std::uint32_t here = row_[at];
        y_[here] = sum_open_row<Value>([&](auto&& use) {
            for (std::uint64_t l = at; l < row_.size() && row_[l] == here; ++l) {
                for (std::uint64_t e = begins_[l / lanes] + l % lanes; e < begins_[l / lanes + 1];
                     e += lanes) {
                    if (from_.column[e] == no_index) break;
                    use(from_.value[e], from_.x[from_.column[e]]);
                }
            }
        });
    }
    /// A group that is a large part of the work: all threads share each of its blocks.
    void sum_shared(const group& some) {
        std::vector<row_part> all((some.end - some.begin) * lanes);
        for (std::size_t b = some.begin; b < some.end; ++b) {
            const std::size_t columns = (begins_[b + 1] - begins_[b]) / lanes;
            const std::size_t pieces = pieces_for(place_, columns, piece_work / lanes, 4);
            std::vector<row_part> parts(pieces * lanes);
            for_each_piece(place_, pieces, [&](std::size_t p) {
                place_.ctx().check_stop();
                const auto [begin, end] = piece_of(columns, pieces, p);
                sum_block_part(from_, begins_[b] + begin * lanes, begins_[b] + end * lanes,
                               parts.data() + p * lanes);
            });
            for (std::size_t i = 0; i < parts.size(); ++i)
                all[(b - some.begin) * lanes + i % lanes].add(parts[i]);
        }
        const std::uint64_t first = some.begin * lanes;
        for (std::size_t l = 0; l < all.size() && row_[first + l] != no_index;) {
            const std::size_t begin = l;
            row_part whole;
            for (; l < all.size() && row_[first + l] == row_[first + begin]; ++l) whole.add(all[l]);
            if (!settle_row(whole, y_[row_[first + begin]])) sum_open_lanes(first + begin);
        }
    }

    static constexpr std::size_t batch_blocks = 64;
    cpu_place& place_;
    entries<Value> from_;
    std::span<const std::uint64_t> begins_;
    std::span<const std::uint32_t> row_;
    const std::uint32_t* run_;
    std::size_t blocks_;
    bool vectors_;
    std::span<Value> y_;
    std::size_t wide_ = 0;  ///< slots that make a group wide
    std::mutex mutex_;
    std::vector<group> shared_;
};

}  // namespace

template <floating_value Value>
void multiply(cpu_place& place, const brcp_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y) {
    check_vectors<Value>(matrix, x, y);
    fill_zero(place, y);
    block_product<Value>(place, matrix, x, y).run();
}

#define QUERN_MULTIPLY(VALUE)                                                                        \
    template void multiply(cpu_place&, const coo_matrix<cpu_place, VALUE>&, std::span<const VALUE>,  \
                           std::span<VALUE>);                                                        \
    template void multiply(cpu_place&, const csr_matrix<cpu_place, VALUE>&, std::span<const VALUE>,  \
                           std::span<VALUE>);                                                        \
    template void multiply(cpu_place&, const ell_matrix<cpu_place, VALUE>&, std::span<const VALUE>,  \
                           std::span<VALUE>);                                                        \
    template void multiply(cpu_place&, const brcp_matrix<cpu_place, VALUE>&, std::span<const VALUE>, \
                           std::span<VALUE>);
QUERN_MULTIPLY(float)
QUERN_MULTIPLY(double)
#undef QUERN_MULTIPLY

}  // namespace quern::primitives
