// SPDX-License-Identifier: Apache-2.0
// The texts of documents in memory.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace quern::python {

/// A str as one that UTF-8 can represent: lone surrogates become U+FFFD, as in JSON lines, and pairs of them characters.
nanobind::object without_lone_surrogates(nanobind::handle text);
/// A str as UTF-8, without lone surrogates; TypeError "text must be a str, not int" beginning with `what` for other types.
std::string document_text(std::string_view what, nanobind::handle given);

}  // namespace quern::python
