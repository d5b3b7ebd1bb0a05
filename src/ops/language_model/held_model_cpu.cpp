// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>

#include "device/cpu/parallel.hpp"
#include "ops/language_model/block_scorer.hpp"
#include "ops/language_model/held_model.hpp"
#include "primitives/argument_checks.hpp"

namespace quern {

std::uint64_t device_bytes(any_ngrams model) {
    if (const auto* const plain = std::get_if<const back_off_model*>(&model)) return (*plain)->memory_bytes();
    return std::get<const compact_model*>(model)->bytes();
}

/// Each piece also scores the words before it that count, which it leaves to the piece before.
void held_model<cpu_place>::score(std::span<const std::uint32_t> words, std::span<const std::uint8_t> begins,
                                  std::span<double> logarithms) {
    primitives::check_same_size("score", "words", words.size(), "begins", begins.size());
    primitives::check_same_size("score", "words", words.size(), "logarithms", logarithms.size());
    constexpr std::size_t least = 4096;
    const std::size_t pieces = pieces_for(place_, words.size(), least);
    for_each_piece(place_, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(words.size(), pieces, p);
        std::visit(
            [&](const auto* model) {
                const std::size_t before = std::min<std::size_t>(begin, model->order() - 1);
                std::vector<std::uint8_t> own(begins.begin() + static_cast<std::ptrdiff_t>(begin - before),
                                              begins.begin() + static_cast<std::ptrdiff_t>(end));
                own.front() = 1;
                std::vector<double> made(before + end - begin);
                block_scorer scorer(*model);
                scorer.score(words.subspan(begin - before, made.size()), own, made);
                std::copy(made.begin() + static_cast<std::ptrdiff_t>(before), made.end(),
                          logarithms.begin() + static_cast<std::ptrdiff_t>(begin));
            },
            model_);
    });
}

}  // namespace quern
