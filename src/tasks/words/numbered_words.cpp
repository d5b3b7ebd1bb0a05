// SPDX-License-Identifier: Apache-2.0
// Spilled words are read back sorted and distinct, twice, as a dictionary's words are: first to find the count from
// which a word is among the most frequent.
#include "tasks/words/numbered_words.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/release.hpp"
#include "device/files/spilled_array.hpp"
#include "primitives/external_sort/external_sort.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern {

void numbered_words::add(const word_count_table& words, std::vector<std::uint32_t>& numbers) {
    std::uint64_t occurrences = 0;
    for (std::uint32_t n = 0; n < words.size(); ++n) occurrences += words.count(n);
    if (occurrences > max_count - std::min(occurrences_, max_count)) spill();
    words_.words().add(words, numbers);
    occurrences_ += occurrences;
    if (this->numbers() > passage_end)
        throw out_of_memory("the numbers of distinct words", this->numbers(), passage_end);
    for (std::uint32_t& n : numbers) n += static_cast<std::uint32_t>(base_);
    if (words_.full()) spill();
}

void numbered_words::spill() {
    const std::uint64_t given = numbers();
    words_.spill([this](std::uint32_t word) { return value_of(word); });
    base_ = given;
    occurrences_ = 0;
}

void numbered_words::for_each(const context& ctx, const visitor& take) {
    words_.for_each(
        ctx, [this](std::uint32_t word) { return value_of(word); },
        [&](std::string_view word, std::span<const std::uint64_t> values) {
            std::uint64_t count = 0;
            for (const std::uint64_t v : values) count += v & max_count;
            take(word, count, values);
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
    std::map<std::uint64_t, std::uint64_t> words_with;  // one entry per distinct count: few
    for_each(place.ctx(), [&](std::string_view, std::uint64_t count, const auto&) {
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

    // A frequent word has a number for each run: they are sorted with the word's place in the order of bytes, on disk if need be.
    primitives::external_sorter<cpu_place, std::uint32_t, std::uint32_t> numbers(
        place, place.memory().left() / 2, {}, 0);
    struct candidate {
        std::string word;
        std::uint64_t count;
        std::uint32_t by_bytes;
    };
    std::vector<candidate> order;
    std::vector<std::uint32_t> keys, places;
    for_each(place.ctx(),
             [&](std::string_view word, std::uint64_t count, std::span<const std::uint64_t> values) {
                 if (count < least || (count == least && ties == 0)) return;
                 if (count == least) --ties;
                 const auto by_bytes = static_cast<std::uint32_t>(order.size());
                 keys.clear();
                 for (const std::uint64_t v : values) keys.push_back(static_cast<std::uint32_t>(v >> 32));
                 places.assign(keys.size(), by_bytes);
                 numbers.push(keys, places);
                 order.push_back({std::string(word), count, by_bytes});
             });
    std::ranges::stable_sort(order, std::greater<>(), &candidate::count);  // by bytes already

    chosen_words chosen;
    std::vector<std::uint32_t> ids(order.size());
    for (candidate& c : order) {
        ids[c.by_bytes] = chosen.size();
        chosen.words.push_back(std::move(c.word));
        chosen.frequencies.push_back(c.count);
    }
    release(order);
    chosen.id_of = {place, base_, "the ids of words"};
    std::uint32_t* next = chosen.id_of.data();
    numbers.finish([&](std::span<const std::uint32_t> sorted, std::span<const std::uint32_t> of) {
        place.ctx().check_stop();
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            std::uint32_t* const at = chosen.id_of.data() + sorted[i];
            next = std::fill_n(next, at - next, unknown_word);
            *next++ = ids[of[i]];
        }
    });
    std::fill(next, chosen.id_of.data() + base_, unknown_word);
    return chosen;
}

}  // namespace quern
