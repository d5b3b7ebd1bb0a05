// SPDX-License-Identifier: Apache-2.0
// The entry points: check the options, choose the place and the method.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/place_set.hpp"
#include "device/resident.hpp"
#include "ops/rank_aggregation/aggregation_methods.hpp"
#include "ops/rank_aggregation/device_lists.hpp"
#include "ops/rank_aggregation/gathered_lists.hpp"
#include "ops/rank_aggregation/list_set.hpp"
#include "ops/rank_aggregation/lists_by_objects.hpp"
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

/// Lists on a GPU. `keep`: for many calls, after which the caller's lists may be gone.
template <class Place, class Score>
class held_lists {
  public:
    held_lists(Place& place, cpu_place& /*host*/, std::span<const ranked_list_view<Score>> lists,
               std::uint32_t objects, bool keep)
        : place_(place), rules_(rules_of(lists)), lists_(place, lists, objects, keep) {
        if (keep) lists_.refuse_faults(nullptr);  // now, for any rule
    }
    held_lists(Place& place, cpu_place& /*host*/, std::span<const ranked_list_view<Score>> lists,
               std::uint32_t objects, gathered_lists<Place, Score> gathered)
        : place_(place),
          rules_(rules_of(lists)),
          lists_(place, lists, objects, std::move(gathered.ids), std::move(gathered.scores)) {}

