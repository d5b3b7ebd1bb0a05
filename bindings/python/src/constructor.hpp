// SPDX-License-Identifier: Apache-2.0
// The arguments of constructors. nanobind's own message for a call that does not fit shows whole signatures.
#pragma once

#include <nanobind/nanobind.h>

namespace quern::python {

struct constructor_call {
    nanobind::object argument;
    nanobind::kwargs options;
};

/// Of a class whose constructor takes one argument, by position or by name, besides options. Throws TypeError.
constructor_call call_with(const char* argument, const char* made, const nanobind::args& given,
                           const nanobind::kwargs& options);
/// Of one without options.
nanobind::object only_argument(const char* argument, const char* made, const nanobind::args& given,
                               const nanobind::kwargs& options);
/// For a constructor that takes options alone. Throws TypeError.
void refuse_positional(const char* made, const nanobind::args& given);

/// Gives the classes of the module that have no constructor one that says so.
void refuse_constructors_of_results(nanobind::module_& module);

}  // namespace quern::python
