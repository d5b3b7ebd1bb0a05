// SPDX-License-Identifier: Apache-2.0
// Each length is merged by itself, several at once: a heap of the tasks' lists, which are sorted. Words are compared in the words of
// the corpus, fetched while a batch of n-grams is decoded.
#include "tasks/ngrams/part_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/checked_varint.hpp"
#include "base/varint.hpp"
#include "device/cpu/parallel.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

std::string name_of_counts(unsigned n) {
    return fmt::format("ngrams-{}", n);
}

[[noreturn]] void refuse_other_words(const fs::path& job) {
    throw usage_error(
        job.string() +
        ": the tasks counted other documents than the corpus has now (a folder was changed, or --memory of a "
        "worker was too small for a document); make a plan in another folder");
}

/// A result of a task.
class number_file {
  public:
    explicit number_file(const fs::path& file) : file_(file, io::mapped_file::access::sequential) {}
    bool is_at_end() const { return at_ == file_.size(); }
    std::uint64_t next() {
        std::uint64_t value = 0;
        if (!read_checked_varint(file_.text(), at_, value)) refuse("ends early");
        return value;
    }
    [[noreturn]] void refuse(const std::string& why) const {
        throw damaged_store(file_.path().string(), "counts of n-grams", why);
    }

  private:
    io::mapped_file file_;
    std::size_t at_ = 0;
};

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
    std::uint32_t task = 0;
    std::uint64_t documents = 0;  ///< of its inputs, without words of other tasks
    word_places places;
    std::vector<ngram_totals> totals;
};

/// Reads `words` of a task whose inputs begin with document `first`.
counted_part read_part(const fs::path& job, std::uint32_t task, std::uint64_t first,
                       const ngram_corpus& corpus) {
    number_file file(file_of_result(job, task, "words"));
    counted_part part;
    part.task = task;
    part.documents = file.next();
    if (part.documents > corpus.document_count() - first) refuse_other_words(job);
    std::uint64_t document = 0;
    for (std::uint64_t left = file.next(); left != 0; --left) {
        document += file.next();
        const std::uint64_t begin = file.next(), length = file.next();
        if (document >= part.documents) file.refuse("has words of a document that the task does not have");
        const std::uint64_t of_document = corpus.documents[first + document],
                            words = corpus.documents[first + document + 1] - of_document;
        if (begin > words || length > words - begin) refuse_other_words(job);
        part.places.add(of_document + begin, length);
    }
    while (!file.is_at_end()) {
        ngram_totals& of = part.totals.emplace_back();
        of.n = static_cast<unsigned>(file.next());
        of.occurrences = file.next();
        of.with_unknown = file.next();
    }
    return part;
}

/// Throws usage_error unless the tasks have each word of the corpus once.
std::vector<counted_part> read_parts(const fs::path& job, const ngram_corpus& corpus) {
    const job_plan plan = read_plan(job);
    std::vector<counted_part> parts;
    std::uint64_t first = 0, end = 0, words = 0;
    for (std::uint32_t task = 0; task < plan.tasks.size(); ++task) {
        const bool begins_inputs = plan.tasks[task].number("part") == 0;
        if (begins_inputs) {
            if (words != corpus.documents[end]) refuse_other_words(job);
            first = end;
        }
        parts.push_back(read_part(job, task, first, corpus));
        if (!begins_inputs && first + parts.back().documents != end) refuse_other_words(job);
        end = first + parts.back().documents;
        words += parts.back().places.size();
    }
    if (end != corpus.document_count() || words != corpus.words.size()) refuse_other_words(job);
    return parts;
}

/// The n-grams of one length that a task counted.
class counted_list {
  public:
    counted_list(const fs::path& job, const counted_part& part, unsigned n, const ngram_corpus& corpus)
        : file_(file_of_result(job, part.task, name_of_counts(n))),
          places_(part.places),
          n_(n),
          words_(corpus.words.span().data()) {}

    /// False after the last.
    bool next() {
        if (++at_ < filled_) return true;
        at_ = filled_ = 0;
        while (filled_ < batch_.size() && !file_.is_at_end()) {
            counted_ngram& of = batch_[filled_++];
            if (!places_.find(file_.next(), n_, of.position)) file_.refuse("has words of two texts as one");
            of.count = file_.next();
            __builtin_prefetch(words_ + of.position);
        }
        return filled_ != 0;
    }
    const counted_ngram& now() const { return batch_[at_]; }
    std::span<const std::uint32_t> words() const { return {words_ + now().position, n_}; }

  private:
    number_file file_;
    const word_places& places_;
    unsigned n_;
    const std::uint32_t* words_;
    std::array<counted_ngram, 64> batch_{};
    std::size_t at_ = 0, filled_ = 0;
};

/// Merges the lists of one length.
class merge_of_length {
  public:
    using sink = std::function<void(const collection_ngrams&)>;

    /// `history_of_words`: how many words there are, in all; with history counts.
    merge_of_length(unsigned n, const ngram_options& options, std::uint64_t history_of_words,
                    const ngram_corpus& corpus, const sink& take)
        : n_(n),
          min_count_(options.min_count),
          has_histories_(options.history_counts),
          history_of_words_(history_of_words),
          words_(corpus.words.span().data()),
          take_(take) {}

