// SPDX-License-Identifier: Apache-2.0
// Links in any order → the links into each node, by ascending source. The cost is memory traffic, so links leave the caches
// only twice:
//
//   1. One pass counts links by cells (ranges of targets) and checks them. Neighbouring cells form buckets with about equal
//      numbers of links, small enough to sort in a core's second-level cache.
//   2. One pass moves each link to its bucket. A thread gathers whole cache lines for each bucket (software
//      write-combining: Satish et al., "Fast Sort on CPUs and GPUs", SIGMOD 2010).
//   3. Each bucket is sorted in the cache: by source from the low digit (skipped where sources ascend already, as in most
//      lists), then into the targets' places from the back. Both steps are stable, so sources ascend for each target.
//
// Equal links with weights are adjacent; they are sorted by weight afterwards. So the input's order leaves no trace, and no
// step has to preserve the order of its chunks. Degrees are counted in one table per thread, in memory that the buckets use
// later.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/huge_pages.hpp"
#include "device/cpu/parallel.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern {
namespace {

constexpr std::uint32_t max_nodes = 0xfffffffd;
constexpr std::size_t min_piece = std::size_t{1} << 15;
constexpr std::size_t bucket_links = std::size_t{1}
                                     << 16;  ///< wanted: twice that and its sources fit in a cache
constexpr std::size_t max_buckets = 2048;    ///< their lines stay in the cache
constexpr unsigned cell_bits = 14;
constexpr unsigned digit_bits = 11;
constexpr std::size_t digits = std::size_t{1} << digit_bits;
constexpr std::string_view for_what = "sorting the links of a graph";

struct weighted_link {
    link ends;
    double weight;
};
link ends_of(link each) {
    return each;
}
link ends_of(const weighted_link& each) {
    return each.ends;
}

bool is_weight(double weight) {
    return weight > 0 && std::isfinite(weight);
}

[[noreturn]] void refuse(std::uint32_t nodes, std::span<const link> links, std::size_t i) {
    const std::string which = "link " + std::to_string(i);
    if (std::max(links[i].from, links[i].to) < nodes)
        throw usage_error("the weight of " + which + " is not a positive finite number");
    throw usage_error(
        which + " is " + std::to_string(links[i].from) + " → " + std::to_string(links[i].to) +
        (nodes == 0 ? "; there are no nodes" : "; the last node is " + std::to_string(nodes - 1)));
}

/// Memory that is written next. Takes large pages before clearing it.
template <class T>
void resize_fresh(std::vector<T>& values, std::size_t size) {
    values.reserve(size);
    wish_for_huge_pages(values.data(), size * sizeof(T));
    values.resize(size);
}

/// Sorts the links of one graph. Item: link or weighted_link.
template <class Item>
class link_sorter {
  public:
    link_sorter(cpu_place& place, std::span<const link> links, std::span<const double> weights,
                link_graph& graph)
        : place_(place),
          links_(links),
          weights_(weights),
          graph_(graph),
          items_(place, links.size(), for_what),
          chunks_(pieces_for(place, links.size(), min_piece)) {
        const auto node_bits = static_cast<unsigned>(std::bit_width(std::uint64_t{graph.nodes} - 1));
        cell_shift_ = node_bits > cell_bits ? node_bits - cell_bits : 0;
        cells_ = ((std::size_t{graph.nodes} - 1) >> cell_shift_) + 1;
        passes_ = (node_bits + digit_bits - 1) / digit_bits;
    }

    void sort() {
        const cpu_array<std::uint32_t> counts(place_, chunks_ * cells_, for_what);
        for_each_piece(place_, chunks_, [&](std::size_t s) { count(s, counts.data() + s * cells_); });
        if (const std::size_t wrong = refused_.load(); wrong < links_.size())
            refuse(graph_.nodes, links_, wrong);
        count_degrees();
        draw_buckets(counts.span());
        for_each_piece(place_, chunks_, [&](std::size_t s) { scatter(s); });
        sort_buckets();
    }

  private:
    std::size_t cell_of(std::uint32_t target) const { return target >> cell_shift_; }

