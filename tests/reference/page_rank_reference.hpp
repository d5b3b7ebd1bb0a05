// SPDX-License-Identifier: Apache-2.0
// PageRank and HITS the slow, obvious way, twice: in long double from the definition, and the integers of
// ops/link_rank/fixed_page_rank.hpp with plain loops over 128-bit numbers, one sentence of that header after another.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/link_rank/fixed_page_rank.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::reference {

using long_reals = std::vector<long double>;

/// `values` scaled to sum 1; 1/n each if there are none.
inline long_reals distribution(std::span<const double> values, std::uint32_t nodes) {
    if (values.empty()) return long_reals(nodes, 1.0L / nodes);
    long double sum = 0;
    for (const double value : values) sum += value;
    long_reals scaled;
    for (const double value : values) scaled.push_back(value / sum);
    return scaled;
}

inline long double weight_of(const link_graph_view& graph, std::uint64_t link) {
    return graph.weights.empty() ? 1.0L : graph.weights[link];
}

/// The weights of all links out of each node.
inline long_reals out_weights(const link_graph_view& graph) {
    long_reals sums(graph.nodes);
    for (std::uint64_t e = 0; e < graph.sources.size(); ++e) sums[graph.sources[e]] += weight_of(graph, e);
    return sums;
}

/// PageRank by definition.
class definition {
  public:
    definition(const link_graph_view& graph, const page_rank_options& options)
        : graph_(graph),
          options_(options),
          v_(distribution(options.preference, graph.nodes)),
          out_(out_weights(graph)) {}

    /// α·(Gᵀr + d·v) + (1 − α)·v.
    long_reals step(const long_reals& ranks) const {
        const long double alpha = options_.damping;
        long double dangling_mass = 0;
        for (std::uint32_t u = 0; u < graph_.nodes; ++u)
            if (out_[u] == 0) dangling_mass += ranks[u];
        long_reals next(graph_.nodes);
        for (std::uint32_t t = 0; t < graph_.nodes; ++t) {
            long double sum = 0;
            for (std::uint64_t e = graph_.offsets[t]; e < graph_.offsets[t + 1]; ++e) {
                const std::uint32_t source = graph_.sources[e];
                sum += ranks[source] * (weight_of(graph_, e) / out_[source]);
            }
            if (options_.dangling == dangling_rule::uniform) sum += dangling_mass / graph_.nodes;
            if (options_.dangling == dangling_rule::preference) sum += dangling_mass * v_[t];
            next[t] = alpha * sum + (1 - alpha) * v_[t];
        }
        return next;
    }

  private:
    link_graph_view graph_;
    page_rank_options options_;
    long_reals v_, out_;
};

inline long double distance(const long_reals& a, const long_reals& b) {
    long double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::fabs(a[i] - b[i]);
    return sum;
}

/// Iterates until the change is below `min_change`; the error is then at most α/(1 − α) times that.
inline long_reals page_rank(const link_graph_view& graph, const page_rank_options& options,
                            long double min_change = 1e-15L) {
    const definition defined(graph, options);
    long_reals ranks = distribution(options.start, graph.nodes);
    for (long double change = 1; change >= min_change && graph.nodes != 0;) {
        long_reals next = defined.step(ranks);
        change = distance(next, ranks);
        ranks = std::move(next);
    }
    return ranks;
}

/// Nodes by descending rank, then ascending number.
template <class Rank>
std::vector<std::uint32_t> order_by_rank(const std::vector<Rank>& ranks) {
    std::vector<std::uint32_t> order(ranks.size());
    for (std::uint32_t v = 0; v < order.size(); ++v) order[v] = v;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return ranks[a] > ranks[b]; });
    return order;
}

// ---- The integers ----

__extension__ typedef __int128 integer;
using integers = std::vector<integer>;

inline integer shifted_down(integer value, unsigned bits) {  // rounds down, also below 0
    const integer unit = integer{1} << bits;
    integer quotient = value / unit;
    if (value % unit < 0) --quotient;
    return quotient;
}
inline integer half_up(integer value, unsigned bits) {
    return shifted_down(value + (integer{1} << (bits - 1)), bits);
}
inline integer absolute(integer value) {
    return value < 0 ? -value : value;
}
inline unsigned binary_digits(integer value) {
    unsigned count = 0;
    for (; value != 0; value /= 2) ++count;
    return count;
}

