// SPDX-License-Identifier: Apache-2.0
// A store to which a build adds documents: its documents come first, as if they were read from their corpus again.
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
#include "tasks/corpus/document_id_table.hpp"
#include "tasks/corpus/document_ids.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// The links of a store's documents as they were read, document by document, by the hashes of names: including those
/// that lead nowhere so far, or by a redirect. A near-duplicate is replaced by the kept document's name.
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
    std::span<const store_layout::open_link> open_;  // the remaining ones
    std::vector<hash128_value> names_;
    std::uint32_t document_ = 0;
    std::uint64_t target_ = 0;  // resolved links so far
};

class store_to_update {
  public:
    /// Throws as opened_store does. Memory: 6 bytes a document, and 20 to 40 a copy.
    explicit store_to_update(const std::filesystem::path& path);

    const opened_store& store() const { return store_; }
    std::uint64_t memory_bytes() const { return finder_.memory_bytes() + duplicates_.memory_bytes(); }
    /// Whether it has the document: the same id with the same text, or the id of a near-duplicate, whose text is not
    /// kept. Use by one thread at a time. Cost: each text block once, if documents come in the order of the store.
    bool holds(const document& d) const;
    /// Assigns the id of the next document of a corpus that follows the documents of `old`, if any: those that it has
    /// are known. find(id) returns the number among those read, with `old` first.
    template <class Find>
    static document_ids::outcome settle(document_ids& ids, document& d, std::uint32_t next,
                                        const store_to_update* old, const Find& find) {
        if (old == nullptr) return ids.settle(d, next, find);
        if (next < old->store().info().documents) return document_ids::outcome::fresh;
        const auto holder = [&](std::string_view id) -> std::optional<std::uint32_t> {
            if (old->duplicates_.find(hash128(id))) return 0;
            return find(id);
        };
        return ids.settle(d, next, holder, [&](std::uint32_t) { return old->holds(d); });
    }
    /// Its documents, in order, then those of `corpus`. Its own documents are not counted. It must outlive the reader.
    std::unique_ptr<io::corpus_reader> followed_by(std::unique_ptr<io::corpus_reader> corpus,
                                                   std::uint64_t unit_bytes) const;
    /// Identifies its state.
    std::string description() const;

  private:
    std::string_view text_of(std::uint32_t document) const;

    opened_store store_;
    document_finder finder_;
    id_table duplicates_;
    /// The text block used last.
    struct block_at_hand {
        std::uint32_t first = 0;  ///< document
        std::vector<std::string> texts;
    };
    mutable block_at_hand at_hand_;
};

}  // namespace quern
