// SPDX-License-Identifier: Apache-2.0
#include "tasks/ngrams/part_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "base/varint.hpp"
#include "quern/base/error.hpp"
#include "tasks/ngrams/number_file.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t words_of_block = std::size_t{1} << 17;

/// Calls take(ids of words) for all words of a part.
template <class Take>
void for_each_block(const ngram_corpus& part, const context& ctx, const Take& take) {
    std::vector<std::uint32_t> some;
    for (std::uint64_t first = 0; first < part.words.size(); first += some.size()) {
        ctx.check_stop();
        some.resize(std::min<std::uint64_t>(words_of_block, part.words.size() - first));
        part.words.read(first, some);
        take(std::span<const std::uint32_t>(some));
    }
}

/// Ids by falling number of occurrences, so that most words have a short number.
scratch_table<std::uint32_t> ids_by_frequency(const ngram_corpus& part, scratch_folder& scratch,
                                              table_share& share, const context& ctx) {
    const scratch_table<std::uint64_t> counts(share, scratch, "word_counts", part.vocabulary);
    std::ranges::fill(counts.span(), 0);
    for_each_block(part, ctx, [&](std::span<const std::uint32_t> ids) {
        for (const std::uint32_t id : ids) ++counts[id];
    });
    scratch_table<std::uint32_t> ids(share, scratch, "words_by_count", part.vocabulary);
    std::iota(ids.span().begin(), ids.span().end(), 0u);
    std::ranges::sort(ids.span(), [&](std::uint32_t a, std::uint32_t b) {
        return counts[a] != counts[b] ? counts[a] > counts[b] : a < b;
    });
    return ids;
}

}  // namespace

void write_part_words(const ngram_corpus& part, scratch_folder& scratch, table_share& share,
                      task_results& results, const context& ctx) {
    const scratch_table<std::uint32_t> ids = ids_by_frequency(part, scratch, share, ctx);
    std::string bytes;
    const auto flush = [&](std::size_t least) {
        if (bytes.size() < least) return;
        results.append(bytes);
        bytes.clear();
    };
    results.begin("vocabulary");
    append_varint(bytes, ids.size());
    for (const std::uint32_t id : ids.span()) {
        const std::string_view word = part.word(id);
        append_varint(bytes, word.size());
        bytes += word;
        flush(std::size_t{1} << 20);
    }
    flush(0);
    const scratch_table<std::uint32_t> number_of(share, scratch, "numbers_of_words", ids.size());
    for (std::uint32_t number = 0; number < ids.size(); ++number) number_of[ids[number]] = number;
    results.begin("ids");
    for_each_block(part, ctx, [&](std::span<const std::uint32_t> some) {
        for (const std::uint32_t id : some) append_varint(bytes, number_of[id]);
        flush(0);
    });
}

void refuse_other_words(const fs::path& job) {
    throw usage_error(
        job.string() +
        ": the tasks counted other documents than the corpus has now (a folder was changed, or --memory of a "
        "worker was too small for a document); make a plan in another folder");
}

/// The words of one task, segment by segment.
class words_of_job::part {
  public:
    part(const request& of, std::uint32_t task)
        : segments_(file_of_result(of.job, task, "words")), ids_(file_of_result(of.job, task, "ids")) {
        documents = segments_.next();
        skipped_marks = segments_.next();
        segments_left_ = segments_.next();
        read_vocabulary(of, task);
        next_segment();
    }

    std::uint64_t documents = 0, skipped_marks = 0;
    words_in_document segment;  ///< unless is_at_end()

    bool is_at_end() const { return is_at_end_; }
    void next_segment() {
        if (segments_left_ == 0) {
            is_at_end_ = true;
            if (!ids_.is_at_end()) ids_.refuse("has more words than the documents");
            return;
        }
        --segments_left_;
        segment.document += segments_.next();
        segment.begin = segments_.next();
        segment.length = segments_.next();
    }

    /// The next `count` words of the segment.
    void append_words(std::uint64_t count, bool has_marks, words_block& to) {
        for (; count != 0; --count) {
            const std::uint64_t id = ids_.next();
            if (id >= numbers_.size()) ids_.refuse("has words that the vocabulary does not have");
            to.numbers.push_back(numbers_[id]);
            if (!has_marks) continue;
            if (id == begin_mark_)
                end_sentence(to);
            else if (sentence_ == 0)
                ids_.refuse("has words before a sentence");
            ++sentence_;
        }
    }
    void end_sentence(words_block& to) {
        if (sentence_ > std::numeric_limits<std::uint32_t>::max())
            ids_.refuse("has a sentence that is too long");
        if (sentence_ != 0) to.sentence_lengths.push_back(static_cast<std::uint32_t>(sentence_));
        sentence_ = 0;
    }

