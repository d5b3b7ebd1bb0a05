// SPDX-License-Identifier: Apache-2.0
#include "io/graph/graph_of_ids.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "io/graph/numbering.hpp"
#include "io/lines/numbers.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

constexpr std::string_view input = "the ids of a graph";
constexpr std::uint64_t between_stops = std::uint64_t{1} << 20;

/// Numbers links whose ends are given by `end_of(side, i)`: narrow ids, or numbers of a table in `ids`.
template <class Link>
named_graph numbered(std::uint64_t size, ids_read ids, id_range range, const Link& link_at,
                     const context& ctx) {
    cpu_place place(ctx);
    named_graph result;
    result.link_list = large_array<link>(place.memory(), "the links of a graph", size);
    for (std::uint64_t i = 0; i < size; ++i) {
        if (i % between_stops == 0) ctx.check_stop();
        result.link_list[i] = link_at(i);
    }
    range.begin = 0;
    range.end = size;
    ids.ranges = {range};
    result.names = number_nodes(place, result.link_list.span(), ids, input);
    result.link_list.settle();
    return result;
}

void check_names(std::span<const std::string_view> names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].empty()) throw invalid_value("id " + std::to_string(i) + " is empty", i);
        if (std::ranges::any_of(names[i], [](char c) { return static_cast<unsigned char>(c) < ' '; }))
            throw invalid_value("id " + std::to_string(i) + " has a control character", i);
    }
}

}  // namespace

named_graph graph_of_ids(std::span<const std::uint32_t> from, std::span<const std::uint32_t> to,
                         const context& ctx) {
    ids_read ids;
    for (const auto ends : {from, to}) {
        for (const std::uint32_t id : ends) {
            ids.least = std::min(ids.least, id);
            ids.largest = std::max(ids.largest, id);
        }
    }
    return numbered(
        from.size(), ids, {.kind = id_kind::narrow},
        [&](std::uint64_t i) {
            return link{from[i], to[i]};
        },
        ctx);
}

named_graph graph_of_ids(std::span<const std::uint64_t> from, std::span<const std::uint64_t> to,
                         const context& ctx) {
    std::uint64_t least = ~std::uint64_t{0}, largest = 0;
    for (const auto ends : {from, to}) {
        for (const std::uint64_t id : ends) {
            least = std::min(least, id);
            largest = std::max(largest, id);
        }
    }
    ids_read ids;
    if (largest <= std::numeric_limits<std::uint32_t>::max()) {
        if (!from.empty()) ids.least = static_cast<std::uint32_t>(least);
        ids.largest = static_cast<std::uint32_t>(largest);
        return numbered(
            from.size(), ids, {.kind = id_kind::narrow},
            [&](std::uint64_t i) {
                return link{static_cast<std::uint32_t>(from[i]), static_cast<std::uint32_t>(to[i])};
            },
            ctx);
    }
    integer_table table;
    ids.integers = {&table};
    return numbered(
        from.size(), ids, {.kind = id_kind::wide, .integers = &table},
        [&](std::uint64_t i) {
            return link{table.number_of(from[i]), table.number_of(to[i])};
        },
        ctx);
}

named_graph graph_of_ids(std::span<const std::string_view> from, std::span<const std::string_view> to,
                         const context& ctx) {
    std::vector<std::uint64_t> integers[2];
    bool all_integers = true;
    for (const auto side : {0, 1}) {
        const auto names = side == 0 ? from : to;
        check_names(names);
        for (std::size_t i = 0; i < names.size() && all_integers; ++i) {
            const auto value = integer_of(names[i]);
            all_integers = value.has_value();
            if (value) integers[side].push_back(*value);
        }
    }
    if (all_integers) return graph_of_ids(std::span<const std::uint64_t>(integers[0]), integers[1], ctx);
    for (auto& unused : integers) unused = {};
    word_table table;
    ids_read ids;
    ids.words = {&table};
    return numbered(
        from.size(), ids, {.kind = id_kind::word, .words = &table},
        [&](std::uint64_t i) {
            const std::string_view ends[] = {from[i], to[i]};
            std::uint32_t numbers[2];
            table.numbers_of(ends, numbers);
            return link{numbers[0], numbers[1]};
        },
        ctx);
}

}  // namespace quern::io
