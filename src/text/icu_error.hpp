// SPDX-License-Identifier: Apache-2.0
// What the error codes of ICU mean.
#pragma once

#include <unicode/utypes.h>

#include <new>
#include <stdexcept>
#include <string>

namespace quern::text {

/// Throws if a call of ICU has failed: std::bad_alloc if memory ran out, else std::runtime_error with `problem`.
inline void require_success(UErrorCode code, const std::string& problem) {
    if (code == U_MEMORY_ALLOCATION_ERROR) throw std::bad_alloc();
    if (U_FAILURE(code)) throw std::runtime_error(problem + ": " + u_errorName(code));
}

}  // namespace quern::text
