// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_blocks.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.hpp"
#include "io/corpus/html_block_reader.hpp"
#include "io/corpus/html_entities.hpp"
#include "io/corpus/html_tokens.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

using n = html_name;

enum class text_byte : std::uint8_t { plain, blank, reference, lead };

constexpr auto text_bytes = [] {
    std::array<text_byte, 256> table{};
    for (const char c : {' ', '\t', '\n', '\f', '\r', '\0'})
        table[static_cast<unsigned char>(c)] = text_byte::blank;
    table['&'] = text_byte::reference;
    table[0xC2] = text_byte::lead;  // of a no-break space, perhaps
    return table;
}();

text_byte kind_of(char c) {
    return text_bytes[static_cast<unsigned char>(c)];
}

constexpr std::string_view no_break_space = "\xC2\xA0";

/// The end of what can be copied unchanged: words, and single blanks between them.
const char* end_of_words(const char* at, const char* end) {
    while (true) {
        while (at != end && kind_of(*at) == text_byte::plain) ++at;
        if (end - at < 2 || *at != ' ' || kind_of(at[1]) != text_byte::plain) return at;
        at += 2;
    }
}

}  // namespace

html_block_reader::html_block_reader(std::string_view html, bool xml, std::uint64_t taken,
                                     const reading_budget& budget)
    : tokens_(html, xml), taken_(taken), budget_(budget), xml_(xml) {
    stack_.reserve(max_html_depth);
    stack_.push_back({});
    add_element(n::other, 0);
    stack_.back().listed = true;
    stack_.back().element = 0;
}

html_blocks html_block_reader::read() {
    for (html_token token; tokens_.next(token);) {
        switch (token.what) {
            case html_token::text:
                if (!unseen()) add(token.text_or_name);
                break;
            case html_token::raw:
                take_raw(token);
                break;
            case html_token::start:
                start(token);
                break;
            default:
                end(token.name, token.hash);
                break;
        }
    }
    pop_to(1);
    out_.elements[0].end = size32(out_.elements);
    out_.elements[0].end_run = size32(out_.runs);
    return std::move(out_);
}

void html_block_reader::add_element(n name, std::uint32_t marks) {
    make_room(out_.elements, 1, "the elements of the page");
    html_element made{};
    made.parent = out_.elements.empty() ? no_element : innermost_;
    made.first_run = size32(out_.runs);
    made.marks = marks;
    made.name = name;
    out_.elements.push_back(made);
}

void html_block_reader::list_open() {
    for (; listed_ < stack_.size(); ++listed_) {
        open_element& open = stack_[listed_];
        if (!open.tracked || open.listed) continue;
        const std::uint32_t index = size32(out_.elements);
        add_element(open.name, open.marks);
        open.listed = true;
        open.element = index;
        innermost_ = index;
        fresh_ = true;
        if (open.name == n::h1 && out_.first_heading == no_element) out_.first_heading = index;
    }
}

void html_block_reader::bridge(std::size_t bytes) {
    list_open();
    make_room(out_.text, bytes + 8, "the text of the page");
    if (fresh_ || gap_ > html_gap::space || out_.runs.empty()) {
        make_room(out_.runs, 1, "the parts of the page");
        out_.runs.push_back({size32(out_.text), innermost_, gap_});
        fresh_ = false;
    } else if (gap_ == html_gap::space) {
        out_.text += ' ';
    }
    gap_ = html_gap::none;
}

void html_block_reader::append(std::string_view words) {
    bridge(words.size());
    out_.text += words;
    html_element& element = out_.elements[innermost_];
    element.text_bytes += static_cast<std::uint32_t>(words.size());
    if (link_) element.link_bytes += static_cast<std::uint32_t>(words.size());
}

void html_block_reader::add(std::string_view raw) {
    if (pre_ != 0) return add_verbatim(raw);
    const char* at = raw.data();
    const char* const end = at + raw.size();
    const bool lines = code_ != 0 && !trimmed(raw).empty();  // blanks between its parts are no line of code
    while (at != end) {
        switch (kind_of(*at)) {
            case text_byte::plain: {
                const char* const stop = end_of_words(at, end);
                append({at, static_cast<std::size_t>(stop - at)});
                at = stop;
                break;
            }
            case text_byte::blank:
                want(lines && *at == '\n' ? html_gap::line : html_gap::space);
                ++at;
                break;
            case text_byte::reference: {
                const std::string_view rest(at, static_cast<std::size_t>(end - at));
                at += decode(rest);
                add_decoded();
                break;
            }
            case text_byte::lead: {
                const std::string_view rest(at, static_cast<std::size_t>(end - at));
                if (rest.starts_with(no_break_space)) {
                    want(html_gap::space);
                    at += no_break_space.size();
                } else {
                    const std::size_t bytes = std::min<std::size_t>(2, rest.size());
                    append(rest.substr(0, bytes));
                    at += bytes;
                }
                break;
            }
        }
    }
}

