// SPDX-License-Identifier: Apache-2.0
// Documents as words, for the methods that compare words: each word a number, in order of first appearance. Numbers are
// in a scratch file, mapped, 4 bytes a word; the vocabulary is in memory.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/file_writer.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/context.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/dedup/document_table.hpp"

namespace quern {

/// Words -> numbers from 0, in order of first appearance. About 24 bytes a word plus its letters.
class word_numbers {
  public:
    std::uint32_t number_of(
        std::string_view word);  ///< a new number for a new word; throws out_of_memory beyond 2^32 - 2
    std::optional<std::uint32_t> find(std::string_view word) const;  ///< its number, if it has one
    std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size()); }
    std::string_view word(std::uint32_t number) const;
    std::uint64_t memory_bytes() const {
        return letters_.capacity() + sizeof(std::uint64_t) * ends_.capacity() +
               sizeof(std::uint32_t) * slots_.capacity();
    }

  private:
    std::size_t slot_of(std::string_view word) const;  ///< its slot, or the free one for it
    void grow();
    std::string letters_;
    std::vector<std::uint64_t> ends_;
    std::vector<std::uint32_t>
        slots_;  ///< number plus one; 0: empty. A power of two, at most two thirds full
};

class word_table {
  public:
    /// `unit` character: each code point of a text is a word, and the options of words do not matter.
    word_table(const text_options& text, const std::filesystem::path& scratch_file,
               shingle_unit unit = shingle_unit::word);

    /// The words of consecutive documents, with local numbers.
    struct piece {
        word_numbers distinct;
        std::vector<std::uint32_t> words;
        std::vector<std::uint64_t> ends;  ///< of each document in `words`
    };
    /// Adds a text's words to `to`. Thread-safe. `verbatim`: one word per line.
    void analyse(std::string_view text, bool verbatim, piece& to);
    /// Pieces in order, one at a time.
    void append(const piece& from);
    /// Appends the words of the documents [first, last), whose texts are mapped, with all threads of `ctx`.
    void append_texts(const document_table& documents, std::uint32_t first, std::uint32_t last, bool verbatim,
                      const context& ctx);

    std::uint32_t vocabulary() const { return all_.size(); }
    std::uint64_t memory_bytes() const {
        return all_.memory_bytes() + sizeof(std::uint64_t) * (offsets_.capacity() + all_.size());
    }
    /// Everything appended so far; valid until the next call. Words are hashed by their letters, so that the result
    /// does not depend on the order of documents.
    word_list words();

  private:
    shingle_unit unit_;
    tbb::enumerable_thread_specific<text::analyzer> analyzers_;
    tbb::enumerable_thread_specific<text::token_list> tokens_;
    word_numbers all_;
    file_writer file_;
    io::mapped_file mapped_;
    std::vector<std::uint64_t> offsets_{0};
    std::vector<std::uint64_t> hashes_;              ///< of all_
    std::vector<std::uint32_t> number_of_distinct_;  ///< scratch space of append()
    std::vector<std::uint32_t> renumbered_;          ///< also
};

}  // namespace quern
