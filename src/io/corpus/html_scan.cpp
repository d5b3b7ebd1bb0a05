// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_scan.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace quern::io {
namespace {

using namespace std::string_view_literals;

// Sorted for binary search.
constexpr std::array void_elements = {"area"sv,  "base"sv,   "basefont"sv, "bgsound"sv, "br"sv,
                                      "col"sv,   "embed"sv,  "frame"sv,    "hr"sv,      "image"sv,
                                      "img"sv,   "input"sv,  "keygen"sv,   "link"sv,    "meta"sv,
                                      "param"sv, "source"sv, "track"sv,    "wbr"sv};
static_assert(std::is_sorted(void_elements.begin(), void_elements.end()));

constexpr std::array block_elements = {
    "address"sv,  "article"sv,    "aside"sv,   "blockquote"sv, "body"sv,   "caption"sv, "center"sv,
    "dd"sv,       "details"sv,    "dialog"sv,  "dir"sv,        "div"sv,    "dl"sv,      "dt"sv,
    "fieldset"sv, "figcaption"sv, "figure"sv,  "footer"sv,     "form"sv,   "h1"sv,      "h2"sv,
    "h3"sv,       "h4"sv,         "h5"sv,      "h6"sv,         "header"sv, "hgroup"sv,  "hr"sv,
    "legend"sv,   "li"sv,         "main"sv,    "menu"sv,       "nav"sv,    "ol"sv,      "p"sv,
    "pre"sv,      "section"sv,    "summary"sv, "table"sv,      "tbody"sv,  "tfoot"sv,   "thead"sv,
    "tr"sv,       "ul"sv};
static_assert(std::is_sorted(block_elements.begin(), block_elements.end()));

constexpr std::array raw_elements = {"iframe"sv, "noembed"sv,  "noframes"sv, "plaintext"sv, "script"sv,
                                     "style"sv,  "textarea"sv, "title"sv,    "xmp"sv};

constexpr std::array formatting_elements = {"a"sv,      "b"sv,      "big"sv,  "code"sv, "em"sv,
                                            "font"sv,   "i"sv,      "nobr"sv, "s"sv,    "small"sv,
                                            "strike"sv, "strong"sv, "tt"sv,   "u"sv};

/// Besides blocks, elements at which the end tag of an inline element stops its search.
constexpr std::array other_special = {
    "applet"sv,  "button"sv,  "colgroup"sv, "frameset"sv, "head"sv,   "html"sv,      "iframe"sv, "listing"sv,
    "marquee"sv, "noembed"sv, "noframes"sv, "noscript"sv, "object"sv, "plaintext"sv, "script"sv, "select"sv,
    "style"sv,   "td"sv,      "template"sv, "textarea"sv, "th"sv,     "title"sv,     "xmp"sv};

/// Ends the search for an open element.
constexpr std::array scope_bounds = {"applet"sv, "caption"sv, "html"sv,     "marquee"sv, "object"sv,
                                     "table"sv,  "td"sv,      "template"sv, "th"sv};

template <typename List>
bool holds(const List& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool same_name(std::string_view text, std::string_view lower_name) {
    return text.size() >= lower_name.size() && std::equal(lower_name.begin(), lower_name.end(), text.begin(),
                                                          [](char a, char b) { return a == lower(b); });
}

/// Removes one attribute from the front of `rest`; false if there is none.
bool take_attribute(std::string_view& rest, std::string_view& name, std::string_view& value) {
    std::size_t at = 0;
    while (at < rest.size() && (is_html_space(rest[at]) || rest[at] == '/')) ++at;
    const std::size_t begin = at;
    while (at < rest.size() && !is_html_space(rest[at]) && rest[at] != '/' &&
           (rest[at] != '=' || at == begin))
        ++at;
    if (at == begin) return false;
    name = rest.substr(begin, at - begin);
    value = {};
    while (at < rest.size() && is_html_space(rest[at])) ++at;
    if (at < rest.size() && rest[at] == '=') {
        ++at;
        while (at < rest.size() && is_html_space(rest[at])) ++at;
        if (at < rest.size() && (rest[at] == '"' || rest[at] == '\'')) {
            const std::size_t close = std::min(rest.find(rest[at], at + 1), rest.size());
            value = rest.substr(at + 1, close - at - 1);
            at = std::min(close + 1, rest.size());
        } else {
            const std::size_t first = at;
            while (at < rest.size() && !is_html_space(rest[at])) ++at;
            value = rest.substr(first, at - first);
        }
    }
    rest.remove_prefix(at);
    return true;
}

}  // namespace

bool is_void_element(std::string_view name) {
    return std::binary_search(void_elements.begin(), void_elements.end(), name);
}
bool is_block_element(std::string_view name) {
    return std::binary_search(block_elements.begin(), block_elements.end(), name);
}

bool html_attribute(std::string_view attributes, std::string_view wanted, std::string& value) {
    std::string_view name, found;
    while (take_attribute(attributes, name, found)) {
        if (name.size() != wanted.size() || !same_name(name, wanted)) continue;
        value = found;
        return true;
    }
    return false;
}

bool html_scanner::next(std::string_view& text, html_tag& tag) {
    if (rest_.empty()) return false;
    raw_text_ = comment_ = {};
    tag.what = html_tag::none;
    std::size_t at = 0;
    while (true) {
        at = std::min(rest_.find('<', at), rest_.size());
        if (at + 1 >= rest_.size()) {
            text = rest_;
            rest_ = {};
            return true;
        }
        const char c = rest_[at + 1];
        if (is_letter(c) || c == '!' || c == '?' || c == '/') break;
        ++at;
    }
    text = rest_.substr(0, at);
    rest_.remove_prefix(at);
    if (!read_tag(tag)) skip_markup();
    return true;
}

bool html_scanner::read_tag(html_tag& tag) {
    const bool end = rest_[1] == '/';
    std::size_t at = end ? 2 : 1;
    if (at >= rest_.size() || !is_letter(rest_[at])) return false;
    tag.name.clear();
    for (; at < rest_.size() && !is_html_space(rest_[at]) && rest_[at] != '/' && rest_[at] != '>'; ++at) {
        tag.name += lower(rest_[at]);
    }
    const std::size_t first = at;
    tag.attribute_count = 0;
    // A quote counts only after '=', as in the standard.
    bool in_name = false, after_equals = false;
    while (at < rest_.size() && rest_[at] != '>') {
        const char c = rest_[at];
        if (after_equals && (c == '"' || c == '\'')) {
            at = std::min(rest_.find(c, at + 1), rest_.size() - 1);
            after_equals = in_name = false;
        } else if (c == '=') {
            after_equals = true;
        } else if (is_html_space(c) || c == '/') {
            in_name = false;
        } else {
            if (!in_name && !after_equals) ++tag.attribute_count;
            in_name = true;
            after_equals = false;
        }
        ++at;
    }
    tag.attributes = rest_.substr(first, at - first);
    tag.self_closing = tag.attributes.ends_with('/');
    tag.raw = rest_.substr(0, std::min(at + 1, rest_.size()));
    tag.what = end ? html_tag::end : html_tag::start;
    rest_.remove_prefix(tag.raw.size());
    if (!end && holds(raw_elements, tag.name)) skip_raw(tag.name);
    return true;
}

void html_scanner::skip_markup() {
    std::size_t end = 0;
    if (rest_.starts_with("<!--")) {
        std::size_t close = rest_.find("--", 2);
        while (close != std::string_view::npos && close + 2 < rest_.size() && rest_[close + 2] != '>' &&
               (close < 4 || !rest_.substr(close).starts_with("--!>"))) {
            close = rest_.find("--", close + 1);
        }
        if (close != std::string_view::npos) close = rest_.find('>', close);
        end = close == std::string_view::npos ? rest_.size() : close + 1;
        if (close != std::string_view::npos) comment_ = rest_.substr(0, end);
    } else {
        end = std::min(rest_.find('>'), rest_.size() - 1) + 1;
    }
    rest_.remove_prefix(end);
}

void html_scanner::skip_raw(const std::string& name) {
    std::size_t at = 0;
    while (true) {
        at = rest_.find("</", at);
        if (at == std::string_view::npos || name == "plaintext") {
            at = rest_.size();
            break;
        }
        const std::string_view after = rest_.substr(at + 2);
        if (same_name(after, name) && (after.size() == name.size() || !is_letter(after[name.size()]))) break;
        at += 2;
    }
    raw_text_ = rest_.substr(0, at);
    rest_.remove_prefix(at);
}

namespace {

/// Gumbo's memory for a node, including its share of lists and buffers, and for an attribute in addition to its
/// letters: measured, and rounded up. Its lists and texts grow by doubling, and nothing is freed while a tree is built.
constexpr std::uint64_t node_bytes = 288, attribute_bytes = 256, bytes_a_letter = 5;
/// <isindex> expands to a form with a line, a label and an input.
constexpr std::uint64_t isindex_bytes = 2400;

std::uint64_t tree_bytes_of(const html_tag& tag) {
    if (tag.what == html_tag::none) return node_bytes;  // a comment, a declaration
    return (tag.name == "isindex" ? isindex_bytes : node_bytes) + attribute_bytes * tag.attribute_count +
           bytes_a_letter * tag.raw.size();
}

/// A model of the standard's stack of open elements that is never much shallower than the real one: end tags close the
/// same elements and stop at the same bounds.
class nesting_model {
  public:
    /// At least the memory of the tree for everything consumed so far.
    std::uint64_t tree_bytes() const { return tree_bytes_; }