    aggregation_result top_k(const aggregation_options& options) {
        refuse_faults(options);
        const scoring rule(rules_, options);
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

    /// Also a method that does not run on GPUs.
    void refuse_faults(const aggregation_options& options) {
        const scoring rule(rules_, options);
        if (!runs_on_gpus(options.method))
            throw usage_error(named_operation(options.method) + " runs on cpu only");
        lists_.refuse_faults(&rule);
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
    held_lists(cpu_place& place, cpu_place& host, std::span<const ranked_list_view<Score>> lists,
               std::uint32_t objects, gathered_lists<cpu_place, Score> gathered)
        : held_lists(place, host, lists, objects, false) {
        gathered_ = std::move(gathered);
        for (std::size_t i = 0; i < lists_.size(); ++i) {
            lists_[i].ids = gathered_.ids[i].span();
            lists_[i].scores = gathered_.scores[i].span();
        }
    }
    aggregation_result top_k(const aggregation_options& options) {
        const std::span<const ranked_list_view<Score>> lists(lists_);
        const scoring rule(rules_of(lists), options);
        return on_cpu(place_, rule, lists, objects_, clipped(options, objects_), costs_);
    }
    void refuse_faults(const aggregation_options& /*options*/) {}  // lists are checked as they are read

    std::uint64_t bytes() const { return place_.memory().used() + place_.kept(); }

  private:
    cpu_place& place_;
    gathered_lists<cpu_place, Score> gathered_;  ///< of several places
    std::vector<ranked_list_view<Score>> lists_;
    std::uint32_t objects_ = 0;
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

/// On one place.
template <class Score>
class lists_on_one final : public list_set {
  public:
    lists_on_one(std::span<const ranked_list_view<Score>> lists, std::uint32_t objects, const context& ctx,
                 const chosen_device& chosen)
        : lists_(ctx, chosen, lists, objects, true) {}
    aggregation_result top_k(const aggregation_options& options) override {
        return top_k_of(lists_, options);
    }
    std::uint64_t bytes() const override {
        return lists_.visit([](const auto& held) { return held.bytes(); });
    }

  private:
    resident_lists<Score> lists_;
};

/// Lists on some place.
class any_lists {
  public:
    virtual ~any_lists() = default;
    virtual aggregation_result top_k(const aggregation_options& options) = 0;
    virtual void refuse_faults(const aggregation_options& options) = 0;
};
template <class Place, class Score>
class lists_at final : public any_lists {
  public:
    template <class... Arguments>
    explicit lists_at(Arguments&&... arguments) : held_(std::forward<Arguments>(arguments)...) {}
    aggregation_result top_k(const aggregation_options& options) override { return held_.top_k(options); }
    void refuse_faults(const aggregation_options& options) override { held_.refuse_faults(options); }

  private:
    held_lists<Place, Score> held_;
};

/// On several places.
template <class Score>
class lists_on_several final : public list_set {
    using views = std::span<const ranked_list_view<Score>>;

  public:
    lists_on_several(views lists, std::uint32_t objects, const context& ctx, const chosen_device& chosen)
        : places_(ctx, chosen), held_(places_.size()) {
        for (std::size_t i = 0; i < lists.size(); ++i)
            check_list_sizes(i, lists[i].ids.size(), lists[i].scores.size());
        places_[0].run([&](auto& place, cpu_place& host) { whole_ = hold(place, host, lists, objects); });
        host_ = std::make_unique<cpu_place>(pinned_to(chosen, ctx));
        parts_ = cut_by_objects(*host_, lists, objects, places_.size());
        for (const list_part<Score>& part : parts_) firsts_.push_back(part.first);
        places_.on_each([&](auto& place, cpu_place& host, std::size_t index) {
            const auto of_part = parts_[index].views(lists);
            held_[index] = hold(place, host, views(of_part), parts_[index].objects);
        });
        if (!chosen.cuda) return;  // the CPU reads them there
        parts_.clear();
        host_.reset();
    }

    aggregation_result top_k(const aggregation_options& options) override {
        if (options.method != aggregation_method::automatic || options.score == aggregate::rrf) {
            aggregation_result result;
            places_[0].run([&](auto&, cpu_place&) { result = whole_->top_k(options); });
            return finished(std::move(result), places_.where());
        }
        places_[0].run([&](auto&, cpu_place&) { whole_->refuse_faults(options); });
        std::vector<aggregation_result> results(held_.size());
        places_.on_each(
            [&](auto&, cpu_place&, std::size_t index) { results[index] = held_[index]->top_k(options); });
        return finished(joined(results, options.k), places_.where());
    }

    std::uint64_t bytes() const override {
        std::uint64_t all = host_ ? host_->memory().used() : 0;
        for (std::size_t i = 0; i < places_.size(); ++i)
            all += places_[i].visit([](auto& place) { return place.memory().used(); });
        return all;
    }

  private:
    template <class Place>
    static std::unique_ptr<any_lists> hold(Place& place, cpu_place& host, views lists,
                                           std::uint32_t objects) {
        return std::make_unique<lists_at<Place, Score>>(place, host, lists, objects, true);
    }

    aggregation_result joined(std::span<const aggregation_result> results, std::uint32_t k) const {
        aggregation_result all;
        all.read_all = true;
        std::vector<scored_object> best;
        for (std::size_t r = 0; r < results.size(); ++r) {
            for (std::size_t j = 0; j < results[r].ids.size(); ++j)
                best.push_back({results[r].scores[j], results[r].ids[j] + firsts_[r]});
            all.depths.resize(results[r].depths.size());
            for (std::size_t i = 0; i < all.depths.size(); ++i) all.depths[i] += results[r].depths[i];
            all.candidates += results[r].candidates;
            all.read_all &= results[r].read_all;
        }
        std::ranges::sort(best, precedes);
        best.resize(std::min<std::size_t>(k, best.size()));
        for (const scored_object& object : best) {
            all.ids.push_back(object.id);
            all.scores.push_back(object.score);
        }
        return all;
    }

    mutable place_set places_;
    std::unique_ptr<cpu_place> host_;
    std::vector<list_part<Score>> parts_;  ///< on the CPU
    std::vector<std::uint32_t> firsts_;    ///< objects of the parts
    std::unique_ptr<any_lists> whole_;
    std::vector<std::unique_ptr<any_lists>> held_;
};

}  // namespace

template <class Score>
aggregation_result rank_aggregation_detail::top_k_of_gathered(std::span<const ranked_list_view<Score>> lists,
                                                              std::uint32_t objects,
                                                              const aggregation_options& options,
                                                              const context& ctx,
                                                              const chosen_device& chosen) {
    place_set places(ctx, chosen);
    aggregation_result result;
    places[0].run([&]<class Place>(Place& first, cpu_place& host) {
        held_lists<Place, Score> held(first, host, lists, objects, gather_lists(places, first, lists));
        result = held.top_k(options);
    });
    return finished(std::move(result), places.where());
}
template aggregation_result rank_aggregation_detail::top_k_of_gathered(
    std::span<const ranked_list_view<float>>, std::uint32_t, const aggregation_options&, const context&,
    const chosen_device&);
template aggregation_result rank_aggregation_detail::top_k_of_gathered(
    std::span<const ranked_list_view<double>>, std::uint32_t, const aggregation_options&, const context&,
    const chosen_device&);

template <class Score>
aggregation_result top_k(std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                         const aggregation_options& options, const context& ctx) {
    static_cast<void>(scoring(rules_of(lists), options));  // before a device is initialised
    std::uint64_t bytes = 0;
    for (const ranked_list_view<Score>& list : lists)
        bytes += list.ids.size_bytes() + list.scores.size_bytes();
    const chosen_device chosen =
        runs_on_gpus(options.method)
            ? choose_device(ctx, operation,
                            bytes < min_gathered_bytes ? offered_places::all : offered_places::several_gpus)
            : choose_device(ctx, named_operation(options.method), offered_places::cpu_only);
    if (!chosen.more.empty()) return top_k_of_gathered(lists, objects, options, ctx, chosen);
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

template <class Score>
std::unique_ptr<list_set> rank_aggregation_detail::make_list_set(
    std::span<const ranked_list_view<Score>> lists, std::uint32_t objects, const context& ctx,
    const chosen_device& chosen, std::uint64_t min_entries) {
    std::uint64_t entries = 0;
    for (const ranked_list_view<Score>& list : lists) entries += list.ids.size();
    if (!chosen.more.empty() && entries >= min_entries)
        return std::make_unique<lists_on_several<Score>>(lists, objects, ctx, chosen);
    chosen_device first = chosen;
    if (!first.more.empty()) {
        first.more.clear();
        if (first.cuda) first.name = "cuda:" + std::to_string(first.ordinal);
        ctx.log(log_level::info, "lists of so few entries are held by one device, " + first.name);
    }
    return std::make_unique<lists_on_one<Score>>(lists, objects, ctx, first);
}
template std::unique_ptr<list_set> rank_aggregation_detail::make_list_set(
    std::span<const ranked_list_view<float>>, std::uint32_t, const context&, const chosen_device&,
    std::uint64_t);
template std::unique_ptr<list_set> rank_aggregation_detail::make_list_set(
    std::span<const ranked_list_view<double>>, std::uint32_t, const context&, const chosen_device&,
    std::uint64_t);

struct ranked_list_set::state {
    std::unique_ptr<list_set> lists;
};

template <class Score>
ranked_list_set::ranked_list_set(std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                                 const context& ctx) {
    check(rules_of(lists), {});
    const chosen_device chosen = choose_device(ctx, operation, offered_places::several_gpus);
    state_ = std::make_unique<state>(make_list_set(lists, objects, ctx, chosen));
}
template ranked_list_set::ranked_list_set(std::span<const ranked_list_view<float>>, std::uint32_t,
                                          const context&);
template ranked_list_set::ranked_list_set(std::span<const ranked_list_view<double>>, std::uint32_t,
                                          const context&);
ranked_list_set::~ranked_list_set() = default;
ranked_list_set::ranked_list_set(ranked_list_set&&) noexcept = default;
ranked_list_set& ranked_list_set::operator=(ranked_list_set&&) noexcept = default;

aggregation_result ranked_list_set::top_k(const aggregation_options& options) {
    return state_->lists->top_k(options);
}

std::uint64_t ranked_list_set::bytes() const {
    return state_->lists->bytes();
}

}  // namespace quern
