// SPDX-License-Identifier: Apache-2.0
// Sparse vectors: Matrix Market, and big-ann-benchmarks' .csr (rows, columns, entries, then the row offsets, all
// 64-bit; then the columns, int32, and the values, float32). A .csr whose columns rise in every row stays in place.
// Otherwise, and always for Matrix Market, rows are sorted and duplicate entries are added up.
#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "io/matrix/matrix_market.hpp"
#include "io/matrix/read_matrix.hpp"
#include "io/vectors/vector_file_state.hpp"

namespace quern::io {
namespace {

constexpr std::uint64_t max_rows = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::uint64_t max_columns = std::numeric_limits<std::uint32_t>::max();

/// Processes ranges of rows with balanced numbers of entries.
template <class Work>
void over_sparse_rows(cpu_place& place, std::uint64_t rows, std::uint64_t entries, const Work& work) {
    over_rows(place, rows, 16 * (entries / std::max<std::uint64_t>(rows, 1)) + 16, work);
}

/// Sorts a row and merges duplicates. Returns the number of remaining entries.
std::uint64_t tidy_row(std::span<std::uint32_t> columns, std::span<double> values,
                       std::vector<std::pair<std::uint32_t, double>>& row) {
    row.clear();
    for (std::size_t e = 0; e < columns.size(); ++e) row.emplace_back(columns[e], values[e]);
    std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::uint64_t kept = 0;
    for (const auto& [column, value] : row) {
        if (kept != 0 && columns[kept - 1] == column) {
            values[kept - 1] += value;
        } else {
            columns[kept] = column;
            values[kept] = value;
            ++kept;
        }
    }
    return kept;
}

bool rises(std::span<const std::uint32_t> columns) {
    for (std::size_t e = 1; e < columns.size(); ++e)
        if (columns[e] <= columns[e - 1]) return false;
    return true;
}

class sparse_maker {
  public:
    explicit sparse_maker(vector_reading& reading) : reading_(reading) {}

    /// Rows in any order → the file's vectors.
    void make(matrix_rows& matrix) {
        vector_file::state& made = reading_.made;
        const std::uint64_t rows = matrix.rows, entries = matrix.column.size();
        made.offsets = large_array<std::uint64_t>(reading_.place.memory(), "sparse vectors", rows + 1);
        over_sparse_rows(reading_.place, rows, entries, [&](std::uint64_t begin, std::uint64_t end) {
            std::vector<std::pair<std::uint32_t, double>> row;
            for (std::uint64_t i = begin; i < end; ++i) {
                const std::uint64_t from = matrix.offsets[i], count = matrix.offsets[i + 1] - from;
                const auto columns = matrix.column.span().subspan(from, count);
                made.offsets[i + 1] =
                    rises(columns) ? count : tidy_row(columns, matrix.value.span().subspan(from, count), row);
            }
        });
        for (std::uint64_t i = 0; i < rows; ++i) made.offsets[i + 1] += made.offsets[i];
        const std::uint64_t kept = made.offsets[rows];
        made.columns = large_array<std::uint32_t>(reading_.place.memory(), "sparse vectors", kept);
        made.entries = large_array<float>(reading_.place.memory(), "sparse vectors", kept);
        std::atomic<std::uint64_t> first_bad{nowhere};
        over_sparse_rows(reading_.place, rows, entries, [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; ++i) {
                const std::uint64_t from = matrix.offsets[i], to = made.offsets[i];
                for (std::uint64_t e = 0; e < made.offsets[i + 1] - to; ++e) {
                    const double value = matrix.value[from + e];
                    made.columns[to + e] = matrix.column[from + e];
                    made.entries[to + e] = static_cast<float>(value);
                    if (std::isinf(made.entries[to + e]) && !std::isinf(value)) return lower_to(first_bad, i);
                }
            }
        });
        if (first_bad.load() != nowhere)
            reading_.refuse("row " + std::to_string(first_bad.load()) + " holds a value beyond float32");
        made.offsets.settle();
        made.columns.settle();
        made.entries.settle();
        show({made.offsets.data(), rows + 1}, made.columns.span(), made.entries.span(), rows, matrix.columns);
        if (kept != entries)
            made.notes.push_back(std::to_string(entries - kept) +
                                 " entries repeated the position of another; their values were added up");
    }