    bool takes(std::string_view text, const html_tag& tag, std::string_view raw_text) {
        ++events_;
        if (!text.empty()) tree_bytes_ += node_bytes + bytes_a_letter * text.size();
        tree_bytes_ += tree_bytes_of(tag) + bytes_of_raw(raw_text);
        if (in_table() && std::any_of(text.begin(), text.end(), [](char c) { return !is_html_space(c); }))
            ++misplaced_;
        if (tag.what == html_tag::start) open(tag);
        if (tag.what == html_tag::end) close(tag.name);
        rebuilt_ += active_.size();
        tree_bytes_ += active_bytes_;  // every event may reopen them
        return tag.attribute_count <= max_attributes && stack_.size() + active_.size() <= max_open &&
               active_.size() <= max_active && misplaced_ <= max_misplaced &&
               rebuilt_ <= 8 * events_ + 50'000;
    }

  private:
    /// Within svg or a frameset a raw element is not raw, and its contents are ordinary tags.
    std::uint64_t bytes_of_raw(std::string_view text) const {
        const auto count = [text](auto is) {
            return static_cast<std::uint64_t>(std::count_if(text.begin(), text.end(), is));
        };
        const std::uint64_t tags = count([](char c) { return c == '<'; });
        std::uint64_t bytes = bytes_a_letter * text.size();
        if (tags != 0) {
            bytes += tags * (isindex_bytes + active_bytes_) +
                     attribute_bytes * count([](char c) { return is_html_space(c) || c == '/' || c == '"'; });
        }
        return bytes;
    }

