// SPDX-License-Identifier: Apache-2.0
#include "node_ids.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "parameters.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {

std::string text_of_id(nb::handle id) {
    if (nb::isinstance<nb::str>(id)) return text_argument("ids", id);
    if (PyBool_Check(id.ptr()) == 0 && PyIndex_Check(id.ptr()) != 0) {
        const nb::object whole = nb::steal(PyNumber_Index(id.ptr()));
        if (!whole.is_valid()) throw nb::python_error();
        return nb::cast<std::string>(nb::str(whole));
    }
    refuse_type("ids", "texts or whole numbers", nb::cast<std::string>(nb::repr(id)));
}

nb::object python_id(const node_ids& ids, std::uint32_t node) {
    const std::string text = ids.text(node);
    if (ids.are_integers()) return nb::steal(PyLong_FromString(text.c_str(), nullptr, 10));
    return text_object(text);
}

}  // namespace quern::python
