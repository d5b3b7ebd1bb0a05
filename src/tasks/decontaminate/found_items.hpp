// SPDX-License-Identifier: Apache-2.0
// The items that a task found in a document, as bytes (tasks/cluster/document_findings.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/ops/contamination.hpp"

namespace quern {

std::string bytes_of_matches(std::span<const contamination> matches);
/// `document` is 0. `items`: how many there are; `job`: for messages. Throws damaged_store.
std::vector<contamination> matches_of_bytes(std::string_view bytes, std::uint32_t items,
                                            const std::filesystem::path& job);

}  // namespace quern
