// SPDX-License-Identifier: Apache-2.0
// The texts of a run on disk, written by many threads at once and removed with their owner. Most file systems let one thread
// at a time write to a file, so they are in files of 16 MiB; after every 1024 files these double in size, because a process
// can map only some ten thousand.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "device/files/descriptor.hpp"
#include "quern/base/document.hpp"

namespace quern {

class scratch_texts {
  public:
    /// Files of `folder`. `overlap` precedes the first text (io::joined_files).
    scratch_texts(std::filesystem::path folder, std::string_view overlap);
    scratch_texts(const scratch_texts&) = delete;  // one owner removes the files
    scratch_texts& operator=(const scratch_texts&) = delete;
    /// Removes the files, by several threads: the system needs a second for some GB.
    ~scratch_texts();

    /// Writes the texts of documents one after the other, from byte `begin` of all texts on. Any thread; each byte once.
    /// Throws io_error.
    void write(std::uint64_t begin, std::span<const document> documents);

    struct file {
        std::filesystem::path path;
        std::uint64_t bytes;
    };
    /// Call it once, when everything is written: the files, in order, to be mapped one after the other. Throws io_error.
    std::vector<file> finish();

  private:
    struct place {
        std::size_t file;
        std::uint64_t offset, left;  ///< within the file
    };
    struct open_one {
        descriptor file;
        std::uint64_t written = 0;
    };
    static place place_of(std::uint64_t at);
    std::filesystem::path path_of(std::size_t file) const;
    int opened(std::size_t file);
    void note(std::size_t file, std::uint64_t bytes, std::uint64_t whole);
    void write_at(std::uint64_t at, std::vector<std::string_view>& pieces);
    void write_pieces(std::uint64_t at, std::span<const std::string_view> pieces);

    std::filesystem::path folder_;
    std::uint64_t overlap_;
    std::mutex mutex_;            ///< of the rest
    std::deque<open_one> files_;  ///< their descriptors are open until they are full
};

}  // namespace quern
