// SPDX-License-Identifier: Apache-2.0
// Graphs of arrays have the nodes and links of the same list in a file.
#include "io/graph/graph_of_ids.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph_text.hpp"

namespace quern::io::graph_of_ids_test {
namespace {

using ::testing::HasSubstr;

template <class Id>
std::string lines_of(const std::vector<Id>& from, const std::vector<Id>& to) {
    std::string text;
    const auto append = [&](const Id& id) {
        if constexpr (std::is_integral_v<Id>)
            text += std::to_string(id);
        else
            text += id;
    };
    for (std::size_t i = 0; i < from.size(); ++i) {
        append(from[i]);
        text += '\t';
        append(to[i]);
        text += '\n';
    }
    return text;
}

template <class Id, class Spans>
void expect_as_in_a_file(const std::vector<Id>& from, const std::vector<Id>& to, const Spans& spans) {
    for (const unsigned threads : {1U, 3U}) {
        const named_graph made = graph_of_ids(spans(from), spans(to), context::cpu(threads));
        const named_graph read = graph_of(lines_of(from, to));
        RC_ASSERT(names(made) == names(read));
        RC_ASSERT(shown(made) == shown(read));
        RC_ASSERT(made.names.are_integers() == read.names.are_integers());
    }
}

template <class Id>
std::span<const Id> span_of(const std::vector<Id>& ids) {
    return ids;
}

RC_GTEST_PROP(graph_of_ids, integers,
              (std::vector<std::pair<std::uint64_t, std::uint64_t>> links, bool wide)) {
    const std::uint64_t range =
        wide ? ~std::uint64_t{0} : *rc::gen::element<std::uint64_t>(7, 5000, 1ULL << 32);
    std::vector<std::uint64_t> from, to;
    for (const auto& [a, b] : links) {
        from.push_back(wide ? a : a % range);
        to.push_back(wide ? b : b % range);
    }
    expect_as_in_a_file(from, to, span_of<std::uint64_t>);
    if (wide) return;
    const std::vector<std::uint32_t> narrow_from(from.begin(), from.end()), narrow_to(to.begin(), to.end());
    expect_as_in_a_file(narrow_from, narrow_to, span_of<std::uint32_t>);
}

RC_GTEST_PROP(graph_of_ids, names,
              (std::vector<std::pair<std::uint8_t, std::uint8_t>> links, bool integers)) {
    const std::vector<std::string> texts{"7",   "70",  "18446744073709551615", "b",
                                         "a b", "007", "18446744073709551616", "+7"};
    const std::size_t kinds = integers ? 3 : texts.size();
    // A file whose only names are those of its first link is refused: that line is probably a heading.
    std::vector<std::string> from{"7"}, to{"7"};
    for (const auto& [a, b] : links) {
        from.push_back(texts[a % kinds]);
        to.push_back(texts[b % kinds]);
    }
    const auto views_of = [&](const std::vector<std::string>& ids) {
        return std::vector<std::string_view>(ids.begin(), ids.end());
    };
    const auto from_views = views_of(from), to_views = views_of(to);
    const named_graph made = graph_of_ids(std::span(from_views), std::span(to_views), context::cpu(2));
    const named_graph read = graph_of(lines_of(from, to));
    RC_ASSERT(names(made) == names(read));
    RC_ASSERT(shown(made) == shown(read));
}

TEST(graph_of_ids, refuses_names_that_no_file_has) {
    const std::vector<std::string_view> good{"a"}, empty{""}, tab{"a\tb"};
    const context ctx = context::cpu(1);
    EXPECT_THAT(said_by([&] { graph_of_ids(std::span(good), std::span(empty), ctx); }),
                HasSubstr("is empty"));
    EXPECT_THAT(said_by([&] { graph_of_ids(std::span(tab), std::span(good), ctx); }),
                HasSubstr("control character"));
}

TEST(graph_of_ids, keeps_within_the_memory) {
    context ctx = context::cpu(1);
    ctx.memory_bytes = 1 << 20;
    const std::vector<std::uint32_t> ids(1 << 20, 7);
    EXPECT_THROW(graph_of_ids(std::span(ids), std::span(ids), ctx), out_of_memory);
}

}  // namespace
}  // namespace quern::io::graph_of_ids_test
