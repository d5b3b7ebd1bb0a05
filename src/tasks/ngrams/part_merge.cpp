// SPDX-License-Identifier: Apache-2.0
#include "tasks/ngrams/part_merge.hpp"

#include <array>
#include <memory>
#include <span>
#include <utility>

#include "base/checked_varint.hpp"
#include "base/varint.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/paced_checks.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

/// An n-gram of a list. `key`: its first two words, or one.
struct keyed_ngram {
    std::uint64_t key, position, count;
};

/// What all lists of one length have in common.
struct ngram_order {
    const std::uint32_t* words;  ///< of the corpus
    unsigned n;

    std::uint64_t key_of(std::uint64_t position) const {
        const std::uint32_t* const at = words + position;
        return std::uint64_t{at[0]} << 32 | (n > 1 ? at[1] : 0);
    }
    keyed_ngram at(std::uint64_t position, std::uint64_t count = 0) const {
        return {key_of(position), position, count};
    }
    /// By their first `length` words.
    bool is_before(const keyed_ngram& a, const keyed_ngram& b, unsigned length) const {
        if (length == 1) return a.key >> 32 < b.key >> 32;
        if (a.key != b.key) return a.key < b.key;
        return length > 2 &&
               std::lexicographical_compare(words + a.position + 2, words + a.position + length,
                                            words + b.position + 2, words + b.position + length);
    }
    bool are_equal(const keyed_ngram& a, const keyed_ngram& b, unsigned length) const {
        if (length == 1) return a.key >> 32 == b.key >> 32;
        if (a.key != b.key) return false;
        const std::uint32_t *const of_a = words + a.position, *const of_b = words + b.position;
        for (unsigned i = 2; i < length; ++i)  // few: a call of memcmp takes longer
            if (of_a[i] != of_b[i]) return false;
        return true;
    }
    void fetch(std::uint64_t position) const {
        __builtin_prefetch(words + position);
        __builtin_prefetch(words + position + n - 1);
    }
};

/// Cuts the order of n-grams by their first `length` words: none before the first range, and after the last.
struct range_bounds {
    const keyed_ngram *begin = nullptr, *end = nullptr;
    unsigned length = 1;
};

/// The n-grams of one length that a task counted. Thread-safe.
class counted_list {
  public:
    counted_list(const counted_part& part, const counted_part::list& list, const ngram_order& order)
        : file_(list.file, io::mapped_file::access::sequential),
          places_(part.places),
          blocks_(list.blocks),
          order_(order) {
        if (file_.size() != blocks_.back()) refuse_counts(list.file, "has another size than its blocks");
    }
    std::uint64_t blocks() const { return blocks_.size() - 1; }
    keyed_ngram first_of(std::uint64_t block) const {
        std::size_t at = begin_of(block);
        keyed_ngram ngram{};
        read(at, ngram);
        ngram.key = order_.key_of(ngram.position);
        return ngram;
    }
    /// The last block that may have n-grams from `begin` on, with none of them before it.
    std::uint64_t block_before(const keyed_ngram& begin, unsigned length) const {
        std::uint64_t low = 0, high = blocks();
        while (low < high) {
            const std::uint64_t middle = low + (high - low) / 2;
            order_.is_before(first_of(middle), begin, length) ? low = middle + 1 : high = middle;
        }
        return low == 0 ? 0 : low - 1;
    }
    std::size_t begin_of(std::uint64_t block) const { return blocks_[block]; }
    bool is_end(std::size_t at) const { return at == file_.size(); }
    /// The n-gram at byte `at`, which moves past it; without a key.
    void read(std::size_t& at, keyed_ngram& ngram) const {
        constexpr std::size_t longest = 2 * 10;
        std::uint64_t position = 0;
        if (file_.size() - at > longest) {
            const char* p = file_.text().data() + at;
            position = read_varint(p);
            ngram.count = read_varint(p);
            at = static_cast<std::size_t>(p - file_.text().data());
        } else if (!read_checked_varint(file_.text(), at, position) ||
                   !read_checked_varint(file_.text(), at, ngram.count)) {
            refuse_counts(file_.path(), "ends early");
        }
        if (!places_.find(position, order_.n, ngram.position))
            refuse_counts(file_.path(), "has words of two texts as one");
    }
    const ngram_order& order() const { return order_; }

  private:
    io::mapped_file file_;
    const word_places& places_;
    std::span<const std::uint64_t> blocks_;
    const ngram_order& order_;
};

/// The n-grams of a list in a range. Their words are fetched while others are decoded.
class list_in_range {
  public:
    list_in_range(const counted_list& list, const range_bounds& range, paced_checks& checks)
        : list_(list), range_(range), checks_(checks) {
        if (list.blocks() == 0) return;
        byte_ = list.begin_of(range.begin == nullptr ? 0 : list.block_before(*range.begin, range.length));
        is_over_ = false;
        while (next() && range.begin != nullptr &&
               list.order().is_before(now(), *range.begin, range.length)) {
        }
    }
    bool is_at_end() const { return filled_ == 0; }
    const keyed_ngram& now() const { return batch_[at_]; }
    /// False after the last.
    bool next() {
        if (++at_ < filled_) return true;
        fill();
        return filled_ != 0;
    }

