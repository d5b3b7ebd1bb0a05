// SPDX-License-Identifier: Apache-2.0
// Makes quantized forms on the CPU: every row is read once, in blocks of 64 that the threads take.
#include "ops/nearest/quantized/quantized_cpu.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "ops/nearest/distance/components.hpp"

namespace quern::nearest_detail {
namespace {

std::size_t whole(std::size_t size, std::size_t unit) {
    return (size + unit - 1) / unit * unit;
}

/// For integers the centre is an integer vector too: codes of differences up to 127 are then exact.
template <vector_type Type>
void add_centre(const row_tile<cpu_place>& tile, std::size_t samples, std::vector<double>& sums,
                bool& whole_numbers) {
    for (std::size_t i = 0; i < samples; ++i) {
        const auto* const row = row_at<Type>(tile.values.data(), tile.stride, i * tile.rows / samples);
        for (std::uint32_t j = 0; j < tile.dimensions; ++j) {
            const auto value = static_cast<double>(component<Type>(row, j));
            sums[j] += value;
            whole_numbers = whole_numbers && value == std::nearbyint(value);
        }
    }
}

/// The mean of some thousand rows, spread over the tile. Any vector is valid; the shorter x − µ, the finer its codes.
std::vector<float> centre_of(const row_tile<cpu_place>& tile) {
    constexpr std::size_t max_samples = 4096;
    const std::size_t samples = std::min<std::size_t>(tile.rows, max_samples);
    std::vector<double> sums(tile.dimensions);
    bool whole_numbers = true;
    with_type(tile.type, [&](auto type) {
        if constexpr (can_quantize(type())) add_centre<type()>(tile, samples, sums, whole_numbers);
    });
    std::vector<float> centre(whole(tile.dimensions, code_padding));
    for (std::size_t j = 0; j < tile.dimensions && samples != 0; ++j) {
        const double mean = sums[j] / static_cast<double>(samples);
        centre[j] = static_cast<float>(whole_numbers ? std::nearbyint(mean) : mean);
    }
    return centre;
}

/// Writes a block's codes, vector after vector, in the kernels' layout.
void store_codes(const std::int8_t* codes, std::size_t pitch, std::size_t padded, std::uint8_t* to) {
    for (std::size_t j = 0; j < padded; j += 4) {
        for (std::size_t row = 0; row < block_rows; ++row) {
            std::uint32_t four = 0;
            std::memcpy(&four, codes + row * pitch + j, sizeof four);
            four ^= 0x80808080u;  // plus 128
            std::memcpy(to + (j * block_rows + 4 * row), &four, sizeof four);
        }
    }
}

}  // namespace

vector_coder::vector_coder(const quantized_kind& kind, const std::vector<float>& centre)
    : kind_(kind),
      centre_(&centre),
      v_(whole(kind.dimensions, code_padding)),
      codes_(whole(kind.dimensions, code_padding)) {}

coded_sums vector_coder::code(const std::byte* row, float coarser) {
    float* const v = v_.data();
    const float* const centre = centre_->empty() ? nullptr : centre_->data();
    with_type(kind_.type, [&](auto type) {
        const auto* const stored = row_at<type()>(row, 0, 0);
        if constexpr (type() == vector_type::f16) {
            widen_halves(stored, kind_.dimensions, v);
        } else if constexpr (can_quantize(type())) {
            for (std::uint32_t j = 0; j < kind_.dimensions; ++j)
                v[j] = static_cast<float>(component<type()>(stored, j));
        }
    });
    if (centre != nullptr)
        for (std::uint32_t j = 0; j < kind_.dimensions; ++j) v[j] -= centre[j];
    const vector_code made = code_vector(v, v_.size(), codes_.data(), coarser);
    return {.squares = made.squares,
            .norm = std::sqrt(made.squares),
            .rest = std::sqrt(made.rest_squares),
            .code_norm = std::sqrt(static_cast<double>(made.codes)),
            .scale = made.scale};
}

std::int32_t largest_short_sum(const std::int8_t* codes, std::size_t padded) {
    std::int32_t largest = 0;
    for (std::size_t j = 0; j < padded; j += j % 4 == 0 ? 2 : 6) {
        std::int32_t positive = 0, negative = 0;
        for (const std::size_t i : {j, j + 1, j + 4, j + 5}) {
            if (i >= padded) break;
            const std::int32_t code = codes[i];
            positive += std::max(code, 0);
            negative += std::max(-code, 0);
        }
        largest = std::max({largest, positive, negative});
    }
    return largest;
}

query_codes::query_codes(const quantized_rows<cpu_place>::state& quantized,
                         const row_tile<cpu_place>& queries, product_method method)
    : method_(method),
      padded_(quantized.padded),
      codes_(queries.rows * quantized.padded),
      starts_(queries.rows),
      scales_(queries.rows),
      rests_(queries.rows),
      sizes_(queries.rows),
      terms_(queries.rows) {
    vector_coder coder(quantized.kind, quantized.centre);
    code_all(coder, quantized.kind, queries);
    if (method_ == product_method::fours) return;
    wide_codes_.resize(codes_.size());
    for (std::size_t i = 0; i < codes_.size(); ++i) wide_codes_[wide_place(i)] = codes_[i];
}

void query_codes::code_all(vector_coder& coder, const quantized_kind& kind,
                           const row_tile<cpu_place>& queries) {
    for (std::size_t q = 0; q < queries.rows; ++q) {
        const std::byte* const row = queries.values.data() + q * queries.stride;
        coded_sums sums = coder.code(row);
        if (method_ == product_method::short_sums) {
            const std::int32_t largest = largest_short_sum(coder.codes(), padded_);
            const auto too_large = [&] { return largest_short_sum(coder.codes(), padded_) > max_short_sum; };
            if (largest > max_short_sum) {
                if (sums.rest == 0) {  // integers: pairs keep them exact
                    method_ = product_method::pairs;
                    return code_all(coder, kind, queries);
                }
                sums = coder.code(row, static_cast<float>(largest) / (max_short_sum - 1));
            }
            // Four codes are rounded by at most half each: now they cannot be too large.
            if (too_large()) sums = coder.code(row, static_cast<float>(largest + 2) / (max_short_sum - 3));
        }
        terms_[q] = query_terms_of(kind, sums);
        std::memcpy(codes_.data() + q * padded_, coder.codes(), padded_);
        std::int32_t sum = 0;
        for (std::size_t j = 0; j < padded_; ++j) sum += coder.codes()[j];
        starts_[q] = -128 * sum;
        scales_[q] = terms_[q].scale;
        rests_[q] = terms_[q].rest;
        sizes_[q] = terms_[q].size;
    }
}

coded_queries query_codes::coded(std::size_t first, std::size_t count) const {
    const std::int16_t* const wide = wide_codes_.empty() ? nullptr : wide_codes_.data() + first * padded_;
    return {codes_.data() + first * padded_,
            wide,
            starts_.data() + first,
            scales_.data() + first,
            rests_.data() + first,
            sizes_.data() + first,
            count};
}

quantized_rows<cpu_place>::quantized_rows(cpu_place& place, const row_tile<cpu_place>& tile,
                                          vector_metric metric)
    : state_(std::make_unique<state>()) {
    state& made = *state_;
    made.kind = {tile.type, metric, tile.dimensions};
    made.rows = tile.rows;
    made.padded = whole(tile.dimensions, 4);
    if (made.kind.by_difference()) made.centre = centre_of(tile);
    const std::size_t blocks = made.blocks(), block_bytes = block_rows * made.padded;
    made.codes = make_array<std::uint8_t>(place, blocks * block_bytes, "a sketch of vectors");
    made.terms = make_array<float>(place, blocks * block_terms, "a sketch of vectors");
    const std::size_t pieces = pieces_for(place, blocks, 16, 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        vector_coder coder(made.kind, made.centre);
        const std::size_t pitch = whole(tile.dimensions, code_padding);
        std::vector<std::int8_t> codes(block_rows * pitch);
        const auto [begin, end] = piece_of(blocks, pieces, p);
        for (std::size_t b = begin; b < end; ++b) {
            place.ctx().check_stop();
            const std::size_t first = b * block_rows;
            float* const terms = made.terms.data() + b * block_terms;
            for (std::size_t r = 0; r < block_rows; ++r) {
                row_terms row;
                if (first + r < tile.rows) {
                    const coded_sums sums = coder.code(tile.values.data() + (first + r) * tile.stride);
                    row = row_terms_of(made.kind, sums);
                    std::memcpy(codes.data() + r * pitch, coder.codes(), pitch);
                } else {
                    std::memset(codes.data() + r * pitch, 0, pitch);
                }
                terms[r] = row.a;
                terms[block_rows + r] = row.scale;
                terms[2 * block_rows + r] = row.rest;
                terms[3 * block_rows + r] = row.size;
            }
            store_codes(codes.data(), pitch, made.padded, made.codes.data() + b * block_bytes);
        }
    });
}

quantized_rows<cpu_place>::~quantized_rows() = default;
quantized_rows<cpu_place>::quantized_rows(quantized_rows&&) noexcept = default;
quantized_rows<cpu_place>& quantized_rows<cpu_place>::operator=(quantized_rows&&) noexcept = default;

}  // namespace quern::nearest_detail
