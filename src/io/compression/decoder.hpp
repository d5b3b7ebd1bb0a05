// SPDX-License-Identifier: Apache-2.0
// One compressed format, decoded in order from a raw_input. Each file of this folder named after a format holds its
// decoder; open_bytes.cpp detects the format and wraps the decoder as a byte_source.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/descriptor.hpp"
#include "io/byte_source.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

// The bytes of a file, a pipe or a memory range, before any decompression.

/// One reader thread at a time; consumed(), size(), name() and cancel() from any thread.
class raw_input {
  public:
    /// A file, or standard input for "-". Throws usage_error if it does not exist, io_error for other failures.
    raw_input(const std::filesystem::path& path, const context& ctx);
    /// Bytes that outlive this object; never copied.
    raw_input(std::string_view bytes, std::string name, const context& ctx);
    raw_input(const raw_input&) = delete;  // a position in a file is not shared
    raw_input& operator=(const raw_input&) = delete;

    /// The next bytes, as many as are available now (at least one), 0 at the end. On a pipe it waits, but reacts to the
    /// context's stop flag (throws interrupted) and to cancel() (returns 0) within a tenth of a second.
    std::size_t read(std::span<char> out);
    /// The first bytes, up to `count`, without consuming them; fewer only if the input is shorter.
    std::string_view peek(std::size_t count);
    /// Goes back to a byte of the input, so that it is read again; false for one that can be read only once.
    bool go_back(std::uint64_t offset);
    void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }

    std::uint64_t consumed() const noexcept { return consumed_.load(std::memory_order_relaxed); }
    std::uint64_t size() const noexcept { return size_; }
    const std::string& name() const noexcept { return name_; }
    const context& ctx() const noexcept { return ctx_; }

  private:
    std::size_t read_file(std::span<char> out);
    bool wait_for_bytes() const;

    context ctx_;
    std::string name_;
    descriptor file_;
    int number_ = -1;          ///< file_'s, or standard input's; -1: memory
    bool may_block_ = false;   ///< a pipe, a terminal, a socket
    std::string_view memory_;  ///< bytes read but not yet consumed
    std::string_view whole_;   ///< of an input in memory: all of it
    std::string peeked_;       ///< target of memory_ after peek()
    std::uint64_t size_ = 0;
    std::atomic<std::uint64_t> consumed_{0};
    std::atomic<bool> cancelled_{false};
};

class decoder {
  public:
    virtual ~decoder() = default;
    /// Some of the next plain bytes, 0 only at the end. Throws invalid_input at damage, after earlier calls have
    /// returned every byte before it; not called again after an exception, unless resume() finds more.
    virtual std::size_t decode(std::span<char> out) = 0;
    /// As byte_source::resume().
    virtual std::optional<resume_point> resume() { return std::nullopt; }
};

std::unique_ptr<decoder> make_plain_decoder(raw_input& input);
std::unique_ptr<decoder> make_gzip_decoder(raw_input& input);
std::unique_ptr<decoder> make_zstd_decoder(raw_input& input);
std::unique_ptr<decoder> make_xz_decoder(raw_input& input);
std::unique_ptr<decoder> make_bzip2_decoder(raw_input& input);

/// The compressed bytes read so far, refilled from a raw_input in pieces.
class input_window {
  public:
    explicit input_window(raw_input& input) : input_(input), buffer_(look_back + piece_bytes + read_ahead) {}

    /// The available bytes; reads more only if there are none. Empty at the end of the input.
    std::span<const std::uint8_t> fill();
    void take(std::size_t count) { position_ += count; }
    /// Gives back up to `look_back` bytes that were taken too far, even across a refill.
    void give_back(std::size_t count) { position_ -= count; }
    /// Continues at a byte of the input before offset(); false if that cannot be read again.
    bool go_back(std::uint64_t offset);
    /// The position in the compressed input up to which bytes were taken.
    std::uint64_t offset() const { return base_ + position_ - look_back; }
    raw_input& input() { return input_; }

    static constexpr std::size_t look_back = 16;

  private:
    static constexpr std::size_t piece_bytes = std::size_t{1} << 17;
    static constexpr std::size_t read_ahead = 16;  ///< zeros after the last byte, where a decoder may look
    raw_input& input_;
    std::vector<std::uint8_t> buffer_;
    std::size_t position_ = look_back;
    std::size_t end_ = look_back;
    std::uint64_t base_ = 0;  ///< offset in the input of buffer_[look_back]
};

/// What follows the damage: bytes that are not read, or nothing, because only a checksum at the very end reveals that
/// earlier bytes are wrong.
enum class after_damage { unread, nothing };

/// invalid_input: "NAME: FORMAT data are damaged at byte OFFSET: PROBLEM; …", and the consequence for the rest.
[[noreturn]] void throw_damaged(const raw_input& input, std::string_view format, std::uint64_t offset,
                                std::string_view problem, after_damage after = after_damage::unread);
/// invalid_input: "NAME: FORMAT data are cut off at byte OFFSET; the rest is lost".
[[noreturn]] void throw_cut_off(const raw_input& input, std::string_view format, std::uint64_t offset);
/// invalid_input: "NAME: something else follows the FORMAT data at byte OFFSET; it is not read".
[[noreturn]] void throw_trailing(const raw_input& input, std::string_view format, std::uint64_t offset);

}  // namespace quern::io
