// SPDX-License-Identifier: Apache-2.0
// Vectors as the arguments of Python: arrays of the host and of a GPU, sparse rows, files.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrays.hpp"
#include "parameters.hpp"
#include "quern/ops/nearest.hpp"
#include "quern/tasks/opened_files.hpp"

namespace quern::python {

/// The keyword arguments of VectorSet.
struct set_call : call {
    vector_set_options options;
    bool has_metric = false;
    std::optional<std::uint64_t> bits;
    std::string tensor;
};

/// Vectors in memory that this object keeps.
struct held_vectors {
    nanobind::object source;  ///< as given by the user
    host_array values;
    std::vector<std::uint64_t> offsets;  ///< copies, if the arrays are of other types
    std::vector<std::uint32_t> columns;
    host_array offset_values, column_values;
    std::optional<vectors_file> file;

    bool is_sparse = false, is_single = false;  ///< single: an array of one dimension
    vectors_view dense;
    sparse_vectors_view sparse;
    std::optional<device_vectors_view> device;  ///< of a GPU; `dense` has the form, and no values

    std::uint64_t rows() const { return is_sparse ? sparse.rows : dense.rows; }
    std::uint32_t dimensions() const { return is_sparse ? sparse.dimensions : dense.dimensions; }
};

/// `name`: "x", "queries". Throws as read_array, and TypeError for what is no vectors.
void read_vectors(held_vectors& into, nanobind::handle given, const set_call& requested,
                  std::string_view name);

}  // namespace quern::python
