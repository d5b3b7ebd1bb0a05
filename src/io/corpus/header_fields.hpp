// SPDX-License-Identifier: Apache-2.0
// Blocks of lines "Name: value", as WARC, HTTP and mail have them: names in any case, a line that begins with a blank
// continues the one before, lines end with LF or CR LF, an empty line ends the block.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quern::io {

/// The length of the block at the front of `bytes`, including its empty line; 0 if that does not come.
std::size_t header_block_end(std::string_view bytes);

class header_fields {
  public:
    struct field {
        std::string_view name;   ///< as it is written
        std::string_view value;  ///< with the line ends of its continuations
    };

    /// Lines without a name are ignored. `block` must outlive the fields.
    explicit header_fields(std::string_view block);

    /// The value of the first field of this name (given in lower case) on one line; empty if there is none.
    std::string value(std::string_view name) const;
    const std::vector<field>& all() const { return fields_; }
    /// A value on one line, without blanks at its ends.
    static std::string unfolded(std::string_view value);

  private:
    std::vector<field> fields_;
};

/// "text/html; charset=utf-8": a type with parameters.
struct media_type {
    std::string name;  ///< "text/html", in lower case; empty if there is none
    std::string parameters;

    explicit media_type(std::string_view value);
    /// The parameter of this name (in lower case), without quotes, and RFC 2231's "name*" and "name*0" too; empty if
    /// there is none.
    std::string parameter(std::string_view wanted) const;
};

/// Equal but for the case of ASCII letters; `small` is in lower case.
bool equals_lower(std::string_view text, std::string_view small);

}  // namespace quern::io
