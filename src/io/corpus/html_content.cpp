// SPDX-License-Identifier: Apache-2.0
// Everything is decided by sums of bytes over the elements, in integers, so that it is the same on every machine. The
// numbers were chosen on the development pages of WCXB (1,497 pages of seven kinds with marked texts) and checked on four
// other collections (docs/decisions/0022-an-own-html-reader.md); none is sensitive.
#include "io/corpus/html_content.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "io/corpus/html_marks.hpp"

namespace quern::io {
namespace {

using n = html_name;

constexpr std::uint64_t long_text =
    100;  ///< bytes without links; shorter texts are labels as often as sentences

constexpr bool is_at_least(std::uint64_t part, std::uint64_t percent, std::uint64_t whole) {
    return part * 100 >= whole * percent;
}

/// Bytes of the kept text in an element and those within it.
struct sums {
    std::uint64_t text = 0, links = 0;
    std::uint64_t sentences = 0;  ///< of elements with a long text of their own, without links
    bool is_marked_main = false;  ///< has an <h1>, an <article>, or what declares itself the main part

    std::uint64_t plain() const { return text - links; }
};

class main_text {
  public:
    explicit main_text(const html_blocks& page)
        : page_(page), elements_(page.elements), kept_(elements_.size(), true), sums_(elements_.size()) {}

    std::vector<bool> choose() {
        leave_out_declared();
        add_up();
        const std::vector<bool> declared = kept_;
        choose_declared_main();
        if (main_rank(elements_[main_].marks) != 1) {  // a wiki's content is whole
            leave_out_likely();
            choose_declared_main();
            const bool is_article =
                sums_[main_].sentences != 0 && is_at_least(sums_[main_].sentences, 40, sums_[main_].text);
            leave_out_lists_of_links(is_article);
            if (is_article) narrow();
        }
        finish(declared);
        return std::move(kept_);
    }

    std::vector<bool> choose_shown() {
        add_up();
        if (has_text_besides_scriptless()) {
            for (std::size_t i = 1; i < elements_.size(); ++i) {
                if ((elements_[i].marks & html_mark::scriptless) != 0) kept_[i] = false;
            }
            pass_down();
        }
        return std::move(kept_);
    }

  private:
    void add_up() {
        for (auto& each : sums_) each = {};
        for (std::size_t i = elements_.size(); i-- > 0;) {
            if (!kept_[i]) continue;
            const html_element& element = elements_[i];
            sums& own = sums_[i];
            const std::uint64_t plain = element.text_bytes - element.link_bytes;
            own.text += element.text_bytes;
            own.links += element.link_bytes;
            if (plain >= long_text) own.sentences += plain;
            const std::uint32_t rank = main_rank(element.marks);
            if (element.name == n::h1 || element.name == n::article || rank == 1 || rank == 2)
                own.is_marked_main = true;
            if (i == 0) continue;
            sums& parent = sums_[element.parent];
            parent.text += own.text;
            parent.links += own.links;
            parent.sentences += own.sentences;
            parent.is_marked_main = parent.is_marked_main || own.is_marked_main;
        }
    }

    /// An element is kept only if the one around it is.
    void pass_down() {
        for (std::size_t i = 1; i < elements_.size(); ++i) {
            if (!kept_[elements_[i].parent]) kept_[i] = false;
        }
    }

    bool has_text_besides_scriptless() const {
        std::uint64_t scriptless = 0;
        for (std::size_t i = 1, next = 1; i < elements_.size(); ++i) {
            if (i < next || (elements_[i].marks & html_mark::scriptless) == 0) continue;
            scriptless += sums_[i].text;
            next = elements_[i].end;
        }
        return 2 * scriptless <= sums_[0].text;
    }

