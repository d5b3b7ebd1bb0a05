// SPDX-License-Identifier: Apache-2.0
// Links and weights of arrays and lists of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "quern/base/context.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::python {

/// The nodes of the links: numbers below `nodes`.
std::uint32_t count_of_nodes(std::uint64_t nodes, std::string_view name);
/// Weights of float64, or of another type of numbers, widened.
std::span<const double> weights_of(nanobind::handle given, host_array& kept, std::vector<double>& widened,
                                   std::string_view name);
/// Texts of a list, a column of pandas or Arrow, or a NumPy array of str or objects, held by `kept`.
std::vector<std::string_view> texts_of(nanobind::handle given, std::vector<nanobind::object>& kept,
                                       std::string_view name);

/// An end of all links.
struct ends {
    host_array array;
    std::vector<std::uint64_t> widened;
    std::span<const std::uint64_t> wide;
    std::span<const std::uint32_t> narrow;  ///< of uint32 arrays, and of int32 without negative ones

    void read(nanobind::handle given, std::string_view name);
    bool is_narrow() const { return wide.empty() && !narrow.empty(); }
    std::size_t size() const { return is_narrow() ? narrow.size() : wide.size(); }
    std::uint64_t at(std::size_t i) const { return is_narrow() ? narrow[i] : wide[i]; }
    std::span<const std::uint64_t> widen() {
        if (is_narrow()) {
            widened.assign(narrow.begin(), narrow.end());
            wide = widened;
        }
        return wide;
    }
};

/// The graph of links between nodes that are numbers below `nodes`.
link_graph numbered_graph(const ends& from, const ends& to, std::span<const double> weights,
                          std::uint32_t nodes, const context& ctx);
/// Refuses sources, targets and weights of different numbers.
void check_as_many(std::size_t from, std::size_t to, std::size_t weights, bool weighted);

}  // namespace quern::python
