// SPDX-License-Identifier: Apache-2.0
// Values as users write them: numbers, sizes, devices. Each function throws a usage_error that says what was expected; none
// accepts trailing text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

/// A given text for a message: all of a short one, the beginning of a long one.
std::string shown(std::string_view text);

std::uint64_t parse_integer(std::string_view text, std::uint64_t min, std::uint64_t max);
double parse_number(std::string_view text);
/// Numbers separated by a comma or a blank.
std::vector<double> parse_numbers(std::string_view text);
/// `4096`, `512K`, `1.5G`, `2GiB`, `2GB`: a single letter and KiB, MiB … are powers of 1,024; KB, MB … of
/// 1,000.
std::uint64_t parse_size(std::string_view text);
/// `auto`, `cpu`, `cuda`, `cuda:N`, `cuda:N,M` (several GPUs, each once), `cuda:all`.
device_choice parse_device(std::string_view text);

}  // namespace quern
