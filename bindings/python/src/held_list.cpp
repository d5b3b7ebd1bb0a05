// SPDX-License-Identifier: Apache-2.0
#include "held_list.hpp"

#include <nanobind/stl/string.h>

#include "errors.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

/// (ids, scores) of a mapping of ids to scores, or of a list of entries (id, score), which are tuples or, as from JSON,
/// lists; else what is given. A list of two such entries is two entries; a pair of ids and scores is a tuple.
nb::object pair_of(nb::handle given, const std::string& name) {
    const bool is_mapping = nb::hasattr(given, "items") && nb::hasattr(given, "keys");
    nb::object entries = is_mapping ? nb::object(nb::list(given.attr("items")())) : nb::borrow(given);
    if (!nb::isinstance<nb::list>(entries)) return entries;
    for (const nb::handle entry : entries)
        if (!nb::isinstance<nb::tuple>(entry) && !nb::isinstance<nb::list>(entry)) return entries;
    nb::list ids, scores;
    for (const nb::handle entry : entries) {
        if (nb::len(entry) != 2)
            refuse_type(name,
                        "a list to have entries (id, score); ids and scores apart are a tuple (ids, scores)",
                        "an entry of " + std::to_string(nb::len(entry)) + " values");
        ids.append(entry[0]);
        scores.append(entry[1]);
    }
    return nb::make_tuple(ids, scores);
}

}  // namespace

std::string name_of_list(std::size_t list) {
    return "lists[" + std::to_string(list) + "]";
}

void read_list(held_list& into, nb::handle whole, std::size_t position) {
    const std::string name = name_of_list(position);
    const nb::object given = pair_of(whole, name);
    const bool is_pair =
        (nb::isinstance<nb::tuple>(given) || nb::isinstance<nb::list>(given)) && nb::len(given) == 2;
    if (!is_pair)
        refuse_type(
            name,
            "a pair (ids, scores) of arrays, a list of tuples (id, score), a mapping of ids to scores, or "
            "an iterator of (id, score)",
            nb::cast<std::string>(nb::type_name(given.type())));
    const nb::object ids = given[0], scores = given[1];
    into.score_array =
        contiguous(read_array(list_as_array(scores, "float64"), name + " scores"), name + " scores");
    if (into.score_array.type != number_type::f32 && into.score_array.type != number_type::f64)
        refuse_type(name + " scores", "float64 or float32", name_of(into.score_array.type));
    if (into.score_array.dimensions() != 1)
        refuse_type(name + " scores", "an array of one dimension",
                    "one of shape " + into.score_array.shape_text());
    std::size_t count = 0;
    if (has_texts(ids)) {
        for (const nb::handle id : listed(ids)) {
            if (!nb::isinstance<nb::str>(id))
                refuse_type(name + " ids", "all to be texts, or all whole numbers",
                            nb::cast<std::string>(nb::repr(id)));
            Py_ssize_t size = 0;
            const char* const bytes = PyUnicode_AsUTF8AndSize(id.ptr(), &size);
            if (bytes == nullptr) throw nb::python_error();
            into.texts.emplace_back(bytes, static_cast<std::size_t>(size));
        }
        count = into.texts.size();
    } else {
        into.id_array = read_array(ids_as_array(ids, name + " ids"), name + " ids");
        if (into.id_array.type == number_type::u32) {
            into.narrow = numbers_of<std::uint32_t>(into.id_array, name + " ids");
            count = into.narrow.size();
        } else {
            into.wide = whole_numbers_of(into.id_array, into.widened, name + " ids");
            count = into.wide.size();
        }
    }
    if (count != into.size())
        refuse(name + ": " + std::to_string(count) + " ids and " + std::to_string(into.size()) + " scores");
}

}  // namespace quern::python
