// SPDX-License-Identifier: Apache-2.0
// Lists that stay on one place or on several: what a ranked_list_set is, for a device that was chosen.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "quern/base/choose_device.hpp"
#include "quern/ops/rank_aggregation.hpp"

namespace quern::rank_aggregation_detail {

class list_set {
  public:
    virtual ~list_set() = default;
    virtual aggregation_result top_k(const aggregation_options& options) = 0;
    virtual std::uint64_t bytes() const = 0;
};

/// Fewer entries stay on the first device: there a call takes 0.1 to 0.8 ms for 40 million, and starting the threads of
/// several takes 0.1.
inline constexpr std::uint64_t min_shared_entries = std::uint64_t{1} << 27;

/// Several places each hold the entries of a range of the objects. They find their best at once, by `automatic`; of these
/// the best are chosen. The first also holds the whole lists, for the faults in them, for `segmented` and for reciprocal
/// ranks. Depths and candidates are sums. Several CPU places, in tests, find no fault before a call.
template <class Score>
std::unique_ptr<list_set> make_list_set(std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                                        const context& ctx, const chosen_device& chosen,
                                        std::uint64_t min_entries = min_shared_entries);

/// Fewer bytes of lists are copied by one GPU within 20 ms.
inline constexpr std::uint64_t min_gathered_bytes = std::uint64_t{1} << 30;

/// One call: the places copy the lists to the first (gathered_lists.hpp), which finds the best.
template <class Score>
aggregation_result top_k_of_gathered(std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                                     const aggregation_options& options, const context& ctx,
                                     const chosen_device& chosen);

}  // namespace quern::rank_aggregation_detail
