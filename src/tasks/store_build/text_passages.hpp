// SPDX-License-Identifier: Apache-2.0
// Where the paragraphs of a collection's texts end, in words, kept from the indexing of a build for its thesaurus: with the
// words that the store has in order, texts need not be cut into words again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/varint.hpp"
#include "quern/base/context.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store_build/token_store.hpp"
#include "tasks/words/corpus_words.hpp"

namespace quern {

class text_passages {
  public:
    /// One document's words in order: those of its title, those of its text, then those of fields.
    struct document {
        std::uint32_t title_words = 0, text_words = 0;
        bool is_known = false;                           ///< otherwise the ends are in its text only
        std::vector<std::uint32_t> paragraph_ends = {};  ///< as token_list::paragraph_ends
    };

    /// Beyond `memory_bytes` they are in `scratch_file`.
    text_passages(std::filesystem::path scratch_file, std::uint64_t memory_bytes)
        : pieces_(std::move(scratch_file), memory_bytes) {}

    /// Adds a document to a piece; the pieces are appended in the order of the collection.
    static void add(std::string& piece, std::uint32_t title_words, std::uint32_t text_words, bool is_known,
                    std::span<const std::uint32_t> paragraph_ends);
    void append(std::string piece, std::size_t documents) {
        pieces_.append(std::move(piece));
        documents_.push_back(static_cast<std::uint32_t>(documents));
    }

    std::size_t pieces() const { return documents_.size(); }
    std::uint32_t documents_of(std::size_t piece) const { return documents_[piece]; }
    void flush() { pieces_.flush(); }
    /// The bytes of a piece, once; any thread.
    std::string take(std::size_t piece) { return pieces_.take(piece); }
    /// Reads the next document of a piece.
    static void read(const char*& at, document& into);

  private:
    scratch_pieces pieces_;
    std::vector<std::uint32_t> documents_;
};

/// What read_words() of the store gives for windows that end at paragraphs and without gaps, except that words are numbered
/// by the store's ids and counted in `into.counts_of_store`. Takes the passages. Throws damaged_store, io_error, interrupted.
void read_words_in_order(const opened_store& store, text_passages& passages, corpus_words& into,
                         const context& ctx);

}  // namespace quern
