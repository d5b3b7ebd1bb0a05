// SPDX-License-Identifier: Apache-2.0
// Refuses Quern's own output as a corpus: its files would be read as documents.
#pragma once

#include <filesystem>

namespace quern {

/// Throws usage_error if an input is a store, a store of dedup, a word space or a dictionary.
void refuse_own_output(const std::filesystem::path& input);

}  // namespace quern