std::size_t html_block_reader::decode(std::string_view rest) {
    decoded_.clear();
    const std::size_t taken = decode_html_reference(rest, false, decoded_);
    if (taken != 0) return taken;
    decoded_ = '&';
    return 1;
}

void html_block_reader::add_decoded() {
    if (decoded_ == no_break_space || (decoded_.size() == 1 && is_html_space(decoded_.front()))) {
        want(code_ != 0 && decoded_ == "\n" ? html_gap::line : html_gap::space);
    } else if (!decoded_.empty()) {
        append(decoded_);
    }
}

void html_block_reader::add_verbatim(std::string_view raw) {
    if (std::exchange(after_pre_, false)) {  // a line end right after <pre> is not shown
        if (raw.starts_with('\r')) raw.remove_prefix(1);
        if (raw.starts_with('\n')) raw.remove_prefix(1);
    }
    while (!raw.empty()) {
        const std::size_t plain = std::min(raw.find_first_of(std::string_view("&\r\0", 3)), raw.size());
        if (plain != 0) append(raw.substr(0, plain));
        raw.remove_prefix(plain);
        if (raw.empty()) break;
        std::size_t taken = 1;
        if (raw.front() == '&') {
            taken = decode(raw);
            if (!decoded_.empty()) append(decoded_);
        } else if (raw.front() == '\0') {
            append(" ");
        } else if (!raw.starts_with("\r\n")) {
            append("\n");
        }
        raw.remove_prefix(taken);
    }
}

void html_block_reader::take_raw(const html_token& token) {
    if (token.name == n::title) {
        if (!titled_ && foreign_at_ == 0) {
            out_.title = collapsed_html(token.text_or_name);
            titled_ = true;
        }
    } else if (!unseen() && (properties_of(token.name) & html_property::unseen) == 0) {
        // xmp, plaintext, CDATA: no references.
        for (std::string_view rest = token.text_or_name; !rest.empty();) {
            const std::size_t plain = std::min(rest.find_first_of(std::string_view("\r\0", 2)), rest.size());
            if (plain != 0) append(rest.substr(0, plain));
            rest.remove_prefix(plain);
            if (rest.empty()) break;
            if (!rest.starts_with("\r\n")) append(rest.front() == '\r' ? "\n" : " ");
            rest.remove_prefix(1);
        }
    }
}

html_blocks read_html_blocks(std::string_view html, bool xml, std::uint64_t taken,
                             const reading_budget& budget) {
    constexpr std::uint64_t most = std::uint64_t{2}
                                   << 30;  // positions are 32 bits; texts may grow by a fifth
    if (html.size() > most) throw out_of_memory("a web page", html.size(), most);
    return html_block_reader(html, xml, taken, budget).read();
}

std::string collapsed_html(std::string_view html) {
    std::string decoded;
    while (!html.empty()) {
        const std::size_t plain = std::min(html.find_first_of(std::string_view("&\0", 2)), html.size());
        decoded += html.substr(0, plain);
        html.remove_prefix(plain);
        if (html.empty()) break;
        std::size_t taken = html.front() == '&' ? decode_html_reference(html, false, decoded) : 0;
        if (taken == 0) {
            decoded += html.front() == '&' ? '&' : ' ';
            taken = 1;
        }
        html.remove_prefix(taken);
    }
    std::string out;
    for (std::size_t at = 0; at < decoded.size();) {
        const bool wide = std::string_view(decoded).substr(at).starts_with(no_break_space);
        if (wide || is_html_space(decoded[at])) {
            if (!out.empty() && out.back() != ' ') out += ' ';
            at += wide ? 2 : 1;
        } else {
            out += decoded[at++];
        }
    }
    if (out.ends_with(' ')) out.pop_back();
    return out;
}

}  // namespace quern::io
