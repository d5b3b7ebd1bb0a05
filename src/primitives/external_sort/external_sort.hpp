// SPDX-License-Identifier: Apache-2.0
// Sorting more pairs than memory holds: sorted runs on disk, then one merge that streams. Contract class: exact and
// stable in the order of push, whatever the budget, the number of runs, the place and the threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "device/array.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

/// What an external sort did. All but `pairs` and `host_bytes` are 0 where everything fitted into memory.
struct external_sort_record {
    std::uint64_t pairs = 0;
    std::uint64_t host_bytes = 0;    ///< the most memory taken at a time; known at the end
    std::uint64_t runs = 0;          ///< sorted and written, not counting what merges of merges wrote
    std::uint64_t merge_passes = 0;  ///< times that pairs are merged, at most
    std::uint64_t bytes_written = 0, bytes_read = 0;  ///< scratch files
};

/// The least that an external sort takes. A test may pass less, to see many runs of few pairs.
inline constexpr std::uint64_t external_sort_least_memory = std::uint64_t{64} << 20;

/// Push pairs in any stretches, then take them back sorted, once. Everything is sorted in memory where a third of
/// `memory_bytes` holds it (a half on CUDA).
///
/// Memory: at most `memory_bytes` of the host's, all buffers told and those kept for the next run too (at least
/// `least_memory`, usage_error below). A CPU place's budget gives them away whole, from the constructor on
/// (out_of_memory where it has less left). A CUDA place gives device memory within its budget while a run is sorted.
/// Disk: spills to run().scratch_folder(), as much as there are pairs; up to twice that where runs are merged in
/// several passes, and once more for each pass where the file system cannot give back parts of a file. Memory and
/// scratch files are given back when finish returns, when a call fails, and when this goes.
///
/// Floats as in sort.hpp: a NaN is refused with its position in the order of push. A full disk, or run().scratch_bytes
/// that do not suffice, is an io_error; stopping is `interrupted`. A call that throws usage_error by itself changes
/// nothing; after any other exception, those of `take` too, the sorter has failed, and push and finish are refused.
template <class Place, sortable_key Key, payload Value>
class external_sorter {
  public:
    external_sorter(Place& place, std::uint64_t memory_bytes, sort_options options = {},
                    std::uint64_t least_memory = external_sort_least_memory);
    external_sorter(const external_sorter&) = delete;  // one owner of the scratch files
    external_sorter& operator=(const external_sorter&) = delete;
    ~external_sorter();

    /// Host memory, read before this returns. Throws usage_error where the sizes differ. Sorts a run where the buffer
    /// is full, which on a CUDA place synchronises; writing it goes on in a thread of its own.
    void push(std::span<const Key> keys, std::span<const Value> values);

    /// Calls `take` with stretches of the sorted pairs, in order, from the calling thread; the spans are valid
    /// during the call. Once; nothing is pushed after. CUDA: synchronises.
    void finish(const std::function<void(std::span<const Key>, std::span<const Value>)>& take);

    const external_sort_record& record() const;

  private:
    class state;
    std::unique_ptr<state> state_;
};

}  // namespace quern::primitives
