// SPDX-License-Identifier: Apache-2.0
// A summary of what rules excluded from a corpus, in words.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace quern {

/// "4 files: 3 .pdf, 1 .docx; 2 hidden files", from reading_counts::skipped: reasons in byte order; the most
/// frequent extensions of a reason first, at most six. Empty if nothing was excluded.
std::string excluded_in_words(const std::map<std::string, std::uint64_t>& skipped);

}  // namespace quern
