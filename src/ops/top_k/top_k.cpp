// SPDX-License-Identifier: Apache-2.0
// The doors: what is asked for is checked, the place and the method are chosen.
#include <algorithm>
#include <string>

#include "device/place.hpp"
#include "ops/top_k/methods.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/top_k.hpp"

namespace quern {
namespace {

using namespace top_k_detail;

template <class Lists>
std::vector<list_rule> rules_of(const Lists& lists) {
    std::vector<list_rule> rules;
    for (const auto& list : lists) rules.push_back({list.weight, list.floor});
    return rules;
}

found_objects by_method(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                        const top_k_options& options) {
    switch (options.method) {
        case top_k_method::nra:
            return nra(place, rule, lists, objects, options.k);
        case top_k_method::stream_combine:
            return stream_combine(place, rule, lists, objects, options.k);
        case top_k_method::segmented:
            return segmented(place, rule, lists, objects, options.k, options.stride);
        default:
            return lara(place, rule, lists, objects, options.k);
    }
}

top_k_result result_of(const found_objects& found, const list_cursors& lists) {
    top_k_result result;
    for (const scored_object& object : found.best) {
        result.ids.push_back(object.id);
        result.scores.push_back(object.score);
    }
    result.candidates = found.candidates;
    result.read_all = true;
    for (const auto& list : lists) {
        result.depths.push_back(list->depth());
        result.read_all &= list->ended();
    }
    return result;
}

}  // namespace

top_k_result top_k(std::span<const pulled_list> lists, std::uint32_t objects, const top_k_options& options,
                   const context& run) {
    require_cpu(run, "top-k of pulled lists");
    const scoring rule(rules_of(lists), options);
    cpu_place place(run);
    list_cursors cursors = cursors_of(rule, lists, objects);
    top_k_result result = result_of(by_method(place, rule, cursors, objects, options), cursors);
    result.place = "cpu (lists are pulled)";
    return result;
}

}  // namespace quern
