// SPDX-License-Identifier: Apache-2.0
// Looks up n-grams in the counts of a collection as quern ngrams --totals writes them: lines of words, a tab and the
// count; by n from 1, then by words. It needs no index: a binary search over the lines.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::python {

class ngram_counts_text {
  public:
    /// `distinct`: the number of lines of each n, from 1. The text must outlive this object. Throws invalid_input
    /// if the text has other lines.
    ngram_counts_text(std::string_view text, std::span<const std::uint64_t> distinct);

    /// The count of an n-gram, 0 if it is not listed. The words have no white space. Cost: O(log lines); O(lines)
    /// for word lines with white space, control characters or ill-formed UTF-8 in words, whose order the lines do
    /// not show.
    std::uint64_t count(std::span<const std::string_view> words) const;

    /// The largest n.
    std::size_t order() const { return levels_.size(); }
    /// Calls `sink(words, count)` for each n-gram of a length, in order.
    void each(std::size_t n, const std::function<void(std::string_view, std::uint64_t)>& sink) const;

  private:
    bool words_show_their_order() const;

    std::vector<std::string_view> levels_;  ///< the lines of each n
    bool is_ordered_ = true;
};

}  // namespace quern::python
