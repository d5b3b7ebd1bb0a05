// SPDX-License-Identifier: Apache-2.0
// The table of distances between all prefixes of two words grows by one row for each character of a word. Words with a
// common prefix therefore share its rows, and if no row can come below the bound again, none of them is near. In a
// sorted list words with a common prefix form a range. While edits are left any character may come next, and ranges are
// visited in order; afterwards only a few of the query word's characters may follow, and their ranges are looked up.
// Short ranges are read word by word.
#include "text/near_words.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/utf8.hpp"

namespace quern::text {
namespace {

constexpr std::uint32_t short_range = 48;  // words: about the cost of two look-ups

struct character {
    std::string_view bytes;
    bool whole;  // not ill-formed: no character is a prefix of another
};

character character_at(std::string_view text, std::size_t at) {
    std::size_t end = at;
    const bool whole = next_utf8(text, end) != ill_formed;
    return {text.substr(at, end - at), whole};
}

class walk {
  public:
    enum class of { whole_words, beginnings };

    walk(const dictionary_view& words, std::string_view requested, std::uint32_t bound, const context& ctx,
         of what = of::whole_words)
        : words_(words), bound_(bound), of_beginnings_(what == of::beginnings), ctx_(ctx) {
        for (std::size_t at = 0; at < requested.size(); at += requested_.back().bytes.size())
            requested_.push_back(character_at(requested, at));
        // A word of more characters is further away.
        rows_.resize(requested_.size() + bound + 2);
        ends_.resize(rows_.size());
        for (auto& row : rows_) row.resize(requested_.size() + 1);
        best_.assign(rows_.size(), bound + 1);
        for (std::size_t j = 0; j <= requested_.size(); ++j) rows_[0][j] = static_cast<std::uint32_t>(j);
        best_[0] = rows_[0].back();
    }

    std::vector<near_word> found() {
        std::string beginning;
        enter(beginning, 0, 0, words_.size());
        std::ranges::sort(found_, {}, &near_word::id);
        // Ranges of ill-formed characters may overlap with others.
        found_.erase(std::ranges::unique(found_).begin(), found_.end());
        return std::move(found_);
    }

  private:
    bool same(std::string_view c, std::size_t j) const { return c == requested_[j].bytes; }

    // The row of a prefix of `depth` characters, 1 or more, whose last is `c`, from the rows before.
    void fill_row(std::string_view text, std::size_t depth, std::string_view c) {
        ends_[depth] = ends_[depth - 1] + c.size();
        auto& row = rows_[depth];
        const auto& above = rows_[depth - 1];
        const std::string_view last =
            depth < 2 ? std::string_view()
                      : text.substr(ends_[depth - 2], ends_[depth - 1] - ends_[depth - 2]);
        row[0] = static_cast<std::uint32_t>(depth);
        for (std::size_t j = 1; j < row.size(); ++j) {
            std::uint32_t least =
                std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same(c, j - 1) ? 0U : 1U)});
            if (depth > 1 && j > 1 && same(c, j - 2) && same(last, j - 1))
                least = std::min(least, rows_[depth - 2][j - 2] + 1);
            row[j] = least;
        }
        best_[depth] = std::min(best_[depth - 1], row.back());
    }

    /// The distance of a word that ends at this depth, or of its nearest beginning.
    std::uint32_t distance(std::size_t depth) const {
        return of_beginnings_ ? best_[depth] : rows_[depth].back();
    }
    void add(std::uint32_t id, std::uint32_t distance) {
        if (distance <= bound_) found_.push_back({id, distance});
    }
    /// Words [first, last) that no longer beginning brings nearer.
    void add_all(std::uint32_t first, std::uint32_t last, std::size_t depth) {
        if (!of_beginnings_) return;
        for (std::uint32_t id = first; id < last; ++id) add(id, best_[depth]);
    }

    // Whether no word with this prefix is near, or nearer than its beginnings seen.
    bool dead(std::size_t depth) const {
        const std::uint32_t useful =
            of_beginnings_ && best_[depth] <= bound_ ? best_[depth] : bound_ + 1;  // less than this is
        if (std::ranges::min(rows_[depth]) < useful) return false;
        // Two characters transposed, of which the row has seen one.
        return depth == 0 || std::ranges::min(rows_[depth - 1]) + 1 >= useful;
    }

    // Words [first, last) begin with `text`, of `depth` characters.
    void enter(std::string& text, std::size_t depth, std::uint32_t first, std::uint32_t last) {
        ctx_.check_stop();
        if (last - first <= short_range || depth + 2 >= rows_.size()) return read(depth, first, last);
        if (words_.word(first).size() == text.size()) {  // it ends here
            add(first, distance(depth));
            ++first;
        }
        if (std::ranges::min(rows_[depth]) < bound_ || (of_beginnings_ && best_[depth] <= bound_)) {
            while (first < last) {
                const std::string word = words_.word(first);
                const character next = character_at(word, text.size());
                first = enter_next(text, depth, next, first, last);
            }
        } else {
            for (const character& next : possible(text, depth)) enter_next(text, depth, next, first, last);
        }
    }

    // The range within [first, last) whose words continue with a character; returns its end.
    std::uint32_t enter_next(std::string& text, std::size_t depth, const character& next, std::uint32_t first,
                             std::uint32_t last) {
        const std::size_t size = text.size();
        text += next.bytes;
        const auto range = words_.with_prefix(text);
        const std::uint32_t begin = std::max(first, range.first), end = std::min(last, range.second);
        if (begin < end) {
            if (!next.whole) {
                read(depth, begin, end);
            } else {
                fill_row(text, depth + 1, next.bytes);
                if (dead(depth + 1))
                    add_all(begin, end, depth + 1);
                else
                    enter(text, depth + 1, begin, end);
            }
        }
        text.resize(size);
        return end;
    }

    // With no edit left: the characters after which a word may still be near, each once.
    std::vector<character> possible(std::string_view text, std::size_t depth) const {
        std::vector<character> some;
        const auto add = [&](const character& c) {
            if (std::ranges::find(some, c.bytes, &character::bytes) == some.end()) some.push_back(c);
        };
        const std::string_view last = depth == 0 ? std::string_view() : text.substr(ends_[depth - 1]);
        for (std::size_t j = 1; j <= requested_.size(); ++j) {
            if (rows_[depth][j - 1] <= bound_) add(requested_[j - 1]);
            if (depth > 0 && j > 1 && same(last, j - 1) && rows_[depth - 1][j - 2] < bound_)
                add(requested_[j - 2]);
        }
        return some;
    }

    // Reads words one by one; their first `depth` characters have their rows.
    void read(std::size_t depth, std::uint32_t first, std::uint32_t last) {
        dictionary_view::walker walker(words_, first);
        for (std::uint32_t id = first; id < last; ++id) {
            if (id % 256 == 0) ctx_.check_stop();
            const std::string_view word = *walker.next();
            std::size_t at = ends_[depth], row = depth;
            while (at < word.size() && row + 1 < rows_.size() && !dead(row)) {
                const std::string_view c = character_at(word, at).bytes;
                fill_row(word, ++row, c);
                at += c.size();
            }
            if (at == word.size() || of_beginnings_) add(id, distance(row));
        }
    }

    const dictionary_view& words_;
    std::uint32_t bound_;
    bool of_beginnings_;
    const context& ctx_;
    std::vector<character> requested_;
    std::vector<std::vector<std::uint32_t>> rows_;  // by the number of characters of the other word
    std::vector<std::size_t> ends_;                 // of its characters, in bytes
    std::vector<std::uint32_t> best_;               // the least distance of its beginnings so far
    std::vector<near_word> found_;
};

}  // namespace

