// SPDX-License-Identifier: Apache-2.0
// Markdown by MD4C (CommonMark with GitHub's tables and struck text), rendered as text: paragraphs end with an empty line,
// items and rows with a line, cells with a tab. Code stays as it is; marks, comments and the addresses of links do not
// show. Pieces of HTML are read tag by tag.
#include <md4c.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "io/corpus/documents/front_matter.hpp"
#include "io/corpus/documents/markdown_limits.hpp"
#include "io/corpus/documents/text_writer.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/html_entities.hpp"
#include "io/corpus/html_links.hpp"
#include "io/corpus/html_tokens.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

class renderer {
  public:
    renderer(const convertible& file, std::uint64_t bytes)
        : file_(file), out_(file), base_(file.path), calls_left_(max_pieces(bytes)) {}

    /// False if the text makes far more marks than it has bytes, as only hostile ones do.
    bool render(std::string_view text) {
        MD_PARSER parser{};
        parser.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH;
        parser.enter_block = [](MD_BLOCKTYPE type, void*, void* user) {
            return guarded(user, [type](renderer& self) { self.enter_block(type); });
        };
        parser.leave_block = [](MD_BLOCKTYPE type, void*, void* user) {
            return guarded(user, [type](renderer& self) { self.leave_block(type); });
        };
        parser.enter_span = [](MD_SPANTYPE type, void* detail, void* user) {
            return guarded(user, [type, detail](renderer& self) { self.enter_span(type, detail); });
        };
        parser.leave_span = [](MD_SPANTYPE, void*, void* user) {
            return guarded(user, [](renderer& self) { self.end_html(); });
        };
        parser.text = [](MD_TEXTTYPE type, const MD_CHAR* piece, MD_SIZE size, void* user) {
            return guarded(user, [=](renderer& self) { self.add(type, {piece, size}); });
        };
        const int failed = md_parse(text.data(), static_cast<MD_SIZE>(text.size()), &parser, this);
        if (thrown_) std::rethrow_exception(thrown_);
        return failed == 0;
    }

    converted take() {
        converted result;
        result.title = collapsed(heading_);
        result.text = out_.take();
        result.links = std::move(links_);
        return result;
    }

  private:
    /// An exception must not pass through C code.
    template <typename Handle>
    static int guarded(void* user, Handle&& handle) {
        auto& self = *static_cast<renderer*>(user);
        if (self.thrown_ || self.calls_left_ == 0) return 1;
        --self.calls_left_;
        try {
            handle(self);
            return 0;
        } catch (...) {
            self.thrown_ = std::current_exception();
            return 1;
        }
    }

    void enter_block(MD_BLOCKTYPE type) {
        end_html();
        if (type == MD_BLOCK_CODE) is_code_ = true;
        if (type == MD_BLOCK_H) in_heading_ = heading_.empty();
        const bool is_list = type == MD_BLOCK_UL || type == MD_BLOCK_OL;
        out_.want(is_list && lists_ != 0 ? html_text::line : gap_at(type, true));
        if (is_list) ++lists_;
    }
    void leave_block(MD_BLOCKTYPE type) {
        end_html();
        if (is_code_) {
            if (code_.ends_with('\n')) code_.pop_back();
            out_.add_verbatim(code_);
            code_.clear();
        }
        is_code_ = in_heading_ = false;
        const bool is_list = type == MD_BLOCK_UL || type == MD_BLOCK_OL;
        if (is_list) --lists_;
        out_.want(is_list && lists_ != 0 ? html_text::line : gap_at(type, false));
    }
    static html_text::gap gap_at(MD_BLOCKTYPE type, bool begins) {
        switch (type) {
            case MD_BLOCK_LI:
            case MD_BLOCK_TR:
            case MD_BLOCK_THEAD:
            case MD_BLOCK_TBODY:
                return html_text::line;
            case MD_BLOCK_TH:
            case MD_BLOCK_TD:
                return begins ? html_text::tab : html_text::none;
            default:
                return html_text::paragraph;
        }
    }

