// SPDX-License-Identifier: Apache-2.0
// Kept lists of the documents that pass a filter, under new numbers: a query with the filter is then one without a filter
// over a smaller collection. Bounds of windows that hold documents which do not pass would stop little.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "ops/search/document_bits.hpp"
#include "ops/search/kept_list.hpp"
#include "tasks/search/field_filter.hpp"
#include "tasks/search/known_words.hpp"

namespace quern {

/// Of one filter, and of the lists of `known`. Thread-safe.
class passing_lists {
  public:
    passing_lists(std::shared_ptr<const document_bits> filter, std::shared_ptr<const known_words> known,
                  std::uint64_t memory);

    bool are_of(const document_bits* filter, const known_words* known) const {
        return filter == filter_.get() && known == known_.get();
    }
    const search_detail::numbered_documents& documents() const { return documents_; }
    /// The terms, with lists of `known`, over the documents that pass; nothing until the uses of each list have cost as much
    /// as making it, or if the memory does not suffice. Valid as long as this object.
    std::optional<std::vector<search_detail::kept_term>> of(std::span<const search_detail::kept_term> terms);

  private:
    struct made_list {
        std::uint64_t uses = 0;
        std::unique_ptr<const search_detail::kept_list> list;
    };

    /// With lock_ held alone.
    void use(const search_detail::kept_list& whole);

    std::shared_ptr<const document_bits> filter_;
    std::shared_ptr<const known_words> known_;  // whose lists are the keys
    search_detail::numbered_documents documents_;
    std::uint64_t memory_, used_;
    std::shared_mutex lock_;
    std::unordered_map<const search_detail::kept_list*, made_list> lists_;
};

/// Those of the last filters. Thread-safe.
class passing_lists_cache {
  public:
    explicit passing_lists_cache(std::uint64_t memory) : memory_(memory / max_kept) {}
    std::shared_ptr<passing_lists> find(const std::shared_ptr<const document_bits>& filter,
                                        const std::shared_ptr<known_words>& known);

  private:
    static constexpr std::size_t max_kept = 8;
    const std::uint64_t memory_;  // of each
    std::mutex lock_;
    std::list<std::shared_ptr<passing_lists>> kept_;  // the last used first
};

}  // namespace quern