    /// Returns the number of distinct n-grams.
    std::uint64_t run(std::vector<counted_list>& lists, const context& ctx) {
        std::vector<counted_list*> heap;  // the least on top
        for (counted_list& list : lists)
            if (list.next()) heap.push_back(&list);
        const auto is_after = [](const counted_list* a, const counted_list* b) {
            return std::ranges::lexicographical_compare(b->words(), a->words());
        };
        std::ranges::make_heap(heap, is_after);
        while (!heap.empty()) {
            counted_ngram merged = heap.front()->now();
            const std::span<const std::uint32_t> words = heap.front()->words();
            for (bool is_first = true; !heap.empty() && std::ranges::equal(heap.front()->words(), words);
                 is_first = false) {
                if (!is_first) merged.count += heap.front()->now().count;
                std::ranges::pop_heap(heap, is_after);
                if (heap.back()->next())
                    std::ranges::push_heap(heap, is_after);
                else
                    heap.pop_back();
            }
            if (steps_++ % 4096 == 0) ctx.check_stop();
            add(merged);
        }
        end_history();
        flush();
        return distinct_;
    }

  private:
    void add(const counted_ngram& ngram) {
        const bool is_another = !same_history_.empty() && n_ > 1 &&
                                !std::equal(words_ + ngram.position, words_ + ngram.position + (n_ - 1),
                                            words_ + same_history_.front().position);
        if (is_another) end_history();
        if (has_histories_ && n_ > 1) {
            same_history_.push_back(ngram);
            history_ += ngram.count;
            return;
        }
        keep(ngram, history_of_words_);
    }
    /// The n-grams with the words before the last in common occur together as often as these are followed by a word.
    void end_history() {
        for (const counted_ngram& ngram : same_history_) keep(ngram, history_);
        same_history_.clear();
        history_ = 0;
    }
    void keep(const counted_ngram& ngram, std::uint64_t history) {
        if (ngram.count < min_count_) return;
        ++distinct_;
        positions_.push_back(ngram.position);
        counts_.push_back(ngram.count);
        if (has_histories_) histories_.push_back(history);
        constexpr std::size_t block = std::size_t{1} << 14;
        if (positions_.size() == block) flush();
    }
    void flush() {
        if (!positions_.empty()) take_({n_, positions_, counts_, histories_});
        positions_.clear();
        counts_.clear();
        histories_.clear();
    }

    unsigned n_;
    std::uint64_t min_count_;
    bool has_histories_;
    std::uint64_t history_of_words_;
    const std::uint32_t* words_;
    const sink& take_;
    std::uint64_t distinct_ = 0, steps_ = 0, history_ = 0;
    std::vector<counted_ngram> same_history_;
    std::vector<std::uint64_t> positions_, counts_, histories_;
};

}  // namespace

void write_part_counts(const ngram_corpus& part, collection_counts& counts,
                       std::span<const ngram_totals> totals, task_results& results, const context& ctx) {
    constexpr std::size_t flushed_bytes = std::size_t{1} << 20;
    std::string bytes;
    const auto flush = [&](std::size_t least) {
        if (bytes.size() < least) return;
        results.append(bytes);
        bytes.clear();
    };
    results.begin("words");
    append_varint(bytes, part.document_count());
    append_varint(bytes, part.segments.size());
    std::uint64_t before = 0;
    for (const words_in_document& of : part.segments) {
        append_varint(bytes, of.document - before);
        append_varint(bytes, of.begin);
        append_varint(bytes, of.length);
        before = of.document;
        flush(flushed_bytes);
    }
    for (const ngram_totals& of : totals)
        for (const std::uint64_t number : {std::uint64_t{of.n}, of.occurrences, of.with_unknown})
            append_varint(bytes, number);
    flush(0);
    for (const ngram_totals& of : totals) {
        results.begin(name_of_counts(of.n));
        counts.of(of.n).for_each([&](std::span<const counted_ngram> some) {
            ctx.check_stop();
            for (const counted_ngram& ngram : some) {
                append_varint(bytes, ngram.position);
                append_varint(bytes, ngram.count);
                flush(flushed_bytes);
            }
        });
        flush(0);
    }
}

std::vector<ngram_totals> merge_part_counts(const fs::path& job, const ngram_corpus& corpus,
                                            const ngram_options& options, const context& ctx,
                                            const std::function<void(const collection_ngrams&)>& sink) {
    const std::vector<counted_part> parts = read_parts(job, corpus);
    std::vector<ngram_totals> totals;
    for (unsigned n = options.only ? options.order : 1; n <= options.order; ++n) totals.push_back({.n = n});
    for (const counted_part& part : parts) {
        if (!std::ranges::equal(part.totals, totals, {}, &ngram_totals::n, &ngram_totals::n))
            throw damaged_store(file_of_result(job, part.task, "words").string(), "counts of n-grams",
                                "has other lengths of n-grams");
        for (std::size_t t = 0; t < totals.size(); ++t) {
            totals[t].occurrences += part.totals[t].occurrences;
            totals[t].with_unknown += part.totals[t].with_unknown;
        }
    }
    std::mutex one_at_a_time;
    const std::function<void(const collection_ngrams&)> take = [&](const collection_ngrams& block) {
        const std::lock_guard lock(one_at_a_time);
        sink(block);
    };
    cpu_place place(ctx);
    for_each_piece(place, totals.size(), [&](std::size_t t) {
        const unsigned n = totals[totals.size() - 1 - t].n;  // the longest take longest
        std::vector<counted_list> lists;
        lists.reserve(parts.size());
        for (const counted_part& part : parts) lists.emplace_back(job, part, n, corpus);
        merge_of_length merge(n, options, totals.front().occurrences, corpus, take);
        totals[totals.size() - 1 - t].distinct = merge.run(lists, ctx);
    });
    return totals;
}

}  // namespace quern