    bool is_wrong(std::size_t i) const {
        return std::max(links_[i].from, links_[i].to) >= graph_.nodes ||
               (!weights_.empty() && !is_weight(weights_[i]));
    }

    /// Counts the links of chunk s in each cell; records the first invalid link.
    void count(std::size_t s, std::uint32_t* counts) {
        std::fill_n(counts, cells_, 0);
        const auto [begin, end] = piece_of(links_.size(), chunks_, s);
        constexpr std::size_t at_once = 1024;  // checked while in the first-level cache
        for (std::size_t first = begin; first < end; first += at_once) {
            const std::size_t last = std::min(first + at_once, end);
            std::uint32_t greatest = 0;
            bool wrong = false;
            for (std::size_t i = first; i < last; ++i)
                greatest = std::max({greatest, links_[i].from, links_[i].to});
            if constexpr (!std::is_same_v<Item, link>)
                for (std::size_t i = first; i < last; ++i) wrong |= !is_weight(weights_[i]);
            if (wrong || greatest >= graph_.nodes) {
                std::size_t i = first;
                while (!is_wrong(i)) ++i;
                std::size_t known = refused_.load();
                while (i < known && !refused_.compare_exchange_weak(known, i)) {
                }
                return;
            }
            for (std::size_t i = first; i < last; ++i) ++counts[cell_of(links_[i].to)];
        }
        place_.ctx().check_stop();
    }

    /// Counts runs of links with the same source, frequent in lists, at once.
    template <class Add>
    void count_runs(std::size_t begin, std::size_t end, const Add& add) const {
        for (std::size_t i = begin; i < end;) {
            const std::uint32_t from = links_[i].from;
            const std::size_t first = i++;
            while (i < end && links_[i].from == from) ++i;
            add(from, i - first);
        }
    }

