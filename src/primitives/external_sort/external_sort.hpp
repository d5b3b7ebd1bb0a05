// SPDX-License-Identifier: Apache-2.0
// Sorts more pairs than memory holds: sorted runs on disk, then one streaming merge. Contract class: exact and stable in
// the order of push, for any budget, number of runs, place and number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "device/array.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

/// Statistics of an external sort. All but `pairs` and `host_bytes` are 0 if everything fitted into memory.
struct external_sort_record {
    std::uint64_t pairs = 0;
    std::uint64_t host_bytes = 0;    ///< maximum memory at any time; known at the end
    std::uint64_t runs = 0;          ///< sorted and written, not counting intermediate merges
    std::uint64_t merge_passes = 0;  ///< maximum number of merges of a pair
    std::uint64_t bytes_written = 0, bytes_read = 0;  ///< scratch files
};

/// The minimum memory of an external sort. A test may pass less, to get many runs of few pairs.
inline constexpr std::uint64_t external_sort_min_memory = std::uint64_t{64} << 20;

/// Push pairs in any chunks, then take them back sorted, once. Everything is sorted in memory if a third of `memory_bytes`
/// holds it (a half on CUDA).
///
/// - Memory: at most `memory_bytes` of the host's, including all buffers and those kept for the next run (at least
///   `min_memory`, usage_error below). A CPU place's budget reserves them completely, from the constructor on
///   (out_of_memory if less is left). A CUDA place provides device memory within its budget while a run is sorted.
/// - Disk: spills to run().scratch_folder(), as much as the pairs take; up to twice that if runs are merged in several
///   passes, and once more per pass if the file system cannot free parts of a file.
/// - Memory and scratch files are freed when finish returns, when a call fails, and on destruction.
/// - Floats as in sort.hpp: a NaN is rejected with its position in the order of push.
/// - A full disk, or insufficient run().scratch_bytes, is an io_error; stopping is `interrupted`.
/// - A call that throws usage_error itself changes nothing. After any other exception, including those of `sink`, the
///   sorter has failed, and push and finish are rejected.
template <class Place, sortable_key Key, payload Value>
class external_sorter {
  public:
    external_sorter(Place& place, std::uint64_t memory_bytes, sort_options options = {},
                    std::uint64_t min_memory = external_sort_min_memory);
    external_sorter(const external_sorter&) = delete;  // single owner of the scratch files
    external_sorter& operator=(const external_sorter&) = delete;
    ~external_sorter();

    /// Host memory, read before this returns. Throws usage_error if the sizes differ. Sorts a run when the buffer is full,
    /// which synchronises a CUDA place; a separate thread writes it.
    void push(std::span<const Key> keys, std::span<const Value> values);

    /// Calls `sink` with chunks of the sorted pairs, in order, from the calling thread; the spans are valid during the
    /// call. Only once; nothing may be pushed afterwards. CUDA: synchronises.
    void finish(const std::function<void(std::span<const Key>, std::span<const Value>)>& sink);

    const external_sort_record& record() const;

  private:
    class state;
    std::unique_ptr<state> state_;
};

}  // namespace quern::primitives
