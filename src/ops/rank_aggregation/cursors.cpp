// SPDX-License-Identifier: Apache-2.0
#include "ops/rank_aggregation/cursors.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "quern/base/error.hpp"

namespace quern::rank_aggregation_detail {
namespace {

constexpr std::size_t first_step = 64, last_step = 4096;

/// A list in memory: doubles directly, floats widened one step at a time.
template <class Score>
class view_cursor final : public list_cursor {
  public:
    view_cursor(const scoring& rule, std::size_t list, std::uint32_t objects,
                const ranked_list_view<Score>& entries)
        : list_cursor(rule, list, objects), entries_(entries), step_(first_step) {}

  private:
    void fill(std::span<const std::uint32_t>& ids, std::span<const double>& scores) override {
        const std::size_t size = std::min(step_, entries_.ids.size() - taken_);
        ids = entries_.ids.subspan(taken_, size);
        if constexpr (std::is_same_v<Score, double>) {
            scores = entries_.scores.subspan(taken_, size);
        } else {
            const auto narrow = entries_.scores.subspan(taken_, size);
            wide_.assign(narrow.begin(), narrow.end());
            scores = wide_;
        }
        taken_ += size;
        step_ = std::min(2 * step_, last_step);
    }

    ranked_list_view<Score> entries_;
    std::size_t taken_ = 0, step_;
    std::vector<double> wide_;
};

class pulled_cursor final : public list_cursor {
  public:
    pulled_cursor(const scoring& rule, std::size_t list, std::uint32_t objects, ranked_stream& entries)
        : list_cursor(rule, list, objects), entries_(entries) {}

  private:
    void fill(std::span<const std::uint32_t>& ids, std::span<const double>& scores) override {
        ids_.resize(step_);
        scores_.resize(step_);
        const std::size_t size = entries_.read(ids_, scores_);
        ids = std::span(ids_).first(size);
        scores = std::span(scores_).first(size);
        step_ = std::min(2 * step_, last_step);
    }

    ranked_stream& entries_;
    std::size_t step_ = first_step;
    std::vector<std::uint32_t> ids_;
    std::vector<double> scores_;
};

}  // namespace

bool list_cursor::refill() {
    if (ended_) return false;
    at_ = 0;
    fill(ids_, scores_);
    if (!ids_.empty()) return true;
    ended_ = true;
    bound_ = rule_.floor_value(list_);
    return false;
}

void list_cursor::read_entry() {
    id_ = ids_[at_];
    const double score = scores_[at_];
    const auto refuse = [&](const char* reason) { throw list_fault(list_, depth_, reason); };
    if (!std::isfinite(score)) refuse("the score is not a finite number");
    if (id_ >= objects_) refuse("the id is out of range");
    if (depth_ != 0 && score > last_score_) refuse("the score is greater than the previous one");
    if (rule_.rule() != aggregate::rrf && score < rule_.rules()[list_].floor)
        refuse("the score is below the floor of the list");
    bound_ = rule_.value(list_, score, depth_ + 1);
    if (!std::isfinite(bound_)) refuse("the score times the weight of the list is not a finite number");
    last_score_ = score;
    ++at_;
    ++depth_;
}

template <class Score>
list_cursors cursors_of(const scoring& rule, std::span<const ranked_list_view<Score>> lists,
                        std::uint32_t objects) {
    list_cursors cursors;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        check_list_sizes(i, lists[i].ids.size(), lists[i].scores.size());
        cursors.push_back(std::make_unique<view_cursor<Score>>(rule, i, objects, lists[i]));
    }
    return cursors;
}
template list_cursors cursors_of(const scoring&, std::span<const ranked_list_view<float>>, std::uint32_t);
template list_cursors cursors_of(const scoring&, std::span<const ranked_list_view<double>>, std::uint32_t);

list_cursors cursors_of(const scoring& rule, std::span<const pulled_list> lists, std::uint32_t objects) {
    list_cursors cursors;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        if (lists[i].entries == nullptr)
            throw usage_error("list " + std::to_string(i + 1) + " has nothing to pull from");
        cursors.push_back(std::make_unique<pulled_cursor>(rule, i, objects, *lists[i].entries));
    }
    return cursors;
}

}  // namespace quern::rank_aggregation_detail
