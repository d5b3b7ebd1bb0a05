// SPDX-License-Identifier: Apache-2.0
#include "quern/base/document.hpp"

namespace quern {

reading_counts& reading_counts::operator+=(const reading_counts& other) {
    documents += other.documents;
    redirects += other.redirects;
    rejected += other.rejected;
    damaged += other.damaged;
    cut += other.cut;
    for (const auto& [reason, count] : other.skipped) skipped[reason] += count;
    return *this;
}

}  // namespace quern
