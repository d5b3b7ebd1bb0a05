// SPDX-License-Identifier: Apache-2.0
#include "ops/search/indexing/index_runs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/varint.hpp"
#include "ops/search/postings.hpp"

namespace quern::search_detail {
namespace {

struct source {
    run_cursor cursor;
    std::size_t run;
};

/// Whether a's word (for equal words, a's run) comes after b's: the order of a min-heap.
bool after(const source* a, const source* b) {
    if (a->cursor.word_prefix() != b->cursor.word_prefix()) {
        return a->cursor.word_prefix() > b->cursor.word_prefix();
    }
    if (const int order = a->cursor.word().compare(b->cursor.word()); order != 0) return order > 0;
    return a->run > b->run;
}

/// Steps to the first entry of the range; false if the run has none.
bool enter(source& s, const word_range& range) {
    do {
        if (!s.cursor.next()) return false;
    } while (s.cursor.word() < range.first);
    return !range.last || s.cursor.word() < *range.last;
}

bool advance(source& s, const word_range& range) {
    return s.cursor.next() && (!range.last || s.cursor.word() < *range.last);
}

void append_postings(const run_cursor& cursor, std::uint32_t first_document,
                     const std::optional<int>& weight_exponent, postings_writer& writer) {
    const std::string_view bytes = cursor.postings();
    const char* p = bytes.data();
    const char* const end = p + bytes.size();
    std::uint32_t document = first_document;
    while (p != end) {
        document += static_cast<std::uint32_t>(read_varint(p));
        const auto frequency = static_cast<std::uint32_t>(read_varint(p));
        writer.add(document, weight_exponent
                                 ? weight_in_units(std::bit_cast<float>(frequency), *weight_exponent)
                                 : frequency);
    }
}

void note_word(words_of_run& run, std::uint32_t rank) {
    if (run.next == 0) {
        run.first = rank;
    } else {
        append_varint(run.gaps, rank - run.next);
    }
    run.next = rank + 1;
}

}  // namespace

std::uint32_t weight_in_units(float weight, int exponent) {
    return static_cast<std::uint32_t>(
        std::max(1.0, std::nearbyint(std::ldexp(static_cast<double>(weight), -exponent))));
}

std::vector<word_range> split_words(std::span<const sorted_run> runs, std::size_t parts) {
    std::vector<std::string_view> samples;
    for (const sorted_run& run : runs)
        samples.insert(samples.end(), run.restart_words.begin(), run.restart_words.end());
    std::sort(samples.begin(), samples.end());
    std::vector<word_range> ranges(1);
    for (std::size_t part = 1; part < parts; ++part) {
        if (samples.empty()) break;
        const std::string_view cut = samples[samples.size() * part / parts];
        if (cut <= ranges.back().first) continue;
        ranges.back().last = cut;
        ranges.push_back({std::string(cut), {}});
    }
    return ranges;
}

merged_range merge_runs(std::span<const sorted_run> runs, std::span<const std::uint32_t> first_document,
                        std::span<const std::uint32_t> document_lengths, const word_range& range,
                        std::size_t buffer_bytes, std::optional<int> weight_exponent) {
    std::vector<source> sources;
    sources.reserve(runs.size());
    std::vector<source*> heap;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto& words = runs[i].restart_words;
        const auto above = std::upper_bound(words.begin(), words.end(), range.first);
        const auto restart = static_cast<std::size_t>(above - words.begin());
        sources.push_back({run_cursor(runs[i], restart == 0 ? 0 : restart - 1, buffer_bytes), i});
        if (enter(sources.back(), range)) heap.push_back(&sources.back());
    }
    std::make_heap(heap.begin(), heap.end(), after);

    merged_range merged;
    merged.runs.resize(runs.size());
    postings_writer writer(
        merged.postings, weight_exponent ? std::span<const std::uint32_t>() : document_lengths,
        weight_exponent ? postings_writer::values::weights : postings_writer::values::counts);
    std::string word;
    while (!heap.empty()) {
        word = heap.front()->cursor.word();
        const auto rank = static_cast<std::uint32_t>(merged.word_ends.size());
        do {
            std::pop_heap(heap.begin(), heap.end(), after);
            source* const s = heap.back();
            note_word(merged.runs[s->run], rank);
            append_postings(s->cursor, first_document[s->run], weight_exponent, writer);
            if (advance(*s, range)) {
                std::push_heap(heap.begin(), heap.end(), after);
            } else {
                heap.pop_back();
            }
        } while (!heap.empty() && heap.front()->cursor.word() == word);
        const auto totals = writer.finish_list();
        merged.words += word;
        merged.word_ends.push_back(merged.words.size());
        merged.posting_ends.push_back(merged.postings.size());
        merged.document_frequencies.push_back(totals.document_frequency);
        merged.collection_frequencies.push_back(weight_exponent ? totals.document_frequency
                                                                : totals.collection_frequency);
    }
    return merged;
}

}  // namespace quern::search_detail
