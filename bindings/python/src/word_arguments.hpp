// SPDX-License-Identifier: Apache-2.0
// Words that Python passes: one, or many.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string_view>
#include <vector>

#include "table.hpp"

namespace quern::python {

/// The UTF-8 form of a str, as long as it lives; empty if it has lone surrogates, which no word contains. Throws
/// TypeError with the name of the parameter for anything else.
std::string_view word_of(std::string_view name, nanobind::handle given);

/// Words of an iterable of str, or of one column of Arrow (`__arrow_c_stream__`, `__arrow_c_array__`); None and a null are
/// empty words. Made and destroyed with the interpreter's lock; the words may be read without it.
class word_arguments {
  public:
    /// Throws TypeError, and usage_error for another type of column and for a table of several columns.
    word_arguments(std::string_view name, nanobind::handle given);
    std::span<const std::string_view> words() const { return words_; }

  private:
    void take_stream(std::string_view name, nanobind::handle capsule);
    void take_array(nanobind::handle schema, nanobind::handle array);

    nanobind::object kept_;
    text_column copied_;  ///< of Arrow
    std::vector<std::string_view> words_;
};

}  // namespace quern::python
