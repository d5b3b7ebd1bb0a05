// SPDX-License-Identifier: Apache-2.0
// Documents in the order of kept fields, and how often the values of kept fields occur.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/search.hpp"
#include "quern/tasks/search.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// A value as it goes from shard to shard: of an integer, a date or a boolean (0, 1), of a number, of a text or the item of
/// a list; nothing if a document has none.
using field_value = std::variant<std::monostate, std::int64_t, double, std::string>;

/// Of a facet in a shard: each value with its documents.
struct facet_counts {
    struct value_count {
        field_value value;
        std::uint64_t documents = 0;
    };
    std::uint64_t documents = 0;  ///< that have the field
    std::vector<value_count> values;
};

/// The order of search_options::sort. Texts are compared by bytes, false is below true.
class field_order {
  public:
    /// Throws usage_error for a field that the store lacks, for lists and for fields of the type json.
    field_order(const opened_store& store, std::string_view fields);

    /// The k first of these in this order: documents without a value last, then higher scores, then lower documents first.
    /// Cost: O(n log k) comparisons.
    void keep_first(std::vector<scored_document>& documents, std::size_t k) const;

    /// Negative if document a comes before document b of another store, 0 if the fields do not tell. `other`: of that
    /// store, by the same fields, which have the same types there.
    int compare(std::uint32_t a, const field_order& other, std::uint32_t b) const;

    /// What compare() compares, one for each field.
    std::vector<field_value> values(std::uint32_t document) const;
    /// compare() of two documents by these, of any types: of different ones it is some order.
    int compare(std::span<const field_value> a, std::span<const field_value> b) const;
    std::size_t fields() const { return keys_.size(); }

  private:
    struct key {
        const field_column* column;
        bool descending;
    };

    std::vector<key> keys_;
};

/// The fields of search_options::facets.
class facet_counter {
  public:
    /// Throws usage_error for a field that the store lacks, and for fields of the type json.
    facet_counter(const opened_store& store, std::string_view fields);

    /// Over these documents, ascending. Cost: a look-up in a hash table for each value, memory for each different one. Throws
    /// out_of_memory if the values of the fields need more than `memory` bytes, as the functions below.
    std::vector<search_facet> count(std::span<const std::uint32_t> documents, std::size_t values,
                                    std::uint64_t memory, const context& ctx) const;

    /// Documents of a store, and the fields of that store.
    struct found_documents {
        const facet_counter* fields;
        std::span<const std::uint32_t> documents;
    };
    /// Over the documents of several stores, whose fields have the same names and types.
    static std::vector<search_facet> count(std::span<const found_documents> found, std::size_t values,
                                           std::uint64_t memory, const context& ctx);

    /// For shards on other machines: each value of each field over these documents; and the facets of all shards from
    /// these. Throws std::runtime_error for counts that are not those of these fields.
    std::vector<facet_counts> counts(std::span<const std::uint32_t> documents, std::uint64_t memory,
                                     const context& ctx) const;
    std::vector<search_facet> together(std::span<const std::vector<facet_counts>> shards, std::size_t values,
                                       std::uint64_t memory) const;

  private:
    std::vector<const field_column*> columns_;
};

}  // namespace quern
