// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_merge/merged_words.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/prefix_key.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/cpu/threads.hpp"
#include "io/store/section.hpp"
#include "ops/search/indexing/index_runs.hpp"
#include "ops/search/postings.hpp"
#include "text/dictionary.hpp"

namespace quern {
namespace {

using search_detail::merged_range;
using search_detail::postings_cursor;
using search_detail::postings_writer;
using search_detail::word_range;

/// The words of one store.
struct source_words {
    source_words(const opened_store& store, const store_layout::word_index_names& names,
                 const document_numbers& its_numbers)
        : index(store.path(), store.info(), names),
          posting_ends(store_layout::open_section(store.path(), store.info(), names.posting_ends)),
          lengths(store.collection().document_lengths),
          weight_exponent(store.info().weight_exponent),
          numbers(its_numbers) {}

    const text::dictionary_view& dictionary() const { return index.dictionary(); }
    /// The first word that is not less.
    std::uint32_t lower_bound(std::string_view word) const { return dictionary().with_prefix(word).first; }
    /// A measure of the work up to the end of a word: bytes of postings, and what a word costs.
    std::uint64_t work_up_to(std::uint32_t word) const {
        constexpr std::uint64_t a_word = 32;
        return posting_ends.value<std::uint64_t>(std::uint64_t{word} * 8) +
               a_word * (std::uint64_t{word} + 1);
    }
    std::uint64_t work() const { return dictionary().size() == 0 ? 0 : work_up_to(dictionary().size() - 1); }

    word_index index;
    io::section_view posting_ends;
    std::span<const std::uint32_t> lengths;
    int weight_exponent;
    const document_numbers& numbers;
};

/// Words that cut all stores' words into ranges of about equal work.
std::vector<word_range> cut_words(const std::vector<source_words>& sources, std::uint64_t work_of_range) {
    const std::uint64_t step = std::max<std::uint64_t>(work_of_range / (2 * sources.size()), 4 << 10);
    std::vector<std::string> samples;
    std::uint64_t total = 0;
    for (const source_words& source : sources) {
        const std::uint64_t work = source.work();
        total += work;
        std::uint32_t word = 0;
        for (std::uint64_t wanted = step; wanted < work; wanted += step) {
            std::uint32_t high = source.dictionary().size() - 1;
            while (word < high) {
                const std::uint32_t middle = word + (high - word) / 2;
                if (source.work_up_to(middle) < wanted)
                    word = middle + 1;
                else
                    high = middle;
            }
            samples.push_back(source.dictionary().word(word));
        }
    }
    std::ranges::sort(samples);
    const std::uint64_t parts = total / work_of_range + 1;
    std::vector<word_range> ranges(1);
    for (std::uint64_t part = 1; part < parts && !samples.empty(); ++part) {
        const std::string& cut = samples[samples.size() * part / parts];
        if (cut <= ranges.back().first) continue;
        ranges.back().last = cut;
        ranges.push_back({cut, {}});
    }
    return ranges;
}

/// The words of a store within a range, one after the other.
class word_cursor {
  public:
    word_cursor(const source_words& source, std::size_t store, const word_range& range)
        : source_(&source),
          store_(store),
          first_(range.first.empty() ? 0 : source.lower_bound(range.first)),
          end_(range.last ? source.lower_bound(*range.last) : source.dictionary().size()),
          walker_(source.dictionary(), first_),
          next_(first_) {
        ranks_.assign(end_ - first_, word_numbers::none);
    }

    bool next() {
        if (next_ == end_) return false;
        const auto word = walker_.next();
        if (!word) source_->posting_ends.fail("has more words than the dictionary");
        word_ = *word;
        prefix_ = prefix_key(word_);
        ++next_;
        return true;
    }
    std::string_view word() const { return word_; }
    /// Whether the word (for equal words, the store) comes after the other's: the order of a min-heap.
    static bool after(const word_cursor* a, const word_cursor* b) {
        if (a->prefix_ != b->prefix_) return a->prefix_ > b->prefix_;
        if (const int order = a->word_.compare(b->word_); order != 0) return order > 0;
        return a->store_ > b->store_;
    }
    const source_words& source() const { return *source_; }
    std::uint32_t id() const { return next_ - 1; }
    void set_rank(std::uint32_t rank) { ranks_[id() - first_] = rank; }
    std::uint32_t first() const { return first_; }
    const std::vector<std::uint32_t>& ranks() const { return ranks_; }

