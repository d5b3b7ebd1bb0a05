// SPDX-License-Identifier: Apache-2.0
// Copies lists to the device and checks them completely. One pass with one bit per object finds whether a list has a fault.
// Only then a slower pass finds the first faulty entry, by the first position of each id.
#include <cmath>
#include <string>
#include <utility>

#include "ops/rank_aggregation/ranked_table.cuh"
#include "quern/base/error.hpp"

namespace quern::rank_aggregation_detail {
namespace {

/// The order of an entry's faults, in agreement with the CPU.
enum entry_fault : unsigned {
    not_finite,
    out_of_range,
    rises,
    below_floor,
    twice,
    too_large,
    no_entry_fault
};
constexpr const char* fault_words[] = {"the score is not a finite number",
                                       "the id is out of range",
                                       "the score is greater than the previous one",
                                       "the score is below the floor of the list",
                                       "the id occurs twice in the list",
                                       "the score times the weight of the list is not a finite number"};

template <class Score>
__device__ unsigned fault_of_entry(const device_list<Score>& list, std::uint64_t at, std::uint32_t objects) {
    const Score score = list.scores[at];
    if (!isfinite(score)) return not_finite;
    if (list.ids[at] >= objects) return out_of_range;
    if (at != 0 && score > list.scores[at - 1]) return rises;
    return no_entry_fault;
}

/// One thread per entry. `bitmap_of`: one bit per object, zero before. *faulty becomes 1 if there is a fault.
template <class Score>
__global__ void look_at_list_kernel(device_list<Score> list, std::uint32_t objects, std::uint32_t* bitmap_of,
                                    std::uint32_t* faulty) {
    const std::uint64_t at = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at >= list.size) return;
    bool wrong = fault_of_entry(list, at, objects) != no_entry_fault;
    const std::uint32_t id = list.ids[at];
    if (id < objects) {
        const std::uint32_t bit = 1u << (id % 32);
        wrong |= (atomicOr(bitmap_of + id / 32, bit) & bit) != 0;
    }
    if (wrong) atomicOr(faulty, 1u);
}

/// One thread per entry: first[id] becomes the smallest position; all bits are set before.
template <class Score>
__global__ void find_first_places_kernel(device_list<Score> list, std::uint64_t size, std::uint32_t objects,
                                         std::uint32_t* first) {
    const std::uint64_t at = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at < size && list.ids[at] < objects) atomicMin(first + list.ids[at], static_cast<std::uint32_t>(at));
}

/// One thread per entry: *found becomes the minimum of position · 8 + fault.
template <class Score>
__global__ void find_first_fault_kernel(device_list<Score> list, std::uint64_t size, std::uint32_t objects,
                                        const std::uint32_t* first, bool floors, bool weights,
                                        std::uint64_t* found) {
    const std::uint64_t at = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at >= size) return;
    unsigned fault = fault_of_entry(list, at, objects);
    const double score = static_cast<double>(list.scores[at]);
    if (fault == no_entry_fault && floors && score < list.floor) fault = below_floor;
    if (fault == no_entry_fault && first[list.ids[at]] < at) fault = twice;
    if (fault == no_entry_fault && weights && !isfinite(list.weight * score)) fault = too_large;
    if (fault != no_entry_fault)
        atomicMin(reinterpret_cast<unsigned long long*>(found),
                  static_cast<unsigned long long>(at * 8 + fault));
}

cuda::launch_shape one_an_entry(std::uint64_t size) {
    return {cuda::blocks_for(size, block_threads), block_threads};
}

}  // namespace

template <class Score>
device_lists<Score>::device_lists(cuda_place& place, std::span<const ranked_list_view<Score>> lists,
                                  std::uint32_t objects, bool keep)
    : place_(place), objects_(objects) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
        check_list_sizes(i, lists[i].ids.size(), lists[i].scores.size());
        ids_.emplace_back(place, lists[i].ids, "the ids of a list", !keep);
        scores_.emplace_back(place, lists[i].scores, "the scores of a list", !keep);
        add(lists[i]);
    }
    look_for_faults();
}

