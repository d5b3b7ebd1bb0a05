// SPDX-License-Identifier: Apache-2.0
// A document of a run, as a view: a run of millions of lines need not be copied to be evaluated.
#pragma once

#include <string_view>

namespace quern {

struct retrieved_view {
    std::string_view id;
    double score = 0;
};

}  // namespace quern
