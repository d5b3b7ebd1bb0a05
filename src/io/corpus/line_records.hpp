// SPDX-License-Identifier: Apache-2.0
// Records that are lines: the parts of a record_form that JSON lines and TSV share.
#pragma once

#include <string_view>

#include "io/corpus/record_reader.hpp"

namespace quern::io {

class line_form : public record_form {
  public:
    std::size_t last_end(std::string_view bytes) const final { return bytes.rfind('\n') + 1; }
    std::size_t end_within(std::string_view bytes) const final { return bytes.find('\n') + 1; }
    std::size_t end_mark_bytes() const final { return 1; }

    /// Calls parse_line for every non-empty line, without its end; rejects a line that is too long.
    void parse(std::string_view bytes, const unit_position& position, parsed_unit& out) const final;

  protected:
    /// At least unit_padding bytes past `line` are readable.
    virtual void parse_line(std::string_view line, const unit_position& position, std::uint64_t number,
                            parsed_unit& out) const = 0;
};

/// The verdict on a text's first lines: at least half of them are whole JSON objects, and have a text.
enum class json_lines { none, objects, documents };

/// Judges the first ten non-empty lines of `head`. If not `whole`, the last may continue past it, and is judged by its
/// beginning if no other line is visible.
json_lines judge_json_lines(std::string_view head, bool whole);

}  // namespace quern::io
