// SPDX-License-Identifier: Apache-2.0
// The one parser of TREC runs: line by line over a text in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::io {

/// What matters of a line: views of the text.
struct run_line {
    std::string_view topic;
    bool same_topic = false;  ///< as in the line before
    std::string_view document;
    double score = 0;  ///< no NaN
};

/// `topic Q0 document rank score tag`, white space between; the second field, the rank and the tag are not looked at, and
/// the tag may hold blanks. Lines end with LF or CR LF; empty ones are passed over.
class run_lines {
  public:
    /// `name` is for messages; both must outlive it.
    run_lines(const std::string& name, std::string_view text)
        : name_(name), at_(text.data()), end_(text.data() + text.size()) {}

    /// False at the end. Throws invalid_input with the line: fewer than six fields, a score that is no number or beyond
    /// the greatest double, a line beyond 1 MiB.
    bool next(run_line& found);

    /// The field behind a document of `text`; nothing where it is no number below 2^32.
    static std::optional<std::uint32_t> rank_behind(std::string_view document, std::string_view text);

  private:
    bool skip_first_fields();
    std::string_view take_field();
    double score_of(std::string_view text) const;
    [[noreturn]] void refuse(std::string_view reason) const;

    const std::string& name_;
    const char *at_, *end_;
    std::uint64_t number_ = 0;
    std::string_view topic_;         ///< of the line before
    std::string_view first_fields_;  ///< the first two of the line before, with the blanks behind them
};

}  // namespace quern::io