    void count_degrees() {
        auto& degrees = graph_.out_degrees;
        const std::size_t nodes = graph_.nodes,
                          capacity = items_.size() * sizeof(Item) / sizeof(std::uint32_t);
        const std::size_t tables =
            std::min(pieces_for(place_, links_.size(), min_piece, 1), capacity / nodes);
        if (tables == 0 || links_.size() / tables >= max_nodes) {
            const std::size_t pieces = pieces_for(place_, links_.size(), min_piece);
            for_each_piece(place_, pieces, [&](std::size_t p) {
                const auto [begin, end] = piece_of(links_.size(), pieces, p);
                count_runs(begin, end, [&](std::uint32_t from, std::size_t run) {
                    std::atomic_ref(degrees[from]).fetch_add(run, std::memory_order_relaxed);
                });
            });
            return;
        }
        auto* const memory = reinterpret_cast<std::uint32_t*>(items_.data());
        for_each_piece(place_, tables, [&](std::size_t t) {
            std::uint32_t* const table = memory + t * nodes;
            std::fill_n(table, nodes, 0);
            const auto [begin, end] = piece_of(links_.size(), tables, t);
            count_runs(begin, end, [&](std::uint32_t from, std::size_t run) {
                table[from] += static_cast<std::uint32_t>(run);
            });
        });
        const std::size_t pieces = pieces_for(place_, nodes, min_piece);
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(nodes, pieces, p);
            for (std::size_t t = 0; t < tables; ++t)
                for (std::size_t v = begin; v < end; ++v) degrees[v] += memory[t * nodes + v];
        });
    }

    /// Cells → buckets, and each chunk's write position in each bucket.
    void draw_buckets(std::span<const std::uint32_t> counts) {
        const std::size_t wanted = std::max(bucket_links, links_.size() / (max_buckets / 2));
        std::vector<std::uint64_t> cell_sizes(cells_);
        for (std::size_t s = 0; s < chunks_; ++s)
            for (std::size_t c = 0; c < cells_; ++c) cell_sizes[c] += counts[s * cells_ + c];
        bucket_of_cell_.resize(cells_);
        bounds_ = {0};
        std::uint64_t in_bucket = 0, sum = 0;
        for (std::size_t c = 0; c < cells_; ++c) {
            // Closes a bucket before a cell that would make it too large: at most twice as many buckets as full ones.
            if (in_bucket != 0 && in_bucket + cell_sizes[c] > wanted) {
                bounds_.push_back(sum);
                first_cells_.push_back(c);
                in_bucket = 0;
            }
            bucket_of_cell_[c] = static_cast<std::uint16_t>(bounds_.size() - 1);
            in_bucket += cell_sizes[c];
            sum += cell_sizes[c];
        }
        bounds_.push_back(sum);
        first_cells_.insert(first_cells_.begin(), 0);
        first_cells_.push_back(cells_);

        const std::size_t buckets = bounds_.size() - 1;
        positions_.assign(chunks_ * buckets, 0);
        for (std::size_t s = 0; s < chunks_; ++s)
            for (std::size_t c = 0; c < cells_; ++c)
                positions_[s * buckets + bucket_of_cell_[c]] += counts[s * cells_ + c];
        for (std::size_t b = 0; b < buckets; ++b) {
            std::uint64_t at = bounds_[b];
            for (std::size_t s = 0; s < chunks_; ++s) at += std::exchange(positions_[s * buckets + b], at);
        }
    }

    void scatter(std::size_t s) {
        const std::size_t buckets = bounds_.size() - 1;
        std::uint64_t* const at = positions_.data() + s * buckets;
        const auto [begin, end] = piece_of(links_.size(), chunks_, s);
        for (std::size_t i = begin; i < end; ++i) {
            Item* const to = items_.data() + at[bucket_of_cell_[cell_of(links_[i].to)]]++;
            if constexpr (std::is_same_v<Item, link>)
                *to = links_[i];
            else
                *to = {links_[i], weights_[i]};
        }
        place_.ctx().check_stop();
    }

    void sort_buckets() {
        // The largest first, so that no thread starts one at the end.
        std::vector<std::size_t> order(bounds_.size() - 1);
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto size = [&](std::size_t b) { return bounds_[b + 1] - bounds_[b]; };
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
        const std::size_t workers = std::min<std::size_t>(place_.threads(), order.size());
        std::atomic<std::size_t> next{0};
        for_each_piece(place_, workers, [&](std::size_t) {
            cpu_array<Item> scratch;
            for (std::size_t taken = next++; taken < order.size(); taken = next++) {
                place_.ctx().check_stop();
                const std::size_t b = order[taken];
                std::span<Item> bucket = items_.span().subspan(bounds_[b], size(b));
                bucket = by_source(bucket, scratch);
                by_target(b, bucket);
            }
        });
        graph_.offsets[graph_.nodes] = links_.size();
    }

    /// Sorts by source: in place, or into `scratch`.
    std::span<Item> by_source(std::span<Item> bucket, cpu_array<Item>& scratch) {
        bool rising = true;
        for (std::size_t i = 1; i < bucket.size() && rising; ++i)
            rising = ends_of(bucket[i - 1]).from <= ends_of(bucket[i]).from;
        if (rising) return bucket;
        if (scratch.size() < bucket.size()) {
            scratch = {};
            scratch = cpu_array<Item>(place_, std::max(bucket.size(), bucket_links), for_what);
        }
        const std::span<Item> other = scratch.span().first(bucket.size());
        if (bucket.size() <= ~std::uint32_t{0}) return by_digits<std::uint32_t>(bucket, other);
        return by_digits<std::uint64_t>(bucket, other);
    }
    template <class Place>
    std::span<Item> by_digits(std::span<Item> bucket, std::span<Item> other) const {
        std::vector<Place> places(passes_ * digits);
        for (const Item& each : bucket)
            for (unsigned pass = 0; pass < passes_; ++pass) ++places[pass * digits + digit(each, pass)];
        for (unsigned pass = 0; pass < passes_; ++pass) {
            Place* const at = places.data() + pass * digits;
            if (at[digit(bucket[0], pass)] == bucket.size()) continue;  // all have the same digit
            Place sum = 0;
            for (std::size_t d = 0; d < digits; ++d) sum += std::exchange(at[d], sum);
            for (const Item& each : bucket) other[at[digit(each, pass)]++] = each;
            std::swap(bucket, other);
        }
        return bucket;
    }
    static std::size_t digit(const Item& each, unsigned pass) {
        return (ends_of(each).from >> (pass * digit_bits)) % digits;
    }

    /// `bucket` by ascending source → each target's sources and their start.
    void by_target(std::size_t b, std::span<const Item> bucket) {
        const std::size_t first = first_cells_[b] << cell_shift_,
                          last = std::min<std::size_t>(first_cells_[b + 1] << cell_shift_, graph_.nodes);
        std::uint64_t* const ends = graph_.offsets.data();
        for (const Item& each : bucket) ++ends[ends_of(each).to];
        std::uint64_t sum = bounds_[b];
        for (std::size_t v = first; v < last; ++v) ends[v] = sum += ends[v];
        for (std::size_t i = bucket.size(); i-- > 0;) {
            const std::uint64_t at = --ends[ends_of(bucket[i]).to];  // finally the target's begin
            graph_.sources[at] = ends_of(bucket[i]).from;
            if constexpr (!std::is_same_v<Item, link>) graph_.weights[at] = bucket[i].weight;
        }
        if constexpr (!std::is_same_v<Item, link>) order_equal_links(first, last, bounds_[b + 1]);
    }

    void order_equal_links(std::size_t first, std::size_t last, std::uint64_t bucket_end) {
        for (std::size_t v = first; v < last; ++v) {
            const std::uint64_t end = v + 1 < last ? graph_.offsets[v + 1] : bucket_end;
            for (std::uint64_t i = graph_.offsets[v]; i < end;) {
                std::uint64_t past_end = i + 1;
                while (past_end < end && graph_.sources[past_end] == graph_.sources[i]) ++past_end;
                if (past_end - i > 1) std::sort(graph_.weights.data() + i, graph_.weights.data() + past_end);
                i = past_end;
            }
        }
    }

    cpu_place& place_;
    std::span<const link> links_;
    std::span<const double> weights_;
    link_graph& graph_;
    cpu_array<Item> items_;
    std::size_t chunks_, cells_ = 0;
    unsigned cell_shift_ = 0, passes_ = 0;
    std::atomic<std::size_t> refused_{~std::size_t{0}};
    std::vector<std::uint16_t> bucket_of_cell_;
    std::vector<std::uint64_t> bounds_;     ///< of the buckets, in links
    std::vector<std::size_t> first_cells_;  ///< of the buckets; the last is the number of cells
    std::vector<std::uint64_t> positions_;  ///< per chunk, the position of its next link in each bucket
};

}  // namespace

