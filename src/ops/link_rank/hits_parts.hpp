// SPDX-License-Identifier: Apache-2.0
// HITS in integers (fixed_page_rank.hpp) on several places, as rank_parts.hpp: each has the links into and out of a range of
// the nodes, their scores, and tables of what all nodes send as hubs and as authorities. The host has the scale of each half
// step from the sums of all, and their changes: it waits for a device four times in a step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "device/between_places.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/link_sums.hpp"
#include "ops/link_rank/place_parts.hpp"
#include "ops/link_rank/rank_blocks.hpp"

namespace quern::link_rank_detail {

enum class hits_side : std::uint8_t { authorities, hubs };

/// The links of one side and their weights.
struct side_links {
    link_graph_view links;
    std::span<const std::uint64_t> weights;
};

/// The links of nodes from `first` to `end`; `offsets` keeps theirs.
inline side_links links_of_range(const link_graph_view& graph, std::span<const std::uint64_t> weights,
                                 std::uint32_t first, std::uint32_t end,
                                 std::vector<std::uint64_t>& offsets) {
    fixed_page_rank_params only_weights;
    only_weights.link_weights = weights;
    const rank_block block = block_of(graph, only_weights, first, end, offsets);
    return {block.links, block.params.link_weights};
}

/// The nodes of a device: about equal work over both sides.
struct node_range {
    std::uint32_t first = 0, end = 0;
    std::uint32_t size() const { return end - first; }
};
inline node_range range_of(const link_graph_view& graph, const link_graph_view& back,
                           const device_share& share) {
    const auto work_before = [&](std::uint32_t v) {
        const std::uint64_t links = graph.sources.empty() ? 0 : graph.offsets[v] + back.offsets[v];
        return links + 2 * work_of_node * v;
    };
    const auto bound = [&](std::uint32_t i) {
        const std::uint64_t wanted = work_before(graph.nodes) / share.count * i;
        std::uint32_t low = 0, high = graph.nodes;
        while (i < share.count && low < high) {
            const std::uint32_t middle = low + (high - low) / 2;
            if (work_before(middle) < wanted)
                low = middle + 1;
            else
                high = middle;
        }
        return high;
    };
    return {bound(share.index), bound(share.index + 1)};
}

/// The part of one place, for one thread; `send` reads other parts too.
template <class Place>
class hits_part;

template <>
class hits_part<cuda_place> {
  public:
    /// The memory of the graphs outlives this object.
    hits_part(cuda_place& place, const link_graph_view& graph, const link_graph_view& back,
              const device_share& share);
    ~hits_part();

    /// The arrays of a call, and the links at the first.
    void prepare(const fixed_hits_params& params);
    void open_tables(std::span<const std::unique_ptr<hits_part>> writers);
    /// What hubs send at first.
    void begin(std::int64_t each);
    wide_natural sum(hits_side of);                              ///< over its links, with all their sum
    std::uint64_t scale(hits_side of, const unit_scale& scale);  ///< returns the change
    /// Copies what its nodes send to the tables of all, which are not read meanwhile.
    void send(hits_side from, std::span<const std::unique_ptr<hits_part>> all);
    void await(std::span<const std::unique_ptr<hits_part>> all);
    void scores_to(hits_side of, std::span<std::int64_t> scores);
    void end();

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// On the CPU, for tests.
template <>
class hits_part<cpu_place> {
  public:
    hits_part(cpu_place& place, const link_graph_view& graph, const link_graph_view& back,
              const device_share& share)
        : place_(place), graph_(graph), back_(back), range_(range_of(graph, back, share)) {}

