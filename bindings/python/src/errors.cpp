// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <nanobind/stl/string.h>

#include <exception>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "parameters.hpp"
#include "quern/base/document.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/search.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

/// The classes live as long as the interpreter: exceptions may be raised until its end.
struct error_classes {
    nb::handle base, usage, input, storage, memory, device, damaged, internal;
};
error_classes classes;

using member_types = std::initializer_list<std::pair<const char*, const char*>>;

/// `types`: of the members of an exception, by name, as Python code.
nb::handle make_class(nb::module_& module, const char* name, std::initializer_list<nb::handle> bases,
                      int exit_code, const char* doc, member_types types = {}) {
    nb::list parents;
    for (const nb::handle parent : bases) parents.append(parent);
    nb::dict members;
    members["__module__"] = "quern";
    members["__doc__"] = doc;
    members["exit_code"] = exit_code;
    nb::dict annotations;
    annotations["exit_code"] = "int";
    for (const auto& [member, type] : types) annotations[member] = type;
    members["__annotations__"] = annotations;
    nb::object made = nb::module_::import_("builtins").attr("type")(name, nb::tuple(parents), members);
    module.attr(name) = made;
    return made.release();
}

void raise(nb::handle type, const char* message) {
    const nb::object text = text_object(as_python(message));  // it may name a file that is not UTF-8
    PyErr_SetObject(type.ptr(), text.ptr());
}

void raise_with(nb::handle type, const char* message, const nb::dict& members) {
    nb::object made = type(text_object(as_python(message)));
    for (const auto& [name, value] : members) made.attr(name) = value;
    PyErr_SetObject(type.ptr(), made.ptr());
}

std::string in_words(const input_issue& issue) {
    return issue.path + (issue.line == 0 ? "" : ":" + std::to_string(issue.line)) + ": " + issue.reason;
}

void translate(const std::exception_ptr& failure, void*) {
    try {
        std::rethrow_exception(failure);
    } catch (const query_error& e) {
        nb::dict members;
        members["position"] = e.position();
        raise_with(classes.usage, (std::string(e.what()) + "\n  " + e.excerpt() + "\n  " + e.caret()).c_str(),
                   members);
    } catch (const usage_error& e) {
        raise(classes.usage, e.what());
    } catch (const invalid_input& e) {
        nb::dict members;
        members["path"] = text_object(e.path());
        members["line"] = e.line();
        if (const auto* const lost = dynamic_cast<const too_much_lost*>(&e)) {
            nb::list rejected;
            for (const input_issue& issue : lost->issues()) rejected.append(text_object(in_words(issue)));
            members["rejected"] = rejected;
        }
        raise_with(classes.input, e.what(), members);
    } catch (const invalid_value& e) {
        nb::dict members;
        members["position"] = e.position();
        raise_with(classes.input, e.what(), members);
    } catch (const io_error& e) {
        nb::dict members;
        members["errno"] = e.code();
        raise_with(classes.storage, e.what(), members);
    } catch (const out_of_memory& e) {
        raise(classes.memory, e.what());
    } catch (const device_error& e) {
        raise(classes.device, e.what());
    } catch (const damaged_store& e) {
        nb::dict members;
        members["section"] = e.section();
        raise_with(classes.damaged, e.what(), members);
    } catch (const interrupted&) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
    } catch (const std::bad_alloc&) {
        raise(classes.memory, "out of memory; reduce `memory` to spill to disk earlier");
    } catch (const std::filesystem::filesystem_error& e) {
        raise(classes.storage, e.what());
    } catch (const std::system_error& e) {
        raise(classes.storage, e.what());
    } catch (const error& e) {
        raise(classes.base, e.what());
    }
}

}  // namespace

void declare_errors(nb::module_& module) {
    const nb::handle value = PyExc_ValueError, system = PyExc_OSError, memory = PyExc_MemoryError,
                     run_time = PyExc_RuntimeError;
    classes.base =
        make_class(module, "Error", {nb::handle(PyExc_Exception)}, 70,
                   "The base of Quern's exceptions. `exit_code` is that of the program in the same case.");
    classes.usage = make_class(
        module, "UsageError", {classes.base, value}, 2,
        "The request is refused before any work: an invalid argument, a missing input, an existing output. A "
        "query that is not understood has `position`, in characters from 0.",
        {{"position", "int"}});
    classes.input = make_class(
        module, "InvalidInput", {classes.base, value}, 3,
        "The content of an input is invalid. A fault in a file has `path` and `line` (from 1, 0: unknown), "
        "and "
        "`rejected`, a list of texts, if too many documents were rejected; a fault in an array has "
        "`position` (from 0).",
        {{"path", "str"}, {"line", "int"}, {"rejected", "list[str]"}, {"position", "int"}});
    classes.storage = make_class(module, "StorageError", {classes.base, system}, 4,
                                 "The operating system refused to read or write; `errno` has its reason.");
    classes.memory = make_class(module, "OutOfMemory", {classes.base, memory}, 4,
                                "The operation needs more memory than the budget or the machine has.");
    classes.device =
        make_class(module, "DeviceError", {classes.base, run_time}, 4, "A device is missing or failed.");
    classes.damaged = make_class(module, "DamagedStore", {classes.base, system}, 5,
                                 "A store, space or dictionary is damaged, truncated, or of an unsupported "
                                 "version; `section` names the "
                                 "part.",
                                 {{"section", "str"}});
    nb::register_exception_translator(translate);
}

void refuse(const std::string& message) {
    throw usage_error(message);
}

}  // namespace quern::python
