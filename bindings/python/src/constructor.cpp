// SPDX-License-Identifier: Apache-2.0
#include "constructor.hpp"

#include <string>

namespace nb = nanobind;

namespace quern::python {
namespace {

[[noreturn]] void refuse_call(const char* made, const std::string& why) {
    throw nb::type_error((std::string(made) + "(): " + why).c_str());
}

}  // namespace

constructor_call call_with(const char* argument, const char* made, const nb::args& given,
                           const nb::kwargs& options) {
    constructor_call call{nb::object(), nb::steal<nb::kwargs>(PyDict_Copy(options.ptr()))};
    if (!call.options.is_valid()) throw nb::python_error();
    if (given.size() > 1) refuse_call(made, "too many positional arguments");
    const bool is_named = options.contains(argument);
    if (given.size() == 1 && is_named)
        refuse_call(made, std::string("multiple values for argument '") + argument + "'");
    if (given.size() == 0 && !is_named)
        refuse_call(made, std::string("missing a required argument: '") + argument + "'");
    if (is_named) {
        call.argument = options[argument];
        nb::del(call.options[argument]);
    } else {
        call.argument = given[0];
    }
    return call;
}

nb::object only_argument(const char* argument, const char* made, const nb::args& given,
                         const nb::kwargs& options) {
    const constructor_call call = call_with(argument, made, given, options);
    for (const auto& [name, _] : call.options)
        refuse_call(made, "got an unexpected keyword argument '" + nb::cast<std::string>(name) + "'");
    return call.argument;
}

void refuse_positional(const char* made, const nb::args& given) {
    if (given.size() != 0) refuse_call(made, "too many positional arguments");
}

void refuse_constructors_of_results(nb::module_& module) {
    const nb::dict names = nb::borrow<nb::dict>(module.attr("__dict__"));
    for (const nb::handle value : names.values()) {
        if (!nb::type_check(value)) continue;
        const nb::object constructor = value.attr("__dict__")["__init__"];
        if (Py_TYPE(constructor.ptr()) != &PyWrapperDescr_Type) continue;  // it has one
        const std::string why = nb::cast<std::string>(value.attr("__name__")) +
                                " has no constructor: functions and methods of quern return such an object";
        nb::cpp_function_def(
            [why](nb::handle, const nb::args&, const nb::kwargs&) { throw nb::type_error(why.c_str()); },
            nb::scope(value), nb::name("__init__"), nb::is_method(),
            nb::sig("def __init__(self, *args: object, **options: object) -> None"));
    }
}

}  // namespace quern::python
