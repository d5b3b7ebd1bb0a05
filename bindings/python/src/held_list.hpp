// SPDX-License-Identifier: Apache-2.0
// A ranked list of Python in memory.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arrays.hpp"

namespace quern::python {

/// As messages name list `list` of a call.
std::string name_of_list(std::size_t list);

struct held_list {
    host_array id_array, score_array;
    std::vector<std::uint64_t> widened;
    std::span<const std::uint64_t> wide;    ///< ids of 64 bits
    std::span<const std::uint32_t> narrow;  ///< ids of 32 bits
    std::vector<nanobind::object> kept;
    std::vector<std::string> texts;  ///< ids that are texts
    std::vector<std::uint32_t> numbers;
    bool is_numbered = false;  ///< the ids are `numbers`, else `narrow`
    std::vector<double> doubles;

    std::size_t size() const { return score_array.size(); }
    std::span<const std::uint32_t> ids() const { return is_numbered ? numbers : narrow; }
};

/// Reads a pair (ids, scores), a list of entries (id, score) or a mapping of ids to scores, which is list `position` of a call.
void read_list(held_list& into, nanobind::handle whole, std::size_t position);

}  // namespace quern::python