    /// Elements that declare themselves navigation, header, footer …; and those for readers without scripts, unless
    /// they are most of the page. Tags left open may put the whole page into its header: what holds the declared main
    /// part is not left out.
    void leave_out_declared() {
        add_up();
        const bool for_scripts = has_text_besides_scriptless();
        std::vector<bool> in_article(elements_.size(), false), holds_main(elements_.size(), false);
        for (std::size_t i = elements_.size(); i-- > 1;) {
            const std::uint32_t rank = main_rank(elements_[i].marks);
            if (rank == 1 || rank == 2 || holds_main[i]) holds_main[elements_[i].parent] = true;
        }
        for (std::size_t i = 1; i < elements_.size(); ++i) {
            const html_element& element = elements_[i];
            const n outer = elements_[element.parent].name;
            in_article[i] =
                in_article[element.parent] || outer == n::article || outer == n::main || outer == n::section;
            bool leaves = (element.marks & html_mark::surrounding) != 0;
            if (element.name == n::header || element.name == n::footer) leaves = leaves || !in_article[i];
            if (holds_main[i]) leaves = false;
            if (for_scripts && (element.marks & html_mark::scriptless) != 0) leaves = true;
            if (leaves) kept_[i] = false;
        }
        pass_down();
    }

    /// The first element of the strongest declaration that has a third of the text. Several articles form a list, so that
    /// their declaration is ignored.
    void choose_declared_main() {
        main_ = 0;
        constexpr std::size_t ranks = 5, of_articles = 3;
        std::array<std::size_t, ranks> first{}, found{};
        for (std::size_t i = 1; i < elements_.size(); ++i) {
            const std::uint32_t rank = main_rank(elements_[i].marks);
            if (rank != 0 && kept_[i] && found[rank]++ == 0) first[rank] = i;
        }
        for (std::size_t rank = 1; rank < ranks; ++rank) {
            if (found[rank] == 0 || (rank == of_articles && found[rank] > 1)) continue;
            if (3 * sums_[first[rank]].text >= sums_[0].text) {
                main_ = first[rank];
                return;
            }
        }
    }

    /// What its class or id, or a <footer> within an article, makes a surrounding: unless it holds half of the text.
    void leave_out_likely() {
        const bool comments = has_other_text_than_comments();
        const std::uint64_t whole = sums_[0].plain();
        for (std::size_t i = 1; i < elements_.size(); ++i) {
            const html_element& element = elements_[i];
            const bool likely = (element.marks & html_mark::likely_aside) != 0 || element.name == n::footer ||
                                (comments && (element.marks & html_mark::comment) != 0);
            if (likely && !sums_[i].is_marked_main && 2 * sums_[i].plain() < whole) kept_[i] = false;
        }
        pass_down();
        add_up();
    }

    /// False for a discussion, where what is marked as comments is the text.
    bool has_other_text_than_comments() const {
        constexpr std::uint64_t min_text = 300;
        std::uint64_t plain = 0, sentences = 0;
        for (std::size_t i = 1, next = 1; i < elements_.size(); ++i) {
            if (i < next || !kept_[i] || (elements_[i].marks & html_mark::comment) == 0) continue;
            plain += sums_[i].plain();
            sentences += sums_[i].sentences;
            next = elements_[i].end;
        }
        return 2 * plain < sums_[0].plain() || sums_[0].sentences - sentences > min_text;
    }

    /// Parts of a list, a table, a text: links in them are references, and a list of links is left out as a whole.
    static bool is_item(n name) {
        switch (name) {
            case n::p:
            case n::li:
            case n::dt:
            case n::dd:
            case n::tr:
            case n::td:
            case n::th:
            case n::tbody:
            case n::blockquote:
            case n::h1:
            case n::h2:
            case n::h3:
            case n::h4:
            case n::h5:
            case n::h6:
                return true;
            default:
                return false;
        }
    }

    /// Blocks of which more than 60 % is links, or 40 % in an article if they have no sentences; tables from 85 %, items
    /// only in an article, from 90 %. A cell goes only if it is a column of links. If three quarters of the text would
    /// go, links are the page's text.
    void leave_out_lists_of_links(bool article) {
        constexpr std::uint64_t min_block = 40, min_column = 200;
        const std::vector<bool> before = kept_;
        const std::uint64_t whole = sums_[main_].text;
        std::size_t end_of_cell = 0;
        for (std::size_t i = main_ + 1; i < elements_[main_].end; ++i) {
            const sums& own = sums_[i];
            const n name = elements_[i].name;
            const bool is_cell = name == n::td || name == n::th || name == n::dt || name == n::dd;
            if (is_cell && own.sentences == 0 && own.text < min_column) end_of_cell = elements_[i].end;
            if (!kept_[i] || i < end_of_cell || own.text < min_block || name == n::pre) continue;
            std::uint64_t most = article && own.sentences == 0 ? 40 : 60;
            if (is_item(name)) most = article ? 90 : 100;
            if (name == n::table) most = 85;
            if (own.links * 100 > own.text * most) kept_[i] = false;
        }
        pass_down();
        add_up();
        if (4 * sums_[main_].text >= whole) return;
        kept_ = before;
        add_up();
    }