  private:
    void fill() {
        const ngram_order& order = list_.order();
        std::size_t count = 0;
        at_ = filled_ = 0;
        if (is_over_) return;
        for (; count < batch_.size() && !list_.is_end(byte_); ++count) {
            list_.read(byte_, batch_[count]);
            order.fetch(batch_[count].position);
        }
        is_over_ = list_.is_end(byte_);
        checks_.after(count);
        for (; filled_ < count; ++filled_) {
            keyed_ngram& ngram = batch_[filled_];
            ngram.key = order.key_of(ngram.position);
            if (range_.end != nullptr && !order.is_before(ngram, *range_.end, range_.length)) {
                is_over_ = true;
                return;
            }
        }
    }

    const counted_list& list_;
    range_bounds range_;
    paced_checks& checks_;
    std::size_t byte_ = 0, at_ = 0, filled_ = 0;
    bool is_over_ = true;
    std::array<keyed_ngram, 64> batch_{};
};

/// A range of the n-grams of one length, merged.
struct merged_range {
    std::vector<counted_ngram> ngrams;
    std::vector<std::uint64_t> histories;
};

class length_merge {
  public:
    /// `words_in_all`: of the collection, the history count of single words.
    length_merge(const std::vector<counted_part>& parts, std::size_t length, unsigned n,
                 const ngram_corpus& corpus, const ngram_options& options, std::uint64_t words_in_all)
        : order_{corpus.words.span().data(), n},
          cut_length_(options.history_counts && n > 1 ? n - 1 : n),
          min_count_(options.min_count),
          has_histories_(options.history_counts),
          words_in_all_(words_in_all) {
        lists_.reserve(parts.size());
        for (const counted_part& part : parts) lists_.emplace_back(part, part.lists[length], order_);
    }
    unsigned n() const { return order_.n; }
    std::uint64_t blocks() const {
        std::uint64_t sum = 0;
        for (const counted_list& list : lists_) sum += list.blocks();
        return sum;
    }

    /// Into ranges of about `blocks` blocks. N-grams with the same history stay together if their counts are summed.
    void cut(std::uint64_t blocks) {
        constexpr std::uint64_t samples_of_range = 16;
        const std::uint64_t step = std::max<std::uint64_t>(blocks / samples_of_range, 1);
        std::vector<keyed_ngram> samples;
        for (std::size_t i = 0; i < lists_.size(); ++i)  // lists with the same n-grams give others
            for (std::uint64_t b = step * i / lists_.size(); b < lists_[i].blocks(); b += step)
                samples.push_back(lists_[i].first_of(b));
        std::ranges::sort(samples, [&](const keyed_ngram& a, const keyed_ngram& b) {
            return order_.is_before(a, b, cut_length_);
        });
        const std::uint64_t apart = std::max<std::uint64_t>(blocks / step, 1);
        for (std::uint64_t s = apart; s < samples.size(); s += apart)
            if (cuts_.empty() || order_.is_before(cuts_.back(), samples[s], cut_length_))
                cuts_.push_back(samples[s]);
    }
    std::size_t ranges() const { return cuts_.size() + 1; }

    merged_range merge(std::size_t range, const context& ctx) const {
        const range_bounds bounds{range == 0 ? nullptr : &cuts_[range - 1],
                                  range == cuts_.size() ? nullptr : &cuts_[range], cut_length_};
        paced_checks checks(ctx, scattered_values);
        std::vector<list_in_range> lists;
        lists.reserve(lists_.size());
        for (const counted_list& list : lists_) {
            lists.emplace_back(list, bounds, checks);
            if (lists.back().is_at_end()) lists.pop_back();
        }
        merged_range to;
        std::size_t history = 0;  // where the n-grams with the history of the last one begin
        for_each_merged(lists, [&](const keyed_ngram& ngram) {
            if (has_histories_ && n() > 1 && history < to.ngrams.size() &&
                !order_.are_equal(order_.at(to.ngrams[history].position), ngram, n() - 1))
                history = end_history(to, history);
            if (ngram.count >= min_count_ || (has_histories_ && n() > 1))
                to.ngrams.push_back({ngram.position, ngram.count});
        });
        if (has_histories_ && n() > 1) end_history(to, history);
        if (has_histories_ && n() == 1) to.histories.assign(to.ngrams.size(), words_in_all_);
        to.ngrams.shrink_to_fit();
        to.histories.shrink_to_fit();
        return to;
    }

  private:
    /// A list and its n-gram.
    struct head {
        keyed_ngram ngram;
        list_in_range* list;
    };

