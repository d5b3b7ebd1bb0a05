// SPDX-License-Identifier: Apache-2.0
#include "quern/base/document.hpp"

#include <utility>

namespace quern {

reading_counts& reading_counts::operator+=(const reading_counts& other) {
    documents += other.documents;
    redirects += other.redirects;
    rejected += other.rejected;
    damaged += other.damaged;
    truncated += other.truncated;
    incomplete += other.incomplete;
    for (const auto& [reason, count] : other.skipped) skipped[reason] += count;
    return *this;
}

too_much_lost::too_much_lost(const input_issue& first, std::string_view why, std::vector<input_issue> issues)
    : invalid_input(first.path, first.line, first.reason + " (" + std::string(why) + ")"),
      issues_(std::move(issues)) {}

}  // namespace quern
