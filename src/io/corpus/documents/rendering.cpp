// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/rendering.hpp"

#include <md4c.h>

#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/ascii.hpp"
#include "io/corpus/documents/front_matter.hpp"
#include "io/corpus/documents/markdown_limits.hpp"
#include "io/corpus/html_entities.hpp"
#include "io/corpus/html_links.hpp"
#include "io/corpus/html_names.hpp"
#include "io/corpus/html_tokens.hpp"

namespace quern::io {
namespace {

/// Writes HTML from the blocks, spans and texts that MD4C finds.
class html_writer {
  public:
    html_writer(std::size_t bytes, const context& ctx) : ctx_(ctx), calls_left_(max_pieces(bytes)) {}

    bool render(std::string_view text) {
        MD_PARSER parser{};
        parser.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH;
        parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* user) {
            return guarded(user, [=](html_writer& self) { self.block(type, detail, true); });
        };
        parser.leave_block = [](MD_BLOCKTYPE type, void* detail, void* user) {
            return guarded(user, [=](html_writer& self) { self.block(type, detail, false); });
        };
        parser.enter_span = [](MD_SPANTYPE type, void* detail, void* user) {
            return guarded(user, [=](html_writer& self) { self.span(type, detail, true); });
        };
        parser.leave_span = [](MD_SPANTYPE type, void* detail, void* user) {
            return guarded(user, [=](html_writer& self) { self.span(type, detail, false); });
        };
        parser.text = [](MD_TEXTTYPE type, const MD_CHAR* piece, MD_SIZE size, void* user) {
            return guarded(user, [=](html_writer& self) { self.text(type, {piece, size}); });
        };
        const int failed = md_parse(text.data(), static_cast<MD_SIZE>(text.size()), &parser, this);
        if (thrown_) std::rethrow_exception(thrown_);
        return failed == 0;
    }

    std::string take() { return std::move(out_); }

  private:
    /// An exception must not pass through C code.
    template <typename Handle>
    static int guarded(void* user, Handle&& handle) {
        auto& self = *static_cast<html_writer*>(user);
        if (self.thrown_ || self.calls_left_ == 0) return 1;
        --self.calls_left_;
        try {
            if (self.calls_left_ % 1024 == 0) self.ctx_.check_stop();
            handle(self);
            return 0;
        } catch (...) {
            self.thrown_ = std::current_exception();
            return 1;
        }
    }

    void tag(std::string_view name, bool begins) {
        out_.append(begins ? "<" : "</").append(name).append(">");
    }

    void block(MD_BLOCKTYPE type, void* detail, bool begins) {
        switch (type) {
            case MD_BLOCK_DOC:
            case MD_BLOCK_HTML:
                return;
            case MD_BLOCK_HR:
                return begins ? tag("hr", true) : void();
            case MD_BLOCK_H: {
                const std::array name{
                    'h', static_cast<char>('0' + static_cast<MD_BLOCK_H_DETAIL*>(detail)->level)};
                return tag({name.data(), name.size()}, begins);
            }
            case MD_BLOCK_CODE:
                tag(begins ? "pre" : "code", begins);
                return tag(begins ? "code" : "pre", begins);
            case MD_BLOCK_OL:
                if (!begins) return tag("ol", false);
                out_.append("<ol start=\"")
                    .append(std::to_string(static_cast<MD_BLOCK_OL_DETAIL*>(detail)->start))
                    .append("\">");
                return;
            default:
                return tag(name_of(type), begins);
        }
    }
    static std::string_view name_of(MD_BLOCKTYPE type) {
        switch (type) {
            case MD_BLOCK_QUOTE:
                return "blockquote";
            case MD_BLOCK_UL:
                return "ul";
            case MD_BLOCK_LI:
                return "li";
            case MD_BLOCK_TABLE:
                return "table";
            case MD_BLOCK_THEAD:
                return "thead";
            case MD_BLOCK_TBODY:
                return "tbody";
            case MD_BLOCK_TR:
                return "tr";
            case MD_BLOCK_TH:
                return "th";
            case MD_BLOCK_TD:
                return "td";
            default:
                return "p";
        }
    }