  private:
    const source_words* source_;
    std::size_t store_;
    std::uint32_t first_, end_;
    text::dictionary_view::walker walker_;
    std::uint32_t next_;
    std::string_view word_;
    std::uint64_t prefix_ = 0;
    std::vector<std::uint32_t> ranks_;
};

/// The postings of a word in one store, of the documents that stay, one by one.
class kept_postings {
  public:
    kept_postings(const source_words& source, std::uint32_t word)
        : source_(&source), cursor_(source.index.postings(word), source.lengths) {
        settle();
    }
    bool done() const { return cursor_.done(); }
    std::uint32_t document() const { return document_; }  ///< its number in the result
    std::uint32_t frequency() const { return cursor_.frequencies()[at_]; }
    const source_words& source() const { return *source_; }
    void next() {
        ++at_;
        settle();
    }

  private:
    void settle() {
        for (; !cursor_.done(); cursor_.next_block(), at_ = 0) {
            cursor_.decode();
            const auto documents = cursor_.documents();
            for (; at_ < documents.size(); ++at_) {
                document_ = source_->numbers[documents[at_]];
                if (document_ != document_numbers::none) return;
            }
        }
    }

    const source_words* source_;
    postings_cursor cursor_;
    std::size_t at_ = 0;
    std::uint32_t document_ = 0;
};

/// One list of the result: postings of the stores, and documents that are added.
class list_writer {
  public:
    list_writer(postings_writer& writer, std::span<const added_word> added,
                std::optional<int> weight_exponent)
        : writer_(writer), added_(added), weight_exponent_(weight_exponent) {}

    /// All postings of one store, before those of the next.
    void add(const source_words& source, std::uint32_t word) {
        kept_postings postings(source, word);
        add_below(document_numbers::none, postings);
    }
    /// Of several stores, by the numbers of the documents.
    void add(std::vector<kept_postings>& of_stores) {
        for (;;) {
            kept_postings* first = nullptr;
            std::uint32_t end = document_numbers::none;  // the first document of the other stores
            for (kept_postings& postings : of_stores) {
                if (postings.done()) continue;
                if (first == nullptr || postings.document() < first->document()) {
                    if (first != nullptr) end = first->document();
                    first = &postings;
                } else {
                    end = std::min(end, postings.document());
                }
            }
            if (first == nullptr) return;
            add_below(end, *first);
        }
    }
    /// The rest of those that are added.
    void finish() {
        for (; !added_.empty(); added_ = added_.subspan(1)) writer_.add(added_.front().document, 1);
    }

  private:
    void add_below(std::uint32_t end, kept_postings& postings) {
        const source_words& source = postings.source();
        const bool rescaled = weight_exponent_ && *weight_exponent_ != source.weight_exponent;
        for (; !postings.done() && postings.document() < end; postings.next()) {
            add_before(postings.document());
            const std::uint32_t frequency = postings.frequency();
            writer_.add(postings.document(), rescaled ? in_units(frequency, source) : frequency);
        }
    }
    void add_before(std::uint32_t document) {
        for (; !added_.empty() && added_.front().document <= document; added_ = added_.subspan(1))
            if (added_.front().document != document) writer_.add(added_.front().document, 1);
    }
    std::uint32_t in_units(std::uint32_t frequency, const source_words& source) const {
        const float weight = std::ldexp(static_cast<float>(frequency), source.weight_exponent);
        return search_detail::weight_in_units(weight, *weight_exponent_);
    }