    void show(std::span<const std::uint64_t> offsets, std::span<const std::uint32_t> columns,
              std::span<const float> values, std::uint64_t rows, std::uint64_t dimensions) {
        if (rows > max_rows || dimensions == 0 || dimensions > max_columns) {
            reading_.refuse(std::to_string(rows) + " rows and " + std::to_string(dimensions) +
                            " columns; there are at most " + std::to_string(max_rows) + " vectors, of 1 to " +
                            std::to_string(max_columns) + " dimensions");
        }
        reading_.made.is_sparse = true;
        reading_.made.sparse = {rows, static_cast<std::uint32_t>(dimensions), offsets, columns, values};
    }

    /// An array: dense vectors, whose entries are stored row by row.
    void make_dense(const matrix_rows& matrix) {
        const std::uint64_t columns = matrix.columns;
        if (columns == 0) reading_.refuse("rows of 0 numbers; a vector has 1 and more");
        auto& values = reading_.made.values;
        values =
            large_array<std::byte>(reading_.place.memory(), "vectors", matrix.value.size() * sizeof(float));
        auto* const out = reinterpret_cast<float*>(values.data());
        std::atomic<std::uint64_t> first_bad{nowhere};
        over_rows(reading_.place, matrix.rows, 8 * columns, [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t e = begin * columns; e < end * columns; ++e) {
                out[e] = static_cast<float>(matrix.value[e]);
                if (std::isinf(out[e]) && !std::isinf(matrix.value[e]))
                    return lower_to(first_bad, e / columns);
            }
        });
        if (first_bad.load() != nowhere)
            reading_.refuse("row " + std::to_string(first_bad.load()) + " holds a value beyond float32");
        values.settle();
        reading_.made.dense = {vector_type::f32, matrix.rows, matrix.columns, 4 * columns, values.span()};
    }

  private:
    vector_reading& reading_;
};

// ---- .csr ----

class csr_reader {
  public:
    explicit csr_reader(vector_reading& reading) : reading_(reading) {}

    void read() {
        constexpr std::uint64_t header = 24;
        const auto bytes = reading_.bytes();
        if (bytes.size() < header)
            reading_.refuse("the file ends within the header at offset " + std::to_string(bytes.size()));
        std::int64_t sizes[3];
        std::memcpy(sizes, bytes.data(), sizeof sizes);
        const std::string says = "says " + std::to_string(sizes[0]) + " rows, " + std::to_string(sizes[1]) +
                                 " columns and " + std::to_string(sizes[2]) + " entries at offset 0";
        if (sizes[0] < 0 || static_cast<std::uint64_t>(sizes[0]) > max_rows || sizes[1] < 1 ||
            static_cast<std::uint64_t>(sizes[1]) > max_columns || sizes[2] < 0) {
            reading_.refuse(says + "; there are at most " + std::to_string(max_rows) + " rows, 1 to " +
                            std::to_string(max_columns) + " columns, and 0 or more entries");
        }
        rows_ = static_cast<std::uint64_t>(sizes[0]);
        dimensions_ = static_cast<std::uint64_t>(sizes[1]);
        const auto entries = static_cast<std::uint64_t>(sizes[2]);
        const std::uint64_t columns_at = header + 8 * (rows_ + 1);
        if (entries >> 60 != 0 || bytes.size() != columns_at + 8 * entries) {
            reading_.refuse(
                says + ", which take " +
                (entries >> 60 != 0 ? "more than 2^63" : std::to_string(columns_at + 8 * entries)) +
                " bytes, but the file ends at offset " + std::to_string(bytes.size()));
        }
        offsets_ = part<std::uint64_t>(header, rows_ + 1);
        columns_ = part<std::uint32_t>(columns_at, entries);
        values_ = part<float>(columns_at + 4 * entries, entries);
        check_offsets(header, entries);
        if (check_columns(columns_at))
            sparse_maker(reading_).show(offsets_, columns_, values_, rows_, dimensions_);
        else
            sort_rows();
    }

