// SPDX-License-Identifier: Apache-2.0
// The documents whose kept fields satisfy a filter, as bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/search/document_bits.hpp"
#include "ops/search/document_filter.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/search.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

class document_bits {
  public:
    explicit document_bits(std::uint64_t documents) : words_(search_detail::words_of_bits(documents)) {}

    std::span<const std::uint64_t> words() const { return words_; }
    std::span<std::uint64_t> words() { return words_; }
    bool contains(std::uint32_t document) const {
        return search_detail::bit_reader(words_).contains(document);
    }
    std::uint64_t count() const { return count_; }
    void set_count();  ///< once the bits are final
    search_detail::condition condition() const;

  private:
    std::vector<std::uint64_t> words_;
    std::uint64_t count_ = 0;
};

/// Throws filter_error for a malformed expression, for a field that the store lacks, and for a value that does
/// not fit the type of its field; out_of_memory if the sets need more than `memory` bytes; `interrupted`. Contract class:
/// exact. Cost: a pass over the column of each comparison.
document_bits passing_documents(const opened_store& store, std::string_view filter, std::uint64_t memory,
                                const context& ctx);

/// The field with this name. Throws usage_error "sort: there is no field 'prize'; did you mean 'price'? …".
const field_column& required_field(const opened_store& store, std::string_view name, std::string_view option);

/// The last filters of an engine, for queries that have the same. Thread-safe.
class filter_cache {
  public:
    /// Keeps sets of at most `memory` bytes together.
    explicit filter_cache(std::uint64_t memory) : memory_(memory) {}

    /// As passing_documents.
    std::shared_ptr<const document_bits> find(const opened_store& store, std::string_view filter,
                                              std::uint64_t memory, const context& ctx);

  private:
    static constexpr std::size_t max_kept = 64;
    struct kept {
        std::string filter;
        std::shared_ptr<const document_bits> documents;
        std::uint64_t bytes() const { return filter.size() + documents->words().size_bytes(); }
    };

    std::uint64_t memory_, bytes_ = 0;
    std::mutex lock_;
    std::list<kept> kept_;  // the last used first
};

}  // namespace quern
