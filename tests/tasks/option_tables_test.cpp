// SPDX-License-Identifier: Apache-2.0
// Every table of options: its rows are complete, defaults are in range, and what is out of range gets the same refusal as
// text (the command line, the server) and as a member (the library).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "quern/base/context.hpp"
#include "quern/base/error.hpp"
#include "quern/base/option.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/ops/contamination_option_table.hpp"
#include "quern/ops/rank_aggregation_option_table.hpp"
#include "quern/ops/sparse_option_table.hpp"
#include "quern/tasks/collocations_option_table.hpp"
#include "quern/tasks/dedup_option_table.hpp"
#include "quern/tasks/dictionary_option_table.hpp"
#include "quern/tasks/filter_option_table.hpp"
#include "quern/tasks/fuse_option_table.hpp"
#include "quern/tasks/link_rank_option_table.hpp"
#include "quern/tasks/nearest_option_table.hpp"
#include "quern/tasks/ngrams_option_table.hpp"
#include "quern/tasks/search_option_table.hpp"
#include "quern/tasks/signature_option_table.hpp"
#include "quern/tasks/spmv_option_table.hpp"
#include "quern/tasks/words_option_table.hpp"

namespace quern::option_tables_test {
namespace {

std::string message_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const usage_error& refusal) {
        return refusal.what();
    }
    return "";
}

/// A value just out of the row's range; nothing if every value of the type is in it.
option_value out_of_range(const option_description& row) {
    if (row.kind == option_kind::choice) return std::uint64_t{row.names.size()};
    if (row.kind == option_kind::whole) {
        if (row.whole.min > 0 && row.whole.all != 0U) return row.whole.min - 1;
        if (row.whole.max < std::numeric_limits<std::uint32_t>::max()) return row.whole.max + 1;
    }
    if (row.kind == option_kind::number) {
        const number_range& range = row.number;
        for (const double bound : {range.above, range.below})
            if (bound == bound) return bound;
        if (range.min == range.min) return range.min - 1;
        if (range.max == range.max) return range.max + 1;
    }
    return {};
}

/// Checks the table, and returns how many of its rows have a range.
template <class Options>
int ranges_of_sound_table() {
    const Options defaults{};
    EXPECT_FALSE(options_of<Options>.empty());
    EXPECT_EQ(message_of([&] { check_ranges(defaults); }), "");
    std::set<std::string_view> names;
    int ranges = 0;
    for (const option<Options>& row : options_of<Options>) {
        SCOPED_TRACE(std::string(row.name));
        EXPECT_TRUE(names.insert(row.name).second);
        EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"),
                  std::string_view::npos);
        EXPECT_TRUE(row.help.ends_with('.') || row.help.ends_with("…")) << row.help;
        EXPECT_EQ(row.value.empty(), row.kind == option_kind::flag && row.names.empty());
        const option_value outside = out_of_range(row);
        if (std::holds_alternative<std::monostate>(outside)) continue;
        ++ranges;
        Options options;
        row.set(options, outside);
        const std::string text = value_text(row, outside);
        EXPECT_EQ(message_of([&] { check_ranges(options); }),
                  std::string(row.name) + ": " + message_of([&] { parse_value(row, text); }));
    }
    return ranges;
}

TEST(option_tables_test, text_and_members_out_of_range_get_the_same_refusal) {
    EXPECT_EQ(ranges_of_sound_table<ranking_options>(), 8);
    EXPECT_GE(ranges_of_sound_table<search_options>(), 5);
    EXPECT_GE(ranges_of_sound_table<ngram_options>(), 9);
    EXPECT_GE(ranges_of_sound_table<ngrams_options>(), 0);
    EXPECT_GE(ranges_of_sound_table<duplicate_options>(), 5);
    EXPECT_GE(ranges_of_sound_table<dedup_options>(), 1);
    EXPECT_EQ(ranges_of_sound_table<contamination_options>(), 1);
    EXPECT_EQ(ranges_of_sound_table<filter_options>(), 8);
    EXPECT_GE(ranges_of_sound_table<signature_options>(), 1);
    EXPECT_GE(ranges_of_sound_table<counting_options>(), 2);
    EXPECT_GE(ranges_of_sound_table<pmi_options>(), 2);
    EXPECT_GE(ranges_of_sound_table<similarity_options>(), 4);
    EXPECT_GE(ranges_of_sound_table<svd_options>(), 2);
    EXPECT_GE(ranges_of_sound_table<space_params>(), 6);
    EXPECT_GE(ranges_of_sound_table<words_options>(), 1);
    EXPECT_GE(ranges_of_sound_table<collocations_options>(), 3);
    EXPECT_GE(ranges_of_sound_table<page_rank_options>(), 5);
    EXPECT_GE(ranges_of_sound_table<hits_options>(), 2);
    EXPECT_GE(ranges_of_sound_table<link_rank_options>(), 1);
    EXPECT_GE(ranges_of_sound_table<vector_set_options>(), 2);
    EXPECT_GE(ranges_of_sound_table<retrieval_options>(), 1);
    EXPECT_GE(ranges_of_sound_table<nearest_request>(), 3);
    EXPECT_GE(ranges_of_sound_table<aggregation_options>(), 4);
    EXPECT_GE(ranges_of_sound_table<fusion_options>(), 3);
    EXPECT_GE(ranges_of_sound_table<fuse_request>(), 1);
    EXPECT_GE(ranges_of_sound_table<multiply_options>(), 2);
    EXPECT_GE(ranges_of_sound_table<spmv_options>(), 1);
    EXPECT_GE(ranges_of_sound_table<dictionary_options>(), 1);
    EXPECT_GE(ranges_of_sound_table<text_options>(), 3);
}

TEST(option_tables_test, operations_refuse_what_their_tables_exclude) {
    const auto refused = [](auto options, auto member, auto value) {
        options.*member = value;
        return message_of([&] { validate(options); });
    };
    EXPECT_EQ(refused(ranking_options(), &ranking_options::b, 2.0),
              "b: invalid value '2' (expected a number from 0 to 1)");
    EXPECT_EQ(refused(ngram_options(), &ngram_options::order, 33U),
              "order: invalid value '33' (expected a whole number from 1 to 32)");
    EXPECT_EQ(refused(duplicate_options(), &duplicate_options::threshold, decimal{6, 10}),
              "threshold: invalid value '0.6' (expected a number above 0, up to 0.5)");
    EXPECT_EQ(refused(counting_options(), &counting_options::window, 101U),
              "window: invalid value '101' (expected a whole number from 1 to 100)");
    EXPECT_EQ(refused(pmi_options(), &pmi_options::discount, decimal{1, 1}),
              "discount: invalid value '1' (expected a number from 0 to below 1)");
    EXPECT_EQ(refused(similarity_options(), &similarity_options::method, similarity_method::column_reduced),
              "column-reduced needs a number of columns");
}

}  // namespace
}  // namespace quern::option_tables_test