    void span(MD_SPANTYPE type, void* detail, bool begins) {
        // Until the end of an image its text is an attribute: marks within it do not show.
        if (images_ != 0 && type != MD_SPAN_IMG) return;
        switch (type) {
            case MD_SPAN_EM:
                return tag("em", begins);
            case MD_SPAN_STRONG:
                return tag("strong", begins);
            case MD_SPAN_DEL:
                return tag("del", begins);
            case MD_SPAN_CODE:
                return tag("code", begins);
            case MD_SPAN_A:
                if (!begins) return tag("a", false);
                out_ += "<a href=\"";
                escape(decoded(static_cast<MD_SPAN_A_DETAIL*>(detail)->href));
                out_ += "\">";
                return;
            case MD_SPAN_IMG: {
                const auto* const image = static_cast<MD_SPAN_IMG_DETAIL*>(detail);
                if (begins && images_++ == 0) {
                    out_ += "<img src=\"";
                    escape(decoded(image->src));
                    out_ += "\" alt=\"";
                } else if (!begins && --images_ == 0) {
                    out_ += "\">";
                }
                return;
            }
            default:
                return;
        }
    }

    void text(MD_TEXTTYPE type, std::string_view piece) {
        switch (type) {
            case MD_TEXT_NULLCHAR:
                return;
            case MD_TEXT_BR:
                out_ += images_ == 0 ? "<br>\n" : " ";
                return;
            case MD_TEXT_SOFTBR:
                out_ += '\n';
                return;
            case MD_TEXT_HTML:
                if (images_ == 0) out_.append(piece);
                return;
            case MD_TEXT_ENTITY:
                return escape(decode_references(piece));
            default:
                return escape(piece);
        }
    }

    static std::string decoded(const MD_ATTRIBUTE& attribute) {
        return decode_references({attribute.text, attribute.size});
    }

    void escape(std::string_view text) {
        for (const char c : text) {
            switch (c) {
                case '<':
                    out_ += "&lt;";
                    break;
                case '>':
                    out_ += "&gt;";
                    break;
                case '&':
                    out_ += "&amp;";
                    break;
                case '"':
                    out_ += "&quot;";
                    break;
                default:
                    out_ += c;
            }
        }
    }

    const context& ctx_;
    std::uint64_t calls_left_;
    std::string out_;
    unsigned images_ = 0;  // inside of which we are
    std::exception_ptr thrown_;
};

}  // namespace

std::string markdown_as_html(std::string_view text, const context& ctx) {
    constexpr std::uint64_t largest = UINT32_MAX;  // MD4C's sizes
    text.remove_prefix(read_front_matter(text).bytes);
    const std::string shortened = with_short_paragraphs(text);
    if (!shortened.empty()) text = shortened;
    html_writer writer(text.size(), ctx);
    if (text.size() >= largest || !writer.render(text)) return {};
    return writer.take();
}

std::vector<resolved_link> links_of_html(std::string_view html, std::string_view path, std::size_t max) {
    link_base base(path);
    std::vector<resolved_link> links;
    std::unordered_set<std::string> seen;
    html_tokens tokens(html);
    for (html_token token; tokens.next(token) && links.size() < max;) {
        if (token.what != html_token::start) continue;
        const std::string element = lower(token.text_or_name);
        if (element != "a" && element != "img" && element != "base") continue;
        const std::string_view wanted = element == "img" ? "src" : "href";
        std::string_view rest = token.attributes, name, value;
        while (take_attribute(rest, name, value)) {
            if (lower(name) != wanted) continue;
            std::string address = decode_references(value);
            if (element == "base") {
                base.rebase(address);
            } else if (auto target = base.resolve(address); target && seen.insert(address).second) {
                links.push_back({std::move(address), std::move(*target)});
            }
            break;
        }
    }
    return links;
}

}  // namespace quern::io
