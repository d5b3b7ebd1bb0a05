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

#include <optional>
#include <string>
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

/// Where an operation ran, for records: "cpu: requested", "cuda:0: NVIDIA H200, which works".
std::string name_and_reason(const chosen_device& chosen);

/// `ctx` with the chosen device or devices: what it is passed on to does not choose again.
context pinned_to(const chosen_device& chosen, context ctx);

/// A place, and the host's, where its work is prepared. On the CPU they are one.
template <class Place>
class opened_place {
  public:
    opened_place(const context& ctx, const chosen_device& chosen) : place_(ctx, chosen.ordinal) {}
    Place& place() { return place_; }
    cpu_place& host() { return host_ ? *host_ : host_.emplace(place_.ctx()); }

  private:
    Place place_;
    std::optional<cpu_place> host_;  ///< opened when needed
};
template <>
class opened_place<cpu_place> {
  public:
    opened_place(const context& ctx, const chosen_device& /*chosen*/) : place_(ctx) {}
    cpu_place& place() { return place_; }
    cpu_place& host() { return place_; }

  private:
    cpu_place place_;
};

/// The place of one call, or of what stays there between calls (resident.hpp). Places do not move, because arrays point
/// back to theirs.
template <class... Places>
class place_holder {
  public:
    place_holder(const context& ctx, const chosen_device& chosen)
        : where_(name_and_reason(chosen)), place_(open(pinned_to(chosen, ctx), chosen)) {}
    place_holder(const place_holder&) = delete;  // places do not move
    place_holder& operator=(const place_holder&) = delete;

    /// Calls work(place), or work(place, host), which must exist for every place type.
    template <class Work>
    decltype(auto) visit(Work&& work) {
        return std::visit(
            [&]<class Place>(opened_place<Place>& here) -> decltype(auto) {
                if constexpr (std::is_invocable_v<Work, Place&, cpu_place&>)
                    return std::forward<Work>(work)(here.place(), here.host());
                else
                    return std::forward<Work>(work)(here.place());
            },
            place_);
    }

    /// As visit, by value. Everything that the work enqueued is done when this returns; errors and faults of that work are
    /// thrown.
    template <class Work>
    auto run(Work&& work) {
        const auto wait = [&] { visit([](auto& place) { place.synchronise(); }); };
        if constexpr (std::is_void_v<decltype(visit(work))>) {
            visit(work);
            wait();
        } else {
            auto result = visit(work);
            wait();
            return result;
        }
    }

    const std::string& where() const { return where_; }  ///< for records

  private:
    using opened = std::variant<opened_place<Places>...>;
    static opened open(const context& ctx, const chosen_device& chosen) {
        if constexpr (has_cuda) {
            if (chosen.cuda) return opened(std::in_place_type<opened_place<cuda_place>>, ctx, chosen);
        }
        return opened(std::in_place_type<opened_place<cpu_place>>, ctx, chosen);
    }

    std::string where_;
    opened place_;
};

using any_place = every_place<place_holder>;

/// The place that choose_device names.
any_place open_place(const context& ctx, std::string_view operation);

/// Chooses the place of one call, and returns what any_place::run returns.
template <class Work>
auto at_place(const context& ctx, std::string_view operation, Work&& work) {
    return open_place(ctx, operation).run(std::forward<Work>(work));
}

}  // namespace quern
