// SPDX-License-Identifier: Apache-2.0
#include "tasks/shared/first_use.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "quern/ops/near_duplicates.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern {

void compare_few_texts(const context& ctx) {
    std::string bytes;
    std::vector<std::uint64_t> offsets = {0};
    for (unsigned text = 0; text < 64; ++text) {
        for (unsigned word = 0; word < 40; ++word)  // each second text is the one before with another word
            bytes += fmt::format("{} ", word == 20 ? text : (text / 2 + 1) * word * word % 977);
        offsets.push_back(bytes.size());
    }
    near_duplicates(text_list{bytes, offsets}, {}, {}, ctx);
}

void compare_few_words(const context& ctx) {
    constexpr std::uint32_t words = 256, contexts = 32;
    context_matrix matrix;
    matrix.words = words;
    matrix.relations = 1;
    matrix.offsets = {0};
    matrix.column_counts.assign(words, contexts);
    for (std::uint32_t word = 0; word < words; ++word) {
        for (std::uint32_t i = 0; i < contexts; ++i) {
            matrix.columns.push_back(i * words / contexts + word * i % (words / contexts));
            matrix.weights.push_back(1.0F + static_cast<float>(i) / contexts);
        }
        matrix.offsets.push_back(matrix.columns.size());
    }
    similar_words(matrix.view(), {}, ctx);
}

}  // namespace quern
