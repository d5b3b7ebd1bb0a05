// SPDX-License-Identifier: Apache-2.0
// The words of a corpus and their ids, as one file that is used where it lies.
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
#include "quern/tasks/build.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

/// The version of the format of dictionaries that this program writes and reads.
inline constexpr unsigned dictionary_format_version = 2;

struct dictionary_options {
    std::vector<std::filesystem::path> inputs;  ///< "-" is standard input
    std::filesystem::path file;
    std::string input_format;  ///< empty: told from the content; else a corpus form's name
    text_options text;         ///< not used for word lines
    bool titles = false;       ///< words of titles are read, too
    error_limit max_errors;
    std::uint64_t min_count = 1;   ///< words that occur less often are left out
    std::uint32_t vocabulary = 0;  ///< words at most: the most frequent ones, then by bytes; 0: all
    bool force = false;            ///< replace an existing file, atomically
};

/// What a dictionary says of itself.
struct dictionary_info {
    unsigned format_version = 0;
    std::string unicode_version;  ///< of the data the words were made with
    text_options text;            ///< a list of stop words from a file is "@" and its checksum
    bool verbatim = false;        ///< made from word lines: words are as they came, `text` was not applied
    bool titles = false;          ///< words of titles were read, too
    std::uint64_t min_count = 1, documents = 0;
    std::uint64_t occurrences = 0;  ///< of all words read
    std::uint64_t kept = 0;         ///< of these, of words in the dictionary
    std::uint64_t distinct = 0;     ///< words read
    std::uint32_t words = 0;        ///< in the dictionary
    std::uint64_t word_bytes = 0;   ///< what words and ids take in the file; counts take 8 bytes a word
    std::uint64_t file_bytes = 0;
    std::uint64_t checksum = 0;  ///< of all but the checksums
};

struct dictionary_result {
    reading_counts counts;
    dictionary_info info;
    std::uint64_t runs = 0;           ///< sorted and spilled, where memory ended
    std::vector<input_issue> issues;  ///< the first 100
    run_statistics statistics;
};

/// Reads the texts of the inputs (and their titles where asked for) and writes the dictionary. The same inputs and options
/// give the same bytes, whatever the threads and the memory. Under its final name there is a whole file or what was there
/// before.
/// Throws usage_error (missing inputs, an existing file without `force`, a place beyond the CPU), invalid_input (errors
/// beyond the limit; more words than ids), io_error, out_of_memory, interrupted.
/// Cost: one pass over the input; beyond half of the memory, sorted runs of distinct words in `run.scratch`.
dictionary_result make_dictionary(const dictionary_options& options, const context& run);

/// Whether `path` is a dictionary that make_dictionary wrote (of any version, damaged or not).
bool is_dictionary(const std::filesystem::path& path);
/// Reads no words. Throws usage_error where there is no dictionary, damaged_store.
dictionary_info read_dictionary_info(const std::filesystem::path& path);
/// Reads every byte and checks every checksum; returns the bytes read. Throws damaged_store.
std::uint64_t verify_dictionary(const std::filesystem::path& path, const context& run);

/// A dictionary in use: its file, mapped. An id is the rank of a word in byte order, so sorted ids are sorted words, and
/// words with a common beginning are a range. Const functions may be called by any threads at once.
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
    /// Many at once, several times as fast: ids[i] is that of words[i], or size() for one that is unknown. Returns how
    /// many are unknown. Throws usage_error where the sizes differ.
    std::uint64_t find(std::span<const std::string_view> words, std::span<std::uint32_t> ids,
                       const context& run) const;
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
