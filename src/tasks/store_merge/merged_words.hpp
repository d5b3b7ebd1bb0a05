// SPDX-License-Identifier: Apache-2.0
// The words of several stores as those of one: dictionaries are merged, and posting lists joined. Where documents of a store
// follow those of the store before it, a list is the lists of the stores one after the other, with other numbers; where they
// are interleaved, the lists are merged by these numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/scratch_array.hpp"
#include "device/files/scratch_folder.hpp"
#include "ops/search/token_code.hpp"
#include "quern/base/context.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store_build/word_sections.hpp"
#include "tasks/store_merge/source_stores.hpp"

namespace quern {

/// A word that a document has once, if it does not have it already.
struct added_word {
    std::string word;
    std::uint32_t document = 0;
    friend auto operator<=>(const added_word&, const added_word&) = default;
};

/// The id in the result of every word of every store: on disk, in mapped files.
class word_numbers {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;  ///< of a word that no document has any more
    word_numbers(const source_stores& stores, scratch_folder& scratch);
    std::span<std::uint32_t> of(std::size_t store) const { return numbers_[store]->span(); }

  private:
    std::vector<std::unique_ptr<scratch_array<std::uint32_t>>> numbers_;
};

struct words_to_merge {
    std::string_view stage;
    store_layout::word_index_names names;
    std::span<const std::uint32_t> document_lengths;  ///< of the result
    std::optional<int> weight_exponent = {};          ///< source_stores::weight_exponent()
    std::span<const added_word> added = {};           ///< by word, then by document
    const word_numbers* numbers = nullptr;            ///< to be filled, if not null
    search_detail::frequent_words* frequent = nullptr;
};

/// Writes the sections of an index of words into `store`. The same bytes for any threads and memory. Throws damaged_store,
/// io_error, interrupted. Memory: ranges of words in progress, a quarter of the budget; a list longer than that as a whole.
/// Cost: each posting is decoded and coded once.
word_sections::outcome merge_words(const source_stores& stores, const words_to_merge& words,
                                   const std::filesystem::path& store, const context& ctx);

/// Writes the sections of the words in order. `frequent`: the words with short codes of the result. The same bytes for any
/// threads. Memory: 1 MiB for each thread. Cost: each word's code is replaced, two nanoseconds shared by all threads.
std::vector<store_section> merge_tokens(const source_stores& stores, const word_numbers& numbers,
                                        std::span<const std::uint32_t> frequent, std::uint32_t vocabulary,
                                        const std::filesystem::path& store, scratch_folder& scratch,
                                        const context& ctx);

}  // namespace quern
