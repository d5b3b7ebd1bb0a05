// SPDX-License-Identifier: Apache-2.0
// The parts of several places, as one result.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "device/first_devices.hpp"
#include "device/place_set.hpp"
#include "ops/ngram_likelihood/ngram_methods.hpp"

namespace quern::ngram_detail {

/// Fewer words than this are counted faster by one GPU: several share them by ranges, each of which launches the kernels of every
/// length anew (docs/ngram_likelihood.md).
inline std::uint64_t words_for_several(const ngram_options& options) {
    return std::uint64_t{1} << (options.only || options.order == 1 ? 25 : 24);
}

/// Every place has all words and counts one range of first words after another: count(place, share, record) is its part. Nothing if the memory of one does not hold the words.
template <class Count>
std::optional<ngram_record> count_on_all(place_set& places, const ngram_options& options,
                                         const row_sink& sink, const Count& count) {
    range_turns turns(places.size(), options.order, sink);
    word_exchange<cpu_place> of_cpus(places.size());
    word_exchange<cuda_place> of_gpus(places.size());
    std::vector<ngram_record> parts(places.size());
    std::atomic<bool> fits = true;
    places.on_each([&](auto& place, cpu_place& /*host*/, std::size_t index) {
        turns.run([&] {
            const place_share share{index, turns, of_cpus, of_gpus};
            if (!count(place, share, parts[index])) fits = false;
        });
    });
    turns.rethrow();
    if (!fits) return {};
    ngram_record all = std::move(parts.front());
    for (std::size_t p = 1; p < parts.size(); ++p) {
        for (std::size_t t = 0; t < all.totals.size(); ++t) {
            all.totals[t].occurrences += parts[p].totals[t].occurrences;
            all.totals[t].with_unknown += parts[p].totals[t].with_unknown;
            all.totals[t].distinct += parts[p].totals[t].distinct;
            all.totals[t].rows += parts[p].totals[t].rows;
        }
        all.pieces += parts[p].pieces;
    }
    all.pieces = std::max<std::uint64_t>(all.pieces, 1);
    all.place = places.where();
    return all;
}

inline void log_that_one_counts(const chosen_device& chosen, const context& ctx) {
    ctx.log(log_level::info, "n-gram likelihood uses one GPU, " + first_devices(chosen, 1).name +
                                 ": the words do not fit the memory of every GPU");
}

}  // namespace quern::ngram_detail
