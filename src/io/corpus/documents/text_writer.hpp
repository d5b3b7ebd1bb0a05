// SPDX-License-Identifier: Apache-2.0
// The text of a document while it is converted, bounded by the limit of a document.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/corpus/documents/converter.hpp"
#include "io/corpus/html_text.hpp"

namespace quern::io {

/// html_text that refuses to grow beyond the room of a document (require_text_room).
class text_writer {
  public:
    explicit text_writer(const convertible& file) : file_(file) {}

    void want(html_text::gap gap) { text_.want(gap); }
    void line_break() { text_.line_break(); }
    /// White space collapsed.
    void add(std::string_view text) {
        grow(text.size());
        text_.add(text, false);
    }
    /// Unchanged.
    void add_verbatim(std::string_view text) {
        grow(text.size());
        text_.add_verbatim(text);
    }
    /// An inner part, finished elsewhere, as a paragraph.
    void add_part(std::string_view text) {
        if (text.empty()) return;
        text_.want(html_text::paragraph);
        add_verbatim(text);
        text_.want(html_text::paragraph);
    }
    std::string take() { return text_.take(); }

  private:
    void grow(std::size_t bytes) {
        bytes_ += bytes + 2;  // with the gap before it
        if (bytes_ < check_at_) return;
        require_text_room(file_, bytes_);
        check_at_ = bytes_ + (64 << 10);
    }

    const convertible& file_;
    html_text text_;
    std::uint64_t bytes_ = 0, check_at_ = 0;
};

}  // namespace quern::io
