// SPDX-License-Identifier: Apache-2.0
// Uses the HTML standard's tree (gumbo), because the visible text cannot be derived from single tags: end tags are
// omitted, misplaced text moves.
//
// The main text is an element that declares itself as such, if it has at least a third of the page's text. Excluded are
// elements that declare themselves navigation, header, footer, aside or hidden, and their links: these show how a site
// is built, not what a page recommends.
#include "io/corpus/html.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/release.hpp"
#include "io/corpus/html_charset.hpp"
#include "io/corpus/html_entities.hpp"
#include "io/corpus/html_links.hpp"
#include "io/corpus/html_scan.hpp"
#include "io/corpus/html_text.hpp"
#include "io/corpus/html_tree.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

template <typename List, typename Value>
bool holds(const List& list, const Value& wanted) {
    return std::find(list.begin(), list.end(), wanted) != list.end();
}

const char* attribute(const GumboNode* node, const char* name) {
    const GumboAttribute* found = gumbo_get_attribute(&node->v.element.attributes, name);
    return found == nullptr ? nullptr : found->value;
}

std::string_view attribute_text(const GumboNode* node, const char* name) {
    const char* value = attribute(node, name);
    return value == nullptr ? std::string_view() : value;
}

bool is_element(const GumboNode* node) {
    return node->type == GUMBO_NODE_ELEMENT || node->type == GUMBO_NODE_TEMPLATE;
}

/// Calls `judge` for every word of a class attribute until one returns true.
template <typename Judge>
bool any_word(std::string_view words, Judge&& judge) {
    while (true) {
        words.remove_prefix(std::min(words.find_first_not_of(" \t\r\n\f"), words.size()));
        if (words.empty()) return false;
        const std::size_t end = std::min(words.find_first_of(" \t\r\n\f"), words.size());
        if (judge(words.substr(0, end))) return true;
        words.remove_prefix(end);
    }
}

bool is_boilerplate_name(std::string_view name) {
    constexpr std::array names = {"nav"sv,
                                  "navbar"sv,
                                  "navbox"sv,
                                  "navigation"sv,
                                  "breadcrumb"sv,
                                  "breadcrumbs"sv,
                                  "sidebar"sv,
                                  "toc"sv,
                                  "header"sv,
                                  "footer"sv,
                                  "siteSub"sv,
                                  "contentSub"sv,
                                  "jump-to-nav"sv,
                                  "catlinks"sv,
                                  "printfooter"sv,
                                  "noprint"sv,
                                  "editsection"sv,
                                  "mw-editsection"sv,
                                  "mw-jump-link"sv,
                                  "skip-link"sv,
                                  "headerlink"sv,
                                  "sphinxsidebar"sv,
                                  "cookie-banner"sv,
                                  "sr-only"sv,
                                  "visually-hidden"sv,
                                  "mw-navigation"sv,
                                  "site-header"sv,
                                  "site-footer"sv,
                                  "page-footer"sv,
                                  "vertical-navbox"sv,
                                  "metadata"sv};
    return holds(names, name) || name.ends_with("-navbar");
}

/// A class "header" or "footer" is as often that of a table's row.
bool is_boilerplate_class(std::string_view name) {
    return is_boilerplate_name(name) && name != "header" && name != "footer";
}

/// Excludes headers and footers of the page; those of an article belong to it.
bool inside_article(const GumboNode* node) {
    for (node = node->parent; node != nullptr && is_element(node); node = node->parent) {
        const GumboTag tag = node->v.element.tag;
        if (tag == GUMBO_TAG_ARTICLE || tag == GUMBO_TAG_MAIN || tag == GUMBO_TAG_SECTION) return true;
    }
    return false;
}

