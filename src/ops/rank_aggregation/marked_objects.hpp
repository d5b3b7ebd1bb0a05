// SPDX-License-Identifier: Apache-2.0
// Which objects were seen in which lists: bits for many objects, values for a few.
//
// One bit for each object and list: whether the object was seen there. A bitmap of ten million objects is 1.25 MB and stays
// in a core's cache, where a table of values would not. So marking costs about a nanosecond per entry, and a second pass
// fetches values for the few relevant objects.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "device/array.hpp"

namespace quern::rank_aggregation_detail {

using bitmap = std::span<std::uint64_t>;

class object_bitmaps {
  public:
    object_bitmaps(cpu_place& place, std::size_t lists, std::uint32_t objects);

    std::size_t words() const { return words_; }
    /// False if one of them was already marked. Threads may mark different lists in parallel.
    bool set_bit(std::size_t list, std::span<const std::uint32_t> ids);
    /// Finds objects that are in some list and lack at most `missing_lists` of those in `undecided`; returns their number.
    std::uint64_t missing_at_most(std::size_t missing_lists, const std::vector<std::size_t>& undecided,
                                  bitmap objects);
    /// The number of objects that are in both lists.
    std::uint64_t in_both(std::size_t a, std::size_t b) const;

  private:
    static constexpr std::size_t block = 256;  ///< words processed at a time

    std::uint64_t missing_in_block(std::size_t missing_lists, const std::vector<std::size_t>& undecided,
                                   std::size_t begin, std::size_t end, std::uint64_t* missing_bits,
                                   bitmap objects) const;
    std::span<std::uint64_t> bitmap_of(std::size_t list) const {
        return {bitmaps_.data() + list * words_, words_};
    }

    cpu_place& place_;
    std::size_t lists_, words_;
    cpu_array<std::uint64_t> bitmaps_;
};

/// A few of many objects, each with a row of values: one per list, as far as it was seen there. Memory depends on these few,
/// not on the number of possible objects.
class object_rows {
  public:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    /// Marks a value that was not seen.
    static constexpr double unseen = std::numeric_limits<double>::quiet_NaN();

    explicit object_rows(std::size_t lists) : lists_(lists), table_(64, none) {}

    std::uint32_t size() const { return static_cast<std::uint32_t>(ids_.size()); }
    std::uint32_t id(std::uint32_t row) const { return ids_[row]; }
    std::span<const double> values(std::uint32_t row) const {
        return std::span(values_).subspan(row * lists_, lists_);
    }
    /// The object's row, or none.
    std::uint32_t row_of(std::uint32_t id) const { return table_[slot_of(id)]; }
    /// The object's row, a new one if it has none.
    std::uint32_t add(std::uint32_t id) {
        if (2 * (ids_.size() + 1) > table_.size()) grow(4 * table_.size());
        std::uint32_t& row = table_[slot_of(id)];
        if (row == none) {
            row = size();
            ids_.push_back(id);
            values_.resize(values_.size() + lists_, unseen);
        }
        return row;
    }
    /// False if the object was already seen in the list. Threads may set values of different lists in parallel.
    bool see(std::uint32_t row, std::size_t list, double value) {
        double& at = values_[row * lists_ + list];
        const bool fresh = std::isnan(at);
        at = value;
        return fresh;
    }
    void clear() {
        ids_.clear();
        values_.clear();
        table_.assign(64, none);
    }

  private:
    std::size_t slot_of(std::uint32_t id) const {
        std::size_t at = (id * std::uint64_t{0x9e3779b97f4a7c15u} >> 32) & (table_.size() - 1);
        while (table_[at] != none && ids_[table_[at]] != id) at = (at + 1) & (table_.size() - 1);
        return at;
    }
    void grow(std::size_t size) {
        table_.assign(size, none);
        for (std::uint32_t row = 0; row < ids_.size(); ++row) table_[slot_of(ids_[row])] = row;
    }

    std::size_t lists_;
    std::vector<std::uint32_t> table_;  ///< rows, by id; a power of two, at most half full
    std::vector<std::uint32_t> ids_;
    std::vector<double> values_;
};

}  // namespace quern::rank_aggregation_detail
