// SPDX-License-Identifier: Apache-2.0
// The ways to make the order of positions that all rows derive from.
#pragma once

#include <cstdint>
#include <memory>

#include "device/array.hpp"
#include "device/files/scratch_array.hpp"
#include "ops/ngram_likelihood/rows/documents.hpp"
#include "ops/ngram_likelihood/rows/rows_from_order.hpp"

namespace quern::ngram_detail {

/// Owns the data of sorted_ngrams, in memory or in scratch files.
template <class Position>
class ngram_order {
  public:
    ngram_order(cpu_place& place, std::size_t size)
        : position_memory_(place, size, "sorted n-grams"),
          shared_memory_(place, size, "sorted n-grams"),
          positions_(position_memory_.span()),
          shared_(shared_memory_.span()) {}
    struct in_scratch_files {};
    ngram_order(in_scratch_files, const context& ctx, std::size_t size)
        : files_(std::make_unique<files>(ctx, size)),
          positions_(files_->positions.span()),
          shared_(files_->shared.span()) {}

    std::span<Position> positions() const { return positions_; }
    std::span<std::uint8_t> shared() const { return shared_; }
    sorted_ngrams<Position> view() const { return {positions_, shared_}; }

    std::uint64_t bytes_spilled = 0;

  private:
    struct files {
        scratch_folder folder;
        scratch_array<Position> positions;
        scratch_array<std::uint8_t> shared;
        files(const context& ctx, std::size_t size)
            : folder(ctx), positions(folder, "positions", size), shared(folder, "shared", size) {}
    };
    cpu_array<Position> position_memory_;
    cpu_array<std::uint8_t> shared_memory_;
    std::unique_ptr<files> files_;
    std::span<Position> positions_;
    std::span<std::uint8_t> shared_;
};

/// Sorts words packed into 64-bit keys, ties by the following words (packed_order.cpp). In memory where it suffices: 5
/// bytes per word (9 with 64-bit positions), and 24 per word of the part being sorted (first_word_parts.hpp). Otherwise
/// merges sorted runs on disk, with the order in scratch files.
template <class Position>
ngram_order<Position> packed_order(cpu_place& place, const ngram_collection& collection,
                                   const document_table& documents, unsigned order);

/// Whether it is made in memory now.
template <class Position>
bool order_fits(cpu_place& place, const ngram_collection& collection);

/// Compares words as strings (string_method.cpp).
template <class Position>
ngram_order<Position> order_of_strings(cpu_place& place, const ngram_collection& collection,
                                       const document_table& documents, unsigned order);

}  // namespace quern::ngram_detail
