// SPDX-License-Identifier: Apache-2.0
// One pass checks the matrix and marks the columns with entries; a second copies the kept part, unless that is the whole
// matrix.
#include "ops/word_similarity/exact/fixed_rows.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "quern/base/error.hpp"

namespace quern::word_similarity_detail {
namespace {

constexpr std::size_t entries_at_once = std::size_t{1} << 16;  ///< of a piece of work, about

/// Ranges of whole rows with about the same number of entries in every piece.
class row_pieces {
  public:
    row_pieces(const cpu_place& place, std::span<const std::uint64_t> offsets)
        : offsets_(offsets), pieces_(pieces_for(place, entries() + rows(), entries_at_once, 8)) {}

    std::size_t size() const { return pieces_; }
    item_range operator[](std::size_t p) const { return {begin_of(p), begin_of(p + 1)}; }

  private:
    std::uint64_t entries() const { return offsets_.empty() ? 0 : offsets_.back(); }
    std::size_t rows() const { return offsets_.empty() ? 0 : offsets_.size() - 1; }
    /// The first row where the entries and rows before it reach the share of the pieces before p.
    std::size_t begin_of(std::size_t p) const {
        if (p == pieces_) return rows();
        const std::uint64_t target = piece_of(entries() + rows(), pieces_, p).begin;
        std::size_t low = 0, high = rows();
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            if (offsets_[middle] + middle < target)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    std::span<const std::uint64_t> offsets_;
    std::size_t pieces_;
};

void require(bool fine, const char* what) {
    if (!fine) throw usage_error(what);
}

void check_offsets(const context_matrix_view& matrix) {
    require(matrix.words < passage_end, "the matrix has too many rows (expected fewer than 2^32 - 2)");
    require(matrix.columns.size() == matrix.weights.size(),
            "the matrix has different numbers of weights and columns");
    require(matrix.column_counts.size() < all_columns,
            "the matrix has too many columns (expected fewer than 2^32 - 1)");
    if (matrix.words == 0 && matrix.offsets.empty()) {
        require(matrix.columns.empty(), "the matrix's offsets do not cover its entries");
        return;
    }
    require(matrix.offsets.size() == std::size_t{matrix.words} + 1,
            "the matrix's number of offsets is not its number of rows plus 1");
    require(matrix.offsets.front() == 0 && matrix.offsets.back() == matrix.columns.size(),
            "the matrix's offsets do not cover its entries");
    for (std::size_t w = 0; w < matrix.words; ++w) {
        if (matrix.offsets[w] > matrix.offsets[w + 1])
            throw usage_error("row " + std::to_string(w) + " of the matrix ends before it begins");
    }
}

/// The first invalid row of [rows), and the reason; null if all are valid. Marks the columns found.
struct row_fault {
    std::size_t row = 0;
    const char* what = nullptr;
};
row_fault check_rows(const context& ctx, const context_matrix_view& matrix, item_range rows,
                     std::span<std::uint8_t> has_entry) {
    paced_checks checks(ctx, neighbouring_values);
    const std::size_t columns = matrix.column_counts.size();
    for (std::size_t w = rows.begin; w < rows.end; ++w) {
        checks.after(matrix.offsets[w + 1] - matrix.offsets[w]);
        std::uint64_t least = 0;  // minimum of the next column
        for (std::uint64_t i = matrix.offsets[w]; i < matrix.offsets[w + 1]; ++i) {
            const std::uint32_t column = matrix.columns[i];
            const float weight = matrix.weights[i];
            if (column >= columns) return {w, "has a column past the last"};
            if (column < least) return {w, "has columns that do not ascend"};
            if (!(weight > 0) || !std::isfinite(weight))
                return {w, "has a weight that is not a finite number above 0"};
            // One table for all threads: many read it and few write it.
            const std::atomic_ref mark(has_entry[column]);
            if (mark.load(std::memory_order_relaxed) == 0) mark.store(1, std::memory_order_relaxed);
            least = std::uint64_t{column} + 1;
        }
    }
    return {};
}

/// The columns with entries.
std::vector<std::uint8_t> checked_columns(cpu_place& place, const context_matrix_view& matrix) {
    const row_pieces pieces(place, matrix.offsets);
    std::vector<row_fault> faults(pieces.size());
    std::vector<std::uint8_t> has_entry(matrix.column_counts.size());
    for_each_piece(place, pieces.size(), [&](std::size_t p) {
        place.ctx().check_stop();
        faults[p] = check_rows(place.ctx(), matrix, pieces[p], has_entry);
    });
    for (const row_fault& fault : faults) {
        if (fault.what != nullptr)
            throw usage_error("row " + std::to_string(fault.row) + " of the matrix " + fault.what);
    }
    return has_entry;
}

/// Unmarks all but the `max` columns with the highest counts; among equal ones the lower come first.
void keep_most_frequent(std::span<const std::uint64_t> counts, std::uint32_t max,
                        std::vector<std::uint8_t>& marked) {
    if (max >= counts.size()) return;
    std::vector<std::uint32_t> order(counts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::nth_element(order.begin(), order.begin() + max, order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return counts[a] != counts[b] ? counts[a] > counts[b] : a < b;
    });
    std::for_each(order.begin() + max, order.end(), [&](std::uint32_t c) { marked[c] = 0; });
}

/// The largest bits, at most `max`, with which a row of these sums stays below 2^62: its real sum may exceed the double by
/// less than 2^-20 of it, and every rounding adds at most 1.
int bits_for(double greatest, std::uint64_t longest, int max) {
    int bits = max;
    while (std::ldexp(greatest * (1 + 0x1p-20), bits) + static_cast<double>(longest) >= 0x1p62) --bits;
    return bits;
}

}  // namespace

owned_rows restrict_columns(cpu_place& place, const context_matrix_view& matrix, std::uint32_t columns) {
    check_offsets(matrix);
    std::vector<std::uint8_t> kept = checked_columns(place, matrix);
    keep_most_frequent(matrix.column_counts, columns, kept);

    owned_rows result;
    result.rows.words = matrix.words;
    result.rows.column_count = static_cast<std::uint32_t>(std::count(kept.begin(), kept.end(), 1));
    if (result.rows.column_count == kept.size() && !matrix.offsets.empty()) {
        result.rows.offsets = matrix.offsets;
        result.rows.columns = matrix.columns;
        result.rows.weights = matrix.weights;
        return result;
    }

    const row_pieces pieces(place, matrix.offsets);
    result.offsets = cpu_array<std::uint64_t>(place, std::size_t{matrix.words} + 1, "offsets of rows");
    const std::span<std::uint64_t> offsets = result.offsets.span();
    offsets[0] = 0;
    for_each_piece(place, pieces.size(), [&](std::size_t p) {
        const item_range rows = pieces[p];
        paced_checks checks(place.ctx(), neighbouring_values);
        for (std::size_t w = rows.begin; w < rows.end; ++w) {
            checks.after(matrix.offsets[w + 1] - matrix.offsets[w]);
            std::uint64_t count = 0;
            for (std::uint64_t i = matrix.offsets[w]; i < matrix.offsets[w + 1]; ++i)
                count += kept[matrix.columns[i]];
            offsets[w + 1] = count;
        }
    });
    std::inclusive_scan(offsets.begin(), offsets.end(), offsets.begin());

    std::vector<std::uint32_t> numbers(kept.size());
    std::exclusive_scan(kept.begin(), kept.end(), numbers.begin(), std::uint32_t{0});
    result.columns = spilled_array<std::uint32_t>(place, offsets.back(), "columns of rows");
    result.weights = spilled_array<float>(place, offsets.back(), "weights of rows");
    for_each_piece(place, pieces.size(), [&](std::size_t p) {
        paced_checks checks(place.ctx(), neighbouring_values);
        const item_range rows = pieces[p];
        for (std::size_t w = rows.begin; w < rows.end; ++w) {
            checks.after(matrix.offsets[w + 1] - matrix.offsets[w]);
            std::uint64_t at = offsets[w];
            for (std::uint64_t i = matrix.offsets[w]; i < matrix.offsets[w + 1]; ++i) {
                if (kept[matrix.columns[i]] == 0) continue;
                result.columns.data()[at] = numbers[matrix.columns[i]];
                result.weights.data()[at++] = matrix.weights[i];
            }
        }
    });
    result.rows.offsets = offsets;
    result.rows.columns = result.columns.span();
    result.rows.weights = result.weights.span();
    return result;
}

void fix_sums(cpu_place& place, fixed_rows& rows) {
    const row_pieces pieces(place, rows.offsets);
    struct greatest_row {
        double sum = 0, squares = 0;
        std::uint64_t entries = 0;
    };
    std::vector<greatest_row> greatest(pieces.size());
    for_each_piece(place, pieces.size(), [&](std::size_t p) {
        paced_checks checks(place.ctx(), neighbouring_values);
        greatest_row max;
        for (std::size_t w = pieces[p].begin; w < pieces[p].end; ++w) {
            checks.after(rows.offsets[w + 1] - rows.offsets[w]);
            double sum = 0, squares = 0;
            for (std::uint64_t i = rows.offsets[w]; i < rows.offsets[w + 1]; ++i) {
                const double weight = rows.weights[i];
                sum += weight;
                squares += weight * weight;
            }
            max = {std::max(max.sum, sum), std::max(max.squares, squares),
                   std::max(max.entries, rows.offsets[w + 1] - rows.offsets[w])};
        }
        greatest[p] = max;
    });
    greatest_row max;
    for (const greatest_row& g : greatest)
        max = {std::max(max.sum, g.sum), std::max(max.squares, g.squares), std::max(max.entries, g.entries)};
    rows.bits = bits_for(max.sum, max.entries, 44);
    rows.product_bits = bits_for(max.squares, max.entries, 60);

    const fixed_scale fixed(rows.bits), fixed_product(rows.product_bits);
    rows.sums.assign(rows.words, 0);
    rows.squares.assign(rows.words, 0);
    for_each_piece(place, pieces.size(), [&](std::size_t p) {
        paced_checks checks(place.ctx(), neighbouring_values);
        for (std::size_t w = pieces[p].begin; w < pieces[p].end; ++w) {
            checks.after(rows.offsets[w + 1] - rows.offsets[w]);
            std::uint64_t sum = 0, squares = 0;
            for (std::uint64_t i = rows.offsets[w]; i < rows.offsets[w + 1]; ++i) {
                const double weight = rows.weights[i];
                sum += fixed(weight);
                squares += fixed_product(weight * weight);
            }
            rows.sums[w] = sum;
            rows.squares[w] = squares;
        }
    });
}

}  // namespace quern::word_similarity_detail
