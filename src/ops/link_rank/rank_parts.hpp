// SPDX-License-Identifier: Apache-2.0
// PageRank in integers (fixed_page_rank.hpp) on several places: each has the links into a range of the nodes, their ranks and
// residuals, and a table of what all nodes send. In a step each sums over its links, passes over its nodes, and copies what
// these send to the tables of the others. Totals are summed over the places, and step_control decides on the host: one wait
// for the device in each step. All sums are of integers, so the ranks have the bits of one place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/between_places.hpp"
#include "ops/link_rank/place_parts.hpp"
#include "ops/link_rank/rank_blocks.hpp"
#include "ops/link_rank/sliced_ell_layout.hpp"
#include "ops/link_rank/step_control.hpp"

namespace quern::link_rank_detail {

enum class link_order { sliced, original };

/// The part of one place, for one thread; `send` reads other parts too.
template <class Place>
class rank_part;

template <>
class rank_part<cuda_place> {
  public:
    /// The graph's memory outlives this object.
    rank_part(cuda_place& place, const link_graph_view& graph, const device_share& share);
    ~rank_part();

    static bool can_be_sliced(const link_graph_view& graph, const fixed_page_rank_params& params);
    /// Arranges the links; false if slices do not fit. All parts need the same order and layout.
    bool make_links(const fixed_page_rank_params& params, link_order order, const sliced_ell_layout& layout);
    sliced_ell_layout layout() const;

    /// The arrays of a call with these params, which outlive it until end().
    void prepare(const fixed_page_rank_params& params);
    /// Lets the others write to the tables.
    void open_tables(std::span<const std::unique_ptr<rank_part>> writers);
    pass_totals begin(const step_control& control);
    pass_totals step(const step_control& control);
    /// Copies what the last pass sent to the tables of all, which are not read meanwhile.
    void send(std::span<const std::unique_ptr<rank_part>> all, bool wide);
    /// Waits for the copies of all, on the device.
    void await(std::span<const std::unique_ptr<rank_part>> all);
    void ranks_to(std::span<std::int64_t> ranks);  ///< those of its range, by node
    void end();

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// On the CPU, for tests: nodes in their order.
template <>
class rank_part<cpu_place> {
  public:
    rank_part(cpu_place& place, const link_graph_view& graph, const device_share& share)
        : place_(place), graph_(graph), share_(share) {
        const std::vector<std::uint32_t> bounds = block_bounds(graph, share.count);
        first_ = bounds[share.index];
        end_ = bounds[share.index + 1];
    }

    static bool can_be_sliced(const link_graph_view&, const fixed_page_rank_params&) { return false; }
    bool make_links(const fixed_page_rank_params&, link_order, const sliced_ell_layout&) { return true; }
    sliced_ell_layout layout() const { return {}; }

    void prepare(const fixed_page_rank_params& params) {
        block_ = block_of(graph_, params, first_, end_, offsets_);
        ranks_ = cpu_array<std::int64_t>(place_, size(), "the ranks");
        residuals_ = cpu_array<std::int64_t>(place_, size(), "the residuals");
        narrow_ = cpu_array<std::int32_t>(place_, graph_.nodes, "what nodes send");
        wide_ = cpu_array<std::int64_t>(place_, graph_.nodes, "what nodes send");
        next_narrow_ = cpu_array<std::int32_t>(place_, size(), "what nodes send");
        next_wide_ = cpu_array<std::int64_t>(place_, size(), "what nodes send");
    }
    void open_tables(std::span<const std::unique_ptr<rank_part>>) {}
    pass_totals begin(const step_control& control) {
        return begin_block(place_, block_, control, ranks_.data(), residuals_.data(), next());
    }
    pass_totals step(const step_control& control) {
        return step_block(place_, block_, control, {narrow_.data(), wide_.data()}, ranks_.data(),
                          residuals_.data(), next());
    }
    void send(std::span<const std::unique_ptr<rank_part>> all, bool wide) {
        for (const auto& other : all) {
            if (wide)
                copy_across<std::int64_t>(place_, next_wide_.span(), other->place_,
                                          other->wide_.span().subspan(first_, size()));
            else
                copy_across<std::int32_t>(place_, next_narrow_.span(), other->place_,
                                          other->narrow_.span().subspan(first_, size()));
        }
    }
    void await(std::span<const std::unique_ptr<rank_part>>) {}
    void ranks_to(std::span<std::int64_t> ranks) { std::ranges::copy(ranks_.span(), ranks.begin() + first_); }
    void end() {
        for (auto* const array : {&ranks_, &residuals_, &wide_, &next_wide_}) *array = {};
        for (auto* const array : {&narrow_, &next_narrow_}) *array = {};
    }

