// SPDX-License-Identifier: Apache-2.0
// An input cut into blocks of whole lines, so that several threads can parse it and still report line numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "device/memory_budget.hpp"
#include "io/byte_source.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

// A whole file as one text, decompressed if necessary.

/// Move-only; moving it does not move the text. "-" is standard input. A byte-order mark is removed. Throws usage_error
/// (no such file, a folder), io_error, invalid_input if compressed data are damaged, out_of_memory if they exceed the
/// context's budget, interrupted.
class text_of_file {
  public:
    text_of_file() = default;
    text_of_file(const std::filesystem::path& path, const context& ctx);
    /// One of several texts that share a budget: what is not mapped stays counted there.
    text_of_file(const std::filesystem::path& path, const context& ctx, memory_budget& memory);
    /// The rest of `source`.
    text_of_file(byte_source& source, const context& ctx);
    std::string_view text() const noexcept;
    const std::string& name() const noexcept { return file_.name(); }  ///< as the user gave it, for messages

  private:
    whole_file file_;
};

/// Lines, each with its end: the last byte of `text` is always a line feed. `padding` bytes before the text are
/// readable, and as many zeros follow it, so that parsers need no bounds except that line feed.
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

/// Not thread-safe. Skips a byte-order mark at the beginning.
class text_blocks {
  public:
    static constexpr std::size_t longest_line = std::size_t{1} << 20;

    text_blocks(byte_source& source, const context& ctx) : source_(source), ctx_(ctx) {}

    /// Whether the rest begins with `text`, ignoring case.
    bool begins_with(std::string_view text);
    /// What next_line() would return, if it ends within the first 4 KiB; else nothing. Valid until the next call.
    std::string_view peek_line();
    /// Whether something follows the line that peek_line() shows.
    bool has_second_line();
    /// One line, without its end (CR LF counts as one); nothing at the end of the input. Throws what next() reports.
    std::optional<std::string> next_line();
    /// The lines that follow; false at the end. Failures are returned as separate blocks, after the lines before them.
    /// Throws interrupted.
    bool next(text_block& block);

    /// Lines that next_line() returned.
    std::uint64_t lines_taken() const { return lines_taken_; }
    const std::string& name() const { return source_.name(); }
    const context& ctx() const { return ctx_; }

  private:
    static constexpr std::size_t block_bytes = std::size_t{1} << 19;
    void fill(char* into, std::size_t capacity, std::size_t& size);
    void load(std::size_t bytes);

    byte_source& source_;
    context ctx_;
    std::string carried_;  ///< bytes not yet in any block
    std::uint64_t lines_taken_ = 0;
    std::size_t next_bytes_ = std::size_t{1} << 14;  ///< of a block; it grows: most files are small
    bool begun_ = false, ended_ = false;
    std::exception_ptr failure_;
};

}  // namespace quern::io
