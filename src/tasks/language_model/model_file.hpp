// SPDX-License-Identifier: Apache-2.0
// The file of a compact language model: one section (io/store/section.hpp), so that a checksum covers every byte. Its
// payload, numbers little-endian, each part at a multiple of 8:
//
//   header    128 bytes: magic, version, numbers of the marks, and the bytes of the parts
//   letters   the words, one after the other
//   ends      u32 for each word: where it ends in the letters
//   slots     u64, a power of two of them: the hash table of the words. The lower half of a slot is the number of a word
//             plus 1, or 0; the upper half that of its XXH3, whose lower bits are its first place in the table
//   n-grams   ops/language_model/compact_model.hpp
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/hash.hpp"
#include "device/files/file_writer.hpp"
#include "io/store/section.hpp"
#include "ops/language_model/compact_model.hpp"
#include "quern/tasks/language_model.hpp"

namespace quern {

struct word_model;

/// An open file, checked and mapped. Thread-safe.
class model_file {
  public:
    /// Throws usage_error if there is no such file; damaged_store.
    explicit model_file(const std::filesystem::path& path);
    model_file(const model_file&) = delete;  // the n-grams point into the section

    /// The number of a word; UINT32_MAX if there is none.
    std::uint32_t find(std::string_view word) const { return find(word, hash64(word)); }
    /// Those of several words, which are looked up side by side; at most at_once.
    void find(std::span<const std::string_view> words, std::uint32_t* numbers) const;
    static constexpr std::size_t at_once = 64;
    std::string_view word(std::uint32_t number) const;

    io::section_view section;
    language_model_info info;
    compact_model ngrams;
    std::uint32_t unknown = 0, begin = 0, end = 0;  ///< UINT32_MAX: none

  private:
    std::uint32_t find(std::string_view word, std::uint64_t hash) const;

    std::string_view letters_;
    std::span<const std::uint32_t> ends_;
    std::span<const std::uint64_t> slots_;
};

/// Writes a model that was read from an ARPA file.
void write_model_file(file_writer& to, const word_model& model, unsigned quantised_bits);

}  // namespace quern
