// SPDX-License-Identifier: Apache-2.0
// Releases a container's memory at once. `v = {}` does not: for vectors it assigns an empty list, for strings it moves
// from a short one, and both keep the capacity.
#pragma once

namespace quern {

template <typename Container>
void release(Container& container) {
    Container().swap(container);
}

}  // namespace quern
