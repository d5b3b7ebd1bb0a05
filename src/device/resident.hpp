// SPDX-License-Identifier: Apache-2.0
// What stays on a place between calls: vectors, lists, matrices, dictionaries. An operation writes one class template on
// the place type (or one template and its specialisation, where places differ), and its public class keeps a resident:
//
//     template <class Place>
//     class held_rows {
//       public:
//         held_rows(Place& place, cpu_place& host, std::span<const float> rows);
//         std::vector<float> sums(const context& ctx);
//     };
//
//     resident<held_rows> rows(ctx, choose_device(ctx, "sums"), values);
//     rows.visit([&](auto& held) { return held.sums(ctx); });
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "device/place.hpp"

namespace quern {

/// A Held<Place> on the chosen place, which it keeps open. Neither copied nor moved: what is held points to its place.
/// One call at a time.
template <template <class> class Held>
class resident {
    template <class... Places>
    using variant_of = std::variant<Held<Places>...>;
    using variant = every_place<variant_of>;

  public:
    /// Opens the place and makes Held<Place>(place, host, arguments…); on the CPU, `host` is the place.
    template <class... Arguments>
    resident(const context& ctx, const chosen_device& chosen, const Arguments&... arguments)
        : place_(ctx, chosen), held_(place_.visit([&]<class Place>(Place& place, cpu_place& host) {
              return variant(std::in_place_type<Held<Place>>, place, host, arguments...);
          })) {}

    /// Returns work(held), which must compile for every place type.
    template <class Work>
    decltype(auto) visit(Work&& work) {
        return std::visit(std::forward<Work>(work), held_);
    }
    template <class Work>
    decltype(auto) visit(Work&& work) const {
        return std::visit(std::forward<Work>(work), held_);
    }

    /// As any_place::where().
    const std::string& where() const { return place_.where(); }

  private:
    any_place place_;
    variant held_;  ///< ends before its place
};

}  // namespace quern
