// SPDX-License-Identifier: Apache-2.0
// Wikitext to prose in two passes: the scan removes the markup and marks where something was dropped; the tidying
// normalises white space, empty lines and the brackets and commas left around dropped parts.
#include "io/corpus/wikitext.hpp"

#include <array>

#include "io/corpus/wikitext_scan.hpp"

namespace quern::io {
namespace {

constexpr std::string_view wide_open = "（";
constexpr std::string_view wide_close = "）";
constexpr std::string_view no_break_space = "\xC2\xA0";

class tidying {
  public:
    tidying(std::string_view raw, std::string& text) : raw_(raw), text_(text) {}

    void run() {
        text_.clear();
        text_.reserve(raw_.size());
        while (at_ < raw_.size()) {
            one_line();
            if (at_ < raw_.size()) ++at_;  // the line end
        }
    }

  private:
    static constexpr std::size_t never = static_cast<std::size_t>(-1);

    static constexpr std::array<bool, 256> stop_table() {
        std::array<bool, 256> stops{};
        for (const char c : {'\n', ' ', '\t', dropped_mark, ')', ',', '.', ';', ':', '\xEF'}) {
            stops[static_cast<unsigned char>(c)] = true;
        }
        return stops;
    }

    void one_line() {
        static constexpr auto stops = stop_table();
        const std::size_t before = text_.size();
        if (before != 0) text_.append(empty_line_ ? "\n\n" : "\n");
        begin_ = text_.size();
        dropped_at_ = never;
        while (at_ < raw_.size() && raw_[at_] != '\n') {
            const std::size_t run = at_;
            while (at_ < raw_.size() && !stops[static_cast<unsigned char>(raw_[at_])]) ++at_;
            text_.append(raw_, run, at_ - run);
            if (at_ < raw_.size() && raw_[at_] != '\n') special();
        }
        trim();
        const bool anything = dropped_at_ == never ? text_.size() > begin_ : has_words();
        if (anything) {
            empty_line_ = false;
            return;
        }
        // A line with nothing but a template or a comment was not empty: it does not separate paragraphs.
        if (dropped_at_ == never) empty_line_ = true;
        text_.resize(before);
    }

    void special() {
        const char c = raw_[at_];
        switch (c) {
            case dropped_mark:
                dropped_at_ = text_.size();
                ++at_;
                return;
            case ' ':
            case '\t':
                ++at_;
                if (text_.size() == begin_ || text_.back() == ' ') return;
                if (after_open() && dropped_at_ == text_.size()) return;
                text_ += ' ';
                return;
            case ')':
                if (!drop_empty("(")) close(")");
                ++at_;
                return;
            case '\xEF':
                if (raw_.substr(at_).starts_with(wide_close)) {
                    if (!drop_empty(wide_open)) close(wide_close);
                    at_ += wide_close.size();
                } else {
                    text_ += raw_[at_++];
                }
                return;
            default:  // , . ; :
                ++at_;
                if (dropped_at_ == text_.size() && after_open()) return;
                close(raw_.substr(at_ - 1, 1));
        }
    }

    bool after_open() const {
        const std::string_view line = std::string_view(text_).substr(begin_);
        return line.ends_with('(') || line.ends_with(wide_open);
    }

    /// "(" followed by nothing but punctuation and something dropped: removed again.
    bool drop_empty(std::string_view opening) {
        if (dropped_at_ == never) return false;
        std::size_t end = text_.size();
        while (end > begin_ && std::string_view(" ,;:/").find(text_[end - 1]) != std::string_view::npos)
            --end;
        if (end < begin_ + opening.size() ||
            !std::string_view(text_).substr(begin_, end - begin_).ends_with(opening)) {
            return false;
        }
        end -= opening.size();
        if (dropped_at_ <= end) return false;
        text_.resize(end);
        dropped_at_ = end;
        return true;
    }

    /// Writes a mark that directly follows a word, without the space left by a dropped part.
    void close(std::string_view what) {
        const bool adjacent = dropped_at_ != never && dropped_at_ + 1 >= text_.size();
        if (adjacent && text_.size() > begin_ && text_.back() == ' ') text_.pop_back();
        text_.append(what);
    }

    void trim() {
        while (text_.size() > begin_) {
            if (text_.back() == ' ') {
                text_.pop_back();
            } else if (std::string_view(text_).substr(begin_).ends_with(no_break_space)) {
                text_.resize(text_.size() - no_break_space.size());
            } else {
                return;
            }
        }
    }

    /// Letters, digits or anything beyond ASCII: a line with a dropped part is kept only if it has these.
    bool has_words() const {
        for (std::size_t i = begin_; i < text_.size(); ++i) {
            const char c = text_[i];
            if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')) return true;
            if (static_cast<unsigned char>(c) >= 0x80) return true;
        }
        return false;
    }

    std::string_view raw_;
    std::string& text_;
    std::size_t at_ = 0;
    std::size_t begin_ = 0;           // of this line, in the text
    std::size_t dropped_at_ = never;  // size of the text when something was last dropped in this line
    bool empty_line_ = false;         // since the last kept line
};

}  // namespace

void clean_wikitext(std::string_view wikitext, const wiki_site& site, clean_text& out, std::string& scratch) {
    out.links.clear();
    wikitext_scan(wikitext, site, scratch, out.links).run();
    tidying(scratch, out.text).run();
}

}  // namespace quern::io
