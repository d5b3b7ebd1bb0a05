// SPDX-License-Identifier: Apache-2.0
// Records that are lines: the halves of a record_form that JSON lines and TSV share.
#pragma once

#include <string_view>

#include "io/corpus/record_reader.hpp"

namespace quern::io {

class line_form : public record_form {
  public:
    std::size_t last_end(std::string_view bytes) const final { return bytes.rfind('\n') + 1; }
    std::size_t end_within(std::string_view bytes) const final { return bytes.find('\n') + 1; }
    std::size_t end_mark_bytes() const final { return 1; }

    /// Calls parse_line for every line that is not empty, without its end; a line that is too long is
    /// rejected.
    void parse(std::string_view bytes, const unit_place& place, parsed_unit& out) const final;

  protected:
    /// At least unit_padding bytes may be read beyond `line`.
    virtual void parse_line(std::string_view line, const unit_place& place, std::uint64_t number,
                            parsed_unit& out) const = 0;
};

/// What the first lines of a text say of it: at least half of them are whole JSON objects, and have a text.
enum class json_lines { none, objects, documents };

/// Judges the first ten lines of `head` that are not empty. Not `whole`: the last may go on beyond it, and is judged by
/// its beginning where no other is seen.
json_lines judge_json_lines(std::string_view head, bool whole);

}  // namespace quern::io
