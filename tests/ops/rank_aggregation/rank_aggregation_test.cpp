// SPDX-License-Identifier: Apache-2.0
// Every method against reading everything, over lists of every kind; and faults in lists.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "ops/rank_aggregation/ranked_lists.hpp"
#include "quern/base/error.hpp"
#include "reference/ranked_lists_reference.hpp"

namespace quern::rank_aggregation_test {
namespace {

/// Provides a list in uneven pieces.
template <class Score>
class list_stream final : public ranked_stream {
  public:
    list_stream(const std::vector<std::uint32_t>& ids, const std::vector<Score>& scores)
        : ids_(ids), scores_(scores) {}
    std::size_t read(std::span<std::uint32_t> ids, std::span<double> scores) override {
        const std::size_t size = std::min({ids.size(), ids_.size() - taken_, std::size_t{37}});
        for (std::size_t j = 0; j < size; ++j) {
            ids[j] = ids_[taken_ + j];
            scores[j] = scores_[taken_ + j];
        }
        taken_ += size;
        return size;
    }

  private:
    const std::vector<std::uint32_t>& ids_;
    const std::vector<Score>& scores_;
    std::size_t taken_ = 0;
};

template <class Score>
aggregation_result pulled_top_k(const ranked_lists<Score>& lists, const aggregation_options& options) {
    std::vector<std::unique_ptr<list_stream<Score>>> streams;
    std::vector<pulled_list> pulled;
    const auto views = lists.views();
    for (std::size_t i = 0; i < views.size(); ++i) {
        streams.push_back(std::make_unique<list_stream<Score>>(lists.ids[i], lists.scores[i]));
        pulled.push_back({streams.back().get(), views[i].weight, views[i].floor});
    }
    return top_k(std::span<const pulled_list>(pulled), lists.objects, options, context::cpu(1));
}

constexpr aggregation_method named_methods[] = {aggregation_method::nra, aggregation_method::stream_combine,
                                                aggregation_method::lara, aggregation_method::segmented};
template <class Score>
void expect_reference(const ranked_lists<Score>& lists, aggregation_options options) {
    const auto views = lists.views();
    const auto expected = reference::best_of_lists<Score>(views, options);
    for (const unsigned threads : {1u, 3u}) {
        const auto found = top_k<Score>(std::span<const ranked_list_view<Score>>(views), lists.objects,
                                        options, context::cpu(threads));
        EXPECT_EQ(pairs_of(found), expected)
            << "auto of " << aggregate_names[static_cast<std::size_t>(options.score)] << ", k " << options.k
            << ", " << lists.ids.size() << " lists";
    }
    for (const aggregation_method method : named_methods) {
        options.method = method;
        EXPECT_EQ(pairs_of(pulled_top_k(lists, options)), expected)
            << aggregation_method_names[static_cast<std::size_t>(method)] << " of "
            << aggregate_names[static_cast<std::size_t>(options.score)] << ", k " << options.k << ", "
            << lists.ids.size() << " lists";
    }
}

TEST(top_k, every_method_gives_what_reading_everything_gives) {
    for (const list_kind kind : every_list_kind) {
        for (const std::uint32_t objects : {1u, 7u, 400u}) {
            for (const std::size_t count : {1u, 2u, 4u, 7u}) {
                auto lists = make_lists<float>(kind, objects, count, objects * 31 + count);
                for (const aggregate rule : every_rule) {
                    give_weights(lists, rule);
                    for (const std::uint32_t k : {1u, 10u, 100u, 5000u})
                        expect_reference(lists, {.k = k, .score = rule, .stride = 1 + objects / 9});
                }
            }
        }
    }
}

TEST(top_k, many_lists_and_doubles) {
    auto lists = make_lists<double>(list_kind::uniform, 200, max_lists, 3);
    for (const aggregate rule : every_rule) expect_reference(lists, {.k = 20, .score = rule});
    lists = make_lists<double>(list_kind::tied, 200, 33, 4);
    for (const aggregate rule : every_rule) expect_reference(lists, {.k = 20, .score = rule});
}

TEST(top_k, negative_scores_need_a_floor_below_them) {
    auto lists = make_lists<float>(list_kind::uniform, 100, 3, 5);
    for (auto& list : lists.scores)
        for (float& score : list) score -= 2;
    EXPECT_THROW(pulled_top_k(lists, {.k = 5, .method = aggregation_method::nra}), list_fault);
    lists.floors = {-2, -2, -3};
    expect_reference(lists, {.k = 5});
    expect_reference(lists, {.k = 5, .score = aggregate::min});
}

TEST(top_k, an_unseen_object_of_equal_score_and_lower_id_is_not_lost) {
    ranked_lists<double> lists;
    lists.objects = 4;
    lists.ids = {{3, 2, 1, 0}, {3, 2, 1, 0}};
    lists.scores = {{1, 1, 1, 1}, {1, 1, 1, 1}};
    expect_reference(lists, {.k = 1, .stride = 1});
    expect_reference(lists, {.k = 2, .stride = 1});
}

TEST(top_k, stops_early_where_it_can) {
    const auto lists = make_lists<float>(list_kind::correlated, 20'000, 4, 6);
    for (const aggregation_method method : named_methods) {
        const aggregation_result found = pulled_top_k(lists, {.k = 10, .method = method});
        EXPECT_FALSE(found.read_all);
        for (const std::uint64_t depth : found.depths) EXPECT_LT(depth, 5'000u);
    }
}

void expect_fault(const ranked_lists<double>& lists, std::size_t list, std::uint64_t position,
                  const std::string& reason) {
    for (const aggregation_method method : named_methods) {
        try {
            pulled_top_k(lists, {.k = 5, .method = method});
            FAIL() << reason;
        } catch (const list_fault& fault) {
            EXPECT_EQ(fault.list(), list);
            EXPECT_EQ(fault.position(), position);
            EXPECT_EQ(fault.what(), reason);
        }
    }
}

TEST(top_k, what_is_wrong_in_a_list_is_named) {
    for_each_fault(expect_fault);
}

TEST(top_k, stops_early_or_reads_everything_in_large_lists_too) {
    for (const list_kind kind : every_list_kind) {
        const auto lists = make_lists<float>(kind, 150'000, 4, 8);
        const auto views = lists.views();
        const std::span<const ranked_list_view<float>> span(views);
        const aggregation_options options{.k = 20};
        const aggregation_result found = top_k<float>(span, lists.objects, options, context::cpu(2));
        EXPECT_EQ(pairs_of(found), reference::best_of_lists<float>(span, options));
        if (kind == list_kind::uniform || kind == list_kind::correlated) {
            EXPECT_FALSE(found.read_all);
        }
        if (kind == list_kind::anti_correlated) {
            EXPECT_TRUE(found.read_all);
        }
    }
}

TEST(top_k, options_out_of_range_are_refused) {
    const auto lists = make_lists<float>(list_kind::uniform, 10, 2, 7);
    EXPECT_THROW(pulled_top_k(lists, {.k = 0}), usage_error);
    EXPECT_THROW(pulled_top_k(lists, {.stride = 0}), usage_error);
    EXPECT_THROW(pulled_top_k(lists, {.score = aggregate::rrf, .constant = -1}), usage_error);
    EXPECT_THROW(pulled_top_k(ranked_lists<float>{}, {}), usage_error);
    auto weighted = lists;
    weighted.weights = {1, 0};
    EXPECT_THROW(pulled_top_k(weighted, {}), usage_error);
    weighted.weights = {1, 2};
    EXPECT_THROW(pulled_top_k(weighted, {.score = aggregate::product}), usage_error);
    EXPECT_THROW(pulled_top_k(make_lists<float>(list_kind::uniform, 10, max_lists + 1, 7), {}), usage_error);
}

}  // namespace
}  // namespace quern::rank_aggregation_test
