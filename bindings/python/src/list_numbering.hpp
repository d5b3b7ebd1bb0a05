// SPDX-License-Identifier: Apache-2.0
// The numbers of the objects of ranked lists, by their ids.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "held_list.hpp"

namespace quern::python {

inline constexpr std::uint32_t max_objects = std::numeric_limits<std::uint32_t>::max() - 1;

/// Numbers below `size` for the ids of all lists, in their order: as numbers if all are integers, else by bytes.
struct numbering {
    std::uint32_t size = 0;
    std::vector<std::uint64_t> integers;  ///< by number; empty: the ids are the numbers
    std::vector<std::string> texts;       ///< by number, if the ids are texts

    bool is_identity() const { return integers.empty() && texts.empty(); }
};

/// Numbers the ids of all lists. `objects`: given by the caller; ids that are whole numbers must be below it.
numbering number_ids(std::deque<held_list>& lists, const std::optional<std::uint32_t>& objects);

}  // namespace quern::python
