// SPDX-License-Identifier: Apache-2.0
// The near-duplicates that a build excluded, by the document that it kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "io/store/section.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

/// Copies share its data; valid without its store. Thread-safe. Members throw damaged_store.
class document_duplicates {
  public:
    struct copy {
        std::string_view id, title;
        std::uint32_t distance = 0;  ///< edits, in bytes, between its text and the kept one
    };

    document_duplicates() = default;  ///< of a store without any
    /// Those of the sections in a store's folder; none if the sections do not exist.
    document_duplicates(const std::filesystem::path& store, const std::vector<store_section>& sections);

    std::uint64_t size() const { return size_; }  ///< of all documents
    /// Those of one document, in corpus order, the first `max`. Cost: O(log size) plus the result.
    std::vector<copy> of(std::uint32_t document,
                         std::size_t max = std::numeric_limits<std::size_t>::max()) const;
    /// The number of one document. Cost: O(log size).
    std::uint64_t count(std::uint32_t document) const;
    /// Near-duplicate i of all, by document and then in corpus order; and the document that was kept.
    copy operator[](std::uint64_t i) const;
    std::uint32_t kept(std::uint64_t i) const {
        return sections_->kept.value<std::uint32_t>(i * sizeof(std::uint32_t));
    }
    /// Checks that all are in order and belong to one of that many documents.
    void check(std::uint64_t documents) const;

  private:
    struct sections {
        io::section_view kept, ids, titles, distances;
    };
    /// Those of one document: the first, and the end.
    std::pair<std::uint64_t, std::uint64_t> range_of(std::uint32_t document) const;
    std::uint64_t first_from(std::uint64_t document) const;

    std::shared_ptr<const sections> sections_;
    std::uint64_t size_ = 0;
};

}  // namespace quern