/// fixed_page_rank by its header; take, spread and measure are separate passes.
class integer_page_rank {
  public:
    integer_page_rank(const link_graph_view& graph, const link_rank_detail::fixed_page_rank_params& params)
        : graph_(graph), params_(params), n_(graph.nodes) {
        residual_.resize(n_);
        for (std::uint32_t v = 0; v < n_; ++v)
            residual_[v] = params.teleport.empty() ? params.teleport_each : params.teleport[v];
        rank_ = residual_;
    }

    link_rank_detail::fixed_page_rank_result run() {
        link_rank_detail::fixed_page_rank_result result;
        integers start(n_);
        for (std::uint32_t u = 0; u < n_; ++u)
            start[u] = params_.start.empty() ? params_.start_each : params_.start[u];
        const bool weighted = !params_.link_weights.empty();
        unsigned shift = 0, next_shift = 0;
        bool stays_wide = false;
        std::vector<integer> changes;
        for (std::uint32_t k = 1;; ++k) {
            const bool wide = k <= 2 || stays_wide;
            const unsigned s = wide || weighted ? 0 : shift;
            const integer residual_mass = take(k == 1 ? start : residual_, s, wide, weighted);
            // compares R_k with L_{k−1}; next_shift is the shift computed from the residual before this take
            if (k >= 3 && s > 0 && residual_mass > shifted_down(changes.back(), 4) && next_shift <= s)
                stays_wide = true;
            spread(s, weighted);
            result.iterations = k;
            if (wide && !weighted) ++result.wide_steps;
            integer change = 0;
            for (const integer r : residual_) change += absolute(r);
            changes.push_back(change);
            result.converged = change < static_cast<integer>(params_.tolerance);
            const bool stuck = k >= 3 && change >= changes[k - 2] && changes[k - 2] >= changes[k - 3];
            if (result.converged || k == params_.max_iterations || stuck) break;
            shift = next_shift;  // of step k + 1: measured after step k − 1
            next_shift = shift_for(residual_);
        }
        result.change = static_cast<std::uint64_t>(changes.back());
        for (const integer z : rank_) result.ranks.push_back(static_cast<std::int64_t>(z));
        return result;
    }

  private:
    unsigned shift_for(const integers& values) const {
        unsigned max = 0;
        for (std::uint32_t v = 0; v < n_; ++v) {
            const std::uint64_t degree = graph_.out_degrees[v];
            if (degree != 0) {
                const unsigned bits = binary_digits(static_cast<integer>(degree)) - 1;
                max = std::max(max, binary_digits(shifted_down(absolute(values[v]), bits)));
            }
        }
        return max <= params_.contribution_digits ? 0 : max - params_.contribution_digits;
    }

    integer take(const integers& from, unsigned s, bool wide, bool weighted) {
        contributions_.assign(n_, 0);
        lost_ = 0;
        integers taken(n_);
        for (std::uint32_t u = 0; u < n_; ++u) {
            const std::uint64_t degree = graph_.out_degrees[u];
            if (degree == 0) {
                taken[u] = from[u];
                lost_ += from[u];
            } else if (weighted) {
                taken[u] = contributions_[u] = from[u];
            } else {
                double each = static_cast<double>(static_cast<std::int64_t>(from[u])) /
                              std::ldexp(static_cast<double>(degree), static_cast<int>(s));
                if (!wide) each = std::clamp(each, -2147483647.0, 2147483647.0);
                contributions_[u] = static_cast<integer>(std::trunc(each));
                taken[u] = contributions_[u] * static_cast<integer>(degree) * (integer{1} << s);
            }
        }
        integer residual_mass = 0;
        for (std::uint32_t u = 0; u < n_; ++u) {
            residual_[u] -= taken[u];
            residual_mass += absolute(residual_[u]);
        }
        return residual_mass;
    }

    void spread(unsigned s, bool weighted) {
        const integer alpha = params_.alpha;
        const integer dangling_mass = half_up(lost_ * alpha, 64);
        integer each = 0;
        if (params_.dangling == dangling_rule::uniform) {
            kept_ += dangling_mass;
            each = kept_ / n_;
            if (kept_ % n_ < 0) --each;
            kept_ -= each * n_;
        }
        for (std::uint32_t v = 0; v < n_; ++v) {
            integer sum = 0;
            for (std::uint64_t e = graph_.offsets[v]; e < graph_.offsets[v + 1]; ++e) {
                const integer c = contributions_[graph_.sources[e]];
                sum += weighted ? c * static_cast<integer>(params_.link_weights[e]) : c;
            }
            sum = weighted ? half_up(sum, 63) : sum * (integer{1} << s);
            integer gain = half_up(sum * alpha, 64) + each;
            if (params_.dangling == dangling_rule::preference)
                gain += half_up(dangling_mass * static_cast<integer>(preference_of(v)), 64);
            residual_[v] += gain;
            rank_[v] += gain;
        }
    }

