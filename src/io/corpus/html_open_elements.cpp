// SPDX-License-Identifier: Apache-2.0
// The stack of open elements follows the HTML standard ("Tree construction") where it decides which element a text is
// in: end tags that may be omitted, the bounds at which an end tag stops, the scope of tables. Formatting elements end
// where their end tag is and are not repeated in later blocks, which changes no text. Misplaced text in tables stays
// where it is written.
#include <algorithm>
#include <utility>

#include "io/corpus/html_block_reader.hpp"
#include "io/corpus/html_marks.hpp"

namespace quern::io {
namespace {

using namespace html_property;
using n = html_name;

// Distinct from html_block_reader::unseen().
constexpr std::uint32_t unseen_property = html_property::unseen;

html_gap gap_at_start(std::uint32_t is) {
    if ((is & cell) != 0) return html_gap::tab;
    if ((is & line) != 0) return html_gap::line;
    return (is & paragraph) != 0 ? html_gap::paragraph : html_gap::none;
}

html_gap gap_at_end(std::uint32_t is) {
    return (is & cell) != 0 ? html_gap::none : gap_at_start(is);
}

bool is_ruby(n name) {
    return name == n::rb || name == n::rt || name == n::rp || name == n::rtc;
}

}  // namespace

bool html_block_reader::is_bound(const open_element& open) {
    return (properties_of(open.name) & bound) != 0;
}

template <typename Wanted, typename Stops>
std::size_t html_block_reader::find_open(Wanted&& is_wanted, Stops&& stops) const {
    for (std::size_t at = stack_.size(); at-- > 1;) {
        if (is_wanted(stack_[at])) return at;
        if (stops(stack_[at])) return 0;
    }
    return 0;
}

void html_block_reader::start(const html_token& tag) {
    const std::uint32_t is = properties_of(tag.name);
    after_pre_ = false;
    if (foreign_at_ != 0) {
        if ((is & leaves_svg) != 0) {
            if (!is_open(n::foreignobject) && !is_open(n::desc)) pop_to(foreign_at_);
        } else if (tag.self_closing) {
            return;
        }
    }
    switch (tag.name) {
        case n::br:
            line_break();
            return;
        case n::base:
            if (out_.base.data() == nullptr && tag.has(html_attribute::href))
                out_.base = tag[html_attribute::href];
            return;
        case n::a:
            link_ = tag.has(html_attribute::href);
            link_depth_ = stack_.size();
            if (is_open(n::a)) end(n::a, 0, false);
            [[fallthrough]];
        case n::area:
            take_link(tag);
            break;
        default:
            break;
    }
    if ((is & ignored) != 0) return want(gap_at_start(is));
    imply_ends(tag.name, is);
    if ((is & is_void) != 0) return want(gap_at_start(is));
    const bool is_empty = xml_ || foreign_at_ != 0 || tag.name == n::svg || tag.name == n::math;
    if (tag.self_closing && is_empty) return want(gap_at_start(is));
    std::uint32_t marks = 0;
    if (!unseen() && (tag.has_any() || tag.name == n::main || tag.name == n::article))
        marks = html_marks_of(tag);
    if ((is & unseen_property) != 0) marks |= html_mark::unseen;
    if ((is & surrounding) != 0) marks |= html_mark::surrounding;
    if (tag.name == n::noscript) marks |= html_mark::scriptless;
    const bool structural = (is & (special | paragraph | line | cell)) != 0 || tag.name == n::math ||
                            tag.name == n::ruby ||
                            (foreign_at_ != 0 && (tag.name == n::foreignobject || tag.name == n::desc));
    const bool keeps = (marks & ~html_mark::likely_main) != 0 || is_open(tag.name);
    if (!structural && !keeps && tag.name != n::code) return;
    push(tag, is, marks);
}

void html_block_reader::push(const html_token& tag, std::uint32_t is, std::uint32_t marks) {
    if (stack_.size() == max_html_depth) {
        if ((is & (special | paragraph | line)) != 0) ++too_deep_;
        out_.cut_in_depth = true;
        return want(gap_at_start(is));
    }
    want((marks & html_mark::unseen) != 0 ? html_gap::none : gap_at_start(is));
    open_element made;
    made.name = tag.name;
    made.hash = tag.hash;
    made.marks = marks;
    made.tracked = marks != 0 || (is & (paragraph | line | cell)) != 0;
    stack_.push_back(made);
    ++count_of(tag.name);
    if ((marks & html_mark::unseen) != 0 && !unseen()) unseen_at_ = stack_.size() - 1;
    if (tag.name == n::pre || tag.name == n::listing || tag.name == n::xmp || tag.name == n::plaintext) {
        ++pre_;
        after_pre_ = true;
    }
    if (tag.name == n::code) ++code_;
    if (tag.name == n::svg || tag.name == n::math) {
        if (foreign_at_ == 0) foreign_at_ = stack_.size() - 1;
        tokens_.foreign(true);
    }
}

void html_block_reader::pop() {
    const open_element open = stack_.back();
    stack_.pop_back();
    --count_of(open.name);
    listed_ = std::min(listed_, stack_.size());
    const std::size_t depth = stack_.size();
    const std::uint32_t is = properties_of(open.name);
    if (open.listed) {
        out_.elements[open.element].end = size32(out_.elements);
        out_.elements[open.element].end_run = size32(out_.runs);
        innermost_ = out_.elements[open.element].parent;
        fresh_ = true;
    }
    if ((is & bound) != 0 && link_depth_ > depth) link_ = false;
    if (depth == foreign_at_) {
        foreign_at_ = 0;
        tokens_.foreign(false);
    }
    if (open.name == n::pre || open.name == n::listing || open.name == n::xmp || open.name == n::plaintext)
        --pre_;
    if (open.name == n::code) --code_;
    if (depth == unseen_at_) {
        unseen_at_ = 0;  // leaves no trace
        if (link_depth_ > depth) link_ = false;
        return;
    }
    want(gap_at_end(is));
}

void html_block_reader::pop_to(std::size_t depth) {
    while (stack_.size() > depth) pop();
}

void html_block_reader::line_break() {
    if (unseen()) return;
    if (pre_ != 0) {
        after_pre_ = false;
        append("\n");
    } else {
        gap_ = gap_ >= html_gap::line ? html_gap::paragraph : html_gap::line;
    }
}

void html_block_reader::take_link(const html_token& tag) {
    if (unseen() || !tag.has(html_attribute::href)) return;
    list_open();
    make_room(out_.links, 1, "the links of the page");
    const std::string_view href = tag[html_attribute::href];
    out_.links.push_back({innermost_, size32(href), href.data()});
}

void html_block_reader::imply_ends(n name, std::uint32_t is) {
    if ((is & closes_p) != 0) close_in_scope(n::p, true);
    if ((is & heading) != 0 && (properties_of(stack_.back().name) & heading) != 0) pop();
    switch (name) {
        case n::li:
            close_item(n::li, n::li);
            break;
        case n::dd:
        case n::dt:
            close_item(n::dd, n::dt);
            break;
        case n::option:
        case n::optgroup:
            if (stack_.back().name == n::option) pop();
            if (name == n::optgroup && stack_.back().name == n::optgroup) pop();
            break;
        case n::rb:
        case n::rt:
        case n::rp:
        case n::rtc:
            while (is_ruby(stack_.back().name) && (name != n::rt || stack_.back().name != n::rtc)) pop();
            break;
        case n::button:
            close_in_scope(n::button, false);
            break;
        case n::td:
        case n::th:
            close_in_table({n::td, n::th});
            break;
        case n::tr:
            close_in_table({n::tr});
            break;
        case n::tbody:
        case n::thead:
        case n::tfoot:
        case n::caption:
        case n::colgroup:
            close_in_table({n::tbody, n::thead, n::tfoot, n::caption});
            break;
        case n::select:
        case n::input:
        case n::textarea:
            if (is_open(n::select)) close_in_scope(n::select, false);
            break;
        default:
            break;
    }
}

void html_block_reader::close_in_scope(n name, bool button_stops) {
    if (!is_open(name)) return;
    const std::size_t at = find_open(
        [name](const auto& open) { return open.name == name; },
        [=](const auto& open) { return is_bound(open) || (button_stops && open.name == n::button); });
    if (at != 0) pop_to(at);
}

void html_block_reader::close_item(n one, n other) {
    if (!is_open(one) && !is_open(other)) return;
    const std::size_t at = find_open([=](const auto& open) { return open.name == one || open.name == other; },
                                     [](const auto& open) {
                                         return (properties_of(open.name) & special) != 0 &&
                                                open.name != n::address && open.name != n::div &&
                                                open.name != n::p;
                                     });
    if (at != 0) pop_to(at);
}

void html_block_reader::close_in_table(std::initializer_list<n> names) {
    if (!is_open(n::table)) return;
    const std::size_t at = find_open(
        [names](const auto& open) { return std::find(names.begin(), names.end(), open.name) != names.end(); },
        [](const auto& open) { return open.name == n::table || open.name == n::template_; });
    if (at != 0) pop_to(at);
}

void html_block_reader::end(n name, std::uint32_t hash, bool ends_link) {
    if (name == n::br) return line_break();
    if (name == n::a && ends_link) link_ = false;
    const std::uint32_t is = properties_of(name);
    if ((is & ignored) != 0) return want(gap_at_end(is));
    if (too_deep_ != 0 && (is & (special | paragraph | line)) != 0) {
        --too_deep_;
        return want(gap_at_end(is));
    }
    if ((is & heading) != 0) return end_heading();
    if (!is_open(name)) {
        if (name == n::p) want(html_gap::paragraph);
        return;
    }
    const auto same = [=](const open_element& open) {
        return open.name == name && (name != n::other || open.hash == hash);
    };
    if ((is & formatting) != 0) {
        const std::size_t at = find_open(same, is_bound);
        if (at != 0) remove(at);
    } else if (name == n::form) {
        const std::size_t at = find_open(same, is_bound);
        if (at != 0) remove(at);
    } else if ((is & table_part) != 0) {
        const auto stops = [](const open_element& open) {
            return open.name == n::table || open.name == n::template_;
        };
        const std::size_t at = find_open(same, stops);
        if (at != 0) pop_to(at);
    } else if (name == n::template_) {
        pop_to(find_open(same, [](const auto&) { return false; }));
    } else if ((is & special) != 0 || name == n::svg || name == n::math) {
        const auto stops = [=](const open_element& open) {
            return is_bound(open) || (name == n::p && open.name == n::button) ||
                   (name == n::li && (open.name == n::ul || open.name == n::ol));
        };
        const std::size_t at = find_open(same, stops);
        if (at != 0) pop_to(at);
    } else {
        const std::size_t at =
            find_open(same, [](const auto& open) { return (properties_of(open.name) & special) != 0; });
        if (at != 0) pop_to(at);
    }
}

void html_block_reader::end_heading() {
    const std::size_t at = find_open(
        [](const open_element& open) { return (properties_of(open.name) & heading) != 0; }, is_bound);
    if (at != 0) pop_to(at);
}

void html_block_reader::remove(std::size_t at) {
    const bool has_blocks =
        std::any_of(stack_.begin() + static_cast<std::ptrdiff_t>(at) + 1, stack_.end(),
                    [](const open_element& open) { return (properties_of(open.name) & special) != 0; });
    if (!has_blocks) return pop_to(at);
    // Listed elements stay nested as they were listed; unseen ones end here.
    open_element& open = stack_[at];
    --count_of(open.name);
    if (open.name == n::code) --code_;
    open.name = n::other;
    open.hash = 0;
    ++count_of(n::other);
    if (unseen_at_ == at) unseen_at_ = 0;
}

}  // namespace quern::io