template <class Score>
device_lists<Score>::device_lists(cuda_place& place, std::span<const ranked_list_view<Score>> lists,
                                  std::uint32_t objects, std::vector<cuda_array<std::uint32_t>> ids,
                                  std::vector<cuda_array<Score>> scores)
    : place_(place), objects_(objects) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
        check_list_sizes(i, ids[i].size(), scores[i].size());
        ids_.emplace_back(std::move(ids[i]));
        scores_.emplace_back(std::move(scores[i]));
        add(lists[i]);
    }
    look_for_faults();
}

template <class Score>
void device_lists<Score>::add(const ranked_list_view<Score>& list) {
    lists_.push_back({ids_.back().data(), scores_.back().data(), list.ids.size(), list.weight, list.floor});
    ends_.push_back(list.scores.empty() ? ends{list.floor, list.floor}
                                        : ends{static_cast<double>(list.scores.front()),
                                               static_cast<double>(list.scores.back())});
    longest_ = std::max<std::uint64_t>(longest_, list.ids.size());
}

template <class Score>
void device_lists<Score>::look_for_faults() {
    table_ = array_from(place_, std::span<const device_list<Score>>(lists_), "a table of lists");
    const std::size_t words = (std::size_t{objects_} + 31) / 32;
    const cuda_array<std::uint32_t> memory(place_, words + size(), "marks of objects");
    std::uint32_t* const faulty = memory.data() + words;
    place_.fill_bytes(faulty, 0, size() * sizeof(std::uint32_t));
    for (std::size_t i = 0; i < size(); ++i) {
        if (words != 0) place_.fill_bytes(memory.data(), 0, words * sizeof(std::uint32_t));
        QUERN_LAUNCH(place_, one_an_entry(lists_[i].size), look_at_list_kernel<Score>, lists_[i], objects_,
                     memory.data(), faulty + i);
    }
    faulty_ = to_host(place_, memory.span().subspan(words));
}

template <class Score>
void device_lists<Score>::refuse_faults(const scoring* rule) {
    for (std::size_t i = 0; i < size(); ++i) {
        bool wrong = faulty_[i] != 0;
        if (rule != nullptr && rule->rule() != aggregate::rrf) {
            // Descending scores are above the floor and not too large if the first and the last are.
            wrong |= ends_[i].last < lists_[i].floor;
            wrong |= !std::isfinite(rule->value(i, ends_[i].first, 1));
            wrong |= !std::isfinite(rule->value(i, ends_[i].last, 1));
        }
        if (wrong) refuse_first(i, rule);
    }
}

/// A list with more entries than objects has an id twice, or out of range, among its first objects + 1 entries.
template <class Score>
void device_lists<Score>::refuse_first(std::size_t list, const scoring* rule) {
    const device_list<Score>& of = lists_[list];
    const std::uint64_t size = std::min<std::uint64_t>(of.size, std::uint64_t{objects_} + 1);
    const cuda_array<std::uint32_t> first(place_, objects_, "the first places of objects");
    const cuda_array<std::uint64_t> found(place_, 1);
    if (objects_ != 0) place_.fill_bytes(first.data(), 0xff, first.size() * sizeof(std::uint32_t));
    place_.fill_bytes(found.data(), 0xff, sizeof(std::uint64_t));
    QUERN_LAUNCH(place_, one_an_entry(size), find_first_places_kernel<Score>, of, size, objects_,
                 first.data());
    const bool ruled = rule != nullptr && rule->rule() != aggregate::rrf;
    QUERN_LAUNCH(place_, one_an_entry(size), find_first_fault_kernel<Score>, of, size, objects_, first.data(),
                 ruled, ruled, found.data());
    const std::uint64_t packed = to_host(place_, found.span())[0];
    if (packed == ~std::uint64_t{0}) throw list_fault(list, 0, "the list changed while it was read");
    throw list_fault(list, packed / 8, fault_words[packed % 8]);
}

template class device_lists<float>;
template class device_lists<double>;

}  // namespace quern::rank_aggregation_detail
