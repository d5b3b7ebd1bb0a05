// SPDX-License-Identifier: Apache-2.0
// What quern wrote is no corpus: read as one, its files would be documents.
#pragma once

#include <filesystem>

namespace quern {

/// Throws usage_error where an input is a store, what dedup remembers, a space or a dictionary.
void refuse_own_output(const std::filesystem::path& input);

}  // namespace quern
