// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "io/store/section.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

/// The entry of a finished section in the manifest.
inline store_section listed_section(std::string_view name, const io::section_writer::summary& finished) {
    return {std::string(name), finished.file_bytes, finished.checksum};
}

}  // namespace quern
