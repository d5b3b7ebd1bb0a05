// SPDX-License-Identifier: Apache-2.0
// A section: one file of a store. Its payload comes first and unencoded, so that a mapped file is the data; a checksum
// for every 64 KiB and a footer follow. A reader checks a block on first access: opening a large store is cheap, and
// damage is always noticed.
//
//   payload | zeros to a multiple of 8 | XXH3-64 of every block of the payload | footer (48 bytes)
//
// Numbers are little-endian, as on every machine Quern runs on.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/file_writer.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

/// Writes a section front to back. Not thread-safe. Throws io_error.
class section_writer {
  public:
    explicit section_writer(const std::filesystem::path& file)
        : own_(std::make_unique<file_writer>(file)), out_(own_.get()) {}
    /// Writes into an empty file that outlives the writer and is closed by its owner.
    explicit section_writer(file_writer& empty) : out_(&empty) {}

    void append(std::string_view bytes);
    template <class Value>
    void append_values(std::span<const Value> values) {
        append({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
    }
    template <class Value>
    void append_value(const Value& value) {
        append_values(std::span<const Value>(&value, 1));
    }
    /// Pads with zeros to a multiple of `alignment`, so that values of that size can be read in place.
    void align(std::size_t alignment);
    std::uint64_t size() const { return out_->size(); }

    struct summary {
        std::uint64_t file_bytes, checksum;
    };
    /// Ends the section; the checksum covers every byte of the payload.
    summary finish();

  private:
    std::unique_ptr<file_writer> own_;
    file_writer* out_;
    std::string block_;  // of the payload, not yet in a checksum
    std::vector<std::uint64_t> checksums_;
};

/// A section opened for reading. Thread-safe. Its bytes stay in place when it moves.
class section_view {
  public:
    section_view() = default;
    /// Maps the file and checks its footer and its length. Throws damaged_store, naming `name`, also if the file is
    /// missing or its checksum is not `checksum`; io_error if the system cannot open or map it.
    section_view(const std::filesystem::path& file, std::string name, std::uint64_t checksum);
    /// A section that is a separate file: nothing else verifies its checksum.
    section_view(const std::filesystem::path& file, std::string name);

    std::uint64_t size() const { return payload_bytes_; }
    const std::string& name() const { return name_; }
    std::uint64_t checksum() const { return checksum_; }  ///< of the whole payload
    /// A checked part of the payload. Throws damaged_store.
    std::string_view bytes(std::uint64_t offset, std::uint64_t count) const;
    /// `count` values that begin at byte `offset`.
    template <class Value>
    std::span<const Value> values(std::uint64_t offset, std::uint64_t count) const {
        if (offset % alignof(Value) != 0 || count > payload_bytes_ / sizeof(Value)) fail("is too short");
        const std::string_view part = bytes(offset, count * sizeof(Value));
        return {reinterpret_cast<const Value*>(part.data()), count};
    }
    template <class Value>
    Value value(std::uint64_t offset) const {
        return values<Value>(offset, 1)[0];
    }
    /// Prefetches a byte, unchecked.
    void prefetch(std::uint64_t offset) const { __builtin_prefetch(payload_.data() + offset); }
    /// The whole payload, checked.
    std::string_view all() const { return bytes(0, payload_bytes_); }

    /// Throws damaged_store for this section.
    [[noreturn]] void fail(std::string_view reason) const;

  private:
    void check_block(std::uint64_t block) const;

    mapped_file file_;
    std::string name_;
    std::string_view payload_;
    std::uint64_t payload_bytes_ = 0, checksum_ = 0;
    const char* checksums_ = nullptr;
    std::unique_ptr<std::atomic<std::uint8_t>[]> checked_;  // one per block
};

// A column of strings as a section: all bytes, then (at a multiple of 8) where each string ends.

/// Appends strings one by one; the ends are kept in a scratch file, so that memory stays constant.
class string_column_writer {
  public:
    string_column_writer(const std::filesystem::path& file, const std::filesystem::path& scratch_file)
        : section_(file), ends_(scratch_file) {}
    void append(std::string_view value);
    section_writer::summary finish();

  private:
    section_writer section_;
    file_writer ends_;
    std::uint64_t end_ = 0;
};

/// Reads string `index` of `count`.
std::string_view column_string(const section_view& column, std::uint64_t index, std::uint64_t count);
/// Prefetches the end of the string.
void prefetch_string(const section_view& column, std::uint64_t index, std::uint64_t count);

}  // namespace quern::io
