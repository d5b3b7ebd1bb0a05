// SPDX-License-Identifier: Apache-2.0
// A TREC run as lists by topic, without copying its text: for what looks at every line of many runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/text_of_file.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// A rank that is no number below it.
inline constexpr std::uint32_t no_rank = std::numeric_limits<std::uint32_t>::max();

struct ranked_entry {
    std::string_view document;
    double score = 0;
    std::uint32_t rank = no_rank;  ///< as the line has it
    std::uint64_t line = 0;        ///< of the file, from 1
};
struct ranked_topic {
    std::string_view id;
    std::vector<ranked_entry> entries;  ///< in the order of the lines
};

/// An open run: the texts point into it. Move-only.
class ranked_run {
  public:
    /// `topic Q0 document rank score tag`, white space between; the second field and the tag are not looked at,
    /// the rank need be none, and the tag may hold blanks. Lines end with LF or CR LF; empty lines and a byte order mark are passed over.
    /// Plain or compressed; "-" is standard input. Throws usage_error (no such file), io_error, and invalid_input with
    /// the line: fewer than five fields, a score that is no finite number. That a document occurs once in a
    /// topic is not looked at. One thread: several runs are read at once.
    ranked_run(const std::filesystem::path& path, const context& run);

    const std::string& name() const { return name_; }
    std::span<const ranked_topic> topics() const { return topics_; }  ///< in the order they occur first
    std::uint64_t lines() const { return lines_; }
    std::uint64_t bytes() const { return text_.text().size(); }

  private:
    std::string name_;
    text_of_file text_;
    std::vector<ranked_topic> topics_;
    std::uint64_t lines_ = 0;
};

}  // namespace quern::io