    postings_writer& writer_;
    std::span<const added_word> added_;
    std::optional<int> weight_exponent_;
};

struct range_in_work {
    std::size_t number = 0;
    merged_range merged;
    std::vector<word_cursor> cursors;
};

void merge_range(const std::vector<source_words>& sources, bool are_interleaved, const words_to_merge& words,
                 const word_range& range, range_in_work& work) {
    work.cursors.reserve(sources.size());
    std::vector<word_cursor*> heap;
    for (std::size_t store = 0; store < sources.size(); ++store) {
        work.cursors.emplace_back(sources[store], store, range);
        if (work.cursors.back().next()) heap.push_back(&work.cursors.back());
    }
    std::ranges::make_heap(heap, word_cursor::after);
    const auto is_less = [](const added_word& a, std::string_view word) { return a.word < word; };
    std::span<const added_word> added(
        std::ranges::lower_bound(words.added, range.first, {}, &added_word::word), words.added.end());
    if (range.last)
        added = added.first(static_cast<std::size_t>(
            std::lower_bound(added.begin(), added.end(), *range.last, is_less) - added.begin()));

    merged_range& merged = work.merged;
    const bool weights = words.weight_exponent.has_value();
    postings_writer writer(merged.postings,
                           weights ? std::span<const std::uint32_t>() : words.document_lengths,
                           weights ? postings_writer::values::weights : postings_writer::values::counts);
    std::string word;
    std::vector<kept_postings> postings;
    postings.reserve(sources.size());
    while (!heap.empty() || !added.empty()) {
        const bool from_added = heap.empty() || (!added.empty() && added.front().word < heap.front()->word());
        word = from_added ? std::string_view(added.front().word) : heap.front()->word();
        std::size_t own = 0;
        while (own < added.size() && added[own].word == word) ++own;
        list_writer list(writer, added.first(own), words.weight_exponent);
        added = added.subspan(own);
        std::vector<word_cursor*> holders;
        while (!heap.empty() && heap.front()->word() == word) {
            std::ranges::pop_heap(heap, word_cursor::after);
            holders.push_back(heap.back());
            heap.pop_back();
            if (are_interleaved)
                postings.emplace_back(holders.back()->source(), holders.back()->id());
            else
                list.add(holders.back()->source(), holders.back()->id());
        }
        list.add(postings);
        postings.clear();
        list.finish();
        const auto totals = writer.finish_list();
        const auto rank = static_cast<std::uint32_t>(merged.word_ends.size());
        for (word_cursor* const holder : holders) {
            if (totals.document_frequency != 0) holder->set_rank(rank);
            if (!holder->next()) continue;
            heap.push_back(holder);
            std::ranges::push_heap(heap, word_cursor::after);
        }
        if (totals.document_frequency == 0) continue;  // only excluded documents have it
        merged.words += word;
        merged.word_ends.push_back(merged.words.size());
        merged.posting_ends.push_back(merged.postings.size());
        merged.document_frequencies.push_back(totals.document_frequency);
        merged.collection_frequencies.push_back(weights ? totals.document_frequency
                                                        : totals.collection_frequency);
    }
}

/// The numbers of a range's words, of which `first` is the first one's.
void fill_numbers(const word_numbers& numbers, const std::vector<word_cursor>& cursors, std::uint32_t first) {
    for (std::size_t store = 0; store < cursors.size(); ++store) {
        const auto to = numbers.of(store).subspan(cursors[store].first());
        const std::vector<std::uint32_t>& ranks = cursors[store].ranks();
        for (std::size_t i = 0; i < ranks.size(); ++i)
            to[i] = ranks[i] == word_numbers::none ? word_numbers::none : first + ranks[i];
    }
}

}  // namespace

word_numbers::word_numbers(const source_stores& stores, scratch_folder& scratch) {
    for (std::size_t store = 0; store < stores.size(); ++store)
        numbers_.push_back(std::make_unique<scratch_array<std::uint32_t>>(
            scratch, "word_numbers_" + std::to_string(store), stores[store].words().dictionary().size()));
}

word_sections::outcome merge_words(const source_stores& stores, const words_to_merge& words,
                                   const std::filesystem::path& store, const context& ctx) {
    std::vector<source_words> sources;
    sources.reserve(stores.size());
    for (std::size_t i = 0; i < stores.size(); ++i)
        sources.emplace_back(stores[i], words.names, stores.numbers(i));
    const std::size_t in_flight = ctx.thread_count() + std::size_t{2};
    const std::uint64_t work_of_range =
        std::clamp<std::uint64_t>(ctx.memory_limit() / 8 / in_flight, 64 << 10, 2 << 20);
    const std::vector<word_range> ranges = cut_words(sources, work_of_range);

    word_sections sections(store, words.names);
    std::size_t next = 0;
    std::uint32_t vocabulary = 0;
    pipeline<range_in_work> line(in_flight);
    line.from([&](range_in_work& range) {
        ctx.check_stop();
        ctx.report({words.stage, next, ranges.size(), "ranges"});
        range.number = next++;
        return range.number < ranges.size();
    });
    line.in_parallel([&](range_in_work& range) {
        merge_range(sources, stores.are_interleaved(), words, ranges[range.number], range);
    });
    line.in_order([&](range_in_work& range) {
        sections.append(range.merged);
        if (words.frequent != nullptr)
            for (const std::uint64_t frequency : range.merged.collection_frequencies)
                words.frequent->add(frequency);
        if (words.numbers != nullptr) fill_numbers(*words.numbers, range.cursors, vocabulary);
        vocabulary += static_cast<std::uint32_t>(range.merged.word_ends.size());
    });
    run_parallel(ctx, [&] { line.run(); });
    return sections.finish();
}

}  // namespace quern