    void prepare(const fixed_hits_params& params) {
        repeat_bits_ = params.repeat_bits;
        sides_[0].links =
            links_of_range(graph_, params.link_weights, range_.first, range_.end, sides_[0].offsets);
        sides_[1].links =
            links_of_range(back_, params.back_weights, range_.first, range_.end, sides_[1].offsets);
        for (side& one : sides_) {
            one.scores.assign(range_.size(), 0);
            one.sums.assign(range_.size(), 0);
            one.table = cpu_array<std::int64_t>(place_, graph_.nodes, "what nodes send");
        }
    }
    void open_tables(std::span<const std::unique_ptr<hits_part>>) {}
    void begin(std::int64_t each) { std::ranges::fill(mine(sides_[1]), each >> repeat_bits_); }
    wide_natural sum(hits_side of) {
        side& to = of_side(of);
        const side& from = of_side(of == hits_side::hubs ? hits_side::authorities : hits_side::hubs);
        wide_natural total = 0;
        for_each_block(to.links.links, to.links.weights, from.table.data(), 0, range_.size(),
                       [&](std::uint32_t first, std::uint32_t past_end, const std::int64_t* sums) {
                           for (std::uint32_t v = first; v < past_end; ++v) {
                               to.sums[v] = sums[v - first];
                               total += static_cast<std::uint64_t>(sums[v - first]);
                           }
                       });
        return total;
    }
    std::uint64_t scale(hits_side of, const unit_scale& scale) {
        side& to = of_side(of);
        std::uint64_t change = 0;
        for (std::uint32_t v = 0; v < range_.size(); ++v) {
            const std::int64_t score = scaled(static_cast<std::uint64_t>(to.sums[v]), scale);
            change += magnitude(score - to.scores[v]);
            to.scores[v] = score;
            mine(to)[v] = score >> repeat_bits_;
        }
        return change;
    }
    void send(hits_side from, std::span<const std::unique_ptr<hits_part>> all) {
        for (const auto& other : all) {
            if (other.get() == this) continue;
            copy_across<std::int64_t>(place_, mine(of_side(from)), other->place_,
                                      other->of_side(from).table.span().subspan(range_.first, range_.size()));
        }
    }
    void await(std::span<const std::unique_ptr<hits_part>>) {}
    void scores_to(hits_side of, std::span<std::int64_t> scores) {
        std::ranges::copy(of_side(of).scores, scores.begin() + range_.first);
    }
    void end() {
        for (side& one : sides_) one.table = {};
    }

  private:
    struct side {
        std::vector<std::uint64_t> offsets{};
        side_links links{};
        std::vector<std::int64_t> scores{}, sums{};
        cpu_array<std::int64_t> table{};  ///< what all nodes send
    };
    side& of_side(hits_side of) { return sides_[of == hits_side::hubs ? 1 : 0]; }
    std::span<std::int64_t> mine(const side& one) const {
        return one.table.span().subspan(range_.first, range_.size());
    }

    cpu_place& place_;
    link_graph_view graph_, back_;
    node_range range_;
    unsigned repeat_bits_ = 0;
    side sides_[2];
};

/// A graph and its transpose on the places of a set, all of type Place, for many calls with their weights.
template <class Place>
class hits_parts : place_parts<hits_part<Place>, Place> {
    using base = place_parts<hits_part<Place>, Place>;
    using base::parts_;
    using base::together;

  public:
    /// `places` and the memory of the graphs outlive this object. The graph has been checked and has nodes.
    hits_parts(place_set& places, const link_graph_view& graph, const link_graph_view& back)
        : base(places, graph, back), nodes_(graph.nodes) {}

    fixed_hits_result hits(const fixed_hits_params& params, const context& ctx) {
        fixed_hits_result result;
        result.authorities.resize(nodes_);
        result.hubs.resize(nodes_);
        base::call(params, [&] { iterate(params, ctx, result); });
        return result;
    }

  private:
    void iterate(const fixed_hits_params& params, const context& ctx, fixed_hits_result& result) {
        std::vector<wide_natural> sums(parts_.size());
        std::vector<std::uint64_t> changes(parts_.size());
        unit_scale scale;
        bool ended = false;
        step_report report(ctx, static_cast<double>(params.tolerance), params.max_iterations);
        const auto end_half_step = [&](hits_side side) {
            ctx.check_stop();
            const std::uint64_t change = std::accumulate(changes.begin(), changes.end(), std::uint64_t{0});
            if (side == hits_side::authorities) {
                result.authority_change = change;
                return;
            }
            result.hub_change = change;
            ++result.iterations;
            report.step(result.iterations, static_cast<double>(result.authority_change),
                        static_cast<double>(result.authority_change) * 0x1p-62);
            result.converged = result.authority_change < params.tolerance;
            ended = result.converged || result.iterations == params.max_iterations;
        };
        together([&](meeting& all_parts, std::size_t i) {
            hits_part<Place>& part = *parts_[i];
            const auto exchange = [&](hits_side from) {
                part.send(from, parts_);
                all_parts.meet();
                part.await(parts_);
            };
            part.begin((std::int64_t{1} << 62) / nodes_);
            all_parts.meet();
            exchange(hits_side::hubs);
            while (!ended) {  // NOLINT(bugprone-infinite-loop): all_parts.meet() changes it
                for (const hits_side side : {hits_side::authorities, hits_side::hubs}) {
                    sums[i] = part.sum(side);
                    all_parts.meet([&] {
                        const wide_natural sum = std::accumulate(sums.begin(), sums.end(), wide_natural{0});
                        scale = sum == 0 ? unit_scale{} : scale_of(sum);
                    });
                    changes[i] = part.scale(side, scale);
                    all_parts.meet([&] { end_half_step(side); });
                    if (ended) break;
                    exchange(side);
                }
            }
            part.scores_to(hits_side::authorities, result.authorities);
            part.scores_to(hits_side::hubs, result.hubs);
        });
    }

    std::uint32_t nodes_;
};

}  // namespace quern::link_rank_detail
