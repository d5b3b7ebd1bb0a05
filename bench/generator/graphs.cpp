// SPDX-License-Identifier: Apache-2.0
#include "generator/graphs.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "generator/permutation.hpp"
#include "generator/portable_math.hpp"

namespace quern::generator {
namespace {

using range = tbb::blocked_range<std::uint64_t>;

/// Separate streams of random numbers for separate purposes.
enum purpose : std::uint64_t { of_nodes = 1, of_links, of_prototypes, of_parents, of_degrees, of_ends };
std::uint64_t seed_for(std::uint64_t seed, purpose use) {
    return random_numbers(seed + use * 0x632be59bd9b4e019).next();
}

/// By source, then target; each once.
void sort_distinct(std::vector<link>& links) {
    tbb::parallel_sort(links.begin(), links.end(), [](const link& a, const link& b) {
        return a.from != b.from ? a.from < b.from : a.to < b.to;
    });
    links.erase(std::ranges::unique(links).begin(), links.end());
}

/// A web, page by page; see web_options.
class copying_model {
  public:
    explicit copying_model(const web_options& wanted)
        : wanted_(wanted),
          popular_(wanted.nodes, seed_for(wanted.seed, of_ends)),
          degrees_(wanted.nodes),
          prototypes_(wanted.nodes) {
        const double least = std::max(1.0, wanted.mean_links / mean_of_min);
        const auto each_page = [&](auto& found, const auto& function) {
            tbb::parallel_for(range(0, wanted.nodes), [&](const range& some) {
                for (std::uint64_t page = some.begin(); page < some.end(); ++page)
                    found[page] = function(page);
            });
        };
        each_page(degrees_, [&](std::uint64_t page) { return drawn_degree(page, least); });
        each_page(prototypes_, [&](std::uint64_t page) { return drawn_prototype(page); });
    }
    /// The links of a page, some twice; and the one by which a crawl found it.
    void append_links(std::uint32_t page, std::vector<link>& links) const {
        for (std::uint32_t k = 0; k < degrees_[page]; ++k) links.push_back({page, target(page, k)});
        random_numbers chance = numbers_of(seed_for(wanted_.seed, of_parents), page);
        const std::uint32_t parent = linking(page, distance(chance, 8));
        if (page > 0 && degrees_[parent] > 0) links.push_back({parent, page});
    }

  private:
    static constexpr double tail = 1.7;         // of the out-degrees: chance of at least k ∝ k^-1.7
    static constexpr double mean_of_min = 2.1;  // mean over least: tail / (tail - 1), less repeated links
    static constexpr std::uint64_t longest = 4096;

    std::uint32_t drawn_degree(std::uint64_t page, double least) const {
        random_numbers chance = numbers_of(seed_for(wanted_.seed, of_nodes), page);
        if (chance.uniform() < wanted_.dangling) return 0;
        const double drawn = least * power(1 - chance.uniform(), -1 / tail);
        return static_cast<std::uint32_t>(std::min({drawn, double{longest}, double(wanted_.nodes)}));
    }
    /// A page with links before this one, mostly on the same site.
    std::uint32_t drawn_prototype(std::uint64_t page) const {
        random_numbers chance = numbers_of(seed_for(wanted_.seed, of_prototypes), page);
        return linking(page, chance.below(8) == 0 ? 1 + chance.below(page) : distance(chance, 8));
    }
    /// The last page with links, at least this many pages back; 0 if there is none.
    std::uint32_t linking(std::uint64_t page, std::uint64_t back) const {
        page -= std::min(back, page);
        while (page > 0 && degrees_[page] == 0) --page;
        return static_cast<std::uint32_t>(page);
    }
    /// From 1 to 2^octaves, small ones more often: each octave equally likely.
    static std::uint64_t distance(random_numbers& chance, std::uint64_t octaves) {
        const std::uint64_t octave = std::uint64_t{1} << chance.below(octaves);
        return octave + chance.below(octave);
    }
    /// Anywhere; some pages more often.
    std::uint32_t home_page(random_numbers& chance) const {
        const double u = chance.uniform(), skewed = u * u * u;
        return static_cast<std::uint32_t>(popular_(static_cast<std::uint64_t>(skewed * wanted_.nodes)));
    }
    std::uint32_t target(std::uint32_t page, std::uint32_t k) const {
        const std::uint64_t seed = seed_for(wanted_.seed, of_links);
        for (;;) {
            random_numbers chance = numbers_of(seed, std::uint64_t{page} << 16 | k);
            const bool copied = page > 0 && chance.uniform() < wanted_.copied;
            if (copied && k < degrees_[prototypes_[page]]) {
                page = prototypes_[page];
                continue;
            }
            if (chance.below(8) == 0) return home_page(chance);
            const std::uint64_t far = distance(chance, 10) % wanted_.nodes;
            const std::uint64_t present = chance.below(2) == 0 ? page + far : page + wanted_.nodes - far;
            return static_cast<std::uint32_t>(present % wanted_.nodes);
        }
    }

