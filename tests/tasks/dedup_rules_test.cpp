// SPDX-License-Identifier: Apache-2.0
// Which documents dedup() removes: rule near-kept against the slow walk over all pairs, for every preference, with and
// without a list of pairs, with sets, stores and streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dedup.hpp"
#include "reference/near_kept_reference.hpp"
#include "tasks/dedup/earlier_decisions.hpp"
#include "temporary_folder.hpp"

namespace quern::dedup_rules_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using testing::write_file;

struct made_document {
    std::string id, text;
};

/// Copies of copies of few texts, some equal and some empty, so that chains are common.
std::vector<made_document> generated(std::uint32_t count, std::uint64_t seed) {
    testing::made_numbers next(seed);
    std::vector<made_document> all;
    for (std::uint32_t i = 0; i < count; ++i) {
        std::string text;
        if (i > 3 && next(10) != 0) {
            text = all[next(i)].text;
            for (std::uint64_t edits = next(14); edits > 0 && !text.empty(); --edits) {
                const std::size_t at = next(text.size());
                next(2) != 0 ? text.insert(at, 1, static_cast<char>('a' + next(26))) : text.erase(at, 1);
            }
        } else if (next(8) != 0) {
            for (std::size_t size = 80 + next(60); text.size() < size;)
                text += static_cast<char>('a' + next(26));
        }
        all.push_back({"d" + std::to_string(i), text});
    }
    return all;
}

std::string lines_of(const std::vector<made_document>& documents, std::size_t first = 0,
                     std::size_t last = ~std::size_t{0}) {
    std::string lines;
    for (std::size_t i = first; i < std::min(last, documents.size()); ++i)
        lines += R"({"id":")" + documents[i].id + R"(","text":")" + documents[i].text + "\"}\n";
    return lines;
}

/// A removed document, one that stays, and the numbers of their pair.
using named_removal = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>;

std::vector<named_removal> named(const dedup_result& result) {
    std::vector<named_removal> out;
    for (const removed_duplicate& r : result.removed())
        out.emplace_back(result.id(r.document), result.id(r.kept), r.distance, r.of);
    return out;
}

class dedup_rules_test : public testing::corpus_fixture {
  protected:
    dedup_options options_for(const std::string& corpus, const std::string& name = "corpus.jsonl") {
        dedup_options options;
        options.inputs = {written(corpus, name)};
        options.duplicates.threshold = parse_decimal("0.1");
        options.list_pairs = false;
        return options;
    }

    /// The walk over all pairs that `exhaustive` finds, with these documents first.
    std::vector<named_removal> expected(dedup_options options, std::vector<std::uint32_t> order,
                                        std::size_t staying = 0) {
        options.duplicates.method = duplicate_method::exhaustive;
        options.list_pairs = true;
        const dedup_result all = dedup(options, context_with(1));
        const auto removed = reference::near_kept(
            {order, staying}, [&](std::uint32_t a, std::uint32_t b) -> reference::pair_numbers {
                for (const duplicate_pair& p : all.pairs())
                    if (p.a == std::min(a, b) && p.b == std::max(a, b)) return std::pair(p.distance, p.of);
                return {};
            });
        std::vector<named_removal> out;
        for (const removed_duplicate& r : removed)
            out.emplace_back(all.id(r.document), all.id(r.kept), r.distance, r.of);
        return out;
    }

    static std::vector<std::uint32_t> numbers(std::uint32_t count) {
        std::vector<std::uint32_t> all(count);
        for (std::uint32_t i = 0; i < count; ++i) all[i] = i;
        return all;
    }
};

TEST_F(dedup_rules_test, every_policy_removes_what_a_walk_removes) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        const auto documents = generated(90, seed);
        dedup_options options = options_for(lines_of(documents));
        for (const auto keep :
             {keep_policy::first, keep_policy::last, keep_policy::longest, keep_policy::shortest}) {
            options.keep = keep;
            std::vector<std::uint32_t> order = numbers(90);
            std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
                const std::size_t left = documents[a].text.size(), right = documents[b].text.size();
                switch (keep) {
                    case keep_policy::last:
                        return a > b;
                    case keep_policy::longest:
                        return left > right;
                    case keep_policy::shortest:
                        return left < right;
                    default:
                        return a < b;
                }
            });
            const auto wanted = expected(options, order);
            EXPECT_GT(wanted.size(), 20U);
            for (const auto method : {duplicate_method::automatic, duplicate_method::exhaustive}) {
                for (const bool list_pairs : {false, true}) {
                    options.duplicates.method = method;
                    options.list_pairs = list_pairs;
                    EXPECT_EQ(named(dedup(options, context_with(2))), wanted);
                }
            }
            options.duplicates.method = duplicate_method::automatic;
            options.list_pairs = false;
            const auto small = context_with(1, 64 << 20);
            EXPECT_EQ(named(dedup(options, small)), wanted);
        }
    }
}

