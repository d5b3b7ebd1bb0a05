// SPDX-License-Identifier: Apache-2.0
// Texts and paths between Python and the library.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace quern::python {

/// Whether it is a str or a path object.
bool is_path(nanobind::handle given);

/// A text as str: bytes that are not UTF-8, as in the names of files, become surrogates, as in os.fsdecode.
nanobind::object text_object(std::string_view text);
/// The inverse of text_object; TypeError "expected a str, not int" beginning with `what` for other types.
std::string text_argument(std::string_view what, nanobind::handle given);

}  // namespace quern::python
