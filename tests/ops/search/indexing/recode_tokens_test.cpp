// SPDX-License-Identifier: Apache-2.0
#include "ops/search/indexing/recode_tokens.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/search/token_code.hpp"
#include "quern/base/error.hpp"

namespace quern::search_detail::recode_tokens_test {
namespace {

/// A collection whose frequent words are every `step`-th one.
struct coded_collection {
    coded_collection(std::uint32_t vocabulary, std::uint32_t step) : words(vocabulary) {
        frequent_words all;
        for (std::uint32_t w = 0; w < vocabulary; ++w) all.add(w % step == 0 ? 1000 : 1);
        frequent = all.finish();
    }
    token_code code() const { return {frequent, words}; }
    std::string coded(const std::vector<std::uint32_t>& ids) const {
        std::string bytes;
        for (const std::uint32_t id : ids) bytes += code().of(id).text();
        return bytes;
    }

    std::uint32_t words;
    std::vector<std::uint32_t> frequent;
};

class recode_tokens_test : public ::testing::Test {
  protected:
    /// Old word w is new word 3 w + 1: words with short codes become long ones, and the other way round.
    static std::uint32_t number_of(std::uint32_t old) { return 3 * old + 1; }
    recode_tokens_test() {
        std::vector<std::uint32_t> numbers(from_.words);
        for (std::uint32_t w = 0; w < from_.words; ++w) numbers[w] = number_of(w);
        codes_ = to_.code().of_rising(numbers);
    }

    coded_collection from_{40000, 2}, to_{3000000, 5};
    std::vector<codeword> codes_;
};

TEST_F(recode_tokens_test, gives_the_codes_of_the_other_collection) {
    const token_recoder recoder(from_.frequent, codes_);
    std::string all = "kept";
    std::string expected = all;
    for (const std::vector<std::uint32_t>& words :
         {std::vector<std::uint32_t>{}, {0}, {1, 1, 1}, {39999, 0, 255, 256, 257, 20001, 32768, 33, 2}}) {
        std::vector<std::uint32_t> numbers;
        for (const std::uint32_t w : words) numbers.push_back(number_of(w));
        recoder.append(from_.coded(words), all);
        expected += to_.coded(numbers);
        ASSERT_EQ(all, expected);
    }
    std::vector<std::uint32_t> every, numbers;
    for (std::uint32_t w = 0; w < from_.words; ++w) {
        every.push_back(w);
        numbers.push_back(number_of(w));
    }
    std::string recoded;
    recoder.append(from_.coded(every), recoded);
    EXPECT_EQ(recoded, to_.coded(numbers));
}

TEST_F(recode_tokens_test, refuses_what_is_not_of_the_collection) {
    const token_recoder recoder(from_.frequent, codes_);
    std::string out;
    const std::string whole = from_.coded({1, 39999});
    EXPECT_THROW(recoder.append(whole.substr(0, whole.size() - 1), out), damaged_store);  // within a word
    EXPECT_THROW(recoder.append("\x7f\x7f\xff", out), damaged_store);                     // no such word
    EXPECT_THROW(recoder.append(std::string("\0\0\0\0\0\x81", 6), out), damaged_store);   // too long
    std::vector<codeword> without = codes_;
    without[39999] = {};
    EXPECT_THROW(token_recoder(from_.frequent, without).append(whole, out), damaged_store);
    EXPECT_THROW(token_recoder(from_.frequent, std::span(codes_).first(5)), damaged_store);
}

}  // namespace
}  // namespace quern::search_detail::recode_tokens_test