    // Without a preference it is 1/n each, as in `uniform`: the public function requests that.
    std::uint64_t preference_of(std::uint32_t v) const { return params_.preference[v]; }

    link_graph_view graph_;
    link_rank_detail::fixed_page_rank_params params_;
    std::uint32_t n_;
    integers rank_, residual_, contributions_;
    integer lost_ = 0, kept_ = 0;
};

inline link_rank_detail::fixed_page_rank_result fixed_page_rank(
    const link_graph_view& graph, const link_rank_detail::fixed_page_rank_params& params) {
    return integer_page_rank(graph, params).run();
}

// ---- HITS ----

struct hits_vectors {
    long_reals authorities, hubs;
};
/// a = Aᵀh, h = A·a, each scaled to sum 1, from h = 1/n, so many times.
inline hits_vectors hits(const link_graph_view& graph, unsigned steps) {
    hits_vectors found{long_reals(graph.nodes), distribution({}, graph.nodes)};
    const auto scale = [](long_reals& values) {
        long double sum = 0;
        for (const long double value : values) sum += value;
        for (long double& value : values) value = sum == 0 ? 0 : value / sum;
    };
    for (unsigned step = 0; step < steps; ++step) {
        found.authorities.assign(graph.nodes, 0);
        long_reals hubs(graph.nodes);
        for (std::uint32_t v = 0; v < graph.nodes; ++v)
            for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e)
                found.authorities[v] += found.hubs[graph.sources[e]] * weight_of(graph, e);
        scale(found.authorities);
        for (std::uint32_t v = 0; v < graph.nodes; ++v)
            for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e)
                hubs[graph.sources[e]] += found.authorities[v] * weight_of(graph, e);
        scale(hubs);
        found.hubs = hubs;
    }
    return found;
}

/// floor(value · 2^62 / sum) as fixed_arithmetic.hpp rounds it: the quotient of 2^(63 + b) − 1 first, digit by digit.
inline integer scaled_to_one(integer value, integer sum) {
    const unsigned b = binary_digits(sum);
    integer quotient = 0, rest = 0;
    for (unsigned digit = 0; digit < 63 + b; ++digit) {
        rest = rest * 2 + 1;
        quotient = quotient * 2 + (rest >= sum ? 1 : 0);
        if (rest >= sum) rest -= sum;
    }
    return shifted_down(value * quotient, b + 1);
}

/// fixed_hits by its header; the reversed links are the links, traversed the other way.
inline link_rank_detail::fixed_hits_result fixed_hits(const link_graph_view& graph,
                                                      const link_rank_detail::fixed_hits_params& params) {
    const std::uint32_t n = graph.nodes;
    integers authorities(n), hubs(n), contributions(n, (integer{1} << 62) / n);
    link_rank_detail::fixed_hits_result result;
    const bool weighted = !params.link_weights.empty();
    const auto half_step = [&](bool forward, integers& scores) {
        integers sums(n);
        for (std::uint32_t v = 0; v < n; ++v)
            for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
                const std::uint32_t u = graph.sources[e];
                const integer value = shifted_down(contributions[forward ? u : v], params.repeat_bits);
                sums[forward ? v : u] +=
                    weighted ? value * static_cast<integer>(params.link_weights[e]) : value;
            }
        integer total = 0, change = 0;
        for (integer& sum : sums) {
            if (weighted) sum = half_up(sum, 63);
            total += sum;
        }
        for (std::uint32_t v = 0; v < n; ++v) {
            const integer score = total == 0 ? 0 : scaled_to_one(sums[v], total);
            change += absolute(score - scores[v]);
            scores[v] = score;
        }
        contributions = scores;
        return static_cast<std::uint64_t>(change);
    };
    while (!result.converged && result.iterations < params.max_iterations) {
        result.authority_change = half_step(true, authorities);
        result.hub_change = half_step(false, hubs);
        ++result.iterations;
        result.converged = result.authority_change < params.tolerance;
    }
    for (const integer a : authorities) result.authorities.push_back(static_cast<std::int64_t>(a));
    for (const integer h : hubs) result.hubs.push_back(static_cast<std::int64_t>(h));
    return result;
}

}  // namespace quern::reference
