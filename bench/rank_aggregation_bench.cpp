// SPDX-License-Identifier: Apache-2.0
// rank_aggregation_bench KIND OBJECTS LISTS K ROUNDS [WAY...]: the K best objects over ranked lists of float scores, on the CPU,
// compared with a dense array of sums. Ways: auto, set (auto of a ranked_list_set, which keeps its memory between calls), nra,
// sc, lara, segmented, dense-float, dense-double; by default auto, set and the dense ones. One line a way and number of
// threads (1, 2), tab-separated: way, threads, median milliseconds, the share of the lists' entries that was read, whether
// that was all. The ways take turns on the same lists; results are compared.
//
// The dense array is a careful implementation that reads everything: huge pages, the first list assigned, scores
// prefetched, one pass to select; it checks nothing. Its memory, like ours, is that of one call. dense-float has other
// scores than the contract's sums in double.
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "device/array.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/ops/rank_aggregation.hpp"

namespace {

using quern::aggregation_result;
using view = quern::ranked_list_view<float>;

struct ranked_lists {
    std::uint32_t objects = 0;
    std::vector<std::vector<std::uint32_t>> ids;
    std::vector<std::vector<float>> scores;

    std::vector<view> views() const {
        std::vector<view> all;
        for (std::size_t i = 0; i < ids.size(); ++i) all.push_back({ids[i], scores[i]});
        return all;
    }
};

/// uniform: independent, in [0, 1); correlated: one number an object and a tenth of noise; heavy-tailed: Pareto,
/// (1 − u)^−0.7; anti-correlated: u in the lists 1, 3, …, 1 − u in the others; mixed: the first heavy-tailed, others uniform.
ranked_lists make_lists(const std::string& kind, std::uint32_t objects, std::size_t lists) {
    ranked_lists made;
    made.objects = objects;
    std::mt19937_64 random(11);
    const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    std::vector<double> own(objects);
    for (double& of_object : own) of_object = unit();
    // Objects of equal score are in random order.
    std::vector<std::uint32_t> order(objects);
    std::iota(order.begin(), order.end(), 0);
    quern::cpu_place place(quern::context::cpu(2));
    for (std::size_t l = 0; l < lists; ++l) {
        std::shuffle(order.begin(), order.end(), random);
        std::vector<float> scores(objects);
        for (std::uint32_t j = 0; j < objects; ++j) {
            const double of_object = own[order[j]];
            double score = unit();
            if (kind == "correlated") score = of_object + 0.1 * score;
            if (kind == "anti-correlated") score = l % 2 == 0 ? of_object : 1 - of_object;
            if (kind == "heavy-tailed" || (kind == "mixed" && l == 0)) score = std::pow(1 - score, -0.7);
            scores[j] = static_cast<float>(score);
        }
        made.ids.push_back(order);
        quern::primitives::sort_pairs<float, std::uint32_t>(
            place, scores, made.ids.back(), {.direction = quern::primitives::order::descending});
        made.scores.push_back(std::move(scores));
    }
    return made;
}

/// Sums of Sum in huge pages.
template <class Sum>
class dense_array {
  public:
    explicit dense_array(std::uint32_t objects) : objects_(objects), arenas_{1, 2} {}

    /// The first list contains every object.

    std::vector<std::pair<Sum, std::uint32_t>> best(const std::vector<view>& lists, std::size_t k,
                                                    unsigned threads) {
        quern::cpu_place place(quern::context::cpu(threads));
        sums_ = quern::cpu_array<Sum>(place, objects_, "sums");
        std::vector<std::pair<Sum, std::uint32_t>> found;
        arenas_[threads - 1].execute([&] {
            for (std::size_t i = 0; i < lists.size(); ++i) {
                tbb::parallel_for(0u, threads, [&](unsigned t) { add(lists[i], i == 0, t, threads); });
            }
            std::vector<std::vector<std::pair<Sum, std::uint32_t>>> of_thread(threads);
            tbb::parallel_for(0u, threads, [&](unsigned t) { of_thread[t] = select(k, t, threads); });
            for (const auto& one : of_thread) found.insert(found.end(), one.begin(), one.end());
        });
        std::sort(found.begin(), found.end(), before);
        found.resize(std::min(k, found.size()));
        sums_ = {};
        return found;
    }

  private:
    static constexpr std::size_t ahead = 24;
    using entry = std::pair<Sum, std::uint32_t>;
    static bool before(const entry& a, const entry& b) {
        return a.first > b.first || (a.first == b.first && a.second < b.second);
    }

    void add(const view& list, bool first, unsigned thread, unsigned threads) {
        const std::size_t size = list.ids.size(), begin = size * thread / threads,
                          end = size * (thread + 1) / threads;
        const std::uint32_t* const ids = list.ids.data();
        const float* const scores = list.scores.data();
        Sum* const sums = sums_.data();
        for (std::size_t j = begin; j < end; ++j) {
            __builtin_prefetch(sums + ids[std::min(j + ahead, size - 1)], 1);
            if (first) {
                sums[ids[j]] = scores[j];
            } else {
                sums[ids[j]] += scores[j];
            }
        }
    }
    std::vector<entry> select(std::size_t k, unsigned thread, unsigned threads) const {
        const std::size_t size = sums_.size();
        std::vector<entry> heap;
        for (std::size_t id = size * thread / threads; id < size * (thread + 1) / threads; ++id) {
            const Sum sum = sums_.data()[id];
            if (heap.size() == k) {
                if (sum <= heap.front().first) continue;
                std::pop_heap(heap.begin(), heap.end(), before);
                heap.pop_back();
            }
            heap.emplace_back(sum, static_cast<std::uint32_t>(id));
            std::push_heap(heap.begin(), heap.end(), before);
        }
        return heap;
    }

