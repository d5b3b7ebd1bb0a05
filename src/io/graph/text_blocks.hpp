// SPDX-License-Identifier: Apache-2.0
// An input cut into blocks of whole lines, so that several threads can parse it and still say on which line they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/byte_source.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// Lines, each with its end: the last byte of `text` is always a line feed. `padding` bytes may be read in front of the
/// text, and as many zeros stand behind it, so that parsers need no bounds but that line feed.
class text_block {
  public:
    static constexpr std::size_t padding = 64;

    std::string_view text() const { return {begin(), size_}; }
    bool too_long = false;       ///< no text: the next line is longer than `longest_line`
    std::exception_ptr failure;  ///< no text: reading ended here

  private:
    friend class text_blocks;
    void clear();
    void reserve(std::size_t bytes);
    char* begin() const { return memory_.get() + padding; }

    std::unique_ptr<char[]> memory_;
    std::size_t capacity_ = 0, size_ = 0;
};

/// Not thread-safe. A byte order mark at the beginning is passed over.
class text_blocks {
  public:
    static constexpr std::size_t longest_line = std::size_t{1} << 20;

    text_blocks(byte_source& source, const context& run) : source_(source), run_(run) {}

    /// Whether what is next begins with `text`, whatever the case of letters.
    bool begins_with(std::string_view text);
    /// One line, without its end (CR LF counts as one); nothing at the end of the input. Throws what next() notes.
    std::optional<std::string> next_line();
    /// The lines that follow; false at the end. Failures come as blocks of their own, behind the lines before them.
    /// Throws interrupted.
    bool next(text_block& block);

    /// Lines that next_line() returned.
    std::uint64_t lines_taken() const { return lines_taken_; }
    const std::string& name() const { return source_.name(); }
    const context& run() const { return run_; }

  private:
    static constexpr std::size_t block_bytes = std::size_t{1} << 19;
    void fill(char* into, std::size_t capacity, std::size_t& size);
    void load(std::size_t bytes);

    byte_source& source_;
    context run_;
    std::string carried_;  ///< bytes that no block had yet
    std::uint64_t lines_taken_ = 0;
    std::size_t next_bytes_ = std::size_t{1} << 14;  ///< of a block; they grow: most files are small
    bool begun_ = false, ended_ = false;
    std::exception_ptr failure_;
};

}  // namespace quern::io