    /// Goes down while one element holds 80 % of the sentences, but not into one of several sections. What stands before it and is sentences, too, introduces it
    /// and stays.
    void narrow() {
        constexpr std::uint64_t share = 80, share_of_introduction = 60, min_article = 500;
        while (sums_[main_].sentences >= min_article) {
            std::size_t next = 0;
            for (std::size_t i = main_ + 1; i < elements_[main_].end; i = elements_[i].end) {
                if (kept_[i] && is_at_least(sums_[i].sentences, share, sums_[main_].sentences)) next = i;
            }
            if (next == 0 || is_leaf(elements_[next].name) || is_among_sections(next)) return;
            bool first = true;
            for (std::size_t i = main_ + 1; i < next; i = elements_[i].end) {
                if (!kept_[i] || sums_[i].sentences == 0 ||
                    !is_at_least(sums_[i].sentences, share_of_introduction, sums_[i].text))
                    continue;
                if (std::exchange(first, false)) introduction_.clear();
                introduction_.push_back(i);
            }
            main_ = next;
        }
    }

    /// The heading with which an element begins, as it or the first element within, and so on; else the element itself.
    n beginning_of(std::size_t which) const {
        std::size_t at = which;
        while (!is_heading(elements_[at].name) && at + 1 < elements_[at].end) ++at;
        return is_heading(elements_[at].name) ? elements_[at].name : elements_[which].name;
    }

    /// Whether the element is one of at least three sections of a document, as in manuals: alike, of the same parent, and
    /// with headings of one level. The other sections are main text too, even if one holds nearly all sentences.
    bool is_among_sections(std::size_t which) const {
        constexpr std::size_t min_sections = 3;
        const n heading = beginning_of(which);
        if (!is_heading(heading)) return false;
        std::size_t sections = 0;
        for (std::size_t i = main_ + 1; i < elements_[main_].end; i = elements_[i].end)
            if (kept_[i] && elements_[i].name == elements_[which].name && beginning_of(i) == heading)
                ++sections;
        return sections >= min_sections;
    }

    static bool is_heading(n name) {
        return name == n::h1 || name == n::h2 || name == n::h3 || name == n::h4 || name == n::h5 ||
               name == n::h6;
    }

    static bool is_leaf(n name) {
        return name == n::p || name == n::td || name == n::li || name == n::pre || name == n::blockquote;
    }

    /// Keeps only the chosen element, what introduces it, and the page's first heading.
    void finish(const std::vector<bool>& declared) {
        std::vector<bool> chosen(elements_.size(), false);
        const auto take = [&](std::size_t which, const std::vector<bool>& of) {
            for (std::size_t i = which; i < elements_[which].end; ++i) chosen[i] = chosen[i] || of[i];
        };
        take(main_, kept_);
        for (const std::size_t each : introduction_) take(each, kept_);
        if (page_.first_heading != no_element) take(page_.first_heading, declared);
        kept_ = std::move(chosen);
    }

    const html_blocks& page_;
    const std::vector<html_element>& elements_;
    std::vector<bool> kept_;
    std::vector<sums> sums_;
    std::size_t main_ = 0;
    std::vector<std::size_t> introduction_;
};

}  // namespace

std::uint64_t choice_memory(const html_blocks& page) {
    return page.elements.size() * (sizeof(sums) + 2);  // and some vectors of bits
}

std::vector<bool> choose_main_text(const html_blocks& page) {
    return main_text(page).choose();
}

std::vector<bool> choose_shown_text(const html_blocks& page) {
    return main_text(page).choose_shown();
}

}  // namespace quern::io
