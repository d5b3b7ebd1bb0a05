// SPDX-License-Identifier: Apache-2.0
// The documents that were read from files of folders, kept for the next run: a file that has not changed since is not
// read again.
//
// A log is a section: a key (16 bytes), then zstd frames with records of about a MiB, each after its length and that of its
// records (u32). Records are in the order of the inputs and of the walk, so that neither reading nor writing needs memory
// for the number of files.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "io/corpus/folder_walk.hpp"
#include "io/store/section.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// A frame of a log, which stays mapped.
struct log_frame {
    std::string plain;        ///< its records, then zeros
    std::string_view packed;  ///< as it lies in the log, with its head
};

/// A file and what became of it: one document, without any issue.
struct file_record {
    std::uint32_t input = 0;
    std::string_view relative;
    file_state state;
    std::string_view title, text;
    std::vector<std::string_view> links;
    std::string_view whole;  ///< as it lies in the frame
    std::shared_ptr<const log_frame> frame;

    document made_of(const folder_file& file) const;
};

class file_log {
  public:
    /// Reads `earlier`, if it is a whole log with this key, and writes `made`. The key describes everything besides the files
    /// that documents depend on. Throws io_error if `made` cannot be written.
    file_log(const std::filesystem::path& earlier, const std::filesystem::path& made, std::string_view key);

    struct listed_file {
        folder_file file;
        bool may_keep = false;              ///< what is read of it
        std::optional<file_record> record;  ///< if it has not changed
    };
    /// The next file of a walk over folder `input`. Called by one thread at a time, before the file is read.
    listed_file list(std::uint32_t input, folder_file file);

    /// Files that were not read.
    std::uint64_t unchanged() const { return unchanged_; }

    /// The number of the next unit of files; each is ended once.
    std::uint64_t begin_unit() { return next_unit_++; }
    /// A record of the earlier log, or a new one.
    struct kept_record {
        std::string made;        ///< if new
        std::string_view whole;  ///< else
        std::shared_ptr<const log_frame> frame = nullptr;
    };
    /// Adds the records of a unit. A frame of the earlier log of which all records are kept is copied as it is. Thread-safe.
    void end_unit(std::uint64_t unit, std::vector<kept_record> records);
    /// The record of a file that was read; empty if it may change unnoticed, or is too large.
    static std::string record_of(std::uint32_t input, const listed_file& file, const document& made);

    /// Ends the new log, once everything has been read.
    void finish();

  private:
    void read_next();
    void add(const kept_record& record);
    void add_plain(std::string_view record);
    void end_copy();
    void write_frame();

    const std::chrono::system_clock::time_point begin_ = std::chrono::system_clock::now();
    std::optional<section_view> earlier_;
    std::uint64_t at_ = 0;  ///< of the next frame
    std::shared_ptr<const log_frame> frame_;
    std::size_t in_frame_ = 0;
    std::uint64_t unchanged_ = 0;
    std::optional<file_record> next_;

    std::mutex writing_;
    section_writer made_;
    std::uint64_t next_unit_ = 0, written_units_ = 0;
    std::map<std::uint64_t, std::vector<kept_record>> waiting_;  ///< units that ended before an earlier one
    std::string open_;                                           ///< of the next frame
    std::shared_ptr<const log_frame> copied_;                    ///< of which all records so far are kept
    std::vector<std::string_view> of_copied_;                    ///< these records
    std::size_t copied_bytes_ = 0;
};

/// As open_corpus. Files of folders that the log knows are not read; the others are noted in it. The log must outlive the
/// reader.
std::unique_ptr<corpus_reader> open_corpus(const std::vector<std::filesystem::path>& inputs,
                                           const corpus_options& options, file_log& log, const context& ctx);

}  // namespace quern::io
