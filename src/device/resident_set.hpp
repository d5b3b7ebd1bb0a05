// SPDX-License-Identifier: Apache-2.0
// What stays on several places between calls: as resident.hpp, with one Held<Place> on every place of a set.
//
//     resident_set<held_rows> rows(ctx, choose_device(ctx, "sums", offered_places::several_gpus), values);
//     rows.for_each_unit(units, [&](auto& held, std::size_t unit) { results[unit] = held.sums(parts[unit]); });
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "device/place_set.hpp"

namespace quern {

/// Neither copied nor moved: what is held points to its place. One call at a time.
template <template <class> class Held>
class resident_set {
    template <class... Places>
    using variant_of = std::variant<Held<Places>...>;
    using variant = every_place<variant_of>;

  public:
    /// Opens the places and makes Held<Place>(place, host, arguments…, index of the place) on each, all at once; `index` is
    /// left out where Held does not take it. Throws what place_set::on_each throws.
    template <class... Arguments>
    resident_set(const context& ctx, const chosen_device& chosen, const Arguments&... arguments)
        : places_(ctx, chosen), held_(places_.size()) {
        places_.on_each([&]<class Place>(Place& place, cpu_place& host, std::size_t index) {
            constexpr std::in_place_type_t<Held<Place>> of_this_place;
            if constexpr (std::is_constructible_v<Held<Place>, Place&, cpu_place&, const Arguments&...,
                                                  std::size_t>)
                held_[index].emplace(of_this_place, place, host, arguments..., index);
            else
                held_[index].emplace(of_this_place, place, host, arguments...);
        });
    }

    std::size_t size() const { return held_.size(); }

    /// Returns work(held) for one place, which must compile for every place type. Does not wait for the place.
    template <class Work>
    decltype(auto) visit(std::size_t index, Work&& work) {
        return std::visit(std::forward<Work>(work), *held_[index]);
    }
    template <class Work>
    decltype(auto) visit(std::size_t index, Work&& work) const {
        return std::visit(std::forward<Work>(work), *held_[index]);
    }

    /// Calls work(held, index) for every place at once; as place_set::on_each.
    template <class Work>
    void on_each(const Work& work) {
        places_.on_each([&]<class Place>(Place&, cpu_place&, std::size_t index) {
            work(std::get<Held<Place>>(*held_[index]), index);
        });
    }

    /// Calls work(held, unit) for every unit, each on one place; as place_set::for_each_unit.
    template <class Work>
    void for_each_unit(std::size_t units, const Work& work) {
        places_.for_each_unit(units,
                              [&]<class Place>(Place&, cpu_place&, std::size_t unit, std::size_t index) {
                                  work(std::get<Held<Place>>(*held_[index]), unit);
                              });
    }

    /// As place_set::where().
    const std::string& where() const { return places_.where(); }

  private:
    place_set places_;
    std::vector<std::optional<variant>> held_;  ///< end before their places
};

}  // namespace quern
