// SPDX-License-Identifier: Apache-2.0
// The near-duplicates that a build left out, by the document that it kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "io/store/section.hpp"

namespace quern {

/// Shared by its copies, and valid without its store. Thread-safe. Members throw damaged_store.
class document_copies {
  public:
    struct copy {
        std::string_view id, title;
        std::uint32_t distance = 0;  ///< edits, in bytes, between its text and the kept one
    };

    document_copies() = default;  ///< of a store that has none
    /// The sections of a store of `documents`.
    document_copies(io::section_view kept, io::section_view ids, io::section_view titles,
                    io::section_view distances, std::uint64_t documents);

    std::uint64_t size() const { return size_; }  ///< of all documents
    /// Those of one document, in the order of the corpus. Cost: O(log size) and what is returned.
    std::vector<copy> of(std::uint32_t document) const;
    /// Copy i of all, by document and then in the order of the corpus; and the document that was kept.
    copy operator[](std::uint64_t i) const;
    std::uint32_t kept(std::uint64_t i) const {
        return sections_->kept.value<std::uint32_t>(i * sizeof(std::uint32_t));
    }
    /// Checks that every copy is one of a document, in order.
    void check() const;

  private:
    struct sections {
        io::section_view kept, ids, titles, distances;
    };
    std::shared_ptr<const sections> sections_;
    std::uint64_t size_ = 0, documents_ = 0;
};

}  // namespace quern
