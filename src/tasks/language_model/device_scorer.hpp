// SPDX-License-Identifier: Apache-2.0
// Models held on a GPU, which score the words of all threads' texts; and the choice of the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "device/resident.hpp"
#include "ops/language_model/held_model.hpp"
#include "quern/base/choose_device.hpp"

namespace quern {

struct model_mixture;

class device_scorer {
  public:
    /// Copies the models to the device. Throws device_error, out_of_memory.
    device_scorer(const std::vector<any_ngrams>& models, const context& ctx, const chosen_device& chosen)
        : held_(ctx, chosen, models) {}

    /// held_model::score_host of one model. Thread-safe: threads wait for each other.
    void score(std::size_t model, std::span<const std::uint32_t> words, std::span<const std::uint8_t> begins,
               std::span<double> logarithms) {
        const std::scoped_lock lock(one_at_a_time_);
        held_.visit([&](auto& held) { held.models[model].score_host(words, begins, logarithms); });
    }

  private:
    template <class Place>
    struct held_models {
        held_models(Place& place, cpu_place& host, const std::vector<any_ngrams>& of) {
            for (const any_ngrams& model : of) models.emplace_back(place, host, model);
        }
        std::deque<held_model<Place>> models;
    };

    std::mutex one_at_a_time_;
    resident<held_models> held_;
};

/// The bytes of the files and folders of a corpus, as they are on disk; what cannot be known counts 0.
std::uint64_t bytes_of_inputs(const std::vector<std::filesystem::path>& inputs);

/// The same if a device must be chosen for them; otherwise 0.
std::uint64_t bytes_for_choice(const std::vector<std::filesystem::path>& inputs, const context& ctx);

/// `ctx` with the GPU settled if CUDA is requested, so that one that is missing is known before the model is read. Throws as
/// choose_device does.
context with_requested_device(const context& ctx, std::string_view operation);

/// Chooses the device that scores a corpus of so many bytes; if it is a GPU, holds the models there. `automatic` uses a GPU if it
/// saves more time than it takes to start and to copy the models, and if these fit. Throws as choose_device and device_scorer do.
chosen_device hold_on_device(model_mixture& models, std::uint64_t corpus_bytes, const context& ctx,
                             std::string_view operation);

}  // namespace quern
