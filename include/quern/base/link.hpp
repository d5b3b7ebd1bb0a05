// SPDX-License-Identifier: Apache-2.0
// A link between two nodes of a graph, or documents of a collection.
#pragma once

#include <cstdint>

namespace quern {

struct link {
    std::uint32_t from, to;
    friend bool operator==(const link&, const link&) = default;
};

}  // namespace quern
