// SPDX-License-Identifier: Apache-2.0
// The window holds the text from the current page onwards; it grows by reads and is moved to the front when most of it
// is settled. Every byte is examined a bounded number of times: failed searches are remembered.
#include "io/corpus/wikipedia_cut.hpp"

#include <algorithm>
#include <string_view>

#include "io/lines/line_ends.hpp"

namespace quern::io {
namespace {

constexpr std::size_t longest_markup = 1 << 20;  // of a comment, a declaration, a <siteinfo>
constexpr std::size_t longest_name = 16;         // enough to distinguish tags

constexpr std::string_view terminators[] = {"-->", "]]>", "?>", ">"};

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// "<name" followed by the end of a name.
bool is_tag(std::string_view text, std::string_view tag) {
    return text.starts_with(tag) && text.size() > tag.size() &&
           (text[tag.size()] == '>' || text[tag.size()] == '/' || is_blank(text[tag.size()]));
}

}  // namespace

dump_cutter::dump_cutter(std::unique_ptr<byte_source> source, std::uint64_t max_page_bytes)
    : input_(std::move(source)), max_page_bytes_(max_page_bytes) {}

bool dump_cutter::more() {
    return input_.read_more(window_);
}

/// Whether at least `bytes` are available from at_ on.
bool dump_cutter::ensure(std::size_t bytes) {
    while (window_.size() - at_ < bytes) {
        if (!more()) return false;
    }
    return true;
}

/// Drops what is before keep_, if that is worth moving the rest.
void dump_cutter::forget() {
    if (keep_ < (1u << 16) || keep_ < window_.size() / 2) return;
    window_.erase(0, keep_);
    gone_ += keep_;
    at_ -= keep_;
    keep_ = 0;
}

void dump_cutter::pass(std::size_t bytes) {
    line_ += count_line_ends(std::string_view(window_).substr(at_, bytes));
    at_ += bytes;
}

/// The end of `which` at or after `from` (in the window), within `limit` bytes; npos if not found.
std::size_t dump_cutter::find_end(terminator which, std::size_t from, std::size_t limit) {
    const std::string_view end = terminators[static_cast<std::size_t>(which)];
    searched& seen = searched_[static_cast<std::size_t>(which)];
    const std::uint64_t begin = gone_ + from;
    limit = std::min(limit, npos / 2);
    std::size_t look = from;
    if (begin >= seen.from && begin <= seen.to) look = static_cast<std::size_t>(seen.to - gone_);
    if (look == from) seen.from = begin;
    for (;;) {
        const std::size_t found = std::string_view(window_).substr(0, from + limit).find(end, look);
        if (found != npos) {
            seen.to = gone_ + found;
            return found + end.size();
        }
        look =
            std::max(look, std::min(window_.size(), from + limit) - std::min(window_.size(), end.size() - 1));
        seen.to = gone_ + look;
        if (window_.size() >= from + limit || !more()) return npos;
    }
}

bool dump_cutter::skip_past(terminator which, std::size_t opening) {
    const std::size_t end = find_end(which, at_ + opening, longest_markup);
    if (end == npos) return false;
    pass(end - at_);
    return true;
}

dump_piece dump_cutter::issue(std::uint64_t line, std::string reason, bool rejected, bool dump_ends) {
    dump_piece found;
    found.kind = dump_piece::what::issue;
    found.line = line;
    found.reason = std::move(reason);
    found.rejected = rejected;
    found.dump_ends = dump_ends;
    return found;
}

void dump_cutter::junk() {
    if (junk_line_ == 0) junk_line_ = line_;
}

bool dump_cutter::take_gap_issue(dump_piece& found) {
    if (junk_line_ == 0) return false;
    found = issue(junk_line_, lost_page_ ? "a page without its beginning" : "other content between the pages",
                  lost_page_);
    junk_line_ = 0;
    lost_page_ = false;
    return true;
}

dump_piece dump_cutter::next() {
    dump_piece found;
    for (;;) {
        keep_ = at_;
        forget();
        if (at_ == window_.size() && !more()) return finish();
        if (auto note = input_.take_note()) return issue(line_, std::move(*note), false);
        const std::size_t tag = std::min(window_.find('<', at_), window_.size());
        for (std::size_t i = at_; i < tag; ++i) {
            if (!is_blank(window_[i])) {
                pass(i - at_);
                junk();
                break;
            }
        }
        pass(tag - at_);
        if (at_ < window_.size() && outside_tag(found)) return found;
    }
}

/// Handles a '<' between pages; true if it is a piece to return.
bool dump_cutter::outside_tag(dump_piece& found) {
    ensure(longest_name);
    if (is_tag(rest(), "<page")) {
        if (take_gap_issue(found)) return true;
        found = cut_page();
        return true;
    }
    if (is_tag(rest(), "<mediawiki")) {
        root_open_ = true;
        const std::size_t begin = at_;
        found = dump_piece();
        found.kind = dump_piece::what::site;
        found.line = line_;
        if (skip_past(terminator::tag, 1)) {
            root_ = window_.substr(begin, at_ - begin);
            found.xml = root_;
            return true;
        }
    } else if (is_tag(rest(), "<siteinfo")) {
        found = cut_site();
        return true;
    } else if (is_tag(rest(), "</mediawiki")) {
        root_open_ = false;
        if (skip_past(terminator::tag, 1)) return false;
    } else if (rest().starts_with("<!--")) {
        if (skip_past(terminator::comment, 4)) return false;
    } else if (rest().starts_with("<?")) {
        if (skip_past(terminator::instruction, 2)) return false;
    } else if (rest().starts_with("<!DOCTYPE")) {
        if (skip_past(terminator::tag, 1)) return false;
    }
    if (is_tag(rest(), "</page")) lost_page_ = true;
    junk();
    pass(1);
    return false;
}

/// From "<siteinfo" to its end, or to the beginning of something else.
dump_piece dump_cutter::cut_site() {
    dump_piece site;
    site.kind = dump_piece::what::site;
    site.line = line_;
    site.complete = false;
    keep_ = at_;
    pass(1);
    while (at_ - keep_ <= longest_markup) {
        pass(std::min(window_.find('<', at_), window_.size()) - at_);
        if (at_ == window_.size()) {
            if (more()) continue;
            site.dump_ends = ends_early();
            root_open_ = false;  // report it once
            break;
        }
        ensure(longest_name);
        if (is_tag(rest(), "</siteinfo")) {
            site.complete = skip_past(terminator::tag, 1);
            break;
        }
        if (is_tag(rest(), "<page") || is_tag(rest(), "<siteinfo") || is_tag(rest(), "<mediawiki") ||
            is_tag(rest(), "</mediawiki")) {
            break;
        }
        pass(1);
    }
    site_ = root_ + window_.substr(keep_, at_ - keep_);
    site.xml = site_;
    return site;
}

/// From "<page" to its end. A page that does not end before the next one begins, or before the dump ends, is returned
/// incomplete.
dump_piece dump_cutter::cut_page() {
    dump_piece page;
    page.kind = dump_piece::what::page;
    page.line = line_;
    first_revision_ = npos;
    keep_ = at_;
    pass(1);
    for (;;) {
        const std::size_t tag = std::min(window_.find('<', at_), window_.size());
        pass(tag - at_);
        if (at_ - keep_ > max_page_bytes_) return skip_page(page.line);
        if (at_ == window_.size()) {
            if (more()) continue;
            page.complete = false;
            page.dump_ends = ends_early();
            root_open_ = false;  // report it once
            break;
        }
        if (inside_tag(page)) break;
    }
    page.xml = std::string_view(window_).substr(keep_, at_ - keep_);
    if (page.head_bytes == 0) {
        page.head_bytes = page.xml.size();
        page.tail_line = line_;
    }
    return page;
}

/// Handles a '<' within a page; true if the page ends before at_.
bool dump_cutter::inside_tag(dump_piece& page) {
    ensure(longest_name);
    if (is_tag(rest(), "</page")) {
        const std::size_t end = find_end(terminator::tag, at_, longest_markup);
        page.complete = end != npos;
        pass(end == npos ? 1 : end - at_);
        return true;
    }
    if (is_tag(rest(), "<page") || is_tag(rest(), "<mediawiki") || is_tag(rest(), "</mediawiki")) {
        page.complete = false;
        return true;
    }
    if (is_tag(rest(), "<revision")) {
        begin_revision(page);
    } else if (rest().starts_with("<!--") && skip_past(terminator::comment, 4)) {
        return false;
    } else if (rest().starts_with("<![CDATA[")) {
        const std::size_t end = find_end(terminator::cdata, at_, static_cast<std::size_t>(max_page_bytes_));
        if (end != npos) {
            pass(end - at_);
            return false;
        }
    }
    pass(1);
    return false;
}

/// A second revision replaces the first: what precedes them is moved up to it.
void dump_cutter::begin_revision(dump_piece& page) {
    if (first_revision_ == npos) {
        first_revision_ = at_ - keep_;
        return;
    }
    const std::size_t head = first_revision_;
    std::copy_backward(window_.begin() + static_cast<std::ptrdiff_t>(keep_),
                       window_.begin() + static_cast<std::ptrdiff_t>(keep_ + head),
                       window_.begin() + static_cast<std::ptrdiff_t>(at_));
    keep_ = at_ - head;
    page.head_bytes = head;
    page.tail_line = line_;
    forget();
}

/// Skips a page that is larger than allowed.
dump_piece dump_cutter::skip_page(std::uint64_t line) {
    dump_piece passed;
    for (;;) {
        keep_ = at_;
        forget();
        const std::size_t tag = std::min(window_.find('<', at_), window_.size());
        pass(tag - at_);
        if (at_ == window_.size()) {
            if (!more()) break;
        } else {
            first_revision_ = npos;
            if (inside_tag(passed)) break;
        }
    }
    return issue(line, "a page of more than " + std::to_string(max_page_bytes_) + " bytes", true);
}

dump_piece dump_cutter::finish() {
    dump_piece found;
    if (take_gap_issue(found)) {
        found.dump_ends = ends_early();
        root_open_ = false;  // the same damage: reported once
        return found;
    }
    if (!finished_) {
        finished_ = true;
        if (input_.damage()) return issue(line_, *input_.damage(), false, true);
        if (root_open_) return issue(line_, "the dump ends before </mediawiki>", false, true);
    }
    return found;
}

}  // namespace quern::io
