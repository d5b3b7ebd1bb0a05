// SPDX-License-Identifier: Apache-2.0
// What a build changes in the store that it replaces.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/document.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// Documents compared with those of a store, by id.
struct compared_documents {
    std::uint64_t added = 0;    ///< the store lacks the id
    std::uint64_t changed = 0;  ///< it has another title or text, or other fields
    std::uint64_t same = 0;

    compared_documents& operator+=(const compared_documents& other) {
        added += other.added;
        changed += other.changed;
        same += other.same;
        return *this;
    }
};

class store_comparison {
  public:
    /// Throws as opened_store does. Memory: 6 bytes a document, and a block of texts for each thread.
    explicit store_comparison(const std::filesystem::path& store)
        : store_(open_store(store)), finder_(store_) {}

    const opened_store& store() const { return store_; }
    std::uint64_t memory_bytes() const { return finder_.memory_bytes(); }
    /// Counts one document. Thread-safe. Cost: each text block once, if a thread's documents come in the order of the
    /// store.
    void compare(const document& d, compared_documents& counts) const { compare(d, d.text, counts); }
    /// The same of a document with another text; returns its number in the store if it is the same there.
    std::optional<std::uint32_t> compare(const document& d, std::string_view text,
                                         compared_documents& counts) const;

  private:
    struct block_of_texts {
        std::uint32_t first = 0;  ///< document
        std::vector<std::string> texts;
    };
    bool is_same(const document& d, std::string_view text, std::uint32_t number) const;

    opened_store store_;
    document_finder finder_;
    mutable tbb::enumerable_thread_specific<block_of_texts> blocks_;
};

}  // namespace quern
