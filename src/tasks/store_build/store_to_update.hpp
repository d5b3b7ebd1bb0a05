// SPDX-License-Identifier: Apache-2.0
// A store to which a build adds documents, or whose documents it deletes or replaces: those that stay come first, as if
// they were read from their corpus again.
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

class store_to_update;

/// The links of a store's documents as they were read, document by document, by the hashes of names: including those
/// that lead nowhere so far, or by a redirect. A near-duplicate is replaced by the kept document's name.
class stored_links {
  public:
    /// Of all documents of `store`, or of those of `old` that stay. It must outlive this object.
    explicit stored_links(const opened_store& store);
    explicit stored_links(const store_to_update& old);
    std::span<const hash128_value> next();  ///< of the next document that stays; until the next call
    std::span<const store_layout::named_redirect> redirects() const;

  private:
    void read_next();

    const store_to_update* old_ = nullptr;  ///< null: all documents stay
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
    std::uint64_t memory_bytes() const {
        return finder_.memory_bytes() + duplicates_.memory_bytes() +
               numbers_.capacity() * sizeof(std::uint32_t) + copies_.capacity() * sizeof(std::uint64_t);
    }

    /// What drop() removed.
    struct dropped_documents {
        std::uint64_t documents = 0, copies = 0;
        std::vector<std::string> unknown;  ///< the first 5 ids that the store lacks
        std::uint64_t unknown_ids = 0;
    };
    /// Removes the documents and near-duplicates with these ids, as if the store never had them. Throws usage_error if a
    /// near-duplicate of a removed document is not named: its text is not in the store, so that it would be lost.
    dropped_documents drop(std::span<const std::string> ids);

    std::uint32_t documents() const { return documents_; }  ///< those that stay
    bool is_dropped(std::uint32_t document) const {
        return !numbers_.empty() && numbers_[document] == no_document;
    }
    std::uint64_t copies() const { return has_all_copies_ ? store_.duplicates().size() : copies_.size(); }
    document_duplicates::copy copy(std::uint64_t i) const { return store_.duplicates()[copy_number(i)]; }
    /// The document that was kept for copy i, counted among those that stay.
    std::uint32_t kept(std::uint64_t i) const {
        const std::uint32_t document = store_.duplicates().kept(copy_number(i));
        return numbers_.empty() ? document : numbers_[document];
    }

    /// Whether it has the document: the same id with the same text, or the id of a near-duplicate, whose text is not
    /// kept. Use by one thread at a time. Cost: each text block once, if documents come in the order of the store.
    bool holds(const document& d) const;
    /// Assigns the id of the next document of a corpus that follows the documents of `old`, if any: those that it has
    /// are known. find(id) returns the number among those read, with `old` first.
    template <class Find>
    static document_ids::outcome settle(document_ids& ids, document& d, std::uint32_t next,
                                        const store_to_update* old, const Find& find) {
        if (old == nullptr) return ids.settle(d, next, find);
        if (next < old->documents()) return document_ids::outcome::fresh;
        const auto holder = [&](std::string_view id) -> std::optional<std::uint32_t> {
            if (old->duplicates_.find(hash128(id))) return 0;
            return find(id);
        };
        return ids.settle(d, next, holder, [&](std::uint32_t) { return old->holds(d); });
    }
    /// The documents that stay, in order, then those of `corpus`. Its own documents are not counted. It must outlive the
    /// reader.
    std::unique_ptr<io::corpus_reader> followed_by(std::unique_ptr<io::corpus_reader> corpus,
                                                   std::uint64_t unit_bytes) const;
    /// Identifies its state, without what was dropped.
    std::string description() const;

  private:
    static constexpr std::uint32_t no_document = UINT32_MAX;

    [[noreturn]] void refuse_to_lose(std::span<const std::uint64_t> copies) const;
    std::string_view text_of(std::uint32_t document) const;
    std::uint64_t copy_number(std::uint64_t i) const { return has_all_copies_ ? i : copies_[i]; }

    opened_store store_;
    document_finder finder_;
    id_table duplicates_;  ///< the ids of copies that stay
    std::uint32_t documents_;
    bool has_all_copies_ = true;
    std::vector<std::uint32_t> numbers_;  ///< of each document among those that stay, if not all do
    std::vector<std::uint64_t> copies_;   ///< the copies that stay, if not all do
    /// The text block used last.
    struct block_at_hand {
        std::uint32_t first = 0;  ///< document
        std::vector<std::string> texts;
    };
    mutable block_at_hand at_hand_;
};

}  // namespace quern
