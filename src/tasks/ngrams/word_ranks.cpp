// SPDX-License-Identifier: Apache-2.0
#include "tasks/ngrams/word_ranks.hpp"

#include <limits>

#include "quern/base/error.hpp"

namespace quern {

void word_ranks::add(const word_count_table& words, std::vector<std::uint32_t>& numbers) {
    words_.words().add(words, numbers);
    if (this->numbers() > std::numeric_limits<std::uint32_t>::max())
        throw out_of_memory("the numbers of distinct words", this->numbers(),
                            std::numeric_limits<std::uint32_t>::max());
    for (std::uint32_t& n : numbers) n += static_cast<std::uint32_t>(base_);
    if (!words_.full()) return;
    const std::uint64_t given = this->numbers();
    letters_spilled_ = letters();
    words_.spill([this](std::uint32_t word) { return number_of(word); });
    base_ = given;
}

std::uint64_t word_ranks::letters() const {
    const word_count_table& words = words_.words();
    std::uint64_t sum = letters_spilled_;
    for (std::uint32_t n = 0; n < words.size(); ++n) sum += words.word(n).size();
    return sum;
}

void word_ranks::for_each(const context& ctx,
                          const std::function<void(std::string_view, std::span<const std::uint32_t>)>& sink) {
    std::vector<std::uint32_t> numbers;
    words_.for_each(
        ctx, [this](std::uint32_t word) { return number_of(word); },
        [&](std::string_view word, std::span<const std::uint64_t> wide) {
            numbers.clear();
            for (const std::uint64_t n : wide) numbers.push_back(static_cast<std::uint32_t>(n));
            sink(word, numbers);
        });
    words_.forget_words();
}

}  // namespace quern
