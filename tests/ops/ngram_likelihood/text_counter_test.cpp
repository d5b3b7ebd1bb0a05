// SPDX-License-Identifier: Apache-2.0
// Texts that are tokenised during counting, against words cut and looked up here one by one.
#include <gmock/gmock.h>

#include <map>
#include <random>

#include "on_each_place.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::text_counter_test {
namespace {

template <class Tested>
class ngram_text_counter_on : public on_place<Tested> {};
TYPED_TEST_SUITE(ngram_text_counter_on, tested_places, tested_place_names);

struct sample {
    std::string text;
    std::vector<std::uint64_t> documents{0};

    ngram_text view(bool digits) const { return {text, documents, digits}; }
};
sample make_sample(std::size_t documents, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    sample made;
    for (std::size_t d = 0; d < documents; ++d) {
        for (std::size_t words = random() % 40; words != 0; --words) {
            for (std::size_t letters = 1 + random() % 3; letters != 0; --letters)
                made.text += "aAbBc1"[random() % 6];
            made.text += random() % 9 == 0 ? "\xc3\xa9, " : " ";
        }
        if (random() % 3 == 0 && !made.text.empty()) made.text += "ab";  // continues into no other document
        made.documents.push_back(made.text.size());
    }
    return made;
}

/// In the form of ngram_likelihood().
struct tokenized_sample {
    std::vector<std::string> dictionary;
    std::vector<std::uint32_t> words;
    std::vector<std::uint64_t> documents{0};

    tokenized_sample(const sample& from, bool digits, unsigned every) {
        std::vector<std::string> spelt;
        std::map<std::string, std::uint32_t> ids;
        for (std::size_t d = 1; d < from.documents.size(); ++d) {
            std::string word;
            const auto end = [&] {
                if (!word.empty()) spelt.push_back(word);
                word.clear();
            };
            for (std::uint64_t i = from.documents[d - 1]; i < from.documents[d]; ++i) {
                const char c = from.text[i];
                if (c >= 'A' && c <= 'Z')
                    word += static_cast<char>(c - 'A' + 'a');
                else if ((c >= 'a' && c <= 'z') || (digits && c >= '0' && c <= '9'))
                    word += c;
                else
                    end();
            }
            end();
            documents.push_back(spelt.size());
        }
        for (const std::string& word : spelt) ids[word];
        unsigned met = 0;
        for (auto& [word, id] : ids)
            if (++met % every != 0) dictionary.push_back(word);
        for (const std::string& word : spelt) {
            const auto at = std::ranges::lower_bound(dictionary, word);
            words.push_back(at != dictionary.end() && *at == word
                                ? static_cast<std::uint32_t>(at - dictionary.begin())
                                : static_cast<std::uint32_t>(dictionary.size()));
        }
    }
    std::vector<std::string_view> views() const { return {dictionary.begin(), dictionary.end()}; }
    ngram_collection view() const {
        return {words, documents, static_cast<std::uint32_t>(dictionary.size())};
    }
};

using row = std::tuple<unsigned, std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t, double>;
struct taken_rows {
    std::vector<row> rows;
    void operator()(const ngram_rows& block) {
        for (std::size_t r = 0; r < block.documents.size(); ++r)
            rows.emplace_back(block.n, block.documents[r], block.firsts[r], block.in_document[r],
                              block.in_collection[r], block.weights[r]);
    }
    /// Blocks of different n arrive in any order.
    std::vector<row> by_length() const {
        std::vector<row> sorted = rows;
        std::ranges::stable_sort(sorted, {}, [](const row& r) { return std::get<0>(r); });
        return sorted;
    }
};

void expect_as_words(const sample& from, unsigned every, const ngram_options& options, const context& ctx) {
    for (const bool digits : {true, false}) {
        const tokenized_sample cut(from, digits, every);
        ngram_options by_words = options;
        by_words.method = ngram_method::automatic;
        taken_rows expected, found;
        const ngram_record of_words =
            ngram_likelihood(cut.view(), by_words, context::cpu(1), std::ref(expected));
        ngram_text_counter counter(cut.views(), ctx);
        const ngram_record of_text = counter.count(from.view(digits), options, std::ref(found));
        ASSERT_EQ(found.by_length(), expected.by_length());
        ASSERT_EQ(of_text.totals, of_words.totals);
        EXPECT_GE(counter.dictionary_bytes(), cut.dictionary.size());
    }
}

TYPED_TEST(ngram_text_counter_on, counts_what_its_words_count) {
    for (const ngram_method method :
         {ngram_method::automatic, ngram_method::dictionary, ngram_method::strings}) {
        for (const unsigned order : {1u, 3u, 8u}) {
            const unsigned every = method == ngram_method::strings ? 1'000'000 : 5;
            for (const std::size_t documents : {0, 1, 200})
                expect_as_words(make_sample(documents, order), every,
                                {.order = order, .only = order == 8, .method = method}, TypeParam::ctx());
        }
    }
}

TYPED_TEST(ngram_text_counter_on, text_beyond_memory_is_cut_into_ranges) {
    context ctx = TypeParam::ctx();
    ctx.memory_bytes = ctx.gpu_memory_bytes = std::uint64_t{1} << 20;
    const sample from = make_sample(1500, 9);  // more than a sixteenth of it
    ASSERT_GT(from.text.size(), std::size_t{1} << 16);
    expect_as_words(from, 5, {.order = 3}, ctx);
}

TYPED_TEST(ngram_text_counter_on, refuses_what_is_wrong) {
    const std::vector<std::string_view> falling{"b", "a"}, words{"a", "b"};
    EXPECT_THROW(ngram_text_counter(falling, TypeParam::ctx()), usage_error);
    ngram_text_counter counter(words, TypeParam::ctx());
    const std::vector<std::uint64_t> beyond{0, 9}, unsorted{0, 3, 2, 4};
    const auto ignore = [](const ngram_rows&) {};
    EXPECT_THROW(counter.count({"a b c", beyond}, {}, ignore), invalid_value);
    EXPECT_THROW(counter.count({"a b ", unsorted}, {}, ignore), invalid_value);
    EXPECT_THROW(counter.count({"", {}}, {.order = 0}, ignore), usage_error);
}

}  // namespace
}  // namespace quern::text_counter_test
