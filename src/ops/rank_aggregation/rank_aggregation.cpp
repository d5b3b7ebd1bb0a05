// SPDX-License-Identifier: Apache-2.0
// The entry points: check the options, choose the place and the method.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "device/resident.hpp"
#include "ops/rank_aggregation/aggregation_methods.hpp"
#include "ops/rank_aggregation/device_lists.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/rank_aggregation.hpp"

namespace quern {
namespace {

using namespace rank_aggregation_detail;

template <class Lists>
std::vector<list_rule> rules_of(const Lists& lists) {
    std::vector<list_rule> rules;
    for (const auto& list : lists) rules.push_back({list.weight, list.floor});
    return rules;
}

found_objects by_method(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                        const aggregation_options& options) {
    switch (options.method) {
        case aggregation_method::nra:
            return nra(place, rule, lists, objects, options.k);
        case aggregation_method::stream_combine:
            return stream_combine(place, rule, lists, objects, options.k);
        case aggregation_method::segmented:
            return segmented(place, rule, lists, objects, options.k, options.stride);
        default:
            return lara(place, rule, lists, objects, options.k);
    }
}

aggregation_result result_of(const found_objects& found, const list_cursors& lists) {
    aggregation_result result;
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

/// By a named method, or by our own.
template <class Score>
aggregation_result on_cpu(cpu_place& place, const scoring& rule,
                          std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                          const aggregation_options& options, const reading_costs& costs) {
    if (options.method != aggregation_method::automatic) {
        list_cursors cursors = cursors_of(rule, lists, objects);
        return result_of(by_method(place, rule, cursors, objects, options), cursors);
    }
    const automatic_result raw_result = automatic<Score>(place, rule, lists, objects, options.k, costs);
    aggregation_result result = result_of(raw_result.found, {});
    result.depths = raw_result.depths;
    for (std::size_t i = 0; i < lists.size(); ++i)
        result.read_all &= raw_result.depths[i] == lists[i].ids.size();
    return result;
}

/// Limits k to the number of objects.
aggregation_options clipped(aggregation_options options, std::uint32_t objects) {
    options.k = std::min(options.k, std::max(objects, std::uint32_t{1}));
    return options;
}

/// Adds the place of execution. Throws invalid_value for a score outside the range of double.
aggregation_result finished(aggregation_result result, const std::string& where) {
    // Best first: scores outside the range of double are at an end.
    for (const std::size_t at : {std::size_t{0}, result.scores.size() - 1}) {
        if (result.scores.empty() || std::isfinite(result.scores[at])) continue;
        throw invalid_value("its object's score over all lists exceeds the range of double", result.ids[at]);
    }
    result.place = where;
    return result;
}

constexpr const char* operation = "top-k of lists";

/// The name used to reject a method without kernels when CUDA is requested.
std::string named_operation(aggregation_method method) {
    return std::string(operation) + " by " +
           std::string(aggregation_method_names[static_cast<std::size_t>(method)]);
}

/// Lists in a GPU's memory. `keep`: for many calls.
template <class Place, class Score>
class held_lists {
  public:
    held_lists(Place& place, cpu_place& /*host*/, std::span<const ranked_list_view<Score>> lists,
               std::uint32_t objects, bool keep)
        : place_(place), rules_(rules_of(lists)), lists_(place, lists, objects) {
        if (keep) lists_.refuse_faults(nullptr);  // now, for any rule
    }

    aggregation_result top_k(const aggregation_options& options) {
        const scoring rule(rules_, options);
        if (!runs_on_gpus(options.method))
            throw usage_error(named_operation(options.method) + " runs on cpu only");
        lists_.refuse_faults(&rule);
        const std::uint32_t k = std::min(options.k, lists_.objects());  // none for 0 objects
        device_result raw_result = options.method == aggregation_method::segmented
                                       ? segmented(lists_, rule, k, options.stride)
                                       : automatic(lists_, rule, k);
        aggregation_result result;
        result.ids = std::move(raw_result.ids);
        result.scores = std::move(raw_result.scores);
        result.depths = std::move(raw_result.depths);
        result.candidates = raw_result.candidates;
        result.read_all = true;
        for (std::size_t i = 0; i < lists_.size(); ++i)
            result.read_all &= result.depths[i] == lists_.lists()[i].size;
        return result;
    }

    std::uint64_t bytes() const { return place_.memory().used(); }

  private:
    Place& place_;
    std::vector<list_rule> rules_;
    device_lists<Score> lists_;
};

/// In the caller's memory.
template <class Score>
class held_lists<cpu_place, Score> {
  public:
    held_lists(cpu_place& place, cpu_place& /*host*/, std::span<const ranked_list_view<Score>> lists,
               std::uint32_t objects, bool keep)
        : place_(place), lists_(lists.begin(), lists.end()), objects_(objects) {
        if (keep) costs_.parts = 1;  // the place keeps the memory: it is fresh only once
    }
    aggregation_result top_k(const aggregation_options& options) {
        const std::span<const ranked_list_view<Score>> lists(lists_);
        const scoring rule(rules_of(lists), options);
        return on_cpu(place_, rule, lists, objects_, clipped(options, objects_), costs_);
    }

    std::uint64_t bytes() const { return place_.memory().used() + place_.kept(); }

  private:
    cpu_place& place_;
    std::vector<ranked_list_view<Score>> lists_;
    std::uint32_t objects_;
    reading_costs costs_;
};

template <class Score>
struct lists_with {
    template <class Place>
    using held = held_lists<Place, Score>;
};
template <class Score>
using resident_lists = resident<lists_with<Score>::template held>;

template <class Lists>
aggregation_result top_k_of(Lists& lists, const aggregation_options& options) {
    return finished(lists.visit([&](auto& held) { return held.top_k(options); }), lists.where());
}

}  // namespace

template <class Score>
aggregation_result top_k(std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                         const aggregation_options& options, const context& ctx) {
    static_cast<void>(scoring(rules_of(lists), options));  // before a device is initialised
    const chosen_device chosen =
        runs_on_gpus(options.method)
            ? choose_device(ctx, operation)
            : choose_device(ctx, named_operation(options.method), offered_places::cpu_only);
    resident_lists<Score> held(ctx, chosen, lists, objects, false);
    return top_k_of(held, options);
}
template aggregation_result top_k(std::span<const ranked_list_view<float>>, std::uint32_t,
                                  const aggregation_options&, const context&);
template aggregation_result top_k(std::span<const ranked_list_view<double>>, std::uint32_t,
                                  const aggregation_options&, const context&);

aggregation_result top_k(std::span<const pulled_list> lists, std::uint32_t objects,
                         const aggregation_options& options, const context& ctx) {
    require_cpu(ctx, "top-k of pulled lists");
    const scoring rule(rules_of(lists), options);
    cpu_place place(ctx);
    list_cursors cursors = cursors_of(rule, lists, objects);
    return finished(result_of(by_method(place, rule, cursors, objects, clipped(options, objects)), cursors),
                    "cpu: lists are pulled");
}

struct ranked_list_set::state {
    template <class Score>
    state(std::span<const ranked_list_view<Score>> views, std::uint32_t objects, const context& ctx)
        : lists(std::in_place_type<resident_lists<Score>>, ctx, choose_device(ctx, operation), views, objects,
                true) {}

    std::variant<resident_lists<float>, resident_lists<double>> lists;
};

template <class Score>
ranked_list_set::ranked_list_set(std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                                 const context& ctx) {
    check(rules_of(lists), {});
    state_ = std::make_unique<state>(lists, objects, ctx);
}
template ranked_list_set::ranked_list_set(std::span<const ranked_list_view<float>>, std::uint32_t,
                                          const context&);
template ranked_list_set::ranked_list_set(std::span<const ranked_list_view<double>>, std::uint32_t,
                                          const context&);
ranked_list_set::~ranked_list_set() = default;
ranked_list_set::ranked_list_set(ranked_list_set&&) noexcept = default;
ranked_list_set& ranked_list_set::operator=(ranked_list_set&&) noexcept = default;

aggregation_result ranked_list_set::top_k(const aggregation_options& options) {
    return std::visit([&](auto& lists) { return top_k_of(lists, options); }, state_->lists);
}

std::uint64_t ranked_list_set::bytes() const {
    return std::visit(
        [](const auto& lists) { return lists.visit([](const auto& held) { return held.bytes(); }); },
        state_->lists);
}

}  // namespace quern
