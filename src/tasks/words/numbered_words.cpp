// SPDX-License-Identifier: Apache-2.0
// Spilled words are read back sorted and distinct, twice, as a dictionary's words are: first to find the count from
// which a word is among the most frequent.
#include "tasks/words/numbered_words.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "device/files/spilled_array.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern {

void numbered_words::add(const word_count_table& words, std::vector<std::uint32_t>& numbers) {
    words_.words().add(words, numbers);
    if (this->numbers() > passage_end)
        throw out_of_memory("the numbers of distinct words", this->numbers(), passage_end);
    for (std::uint32_t& n : numbers) n += static_cast<std::uint32_t>(base_);
    if (words_.full()) spill();
}

void numbered_words::spill() {
    const word_count_table& words = words_.words();
    const std::uint64_t given = numbers();
    std::vector<std::uint64_t> counts(words.size());
    for (std::uint32_t n = 0; n < words.size(); ++n) counts[n] = words.count(n);
    counts_.append(std::move(counts));
    words_.spill([this](std::uint32_t word) { return base_ + word; });
    base_ = given;
}

void numbered_words::for_each(const context& ctx, std::span<const std::uint64_t> counts,
                              const visitor& take) {
    words_.for_each(
        ctx, [this](std::uint32_t word) { return base_ + word; },
        [&](std::string_view word, std::span<const std::uint64_t> numbers) {
            std::uint64_t count = 0;
            for (const std::uint64_t n : numbers) count += counts[n];
            take(word, count, numbers);
        });
}

chosen_words numbered_words::choose(std::uint64_t min_count, std::uint32_t max, cpu_place& place) {
    chosen_words chosen;
    if (words_.runs() == 0) {
        chosen = choose_words(words_.words(), min_count, max, place);
        distinct_ = words_.words().size();
    } else {
        spill();
        chosen = choose_spilled(min_count, max, place);
    }
    words_.forget_words();
    return chosen;
}

chosen_words numbered_words::choose_spilled(std::uint64_t min_count, std::uint32_t max, cpu_place& place) {
    const spilled_array<std::uint64_t> counts(place, base_, "how often words occur");
    std::uint64_t* to = counts.data();
    counts_.drain([&](std::span<const std::uint64_t> some) { to = std::copy(some.begin(), some.end(), to); });

    std::map<std::uint64_t, std::uint64_t> words_with;  // one entry per distinct count: few
    for_each(place.ctx(), counts.span(), [&](std::string_view, std::uint64_t count, const auto&) {
        ++distinct_;
        if (count >= min_count) ++words_with[count];
    });
    std::uint64_t least = min_count, ties = std::numeric_limits<std::uint64_t>::max(), capacity = max;
    for (auto at = words_with.rbegin(); at != words_with.rend(); ++at) {
        if (at->second > capacity) {
            least = at->first;
            ties = capacity;
            break;
        }
        capacity -= at->second;
    }

    struct candidate {
        std::string word;
        std::uint64_t count;
        std::vector<std::uint64_t> numbers;
    };
    std::vector<candidate> order;
    for_each(place.ctx(), counts.span(),
             [&](std::string_view word, std::uint64_t count, std::span<const std::uint64_t> numbers) {
                 if (count < least || (count == least && ties == 0)) return;
                 if (count == least) --ties;
                 order.push_back({std::string(word), count, {numbers.begin(), numbers.end()}});
             });
    std::ranges::stable_sort(order, std::greater<>(), &candidate::count);  // by bytes already

    chosen_words chosen;
    chosen.id_of = {place, base_, "the ids of words"};
    std::ranges::fill(chosen.id_of.span(), unknown_word);
    for (candidate& c : order) {
        for (const std::uint64_t n : c.numbers) chosen.id_of.data()[n] = chosen.size();
        chosen.words.push_back(std::move(c.word));
        chosen.frequencies.push_back(c.count);
    }
    return chosen;
}

}  // namespace quern