/// Elements that show nothing, or no text of the page itself.
bool is_excluded(const GumboNode* node) {
    switch (node->v.element.tag) {
        case GUMBO_TAG_HTML:
        case GUMBO_TAG_BODY:
        case GUMBO_TAG_MAIN:
            return false;
        case GUMBO_TAG_SCRIPT:
        case GUMBO_TAG_STYLE:
        case GUMBO_TAG_NOSCRIPT:
        case GUMBO_TAG_TEMPLATE:
        case GUMBO_TAG_SVG:
        case GUMBO_TAG_HEAD:
        case GUMBO_TAG_TITLE:
        case GUMBO_TAG_NAV:
        case GUMBO_TAG_ASIDE:
        case GUMBO_TAG_BUTTON:
        case GUMBO_TAG_SELECT:
        case GUMBO_TAG_TEXTAREA:
        case GUMBO_TAG_IFRAME:
        case GUMBO_TAG_AUDIO:
        case GUMBO_TAG_VIDEO:
        case GUMBO_TAG_CANVAS:
        case GUMBO_TAG_DATALIST:
        case GUMBO_TAG_RP:
        case GUMBO_TAG_RT:
        case GUMBO_TAG_ANNOTATION_XML:
            return true;
        case GUMBO_TAG_HEADER:
        case GUMBO_TAG_FOOTER:
            if (!inside_article(node)) return true;
            break;
        default:
            break;
    }
    if (node->v.element.attributes.length == 0) return false;
    if (attribute(node, "hidden") != nullptr || attribute_text(node, "aria-hidden") == "true") return true;
    constexpr std::array roles = {"navigation"sv, "banner"sv,  "contentinfo"sv, "search"sv, "complementary"sv,
                                  "menu"sv,       "menubar"sv, "toolbar"sv,     "dialog"sv, "doc-toc"sv};
    if (holds(roles, attribute_text(node, "role"))) return true;
    const std::string_view style = attribute_text(node, "style");
    const std::size_t display = style.find("display:");
    if (display != std::string_view::npos) {
        std::string_view value = style.substr(display + 8);
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
        if (value.starts_with("none")) return true;
    }
    return is_boilerplate_name(attribute_text(node, "id")) ||
           any_word(attribute_text(node, "class"), is_boilerplate_class);
}

/// How strongly an element declares itself the main text, 0 the strongest; `ranks` if it does not.
constexpr std::size_t ranks = 4;

std::size_t main_rank(const GumboNode* node) {
    const GumboTag tag = node->v.element.tag;
    if (tag == GUMBO_TAG_MAIN) return 1;
    if (tag == GUMBO_TAG_ARTICLE) return 2;
    if (node->v.element.attributes.length == 0) return ranks;
    const std::string_view id = attribute_text(node, "id");
    if (id == "mw-content-text") return 0;
    if (any_word(attribute_text(node, "class"),
                 [](std::string_view word) { return word == "mw-parser-output"; }))
        return 0;
    if (attribute_text(node, "role") == "main") return 1;
    if (attribute_text(node, "itemprop") == "articleBody") return 2;
    constexpr std::array names = {"bodyContent"sv, "content"sv, "main"sv, "main-content"sv, "article"sv};
    return holds(names, id) ? 3 : ranks;
}

std::size_t visible_bytes(const char* text) {
    std::size_t sum = 0;
    for (; *text != '\0'; ++text) sum += static_cast<std::size_t>(static_cast<unsigned char>(*text) > ' ');
    return sum;
}

/// The node whose text is used. Several articles form a list, so that their rank is ignored.
const GumboNode* main_node(const GumboNode* body) {
    struct candidate {
        const GumboNode* node = nullptr;
        std::size_t before = 0, bytes = 0;
        std::size_t found = 0;
    };
    std::array<candidate, ranks> best;
    std::size_t seen = 0;
    const auto leave = [&](const GumboNode* node) {
        for (auto& each : best) {
            if (each.node == node) each.bytes = seen - each.before;
        }
    };
    for (const GumboNode* node = body; node != nullptr;) {
        bool below = true;
        if (is_element(node)) {
            below = !is_excluded(node);
            const std::size_t rank = below ? main_rank(node) : ranks;
            if (rank != ranks && best[rank].found++ == 0) best[rank] = {node, seen, 0, 1};
        } else if (node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_CDATA) {
            seen += visible_bytes(node->v.text.text);
        }
        node = next_node(node, body, below, leave);
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto& each = best[rank];
        if (each.node == nullptr || (rank == 2 && each.found > 1)) continue;
        if (each.bytes * 3 >= seen) return each.node;
    }
    return body;
}

