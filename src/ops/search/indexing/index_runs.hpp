// SPDX-License-Identifier: Apache-2.0
// A sorted run: the words of a chunk of consecutive documents, in byte order, each with its postings.
//
// An entry is: bytes shared with the previous word, bytes of the rest (both varint), the rest, bytes of the postings
// (varint), the postings (document − previous document, frequency; documents numbered from 0 within the run). Every
// `restart_interval` entries nothing is shared, so that a merge can start there: this splits one merge by ranges of words
// over many threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/search/token_code.hpp"

namespace quern::search_detail {

/// The words of a chunk of consecutive documents in their order, on the way into a store. While the chunk is read, its words
/// are numbered by first appearance; their ids are known when all runs are merged. Nearly always two bytes per word: few
/// chunks have more than 65,535 distinct words, and late ones are rare.
class token_recorder {
  public:
    void add(std::uint32_t number) {
        if (number < escape) {
            numbers_.push_back(static_cast<std::uint16_t>(number));
        } else {
            add_large(number);
        }
    }
    /// The input of encode_tokens: the numbers of the run's words in byte order, then of all words in text order. The
    /// recorder is empty afterwards.
    std::string finish(std::span<const std::uint32_t> numbers_by_rank);

    static constexpr std::uint16_t escape = 0xffff;

  private:
    void add_large(std::uint32_t number);

    std::vector<std::uint16_t> numbers_;
};

/// The words of consecutive documents as stored.
struct coded_tokens {
    std::string bytes;
    std::vector<std::uint64_t> ends;  ///< bytes up to the end of each document
};

/// Converts a chunk to its final form. `words_by_rank` are the ids of the run's words, ascending; `document_lengths` those
/// of its documents. Throws std::logic_error if the three do not match. Cost: about a nanosecond per word.
coded_tokens encode_tokens(std::string_view recorded, std::span<const std::uint32_t> words_by_rank,
                           const token_code& code, std::span<const std::uint32_t> document_lengths);

inline constexpr std::uint32_t restart_interval = 512;

/// Copies out.size() bytes at `offset` of the run's bytes; throws if it cannot.
using random_read = std::function<void(std::uint64_t offset, std::span<char> out)>;

struct sorted_run {
    std::string bytes;  ///< empty once the run has been moved to disk
    std::uint64_t size = 0;
    random_read read;  ///< if `bytes` is empty
    std::vector<std::uint64_t> restart_offsets;
    std::vector<std::string> restart_words;
    std::uint32_t documents = 0;
    std::uint64_t postings = 0;
    std::string tokens;  ///< the words of the chunk in their order, if kept

    std::uint64_t memory_bytes() const;
};

/// Iterates over the entries from a restart on. Holds one buffer of about `buffer_bytes` if the run is on disk.
class run_cursor {
  public:
    run_cursor(const sorted_run& run, std::size_t restart, std::size_t buffer_bytes);
    /// Steps to the next entry; false at the end of the run.
    bool next();
    std::string_view word() const { return word_; }
    std::uint64_t word_prefix() const { return prefix_; }  ///< first 8 bytes, big-endian: orders most words
    /// The entry's postings; valid until next().
    std::string_view postings() const { return postings_; }

  private:
    const char* need(std::size_t bytes);

    const sorted_run* run_;
    std::size_t buffer_bytes_;
    std::string buffer_;
    std::uint64_t window_begin_ = 0;  // of the current bytes
    std::string_view window_;
    std::uint64_t position_;
    std::string word_;
    std::uint64_t prefix_ = 0;
    std::string_view postings_;
};

// Joins sorted runs into posting lists. Runs are consecutive chunks of the collection, so a word's postings are those of
// its runs, concatenated; only the words need merging.

/// Words from `first` (included) to `last` (excluded; empty: to the end).
struct word_range {
    std::string first;
    std::optional<std::string> last;
};

/// Splits the words of all runs into at most `parts` consecutive ranges with about equal numbers of entries; together they
/// cover all words. Cost: a sort of the runs' restarts.
std::vector<word_range> split_words(std::span<const sorted_run> runs, std::size_t parts);

/// The words of a range that one run contains, by their ranks in the range.
struct words_of_run {
    std::uint32_t first = 0, next = 0;  ///< the first, and one past the last; equal: none
    std::string gaps;                   ///< of each but the first: rank - previous rank - 1, as varints
};

/// The index of one range: word i is words[word_ends[i-1], word_ends[i]); the same holds for its bytes in `postings`.
struct merged_range {
    std::string words;
    std::vector<std::uint64_t> word_ends;
    std::string postings;
    std::vector<std::uint64_t> posting_ends;
    std::vector<std::uint32_t> document_frequencies;
    std::vector<std::uint64_t> collection_frequencies;
    std::vector<words_of_run> runs;
};

/// A weight as the nearest multiple of 2^exponent, at least 1.
std::uint32_t weight_in_units(float weight, int exponent);

/// Merges one range; different threads may merge ranges at the same time. `first_document[i]` is the number of the first
/// document of run i; `document_lengths` are those of the collection, in words (see postings_writer). `buffer_bytes` is
/// used once per run on disk. Cost: log2(runs) comparisons per entry, one pass over its postings. With
/// `weight_exponent`, frequencies of the runs are the bits of floats, which become multiples of that power of two, and a
/// collection frequency is the number of documents.
merged_range merge_runs(std::span<const sorted_run> runs, std::span<const std::uint32_t> first_document,
                        std::span<const std::uint32_t> document_lengths, const word_range& range,
                        std::size_t buffer_bytes, std::optional<int> weight_exponent = {});

}  // namespace quern::search_detail
