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
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::search_detail {

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
    std::string tokens;  ///< the words of the chunk in their order (token_run.hpp), if kept

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

}  // namespace quern::search_detail
