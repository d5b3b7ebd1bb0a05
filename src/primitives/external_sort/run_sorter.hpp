// SPDX-License-Identifier: Apache-2.0
// Decides, for every place, how many pairs of an external sort are sorted at a time, and sorts them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "device/array.hpp"
#include "device/budget_share.hpp"
#include "primitives/external_sort/sorted_run.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/sort/sort_memory.hpp"
#include "quern/base/context.hpp"

namespace quern::primitives {

/// The context of the sorter's own place.
inline context within(context ctx, unsigned threads, std::uint64_t memory_bytes) {
    ctx.threads = threads;
    ctx.memory_bytes = memory_bytes;
    return ctx;
}

/// How many pairs are sorted at a time, with how many threads and how much memory.
struct run_plan {
    std::size_t pairs;
    unsigned threads;          ///< of the CPU
    std::uint64_t sort_bytes;  ///< of host memory, besides the pairs
};

/// The memory of a sort on the CPU: a copy of the pairs, and tables and a bucket for each thread; for few pairs, which one
/// thread sorts in its cache, two copies. Uses few threads if memory is scarce.
template <class Key, class Value>
run_plan plan_runs(const cpu_place& place, std::uint64_t memory_bytes) {
    struct record {
        Key key;
        Value value;
    };
    constexpr std::size_t few_bytes = std::size_t{1} << 19, pair_bytes = block_layout<Key, Value>::pair_bytes;
    const auto threads = static_cast<unsigned>(
        std::clamp<std::uint64_t>(memory_bytes / 4 / sort_bytes_of_thread, 1, place.threads()));
    const std::uint64_t for_pairs = memory_bytes - std::min(memory_bytes, threads * sort_bytes_of_thread);
    const std::size_t pairs = for_pairs / (2 * pair_bytes + sizeof(record));
    if (pairs * sizeof(record) > few_bytes)
        return {pairs, threads, pairs * sizeof(record) + threads * sort_bytes_of_thread};
    const std::size_t few =
        std::min(few_bytes / sizeof(record), memory_bytes / (2 * pair_bytes + 2 * sizeof(record)));
    return {few, 1, 2 * few * sizeof(record)};
}
/// A GPU needs the pairs, a copy, and an eighth for the counters of its sort.
template <class Key, class Value>
run_plan plan_runs(cuda_place& place, std::uint64_t memory_bytes) {
    constexpr std::size_t pair_bytes = block_layout<Key, Value>::pair_bytes;
    const std::uint64_t on_device = place.memory().left() / 8 * 7 / (2 * pair_bytes);
    return {std::min(memory_bytes / (2 * pair_bytes), on_device), place.ctx().thread_count(), 0};
}

/// Sorts run after run. On the CPU in its own place, whose memory one run leaves to the next.
class run_sorter_cpu {
  public:
    run_sorter_cpu(cpu_place& host, cpu_place&, const run_plan& plan)
        : share_(host.memory(), plan.sort_bytes, "sorting a run"),
          place_(within(host.ctx(), plan.threads, plan.sort_bytes)) {}

    template <class Key, class Value>
    void sort(std::span<Key> keys, std::span<Value> values, sort_options options) {
        sort_pairs(place_, keys, values, options);
    }

  private:
    budget_share share_;
    cpu_place place_;
};
class run_sorter_cuda {
  public:
    run_sorter_cuda(cpu_place&, cuda_place& place, const run_plan&) : place_(place) {}

    template <class Key, class Value>
    void sort(std::span<Key> keys, std::span<Value> values, sort_options options) {
        const auto device_keys = array_from(place_, std::span<const Key>(keys), "a sorted run's keys");
        const auto device_values =
            array_from(place_, std::span<const Value>(values), "a sorted run's values");
        sort_pairs(place_, device_keys.span(), device_values.span(), options);
        copy_out<Key>(place_, device_keys.span(), keys);
        copy_out<Value>(place_, device_values.span(), values);
    }

  private:
    cuda_place& place_;
};

}  // namespace quern::primitives
