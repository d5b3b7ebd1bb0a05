// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_tree.hpp"

#include <algorithm>

namespace quern::io {

void* html_tree::allocate(void* self, std::size_t bytes) {
    auto& tree = *static_cast<html_tree*>(self);
    // Small enough to come from the heap's free lists instead of fresh pages for every document.
    constexpr std::size_t smallest_block = 64 << 10;
    constexpr std::size_t alignment = alignof(std::max_align_t);
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (bytes > tree.left_) {
        const std::size_t block = std::max<std::size_t>(bytes, smallest_block);
        tree.blocks_.push_back(std::make_unique_for_overwrite<char[]>(block));
        tree.free_ = tree.blocks_.back().get();
        tree.left_ = block;
    }
    void* const out = tree.free_;
    tree.free_ += bytes;
    tree.left_ -= bytes;
    tree.memory_bytes_ += bytes;
    return out;
}

html_tree::html_tree(std::string_view html) {
    GumboOptions options = kGumboDefaultOptions;
    options.allocator = &html_tree::allocate;
    options.deallocator = [](void*, void*) {};
    options.userdata = this;
    options.max_errors = 0;
    output_ = gumbo_parse_with_options(&options, html.data(), html.size());
}

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
