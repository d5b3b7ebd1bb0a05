// SPDX-License-Identifier: Apache-2.0
// Text as a page shows it, built piece by piece: white space collapsed, blocks apart.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace quern::io {

class html_text {
  public:
    /// What must stand between what was written and what comes; the strongest wish counts.
    enum gap { none, space, tab, line, paragraph };

    void want(gap wish) {
        if (wish > gap_) gap_ = wish;
    }
    /// <br>: two of them end a paragraph.
    void line_break() { gap_ = gap_ >= line ? paragraph : line; }
    /// Collapses white space; with `lines` kept (code), line ends stay.
    void add(std::string_view text, bool lines);
    /// As it is (<pre>).
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
