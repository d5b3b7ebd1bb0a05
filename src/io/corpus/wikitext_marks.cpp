// SPDX-License-Identifier: Apache-2.0
// Paired marks: templates {{…}}, links [[…]] and [http://…], tables {|…|}, variants -{…}-.
#include <algorithm>
#include <initializer_list>

#include "base/ascii.hpp"
#include "io/corpus/wikitext_scan.hpp"

namespace quern::io {
namespace {

// Closing a link moves its label over its target, once for every link around it. Real text nests no deeper than a file
// in a file's caption; a limit keeps hostile input linear.
constexpr std::size_t deepest_links = 32;
constexpr std::size_t deepest_variants = 8;

/// [[ns:Name (remark)|]] is shown as "Name", [[Name, place|]] too.
std::string_view pipe_trick(std::string_view target) {
    target = trimmed(target);
    if (target.starts_with(':')) target.remove_prefix(1);
    if (const std::size_t colon = target.find(':'); colon != std::string_view::npos)
        target.remove_prefix(colon + 1);
    const std::size_t remark = target.rfind('(');
    if (remark != std::string_view::npos && remark > 0 && target.ends_with(')'))
        return trimmed(target.substr(0, remark));
    return trimmed(target.substr(0, target.find(", ")));
}

/// The text of -{…}-: "text" · "flags|text" · "zh-hans:one;zh-hant:other;", the simplified form if there is one. Flags
/// H, T, D, - and N show no text.
std::string_view variant_text(std::string_view content) {
    if (const std::size_t bar = content.find('|'); bar != std::string_view::npos && bar <= 24) {
        const std::string_view flags = content.substr(0, bar);
        if (flags.find_first_of("HTDN-") != std::string_view::npos &&
            flags.find("zh-") == std::string_view::npos) {
            return {};
        }
        content.remove_prefix(bar + 1);
        if (flags.find('R') != std::string_view::npos) return content;
    }
    const auto is_code = [](std::string_view code) {
        return code.size() >= 2 && code.size() <= 12 && std::all_of(code.begin(), code.end(), [](char c) {
                   return (c >= 'a' && c <= 'z') || c == '-';
               });
    };
    std::string_view first;
    std::string_view rest = content;
    while (!rest.empty()) {
        const std::string_view item = rest.substr(0, rest.find(';'));
        rest.remove_prefix(std::min(rest.size(), item.size() + 1));
        const std::size_t colon = item.find(':');
        if (colon == std::string_view::npos || !is_code(trimmed(item.substr(0, colon)))) {
            if (first.data() == nullptr) return content;
            continue;
        }
        const std::string_view code = trimmed(item.substr(0, colon));
        const std::string_view text = trimmed(item.substr(colon + 1));
        if (code == "zh-hans" || code == "zh-cn") return text;
        if (first.data() == nullptr) first = text;
    }
    return first;
}

}  // namespace

void wikitext_scan::open(mark kind, std::size_t literal, std::size_t taken) {
    frame f{.kind = kind};
    f.role = line_role_;
    f.out_begin = out_.size() - literal;
    f.content = out_.size() + (kind == mark::table ? 0 : taken);
    f.line_begin = line_begin_;
    f.links_begin = links_.size();
    f.quotes_begin = quotes_.size();
    f.headings_begin = headings_.size();
    out_.append(source_, at_, taken);
    at_ += taken;
    f.source_begin = at_;
    f.braces = kind == mark::braces ? taken : 0;
    open_.push_back(std::move(f));
    ++open_count_[static_cast<std::size_t>(kind)];
}

void wikitext_scan::abandon() {
    --open_count_[static_cast<std::size_t>(open_.back().kind)];
    open_.pop_back();
}

void wikitext_scan::mark_dropped() {
    if (out_.empty() || out_.back() != dropped_mark) out_ += dropped_mark;
}

/// Drops the innermost mark and everything written since.
void wikitext_scan::drop_frame() {
    const frame& f = open_.back();
    out_.resize(f.out_begin);
    links_.resize(std::min(links_.size(), f.links_begin));
    quotes_.resize(std::min(quotes_.size(), f.quotes_begin));
    headings_.resize(std::min(headings_.size(), f.headings_begin));
    line_begin_ = f.line_begin;
    line_role_ = f.role;
    abandon();
    mark_dropped();
}

/// Removes [from, to) from the output; positions remembered since `within` was opened move with it.
void wikitext_scan::erase(std::size_t from, std::size_t to, const frame& within) {
    out_.erase(from, to - from);
    const auto moved = [&](std::size_t position) {
        return position <= from ? position : position < to ? from : position - (to - from);
    };
    for (std::size_t i = within.quotes_begin; i < quotes_.size(); ++i)
        quotes_[i].out_at = moved(quotes_[i].out_at);
    for (std::size_t i = within.headings_begin; i < headings_.size(); ++i) {
        headings_[i].out_at = moved(headings_[i].out_at);
    }
    line_begin_ = moved(line_begin_);
}

/// Abandons links that can no longer be closed: a link must not cross a line end before its label, nor an empty line
/// within it; a file's caption may contain both, but no heading.
void wikitext_scan::abandon_links(bool with_label, bool with_files) {
    while (!open_.empty()) {
        const frame& f = open_.back();
        if (f.kind == mark::link) {
            const bool file = f.target == link_kind::file;
            if (f.has_label && !(file ? with_files : with_label)) return;
            if (file) {
                const std::size_t end = std::min(out_.find('\n', f.out_begin), out_.size());
                erase(f.out_begin, end, f);
            }
        } else if (f.kind != mark::external) {
            return;
        }
        abandon();
    }
}

void wikitext_scan::open_brace() {
    std::size_t count = 1;
    while (at_ + count < source_.size() && source_[at_ + count] == '{') ++count;
    const bool variant =
        site_.has_variants() && at_ > 0 && source_[at_ - 1] == '-' && !out_.empty() && out_.back() == '-';
    if (count == 1) {
        if (variant && open_count_[static_cast<std::size_t>(mark::variant)] < deepest_variants) {
            open(mark::variant, 1, 1);
        } else {
            plain_char();
        }
        return;
    }
    if (count == 2 && drop_plain_template()) return;
    open(mark::braces, 0, count);
}

/// Most templates contain no other markup: they are skipped without being written.
bool wikitext_scan::drop_plain_template() {
    const auto plain = [](char c) { return c != '{' && c != '}' && c != '[' && c != '<'; };
    std::size_t end = at_ + 2;
    while (end < source_.size() && plain(source_[end])) ++end;
    if (!source_.substr(end).starts_with("}}")) return false;
    at_ = end + 2;
    mark_dropped();
    if (innermost(mark::external)) skip_url();
    return true;
}

void wikitext_scan::close_brace() {
    std::size_t count = 1;
    while (at_ + count < source_.size() && source_[at_ + count] == '}') ++count;
    if (count == 1 && starts("}-") && innermost(mark::variant)) {
        close_variant();
    } else if (count == 1 || !inside(mark::braces)) {
        out_.append(count, '}');
        at_ += count;
    } else {
        at_ += count;
        close_braces(count);
    }
}

/// Pairs as MediaWiki does: three at once if both sides have three (a parameter), else two (a template).
void wikitext_scan::close_braces(std::size_t count) {
    while (count >= 2 && inside(mark::braces)) {
        while (open_.back().kind != mark::braces) abandon();
        frame& f = open_.back();
        const std::size_t pair = std::min({f.braces, count, std::size_t{3}});
        count -= pair;
        if (f.braces - pair < 2) {
            f.out_begin = f.content - pair;  // the rest of a run of '{' stays
            drop_frame();
            continue;
        }
        frame left = f;
        left.content -= pair;
        left.braces -= pair;
        f.out_begin = left.content;
        drop_frame();
        open_.push_back(std::move(left));
        ++open_count_[static_cast<std::size_t>(mark::braces)];
    }
    out_.append(count, '}');
    if (innermost(mark::external)) skip_url();
}

void wikitext_scan::close_variant() {
    const std::string content = out_.substr(open_.back().content);
    const std::size_t links = links_.size();
    std::vector<std::string> kept(links_.begin() + static_cast<std::ptrdiff_t>(open_.back().links_begin),
                                  links_.end());
    at_ += 2;
    drop_frame();
    const std::string_view text = variant_text(content);
    out_.append(text);
    if (!text.empty() && links > links_.size()) links_.insert(links_.end(), kept.begin(), kept.end());
}

void wikitext_scan::open_bracket() {
    if (starts("[[")) {
        open_link();
        return;
    }
    for (const std::string_view scheme :
         {"http://", "https://",  "//",        "ftp://",   "ftps://", "mailto:", "news:", "irc://",
          "ircs://", "gopher://", "telnet://", "git://",   "magnet:", "geo:",    "tel:",  "sftp://",
          "ssh://",  "xmpp:",     "urn:",      "bitcoin:", "nntp://", "mms://"}) {
        bool same = source_.size() - at_ > scheme.size() + 1;
        for (std::size_t i = 0; same && i < scheme.size(); ++i) {
            const char c = source_[at_ + 1 + i];
            same = (c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c) == scheme[i];
        }
        if (same) {
            open_external(scheme.size());
            return;
        }
    }
    plain_char();
}

void wikitext_scan::open_link() {
    if (open_count_[static_cast<std::size_t>(mark::link)] >= deepest_links) {
        at_ += 2;
        return;
    }
    open(mark::link, 0, 2);
}

void wikitext_scan::open_external(std::size_t scheme) {
    if (inside(mark::external)) {
        plain_char();
        return;
    }
    open(mark::external, 0, 1 + scheme);
    skip_url();
}

/// Skips the rest of an external link's address; the label begins after the white space that ends it. A template in the
/// address is dropped separately, and the address continues after it; the end of an enclosing template ends it.
void wikitext_scan::skip_url() {
    frame& f = open_.back();
    if (f.has_label) return;
    const auto ends = [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || std::string_view("[]<>").find(c) != npos;
    };
    const bool in_template = inside(mark::braces);
    const auto braces = [&] { return starts("{{") || (in_template && starts("}}")); };
    const std::size_t begin = at_;
    while (at_ < source_.size() && !ends(source_[at_]) && !braces()) ++at_;
    out_.append(source_, begin, at_ - begin);
    if (at_ < source_.size() && source_[at_] != '\n' && source_[at_] != ']' && !braces()) {
        f.has_label = true;
        f.content = out_.size();
    }
}

void wikitext_scan::pipe() {
    if (innermost(mark::link) && !open_.back().has_label) {
        frame& f = open_.back();
        link_target target = site_.resolve(source_.substr(f.source_begin, at_ - f.source_begin));
        f.target = target.kind;
        f.id = std::move(target.id);
        f.has_label = true;
        f.content = out_.size() + 1;
    }
    plain_char();
}

void wikitext_scan::close_bracket() {
    if (innermost(mark::external)) {
        close_external();
    } else if (starts("]]") && innermost(mark::link)) {
        close_link();
    } else {
        plain_char();
    }
}

void wikitext_scan::close_external() {
    const frame f = open_.back();
    ++at_;
    if (!f.has_label) {
        drop_frame();
        return;
    }
    erase(f.out_begin, f.content, f);
    abandon();
}

void wikitext_scan::close_link() {
    frame f = std::move(open_.back());  // its sizes stay there for drop_frame
    const std::string_view inner = source_.substr(f.source_begin, at_ - f.source_begin);
    if (!f.has_label) {
        link_target target = site_.resolve(inner);
        f.target = target.kind;
        f.id = std::move(target.id);
    }
    at_ += 2;
    switch (f.target) {
        case link_kind::file:
        case link_kind::category:
        case link_kind::language:
            drop_frame();
            return;
        case link_kind::invalid:
            abandon();
            out_ += "]]";
            return;
        default:
            break;
    }
    const bool empty_label = f.has_label && trimmed(std::string_view(out_).substr(f.content)).empty();
    if (f.target == link_kind::article) {
        links_.insert(links_.begin() + static_cast<std::ptrdiff_t>(f.links_begin), std::move(f.id));
    }
    abandon();
    if (empty_label) {
        out_.resize(f.out_begin);
        out_.append(pipe_trick(inner.substr(0, inner.find('|'))));
        return;
    }
    std::size_t shown = f.content;
    while (!f.has_label && shown < out_.size() && (out_[shown] == ' ' || out_[shown] == ':')) ++shown;
    erase(f.out_begin, shown, f);
}

/// "|}" at a line's start. Outside a table it is a leftover of one.
void wikitext_scan::close_table() {
    if (!inside(mark::table)) {
        mark_dropped();
        return;
    }
    while (open_.back().kind != mark::table) abandon();
    drop_frame();
}

}  // namespace quern::io
