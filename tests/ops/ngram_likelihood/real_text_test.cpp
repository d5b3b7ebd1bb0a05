// SPDX-License-Identifier: Apache-2.0
// Text written by people, in the folder of QUERN_DATA: every method against every other, and counts against maps.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "ops/ngram_likelihood/ngram_texts.hpp"

namespace quern::real_text_test {
namespace {

/// The [a-z0-9]+ words of a text as documents that end at blank lines, or after `longest` words.
ngram_texts read_texts(const std::filesystem::path& path, std::size_t longest, std::size_t max) {
    std::ifstream file(path, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    std::vector<std::vector<std::string>> documents(1);
    std::string word;
    std::size_t words = 0;
    bool blank = true;
    for (const char c : text) {
        const auto lower = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9')) {
            word += lower;
            blank = false;
            continue;
        }
        if (!word.empty()) {
            documents.back().push_back(std::exchange(word, {}));
            if (++words == max) break;
        }
        if ((c == '\n' && std::exchange(blank, true)) || documents.back().size() == longest)
            documents.emplace_back();
    }
    std::map<std::string, std::uint32_t> ids;
    for (const auto& document : documents)
        for (const std::string& each : document) ids.emplace(each, 0);
    std::uint32_t next = 0;
    for (auto& [each, id] : ids) id = next++;
    std::vector<word_list> numbered;
    for (const auto& document : documents) {
        numbered.emplace_back();
        for (const std::string& each : document) numbered.back().push_back(ids[each]);
    }
    // The rarest of the alphabet are unknown, so that unknown words occur.
    const std::uint32_t vocabulary = next - next / 50;
    for (word_list& document : numbered)
        for (std::uint32_t& id : document) id = std::min(id, vocabulary);
    return {std::move(numbered), vocabulary};
}

std::filesystem::path data_file(const char* name) {
    const char* const data = std::getenv("QUERN_DATA");
    return data == nullptr ? std::filesystem::path() : std::filesystem::path(data) / name;
}

class real_text : public ::testing::TestWithParam<const char*> {};

TEST_P(real_text, counts_are_those_of_maps_and_of_every_method) {
    const auto path = data_file(GetParam());
    if (path.empty() || !std::filesystem::exists(path)) GTEST_SKIP() << "QUERN_DATA has no " << GetParam();
    const ngram_texts texts = read_texts(path, 2000, 20'000);
    for (unsigned order = 1; order <= 8; ++order) {
        ngram_options options{.order = order, .history_counts = true, .method = ngram_method::automatic};
        const auto found = rows_of(ngram_likelihood(texts.view(), options, context::cpu(2)), texts, true);
        ASSERT_GT(found.size(), 1000u);
        if (order <= 4) {
            ASSERT_EQ(found, reference::ngram_counter(texts.documents(), order).rows(options));
        }
        for (const ngram_method method : {ngram_method::dictionary, ngram_method::suffix_sigma}) {
            options.method = method;
            ASSERT_EQ(rows_of(ngram_likelihood(texts.view(), options, context::cpu(2)), texts, true), found);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(ngram_likelihood, real_text,
                         ::testing::Values("ir/cran/cran.all.1400", "ir/cisi/CISI.ALL", "ir/med/MED.ALL"));

}  // namespace
}  // namespace quern::real_text_test
