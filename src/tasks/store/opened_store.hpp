// SPDX-License-Identifier: Apache-2.0
// A store, mapped: every section as plain views, verified on access.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/store/section.hpp"
#include "ops/search/phrases.hpp"
#include "quern/base/context.hpp"
#include "quern/base/vectors.hpp"
#include "quern/ops/search.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/document_duplicates.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/store/stored_fields.hpp"
#include "tasks/store/text_blocks.hpp"
#include "text/dictionary.hpp"

namespace quern {

/// From a word to the documents that have it.
class word_index {
  public:
    word_index(const std::filesystem::path& store, const store_info& info,
               const store_layout::word_index_names& names);
    const text::dictionary_view& dictionary() const { return *words_; }
    posting_list postings(std::uint32_t word) const;
    std::uint32_t document_frequency(std::uint32_t word) const {
        return document_frequencies_.value<std::uint32_t>(std::uint64_t{word} * 4);
    }
    std::uint64_t collection_frequency(std::uint32_t word) const {
        return collection_frequencies_.value<std::uint64_t>(std::uint64_t{word} * 8);
    }
    /// Occurrences of every word in all documents, by id.
    std::span<const std::uint64_t> collection_frequencies() const {
        return collection_frequencies_.values<std::uint64_t>(0, words_->size());
    }
    /// The documents of a word; an empty list if there are none.
    posting_list find(std::string_view word) const;

  private:
    io::section_view dictionary_, document_frequencies_, collection_frequencies_, posting_ends_, postings_;
    std::optional<text::dictionary_view> words_;
};

/// Thread-safe once opened. Every member throws damaged_store, naming the section, if bytes are damaged.
class opened_store {
  public:
    explicit opened_store(std::filesystem::path path);

    const store_info& info() const { return info_; }
    const std::filesystem::path& path() const { return path_; }
    collection_view collection() const { return {lengths_, info_.words}; }
    const word_index& words() const { return words_; }              ///< of titles, texts and indexed fields
    const word_index& title_words() const { return title_words_; }  ///< of titles only
    /// Of pairs of words (tasks/store/ngram_index.hpp); null if the build made none.
    const word_index* ngrams() const { return ngrams_ ? &*ngrams_ : nullptr; }
    /// Of each indexed field, in the order of info().indexed_fields: its words only.
    const std::vector<word_index>& field_words() const { return field_words_; }
    /// One per thread: applies the word rules of the store's documents.
    text::analyzer make_analyzer() const { return analyzers_.make(); }
    /// The words of every document in order. The stream stays valid if the store is moved or destroyed.
    search_detail::token_stream tokens() const;
    std::string_view id(std::uint32_t document) const;
    std::string_view title(std::uint32_t document) const;
    /// Prefetches what id, title and length of a document need.
    void prefetch(std::uint32_t document) const;
    /// The document's text, decompressed. Cost: its block, 64 KiB or the document.
    std::string text(std::uint32_t document) const { return texts_.text(document); }
    /// Texts are stored in blocks, each with the texts of consecutive documents; together the blocks have those of all
    /// documents in order. Each block is decompressed once.
    std::uint64_t text_blocks() const { return texts_.size(); }
    using text_block = quern::text_blocks::contents;
    text_block block(std::uint64_t number) const { return texts_.contents_of(number); }
    std::uint64_t block_of(std::uint32_t document) const { return texts_.block_of(document); }
    void each_text(std::uint64_t block, const std::function<void(std::string_view)>& sink) const {
        texts_.each_text(block, sink);
    }
    /// The kept fields; nothing if the build kept none.
    const std::optional<stored_fields>& fields() const { return fields_; }

    /// The sections `link_ends` and `links`, opened separately.
    struct link_views {
        io::section_view ends, targets;
    };
    link_views links() const;

    // Optional results of build stages; nothing if missing. Views into the store.
    /// PageRank of every document in integer units of 1/store_layout::link_rank_units, with sum one. Checks all bytes
    /// on first use.
    std::optional<std::span<const std::uint64_t>> link_ranks() const;
    /// A row for every document, as info().vectors describes; a document without words of the thesaurus has zeros.
    /// Checks all bytes on first use. tasks/store/document_vectors.hpp compares them.
    std::optional<vectors_view> document_vectors() const;
    /// A row of f32 for every document, as the user gave them. Checks all bytes on first use.
    std::optional<vectors_view> user_vectors() const;
    /// The excluded near-duplicates; empty if there are none.
    const document_duplicates& duplicates() const { return duplicates_; }
    /// A word space of the store (quern/tasks/similar.hpp).
    std::optional<std::filesystem::path> thesaurus() const;

  private:
    std::filesystem::path path_;
    store_info info_;
    analyzer_maker analyzers_;
    io::section_view ids_, titles_, lengths_section_;
    quern::text_blocks texts_;
    std::optional<stored_fields> fields_;
    std::optional<io::section_view> link_ranks_, document_vectors_, user_vectors_;
    struct token_sections;
    std::shared_ptr<const token_sections> tokens_;
    document_duplicates duplicates_;
    std::span<const std::uint32_t> lengths_;
    word_index words_, title_words_;
    std::optional<word_index> ngrams_;
    std::vector<word_index> field_words_;
};

/// Calls `open`, which opens parts of a store, until all of them belong to one store: the store may be replaced by
/// another one meanwhile.
void open_as_one(const std::filesystem::path& store, const std::function<void()>& open);
/// Opens a store that may be replaced meanwhile: always one complete store, the old or the new one.
opened_store open_store(const std::filesystem::path& path);

/// Throws usage_error for a store of lists of words, which have no order: `what` ("phrases") needs it.
void require_word_order(const opened_store& store, std::string_view what);

/// From a document's id to its number, over the ids mapped by an opened store: an open-addressed table of numbers only,
/// 1.5 slots a document, so 6 bytes each. The id's hash selects a slot; the id itself is compared in the store.
class document_finder {
  public:
    /// Time O(documents): half a second for ten million. The store must outlive it. Throws `interrupted`.
    explicit document_finder(const opened_store& store, const context& ctx = {});
    std::optional<std::uint32_t> find(std::string_view id) const;
    std::uint64_t memory_bytes() const { return table_.capacity() * sizeof(std::uint32_t); }

  private:
    static constexpr std::uint32_t nobody = 0xFFFF'FFFF;
    std::size_t slot_of(std::string_view id) const;
    std::size_t after(std::size_t slot) const { return slot + 1 == table_.size() ? 0 : slot + 1; }

    const opened_store* store_;
    std::vector<std::uint32_t> table_;
};

}  // namespace quern
