// SPDX-License-Identifier: Apache-2.0
// Small work, so that a GPU has loaded the code of an operation when the real work comes.
#pragma once

#include "quern/base/context.hpp"

namespace quern {

/// Compares a few texts, some of which are near-duplicates.
void compare_few_texts(const context& ctx);

/// Compares a few words by their contexts.
void compare_few_words(const context& ctx);

}  // namespace quern
