// SPDX-License-Identifier: Apache-2.0
// The parts of a graph on the places of a set: what rank_parts.hpp and hits_parts.hpp share.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "device/first_failure.hpp"
#include "device/meeting.hpp"
#include "device/place_set.hpp"
#include "ops/link_rank/sliced_ell_layout.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

/// One Part on each place of a set, all of type Place. Part(place, graphs…, device_share).
template <class Part, class Place>
class place_parts {
  protected:
    template <class... Graphs>
    explicit place_parts(place_set& places, const Graphs&... graphs)
        : places_(places), parts_(places.size()) {
        on_each([&](Place& place, std::size_t i) {
            parts_[i] = std::make_unique<Part>(
                place, graphs...,
                device_share{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(parts_.size())});
        });
    }

    template <class Work>
    void on_each(const Work& work) {
        places_.on_each([&]<class Here>(Here& place, cpu_place&, std::size_t i) {
            if constexpr (std::is_same_v<Here, Place>) work(place, i);
        });
    }

    /// iterate(), with the arrays of a call with these params.
    template <class Params, class Iterate>
    void call(const Params& params, const Iterate& iterate) {
        const auto end = [this] {
            for (const auto& part : parts_) part->end();
        };
        try {
            on_each([&](Place&, std::size_t i) { parts_[i]->prepare(params); });
            for (const auto& part : parts_) part->open_tables(parts_);
            iterate();
        } catch (...) {
            end();
            throw;
        }
        end();
    }

    /// Calls work(meeting, i) for every part at once. Of their exceptions, throws the first.
    template <class Work>
    void together(const Work& work) {
        meeting all_parts(parts_.size());
        first_failure failure;
        on_each([&](Place&, std::size_t i) {
            try {
                work(all_parts, i);
            } catch (const meeting::left&) {  // NOLINT(bugprone-empty-catch): another thread has the reason
            } catch (...) {
                failure.keep(i);
                all_parts.leave();
            }
        });
        failure.rethrow();
    }

    place_set& places_;
    std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace quern::link_rank_detail
