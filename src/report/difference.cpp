// SPDX-License-Identifier: Apache-2.0
#include "report/difference.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/utf8.hpp"

namespace quern::report {
namespace {

using sequence = std::span<const std::uint32_t>;

/// The furthest points on each diagonal k = x - y after d edits, for every d; row d holds k = -d, -d + 2 … d.
class furthest_points {
  public:
    /// Finds a shortest path from (0, 0) to the end; false if it needs more than `max` edits.
    bool search(sequence a, sequence b, std::size_t max) {
        const auto n = static_cast<std::ptrdiff_t>(a.size()), m = static_cast<std::ptrdiff_t>(b.size());
        for (std::ptrdiff_t d = 0; d <= static_cast<std::ptrdiff_t>(max); ++d) {
            rows_.emplace_back(static_cast<std::size_t>(d) + 1);
            for (std::ptrdiff_t k = -d; k <= d; k += 2) {
                std::ptrdiff_t x = d == 0 ? 0 : is_down(d, k) ? at(d - 1, k + 1) : at(d - 1, k - 1) + 1;
                while (x < n && x - k < m &&
                       a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(x - k)])
                    ++x;
                at(d, k) = x;
                if (x >= n && x - k >= m) return true;
            }
        }
        return false;
    }

    /// The path found, as edits from last to first: calls edit(x, y, down) for the step that leaves (x, y).
    template <class Edit>
    void walk_back(std::ptrdiff_t n, std::ptrdiff_t m, Edit edit) {
        std::ptrdiff_t k = n - m;
        for (auto d = static_cast<std::ptrdiff_t>(rows_.size()) - 1; d > 0; --d) {
            const bool down = is_down(d, k);
            k += down ? 1 : -1;
            const std::ptrdiff_t x = at(d - 1, k);
            edit(static_cast<std::size_t>(x), static_cast<std::size_t>(x - k), down);
        }
    }

  private:
    std::ptrdiff_t& at(std::ptrdiff_t d, std::ptrdiff_t k) {
        return rows_[static_cast<std::size_t>(d)][static_cast<std::size_t>((k + d) / 2)];
    }
    /// Whether diagonal k is reached from k + 1, by an insertion.
    bool is_down(std::ptrdiff_t d, std::ptrdiff_t k) {
        return k == -d || (k != d && at(d - 1, k - 1) < at(d - 1, k + 1));
    }

    std::vector<std::vector<std::ptrdiff_t>> rows_;
};

bool is_word_byte(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}
bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

}  // namespace

std::vector<change> differences(sequence a, sequence b, std::size_t max_edits) {
    std::size_t same = 0;
    while (same < a.size() && same < b.size() && a[same] == b[same]) ++same;
    std::size_t tail = 0;
    while (tail < a.size() - same && tail < b.size() - same &&
           a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
        ++tail;
    const sequence left = a.subspan(same, a.size() - same - tail),
                   right = b.subspan(same, b.size() - same - tail);
    if (left.empty() && right.empty()) return {};

    furthest_points points;
    if (!points.search(left, right, max_edits))
        return {{same, same + left.size(), same, same + right.size()}};
    std::vector<change> found;  // from last to first
    points.walk_back(static_cast<std::ptrdiff_t>(left.size()), static_cast<std::ptrdiff_t>(right.size()),
                     [&](std::size_t x, std::size_t y, bool down) {
                         const std::size_t x_end = x + (down ? 0 : 1), y_end = y + (down ? 1 : 0);
                         if (!found.empty() && found.back().a_begin == same + x_end &&
                             found.back().b_begin == same + y_end) {
                             found.back().a_begin = same + x;
                             found.back().b_begin = same + y;
                         } else {
                             found.push_back({same + x, same + x_end, same + y, same + y_end});
                         }
                     });
    std::ranges::reverse(found);
    return found;
}

std::vector<change> differences(const pieces& a, const pieces& b, std::size_t max_edits) {
    std::unordered_map<std::string_view, std::uint32_t> numbers;
    const auto numbered = [&](const pieces& list) {
        std::vector<std::uint32_t> out;
        out.reserve(list.size());
        for (const std::string_view piece : list) {
            out.push_back(numbers.emplace(piece, static_cast<std::uint32_t>(numbers.size())).first->second);
        }
        return out;
    };
    const auto left = numbered(a), right = numbered(b);
    return differences(sequence(left), sequence(right), max_edits);
}

pieces lines_of(std::string_view text) {
    pieces lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        lines.push_back(text.substr(at, end - at));
        at = end;
    }
    return lines;
}

pieces words_of(std::string_view text) {
    pieces words;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at + 1;
        if (is_word_byte(text[at])) {
            while (end < text.size() && is_word_byte(text[end])) ++end;
        } else if (is_blank(text[at])) {
            while (end < text.size() && is_blank(text[end])) ++end;
        } else {
            end = at;
            next_utf8(text, end);
        }
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

}  // namespace quern::report
