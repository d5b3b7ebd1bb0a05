// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_text.hpp"

namespace quern::io {
namespace {

/// The length of the white space at text[at]: ASCII's, or a no-break space; 0 if there is none.
std::size_t space_at(std::string_view text, std::size_t at) {
    const char c = text[at];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f') return 1;
    return c == '\xC2' && at + 1 < text.size() && text[at + 1] == '\xA0' ? 2 : 0;
}

}  // namespace

void html_text::bridge() {
    if (!out_.empty()) {
        switch (gap_) {
            case none:
                break;
            case space:
                out_ += ' ';
                break;
            case tab:
                out_ += '\t';
                break;
            case line:
                out_ += '\n';
                break;
            case paragraph:
                out_ += "\n\n";
                break;
        }
    }
    gap_ = none;
}

void html_text::add(std::string_view text, bool lines) {
    for (std::size_t at = 0; at < text.size();) {
        std::size_t blank = 0;
        bool line_end = false;
        while (at < text.size() && (blank = space_at(text, at)) != 0) {
            line_end = line_end || text[at] == '\n';
            at += blank;
            want(lines && line_end ? line : space);
        }
        const std::size_t begin = at;
        while (at < text.size() && space_at(text, at) == 0) ++at;
        if (at == begin) break;
        bridge();
        out_.append(text.substr(begin, at - begin));
    }
}

void html_text::add_verbatim(std::string_view text) {
    if (text.empty()) return;
    bridge();
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\r') {
            if (at + 1 == text.size() || text[at + 1] != '\n') out_ += '\n';
        } else {
            out_ += text[at];
        }
    }
}

std::string html_text::take() {
    while (!out_.empty() && (out_.back() == '\n' || out_.back() == ' ' || out_.back() == '\t'))
        out_.pop_back();
    return std::move(out_);
}

std::string collapsed(std::string_view text) {
    html_text out;
    out.add(text, false);
    return out.take();
}

}  // namespace quern::io
