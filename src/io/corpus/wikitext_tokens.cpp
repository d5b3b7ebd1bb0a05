// SPDX-License-Identifier: Apache-2.0
// Tags, comments, entities, apostrophes and switches: markup that is handled where it occurs.
#include <algorithm>

#include "io/corpus/html_entities.hpp"
#include "io/corpus/wiki_site.hpp"
#include "io/corpus/wikitext_scan.hpp"

namespace quern::io {

void wikitext_scan::angle() {
    if (starts("<!--")) {
        comment();
    } else {
        tag();
    }
}

/// Remembers how far it has searched, as tag_end_finder does.
std::size_t wikitext_scan::paragraph_end(std::size_t from) {
    if (from < paragraph_from_ || from > paragraph_end_) {
        paragraph_from_ = from;
        paragraph_end_ = std::min(source_.find("\n\n", from), source_.size());
    }
    return paragraph_end_;
}

/// A comment alone on its lines consumes the last line end with it, so that it does not separate paragraphs.
void wikitext_scan::comment() {
    const std::size_t end = comment_end_missing_ ? npos : source_.find("-->", at_ + 4);
    const bool line_start = out_.size() == line_begin_;
    if (end == npos) {
        comment_end_missing_ = true;
        at_ = paragraph_end(at_);
        mark_dropped();
        return;
    }
    at_ = end + 3;
    if (!line_start) return;
    std::size_t look = at_;
    while (look < source_.size() && (source_[look] == ' ' || source_[look] == '\t')) ++look;
    if (look < source_.size() && source_[look] == '\n') at_ = look + 1;
    begin_line();
}

void wikitext_scan::tag() {
    const wiki_tag found = read_tag(source_.substr(at_));
    if (found.role == tag_role::unknown) {
        plain_char();
        return;
    }
    const std::size_t content = at_ + found.length;
    const bool has_content = !found.closing && !found.self_closing;
    switch (found.role) {
        case tag_role::line:
            break_line(1);
            break;
        case tag_role::paragraph:
            break_line(2);
            break;
        case tag_role::line_break:
            break_line(1);
            break;
        case tag_role::cell:
            out_ += ' ';
            break;
        case tag_role::table:
            if (found.closing) {
                abandon_links(true, true);
                if (innermost(mark::html_table)) {
                    drop_frame();
                    break_line(1);
                }
            } else if (has_content) {
                open(mark::html_table, 0, found.length);
                out_.resize(open_.back().out_begin);  // without an end it is an ordinary tag
                return;
            }
            break;
        case tag_role::drop:
        case tag_role::note:
            if (has_content) {
                drop_until_end(found, content);
                return;
            }
            mark_dropped();
            break;
        case tag_role::verbatim:
            if (has_content) {
                keep_verbatim(found, content);
                return;
            }
            break;
        default:
            break;
    }
    at_ = content;
}

void wikitext_scan::drop_until_end(const wiki_tag& found, std::size_t content) {
    std::size_t end = tag_ends_.find(found, content, false);
    if (found.role == tag_role::note && end != npos) {
        const std::size_t next = tag_ends_.find(found, content, true);
        if (next < end) end = npos;
    }
    mark_dropped();
    if (end != npos) {
        const std::size_t close = source_.find('>', end);
        at_ = close == npos ? source_.size() : close + 1;
        return;
    }
    if (found.name == "references") {  // written for <references/>
        at_ = content;
        return;
    }
    at_ = paragraph_end(content);
    if (found.role == tag_role::note) at_ = std::min(at_, tag_ends_.find(found, content, true));
}

void wikitext_scan::keep_verbatim(const wiki_tag& found, std::size_t content) {
    const std::size_t end = tag_ends_.find(found, content, false);
    at_ = content;
    if (end == npos) return;
    const bool block = found.name == "pre";
    if (block) break_line(1);
    append_verbatim(source_.substr(content, end - content));
    const std::size_t close = source_.find('>', end);
    at_ = close == npos ? source_.size() : close + 1;
    if (block) break_line(1);
}

void wikitext_scan::append_verbatim(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        std::size_t taken = c == '&' ? decode_reference(text.substr(i), out_) : 0;
        if (taken == 0) {
            taken = 1;
            if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out_ += c;
        }
        if (c == '\n') {
            line_begin_ = out_.size();
            line_role_ = line_role::plain;
        }
        i += taken;
    }
}

/// Line ends produced by tags: at most `count` in a row, and none within a heading.
void wikitext_scan::break_line(std::size_t count) {
    if (line_role_ == line_role::heading) {
        out_ += ' ';
        return;
    }
    out_.append(count, '\n');
}

void wikitext_scan::ampersand() {
    const std::size_t taken = decode_reference(source_.substr(at_), out_);
    if (taken == 0) {
        plain_char();
    } else {
        at_ += taken;
    }
}

void wikitext_scan::apostrophes() {
    std::size_t count = 1;
    while (at_ + count < source_.size() && source_[at_ + count] == '\'') ++count;
    at_ += count;
    std::size_t text = 0;
    if (count == 1 || count == 4) text = 1;
    if (count > 5) text = count - 5;
    out_.append(text, '\'');
    if (count > text) quotes_.push_back({out_.size(), static_cast<int>(count - text)});
}

void wikitext_scan::underscores() {
    constexpr std::size_t longest_switch = 80;
    if (starts("__")) {
        const std::string_view rest = source_.substr(at_ + 2, longest_switch);
        const std::size_t end = rest.find("__");
        const std::string_view word = rest.substr(0, end);
        if (end != npos && end > 0 && word.find_first_of(" \t\n") == npos && is_behaviour_switch(word)) {
            at_ += end + 4;
            mark_dropped();
            return;
        }
        plain_char();
    }
    plain_char();
}

}  // namespace quern::io
