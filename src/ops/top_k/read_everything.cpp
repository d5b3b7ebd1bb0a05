// SPDX-License-Identifier: Apache-2.0
// All lists into one array of scores, list by list in their order, as the rule has it; then the best are selected. Ids come in
// no order: each entry is a miss, and what counts is how many of them are under way. Threads take stretches of one list at a
// time, in which every object occurs once.
#include <algorithm>
#include <cmath>

#include "device/cpu/parallel.hpp"
#include "ops/top_k/automatic.hpp"

namespace quern::top_k_detail {
namespace {

constexpr std::uint32_t ahead = 24;  // entries whose scores are fetched before they are needed

template <class Score>
class all_scores {
  public:
    all_scores(cpu_place& place, const scoring& rule, list_prefixes<Score>& lists, std::uint32_t objects)
        : place_(place),
          rule_(rule),
          lists_(lists),
          objects_(objects),
          scores_(place, objects, "the scores of objects") {
        lists.read_to(lists.longest());
        const double first = rule.rule() == aggregate::product ? 1 : 0;
        for_each_stretch(objects_, [&](stretch mine) {
            std::fill(scores_.data() + mine.begin, scores_.data() + mine.end, first);
        });
        for (std::size_t i = 0; i < lists.lists(); ++i) {
            switch (rule.rule()) {
                case aggregate::min:
                    add(i,
                        [i](double score, double value) { return i == 0 || value < score ? value : score; });
                    break;
                case aggregate::max:
                    add(i,
                        [i](double score, double value) { return i == 0 || value > score ? value : score; });
                    break;
                case aggregate::product:
                    add(i, [](double score, double value) { return score * value; });
                    break;
                default:
                    add(i, [](double score, double value) { return score + value; });
            }
        }
    }

    std::vector<scored_object> best(std::uint32_t k) const {
        const std::size_t pieces = pieces_for(place_, objects_, least_stretch);
        std::vector<best_objects> of_piece(pieces, best_objects(k));
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const stretch mine = piece_of(objects_, pieces, p);
            best_objects& best = of_piece[p];
            for (std::size_t id = mine.begin; id < mine.end; ++id) {
                const double raw = scores_.data()[id];
                const double score = (rule_.rule() == aggregate::mean ? raw / rule_.weights() : raw) + 0.0;
                if (best.full() && score <= best.last().score) continue;  // ids rise: a tie does not precede
                if (in_some(id)) best.offer({score, static_cast<std::uint32_t>(id)});
            }
        });
        best_objects all(k);
        for (const best_objects& one : of_piece)
            for (const scored_object& object : one.sorted()) all.offer(object);
        return all.sorted();
    }

  private:
    static constexpr std::size_t least_stretch = std::size_t{1} << 16;

    bool in_some(std::size_t id) const {
        for (std::size_t i = 0; i < lists_.lists(); ++i)
            if (in_list(i, id)) return true;
        return false;
    }
    bool in_list(std::size_t list, std::size_t id) const {
        return (lists_.plane(list)[id / 64] >> (id % 64) & 1) != 0;
    }

    template <class Work>
    void for_each_stretch(std::size_t items, const Work& work) {
        place_.run().check_stop();
        const std::size_t pieces = pieces_for(place_, items, least_stretch);
        for_each_piece(place_, pieces, [&](std::size_t p) { work(piece_of(items, pieces, p)); });
    }

    template <class Rule>
    void add(std::size_t list, const Rule& rule) {
        const auto& [ids, list_scores, weight, floor] = lists_.view(list);
        double* const scores = scores_.data();
        for_each_stretch(ids.size(), [&, ids = ids.data(), from = list_scores.data()](stretch mine) {
            const auto add_one = [&](std::size_t at) {
                double& score = scores[ids[at]];
                score = rule(score, rule_.value(list, static_cast<double>(from[at]), at + 1));
            };
            const std::size_t fetched = mine.end - std::min<std::size_t>(ahead, mine.end - mine.begin);
            for (std::size_t at = mine.begin; at < fetched; ++at) {
                __builtin_prefetch(scores + ids[at + ahead], 1);
                add_one(at);
            }
            for (std::size_t at = fetched; at < mine.end; ++at) add_one(at);
        });
        const bool sums = rule_.rule() == aggregate::sum || rule_.rule() == aggregate::mean ||
                          rule_.rule() == aggregate::rrf;
        const double floor_value = rule_.floor_value(list);
        if (ids.size() == objects_ || (sums && floor_value == 0)) return;
        for_each_stretch(objects_, [&](stretch mine) {
            for (std::size_t id = mine.begin; id < mine.end; ++id)
                if (!in_list(list, id)) scores[id] = rule(scores[id], floor_value);
        });
    }

    cpu_place& place_;
    const scoring& rule_;
    const list_prefixes<Score>& lists_;
    std::uint32_t objects_;
    cpu_array<double> scores_;
};

}  // namespace

template <class Score>
automatic_answer read_everything(cpu_place& place, const scoring& rule, list_prefixes<Score>& lists,
                                 std::uint32_t objects, std::uint32_t k) {
    const all_scores<Score> scores(place, rule, lists, objects);
    return {{scores.best(k), objects}, {lists.depths().begin(), lists.depths().end()}};
}
template automatic_answer read_everything(cpu_place&, const scoring&, list_prefixes<float>&, std::uint32_t,
                                          std::uint32_t);
template automatic_answer read_everything(cpu_place&, const scoring&, list_prefixes<double>&, std::uint32_t,
                                          std::uint32_t);

}  // namespace quern::top_k_detail
