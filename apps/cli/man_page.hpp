// SPDX-License-Identifier: Apache-2.0
// Manual pages: help pages in the macros of man(7).
#pragma once

#include <span>
#include <string>

#include "help_page.hpp"

namespace quern::cli {

/// A page of section 1. Depends on nothing but its arguments: the same page gives the same bytes. `date` is
/// YYYY-MM-DD or empty, `see_also` the names of other pages of section 1.
std::string to_roff(const help_page& page, const std::string& date, std::span<const std::string> see_also);

/// "quern-build"; "quern" for the page of the program, which has no name.
std::string manual_name(const help_page& page);

}  // namespace quern::cli