    void enter_span(MD_SPANTYPE type, void* detail) {
        end_html();
        if (type != MD_SPAN_A) return;
        const MD_ATTRIBUTE& href = static_cast<MD_SPAN_A_DETAIL*>(detail)->href;
        link_to({href.text, href.size});
    }

    void add(MD_TEXTTYPE type, std::string_view text) {
        constexpr std::size_t max_html = 1 << 20;
        if (type == MD_TEXT_HTML) {
            html_.append(text);
            if (html_.size() > max_html) end_html();
            return;
        }
        end_html();
        switch (type) {
            case MD_TEXT_NULLCHAR:
                break;
            case MD_TEXT_BR:
                out_.line_break();
                break;
            case MD_TEXT_SOFTBR:
                out_.want(html_text::space);
                if (in_heading_) heading_ += ' ';
                break;
            case MD_TEXT_ENTITY:
                add_text(decode_references(text));
                break;
            default:
                if (is_code_) {
                    code_.append(text);
                } else {
                    add_text(text);
                }
        }
    }

    void add_text(std::string_view text) {
        constexpr std::size_t longest = 1000;
        out_.add(text);
        if (in_heading_ && heading_.size() < longest) heading_.append(text);
    }

    void link_to(std::string_view href) {
        if (auto target = base_.resolve(decode_references(href)))
            add_link(links_, std::move(*target), file_.budget);
    }

    /// Reads the collected HTML: tags that lie in one piece, and what is between them.
    void end_html() {
        if (html_.empty()) return;
        html_tokens tokens(html_);
        bool is_verbatim = false;
        for (html_token token; tokens.next(token);) {
            if (token.what == html_token::text) {
                const std::string text = decode_references(token.text_or_name);
                if (is_verbatim) {
                    out_.add_verbatim(text);
                } else {
                    add_text(text);
                }
            }
            if (token.what != html_token::start && token.what != html_token::end) continue;
            add_tag(token, is_verbatim);
        }
        html_.clear();
    }

    void add_tag(const html_token& tag, bool& is_verbatim) {
        const bool begins = tag.what == html_token::start;
        if (tag.name == html_name::br) out_.line_break();
        if (tag.name == html_name::pre) is_verbatim = begins;
        if (tag.name == html_name::img && begins) add_alternative(tag.attributes);
        if (tag.name == html_name::a && begins && tag.has(html_attribute::href))
            link_to(tag[html_attribute::href]);
        const std::uint32_t is = properties_of(tag.name);
        if ((is & html_property::cell) != 0) {
            if (begins) out_.want(html_text::tab);
        } else if ((is & html_property::line) != 0) {
            out_.want(html_text::line);
        } else if ((is & html_property::paragraph) != 0) {
            out_.want(html_text::paragraph);
        }
    }

    void add_alternative(std::string_view attributes) {
        std::string_view name, value;
        while (take_attribute(attributes, name, value)) {
            if (lower(name) == "alt") return add_text(decode_references(value));
        }
    }

    const convertible& file_;
    text_writer out_;
    link_base base_;
    std::uint64_t calls_left_;
    std::vector<std::string> links_;
    std::string heading_, html_, code_;
    std::size_t lists_ = 0;
    bool is_code_ = false, in_heading_ = false;
    std::exception_ptr thrown_;
};

}  // namespace

converted convert_markdown(const convertible& file) {
    std::string repaired;
    const std::string text = decode_text(file.bytes, repaired);
    front_matter front = read_front_matter(text);
    std::string_view body = std::string_view(text).substr(front.bytes);
    const std::string shortened = with_short_paragraphs(body);
    if (!shortened.empty()) body = shortened;
    require_budget(file.budget, reading_factor * text.size() + parser_bytes(body),
                   "the marks of the document");
    converted result;
    renderer rendered(file, body.size());
    constexpr std::uint64_t largest = UINT32_MAX;  // MD4C's sizes
    if (body.size() < largest && rendered.render(body)) {
        result = rendered.take();
    } else {
        result.text = body;
        if (repaired.empty()) repaired = "its marks are tangled: read as plain text";
    }
    if (!front.title.empty()) result.title = std::move(front.title);
    result.fields = std::move(front.fields);
    result.repaired = std::move(repaired);
    return result;
}

}  // namespace quern::io