link_graph make_link_graph(std::uint32_t nodes, std::span<const link> links, std::span<const double> weights,
                           const context& ctx) {
    if (nodes > max_nodes) {
        throw usage_error("a graph of " + std::to_string(nodes) + " nodes: at most " +
                          std::to_string(max_nodes) + " can be numbered");
    }
    if (!weights.empty() && weights.size() != links.size()) {
        throw usage_error(std::to_string(weights.size()) + " weights for " + std::to_string(links.size()) +
                          " links");
    }
    link_graph graph;
    graph.nodes = nodes;
    if (nodes == 0) {
        if (!links.empty()) refuse(0, links, 0);
        return graph;
    }
    cpu_place place(ctx);
    const std::uint64_t bytes = (2 * std::uint64_t{nodes} + 1) * sizeof(std::uint64_t) +
                                links.size() * sizeof(std::uint32_t) + weights.size_bytes();
    place.memory().take(bytes, "the links of a graph");  // the caller's after the return
    resize_fresh(graph.offsets, std::size_t{nodes} + 1);
    resize_fresh(graph.out_degrees, nodes);
    resize_fresh(graph.sources, links.size());
    resize_fresh(graph.weights, weights.size());
    if (links.empty()) return graph;
    if (weights.empty())
        link_sorter<link>(place, links, weights, graph).sort();
    else
        link_sorter<weighted_link>(place, links, weights, graph).sort();
    return graph;
}

}  // namespace quern
