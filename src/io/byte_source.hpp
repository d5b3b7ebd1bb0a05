// SPDX-License-Identifier: Apache-2.0
// A stream of plain bytes: a file, a pipe, or either of them decompressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quern/base/context.hpp"

namespace quern::io {

/// Where reading goes on after damage.
struct resume_point {
    std::uint64_t offset = 0;  ///< in the file: the first byte of the next part
    std::uint64_t begun = 0;  ///< in the plain bytes that read() returned: the first byte of the damaged part
};

/// Pull bytes in order. Not thread-safe. Implementations may decompress ahead on other threads.
class byte_source {
  public:
    virtual ~byte_source() = default;
    /// Fills as much of `out` as possible: fewer bytes than requested only at the end, 0 at and after the end. Throws
    /// io_error, or invalid_input if compressed data is damaged or truncated. Every byte before the damage is delivered
    /// first; the next call throws.
    virtual std::size_t read(std::span<char> out) = 0;
    /// After read() threw invalid_input: goes on at the next part that can be read by itself, a member of gzip. Nothing
    /// if the format has no such parts or none follows; then read() throws again.
    virtual std::optional<resume_point> resume() { return std::nullopt; }
    /// Bytes of the underlying file consumed so far, for progress; and its size, 0 if unknown (a pipe).
    virtual std::uint64_t consumed() const = 0;
    virtual std::uint64_t size() const = 0;
    /// The path as the user gave it, "-" for standard input: for messages.
    virtual const std::string& name() const = 0;
};

/// Opens a file, or standard input for "-", and decompresses gzip, bzip2, zstd or xz, detected by the first bytes and
/// not by the name; concatenated members are one stream. bzip2 blocks (and zstd, xz or gzip if the format allows it)
/// are decoded by up to `ctx.thread_count()` threads. Throws usage_error if the file does not exist, io_error if it
/// cannot be opened.
std::unique_ptr<byte_source> open_bytes(const std::filesystem::path& path, const context& ctx);

/// The same without decompression: the bytes of the file.
std::unique_ptr<byte_source> open_raw_bytes(const std::filesystem::path& path, const context& ctx);

/// As open_bytes over bytes in memory, which must outlive the source. `name` is for messages.
std::unique_ptr<byte_source> open_bytes_memory(std::string_view bytes, std::string name, const context& ctx);

/// Whether open_bytes decompresses data with these first bytes.
bool is_compressed(std::string_view first_bytes);

}  // namespace quern::io