    web_options wanted_;
    permutation popular_;
    std::vector<std::uint32_t> degrees_, prototypes_;
};

/// The node of each end, by ascending node.
std::vector<std::uint32_t> ends_of(const std::vector<std::uint32_t>& degrees, std::uint64_t sum) {
    std::vector<std::uint32_t> owners(sum);
    std::size_t end = 0;
    for (std::uint32_t node = 0; node < degrees.size(); ++node)
        for (std::uint32_t k = 0; k < degrees[node]; ++k) owners[end++] = node;
    return owners;
}

/// The ends for which `chosen(i)` is true, and the others.
struct divided_ends {
    std::vector<std::uint32_t> chosen, others;
};
template <class Chosen>
divided_ends divide(const std::vector<std::uint32_t>& ends, const Chosen& chosen) {
    divided_ends parts;
    for (std::size_t i = 0; i < ends.size(); ++i)
        (chosen(i) ? parts.chosen : parts.others).push_back(ends[i]);
    return parts;
}

/// A shuffle that keeps each item within its window; an incomplete last window stays unchanged.
class local_shuffle {
  public:
    local_shuffle(std::uint64_t size, std::uint64_t seed) : windows_(size / window), within_(window, seed) {}
    std::uint64_t operator()(std::uint64_t item) const {
        const std::uint64_t mine = item / window;
        return mine < windows_ ? mine * window + within_(item % window) : item;
    }

