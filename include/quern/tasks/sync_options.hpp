// SPDX-License-Identifier: Apache-2.0
// The options of a build that is repeated to follow its inputs.
#pragma once

#include <string_view>

#include "quern/tasks/build.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

/// With build_options::sync the same request makes a store and follows its inputs, with the options of the store. Returns
/// the first of the request's options that the store was not built with: "keep_fields", "index_fields", "skip", "ngrams", "text
/// options", or nothing. `text`: the text options that were given, the others as in the store. Throws what recorded_text_options() throws.
std::string_view options_unlike_store(const build_options& options, const text_options& text,
                                      const store_info& store);

}  // namespace quern
