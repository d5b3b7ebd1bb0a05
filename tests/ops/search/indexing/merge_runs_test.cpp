// SPDX-License-Identifier: Apache-2.0
// Documents through inverter, runs and merge, against a map of maps. The result must not depend on how the collection is
// cut into runs, where runs are stored, or how the words are split.
#include "ops/search/indexing/index_runs.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "ops/search/indexing/inverter.hpp"
#include "ops/search/postings.hpp"

namespace quern::search_detail::merge_runs_test {
namespace {

using documents = std::vector<std::vector<std::string>>;

std::vector<std::uint32_t> lengths_of(const documents& collection) {
    std::vector<std::uint32_t> lengths;
    for (const auto& words : collection) lengths.push_back(static_cast<std::uint32_t>(words.size()));
    return lengths;
}

merged_range reference_index(const documents& collection) {
    std::map<std::string, std::map<std::uint32_t, std::uint32_t>> index;
    for (std::uint32_t d = 0; d < collection.size(); ++d) {
        for (const std::string& word : collection[d]) ++index[word][d];
    }
    merged_range expected;
    const std::vector<std::uint32_t> lengths = lengths_of(collection);
    postings_writer writer(expected.postings, lengths);
    for (const auto& [word, list] : index) {
        for (const auto& [document, frequency] : list) writer.add(document, frequency);
        const auto totals = writer.finish_list();
        expected.words += word;
        expected.word_ends.push_back(expected.words.size());
        expected.posting_ends.push_back(expected.postings.size());
        expected.document_frequencies.push_back(totals.document_frequency);
        expected.collection_frequencies.push_back(totals.collection_frequency);
    }
    return expected;
}

struct layout {
    std::size_t documents_a_run, ranges, buffer_bytes;
    bool on_disk;
};

merged_range index_by_runs(const documents& collection, const layout& how) {
    std::vector<sorted_run> runs;
    std::vector<std::string> disk;
    std::vector<std::uint32_t> first_documents;
    for (std::size_t d = 0; d < collection.size(); d += how.documents_a_run) {
        inverter inverting;
        first_documents.push_back(static_cast<std::uint32_t>(d));
        for (std::size_t i = d; i < std::min(collection.size(), d + how.documents_a_run); ++i) {
            for (const std::string& word : collection[i]) inverting.add(word);
            EXPECT_EQ(inverting.end_document(), collection[i].size());
        }
        runs.push_back(inverting.finish());
    }
    if (how.on_disk) {
        for (sorted_run& run : runs) {
            auto bytes = std::make_shared<std::string>(std::move(run.bytes));
            run.bytes = {};
            run.read = [bytes](std::uint64_t offset, std::span<char> out) {
                ASSERT_LE(offset + out.size(), bytes->size());
                bytes->copy(out.data(), out.size(), offset);
            };
        }
    }
    const std::vector<std::uint32_t> lengths = lengths_of(collection);
    merged_range whole;
    for (const word_range& range : split_words(runs, how.ranges)) {
        const merged_range part = merge_runs(runs, first_documents, lengths, range, how.buffer_bytes);
        for (const std::uint64_t end : part.word_ends) whole.word_ends.push_back(whole.words.size() + end);
        for (const std::uint64_t end : part.posting_ends)
            whole.posting_ends.push_back(whole.postings.size() + end);
        whole.words += part.words;
        whole.postings += part.postings;
        const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
        append(whole.document_frequencies, part.document_frequencies);
        append(whole.collection_frequencies, part.collection_frequencies);
    }
    return whole;
}

void expect_equal(const merged_range& found, const merged_range& expected) {
    EXPECT_EQ(found.words, expected.words);
    EXPECT_EQ(found.word_ends, expected.word_ends);
    EXPECT_EQ(found.postings, expected.postings);
    EXPECT_EQ(found.posting_ends, expected.posting_ends);
    EXPECT_EQ(found.document_frequencies, expected.document_frequencies);
    EXPECT_EQ(found.collection_frequencies, expected.collection_frequencies);
}

TEST(merge_test, empty_collection) {
    expect_equal(index_by_runs({}, {1, 4, 16, false}), {});
}

TEST(merge_test, words_that_share_their_first_eight_bytes) {
    const documents collection = {
        {"internationalise", "international", "internat"},
        {},
        {"internationalisation", "internat\xc3\xa9", std::string("internat\0", 9), ""},
        {"international", "international", "\xff\xfe", "a"}};
    for (const bool on_disk : {false, true}) {
        for (std::size_t cut : {1, 2, 3, 4}) {
            expect_equal(index_by_runs(collection, {cut, 3, 1, on_disk}), reference_index(collection));
        }
    }
}

// More words than a restart interval, so that ranges begin inside runs, and words in every range.
TEST(merge_test, many_words_split_into_ranges) {
    documents collection(50);
    for (std::uint32_t i = 0; i < 40'000; ++i) {
        const std::uint32_t word = i * 2654435761U % 9973;
        collection[i % 50].push_back("w" + std::to_string(word * word));
    }
    const merged_range expected = reference_index(collection);
    for (const layout& how : {layout{50, 1, 1 << 20, false}, layout{7, 16, 1 << 20, false},
                              layout{7, 16, 64, true}, layout{1, 64, 4096, true}}) {
        expect_equal(index_by_runs(collection, how), expected);
    }
}

RC_GTEST_PROP(merge_test, does_not_depend_on_the_layout, ()) {
    const auto collection = *rc::gen::container<documents>(rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::element('a', 'b', '\0', '\xff'))));
    const layout how{*rc::gen::inRange<std::size_t>(1, 5), *rc::gen::inRange<std::size_t>(1, 6),
                     *rc::gen::inRange<std::size_t>(1, 64), *rc::gen::arbitrary<bool>()};
    expect_equal(index_by_runs(collection, how), reference_index(collection));
}

}  // namespace
}  // namespace quern::search_detail::merge_runs_test
