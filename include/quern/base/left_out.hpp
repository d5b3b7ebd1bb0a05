// SPDX-License-Identifier: Apache-2.0
// What a corpus held and a rule left out, in words.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace quern {

/// "4 binary files, 13 files of another kind (12 .csv, 1 .xml)", of reading_counts::skipped: reasons by bytes; the most
/// frequent extensions of a reason first, six at most. Empty where nothing was left out.
std::string left_out_in_words(const std::map<std::string, std::uint64_t>& skipped);

}  // namespace quern
