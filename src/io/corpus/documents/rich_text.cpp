// SPDX-License-Identifier: Apache-2.0
// Rich Text Format 1.9: the text of the body, without headers, footers, pictures and hidden tables of the format.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "io/corpus/documents/text_writer.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

class reader {
  public:
    explicit reader(const convertible& file) : file_(file), out_(file), rest_(file.bytes) {
        if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
    }

    converted read() {
        groups_.push_back({});
        for (std::size_t steps = 0; !rest_.empty(); ++steps) {
            if (steps % 65'536 == 0) file_.ctx.check_stop();
            step();
        }
        flush();
        converted result;
        result.title = collapsed(title_);
        result.text = out_.take();
        return result;
    }

  private:
    struct group {
        bool skipped = false, in_title = false;
        std::uint8_t after_unicode = 1;  ///< characters that stand for a \u to readers that know none
    };

    void step() {
        const char c = rest_[0];
        if (c == '{') {
            flush();
            require_budget(file_.budget, 16 * groups_.size(), "the groups of the document");
            groups_.push_back(groups_.back());
            rest_.remove_prefix(1);
        } else if (c == '}') {
            flush();
            if (groups_.size() > 1) groups_.pop_back();
            rest_.remove_prefix(1);
        } else if (c == '\\') {
            control();
        } else if (c == '\r' || c == '\n' || c == '\0') {
            rest_.remove_prefix(1);
        } else if (pending_ != 0) {
            --pending_;
            rest_.remove_prefix(1);
        } else {
            const std::size_t end = std::min(rest_.find_first_of("{}\\\r\n\0"sv, 1), rest_.size());
            bytes_.append(rest_.substr(0, end));
            rest_.remove_prefix(end);
            constexpr std::size_t most = 64 << 10;
            if (bytes_.size() > most) flush();
        }
    }

    void control() {
        rest_.remove_prefix(1);
        if (rest_.empty()) return;
        const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
        const std::size_t letters =
            static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_letter) - rest_.begin());
        if (letters == 0) return sign();
        const std::string_view word = rest_.substr(0, letters);
        rest_.remove_prefix(letters);
        std::size_t digits = rest_.starts_with('-') ? 1 : 0;
        while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') ++digits;
        long number = 0;
        const bool has_number =
            std::from_chars(rest_.data(), rest_.data() + std::min<std::size_t>(digits, 12), number).ec ==
            std::errc();
        if (has_number) rest_.remove_prefix(digits);
        if (rest_.starts_with(' ')) rest_.remove_prefix(1);
        act(word, number, has_number);
    }

    void sign() {
        const char c = rest_[0];
        rest_.remove_prefix(1);
        if (c == '\'') {
            unsigned value = 0;
            const std::size_t count = std::min<std::size_t>(2, rest_.size());
            const auto parsed = std::from_chars(rest_.data(), rest_.data() + count, value, 16);
            rest_.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest_.data()));
            if (pending_ != 0) {
                --pending_;
            } else if (parsed.ec == std::errc()) {
                bytes_ += static_cast<char>(value);
            }
        } else if (c == '*') {
            flush();
            groups_.back().skipped = true;
        } else if (c == '~') {
            bytes_ += ' ';
        } else if (c == '_') {
            bytes_ += '-';
        } else if (c == '{' || c == '}' || c == '\\') {
            bytes_ += c;
        } else if (c == '\n' || c == '\r') {
            gap(html_text::paragraph);
        }
    }

    void act(std::string_view word, long number, bool has_number) {
        constexpr std::array skipped = {"info"sv,         "fonttbl"sv,
                                        "colortbl"sv,     "stylesheet"sv,
                                        "pict"sv,         "object"sv,
                                        "header"sv,       "headerl"sv,
                                        "headerr"sv,      "headerf"sv,
                                        "footer"sv,       "footerl"sv,
                                        "footerr"sv,      "footerf"sv,
                                        "themedata"sv,    "datastore"sv,
                                        "listtable"sv,    "generator"sv,
                                        "filetbl"sv,      "revtbl"sv,
                                        "rsidtbl"sv,      "xmlnstbl"sv,
                                        "fldinst"sv,      "author"sv,
                                        "operator"sv,     "company"sv,
                                        "annotation"sv,   "atnid"sv,
                                        "atnauthor"sv,    "bkmkstart"sv,
                                        "bkmkend"sv,      "tc"sv,
                                        "xe"sv,           "listoverridetable"sv,
                                        "latentstyles"sv, "creatim"sv,
                                        "revtim"sv,       "printim"sv,
                                        "doccomm"sv,      "keywords"sv,
                                        "subject"sv,      "comment"sv,
                                        "category"sv,     "manager"sv,
                                        "nonshppict"sv,   "shppict"sv,
                                        "deleted"sv};
        struct shown {
            std::string_view word, text;
        };
        static constexpr shown texts[] = {
            {"emdash", "\u2014"}, {"endash", "\u2013"},    {"lquote", "\u2018"},
            {"rquote", "\u2019"}, {"ldblquote", "\u201C"}, {"rdblquote", "\u201D"},
            {"bullet", "\u2022"}, {"emspace", " "},        {"enspace", " "}};
        if (word == "u" && has_number) return unicode(number);
        if (word == "bin" && has_number && number > 0) {
            rest_.remove_prefix(std::min<std::size_t>(static_cast<std::size_t>(number), rest_.size()));
        } else if (word == "uc" && has_number) {
            groups_.back().after_unicode = static_cast<std::uint8_t>(std::clamp(number, 0L, 255L));
        } else if (word == "ansicpg" && has_number && number > 0) {
            code_page_ = "windows-" + std::to_string(number);
        } else if (word == "mac") {
            code_page_ = "macintosh";
        } else if (word == "title") {
            flush();
            groups_.back().in_title = true;
        } else if (std::ranges::find(skipped, word) != skipped.end() ||
                   (word == "v" && (!has_number || number != 0))) {
            flush();
            groups_.back().skipped = true;
        } else if (word == "par" || word == "sect" || word == "page" || word == "footnote") {
            gap(html_text::paragraph);
        } else if (word == "line" || word == "row" || word == "nestrow") {
            gap(html_text::line);
        } else if (word == "tab" || word == "cell" || word == "nestcell") {
            gap(html_text::tab);
        } else if (const auto* const found = std::ranges::find(texts, word, &shown::word);
                   found != std::end(texts)) {
            flush();
            write(found->text);
        }
    }

    /// A surrogate is kept until its other half comes.
    void unicode(long number) {
        flush();
        const auto unit = static_cast<std::uint32_t>(number < 0 ? number + 65'536 : number) & 0x1F'FFFF;
        std::string text;
        if (unit >= 0xD800 && unit < 0xDC00) {
            high_ = unit;
        } else if (unit >= 0xDC00 && unit < 0xE000) {
            if (high_ != 0) append_utf8(0x10000 + ((high_ - 0xD800) << 10) + (unit - 0xDC00), text);
            high_ = 0;
        } else if (unit >= ' ' && unit < 0x110000) {
            append_utf8(unit, text);
            high_ = 0;
        }
        write(text);
        pending_ = groups_.back().after_unicode;
    }

    void gap(html_text::gap wanted) {
        flush();
        if (!groups_.back().skipped) out_.want(wanted);
    }

    void write(std::string_view text) {
        constexpr std::size_t longest = 1000;
        const group& here = groups_.back();
        if (here.in_title && title_.size() < longest) title_.append(text);
        if (!here.skipped && !here.in_title) out_.add(text);
    }

    /// Writes the bytes collected, in the document's code page.
    void flush() {
        pending_ = 0;
        if (bytes_.empty()) return;
        std::string text;
        if (!decode_named(bytes_, code_page_, text)) {
            text = bytes_;
            repair_utf8(text);
        }
        bytes_.clear();
        write(text);
    }

    const convertible& file_;
    text_writer out_;
    std::string_view rest_;
    std::vector<group> groups_;
    std::string bytes_, title_, code_page_ = "windows-1252";
    std::uint32_t high_ = 0;
    std::size_t pending_ = 0;  ///< characters that stand for a \u before them
};

}  // namespace

converted convert_rich_text(const convertible& file) {
    return reader(file).read();
}

}  // namespace quern::io
