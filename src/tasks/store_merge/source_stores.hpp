// SPDX-License-Identifier: Apache-2.0
// The stores that are merged: opened, checked to go together, and the number that each document gets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/base/context.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store_build/duplicates.hpp"

namespace quern {

/// The numbers of a store's documents among those of all stores.
class document_numbers {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;  ///< of a document that is not in the result

    /// All documents, from `first` on.
    explicit document_numbers(std::uint32_t first) : first_(first) {}
    /// The number of each, rising, or none.
    explicit document_numbers(std::vector<std::uint32_t> numbers) : numbers_(std::move(numbers)) {}

    std::uint32_t operator[](std::uint32_t document) const {
        return numbers_.empty() ? first_ + document : numbers_[document];
    }
    bool has_all() const { return numbers_.empty(); }

  private:
    std::uint32_t first_ = 0;
    std::vector<std::uint32_t> numbers_;
};

/// Consecutive documents of one store, [first, last).
struct source_range {
    std::size_t store = 0;
    std::uint32_t first = 0, last = 0;
};

class source_stores {
  public:
    /// Opens them, in order. Throws usage_error, naming a store and what differs, if they have other text options, kinds of
    /// documents, kept fields, vectors or Unicode data, or more documents than a store holds; damaged_store.
    explicit source_stores(std::span<const std::filesystem::path> paths);

    std::size_t size() const { return stores_.size(); }
    const opened_store& operator[](std::size_t store) const { return stores_[store]; }
    std::span<const opened_store> all() const { return stores_; }
    const store_info& info() const { return stores_.front().info(); }  ///< what all have in common
    /// The names as they were given.
    const std::filesystem::path& name(std::size_t store) const { return names_[store]; }

    /// Of all stores, before any are excluded.
    std::uint64_t positions() const { return positions_; }
    /// The store that has the document at a position.
    std::size_t store_at(std::uint32_t position) const;
    std::uint32_t first_position(std::size_t store) const { return first_[store]; }

    /// Documents that the result lacks, by rising position. Memory: 4 bytes for each document of a store that loses any.
    void exclude(std::span<const excluded_document> excluded);
    /// Sets the documents of the result and their order; those in no range are left out. The ranges of each store rise.
    /// Memory: 4 bytes for each document of every store.
    void arrange(std::vector<source_range> order);
    std::uint64_t documents() const { return positions_ - excluded_; }  ///< of the result
    /// All documents of the result, in order; without arrange(), all documents of the stores, of which those without a
    /// number are left out.
    std::span<const source_range> order() const { return order_; }
    /// Whether documents of a store may come between those of another.
    bool are_interleaved() const { return are_interleaved_; }
    const document_numbers& numbers(std::size_t store) const { return numbers_[store]; }

    /// The unit of the weights of the result, of stores of weights; nothing for others. Throws usage_error if a store has
    /// weights that were rounded to a smaller unit than it.
    std::optional<int> weight_exponent() const { return weight_exponent_; }
    float max_weight() const { return max_weight_; }

    /// Throws usage_error, naming one, if two stores have documents with the same id, or near-duplicates. Memory: 27 to 54
    /// bytes a document.
    void refuse_common_ids(const context& ctx) const;

  private:
    void check(std::size_t store) const;
    void settle_weights();

    std::vector<std::filesystem::path> names_;
    std::vector<opened_store> stores_;
    std::vector<std::uint32_t> first_;
    std::vector<document_numbers> numbers_;
    std::vector<source_range> order_;
    bool are_interleaved_ = false;
    std::uint64_t positions_ = 0, excluded_ = 0;
    std::optional<int> weight_exponent_;
    float max_weight_ = 0;
};

}  // namespace quern