  private:
    void read_vocabulary(const request& of, std::uint32_t task) {
        constexpr std::uint64_t words_at_once = std::uint64_t{1} << 16;
        number_file file(file_of_result(of.job, task, "vocabulary"));
        const std::uint64_t count = file.next();
        if (count > file.left()) file.refuse("ends early");
        numbers_ = {of.share, of.scratch, fmt::format("words_of_task_{}", task), count};
        std::vector<std::uint32_t> numbers;
        for (std::uint64_t first = 0; first < count; first += words_at_once) {
            of.ctx.check_stop();
            word_count_table words;
            const std::uint64_t some = std::min(words_at_once, count - first);
            for (std::uint64_t i = 0; i < some; ++i) {
                const std::string_view word = file.bytes(file.next());
                if (words.add(word) != i) file.refuse("has a word twice");
                if (of.has_marks && word == begin_mark_word) begin_mark_ = first + i;
            }
            of.ranks.add(words, numbers);
            std::ranges::copy(numbers, numbers_.span().data() + first);
        }
        if (!file.is_at_end()) file.refuse("has more words than it says");
    }

    number_file segments_, ids_;
    std::uint64_t segments_left_ = 0, sentence_ = 0;
    std::uint64_t begin_mark_ = std::numeric_limits<std::uint64_t>::max();
    bool is_at_end_ = false;
    scratch_table<std::uint32_t> numbers_;
};

std::uint64_t words_of_job::read() {
    const job_plan plan = read_plan(of_.job);
    for (std::uint32_t task = 0; task < plan.tasks.size();) {
        std::uint32_t end = task + 1;
        while (end < plan.tasks.size() && plan.tasks[end].number("part") != 0) ++end;
        read_input(task, end);
        task = end;
    }
    if (documents_ != of_.documents) refuse_other_words(of_.job);
    flush_if(true);
    return skipped_marks_;
}

/// Of the tasks that share it.
void words_of_job::read_input(std::uint32_t first, std::uint32_t end) {
    std::vector<std::unique_ptr<part>> parts;
    for (std::uint32_t task = first; task < end; ++task) {
        parts.push_back(std::make_unique<part>(of_, task));
        if (parts.back()->documents != parts.front()->documents) refuse_other_words(of_.job);
        skipped_marks_ += parts.back()->skipped_marks;
    }
    const std::uint64_t documents = parts.front()->documents;
    if (documents > of_.documents - documents_) refuse_other_words(of_.job);
    documents_ += documents;

    const auto is_later = [](const std::unique_ptr<part>& a, const std::unique_ptr<part>& b) {
        return std::tie(a->segment.document, a->segment.begin) >
               std::tie(b->segment.document, b->segment.begin);
    };
    std::erase_if(parts, [](const std::unique_ptr<part>& each) { return each->is_at_end(); });
    std::ranges::make_heap(parts, is_later);
    for (std::uint64_t document = 0; document < documents; ++document) {
        std::uint64_t words = 0;
        while (!parts.empty() && parts.front()->segment.document == document) {
            std::ranges::pop_heap(parts, is_later);
            part& next = *parts.back();
            if (next.segment.begin != words) refuse_other_words(of_.job);
            words += next.segment.length;
            take_segment(next);
            next.next_segment();
            if (next.is_at_end())
                parts.pop_back();
            else
                std::ranges::push_heap(parts, is_later);
        }
        block_.lengths.push_back(words);
        flush_if(block_.lengths.size() == words_of_block);
    }
    if (!parts.empty()) refuse_other_words(of_.job);
}

void words_of_job::take_segment(part& from) {
    for (std::uint64_t left = from.segment.length; left != 0;) {
        const std::uint64_t some = std::min<std::uint64_t>(left, words_of_block - block_.numbers.size());
        from.append_words(some, of_.has_marks, block_);
        left -= some;
        flush_if(block_.numbers.size() == words_of_block);
    }
    from.end_sentence(block_);
}

void words_of_job::flush_if(bool is_full) {
    if (!is_full) return;
    of_.ctx.check_stop();
    take_(block_);
    block_ = {};
    block_.numbers.reserve(words_of_block);
}

}  // namespace quern
