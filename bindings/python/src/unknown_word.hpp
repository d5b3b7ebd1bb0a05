// SPDX-License-Identifier: Apache-2.0
// The error for a word that a thesaurus or a dictionary lacks.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <string_view>

namespace quern::python {

/// Makes the class quern.UnknownWord, a KeyError. After declare_errors.
void declare_unknown_word(nanobind::module_& module);

/// Throws it with the members `word` and `near`, words of nearly its spelling. With the interpreter's lock.
[[noreturn]] void raise_unknown_word(const std::string& message, std::string_view word,
                                     std::span<const std::string> near = {});

}  // namespace quern::python
