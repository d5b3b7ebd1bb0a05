// SPDX-License-Identifier: Apache-2.0
// The places of an operation that uses several devices. Its work is cut into units that do not depend on each other; each
// place has one thread and takes the next unit when it is free, so that a faster device does more of them. What a
// unit computes must not depend on its place; the operation joins the results in the order of the units. Then the result
// is the same for any number of devices.
//
//     place_set places(ctx, choose_device(ctx, "sums", offered_places::several_gpus));
//     std::vector<double> sums(parts.size());
//     places.for_each_unit(parts.size(), [&](auto& place, cpu_place& host, std::size_t unit) { sums[unit] = …; });
//
// Tests make one of several CPU places (cpu_places()), so that the joining is tested without a GPU.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "device/first_failure.hpp"
#include "device/own_threads.hpp"
#include "device/place.hpp"

namespace quern {

/// Open places: the first is the chosen device, the others are its `more`, in their order. Each has an equal share of the
/// threads and of the host's memory; on a GPU, each has the whole budget of a GPU. The context's callbacks are called
/// from one thread at a time. Neither copied nor moved.
class place_set {
  public:
    /// Opens all places at once. Throws what opening one throws.
    place_set(const context& ctx, const chosen_device& chosen);
    place_set(const place_set&) = delete;  // places do not move
    place_set& operator=(const place_set&) = delete;

    std::size_t size() const { return places_.size(); }
    any_place& operator[](std::size_t index) { return *places_[index]; }
    const std::string& where() const { return where_; }  ///< "cuda:0,1: requested", for records

    /// Calls work(place, host, index) for every place at once, and waits for what it enqueued. Of the exceptions, throws
    /// the first invalid_value in the order of the places, else the first.
    template <class Work>
    void on_each(const Work& work) {
        on_threads_of_their_own(size(), [&](std::size_t index) {
            places_[index]->run([&](auto& place, cpu_place& host) {
                make_current(place);
                work(place, host, index);
            });
        });
    }

    /// Calls work(place, host, unit), or work(place, host, unit, index), for every unit below `units`, each on one place; after
    /// each, waits for what it enqueued. Units are taken in order. After an exception no further unit begins; of the
    /// exceptions, throws that of the first unit, which therefore does not depend on the number of places.
    template <class Work>
    void for_each_unit(std::size_t units, const Work& work) {
        std::atomic<std::size_t> next{0};
        first_failure failure;
        on_threads_of_their_own(std::min(size(), units), [&](std::size_t index) {
            while (!failure.any()) {
                const std::size_t unit = next.fetch_add(1);
                if (unit >= units) return;
                failure.watch(unit, [&] { run_unit(work, unit, index); });
            }
        });
        failure.rethrow();
    }

  private:
    /// A new thread's device is the first of the machine: attributes of kernels would be set there.
    template <class Place>
    static void make_current(const Place& place) {
        if constexpr (!std::is_same_v<Place, cpu_place>) place.make_current();
    }

    template <class Work>
    auto run_unit(const Work& work, std::size_t unit, std::size_t index) {
        return places_[index]->run([&]<class Place>(Place& place, cpu_place& host) {
            make_current(place);
            if constexpr (std::is_invocable_v<const Work&, Place&, cpu_place&, std::size_t, std::size_t>)
                return work(place, host, unit, index);
            else
                return work(place, host, unit);
        });
    }

    std::string where_;
    std::mutex listening_;  ///< held while a callback of the context is called
    std::vector<std::unique_ptr<any_place>> places_;
};

/// `count` CPU places as a choice: what tests use instead of several GPUs.
chosen_device cpu_places(std::size_t count);

}  // namespace quern
