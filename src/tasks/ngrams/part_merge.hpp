// SPDX-License-Identifier: Apache-2.0
// The merge of the n-grams that tasks counted, by all threads. The lists of the tasks are sorted and have the beginnings of
// their blocks: n-grams that begin blocks cut the order into ranges of almost equal size, each thread merges the lists
// within one range after the other, and the ranges are kept in their order. N-grams are compared by the ids of their
// words, the first two of which are one number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/ngram_likelihood.hpp"
#include "tasks/ngrams/collection_counts.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"

namespace quern {

/// Where the words of a task lie in those of the corpus.
class word_places {
  public:
    void add(std::uint64_t begin, std::uint64_t length) {
        if (!begins_.empty() && begins_.back() + (size_ - firsts_.back()) == begin) {
            size_ += length;
            return;
        }
        firsts_.push_back(size_);
        begins_.push_back(begin);
        size_ += length;
    }
    std::uint64_t size() const { return size_; }

    /// Of `n` words from `position` on; false if they do not follow each other.
    bool find(std::uint64_t position, unsigned n, std::uint64_t& found) const {
        if (position >= size_ || n > size_ - position) return false;
        const auto after = std::ranges::upper_bound(firsts_, position);
        if (after != firsts_.end() && position + n > *after) return false;
        const auto at = static_cast<std::size_t>(after - firsts_.begin()) - 1;
        found = begins_[at] + (position - firsts_[at]);
        return true;
    }

  private:
    std::vector<std::uint64_t> firsts_,
        begins_;  ///< of segments: in the words of the task, and of the corpus
    std::uint64_t size_ = 0;
};

/// The counts of one task.
struct counted_part {
    /// Of one length: the file, and where in it blocks of n-grams begin, and the end.
    struct list {
        std::filesystem::path file;
        std::vector<std::uint64_t> blocks;
    };
    std::uint64_t documents = 0;  ///< of its inputs, without words of other tasks
    word_places places;
    std::vector<ngram_totals> totals;
    std::vector<list> lists;  ///< of the same lengths
};
/// N-grams of a block: its first one is found without the others.
inline constexpr std::uint64_t ngrams_of_block = 1024;

[[noreturn]] void refuse_counts(const std::filesystem::path& file, const std::string& why);

/// Merges the lists of all `parts`, which have the lengths of `totals`, into `counts`, and sets the numbers of distinct n-grams. Throws
/// damaged_store, io_error, interrupted.
void merge_lists(const std::vector<counted_part>& parts, const ngram_corpus& corpus,
                 const ngram_options& options, const context& ctx, std::vector<ngram_totals>& totals,
                 collection_counts& counts);

}  // namespace quern