    static constexpr std::size_t max_open = 512, max_active = 64, max_misplaced = 1000, max_attributes = 1000;

    struct active_element {
        std::string name;
        std::size_t hash;
        std::uint64_t bytes;  ///< memory of its node
    };

    bool in_table() const {
        constexpr std::array parts = {"table"sv, "tbody"sv, "tfoot"sv, "thead"sv, "tr"sv};
        return !stack_.empty() && holds(parts, stack_.back());
    }

    static bool is_special(std::string_view name) {
        return is_block_element(name) || holds(other_special, name);
    }

    void open(const html_tag& tag) {
        const std::string& name = tag.name;
        constexpr std::array table_parts = {"caption"sv, "col"sv,   "colgroup"sv, "form"sv, "input"sv,
                                            "script"sv,  "style"sv, "tbody"sv,    "td"sv,   "template"sv,
                                            "tfoot"sv,   "th"sv,    "thead"sv,    "tr"sv};
        if (in_table() && !holds(table_parts, name)) ++misplaced_;
        if (is_void_element(name)) return;
        if (holds(formatting_elements, name)) activate(tag);
        // Elements whose end tag is often omitted close elements of the same kind.
        if (closes_paragraph(name)) close_paragraph();
        if (name == "td" || name == "th") pop_to({"td", "th"}, {"table", "template"});
        if (name == "tr") pop_to({"tr"}, {"table", "template"});
        if (name == "tbody" || name == "thead" || name == "tfoot")
            pop_to({"tbody", "thead", "tfoot"}, {"table", "template"});
        if (name == "li" || name == "dd" || name == "dt") close_item(name);
        tree_bytes_ += node_bytes * implied_parents(name);
        if (name == "option" || name == "optgroup" || name == "a" || name == "html" || name == "head" ||
            name == "body")
            return;
        stack_.push_back(name);
    }

    /// A cell implies a row and a table body if there are none.
    std::uint64_t implied_parents(std::string_view name) const {
        const bool is_cell = name == "td" || name == "th";
        const std::string_view within = stack_.empty() ? std::string_view() : std::string_view(stack_.back());
        if (is_cell && within != "tr") return 2;
        return (name == "tr" || name == "col") && within == "table" ? 1 : 0;
    }

    static bool closes_paragraph(std::string_view name) {
        constexpr std::array do_not = {"body"sv,  "caption"sv, "legend"sv, "table"sv,
                                       "tbody"sv, "tfoot"sv,   "thead"sv,  "tr"sv};
        return is_block_element(name) && !holds(do_not, name);
    }

    void close_paragraph() {
        for (std::size_t at = stack_.size(); at-- > 0;) {
            if (stack_[at] == "p") return stack_.resize(at);
            if (holds(scope_bounds, stack_[at]) || stack_[at] == "button") return;
        }
    }

    void activate(const html_tag& tag) {
        const std::size_t hash = std::hash<std::string_view>()(tag.raw);
        // The standard keeps at most three equal ones, and one link.
        std::size_t equal = 0;
        for (auto& each : active_) equal += static_cast<std::size_t>(each.hash == hash);
        const bool link = tag.name == "a";
        if (equal >= 3 || link) {
            const auto old = std::find_if(active_.begin(), active_.end(), [&](const auto& each) {
                return link ? each.name == "a" : each.hash == hash;
            });
            if (old != active_.end()) deactivate(old);
        }
        active_.push_back({tag.name, hash, tree_bytes_of(tag)});
        active_bytes_ += active_.back().bytes;
    }

