// SPDX-License-Identifier: Apache-2.0
// Cuts the text of a dump into pages without parsing it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "io/corpus/utf8_input.hpp"

namespace quern::io {

/// A piece of a dump, in input order.
struct dump_piece {
    enum class what { page, site, issue, end };
    what kind = what::end;
    bool complete = true;    ///< page: ends with </page>; site: with </siteinfo>
    bool rejected = false;   ///< issue: a page is lost
    bool dump_ends = false;  ///< the number of pages lost after it is unknown
    std::string_view xml;  ///< page: the XML; site: the root's tag, and <siteinfo>; valid until the next call
    std::uint64_t line = 0;       ///< where it begins
    std::size_t head_bytes = 0;   ///< page: bytes before the dropped revisions (all of them, if none was)
    std::uint64_t tail_line = 0;  ///< page: the line of the byte after them
    std::string reason;           ///< issue
};

/// In a dump every '<' begins a tag (text has &lt;), so that pages are found by searching for '<' and checking what
/// follows; comments and CDATA sections are skipped. Parsing can then be left to other threads, and after any damage
/// the next "<page>" is found by the same search. Of a page with its whole history all revisions but the last are
/// dropped as they are read, so that memory does not grow with the history.
class dump_cutter {
  public:
    dump_cutter(std::unique_ptr<byte_source> source, std::uint64_t max_page_bytes);
    dump_piece next();
    const byte_source& source() const { return input_.source(); }

  private:
    static constexpr std::size_t npos = std::string_view::npos;
    enum class terminator { comment, cdata, instruction, tag };

    std::string_view rest() const { return std::string_view(window_).substr(at_); }
    bool more();
    bool ensure(std::size_t bytes);
    std::size_t find_end(terminator which, std::size_t from, std::size_t limit);
    bool skip_past(terminator which, std::size_t opening);
    void forget();
    void pass(std::size_t bytes);
    void junk();
    bool outside_tag(dump_piece& found);
    dump_piece cut_site();
    dump_piece cut_page();
    bool inside_tag(dump_piece& page);
    void begin_revision(dump_piece& page);
    dump_piece skip_page(std::uint64_t line);
    dump_piece issue(std::uint64_t line, std::string reason, bool rejected, bool dump_ends = false);
    bool take_gap_issue(dump_piece& found);
    /// At the end of the input: whether the dump itself is truncated. Damage of the underlying bytes is reported last.
    bool ends_early() const { return root_open_ && !input_.damage(); }
    dump_piece finish();

    utf8_input input_;
    std::uint64_t max_page_bytes_;
    std::string window_;      // text not yet returned
    std::size_t keep_ = 0;    // in the window: the beginning of what is still needed
    std::size_t at_ = 0;      // in the window: everything before is settled
    std::uint64_t line_ = 1;  // of at_
    std::uint64_t gone_ = 0;  // bytes that have left the window
    struct searched {
        std::uint64_t from = 1, to = 0;  // no such end begins between them
    };
    std::array<searched, 4> searched_{};
    bool root_open_ = false;
    std::string root_, site_;      // the XML of the last root tag, alone and with its settings
    std::uint64_t junk_line_ = 0;  // of the first junk since the last page; 0: none
    bool lost_page_ = false;       // the junk holds the rest of a page
    bool finished_ = false;
    // of the current page
    std::size_t first_revision_ = npos;
};

}  // namespace quern::io
