// SPDX-License-Identifier: Apache-2.0
// The doors: what is asked for is checked, the place and the method are chosen.
#include <algorithm>
#include <string>

#include "device/place.hpp"
#include "ops/top_k/automatic.hpp"
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

/// By a named method, or ours.
template <class Score>
top_k_result on_cpu(cpu_place& place, const scoring& rule, std::span<const ranked_list_view<Score>> lists,
                    std::uint32_t objects, const top_k_options& options) {
    if (options.method != top_k_method::automatic) {
        list_cursors cursors = cursors_of(rule, lists, objects);
        return result_of(by_method(place, rule, cursors, objects, options), cursors);
    }
    const automatic_answer answer = automatic<Score>(place, rule, lists, objects, options.k);
    top_k_result result = result_of(answer.found, {});
    result.depths = answer.depths;
    for (std::size_t i = 0; i < lists.size(); ++i) result.read_all &= answer.depths[i] == lists[i].ids.size();
    return result;
}

}  // namespace

template <class Score>
top_k_result top_k(std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                   const top_k_options& options, const context& run) {
    require_cpu(run, "top-k of lists");
    const scoring rule(rules_of(lists), options);
    cpu_place place(run);
    top_k_result result = on_cpu(place, rule, lists, objects, options);
    result.place = "cpu";
    return result;
}
template top_k_result top_k(std::span<const ranked_list_view<float>>, std::uint32_t, const top_k_options&,
                            const context&);
template top_k_result top_k(std::span<const ranked_list_view<double>>, std::uint32_t, const top_k_options&,
                            const context&);

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
