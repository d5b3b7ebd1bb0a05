// SPDX-License-Identifier: Apache-2.0
#include "unknown_word.hpp"

#include <nanobind/stl/string.h>

#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

nb::handle unknown_word;  ///< lives as long as the interpreter, like the other exception classes

}  // namespace

void declare_unknown_word(nb::module_& module) {
    constexpr int exit_code_of_similar = 1;
    nb::dict members;
    members["__module__"] = "quern";
    members["__doc__"] =
        "A word that a thesaurus or a dictionary lacks: `word`, and `near`, words of nearly its spelling.";
    members["exit_code"] = exit_code_of_similar;
    // That of KeyError shows a message in quotes.
    members["__str__"] = nb::handle(PyExc_BaseException).attr("__str__");
    nb::dict annotations;
    annotations["exit_code"] = "int";
    annotations["word"] = "str";
    annotations["near"] = "tuple[str, ...]";
    members["__annotations__"] = annotations;
    members["word"] = "";
    members["near"] = nb::tuple();
    const nb::object bases = nb::make_tuple(module.attr("Error"), nb::handle(PyExc_KeyError));
    nb::object made = nb::module_::import_("builtins").attr("type")("UnknownWord", bases, members);
    module.attr("UnknownWord") = made;
    unknown_word = made.release();
}

void raise_unknown_word(const std::string& message, std::string_view word,
                        std::span<const std::string> near) {
    nb::object made = unknown_word(text_object(message));
    nb::list names;
    for (const std::string& name : near) names.append(text_object(name));
    made.attr("word") = text_object(word);
    made.attr("near") = nb::tuple(names);
    PyErr_SetObject(unknown_word.ptr(), made.ptr());
    throw nb::python_error();
}

}  // namespace quern::python
