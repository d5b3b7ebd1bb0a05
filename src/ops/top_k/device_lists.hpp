// SPDX-License-Identifier: Apache-2.0
// Lists in a GPU's memory, put there once: checked whole when they come, so that nothing which reads them has to. Read by
// every compiler.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "ops/top_k/lists.hpp"

namespace quern::top_k_detail {

/// One list, as kernels see it.
template <class Score>
struct list_there {
    const std::uint32_t* ids;
    const Score* scores;
    std::uint64_t size;
    double weight, floor;
};

/// What a method found: the best k, or all there are; best first.
struct device_answer {
    std::vector<std::uint32_t> ids;
    std::vector<double> scores;
    std::vector<std::uint64_t> depths;
    std::uint64_t candidates = 0;
};

/// Scores by object, a column a list: what reading everything makes of the lists, kept for the next time.
struct score_columns {
    cuda_array<std::byte>
        cells;  ///< Score, or uint32 ranks; all bits set where the object is not in the list
    bool made = false, ranks = false;
};

template <class Score>
class device_lists {
  public:
    /// Throws usage_error for sizes that differ. What is wrong in a list is noted for refuse_faults.
    device_lists(cuda_place& place, std::span<const ranked_list_view<Score>> lists, std::uint32_t objects);

    /// Throws list_fault for the first list in which something is wrong, its first entry: scores that are not finite, rise,
    /// or (with a rule) are below the floor or too large for the weight; ids out of range or twice.
    void refuse_faults(const scoring* rule);

    cuda_place& place() const { return place_; }
    std::uint32_t objects() const { return objects_; }
    std::size_t size() const { return lists_.size(); }
    /// The same on the host: its pointers are the device's.
    std::span<const list_there<Score>> lists() const { return lists_; }
    const list_there<Score>* table() const { return table_.data(); }
    std::uint64_t longest() const { return longest_; }
    /// Whether some list holds every object.
    bool all_in_one() const { return longest_ == objects_; }
    score_columns& columns() { return columns_; }

  private:
    struct ends {
        double first, last;
    };
    void look_for_faults();
    [[noreturn]] void refuse_first(std::size_t list, const scoring* rule);

    cuda_place& place_;
    std::uint32_t objects_;
    std::uint64_t longest_ = 0;
    std::vector<cuda_array<std::uint32_t>> ids_;
    std::vector<cuda_array<Score>> scores_;
    std::vector<list_there<Score>> lists_;
    std::vector<ends> ends_;  ///< scores
    cuda_array<list_there<Score>> table_;
    std::vector<std::uint32_t> faulty_;
    score_columns columns_;
};

/// Ours: three strokes where stopping early pays, else by columns.
template <class Score>
device_answer automatic(device_lists<Score>& lists, const scoring& rule, std::uint32_t k);
/// The paper's. Reads `stride` levels at a time.
template <class Score>
device_answer segmented(device_lists<Score>& lists, const scoring& rule, std::uint32_t k,
                        std::uint32_t stride);

/// What `automatic` chooses from. False where reading everything is the better way.
template <class Score>
bool stops_early(device_lists<Score>& lists, const scoring& rule, std::uint32_t k, device_answer& answer);
template <class Score>
device_answer read_everything(device_lists<Score>& lists, const scoring& rule, std::uint32_t k);

}  // namespace quern::top_k_detail
