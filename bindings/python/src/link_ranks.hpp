// SPDX-License-Identifier: Apache-2.0
// quern.LinkRanks: the ranks of a graph's nodes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "node_ids.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::python {

/// As quern.LinkRanks.
struct python_ranks {
    std::shared_ptr<const node_ids> ids;
    std::shared_ptr<const std::vector<double>> ranks, hubs;  ///< hubs: of hits, else null
    std::shared_ptr<const std::vector<std::uint32_t>> order;
    std::uint32_t iterations = 0;
    double change = 0, error = 0;
    bool converged = false;
    std::string place;
};

python_ranks result_of(std::shared_ptr<const node_ids> ids, link_ranks&& found);
/// The ids of all nodes: an array of whole numbers, or a list of texts.
nanobind::object ids_of(const node_ids& ids, std::uint32_t nodes);

void declare_ranks(nanobind::module_& module);

}  // namespace quern::python
