// SPDX-License-Identifier: Apache-2.0
// The entries of a zip archive of unknown origin, as office documents use them: found through the central directory, stored
// or deflated. Reading is bounded: an archive whose entries overlap, lie outside the file or have other sizes than they
// declare is refused, and so is one that inflates beyond any document's measure.
//
// PKWARE, APPNOTE.TXT 6.3.10, with zip64.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "io/corpus/documents/stored_bytes.hpp"

namespace quern::io {

struct zip_limits {
    std::size_t entries = 65'536;
    std::uint64_t directory_bytes = 16 << 20;          ///< of the central directory
    std::uint64_t inflated_bytes = 1ULL << 30;         ///< of all parts that are read, together
    std::uint64_t ratio = 250, ratio_from = 16 << 20;  ///< inflated to packed, for parts from this size on
};

struct zip_entry {
    std::string name;
    std::uint64_t packed_bytes = 0, bytes = 0, header_at = 0;
    std::uint32_t checksum = 0;
    std::uint16_t method = 0;
    bool is_encrypted = false;
};

/// The bytes of one entry, in order.
class zip_part {
  public:
    virtual ~zip_part() = default;
    /// Fills `out`; fewer bytes only at the end. Throws not_convertible if the entry is damaged: its checksum and its size
    /// are checked at its end.
    virtual std::size_t read(std::span<char> out) = 0;
};

class zip_archive {
  public:
    /// Throws not_convertible ("damaged", "encrypted") and out_of_memory. `bytes` must outlive the archive.
    zip_archive(const stored_bytes& bytes, const reading_budget& budget, const zip_limits& limits = {});

    /// By its name, else by its name in any case; null if there is none. A leading '/' does not count.
    const zip_entry* find(std::string_view name) const;
    bool has(std::string_view name) const { return find(name) != nullptr; }
    const std::vector<zip_entry>& entries() const { return entries_; }

    /// Throws not_convertible, also if the parts opened so far are together beyond the limit.
    std::unique_ptr<zip_part> open(const zip_entry& entry) const;
    /// The whole of a small entry; throws not_convertible if it is larger than `max`.
    std::string read(const zip_entry& entry, std::uint64_t max) const;

  private:
    void read_directory(std::uint64_t at, std::uint64_t bytes, std::uint64_t count, std::uint64_t shift,
                        const reading_budget& budget);
    void refuse_overlaps(std::uint64_t directory_at) const;

    const stored_bytes& bytes_;
    zip_limits limits_;
    std::vector<zip_entry> entries_;  ///< by name
    mutable std::uint64_t opened_bytes_ = 0;
};

}  // namespace quern::io