std::string text_of(const GumboNode* top) {
    html_text out;
    for (const GumboNode* node = top; node != nullptr;) {
        const bool text = node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_CDATA;
        if (text) out.add(node->v.text.text, false);
        if (node->type == GUMBO_NODE_WHITESPACE) out.want(html_text::space);
        node = next_node(node, top, true, [](const GumboNode*) {});
    }
    return out.take();
}

/// Writes the text inside one node, and collects its links.
class page_writer {
  public:
    page_writer(html_page& page, const link_base& base, const reading_budget& budget)
        : page_(page), base_(base), budget_(budget) {}

    /// Writes `heading` first if it is not in `top`: a page's name belongs to its text.
    void write(const GumboNode* top, const GumboNode* heading) {
        if (heading != nullptr && shows_outside(heading, top)) {
            text_.add(text_of(heading), false);
            text_.want(html_text::paragraph);
        }
        const auto leave = [this](const GumboNode* node) { this->leave(node); };
        for (const GumboNode* node = top; node != nullptr;) {
            const bool below = enter(node, node == top);
            if (!below && is_element(node)) skipped_ = node;
            node = next_node(node, top, below, leave);
        }
        page_.text = text_.take();
    }

  private:
    static bool shows_outside(const GumboNode* node, const GumboNode* top) {
        for (; node != nullptr; node = node->parent) {
            if (node == top || (is_element(node) && is_excluded(node))) return false;
        }
        return true;
    }

    bool enter(const GumboNode* node, bool top) {
        switch (node->type) {
            case GUMBO_NODE_TEXT:
            case GUMBO_NODE_CDATA:
                if (pre_ != 0) {
                    text_.add_verbatim(node->v.text.text);
                } else {
                    text_.add(node->v.text.text, code_ != 0);
                }
                return false;
            case GUMBO_NODE_WHITESPACE:
                if (pre_ != 0) {
                    text_.add_verbatim(node->v.text.text);
                } else {
                    text_.want(html_text::space);
                }
                return false;
            case GUMBO_NODE_ELEMENT:
            case GUMBO_NODE_TEMPLATE:
                return (top || !is_excluded(node)) && enter_element(node);
            default:
                return true;
        }
    }

    bool enter_element(const GumboNode* node) {
        const GumboTag tag = node->v.element.tag;
        switch (tag) {
            case GUMBO_TAG_BR:
                if (pre_ != 0) {
                    text_.add_verbatim("\n");
                } else {
                    text_.line_break();
                }
                return false;
            case GUMBO_TAG_PRE:
                ++pre_;
                break;
            case GUMBO_TAG_CODE:
                ++code_;
                break;
            case GUMBO_TAG_A:
            case GUMBO_TAG_AREA:
                take_link(node);
                break;
            default:
                break;
        }
        text_.want(gap_of(tag, true));
        return true;
    }

    void leave(const GumboNode* node) {
        if (!is_element(node)) return;
        if (node == skipped_) return;
        const GumboTag tag = node->v.element.tag;
        if (tag == GUMBO_TAG_PRE) --pre_;
        if (tag == GUMBO_TAG_CODE) --code_;
        text_.want(gap_of(tag, false));
    }

    static html_text::gap gap_of(GumboTag tag, bool begins) {
        switch (tag) {
            case GUMBO_TAG_TD:
            case GUMBO_TAG_TH:
                return begins ? html_text::tab : html_text::none;
            case GUMBO_TAG_TR:
            case GUMBO_TAG_LI:
            case GUMBO_TAG_DT:
            case GUMBO_TAG_DD:
            case GUMBO_TAG_OPTION:
            case GUMBO_TAG_TBODY:
            case GUMBO_TAG_THEAD:
            case GUMBO_TAG_TFOOT:
                return html_text::line;
            default:
                return is_block_element(gumbo_normalized_tagname(tag)) ? html_text::paragraph
                                                                       : html_text::none;
        }
    }

    void take_link(const GumboNode* node) {
        const char* href = attribute(node, "href");
        if (href == nullptr) return;
        if (auto target = base_.resolve(href)) add_link(page_.links, std::move(*target), budget_);
    }

    html_page& page_;
    const link_base& base_;
    const reading_budget& budget_;
    html_text text_;
    const GumboNode* skipped_ = nullptr;
    std::size_t pre_ = 0, code_ = 0;
};

