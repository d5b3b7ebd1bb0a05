// SPDX-License-Identifier: Apache-2.0
// The text of a marked-up document, built piece by piece.
#pragma once

#include <string>
#include <string_view>

namespace quern::io {

/// The visible text of a page, built piece by piece: white space collapsed, blocks separated.
class html_text {
  public:
    /// The separation required between the text so far and the next; the strongest request counts.
    enum gap { none, space, tab, line, paragraph };

    void want(gap wish) {
        if (wish > gap_) gap_ = wish;
    }
    /// <br>: two of them end a paragraph.
    void line_break() { gap_ = gap_ >= line ? paragraph : line; }
    /// Collapses white space; with `lines` (code), line ends are kept.
    void add(std::string_view text, bool lines);
    /// Unchanged (<pre>).
    void add_verbatim(std::string_view text);
    std::string take();

  private:
    void bridge();

    std::string out_;
    gap gap_ = none;
};

/// White space collapsed, none at the ends.
std::string collapsed(std::string_view text);

}  // namespace quern::io
