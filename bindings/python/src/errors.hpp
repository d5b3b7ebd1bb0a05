// SPDX-License-Identifier: Apache-2.0
// Errors of the library as Python exceptions.
#pragma once

#include <nanobind/nanobind.h>

namespace quern::python {

/// Makes the exception classes, quern.Error and those derived from it, and translates the library's errors to them. Each
/// class has the exit code of the program as `exit_code`.
void declare_errors(nanobind::module_& module);

/// UsageError for a value that Python passed: what is wrong, what was expected.
[[noreturn]] void refuse(const std::string& message);

}  // namespace quern::python