TEST_F(dedup_rules_test, groups_are_a_kept_document_and_what_it_removes) {
    const auto documents = generated(90, 4);
    dedup_options options = options_for(lines_of(documents));
    options.keep_records = true;
    options.keep = keep_policy::last;
    const dedup_result result = dedup(options, context_with(2));
    std::map<std::uint32_t, const removed_duplicate*> removal_of;
    for (const removed_duplicate& r : result.removed()) removal_of[r.document] = &r;
    std::uint32_t before = 0, dropped = 0;
    for (const duplicate_group& group : result.groups()) {
        EXPECT_LE(before, group.members.front());
        before = group.members.front();
        EXPECT_EQ(removal_of.count(group.kept), 0U);
        for (const std::uint32_t d : group.members) {
            if (d == group.kept) continue;
            ASSERT_EQ(removal_of.count(d), 1U);
            EXPECT_EQ(removal_of[d]->kept, group.kept);
            ++dropped;
        }
    }
    EXPECT_EQ(dropped, result.dropped());
    EXPECT_EQ(dropped, removal_of.size());
    // What is kept has no pair.
    std::string kept;
    result.write_kept([&](std::string_view bytes) { kept += bytes; });
    dedup_options again = options_for(kept, "kept.jsonl");
    again.list_pairs = true;
    EXPECT_THAT(dedup(again, context_with(1)).pairs(), IsEmpty());
}

TEST_F(dedup_rules_test, documents_of_preferred_sources_stay) {
    const auto documents = generated(90, 5);
    fs::create_directories(folder_ / "folder");
    dedup_options options = options_for(lines_of(documents, 0, 30), "a.jsonl");
    options.inputs.push_back(written(lines_of(documents, 30, 50), "b.jsonl"));
    written(lines_of(documents, 50, 70), "folder/c.jsonl");
    written(lines_of(documents, 70), "folder/d.jsonl");
    options.inputs.push_back(folder_ / "folder");
    const auto order_of = [&](const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ranges) {
        std::vector<std::uint32_t> order;
        for (const auto& [first, last] : ranges)
            for (std::uint32_t d = first; d < last; ++d) order.push_back(d);
        return order;
    };
    for (const bool list_pairs : {false, true}) {
        options.list_pairs = list_pairs;
        options.prefer = {folder_ / "./folder/d.jsonl", folder_ / "b.jsonl"};
        EXPECT_EQ(named(dedup(options, context_with(2))),
                  expected(options, order_of({{70, 90}, {30, 50}, {0, 30}, {50, 70}})));
        options.prefer = {folder_ / "folder/"};
        EXPECT_EQ(named(dedup(options, context_with(2))), expected(options, order_of({{50, 90}, {0, 50}})));
    }
    // The kept one of a connected group.
    options.rule = removal_rule::connected;
    options.prefer = {folder_ / "folder/d.jsonl"};
    const dedup_result connected = dedup(options, context_with(1));
    EXPECT_THAT(connected.removed(), IsEmpty());
    for (const duplicate_group& group : connected.groups()) {
        const auto first = std::ranges::lower_bound(group.members, 70U);
        EXPECT_EQ(group.kept, first == group.members.end() ? group.members.front() : *first);
    }
    options.prefer = {folder_ / "fold"};
    EXPECT_THROW(dedup(options, context_with(1)), usage_error);
    options.prefer = {folder_ / "folder/absent.jsonl"};
    EXPECT_THROW(dedup(options, context_with(1)), usage_error);
}

TEST_F(dedup_rules_test, all_documents_of_a_set_stay) {
    const auto documents = generated(90, 6);
    dedup_options options = options_for(lines_of(documents, 40));
    options.against = {written(lines_of(documents, 0, 40), "old.jsonl")};
    options.keep = keep_policy::last;
    std::vector<std::uint32_t> order = numbers(90);
    std::reverse(order.begin() + 40, order.end());
    for (const bool list_pairs : {false, true}) {
        options.list_pairs = list_pairs;
        const auto wanted = expected(options, order, 40);
        EXPECT_GT(wanted.size(), 10U);
        EXPECT_EQ(named(dedup(options, context_with(2))), wanted);
    }
}

TEST_F(dedup_rules_test, a_store_fed_in_pieces_removes_the_same) {
    const auto documents = generated(90, 7);
    const auto whole = named(dedup(options_for(lines_of(documents)), context_with(2)));
    std::vector<named_removal> found;
    for (const auto& [first, last] : {std::pair{0U, 20U}, {20U, 60U}, {60U, 90U}}) {
        dedup_options piece = options_for(lines_of(documents, first, last), "piece.jsonl");
        piece.store = folder_ / "store";
        piece.shard_bytes = 1000;
        piece.list_pairs = first == 20;
        const auto removed = named(dedup(piece, context_with(2)));
        EXPECT_EQ(named(dedup(piece, context_with(1))), removed) << "the same command again";
        found.insert(found.end(), removed.begin(), removed.end());
    }
    EXPECT_EQ(found, whole);
    EXPECT_GT(verify_duplicate_store(folder_ / "store", context_with(1)), 0U);
    // Its decisions are checked when they are read.
    for (const auto& entry : fs::directory_iterator(folder_ / "store")) {
        if (!entry.path().filename().string().starts_with("decisions.")) continue;
        std::string bytes = testing::read_file(entry.path());
        bytes.back() = static_cast<char>(bytes.back() ^ 1);
        write_file(entry.path(), bytes);
    }
    EXPECT_THROW(verify_duplicate_store(folder_ / "store", context_with(1)), damaged_store);
}

