// SPDX-License-Identifier: Apache-2.0
// HTML as a flat sequence of tags and text, in one pass and constant memory: enough to judge a page before building its
// tree, and to read a page for which no tree should be built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quern::io {

struct html_tag {
    enum kind { none, start, end } what = none;
    std::string name;             ///< lower case
    std::string_view attributes;  ///< raw
    std::string_view raw;         ///< the whole tag
    std::size_t attribute_count = 0;
    bool self_closing = false;
};

class html_scanner {
  public:
    explicit html_scanner(std::string_view html) : rest_(html) {}

    /// Text up to the next tag, and that tag (none at the end). Skips comments, declarations and the contents of
    /// script, style and other raw elements; raw_text() returns a raw element's contents.
    bool next(std::string_view& text, html_tag& tag);
    /// The text between the last start tag, if it was of a raw element (title, textarea …), and its end tag.
    std::string_view raw_text() const { return raw_text_; }
    /// The comment found in place of a tag, if any.
    std::string_view comment() const { return comment_; }

  private:
    bool read_tag(html_tag& tag);
    void skip_markup();
    void skip_raw(const std::string& name);

    std::string_view rest_;
    std::string_view raw_text_, comment_;
};

/// The value of one attribute in a tag's raw attributes, references not decoded; false if it is absent.
bool html_attribute(std::string_view attributes, std::string_view name, std::string& value);

bool is_void_element(std::string_view name);
/// Elements that begin and end a paragraph.
bool is_block_element(std::string_view name);

/// Whether a tree of this page can be built in linear time and memory, 512 MiB at most, by the HTML standard's
/// algorithm. If so, `slim` becomes the page without parts that cost time and show nothing (the contents of scripts and
/// styles, comments), and `tree_bytes` an upper bound of its tree's memory.
bool is_tame(std::string_view html, std::string& slim, std::uint64_t& tree_bytes);

/// Gives XHTML's <title/> and <script …/> an end tag, as HTML requires.
std::string expand_self_closing(std::string_view xhtml);

}  // namespace quern::io
