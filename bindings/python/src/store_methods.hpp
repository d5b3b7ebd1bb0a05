// SPDX-License-Identifier: Apache-2.0
// The methods of quern.Store are declared in several files; what these share.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string_view>

#include "parameters.hpp"
#include "store.hpp"

namespace quern::python {

/// search, count_matches, complete, search_many and explain.
void declare_searches(nanobind::class_<store>& to);
/// similar, contexts and count.
void declare_words(nanobind::class_<store>& to);

/// The parameters of a method that takes only those which all methods take.
const parameters<call>& common_parameters(const char* function);

/// The number of the document with this id. Throws usage_error, with a similar id if there is one; `what` begins its text.
std::uint32_t number_of_id(const opened_folder& of, std::string_view id, const char* what);

}  // namespace quern::python