std::vector<near_word> near_words(const dictionary_view& words, std::string_view word, std::uint32_t bound,
                                  const context& ctx) {
    if (words.size() == 0) return {};
    return walk(words, word, bound, ctx).found();
}

std::vector<near_word> near_beginnings(const dictionary_view& words, std::string_view beginning,
                                       std::uint32_t bound, const context& ctx) {
    if (words.size() == 0) return {};
    return walk(words, beginning, bound, ctx, walk::of::beginnings).found();
}

// Optimal string alignment (Damerau 1964) with a cost for each kind of edit, after Kernighan, Church and Gale, "A
// Spelling Correction Program Based on a Noisy Channel Model", 1990, but without a table of letters, so that it works
// for every language. The costs were chosen on a list of common English misspellings (docs/search.md).

namespace {

constexpr std::uint32_t doubled = 2, exchanged = 3, replaced = 5, first_letter = 2;

std::vector<char32_t> characters(std::string_view word) {
    std::vector<char32_t> all;
    for (std::size_t at = 0; at < word.size();) all.push_back(next_utf8(word, at));
    return all;
}

/// The cost of one additional letter at `i` in a word.
std::uint32_t one_more(const std::vector<char32_t>& word, std::size_t i) {
    const bool next_to_its_like =
        (i > 0 && word[i - 1] == word[i]) || (i + 1 < word.size() && word[i + 1] == word[i]);
    if (next_to_its_like) return doubled;
    return plain_edit + (i == 0 ? first_letter : 0);
}

}  // namespace

std::uint32_t misspelling_cost(std::string_view typed, std::string_view meant) {
    const auto a = characters(typed), b = characters(meant);
    std::array<std::vector<std::uint32_t>, 3> rows;  // of i, i - 1, i - 2 letters typed
    for (auto& row : rows) row.resize(b.size() + 1);
    for (std::size_t i = 0; i <= a.size(); ++i) {
        auto& row = rows[i % 3];
        const auto& above = rows[(i + 2) % 3];
        const auto& second = rows[(i + 1) % 3];
        for (std::size_t j = 0; j <= b.size(); ++j) {
            std::uint32_t cost = i == 0 && j == 0 ? 0 : UINT32_MAX;
            if (i > 0) cost = std::min(cost, above[j] + one_more(a, i - 1));
            if (j > 0) cost = std::min(cost, row[j - 1] + one_more(b, j - 1));
            if (i > 0 && j > 0) {
                const bool same = a[i - 1] == b[j - 1];
                const std::uint32_t change = replaced + (i == 1 || j == 1 ? first_letter : 0);
                cost = std::min(cost, above[j - 1] + (same ? 0 : change));
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost = std::min(cost, second[j - 2] + exchanged + (i == 2 || j == 2 ? first_letter : 0));
            row[j] = cost;
        }
    }
    return rows[a.size() % 3].back();
}

}  // namespace quern::text