  private:
    template <class T>
    std::span<const T> part(std::uint64_t offset, std::uint64_t count) const {
        return {reinterpret_cast<const T*>(reading_.bytes().data() + offset), count};
    }

    void check_offsets(std::uint64_t at, std::uint64_t entries) const {
        std::uint64_t before = 0;
        for (std::uint64_t i = 0; i <= rows_; ++i) {
            const std::uint64_t now = offsets_[i];
            const bool right =
                now >= before && now <= entries && (i > 0 || now == 0) && (i < rows_ || now == entries);
            if (!right) {
                reading_.refuse("row " + std::to_string(i) + " begins with entry " +
                                std::to_string(static_cast<std::int64_t>(now)) + " at offset " +
                                std::to_string(at + 8 * i) + "; they rise from 0 to " +
                                std::to_string(entries));
            }
            before = now;
        }
    }

    /// Whether they rise in every row.
    bool check_columns(std::uint64_t at) const {
        std::atomic<std::uint64_t> first_bad{nowhere};
        std::atomic<bool> all_rise{true};
        over_sparse_rows(reading_.place, rows_, columns_.size(), [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t e = offsets_[begin]; e < offsets_[end]; ++e)
                if (columns_[e] >= dimensions_) return lower_to(first_bad, e);
            for (std::uint64_t i = begin; i < end; ++i)
                if (!rises(columns_.subspan(offsets_[i], offsets_[i + 1] - offsets_[i]))) all_rise = false;
        });
        if (const std::uint64_t bad = first_bad.load(); bad != nowhere) {
            const auto row = std::upper_bound(offsets_.begin(), offsets_.end(), bad) - offsets_.begin() - 1;
            reading_.refuse("row " + std::to_string(row) + " has an entry in column " +
                            std::to_string(static_cast<std::int32_t>(columns_[bad])) + " at offset " +
                            std::to_string(at + 4 * bad) + "; there are " + std::to_string(dimensions_) +
                            " columns");
        }
        return all_rise.load();
    }

    void sort_rows() {
        cpu_place& place = reading_.place;
        matrix_rows copied{static_cast<std::uint32_t>(rows_), static_cast<std::uint32_t>(dimensions_),
                           large_array<std::uint64_t>(place.memory(), "sparse vectors", rows_ + 1),
                           large_array<std::uint32_t>(place.memory(), "sparse vectors", columns_.size()),
                           large_array<double>(place.memory(), "sparse vectors", values_.size())};
        std::copy(offsets_.begin(), offsets_.end(), copied.offsets.data());
        over_rows(place, columns_.size(), 8, [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t e = begin; e < end; ++e) {
                copied.column[e] = columns_[e];
                copied.value[e] = values_[e];
            }
        });
        sparse_maker(reading_).make(copied);
        reading_.made.notes.insert(reading_.made.notes.begin(),
                                   "the columns of some rows were not in ascending order, and were sorted");
        reading_.made.file.let_go();
    }

    vector_reading& reading_;
    std::uint64_t rows_ = 0, dimensions_ = 0;
    std::span<const std::uint64_t> offsets_;
    std::span<const std::uint32_t> columns_;
    std::span<const float> values_;
};

}  // namespace

void read_matrix_market(vector_reading& reading) {
    const context& ctx = reading.place.ctx();
    const std::string_view text = reading.text();
    const std::string banner = lower(text.substr(0, text.find('\n')));
    matrix_rows matrix = read_matrix(*open_bytes_memory(text, reading.made.file.name(), ctx), ctx);
    if (banner.find("array") != std::string::npos)
        sparse_maker(reading).make_dense(matrix);
    else
        sparse_maker(reading).make(matrix);
    reading.made.file.let_go();
}

void read_csr(vector_reading& reading) {
    csr_reader(reading).read();
}

}  // namespace quern::io
