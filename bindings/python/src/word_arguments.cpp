// SPDX-License-Identifier: Apache-2.0
#include "word_arguments.hpp"

#include <nanobind/stl/string.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "arrow_interface.hpp"
#include "arrow_texts.hpp"
#include "errors.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

/// The first column of a batch; of a batch without columns, itself.
void append_batch(const arrow_schema& schema, arrow_texts& texts, const ArrowArray& batch, text_column& to) {
    if (schema.is_table()) {
        texts.set_column(batch, 0);
    } else {
        texts.set_batch(batch, 0);
    }
    for (std::int64_t row = 0; row < batch.length; ++row) to.add(texts.at(row).value_or(std::string_view()));
}

void require_one_column(std::string_view name, const arrow_schema& schema) {
    if (schema.is_table() && schema.names().size() != 1)
        refuse(std::string(name) + ": a table of " + std::to_string(schema.names().size()) +
               " columns (expected one column)");
}

struct released_array {
    ArrowArray array{};
    ~released_array() {
        if (array.release != nullptr) array.release(&array);
    }
};

}  // namespace

std::string_view word_of(std::string_view name, nb::handle given) {
    if (!nb::isinstance<nb::str>(given)) {
        const std::string message = std::string(name) + ": a value is of type " +
                                    nb::type_name(given.type()).c_str() + " (expected str)";
        throw nb::type_error(message.c_str());
    }
    Py_ssize_t size = 0;
    const char* const bytes = PyUnicode_AsUTF8AndSize(given.ptr(), &size);
    if (bytes == nullptr) {
        PyErr_Clear();
        return {};
    }
    return {bytes, static_cast<std::size_t>(size)};
}

word_arguments::word_arguments(std::string_view name, nb::handle given) {
    if (nb::isinstance<nb::str>(given)) {
        const std::string message = std::string(name) + ": expected several words, not one str";
        throw nb::type_error(message.c_str());
    }
    if (nb::hasattr(given, "__arrow_c_stream__")) {
        take_stream(name, given.attr("__arrow_c_stream__")());
    } else if (nb::hasattr(given, "__arrow_c_array__")) {
        const nb::object capsules = given.attr("__arrow_c_array__")();
        take_array(capsules[0], capsules[1]);
    } else {
        // A tuple of its own: another thread may change the list meanwhile.
        const nb::object all = nb::steal(PySequence_Tuple(given.ptr()));
        if (!all.is_valid()) throw nb::python_error();
        kept_ = all;
        for (const nb::handle word : nb::borrow<nb::tuple>(all))
            words_.push_back(word.is_none() ? std::string_view() : word_of(name, word));
        return;
    }
    for (std::size_t i = 0; i < copied_.size(); ++i) words_.push_back(copied_.at(i));
}

void word_arguments::take_stream(std::string_view name, nb::handle capsule) {
    auto* const stream =
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), arrow_stream_capsule));
    if (stream == nullptr) throw nb::python_error();
    const auto check = [&](int failure) {
        if (failure == 0) return;
        const char* const why = stream->get_last_error(stream);
        refuse(std::string(name) +
               ": the Arrow stream failed: " + (why == nullptr ? std::strerror(failure) : why));
    };
    ArrowSchema taken{};
    check(stream->get_schema(stream, &taken));
    const arrow_schema schema(taken);
    require_one_column(name, schema);
    arrow_texts texts(schema.column(0), std::string(name));
    while (true) {
        released_array batch;
        check(stream->get_next(stream, &batch.array));
        if (batch.array.release == nullptr) return;
        append_batch(schema, texts, batch.array, copied_);
    }
}

void word_arguments::take_array(nb::handle schema_capsule, nb::handle array_capsule) {
    auto* const schema_given =
        static_cast<ArrowSchema*>(PyCapsule_GetPointer(schema_capsule.ptr(), "arrow_schema"));
    if (schema_given == nullptr) throw nb::python_error();
    auto* const array_given =
        static_cast<ArrowArray*>(PyCapsule_GetPointer(array_capsule.ptr(), "arrow_array"));
    if (array_given == nullptr) throw nb::python_error();
    // Moved: the capsules have nothing to release.
    const arrow_schema schema(std::exchange(*schema_given, {}));
    released_array batch;
    batch.array = std::exchange(*array_given, {});
    require_one_column("words", schema);
    arrow_texts texts(schema.column(0), "words");
    append_batch(schema, texts, batch.array, copied_);
}

}  // namespace quern::python
