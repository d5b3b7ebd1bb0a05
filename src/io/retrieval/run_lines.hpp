// SPDX-License-Identifier: Apache-2.0
// The only parser of TREC runs: line by line over a text in memory. Fields are found by testing eight bytes at a time for
// a blank; a line's first fields are not searched if they equal those of the preceding line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::io {

/// The relevant fields of a line: views of the text.
struct run_line {
    std::string_view topic;
    bool same_topic = false;  ///< as in the preceding line
    std::string_view document;
    double score = 0;  ///< no NaN
};

/// `topic Q0 document rank score tag`, separated by white space; the second field, the rank and the tag are ignored,
/// and the tag may contain blanks. Lines end with LF or CR LF; empty ones are skipped.
class run_lines {
  public:
    /// `name` is for messages; both must outlive it.
    run_lines(const std::string& name, std::string_view text)
        : name_(name), at_(text.data()), end_(text.data() + text.size()) {}

    /// False at the end. Throws invalid_input with the line: fewer than six fields, a score that is not a number or
    /// exceeds the largest double, a line beyond 1 MiB.
    bool next(run_line& found);

    /// Where the line begins that next() found last.
    const char* line_begin() const { return line_begin_; }

    /// The field after a document of `text`; nothing if it is not a number below 2^32.
    static std::optional<std::uint32_t> rank_after(std::string_view document, std::string_view text);

  private:
    bool skip_first_fields();
    std::string_view take_field();
    double score_of(std::string_view text) const;
    [[noreturn]] void refuse(std::string_view reason) const;

    const std::string& name_;
    const char *at_, *end_, *line_begin_ = nullptr;
    std::uint64_t number_ = 0;
    std::string_view topic_;         ///< of the preceding line
    std::string_view first_fields_;  ///< the first two of the preceding line, with the blanks after them
};

}  // namespace quern::io
