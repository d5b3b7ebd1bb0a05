// SPDX-License-Identifier: Apache-2.0
// A store that a build adds documents to: its documents come first, as if they were read from their corpus again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "io/corpus/corpus.hpp"
#include "io/store/section.hpp"
#include "quern/base/document.hpp"
#include "tasks/corpus/id_table.hpp"
#include "tasks/store/document_finder.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// What a store's documents linked to when they were read, document by document, by the hashes of names: links that lead
/// nowhere so far, or by a redirect, are among them. A copy goes by the name of the document that was kept.
class stored_links {
  public:
    /// The store must outlive it.
    explicit stored_links(const opened_store& store);
    std::span<const hash128_value> next();  ///< of the next document; until the next call
    std::span<const store_layout::named_redirect> redirects() const;

  private:
    const opened_store& store_;
    opened_store::link_views links_;
    std::optional<io::section_view> open_section_, redirects_;
    std::span<const store_layout::open_link> open_;  // those to come
    std::vector<hash128_value> names_;
    std::uint32_t document_ = 0;
    std::uint64_t target_ = 0;  // links that lead somewhere, so far
};

class store_to_update {
  public:
    /// Throws as opened_store does. Memory: 6 bytes a document, and 20 to 40 a copy.
    explicit store_to_update(const std::filesystem::path& path);

    const opened_store& store() const { return store_; }
    std::uint64_t memory_bytes() const { return finder_.memory_bytes() + copies_.memory_bytes(); }
    /// Whether it holds the document: the same id with the same text, or the id of a copy, whose text is not kept.
    /// By one thread at a time. Cost: where documents come in the order of the store, each block of texts once.
    bool holds(const document& d) const;
    /// Its documents, in order, then those of `corpus`. Of its own nothing is counted. It must outlive the reader.
    std::unique_ptr<io::corpus_reader> followed_by(std::unique_ptr<io::corpus_reader> corpus,
                                                   std::uint64_t unit_bytes) const;
    /// A name for its state.
    std::string description() const;

  private:
    std::string_view text_of(std::uint32_t document) const;

    opened_store store_;
    document_finder finder_;
    id_table copies_;
    /// The block of texts that was asked for last.
    struct block_at_hand {
        std::uint32_t first = 0;  ///< document
        std::vector<std::string> texts;
    };
    mutable block_at_hand at_hand_;
};

}  // namespace quern
