// SPDX-License-Identifier: Apache-2.0
#include "device/fault.hpp"

#include <string>

#include "quern/base/error.hpp"

namespace quern {

void throw_fault(fault kind, std::uint64_t position) {
    const std::string at = std::to_string(position);
    switch (kind) {
        case fault::key_not_a_number:
            throw invalid_value("key " + at + " is not a number", position);
        case fault::sample_out_of_range:
            throw invalid_value("sample " + at + " has no bin", position);
        case fault::offsets_not_rising:
            throw invalid_value("the offsets do not rise from 0 to the number of items: see segment " + at,
                                position);
    }
    throw device_error("a kernel recorded a fault of unknown kind " + std::to_string(static_cast<int>(kind)));
}

}  // namespace quern
