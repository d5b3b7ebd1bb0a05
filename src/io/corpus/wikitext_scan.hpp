// SPDX-License-Identifier: Apache-2.0
// The pass that removes the markup from wikitext. Internal: see wikitext.hpp.
//
// One walk from left to right, without recursion. Everything is written to the output at once. An opening mark is
// remembered with the position where its output began, and only its closing mark decides the result: a template is
// dropped by truncating the output there, a link loses its target. A mark whose end never comes thereby remains text,
// at no cost, and time is linear for any nesting.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/wiki_site.hpp"

namespace quern::io {

// HTML and extension tags as wikitext knows them.

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

/// Marks in the scan's output where something was dropped, so that the tidying knows where to clean up. No such byte is
/// ever copied from the input.
inline constexpr char dropped_mark = '\x01';

class wikitext_scan {
  public:
    wikitext_scan(std::string_view source, const wiki_site& site, std::string& out,
                  std::vector<std::string>& links);
    void run();

  private:
    enum class mark : std::uint8_t { braces, link, external, variant, table, html_table };
    enum class line_role : std::uint8_t { plain, heading, table_remains, header_remains };
    static constexpr std::size_t npos = std::string_view::npos;

    /// An opening mark that waits for its end. `…_begin` are sizes at the time it was read.
    struct frame {
        mark kind;
        link_kind target = link_kind::invalid;  // link: known at its first '|'
        line_role role = line_role::plain;      // of the line that contains it
        std::size_t out_begin = 0;              // where its literal begins in the output
        std::size_t content = 0;                // where its content begins: after the braces, or the label
        std::size_t source_begin = 0;           // after the mark
        std::size_t line_begin = 0;
        std::size_t links_begin = 0, quotes_begin = 0, headings_begin = 0;
        std::size_t braces = 0;
        bool has_label = false;
        std::string id = {};  // link to an article: its target
    };
    struct quotes {
        std::size_t out_at;  // the output's size at their position
        int count;           // 2, 3 or 5
    };
    struct heading {
        std::size_t out_at, links;
    };

    // lines (wikitext_scan.cpp)
    void begin_line();
    void end_line();
    void source_newline();
    void make_heading();
    bool is_table_remains() const;
    void balance_quotes(std::size_t first);
    void text_run();
    void plain_char();
    void finish();
    // marks (wikitext_marks.cpp)
    void open(mark kind, std::size_t literal, std::size_t taken);
    void abandon();  // the innermost open mark: stays text
    void drop_frame();
    void erase(std::size_t from, std::size_t to, const frame& within);
    bool inside(mark kind) const { return open_count_[static_cast<std::size_t>(kind)] != 0; }
    bool innermost(mark kind) const { return !open_.empty() && open_.back().kind == kind; }
    void abandon_links(bool with_label, bool with_files);
    void mark_dropped();
    void open_brace();
    bool drop_plain_template();
    void close_brace();
    void close_braces(std::size_t count);
    void close_variant();
    void open_bracket();
    void open_link();
    void open_external(std::size_t scheme);
    void skip_url();
    void pipe();
    void close_bracket();
    void close_link();
    void close_external();
    void close_table();
    // tags and the rest (wikitext_tokens.cpp)
    void angle();
    void comment();
    void tag();
    void drop_until_end(const wiki_tag& found, std::size_t content);
    void keep_verbatim(const wiki_tag& found, std::size_t content);
    void break_line(std::size_t count);
    void append_verbatim(std::string_view text);
    void ampersand();
    void apostrophes();
    void underscores();
    std::size_t paragraph_end(std::size_t from);

    bool starts(std::string_view what) const { return source_.substr(at_).starts_with(what); }

    std::string_view source_;
    const wiki_site& site_;
    std::string& out_;
    std::vector<std::string>& links_;
    std::size_t at_ = 0;
    std::size_t line_begin_ = 0;  // in the output
    line_role line_role_ = line_role::plain;
    std::vector<frame> open_;
    std::array<std::size_t, 6> open_count_{};
    std::vector<quotes> quotes_;
    std::vector<heading> headings_;
    tag_end_finder tag_ends_;
    bool comment_end_missing_ = false;
    std::size_t paragraph_from_ = 1, paragraph_end_ = 0;  // no paragraph ends between them
};

}  // namespace quern::io
