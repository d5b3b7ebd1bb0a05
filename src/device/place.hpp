// SPDX-License-Identifier: Apache-2.0
// The seam. A place is where an operation runs: the CPU, or one CUDA device. An operation is a set of overloads on the
// place types, with one signature; its entry point chooses the place once (at_place) and calls the overload. An
// operation that lacks an overload for a place does not compile. Any compiler can read every place type; whether this
// program has a CUDA back end is decided only here.
//
//     void sort_keys(cpu_place&, std::span<float>);          // sort_cpu.cpp
//     void sort_keys(cuda_place&, device_span<float>);       // sort_cuda.cu
//     at_place(run, "sort", [&](auto& place) { … sort_keys(place, keys.span()); … });
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/context.hpp"

namespace quern {

/// The place types this program has, as List<…>: std::variant for at_place, a list of types for tests.
#if QUERN_CUDA
template <template <class...> class List>
using every_place = List<cpu_place, cuda_place>;
#else
template <template <class...> class List>
using every_place = List<cpu_place>;
#endif

/// Whether this program has a CUDA back end.
inline constexpr bool has_cuda = !std::is_same_v<every_place<std::variant>, std::variant<cpu_place>>;

/// Holds the place of one call. Places do not move, because arrays point back to theirs.
template <class... Places>
class place_holder {
  public:
    template <class Place, class... Arguments>
    explicit place_holder(std::in_place_type_t<Place> type, Arguments&&... arguments)
        : place_(type, std::forward<Arguments>(arguments)...) {}
    place_holder(const place_holder&) = delete;  // places do not move
    place_holder& operator=(const place_holder&) = delete;

    /// Calls work(place), which must exist for every place type.
    template <class Work>
    decltype(auto) visit(Work&& work) {
        return std::visit(std::forward<Work>(work), place_);
    }

  private:
    std::variant<Places...> place_;
};

using any_place = every_place<place_holder>;

/// The place that choose_device names.
any_place open_place(const context& ctx, std::string_view operation);

/// Chooses the place of one call and returns work(place), by value. Everything that the work enqueued is done when this
/// returns; errors and faults of that work are thrown.
template <class Work>
auto at_place(const context& ctx, std::string_view operation, Work&& work) {
    any_place holder = open_place(ctx, operation);
    return holder.visit([&](auto& place) {
        if constexpr (std::is_void_v<decltype(work(place))>) {
            work(place);
            place.synchronise();
        } else {
            auto result = work(place);
            place.synchronise();
            return result;
        }
    });
}

}  // namespace quern