    std::uint32_t objects_;
    quern::cpu_array<Sum> sums_;
    tbb::task_arena arenas_[2];
};

struct way {
    std::string name;
    unsigned threads;
    std::vector<double> milliseconds{};
    double read = 1;
    bool read_all = true;
};

/// Touches memory and releases it. A virtual machine takes unused pages away after a while, and the next user waits for
/// them: calling this before every timing avoids the wait. Each way still clears the pages that it requests.
void bring_pages_back() {
    quern::cpu_place place(quern::context::cpu(1));
    const quern::cpu_array<char> pages(place, std::size_t{1} << 29, "pages");
    for (std::size_t at = 0; at < pages.size(); at += 4096) pages.data()[at] = 1;
}

class comparison {
  public:
    comparison(const ranked_lists& lists, std::uint32_t k)
        : lists_(lists), views_(lists.views()), k_(k), floats_(lists.objects), doubles_(lists.objects) {
        for (const unsigned threads : {1u, 2u})
            sets_.emplace_back(std::span<const view>(views_), lists.objects, quern::context::cpu(threads));
        for (const auto& [sum, id] : doubles_.best(views_, k, 1)) {
            scores_.push_back(sum);
            ids_.push_back(id);
        }
    }

    void time(way& one) {
        if (lists_.objects > 1'000'000) bring_pages_back();
        const auto begin = std::chrono::steady_clock::now();
        aggregation_result found;
        if (one.name == "dense-float") {
            if (floats_.best(views_, k_, one.threads).size() != ids_.size()) std::abort();
        } else if (one.name == "dense-double") {
            if (doubles_.best(views_, k_, one.threads).size() != ids_.size()) std::abort();
        } else {
            found = by_quern(one);
        }
        const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
        one.milliseconds.push_back(taken.count());
        if (found.depths.empty()) return;
        if (found.ids != ids_ || found.scores != scores_) {
            std::fprintf(stderr, "%s: the result differs from the dense array's\n", one.name.c_str());
            std::exit(1);
        }
        double read = 0, all = 0;
        for (std::size_t i = 0; i < views_.size(); ++i) {
            read += static_cast<double>(found.depths[i]);
            all += static_cast<double>(views_[i].ids.size());
        }
        one.read = read / all;
        one.read_all = found.read_all;
    }

  private:
    aggregation_result by_quern(const way& one) {
        quern::aggregation_options options{.k = k_};
        if (one.name == "set") return sets_[one.threads - 1].top_k(options);
        const auto method = std::ranges::find(quern::aggregation_method_names, std::string_view(one.name));
        if (method == std::end(quern::aggregation_method_names)) throw std::invalid_argument(one.name);
        options.method =
            static_cast<quern::aggregation_method>(method - std::begin(quern::aggregation_method_names));
        return quern::top_k<float>(std::span<const view>(views_), lists_.objects, options,
                                   quern::context::cpu(one.threads));
    }

    const ranked_lists& lists_;
    std::vector<view> views_;
    std::uint32_t k_;
    std::vector<quern::ranked_list_set> sets_;  ///< of 1 and 2 threads
    dense_array<float> floats_;
    dense_array<double> doubles_;
    std::vector<double> scores_;
    std::vector<std::uint32_t> ids_;
};

void measure(int count, char** arguments) {
    const ranked_lists lists = make_lists(arguments[1], static_cast<std::uint32_t>(std::stoul(arguments[2])),
                                          std::stoul(arguments[3]));
    std::vector<std::string> names(arguments + 6, arguments + count);
    if (names.empty()) names = {"auto", "set", "dense-float", "dense-double"};
    std::vector<way> ways;
    for (const std::string& name : names) {
        const bool both = name == "auto" || name == "set" || name.starts_with("dense");
        for (const unsigned threads : {1u, 2u})
            if (threads == 1 || both) ways.push_back({name, threads});
    }
    comparison all(lists, static_cast<std::uint32_t>(std::stoul(arguments[4])));
    // No way is always the first: the first one may wait for memory that the system took away while it was unused.
    const auto rounds = static_cast<std::size_t>(std::stoul(arguments[5]));
    for (std::size_t round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < ways.size(); ++i) all.time(ways[(i + 3 * round) % ways.size()]);
    for (way& one : ways) {
        auto& each = one.milliseconds;
        std::sort(each.begin(), each.end());
        std::printf("%s\t%u\t%.3f\t%.5f\t%d\n", one.name.c_str(), one.threads, each[each.size() / 2],
                    one.read, one.read_all ? 1 : 0);
    }
}

}  // namespace

int main(int count, char** arguments) {
    try {
        if (count < 6) throw std::invalid_argument("KIND OBJECTS LISTS K ROUNDS [WAY...]");
        measure(count, arguments);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "ranked_lists_bench: %s\n", e.what());
        return 1;
    }
}