const std::string plain(100, 'x');
/// So many letters of `plain` differ: texts are near, at 0.1, if fewer than 20 differ.
made_document with(const std::string& id, std::size_t letters) {
    return {id, std::string(plain).replace(0, letters, letters, 'y')};
}

TEST_F(dedup_rules_test, earlier_documents_keep_their_decisions) {
    const auto removed_on = [&](const std::vector<made_document>& day, removal_rule rule, keep_policy keep) {
        dedup_options options = options_for(lines_of(day), "day.jsonl");
        options.store = folder_ / "store";
        options.rule = rule;
        options.keep = keep;
        options.keep_records = true;
        const dedup_result result = dedup(options, context_with(1));
        std::string kept;
        result.write_kept([&](std::string_view bytes) { kept += bytes; });
        return std::pair(named(result), kept);
    };
    const auto near_kept = removal_rule::near_kept;
    // b is near a and c; the last one is preferred.
    const auto monday = removed_on({with("a", 0), with("b", 15)}, near_kept, keep_policy::last);
    EXPECT_THAT(monday.first, ElementsAre(named_removal("a", "b", 15, 200)));
    // a was removed and removes nothing: only b does.
    const auto tuesday = removed_on({with("c", 30), {"z", plain + "zzzzzz"}}, near_kept, keep_policy::last);
    EXPECT_THAT(tuesday.first, ElementsAre(named_removal("c", "b", 15, 200)));
    EXPECT_EQ(tuesday.second, lines_of({{"z", plain + "zzzzzz"}}));
    // Near c, which was removed, and not near b: stays, except with connected groups.
    const auto wednesday = removed_on({with("d", 45)}, near_kept, keep_policy::first);
    EXPECT_THAT(wednesday.first, IsEmpty());
    const auto again = removed_on({with("d", 45)}, removal_rule::connected, keep_policy::first);
    EXPECT_EQ(again.second, "");
    // With the whole corpus given, its documents are decided anew.
    const auto whole =
        removed_on({with("a", 0), with("b", 15), with("c", 30)}, near_kept, keep_policy::first);
    EXPECT_THAT(whole.first, ElementsAre(named_removal("b", "a", 15, 200)));
}

TEST_F(dedup_rules_test, undecided_documents_are_decided_in_their_order) {
    using enum document_decision;
    const std::vector<duplicate_pair> pairs = {
        {0, 1, 1, 100}, {1, 2, 1, 100}, {2, 3, 1, 100}, {3, 4, 0, 100}};
    const auto completed = [&](std::vector<document_decision> decisions, const std::vector<bool>& is_new) {
        complete_decisions(pairs, is_new, decisions, context_with(1));
        return decisions;
    };
    const std::vector<bool> old(5);
    EXPECT_THAT(completed({none, none, none, none, none}, old),
                ElementsAre(stays, removed, stays, removed, removed));  // equal ones have the same pairs
    EXPECT_THAT(completed({removed, none, none, none, none}, old),
                ElementsAre(removed, stays, removed, stays, removed));
    EXPECT_THAT(completed({none, none, stays, none, none}, {false, true, false, false, false}),
                ElementsAre(stays, none, stays, removed, removed));
}

TEST_F(dedup_rules_test, a_stream_counts_documents_that_stay) {
    dedup_options options = options_for("");
    options.store = folder_ / "store";
    const std::vector<made_document> documents = {with("a", 0), with("b", 15), with("c", 30), with("d", 45)};
    const auto answered = [&](removal_rule rule, const std::vector<made_document>& given) {
        options.rule = rule;
        duplicate_stream stream(options, context_with(1));
        std::vector<std::size_t> counts;
        for (const made_document& d : given) counts.push_back(stream.next(lines_of({d})).duplicates.size());
        stream.finish();
        return counts;
    };
    EXPECT_THAT(answered(removal_rule::near_kept, {documents[0], documents[1]}), ElementsAre(0U, 1U));
    EXPECT_THAT(answered(removal_rule::near_kept, {documents[2], documents[3]}), ElementsAre(0U, 1U));
    EXPECT_THAT(answered(removal_rule::near_kept, {with("e", 50)}), ElementsAre(0U));
    EXPECT_THAT(answered(removal_rule::connected, {with("f", 53)}), ElementsAre(2U));
    // One run over all of them agrees.
    options.rule = removal_rule::near_kept;
    options.store.clear();
    options.inputs = {written(lines_of(documents))};
    EXPECT_THAT(named(dedup(options, context_with(1))),
                ElementsAre(named_removal("b", "a", 15, 200), named_removal("d", "c", 15, 200)));
}

}  // namespace
}  // namespace quern::dedup_rules_test
