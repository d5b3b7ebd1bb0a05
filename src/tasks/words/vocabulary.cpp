// SPDX-License-Identifier: Apache-2.0
#include "tasks/words/vocabulary.hpp"

#include <algorithm>

#include "quern/ops/word_similarity.hpp"

namespace quern {

chosen_words choose_words(const word_count_table& distinct, std::uint64_t min_count, std::uint32_t max,
                          cpu_place& place) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t n = 0; n < distinct.size(); ++n) {
        if (distinct.count(n) >= min_count) order.push_back(n);
    }
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        const std::uint64_t left = distinct.count(a), right = distinct.count(b);
        return left != right ? left > right : distinct.word(a) < distinct.word(b);
    };
    if (order.size() > max) {
        std::ranges::nth_element(order, order.begin() + max, before);
        order.resize(max);
    }
    std::ranges::sort(order, before);

    chosen_words chosen;
    chosen.id_of = {place, distinct.size(), "the ids of words"};
    std::ranges::fill(chosen.id_of.span(), unknown_word);
    for (const std::uint32_t n : order) {
        chosen.id_of.data()[n] = chosen.size();
        chosen.words.emplace_back(distinct.word(n));
        chosen.frequencies.push_back(distinct.count(n));
    }
    return chosen;
}

}  // namespace quern
