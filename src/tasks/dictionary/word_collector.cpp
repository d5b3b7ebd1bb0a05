// SPDX-License-Identifier: Apache-2.0
#include "tasks/dictionary/word_collector.hpp"

#include <numeric>

namespace quern {

void word_collector::add(const word_count_table& words) {
    words_.words().add(words, numbers_of_unit_);
    if (words_.full()) words_.spill([this](std::uint32_t number) { return count_of(number); });
}

void word_collector::for_each(const context& ctx,
                              const std::function<void(std::string_view, std::uint64_t)>& sink) {
    numbers_of_unit_ = {};
    words_.for_each(
        ctx, [this](std::uint32_t number) { return count_of(number); },
        [&](std::string_view word, std::span<const std::uint64_t> counts) {
            sink(word, std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
        });
}

}  // namespace quern
