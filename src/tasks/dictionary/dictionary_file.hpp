// SPDX-License-Identifier: Apache-2.0
// The file of a dictionary: one section (io/store/section.hpp), so that a checksum covers every byte and is checked on
// first access. Its payload, numbers little-endian:
//
//   header      128 bytes: magic, version, and the bytes of the parts
//   words       text/dictionary.hpp
//   counts      u64 for each word, at a multiple of 8
//   manifest    JSON: what the dictionary was made from
#pragma once

#include <cstdint>
#include <filesystem>

#include "device/files/file_writer.hpp"
#include "device/files/spill_file.hpp"
#include "io/store/section.hpp"
#include "quern/tasks/dictionary.hpp"

namespace quern::dictionary_file {

/// The contents to write, in file order; blocks and counts are on disk.
struct contents {
    std::string tables;  ///< of the words: text::dictionary_builder::finish
    const spill_file& blocks;
    std::uint64_t block_bytes;
    const spill_file& counts;
    std::uint64_t count_bytes;
};

/// Writes a whole file and sets word_bytes, file_bytes and checksum of `info`.
void write(file_writer& to, const contents& all, dictionary_info& info);

/// A file whose header and manifest were read and are consistent with it.
struct opened {
    io::section_view section;
    dictionary_info info;
    std::uint64_t words_at = 0, counts_at = 0;  ///< where the parts begin
};
/// Throws usage_error if the file does not exist, damaged_store if it is not a dictionary.
opened open(const std::filesystem::path& path);

}  // namespace quern::dictionary_file
