// SPDX-License-Identifier: Apache-2.0
#include "link_arrays.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>

#include "errors.hpp"
#include "quern/base/error.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {

std::uint32_t count_of_nodes(std::uint64_t nodes, std::string_view name) {
    constexpr std::uint64_t most = 0xfffffffd;
    if (nodes > most)
        refuse(std::string(name) + ": " + std::to_string(nodes) + " nodes (expected at most 4294967293)");
    return static_cast<std::uint32_t>(nodes);
}

std::span<const double> weights_of(nb::handle given, host_array& kept, std::vector<double>& widened,
                                   std::string_view name) {
    kept = read_array(given, name);
    if (kept.type == number_type::f64) return numbers_of<double>(kept, name);
    if (kept.type == number_type::f32) {
        const auto narrow = numbers_of<float>(kept, name);
        widened.assign(narrow.begin(), narrow.end());
        return widened;
    }
    using enum number_type;
    if (kept.type == boolean || kept.type == f16 || kept.type == bf16)
        refuse_type(name, "numbers of float64, float32 or an integer type", name_of(kept.type));
    std::vector<std::uint64_t> buffer;
    for (const std::uint64_t value : whole_numbers_of(kept, buffer, name, "positive numbers"))
        widened.push_back(static_cast<double>(value));
    return widened;
}

std::vector<std::string_view> texts_of(nb::handle given, std::vector<nb::object>& kept,
                                       std::string_view name) {
    std::vector<std::string_view> texts;
    for (const nb::handle one : listed(given)) {
        if (PyUnicode_Check(one.ptr()) == 0)
            refuse_type(
                name, "all ids to be texts, or all whole numbers",
                nb::cast<std::string>(nb::repr(one)) + " at position " + std::to_string(texts.size()));
        Py_ssize_t size = 0;
        const char* const bytes = PyUnicode_AsUTF8AndSize(one.ptr(), &size);
        if (bytes == nullptr) throw nb::python_error();
        texts.emplace_back(bytes, static_cast<std::size_t>(size));
        kept.push_back(nb::borrow(one));
    }
    return texts;
}

void ends::read(nb::handle given, std::string_view name) {
    array = read_array(ids_as_array(given, name), name);
    const bool is_int32 = array.type == number_type::i32 && array.dimensions() == 1;
    if ((array.type == number_type::u32 && array.dimensions() == 1) || is_int32) {
        array = contiguous(std::move(array), name);
        narrow = {reinterpret_cast<const std::uint32_t*>(array.data), array.size()};
        if (is_int32) {
            const auto at = std::ranges::find_if(narrow, [](std::uint32_t id) { return id >> 31 != 0; });
            if (at != narrow.end())
                refuse(std::string(name) + "[" + std::to_string(at - narrow.begin()) +
                       "] is negative (expected whole numbers of at least 0)");
        }
        return;
    }
    wide = whole_numbers_of(array, widened, name);
}

link_graph numbered_graph(const ends& from, const ends& to, std::span<const double> weights,
                          std::uint32_t nodes, const context& ctx) {
    std::vector<link> links(from.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
        const std::uint64_t source = from.at(i), target = to.at(i);
        if (source >= nodes || target >= nodes)
            throw usage_error("link " + std::to_string(i) + " from " + std::to_string(source) + " to " +
                              std::to_string(target) + ", but there are " + std::to_string(nodes) + " nodes");
        links[i] = {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(target)};
    }
    return make_link_graph(nodes, links, weights, ctx);
}

void check_as_many(std::size_t from, std::size_t to, std::size_t weights, bool weighted) {
    if (from != to)
        refuse(std::to_string(from) + " sources and " + std::to_string(to) +
               " targets (expected one of each per link)");
    if (weighted && weights != from)
        refuse("weights: " + std::to_string(weights) + " for " + std::to_string(from) + " links");
}

}  // namespace quern::python
