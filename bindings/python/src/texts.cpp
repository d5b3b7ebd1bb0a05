// SPDX-License-Identifier: Apache-2.0
#include "texts.hpp"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace quern::python {

bool is_path(nb::handle given) {
    return nb::isinstance<nb::str>(given) || nb::hasattr(given, "__fspath__");
}

nb::object text_object(std::string_view text) {
    PyObject* const made =
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
    if (made == nullptr) throw nb::python_error();
    return nb::steal(made);
}

std::string text_argument(std::string_view what, nb::handle given) {
    if (!nb::isinstance<nb::str>(given)) {
        throw nb::type_error((std::string(what) + " must be a str, not " +
                              nb::cast<std::string>(nb::str(given.type().attr("__name__"))))
                                 .c_str());
    }
    Py_ssize_t bytes = 0;
    if (const char* const plain = PyUnicode_AsUTF8AndSize(given.ptr(), &bytes))
        return {plain, static_cast<std::size_t>(bytes)};
    PyErr_Clear();
    const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(given.ptr(), "utf-8", "surrogateescape"));
    if (!encoded.is_valid()) throw nb::python_error();
    return {PyBytes_AsString(encoded.ptr()), static_cast<std::size_t>(PyBytes_Size(encoded.ptr()))};
}

}  // namespace quern::python