  private:
    std::uint32_t size() const { return end_ - first_; }
    sent_values next() { return {next_narrow_.data(), next_wide_.data()}; }

    cpu_place& place_;
    link_graph_view graph_;
    device_share share_;
    std::uint32_t first_ = 0, end_ = 0;
    std::vector<std::uint64_t> offsets_;
    rank_block block_;
    cpu_array<std::int64_t> ranks_, residuals_, wide_, next_wide_;
    cpu_array<std::int32_t> narrow_, next_narrow_;
};

/// A graph on the places of a set, all of type Place, for many calls with its link weights.
template <class Place>
class rank_parts : place_parts<rank_part<Place>, Place> {
    using base = place_parts<rank_part<Place>, Place>;
    using base::on_each;
    using base::parts_;
    using base::together;

  public:
    /// `places` and the graph's memory outlive this object. The graph has been checked and has nodes.
    rank_parts(place_set& places, const link_graph_view& graph) : base(places, graph), graph_(graph) {}

    /// `layout`: for tests.
    fixed_page_rank_result page_rank(const fixed_page_rank_params& params, const context& ctx,
                                     const sliced_ell_layout& layout = {}) {
        if (!arranged_) make_links(params, layout);
        arranged_ = true;
        fixed_page_rank_result result;
        result.ranks.resize(graph_.nodes);
        base::call(params, [&] { iterate(params, ctx, result); });
        return result;
    }

  private:
    /// In slices of one layout if they fit every place, else in their order.
    void make_links(const fixed_page_rank_params& params, const sliced_ell_layout& layout) {
        const auto made = [&](link_order order, const sliced_ell_layout& by) {
            std::vector<char> fits(parts_.size());
            on_each(
                [&](Place&, std::size_t i) { fits[i] = parts_[i]->make_links(params, order, by) ? 1 : 0; });
            return std::ranges::count(fits, 0) == 0;
        };
        if (rank_part<Place>::can_be_sliced(graph_, params) && made(link_order::sliced, layout)) {
            sliced_ell_layout common = parts_[0]->layout();
            bool same = true;
            for (const auto& part : parts_) {
                same = same && part->layout() == parts_[0]->layout();
                common.table_slots = std::min(common.table_slots, part->layout().table_slots);
                common.hot_groups = std::min(common.hot_groups, part->layout().hot_groups);
            }
            if (same || made(link_order::sliced, common)) return;
        }
        made(link_order::original, {});
    }

    void iterate(const fixed_page_rank_params& params, const context& ctx, fixed_page_rank_result& result) {
        step_control control;
        control.nodes = graph_.nodes;
        control.weighted = !params.link_weights.empty();
        std::vector<pass_totals> totals(parts_.size());
        step_report report(ctx, static_cast<double>(params.tolerance), params.max_iterations);
        const auto sum = [&] {
            pass_totals all;
            for (const pass_totals& part : totals) add_totals(all, part);
            return all;
        };
        together([&](meeting& all_parts, std::size_t i) {
            rank_part<Place>& part = *parts_[i];
            const auto exchange = [&] {
                part.send(parts_, control.now.wide);
                all_parts.meet();
                part.await(parts_);
            };
            totals[i] = part.begin(control);
            all_parts.meet([&] { control.begin_step(params, sum().dangling_mass); });
            exchange();
            for (;;) {
                totals[i] = part.step(control);
                all_parts.meet([&] {
                    ctx.check_stop();
                    const pass_totals all = sum();
                    control.end_step(params, all);
                    report.step(control.iterations, static_cast<double>(control.change),
                                static_cast<double>(control.change) * 0x1p-62);
                    if (!control.ended) control.begin_step(params, all.dangling_mass);
                });
                if (control.ended) break;
                exchange();
            }
            part.ranks_to(result.ranks);
        });
        result.iterations = control.iterations;
        result.change = control.change;
        result.converged = control.converged;
        result.wide_steps = control.wide_steps;
    }

    link_graph_view graph_;
    bool arranged_ = false;
};

}  // namespace quern::link_rank_detail
