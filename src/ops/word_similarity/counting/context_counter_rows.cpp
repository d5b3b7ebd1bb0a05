// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/counting/context_counter_rows.hpp"

#include <algorithm>
#include <cstring>

#include "base/release.hpp"
#include "device/cpu/huge_pages.hpp"
#include "device/cpu/parallel.hpp"

namespace quern::word_similarity_detail {
namespace {

/// Resizes `values`, whose memory all threads fault in first: clearing fresh pages costs more than the copy.
template <class T>
void resize_on_all_threads(cpu_place& host, std::vector<T>& values, std::size_t size) {
    values.reserve(size);
    const std::size_t bytes = size * sizeof(T);
    auto* const memory = reinterpret_cast<volatile char*>(values.data());
    wish_for_huge_pages(values.data(), bytes);
    constexpr std::size_t chunk_bytes = std::size_t{1} << 21, page = 4096;
    for_each_piece(host, (bytes + chunk_bytes - 1) / chunk_bytes, [&](std::size_t s) {
        for (std::size_t at = s * chunk_bytes; at < std::min(bytes, (s + 1) * chunk_bytes); at += page)
            memory[at] = 0;
    });
    values.resize(size);
}

template <class T>
void copy_ranges(cpu_place& host, const std::vector<row_piece>& pieces,
                 const std::vector<std::size_t>& begins, const T* row_range::*part, std::vector<T>& out) {
    resize_on_all_threads(host, out, begins.back());
    for_each_piece(host, pieces.size(), [&](std::size_t p) {
        T* to = out.data() + begins[p];
        for (const row_range& from : pieces[p]) {
            std::memcpy(to, from.*part, from.size * sizeof(T));
            to += from.size;
        }
    });
}

}  // namespace

void row_lane::make_room(std::size_t entries) {
    if (capacity_ - used_ >= entries) return;
    constexpr std::size_t least = std::size_t{1} << 10, max = std::size_t{1} << 19;
    const std::size_t size = std::max(std::clamp(2 * capacity_, least, max), entries);
    columns_.emplace_back(host_, size, "the rows of contexts");
    weights_.emplace_back(host_, size, "the rows of contexts");
    capacity_ = size;
    used_ = 0;
}

void row_lane::keep(std::size_t entries, row_piece& piece) {
    if (entries == 0) return;
    if (piece.empty() || piece.back().columns + piece.back().size != columns())
        piece.push_back({columns(), weights(), 0});
    piece.back().size += entries;
    used_ += entries;
}

void hand_over(context_matrix& matrix, const context_counter::entry_sink& sink) {
    sink(matrix.columns, matrix.weights);
    release(matrix.columns);
    release(matrix.weights);
}

void gather_rows(cpu_place& host, std::vector<row_lane>& lanes, const std::vector<row_piece>& pieces,
                 context_matrix& matrix, const context_counter::entry_sink* take) {
    if (take == nullptr) return gather_rows(host, lanes, pieces, matrix);
    for (std::size_t w = 1; w < matrix.offsets.size(); ++w) matrix.offsets[w] += matrix.offsets[w - 1];
    for (const row_piece& piece : pieces) {
        host.ctx().check_stop();
        for (const row_range& from : piece) (*take)({from.columns, from.size}, {from.weights, from.size});
    }
    lanes.clear();
}

void gather_rows(cpu_place& host, std::vector<row_lane>& lanes, const std::vector<row_piece>& pieces,
                 context_matrix& matrix) {
    std::vector<std::size_t> begins{0};
    for (const row_piece& piece : pieces) {
        std::size_t size = 0;
        for (const row_range& row : piece) size += row.size;
        begins.push_back(begins.back() + size);
    }
    for (std::size_t w = 1; w < matrix.offsets.size(); ++w) matrix.offsets[w] += matrix.offsets[w - 1];

    const std::uint64_t bytes = array_bytes<std::uint64_t>(begins.back());
    host.memory().take(bytes / 2, "the matrix of contexts");
    copy_ranges(host, pieces, begins, &row_range::columns, matrix.columns);
    for (row_lane& lane : lanes) lane.forget_columns();
    host.memory().take(bytes - bytes / 2, "the matrix of contexts");
    copy_ranges(host, pieces, begins, &row_range::weights, matrix.weights);
    for (row_lane& lane : lanes) lane.forget_weights();
    host.memory().give_back(bytes);  // it belongs to the caller
}

void resize_rows(cpu_place& host, context_matrix& matrix, std::size_t entries) {
    const std::uint64_t bytes = array_bytes<std::uint64_t>(entries);
    host.memory().take(bytes, "the matrix of contexts");
    host.memory().give_back(bytes);  // it belongs to the caller
    resize_on_all_threads(host, matrix.columns, entries);
    resize_on_all_threads(host, matrix.weights, entries);
}

}  // namespace quern::word_similarity_detail
