// SPDX-License-Identifier: Apache-2.0
// The stack of open elements follows the HTML standard ("Tree construction") where it decides which element a text is
// in: end tags that may be omitted, the bounds at which an end tag stops, the scope of tables. Formatting elements end
// where their end tag is and are not repeated in later blocks, which changes no text. Misplaced text in tables stays
// where it is written.
#include "io/corpus/html_blocks.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.hpp"
#include "io/corpus/html_entities.hpp"
#include "io/corpus/html_marks.hpp"
#include "io/corpus/html_tokens.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

using namespace html_property;
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

// Distinct from block_reader::unseen().
constexpr std::uint32_t unseen_property = html_property::unseen;

class block_reader {
  public:
    block_reader(std::string_view html, bool xml, std::uint64_t taken, const reading_budget& budget)
        : tokens_(html, xml), taken_(taken), budget_(budget), xml_(xml) {
        stack_.reserve(max_html_depth);
        stack_.push_back({});
        add_element(n::other, 0);
        stack_.back().listed = true;
        stack_.back().element = 0;
    }

    html_blocks read() {
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

  private:
    struct open_element {
        n name = n::other;
        bool tracked = true;  ///< listed once it has text
        bool listed = false;
        bool is_link = false;
        std::uint32_t hash = 0;
        std::uint32_t marks = 0;
        std::uint32_t element = 0;
    };

    template <typename List>
    static std::uint32_t size32(const List& list) {
        return static_cast<std::uint32_t>(list.size());
    }

    // Lists grow by doubling: then there are two, the second with double the capacity.
    template <typename List>
    void make_room(List& list, std::size_t more, std::string_view what) {
        if (list.size() + more <= list.capacity()) return;
        const std::size_t capacity = std::max(2 * list.capacity(), list.size() + more);
        require_budget(budget_, taken_ + out_.memory_bytes() + capacity * sizeof(list[0]), what);
        list.reserve(capacity);
    }

    void add_element(n name, std::uint32_t marks) {
        make_room(out_.elements, 1, "the elements of the page");
        html_element made{};
        made.parent = out_.elements.empty() ? no_element : innermost_;
        made.first_run = size32(out_.runs);
        made.marks = marks;
        made.name = name;
        out_.elements.push_back(made);
    }

    /// Lists the open elements: there is text in them.
    void list_open() {
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

    bool unseen() const { return unseen_at_ != 0; }

    void want(html_gap gap) {
        if (!unseen()) gap_ = std::max(gap_, gap);
    }

    /// Appends what is wanted between the last text and the next.
    void bridge(std::size_t bytes) {
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

    void append(std::string_view words) {
        bridge(words.size());
        out_.text += words;
        html_element& element = out_.elements[innermost_];
        element.text_bytes += static_cast<std::uint32_t>(words.size());
        if (link_) element.link_bytes += static_cast<std::uint32_t>(words.size());
    }

    void add(std::string_view raw) {
        if (pre_ != 0) return add_verbatim(raw);
        const char* at = raw.data();
        const char* const end = at + raw.size();
        const bool lines =
            code_ != 0 && !trimmed(raw).empty();  // blanks between its parts are no line of code
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

    /// Into decoded_; returns the bytes of the reference, or of a '&' that begins none.
    std::size_t decode(std::string_view rest) {
        decoded_.clear();
        const std::size_t taken = decode_html_reference(rest, false, decoded_);
        if (taken != 0) return taken;
        decoded_ = '&';
        return 1;
    }

    void add_decoded() {
        if (decoded_ == no_break_space || (decoded_.size() == 1 && is_html_space(decoded_.front()))) {
            want(code_ != 0 && decoded_ == "\n" ? html_gap::line : html_gap::space);
        } else if (!decoded_.empty()) {
            append(decoded_);
        }
    }

    void add_verbatim(std::string_view raw) {
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

    void take_raw(const html_token& token) {
        if (token.name == n::title) {
            if (!titled_ && foreign_at_ == 0) {
                out_.title = collapsed_html(token.text_or_name);
                titled_ = true;
            }
        } else if (!unseen() && (properties_of(token.name) & unseen_property) == 0) {
            // xmp, plaintext, CDATA: no references.
            for (std::string_view rest = token.text_or_name; !rest.empty();) {
                const std::size_t plain =
                    std::min(rest.find_first_of(std::string_view("\r\0", 2)), rest.size());
                if (plain != 0) append(rest.substr(0, plain));
                rest.remove_prefix(plain);
                if (rest.empty()) break;
                if (!rest.starts_with("\r\n")) append(rest.front() == '\r' ? "\n" : " ");
                rest.remove_prefix(1);
            }
        }
    }

    // ---- elements

    std::uint16_t& count_of(n name) { return counts_[static_cast<std::size_t>(name)]; }

    bool is_open(n name) const { return counts_[static_cast<std::size_t>(name)] != 0; }

    static html_gap gap_at_start(std::uint32_t is) {
        if ((is & cell) != 0) return html_gap::tab;
        if ((is & line) != 0) return html_gap::line;
        return (is & paragraph) != 0 ? html_gap::paragraph : html_gap::none;
    }
    static html_gap gap_at_end(std::uint32_t is) {
        return (is & cell) != 0 ? html_gap::none : gap_at_start(is);
    }

    void start(const html_token& tag) {
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

    void push(const html_token& tag, std::uint32_t is, std::uint32_t marks) {
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

    void pop() {
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
        if (open.name == n::pre || open.name == n::listing || open.name == n::xmp ||
            open.name == n::plaintext)
            --pre_;
        if (open.name == n::code) --code_;
        if (depth == unseen_at_) {
            unseen_at_ = 0;  // leaves no trace
            if (link_depth_ > depth) link_ = false;
            return;
        }
        want(gap_at_end(is));
    }

    void pop_to(std::size_t depth) {
        while (stack_.size() > depth) pop();
    }

    void line_break() {
        if (unseen()) return;
        if (pre_ != 0) {
            after_pre_ = false;
            append("\n");
        } else {
            gap_ = gap_ >= html_gap::line ? html_gap::paragraph : html_gap::line;
        }
    }

    void take_link(const html_token& tag) {
        if (unseen() || !tag.has(html_attribute::href)) return;
        list_open();
        make_room(out_.links, 1, "the links of the page");
        const std::string_view href = tag[html_attribute::href];
        out_.links.push_back({innermost_, size32(href), href.data()});
    }

    // ---- implied ends

    void imply_ends(n name, std::uint32_t is) {
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

    static bool is_ruby(n name) { return name == n::rb || name == n::rt || name == n::rp || name == n::rtc; }

    /// The open element nearest to the top that `is_wanted`, unless one that `stops` is above it; 0 if there is none.
    template <typename Wanted, typename Stops>
    std::size_t find_open(Wanted&& is_wanted, Stops&& stops) const {
        for (std::size_t at = stack_.size(); at-- > 1;) {
            if (is_wanted(stack_[at])) return at;
            if (stops(stack_[at])) return 0;
        }
        return 0;
    }

    static bool is_bound(const open_element& open) { return (properties_of(open.name) & bound) != 0; }

    void close_in_scope(n name, bool button_stops) {
        if (!is_open(name)) return;
        const std::size_t at = find_open(
            [name](const auto& open) { return open.name == name; },
            [=](const auto& open) { return is_bound(open) || (button_stops && open.name == n::button); });
        if (at != 0) pop_to(at);
    }

    void close_item(n one, n other) {
        if (!is_open(one) && !is_open(other)) return;
        const std::size_t at =
            find_open([=](const auto& open) { return open.name == one || open.name == other; },
                      [](const auto& open) {
                          return (properties_of(open.name) & special) != 0 && open.name != n::address &&
                                 open.name != n::div && open.name != n::p;
                      });
        if (at != 0) pop_to(at);
    }

    void close_in_table(std::initializer_list<n> names) {
        if (!is_open(n::table)) return;
        const std::size_t at = find_open(
            [names](const auto& open) {
                return std::find(names.begin(), names.end(), open.name) != names.end();
            },
            [](const auto& open) { return open.name == n::table || open.name == n::template_; });
        if (at != 0) pop_to(at);
    }

    // ---- end tags

    void end(n name, std::uint32_t hash, bool ends_link = true) {
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

    void end_heading() {
        const std::size_t at = find_open(
            [](const open_element& open) { return (properties_of(open.name) & heading) != 0; }, is_bound);
        if (at != 0) pop_to(at);
    }

    /// Closes one element. If blocks within it are open, they stay open.
    void remove(std::size_t at) {
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

    html_tokens tokens_;
    std::uint64_t taken_;
    const reading_budget& budget_;
    html_blocks out_;
    std::vector<open_element> stack_;
    std::array<std::uint16_t, static_cast<std::size_t>(n::count)> counts_{};
    std::size_t listed_ = 1;       ///< open elements before this one are listed, if they are tracked
    std::uint32_t innermost_ = 0;  ///< the innermost listed element
    std::size_t unseen_at_ = 0;    ///< the outermost open element that is not shown; 0: none
    std::size_t foreign_at_ = 0;   ///< the outermost svg or math
    std::uint64_t too_deep_ = 0;
    std::size_t link_depth_ = 0;
    std::uint32_t pre_ = 0, code_ = 0;
    html_gap gap_ = html_gap::none;
    bool xml_ = false, fresh_ = true, link_ = false, titled_ = false, after_pre_ = false;
    std::string decoded_;
};

}  // namespace

html_blocks read_html_blocks(std::string_view html, bool xml, std::uint64_t taken,
                             const reading_budget& budget) {
    constexpr std::uint64_t most = std::uint64_t{2}
                                   << 30;  // positions are 32 bits; texts may grow by a fifth
    if (html.size() > most) throw out_of_memory("a web page", html.size(), most);
    return block_reader(html, xml, taken, budget).read();
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