    /// Calls take(n-gram, with the sum of the counts) in order. Equal ones have the position in the first list.
    template <class Take>
    void for_each_merged(std::vector<list_in_range>& lists, const Take& take) const {
        std::vector<head> heap;  // the least on top
        heap.reserve(lists.size());
        for (list_in_range& list : lists) heap.push_back({list.now(), &list});
        for (std::size_t i = heap.size() / 2; i-- > 0;) sift(heap, i);
        const auto advance = [&] {
            head& top = heap.front();
            if (top.list->next()) {
                top.ngram = top.list->now();
            } else {
                top = heap.back();
                heap.pop_back();
            }
            if (!heap.empty()) sift(heap, 0);
        };
        while (!heap.empty()) {
            keyed_ngram merged = heap.front().ngram;
            for (advance(); !heap.empty() && order_.are_equal(heap.front().ngram, merged, n()); advance())
                merged.count += heap.front().ngram.count;
            take(merged);
        }
    }
    bool is_before(const head& a, const head& b) const {
        if (a.ngram.key != b.ngram.key) return a.ngram.key < b.ngram.key;
        const std::uint32_t *const of_a = order_.words + a.ngram.position, *const of_b = order_.words +
                                                                                         b.ngram.position;
        for (unsigned i = 2; i < n(); ++i)
            if (of_a[i] != of_b[i]) return of_a[i] < of_b[i];
        return a.list < b.list;
    }
    /// Moves the element at `at` down to where it belongs.
    void sift(std::vector<head>& heap, std::size_t at) const {
        const head moved = heap[at];
        for (std::size_t child = 2 * at + 1; child < heap.size(); child = 2 * at + 1) {
            if (child + 1 < heap.size() && is_before(heap[child + 1], heap[child])) ++child;
            if (is_before(moved, heap[child])) break;
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = moved;
    }

    /// The n-grams from `begin` on have the words before the last in common, which occur together as often as they are followed by
    /// a word. Returns the end of those kept.
    std::size_t end_history(merged_range& of, std::size_t begin) const {
        std::uint64_t history = 0;
        for (std::size_t i = begin; i < of.ngrams.size(); ++i) history += of.ngrams[i].count;
        const auto some = of.ngrams.begin() + static_cast<std::ptrdiff_t>(begin);
        of.ngrams.erase(std::remove_if(some, of.ngrams.end(),
                                       [&](const counted_ngram& ngram) { return ngram.count < min_count_; }),
                        of.ngrams.end());
        of.histories.resize(of.ngrams.size(), history);
        return of.ngrams.size();
    }

    ngram_order order_;
    unsigned cut_length_;
    std::uint64_t min_count_;
    bool has_histories_;
    std::uint64_t words_in_all_;
    std::vector<counted_list> lists_;
    std::vector<keyed_ngram> cuts_;
};

/// Blocks of a range, so that the ranges in work take a part of the memory, and threads find enough of them.
std::uint64_t blocks_of_range(const std::vector<counted_part>& parts, std::uint64_t slots,
                              const context& ctx) {
    constexpr std::uint64_t bytes = ngrams_of_block * (sizeof(counted_ngram) + sizeof(std::uint64_t)),
                            usual = 128, blocks_of_list = 2;
    std::uint64_t all = 0;
    for (const counted_part& part : parts)
        for (const counted_part::list& list : part.lists) all += list.blocks.size() - 1;
    const std::uint64_t fit = std::max<std::uint64_t>(ctx.memory_limit() / 16 / slots / bytes, 8),
                        most = std::min(fit, std::max<std::uint64_t>(usual, blocks_of_list * parts.size()));
    return std::clamp<std::uint64_t>(all / (8 * slots), 8, most);
}

}  // namespace

void refuse_counts(const std::filesystem::path& file, const std::string& why) {
    throw damaged_store(file.string(), "counts of n-grams", why);
}

void merge_lists(const std::vector<counted_part>& parts, const ngram_corpus& corpus,
                 const ngram_options& options, const context& ctx, std::vector<ngram_totals>& totals,
                 collection_counts& counts) {
    const std::size_t slots = std::size_t{ctx.thread_count()} + 2;
    const std::uint64_t blocks = blocks_of_range(parts, slots, ctx);
    struct range_in_work {
        std::shared_ptr<const length_merge> of;
        std::size_t length = 0, range = 0;
        merged_range merged;
    };
    std::shared_ptr<length_merge> now;
    std::size_t length = 0, range = 0;
    pipeline<range_in_work> line(slots);
    line.from([&](range_in_work& work) {
        ctx.check_stop();
        if (now != nullptr && range == now->ranges()) {
            now = nullptr;
            range = 0;
            ++length;
        }
        if (length == totals.size()) return false;
        if (now == nullptr) {
            now = std::make_shared<length_merge>(parts, length, totals[length].n, corpus, options,
                                                 totals.front().occurrences);
            now->cut(blocks);
        }
        work.of = now;
        work.length = length;
        work.range = range++;
        return true;
    });
    line.in_parallel([&](range_in_work& work) { work.merged = work.of->merge(work.range, ctx); });
    line.in_order([&](range_in_work& work) {
        totals[work.length].distinct += work.merged.ngrams.size();
        if (!work.merged.ngrams.empty())
            counts.add(work.of->n(), std::move(work.merged.ngrams), std::move(work.merged.histories));
    });
    run_in_arena(ctx, [&] { line.run(); });
}

}  // namespace quern
