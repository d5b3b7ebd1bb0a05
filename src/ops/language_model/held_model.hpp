// SPDX-License-Identifier: Apache-2.0
// The n-grams of a model on a place, for the scores of many words at once there. On a GPU they are copied once and stay.
//
//     resident<held_model> model(ctx, chosen, ngrams_of(compact));
//     model.visit([&](auto& held) { held.score_host(words, begins, logarithms); });
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "device/array.hpp"
#include "device/place.hpp"
#include "ops/language_model/back_off_model.hpp"
#include "ops/language_model/compact_model.hpp"
#include "ops/language_model/trie_walk.hpp"

namespace quern {

/// A model in either form; it must outlive what holds it on the CPU.
using any_ngrams = std::variant<const back_off_model*, const compact_model*>;

/// What they take on a GPU.
std::uint64_t device_bytes(any_ngrams model);

/// The place must outlive it. One call at a time.
template <class Place>
class held_model;

template <>
class held_model<cpu_place> {
  public:
    held_model(cpu_place& place, cpu_place& /*host*/, any_ngrams model) : place_(place), model_(model) {}

    /// The logarithm, base 10, of each word's probability after the words before it: the same bits as by Model::score.
    /// `words` are numbers of the model; `begins[i]` is not 0 where word i has none before it, as the first has none. Throws
    /// usage_error if the sizes differ. On a GPU it does not wait.
    void score(std::span<const std::uint32_t> words, std::span<const std::uint8_t> begins,
               std::span<double> logarithms);
    /// The same from and to the host. Waits.
    void score_host(std::span<const std::uint32_t> words, std::span<const std::uint8_t> begins,
                    std::span<double> logarithms) {
        score(words, begins, logarithms);
    }

  private:
    cpu_place& place_;
    any_ngrams model_;
};

template <>
class held_model<cuda_place> {
  public:
    held_model(cuda_place& place, cpu_place& host, any_ngrams model);

    void score(device_span<const std::uint32_t> words, device_span<const std::uint8_t> begins,
               device_span<double> logarithms);
    void score_host(std::span<const std::uint32_t> words, std::span<const std::uint8_t> begins,
                    std::span<double> logarithms);

  private:
    void hold(const compact_model& model);
    void hold(const back_off_model& model);
    /// A part of the model on the device.
    template <class T>
    const T* copied(const T* from, std::uint64_t size);

    cuda_place& place_;
    std::vector<cuda_array<std::uint64_t>> parts_;
    std::variant<plain_trie, compact_trie> trie_;
    cuda_array<std::uint32_t> words_;  ///< of score_host, kept for the next call
    cuda_array<std::uint8_t> begins_;
    cuda_array<double> logarithms_;
};

}  // namespace quern