    void deactivate(std::vector<active_element>::iterator which) {
        active_bytes_ -= which->bytes;
        active_.erase(which);
    }

    void close(const std::string& name) {
        if (name == "p") {
            close_paragraph();
        } else if (holds(formatting_elements, name)) {
            const auto last = std::find_if(active_.rbegin(), active_.rend(),
                                           [&](const auto& each) { return each.name == name; });
            if (last != active_.rend()) deactivate(std::next(last).base());
            erase_open(name);
        } else if (name == "form") {
            erase_open(name);
        } else if (name == "td" || name == "th" || name == "tr" || name == "table" || name == "tbody" ||
                   name == "thead" || name == "tfoot" || name == "caption") {
            pop_to({name}, {"table", "template"});
        } else if (is_special(name)) {
            pop_in_scope(name);
        } else {
            for (std::size_t at = stack_.size(); at-- > 0;) {
                if (stack_[at] == name) return stack_.resize(at);
                if (is_special(stack_[at])) return;
            }
        }
    }

    void pop_in_scope(std::string_view name) {
        for (std::size_t at = stack_.size(); at-- > 0;) {
            if (stack_[at] == name) return stack_.resize(at);
            if (holds(scope_bounds, stack_[at])) return;
        }
    }

    void erase_open(std::string_view name) {
        for (std::size_t at = stack_.size(); at-- > 0;) {
            if (stack_[at] == name) {
                stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(at));
                return;
            }
            if (holds(scope_bounds, stack_[at])) return;
        }
    }

    void pop_to(std::initializer_list<std::string_view> names,
                std::initializer_list<std::string_view> bounds) {
        for (std::size_t at = stack_.size(); at-- > 0;) {
            if (holds(names, stack_[at])) return stack_.resize(at);
            if (holds(bounds, stack_[at])) return;
        }
    }

    void close_item(std::string_view name) {
        for (std::size_t at = stack_.size(); at-- > 0;) {
            const std::string& open = stack_[at];
            if (open == name || (name != "li" && (open == "dd" || open == "dt"))) return stack_.resize(at);
            if (is_special(open) && open != "address" && open != "div") return;
        }
    }

    std::vector<std::string> stack_;
    std::vector<active_element> active_;
    std::uint64_t events_ = 0, misplaced_ = 0, rebuilt_ = 0, tree_bytes_ = 4096, active_bytes_ = 0;
};

}  // namespace

bool is_tame(std::string_view html, std::string& slim, std::uint64_t& tree_bytes) {
    constexpr std::size_t largest_page = 64 << 20;
    constexpr std::uint64_t largest_tree = 512 << 20;
    if (html.size() > largest_page) return false;
    slim.clear();
    slim.reserve(html.size());
    html_scanner scan(html);
    nesting_model model;
    const char* copied = html.data();
    const auto leave_out = [&](std::string_view part, std::string_view instead) {
        slim.append(copied, part.data()).append(instead);
        copied = part.data() + part.size();
    };
    std::string_view text;
    for (html_tag tag; scan.next(text, tag);) {
        const bool shows = scan.raw_text().empty() || (tag.name != "script" && tag.name != "style");
        if (!model.takes(text, tag, shows ? scan.raw_text() : std::string_view())) return false;
        if (model.tree_bytes() > largest_tree) return false;
        tag.attribute_count = 0;
        if (!scan.comment().empty()) leave_out(scan.comment(), "<!---->");
        if (!shows) leave_out(scan.raw_text(), "");
    }
    slim.append(copied, html.data() + html.size());
    tree_bytes = model.tree_bytes();
    return true;
}

std::string expand_self_closing(std::string_view xhtml) {
    std::string out;
    out.reserve(xhtml.size());
    html_scanner scan(xhtml);
    std::string_view text;
    const char* copied = xhtml.data();
    for (html_tag tag; scan.next(text, tag);) {
        if (tag.what != html_tag::start || !tag.self_closing || is_void_element(tag.name)) continue;
        // The scanner skips the text after <title/>, as browsers do; restart after the tag.
        const char* end = tag.raw.data() + tag.raw.size();
        out.append(copied, tag.raw.data()).append("<").append(tag.name);
        out.append(tag.attributes.substr(0, tag.attributes.size() - 1))
            .append("></")
            .append(tag.name)
            .append(">");
        copied = end;
        scan = html_scanner(xhtml.substr(static_cast<std::size_t>(end - xhtml.data())));
    }
    return out.append(copied, xhtml.data() + xhtml.size());
}

}  // namespace quern::io
