// SPDX-License-Identifier: Apache-2.0
// HTML and extension tags as wikitext knows them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quern::io {

enum class tag_role : std::uint8_t {
    unknown,     ///< not a tag: '<' is text
    strip,       ///< the tag is removed, its content stays
    line,        ///< as strip, but the content is on separate lines
    paragraph,   ///< as strip, but the content is a separate paragraph
    line_break,  ///< <br>
    cell,        ///< as strip, but the content is separated by a space
    table,       ///< <table>: removed with its content
    drop,        ///< removed with its content, which is not wikitext
    note,        ///< <ref>: as drop, but cannot contain another one
    verbatim     ///< the content stays, and is not wikitext
};

struct wiki_tag {
    tag_role role = tag_role::unknown;
    std::uint8_t index = 0;  ///< of the name in the table, to remember the position of its end
    std::string_view name;
    bool closing = false;
    bool self_closing = false;
    std::size_t length = 0;  ///< bytes from '<' to '>'
};

inline constexpr std::size_t max_tag_names = 128;

/// `text` begins with '<' but not with a comment. Role `unknown` if no known tag with an end begins there.
wiki_tag read_tag(std::string_view text);

/// Finds "</name" (any case), and remembers per name how far it has searched: over one text, with rising `from`, all
/// calls together are linear.
class tag_end_finder {
  public:
    explicit tag_end_finder(std::string_view text) : text_(text) {}
    /// Position of '<', or npos. For `opening`, finds "<name" instead.
    std::size_t find(const wiki_tag& tag, std::size_t from, bool opening);

  private:
    struct memory {
        std::size_t from = 1, found = 0;  // nothing between them
    };
    std::string_view text_;
    std::array<memory, 2 * max_tag_names> seen_{};
};

}  // namespace quern::io
