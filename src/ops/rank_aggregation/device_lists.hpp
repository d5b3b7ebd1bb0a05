// SPDX-License-Identifier: Apache-2.0
// Lists for a GPU, checked completely on arrival, so that no reader has to check. Read by every compiler.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/input_array.hpp"
#include "ops/rank_aggregation/lists.hpp"

namespace quern::rank_aggregation_detail {

/// One list, for kernels.
template <class Score>
struct device_list {
    const std::uint32_t* ids;
    const Score* scores;
    std::uint64_t size;
    double weight, floor;
};

/// The result of a method: the best k, or all there are; best first.
struct device_result {
    std::vector<std::uint32_t> ids;
    std::vector<double> scores;
    std::vector<std::uint64_t> depths;
    std::uint64_t candidates = 0;
};

/// Scores by object, one column per list: made by reading everything, and kept for the next time.
struct score_columns {
    cuda_array<std::byte> cells;  ///< Score, or uint32 ranks; all bits set if the object is not in the list
    bool made = false, ranks = false;
    cuda_array<std::uint16_t> windows;  ///< rank_windows.cuh; kept like columns
    bool tied = false;                  ///< windows did not decide, and are not tried again
};

template <class Score>
class device_lists {
  public:
    /// Throws usage_error for sizes that differ. Records faults in lists for refuse_faults. `keep`: the lists may end before
    /// this object, so they are always copied.
    device_lists(cuda_place& place, std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                 bool keep);
    /// With copies of the lists' ids and scores that are on the device already.
    device_lists(cuda_place& place, std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                 std::vector<cuda_array<std::uint32_t>> ids, std::vector<cuda_array<Score>> scores);

    /// Throws list_fault for the first faulty entry of the first faulty list: scores that are not finite, rise, or (with a
    /// rule) are below the floor or too large for the weight; ids out of range or repeated.
    void refuse_faults(const scoring* rule);

    cuda_place& place() const { return place_; }
    std::uint32_t objects() const { return objects_; }
    std::size_t size() const { return lists_.size(); }
    /// The same on the host; its pointers are device pointers.
    std::span<const device_list<Score>> lists() const { return lists_; }
    const device_list<Score>* table() const { return table_.data(); }
    std::uint64_t longest() const { return longest_; }
    /// Whether some list contains every object.
    bool all_in_one() const { return longest_ == objects_; }
    score_columns& columns() { return columns_; }

  private:
    struct ends {
        double first, last;
    };
    void add(const ranked_list_view<Score>& list);
    void look_for_faults();
    [[noreturn]] void refuse_first(std::size_t list, const scoring* rule);

    cuda_place& place_;
    std::uint32_t objects_;
    std::uint64_t longest_ = 0;
    std::vector<input_array<cuda_place, std::uint32_t>> ids_;
    std::vector<input_array<cuda_place, Score>> scores_;
    std::vector<device_list<Score>> lists_;
    std::vector<ends> ends_;  ///< scores
    cuda_array<device_list<Score>> table_;
    std::vector<std::uint32_t> faulty_;
    score_columns columns_;
};

/// Our method: three passes if stopping early pays, otherwise by columns.
template <class Score>
device_result automatic(device_lists<Score>& lists, const scoring& rule, std::uint32_t k);
/// The paper's method. Reads `stride` levels at a time.
template <class Score>
device_result segmented(device_lists<Score>& lists, const scoring& rule, std::uint32_t k,
                        std::uint32_t stride);

/// The method that `automatic` tries. False if reading everything is better.
template <class Score>
bool stops_early(device_lists<Score>& lists, const scoring& rule, std::uint32_t k, device_result& raw_result);
/// Reads everything, but bounds of all objects leave few to score. False if they leave too many.
template <class Score>
bool find_by_windows(device_lists<Score>& lists, const scoring& rule, std::uint32_t k,
                     device_result& raw_result);
template <class Score>
device_result read_everything(device_lists<Score>& lists, const scoring& rule, std::uint32_t k);

}  // namespace quern::rank_aggregation_detail
