// SPDX-License-Identifier: Apache-2.0
// The words of a corpus and their ids, in one memory-mapped file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

/// The version of the dictionary format that this program writes and reads.
inline constexpr unsigned dictionary_format_version = 2;

struct dictionary_options : corpus_input {
    std::filesystem::path file;
    text_options text;             ///< not used for word lines
    bool titles = false;           ///< also read the words of titles
    std::uint64_t min_count = 1;   ///< minimum occurrences of a word
    std::uint32_t vocabulary = 0;  ///< maximum number of words: the most frequent, ties by bytes; 0: all
    bool force = false;            ///< replace an existing file, atomically
};

/// The metadata of a dictionary.
struct dictionary_info {
    unsigned format_version = 0;
    std::string unicode_version;  ///< of the data used to make the words
    text_options text;            ///< a stop-word list from a file is "@" and its checksum
    bool verbatim = false;        ///< made from word lines: words are unchanged, `text` was not applied
    bool titles = false;          ///< includes words of titles
    std::uint64_t min_count = 1, documents = 0;
    std::uint64_t occurrences = 0;  ///< of all words read
    std::uint64_t kept = 0;         ///< of these, of words in the dictionary
    std::uint64_t distinct = 0;     ///< distinct words read
    std::uint32_t words = 0;        ///< in the dictionary
    std::uint64_t word_bytes = 0;   ///< of words and ids in the file; counts take 8 bytes per word
    std::uint64_t file_bytes = 0;
    std::uint64_t checksum = 0;  ///< of everything but the checksums
};

struct dictionary_result {
    reading_counts counts;
    dictionary_info info;
    std::uint64_t runs = 0;           ///< sorted runs spilled beyond the memory
    std::vector<input_issue> issues;  ///< the first 100
    run_statistics statistics;
};

/// Reads the texts of the inputs (and the titles if requested) and writes the dictionary. The same inputs and
/// options give the same bytes for any number of threads and memory budget. The file appears complete or not at
/// all; an earlier one stays until then.
/// Throws usage_error (missing inputs, an existing file without `force`, a device other than the CPU),
/// invalid_input (errors beyond the limit; more words than ids), io_error, out_of_memory, interrupted.
/// Cost: one pass over the input; beyond half of the memory, sorted runs of distinct words in `ctx.scratch`.
dictionary_result make_dictionary(const dictionary_options& options, const context& ctx);

/// Whether `path` is a dictionary that make_dictionary wrote (of any version, damaged or not).
bool is_dictionary(const std::filesystem::path& path);
/// Does not read the words. Throws usage_error if there is no dictionary, damaged_store.
dictionary_info read_dictionary_info(const std::filesystem::path& path);
/// Reads every byte and checks every checksum; returns the bytes read. Throws damaged_store.
std::uint64_t verify_dictionary(const std::filesystem::path& path, const context& ctx);

/// An open, memory-mapped dictionary. An id is the rank of a word in byte order, so sorted ids are sorted
/// words, and words with a common prefix are a range. Const functions are thread-safe.
class word_dictionary {
  public:
    /// Reads and checks the words, not their counts. Throws as read_dictionary_info does.
    static word_dictionary open(const std::filesystem::path& path);
    word_dictionary(word_dictionary&&) noexcept;
    word_dictionary& operator=(word_dictionary&&) noexcept;
    ~word_dictionary();

    const dictionary_info& info() const;
    std::uint32_t size() const;
    std::optional<std::uint32_t> find(std::string_view word) const;
    /// Finds many words, several times as fast: ids[i] is the id of words[i], or size() if it is unknown.
    /// Returns the number of unknown words. On the device of `ctx`; `automatic` is the CPU, since copying the words to a GPU
    /// costs a tenth of a microsecond each, once: the object keeps them there. There one call at a time looks up. Throws
    /// usage_error if the sizes differ; device_error, out_of_memory.
    std::uint64_t find(std::span<const std::string_view> words, std::span<std::uint32_t> ids,
                       const context& ctx) const;
    std::string word(std::uint32_t id) const;     ///< throws std::out_of_range
    std::uint64_t count(std::uint32_t id) const;  ///< occurrences; throws std::out_of_range, damaged_store
    /// Ids of the words that begin with `prefix`: [first, last).
    std::pair<std::uint32_t, std::uint32_t> with_prefix(std::string_view prefix) const;

  private:
    struct state;
    explicit word_dictionary(std::unique_ptr<state> opened);
    std::unique_ptr<state> state_;
};

}  // namespace quern