/// <title> without the site's name, if the first heading shows which part names the page.
std::string page_title(std::string title, const std::string& heading) {
    if (title.empty()) return heading;
    if (heading.empty() || !title.starts_with(heading) || title.size() == heading.size()) return title;
    const std::string_view rest = std::string_view(title).substr(heading.size());
    for (const auto separator :
         {" - "sv, " | "sv, " \u2014 "sv, " \u2013 "sv, " \u00B7 "sv, " :: "sv, " \u00AB "sv, " \u00BB "sv}) {
        if (rest.starts_with(separator)) return heading;
    }
    return title;
}

void read_tree(const std::string& html, std::string_view path, const reading_budget& budget,
               html_page& page) {
    const html_tree tree(html);
    link_base base(path);
    const GumboNode *body = nullptr, *heading = nullptr;
    std::string title;
    bool titled = false, based = false;
    for (const GumboNode* node = tree.document(); node != nullptr;) {
        if (is_element(node)) {
            const GumboTag tag = node->v.element.tag;
            if (tag == GUMBO_TAG_TITLE && !titled && node->v.element.tag_namespace == GUMBO_NAMESPACE_HTML) {
                title = text_of(node);
                titled = true;
            }
            if (tag == GUMBO_TAG_BASE && !based) {
                if (const char* href = attribute(node, "href")) {
                    base.rebase(href);
                    based = true;
                }
            }
            if (tag == GUMBO_TAG_H1 && heading == nullptr) heading = node;
            if ((tag == GUMBO_TAG_BODY || tag == GUMBO_TAG_FRAMESET) && body == nullptr) body = node;
        }
        node = next_node(node, tree.document(), true, [](const GumboNode*) {});
    }
    page.title = page_title(std::move(title), heading == nullptr ? std::string() : text_of(heading));
    if (body != nullptr) page_writer(page, base, budget).write(main_node(body), heading);
}

/// Without a tree: tag by tag, in one pass.
void read_flat(std::string_view html, std::string_view path, const reading_budget& budget, html_page& page) {
    html_scanner scan(html);
    link_base base(path);
    html_text out;
    std::size_t pre = 0;
    std::string_view text;
    std::string value;
    for (html_tag tag; scan.next(text, tag);) {
        const std::string decoded = decode_references(text);
        if (pre != 0) {
            out.add_verbatim(decoded);
        } else {
            out.add(decoded, false);
        }
        if (tag.what == html_tag::none) continue;
        const bool start = tag.what == html_tag::start;
        if (start && tag.name == "title" && page.title.empty())
            page.title = collapsed(decode_references(scan.raw_text()));
        if (start && tag.name == "base" && html_attribute(tag.attributes, "href", value))
            base.rebase(decode_references(value));
        if (start && (tag.name == "a" || tag.name == "area") &&
            html_attribute(tag.attributes, "href", value)) {
            if (auto target = base.resolve(decode_references(value)))
                add_link(page.links, std::move(*target), budget);
        }
        if (tag.name == "pre") pre = start ? 1 : 0;
        if (tag.name == "br") out.line_break();
        if (tag.name == "td" || tag.name == "th") out.want(start ? html_text::tab : html_text::none);
        const bool row = tag.name == "tr" || tag.name == "li" || tag.name == "dt" || tag.name == "dd";
        if (row || is_block_element(tag.name)) out.want(row ? html_text::line : html_text::paragraph);
    }
    page.text = out.take();
    page.repaired = "nested or tangled too deeply: read without its structure";
}

}  // namespace

html_page parse_html(std::string_view bytes, std::string_view path, const reading_budget& budget) {
    html_page page;
    std::string html = decode_html(bytes, page.repaired);
    // The tree's text ends at a zero byte.
    std::replace(html.begin(), html.end(), '\0', ' ');
    const bool xhtml = html.starts_with("<?xml") || path.ends_with(".xhtml");
    if (xhtml) html = expand_self_closing(html);
    std::uint64_t tree_bytes = 0;
    if (std::string slim; is_tame(html, slim, tree_bytes)) {
        require_budget(budget, tree_bytes + reading_factor * bytes.size(), "the tree of the page");
        release(html);
        read_tree(slim, path, budget, page);
    } else {
        read_flat(html, path, budget, page);
    }
    return page;
}

}  // namespace quern::io
