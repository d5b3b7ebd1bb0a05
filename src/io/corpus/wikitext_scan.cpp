// SPDX-License-Identifier: Apache-2.0
// The walk itself, and the markup of lines: headings, list marks, remains of tables, and the apostrophes, whose meaning
// MediaWiki decides at the end of each line.
#include "io/corpus/wikitext_scan.hpp"

#include <algorithm>

namespace quern::io {
namespace {

constexpr std::array<bool, 256> stop_table() {
    std::array<bool, 256> stops{};
    for (unsigned c = 0; c < 0x20; ++c) stops[c] = c != '\t';
    for (const char c : {'{', '}', '[', ']', '|', '<', '&', '\'', '_', '\x7F'})
        stops[static_cast<unsigned char>(c)] = true;
    return stops;
}
constexpr auto stops = stop_table();

constexpr bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

}  // namespace

wikitext_scan::wikitext_scan(std::string_view source, const wiki_site& site, std::string& out,
                             std::vector<std::string>& links)
    : source_(source), site_(site), out_(out), links_(links), tag_ends_(source) {}

void wikitext_scan::run() {
    out_.clear();
    out_.reserve(source_.size() + 16);
    begin_line();
    while (at_ < source_.size()) {
        text_run();
        if (at_ == source_.size()) break;
        switch (source_[at_]) {
            case '\n':
                source_newline();
                break;
            case '{':
                open_brace();
                break;
            case '}':
                close_brace();
                break;
            case '[':
                open_bracket();
                break;
            case ']':
                close_bracket();
                break;
            case '|':
                pipe();
                break;
            case '<':
                angle();
                break;
            case '&':
                ampersand();
                break;
            case '\'':
                apostrophes();
                break;
            case '_':
                underscores();
                break;
            default:
                ++at_;  // control characters are not text
        }
    }
    finish();
}

void wikitext_scan::text_run() {
    const std::size_t begin = at_;
    while (at_ < source_.size() && !stops[static_cast<unsigned char>(source_[at_])]) ++at_;
    out_.append(source_, begin, at_ - begin);
}

void wikitext_scan::plain_char() {
    out_ += source_[at_++];
}

void wikitext_scan::source_newline() {
    end_line();
    abandon_links(false, false);
    ++at_;
    if (starts("\n")) abandon_links(true, false);
    out_ += '\n';
    line_begin_ = out_.size();
    begin_line();
}

/// At the first character of a line: marks that have a meaning only there.
void wikitext_scan::begin_line() {
    line_role_ = line_role::plain;
    std::size_t look = at_;
    while (look < source_.size() && (is_blank(source_[look]) || source_[look] == ':')) ++look;
    const std::string_view rest = source_.substr(look);
    if (rest.starts_with("{|") && !rest.starts_with("{|}")) {
        at_ = look;
        open(mark::table, 0, 2);
        return;
    }
    if (rest.starts_with("|}") && !(rest.starts_with("|}}") && inside(mark::braces))) {
        at_ = look + 2;
        close_table();
        return;
    }
    if (rest.starts_with("|") && open_.empty()) {
        line_role_ = line_role::table_remains;  // of a table opened by a template, or closed too early
        return;
    }
    const char first = at_ < source_.size() ? source_[at_] : '\n';
    if (first == '!' && open_.empty()) line_role_ = line_role::header_remains;
    if (first == '=') {
        abandon_links(true, true);
        headings_.push_back({line_begin_, links_.size()});
        line_role_ = line_role::heading;
    } else if (first == '*' || first == '#' || first == ':' || first == ';') {
        while (at_ < source_.size() && std::string_view("*#:; \t").find(source_[at_]) != npos) ++at_;
    } else if (starts("----")) {
        while (at_ < source_.size() && source_[at_] == '-') ++at_;
        mark_dropped();
    }
}

void wikitext_scan::end_line() {
    const std::size_t first_quotes = open_.empty() ? 0 : open_.back().quotes_begin;
    // Positions remembered by a mark that was opened in this line and is still open must stay valid: such a line is
    // left unchanged.
    if (open_.empty() || open_.back().out_begin < line_begin_) {
        balance_quotes(first_quotes);
        if (line_role_ == line_role::heading) make_heading();
        if (is_table_remains() && open_.empty()) {
            out_.resize(line_begin_);
            mark_dropped();
        }
    }
    quotes_.resize(std::min(quotes_.size(), first_quotes));
}

/// A row outside a table. One that begins with '!' may be prose (!Kung), unless it continues like a header.
bool wikitext_scan::is_table_remains() const {
    if (line_role_ != line_role::header_remains) return line_role_ == line_role::table_remains;
    const std::string_view line = std::string_view(out_).substr(line_begin_);
    return line.find('|') != npos || line.find("!!", 1) != npos;
}

/// "== x ==" becomes "x" between empty lines; a line that only begins with '=' is text.
void wikitext_scan::make_heading() {
    const auto is_edge = [](char c) { return is_blank(c) || c == dropped_mark; };
    std::size_t begin = line_begin_;
    std::size_t end = out_.size();
    while (end > begin && is_edge(out_[end - 1])) --end;
    std::size_t level = 0;
    while (level < 6 && end - begin > 2 && out_[begin] == '=' && out_[end - 1] == '=') {
        ++begin;
        --end;
        ++level;
    }
    if (level == 0) return;
    const std::string title = out_.substr(begin, end - begin);
    out_.resize(line_begin_);
    out_.append("\n\n").append(title).append("\n");
}

/// If a line has an odd number of both bold and italic marks, one "'''" was an apostrophe before an italic mark: after
/// a one-letter word if there is one (l'''Italia''), else after a longer word, else after a space.
void wikitext_scan::balance_quotes(std::size_t first) {
    std::size_t bold = 0;
    std::size_t italic = 0;
    std::size_t choice = npos;
    int rank = 3;
    for (std::size_t i = first; i < quotes_.size(); ++i) {
        const quotes& q = quotes_[i];
        bold += q.count != 2;
        italic += q.count != 3;
        if (q.count != 3 || q.out_at < line_begin_) continue;
        // Only the text since the preceding mark counts.
        const std::size_t begin = i == first ? line_begin_ : std::max(line_begin_, quotes_[i - 1].out_at);
        const auto before = [&](std::size_t back) {
            return q.out_at >= begin + back ? out_[q.out_at - back] : '-';
        };
        // A letter may be several bytes: its first one decides.
        std::size_t back = 1;
        while (back < 4 && (static_cast<unsigned char>(before(back)) & 0xC0) == 0x80) ++back;
        const int this_rank = before(1) == ' ' ? 2 : before(back + 1) == ' ' ? 0 : 1;
        if (this_rank < rank) {
            rank = this_rank;
            choice = q.out_at;
        }
    }
    if (bold % 2 == 1 && italic % 2 == 1 && choice != npos && choice <= out_.size())
        out_.insert(choice, 1, '\'');
}

/// Handles what is still open at the end. Ranges to cut rise with the stack, so that one pass over the output suffices.
void wikitext_scan::finish() {
    end_line();
    std::string kept;
    std::size_t copied = 0;
    bool cut = false;
    std::size_t links_cut = npos;
    std::size_t links_kept = npos;
    for (const frame& f : open_) {
        std::size_t end = 0;
        if (f.kind == mark::table) {
            const bool ends = f.headings_begin < headings_.size();
            end = ends ? std::min(headings_[f.headings_begin].out_at, out_.size()) : out_.size();
            if (links_cut == npos) {
                links_cut = f.links_begin;
                links_kept = ends ? headings_[f.headings_begin].links : links_.size();
            }
        } else if (f.kind == mark::link && f.target == link_kind::file) {
            end = std::min(out_.find('\n', f.out_begin), out_.size());
        }
        if (end <= f.out_begin || f.out_begin < copied) continue;
        kept.append(out_, copied, f.out_begin - copied);
        kept += dropped_mark;
        copied = end;
        cut = true;
    }
    if (cut) {
        kept.append(out_, copied);
        out_.swap(kept);
    }
    if (links_cut != npos && links_cut < links_kept) {
        links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(links_cut),
                     links_.begin() + static_cast<std::ptrdiff_t>(links_kept));
    }
}

}  // namespace quern::io
