// SPDX-License-Identifier: Apache-2.0
// The options of a build, checked and completed before anything is read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"

namespace quern {

/// The options of the build, with those of the store that it changes. Throws usage_error for those that are refused, and
/// for a folder that may not be replaced; as read_store_info for the store that it changes.
build_options checked_options(const build_options& request, const context& ctx);

/// Indexed fields are read as kept ones. Of an error about one that no record has: the reason with the option that the user gave.
std::optional<std::string> with_own_option(std::string_view reason, const std::vector<std::string>& indexed);

}  // namespace quern
