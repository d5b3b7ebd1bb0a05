// SPDX-License-Identifier: Apache-2.0
// The join of method `automatic` on devices, in units: ranges of rows (classes with new texts, by ascending length) with the
// columns that their windows reach. One or several places share the units (sketch_search.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "ops/near_duplicates/filter/sketch_join.hpp"
#include "ops/near_duplicates/filter/sketched_classes.hpp"

namespace quern::near_duplicates_detail {

/// What all places of a join read. The references outlive it.
template <class Unit>
struct join_input {
    /// `skipped`: classes whose pairs are known; empty: none. Cost: O(classes).
    join_input(cpu_place& host, const unit_texts<Unit>& the_texts, const sketch_list& the_sketches,
               const text_classes& the_classes, const gram_rules& the_rules,
               std::span<const std::uint8_t> skipped, const decimal& rate, bool new_with_new);

    const unit_texts<Unit>& texts;
    const sketch_list& sketches;
    const text_classes& classes;
    const gram_rules& rules;
    decimal threshold;
    bool within_new;
    sketch_sizes sizes;
    std::vector<std::uint32_t> rows;    ///< classes with new members that are not skipped, ascending
    std::vector<std::uint8_t> kinds;    ///< of all classes: old_members and new_members
    std::vector<device_scales> scales;  ///< of all classes

    /// The classes from the first to the last of some rows.
    class_range classes_of(class_range some) const { return {rows[some.first], rows[some.last - 1] + 1}; }
    /// The columns that their windows reach.
    class_range columns_of(class_range some) const {
        return {window_of(classes, threshold, rows[some.first]).first,
                window_of(classes, threshold, rows[some.last - 1]).last};
    }
};

/// All texts of a call in the memory of a place, if it holds them; on the CPU none are copied. One thread for
/// each object, but bring_part() of other places writes into this one's array meanwhile; opens_to() is called by one for all.
template <class Unit>
class copied_texts {
  public:
    virtual ~copied_texts() = default;
    /// Null: they are not there.
    virtual const device_texts<Unit>* on_device() const { return nullptr; }
    /// Of a text, if they are there.
    virtual std::uint64_t begin(std::uint32_t /*text*/) const { return 0; }

    /// Whether `other` can pass texts to this place without the host in between. For one thread, while neither copies.
    virtual bool opens_to(copied_texts& /*other*/) { return false; }
    /// Copies all texts from the host.
    virtual void bring_all() {}
    /// Copies part `index` of as many as there are places, and passes it to all others, each of which opens to this one.
    virtual void bring_part(std::size_t /*index*/,
                            std::span<const std::unique_ptr<copied_texts>> /*places*/) {}
};
/// Room for `texts`: none if they are not in the host's memory as units. The host's texts outlive it.
template <class Unit>
std::unique_ptr<copied_texts<Unit>> room_for_texts(cpu_place& /*place*/,
                                                   const std::optional<unit_list<Unit>>& /*texts*/) {
    return std::make_unique<copied_texts<Unit>>();
}
template <class Unit>
std::unique_ptr<copied_texts<Unit>> room_for_texts(cuda_place& place,
                                                   const std::optional<unit_list<Unit>>& texts);

/// Receives candidates as texts, and the number of pairs that were compared for them.
using take_joined = std::function<void(std::span<const candidate>, std::uint64_t compared)>;

/// The join of one place. One thread.
template <class Unit>
class rows_join {
  public:
    virtual ~rows_join() = default;
    /// How many bytes of sketches of rows the place holds at once; none: those of all classes.
    virtual std::optional<std::uint64_t> bytes_of_rows() const = 0;
    /// Passes on all candidates of a range of `rows` with other classes whose pairs are requested, in batches, in any order.
    virtual void join(class_range some, const take_joined& take) = 0;
};
/// On the CPU by the counts of units alone: the slow version of the device's, with which tests check the sharing.
template <class Unit>
std::unique_ptr<rows_join<Unit>> make_rows_join(cpu_place& place, cpu_place& host,
                                                const join_input<Unit>& input,
                                                const copied_texts<Unit>& copied);
template <class Unit>
std::unique_ptr<rows_join<Unit>> make_rows_join(cuda_place& place, cpu_place& host,
                                                const join_input<Unit>& input,
                                                const copied_texts<Unit>& copied);

/// Cuts the rows into units of about equal work for so many places. `bytes_of_rows`: the least of the places'.
template <class Unit>
std::vector<class_range> cut_units(const join_input<Unit>& input, std::size_t places,
                                   std::optional<std::uint64_t> bytes_of_rows, const join_sharing& sharing);

/// Hands out units to places. Each place begins with a range of its own, so that it needs few of the columns of others; one
/// that is done takes the last unit of the longest rest. Any thread.
class unit_shares {
  public:
    unit_shares(std::size_t units, std::size_t places) {
        for (std::size_t p = 0; p < places; ++p)
            rests_.push_back({units * p / places, units * (p + 1) / places});
    }
    std::optional<std::size_t> take(std::size_t place) {
        const std::lock_guard lock(mutex_);
        if (rest& own = rests_[place]; own.begin < own.end) return own.begin++;
        rest& longest = *std::ranges::max_element(rests_, {}, [](const rest& r) { return r.end - r.begin; });
        if (longest.begin == longest.end) return std::nullopt;
        return --longest.end;
    }
    /// No further unit begins.
    void stop() {
        const std::lock_guard lock(mutex_);
        for (rest& one : rests_) one.begin = one.end;
    }

  private:
    struct rest {
        std::size_t begin, end;
    };
    std::mutex mutex_;
    std::vector<rest> rests_;
};

}  // namespace quern::near_duplicates_detail