  private:
    static constexpr std::uint64_t window = 1 << 14;
    std::uint64_t windows_;
    permutation within_;
};

template <class Shuffle>
void join(const std::vector<std::uint32_t>& sources, const std::vector<std::uint32_t>& targets,
          const Shuffle& shuffle, link* links) {
    tbb::parallel_for(range(0, targets.size()), [&](const range& some) {
        for (std::uint64_t i = some.begin(); i < some.end(); ++i)
            links[i] = {sources[shuffle(i)], targets[i]};
    });
}

}  // namespace

graph make_kronecker(const kronecker_options& wanted) {
    if (wanted.scale == 0 || wanted.scale > 31 || wanted.a + wanted.b + wanted.c > 1)
        throw std::invalid_argument("a Kronecker graph has 2 to 2^31 nodes, and chances of sum 1");
    constexpr double whole = 0x1p32;
    const auto upper = static_cast<std::uint64_t>((wanted.a + wanted.b) * whole);
    const std::uint64_t right_above = static_cast<std::uint64_t>(wanted.a * whole);
    const std::uint64_t right_below = upper + static_cast<std::uint64_t>(wanted.c * whole);
    graph made{std::uint32_t{1} << wanted.scale, std::vector<link>(wanted.links)};
    const permutation numbered(made.nodes, seed_for(wanted.seed, of_nodes));
    const std::uint64_t seed = seed_for(wanted.seed, of_links);
    tbb::parallel_for(range(0, wanted.links), [&](const range& some) {
        for (std::uint64_t i = some.begin(); i < some.end(); ++i) {
            random_numbers chance = numbers_of(seed, i);
            std::uint32_t from = 0, to = 0;
            std::uint64_t drawn = 0;
            for (unsigned level = 0; level < wanted.scale; ++level) {
                drawn = level % 2 == 0 ? chance.next() : drawn >> 32;
                const std::uint64_t quarter = drawn & 0xffffffff;
                const bool below = quarter >= upper;
                from = from << 1 | static_cast<std::uint32_t>(below);
                to = to << 1 | static_cast<std::uint32_t>(quarter >= (below ? right_below : right_above) &&
                                                          (below || quarter < upper));
            }
            if (wanted.permuted) {
                from = static_cast<std::uint32_t>(numbered(from));
                to = static_cast<std::uint32_t>(numbered(to));
            }
            made.links[i] = {from, to};
        }
    });
    return made;
}

graph make_web(const web_options& wanted) {
    if (wanted.nodes == 0 || wanted.copied >= 1)
        throw std::invalid_argument("web: needs at least one page and a share of copied links below 1");
    constexpr std::uint64_t block = 4096;
    const copying_model model(wanted);
    const std::uint64_t blocks = (wanted.nodes + block - 1) / block;
    std::vector<std::vector<link>> parts(blocks);
    tbb::parallel_for(range(0, blocks, 1), [&](const range& some) {
        for (std::uint64_t b = some.begin(); b < some.end(); ++b) {
            const std::uint64_t end = std::min<std::uint64_t>((b + 1) * block, wanted.nodes);
            for (std::uint64_t page = b * block; page < end; ++page)
                model.append_links(static_cast<std::uint32_t>(page), parts[b]);
        }
    });
    graph made{wanted.nodes, {}};
    for (std::vector<link>& part : parts) {
        made.links.insert(made.links.end(), part.begin(), part.end());
        part = {};
    }
    sort_distinct(made.links);
    return made;
}

graph make_uniform_graph(std::uint32_t nodes, std::uint64_t links, std::uint64_t seed) {
    if (nodes == 0) throw std::invalid_argument("links need nodes");
    graph made{nodes, std::vector<link>(links)};
    tbb::parallel_for(range(0, links), [&](const range& some) {
        for (std::uint64_t i = some.begin(); i < some.end(); ++i) {
            random_numbers chance = numbers_of(seed_for(seed, of_links), i);
            const auto from = static_cast<std::uint32_t>(chance.below(nodes));
            made.links[i] = {from, static_cast<std::uint32_t>(chance.below(nodes))};
        }
    });
    return made;
}

graph make_graph_of_degrees(const degree_options& wanted) {
    if (wanted.in.items != wanted.out.items || wanted.in.sum != wanted.out.sum)
        throw std::invalid_argument("links in are as many as links out");
    constexpr std::uint32_t hub = 64;  // linked from everywhere
    const std::uint64_t links = wanted.in.sum, seed = seed_for(wanted.seed, of_ends);
    const auto in_degrees = make_lengths(wanted.in, seed_for(wanted.seed, of_nodes));
    const auto ends_in = ends_of(in_degrees, links);
    const auto ends_out = ends_of(make_lengths(wanted.out, seed_for(wanted.seed, of_degrees)), links);
    const divided_ends targets = divide(ends_in, [&](std::size_t i) {
        return in_degrees[ends_in[i]] < hub && numbers_of(seed, i).uniform() < wanted.local;
    });
    const permutation some(links, seed);
    const divided_ends sources =
        divide(ends_out, [&](std::size_t i) { return some(i) < targets.chosen.size(); });
    graph made{static_cast<std::uint32_t>(wanted.in.items), std::vector<link>(links)};
    link* const others = made.links.data() + targets.chosen.size();
    join(sources.chosen, targets.chosen, local_shuffle(targets.chosen.size(), seed), made.links.data());
    join(sources.others, targets.others, permutation(targets.others.size(), seed + 1), others);
    return made;
}

graph make_undirected_graph(const length_statistics& degrees, std::uint64_t seed) {
    if (degrees.sum % 2 != 0) throw std::invalid_argument("each link goes both ways");
    const auto ends = ends_of(make_lengths(degrees, seed_for(seed, of_nodes)), degrees.sum);
    graph made{static_cast<std::uint32_t>(degrees.items), std::vector<link>(degrees.sum)};
    const permutation shuffle(degrees.sum, seed_for(seed, of_ends));
    tbb::parallel_for(range(0, degrees.sum / 2), [&](const range& some) {
        for (std::uint64_t i = some.begin(); i < some.end(); ++i) {
            const std::uint32_t one = ends[shuffle(2 * i)], other = ends[shuffle(2 * i + 1)];
            made.links[2 * i] = {one, other};
            made.links[2 * i + 1] = {other, one};
        }
    });
    return made;
}

graph simple(graph from) {
    std::erase_if(from.links, [](const link& a) { return a.from == a.to; });
    sort_distinct(from.links);
    return from;
}

}  // namespace quern::generator
