// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/context_counter_rows.hpp"

#include <algorithm>
#include <cstring>

#include "device/cpu/huge_pages.hpp"
#include "device/cpu/parallel.hpp"

namespace quern::word_similarity_detail {
namespace {

/// Resizes `values`, whose memory all threads fault in first: the clearing of fresh pages costs more than the copy.
template <class T>
void resize_on_all_threads(cpu_place& host, std::vector<T>& values, std::size_t size) {
    values.reserve(size);
    const std::size_t bytes = size * sizeof(T);
    auto* const memory = reinterpret_cast<volatile char*>(values.data());
    wish_for_huge_pages(values.data(), bytes);
    constexpr std::size_t stretch_bytes = std::size_t{1} << 21, page = 4096;
    for_each_piece(host, (bytes + stretch_bytes - 1) / stretch_bytes, [&](std::size_t s) {
        for (std::size_t at = s * stretch_bytes; at < std::min(bytes, (s + 1) * stretch_bytes); at += page)
            memory[at] = 0;
    });
    values.resize(size);
}

template <class T>
void copy_stretches(cpu_place& host, const std::vector<row_piece>& pieces,
                    const std::vector<std::size_t>& begins, const T* row_stretch::*part,
                    std::vector<T>& out) {
    resize_on_all_threads(host, out, begins.back());
    for_each_piece(host, pieces.size(), [&](std::size_t p) {
        T* to = out.data() + begins[p];
        for (const row_stretch& from : pieces[p]) {
            std::memcpy(to, from.*part, from.size * sizeof(T));
            to += from.size;
        }
    });
}

}  // namespace

void row_lane::make_room(std::size_t entries) {
    if (capacity_ - used_ >= entries) return;
    constexpr std::size_t least = std::size_t{1} << 10, most = std::size_t{1} << 19;
    const std::size_t size = std::max(std::clamp(2 * capacity_, least, most), entries);
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

void gather_rows(cpu_place& host, std::vector<row_lane>& lanes, const std::vector<row_piece>& pieces,
                 context_matrix& matrix) {
    std::vector<std::size_t> begins{0};
    for (const row_piece& piece : pieces) {
        std::size_t size = 0;
        for (const row_stretch& stretch : piece) size += stretch.size;
        begins.push_back(begins.back() + size);
    }
    for (std::size_t w = 1; w < matrix.offsets.size(); ++w) matrix.offsets[w] += matrix.offsets[w - 1];

    const std::uint64_t bytes = array_bytes<std::uint64_t>(begins.back());
    host.memory().take(bytes / 2, "the matrix of contexts");
    copy_stretches(host, pieces, begins, &row_stretch::columns, matrix.columns);
    for (row_lane& lane : lanes) lane.forget_columns();
    host.memory().take(bytes - bytes / 2, "the matrix of contexts");
    copy_stretches(host, pieces, begins, &row_stretch::weights, matrix.weights);
    for (row_lane& lane : lanes) lane.forget_weights();
    host.memory().give_back(bytes);  // it is the caller's
}

void resize_rows(cpu_place& host, context_matrix& matrix, std::size_t entries) {
    const std::uint64_t bytes = array_bytes<std::uint64_t>(entries);
    host.memory().take(bytes, "the matrix of contexts");
    host.memory().give_back(bytes);  // it is the caller's
    resize_on_all_threads(host, matrix.columns, entries);
    resize_on_all_threads(host, matrix.weights, entries);
}

}  // namespace quern::word_similarity_detail
