// SPDX-License-Identifier: Apache-2.0
// Documents through inverter, merge and encoding: their words come out in order, for any cut of the collection into runs
// and any split of the words.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "ops/search/indexing/index_runs.hpp"
#include "ops/search/indexing/inverter.hpp"

namespace quern::search_detail::tokens_test {
namespace {

using documents = std::vector<std::vector<std::string>>;

struct stored_words {
    std::string bytes;
    std::vector<std::uint64_t> ends;
    std::vector<std::uint32_t> frequent;
    std::vector<std::string> dictionary;

    documents decoded() const {
        const token_code code(frequent, static_cast<std::uint32_t>(dictionary.size()));
        documents result;
        std::uint64_t begin = 0;
        for (const std::uint64_t end : ends) {
            std::vector<std::uint32_t> words;
            code.decode(std::string_view(bytes).substr(begin, end - begin), words);
            auto& spelled = result.emplace_back();
            for (const std::uint32_t word : words) spelled.push_back(dictionary[word]);
            begin = end;
        }
        return result;
    }
};

std::vector<std::uint32_t> ids_of(const words_of_run& run) {
    std::vector<std::uint32_t> ids;
    if (run.next == 0) return ids;
    ids.push_back(run.first);
    for (const char* p = run.gaps.data(); p != run.gaps.data() + run.gaps.size();) {
        std::uint32_t gap = 0;
        for (unsigned shift = 0;; shift += 7) {
            gap |= (static_cast<std::uint32_t>(*p) & 0x7fu) << shift;
            if ((static_cast<unsigned char>(*p++) & 0x80) == 0) break;
        }
        ids.push_back(ids.back() + gap + 1);
    }
    EXPECT_EQ(ids.back() + 1, run.next);
    return ids;
}

stored_words store(const documents& collection, std::size_t documents_a_run, std::size_t ranges) {
    std::vector<sorted_run> runs;
    std::vector<std::uint32_t> first_documents, lengths;
    for (const auto& words : collection) lengths.push_back(static_cast<std::uint32_t>(words.size()));
    for (std::size_t d = 0; d < collection.size(); d += documents_a_run) {
        inverter inverting(inverter::word_order::kept);
        first_documents.push_back(static_cast<std::uint32_t>(d));
        for (std::size_t i = d; i < std::min(collection.size(), d + documents_a_run); ++i) {
            const std::vector<std::string_view> words(collection[i].begin(), collection[i].end());
            if (i % 2 == 0) {
                inverting.add(words);
            } else {
                for (const std::string_view word : words) inverting.add(word);
            }
            inverting.end_document();
        }
        runs.push_back(inverting.finish());
    }
    stored_words out;
    frequent_words frequent;
    std::vector<std::vector<std::uint32_t>> words_by_rank(runs.size());
    for (const word_range& range : split_words(runs, ranges)) {
        const merged_range part = merge_runs(runs, first_documents, lengths, range, 1 << 10);
        for (std::size_t r = 0; r < runs.size(); ++r)
            for (const std::uint32_t id : ids_of(part.runs[r]))
                words_by_rank[r].push_back(static_cast<std::uint32_t>(out.dictionary.size()) + id);
        std::uint64_t begin = 0;
        for (const std::uint64_t end : part.word_ends) {
            out.dictionary.push_back(part.words.substr(begin, end - begin));
            begin = end;
        }
        for (const std::uint64_t frequency : part.collection_frequencies) frequent.add(frequency);
    }
    out.frequent = frequent.finish();
    const token_code code(out.frequent, static_cast<std::uint32_t>(out.dictionary.size()));
    for (std::size_t r = 0; r < runs.size(); ++r) {
        const auto coded = encode_tokens(runs[r].tokens, words_by_rank[r], code,
                                         std::span(lengths).subspan(first_documents[r], runs[r].documents));
        for (const std::uint64_t end : coded.ends) out.ends.push_back(out.bytes.size() + end);
        out.bytes += coded.bytes;
    }
    return out;
}

TEST(token_run_test, words_come_out_in_order) {
    const documents collection = {{"b", "a", "b", ""}, {}, {"c"}, {"a", "a", "\xff\xfe"}, {}};
    for (const std::size_t cut : {1, 2, 3, 5}) EXPECT_EQ(store(collection, cut, 3).decoded(), collection);
    EXPECT_EQ(store({}, 1, 4).decoded(), documents{});
}

// More distinct words than two bytes can number, so that runs hold both kinds of numbers, and codes of all lengths.
TEST(token_run_test, many_distinct_words) {
    documents collection(7);
    for (std::uint32_t i = 0; i < 200'000; ++i)
        collection[i / 30'000].push_back("w" +
                                         std::to_string(i % 5 == 0 ? i % 1000 : i * 2654435761U % 150'000));
    const stored_words whole = store(collection, 7, 1);
    EXPECT_EQ(whole.decoded(), collection);
    const stored_words parts = store(collection, 2, 9);
    EXPECT_EQ(parts.bytes, whole.bytes);
    EXPECT_EQ(parts.ends, whole.ends);
    EXPECT_EQ(parts.frequent, whole.frequent);
}

TEST(token_run_test, refuses_what_does_not_belong_together) {
    token_recorder recorder;
    for (const std::uint32_t number : {0u, 1u, 0u}) recorder.add(number);
    const std::string recorded = recorder.finish(std::vector<std::uint32_t>{1, 0});
    const std::vector<std::uint32_t> frequent = {0, 1, 2}, words = {0, 2}, lengths = {1, 2};
    const token_code code(frequent, 3);
    const coded_tokens coded = encode_tokens(recorded, words, code, lengths);
    EXPECT_EQ(coded.bytes, "\x82\x80\x82") << "number 0 is the word of rank 1";
    EXPECT_EQ(coded.ends, (std::vector<std::uint64_t>{1, 3}));
    using numbers = std::vector<std::uint32_t>;
    EXPECT_THROW(encode_tokens(recorded, numbers{0}, code, lengths), std::logic_error);
    EXPECT_THROW(encode_tokens(recorded, numbers{0, 1, 2}, code, lengths), std::logic_error);
    EXPECT_THROW(encode_tokens(recorded, words, code, numbers{1, 1}), std::logic_error);
    EXPECT_THROW(encode_tokens(recorded, words, code, numbers{1, 3}), std::logic_error);
    EXPECT_THROW(encode_tokens(recorded.substr(0, recorded.size() - 1), words, code, lengths),
                 std::logic_error);
    EXPECT_THROW(encode_tokens("", {}, code, {}), std::logic_error);
}

RC_GTEST_PROP(token_run_test, does_not_depend_on_the_layout, ()) {
    const auto collection = *rc::gen::container<documents>(rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::element('a', 'b', '\0', '\xff'))));
    const auto found =
        store(collection, *rc::gen::inRange<std::size_t>(1, 5), *rc::gen::inRange<std::size_t>(1, 6));
    RC_ASSERT(found.decoded() == collection);
    RC_ASSERT(found.bytes == store(collection, collection.size() + 1, 1).bytes);
}

}  // namespace
}  // namespace quern::search_detail::tokens_test
