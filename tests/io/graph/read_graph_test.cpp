// SPDX-License-Identifier: Apache-2.0
// Reading as a whole: many blocks, all numbers of threads, every instruction set, compression, memory; compared with a
// plain reader of lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "graph_text.hpp"
#include "io/lines/text_blocks.hpp"
#include "on_every_target.hpp"
#include "temporary_folder.hpp"

namespace quern::io::read_graph_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string gzipped(const std::string& text) {
    z_stream stream{};
    deflateInit2(&stream, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
    std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

/// The form of a list's ids. Their numbers of digits differ, so that every path of the parser is taken.
struct id_shape {
    const char* name;
    std::string (*id)(std::uint64_t);
};
const id_shape id_shapes[] = {
    {"small", [](std::uint64_t i) { return std::to_string(i % 1000); }},
    {"up to eight digits", [](std::uint64_t i) { return std::to_string(i % 100 == 0 ? i * 731 : i); }},
    {"far apart", [](std::uint64_t i) { return std::to_string(i * 429'497 % 4'294'967'291); }},
    {"beyond 32 bits", [](std::uint64_t i) { return std::to_string(i * i * i * 1001); }},
    {"names", [](std::uint64_t i) { return "n" + std::to_string(i * i % 5000); }},
    {"mixed",
     [](std::uint64_t i) {
         return i % 7 == 0 ? "x" + std::to_string(i) : std::to_string(i * (i % 3 == 0 ? i : 1));
     }},
};

std::vector<std::pair<std::string, std::string>> random_links(const id_shape& shape, std::size_t count) {
    std::mt19937_64 random(count);
    std::vector<std::pair<std::string, std::string>> links;
    for (std::size_t i = 0; i < count; ++i) {
        // Two thirds of the list are small ids, so that blocks differ in kind.
        const std::uint64_t range = i < count * 2 / 3 ? 3000 : 9900;
        links.emplace_back(shape.id(random() % range + 1), shape.id(random() % range + 1));
    }
    return links;
}

void expect_same(const named_graph& graph, const std::vector<std::pair<std::string, std::string>>& links) {
    std::set<std::string> ids;
    for (const auto& [from, to] : links) ids.insert({from, to});
    std::vector<std::string> sorted(ids.begin(), ids.end());
    const bool integers = std::all_of(sorted.begin(), sorted.end(), [](const std::string& id) {
        return id.find_first_not_of("0123456789") == std::string::npos;
    });
    if (integers) {
        std::sort(sorted.begin(), sorted.end(), [](const std::string& a, const std::string& b) {
            return std::pair(a.size(), a) < std::pair(b.size(), b);
        });
    }
    EXPECT_EQ(graph.names.are_integers(), integers);
    ASSERT_EQ(names(graph), sorted);
    std::map<std::string, std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < sorted.size(); ++i) {
        numbers[sorted[i]] = i;
        ASSERT_EQ(graph.node_of(sorted[i]), i);
    }
    ASSERT_EQ(graph.links().size(), links.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
        ASSERT_EQ(graph.links()[i].from, numbers[links[i].first]) << i;
        ASSERT_EQ(graph.links()[i].to, numbers[links[i].second]) << i;
    }
}

std::string text_of(const std::vector<std::pair<std::string, std::string>>& links) {
    const char* const separators[] = {" ", "\t", ",", "  ", " , "};
    const char* const ends[] = {"\n", "\n", "\n", "\n", "\r\n", " trailing 12\n", "\n# 7 8\n\n", "  \n"};
    std::mt19937_64 random(links.size());
    std::string text;
    for (std::size_t i = 0; i < links.size(); ++i) {
        const bool plain = i % 1000 < 900;
        const std::size_t separator = plain ? 0 : random() % 5, end = plain ? 0 : random() % 8;
        // After names, skipped text must be distinguishable from them.
        text += links[i].first + separators[separator] + links[i].second +
                ends[end == 5 && separator != 0 ? 0 : end];
    }
    return text;
}

TEST(read_graph, lists_of_every_shape_and_many_blocks) {
    for (const id_shape& shape : id_shapes) {
        SCOPED_TRACE(shape.name);
        const auto links = random_links(shape, 90'000);
        const std::string text = text_of(links);
        ASSERT_GT(text.size(), std::size_t{1} << 19);
        for (const unsigned threads : {1u, 4u}) expect_same(graph_of(text, {}, threads), links);
    }
}

TEST(read_graph, every_instruction_set) {
    for (const id_shape& shape : id_shapes) {
        SCOPED_TRACE(shape.name);
        const auto links = random_links(shape, 3000);
        const std::string text = text_of(links);
        on_every_target([&] { expect_same(graph_of(text), links); });
    }
}

TEST(read_graph, ids_of_every_number_of_digits) {
    std::vector<std::pair<std::string, std::string>> links;
    std::string text;
    for (std::size_t a = 1; a <= 20; ++a) {
        for (std::size_t b = 1; b <= 20; ++b) {
            const std::string digits = "12345678901234567890";
            links.emplace_back(digits.substr(0, a), digits.substr(20 - b, b));
            if (links.back().second[0] == '0') links.back().second[0] = '9';
            text += links.back().first + "\t" + links.back().second + "\n";
        }
    }
    on_every_target([&] { expect_same(graph_of(text), links); });
}

TEST(read_graph, several_lists_are_one_graph) {
    const quern::testing::temporary_folder folder;
    testing::write_file(folder / "a", "1 2\n2 30\n");
    testing::write_file(folder / "b", gzipped("30 4\n"));
    testing::write_file(folder / "c", "%%MatrixMarket matrix coordinate pattern general\n1 1 0\n");
    testing::write_file(folder / "d", "5 6\nx\n");
    const auto read = [&](std::vector<std::filesystem::path> paths, graph_options options = {}) {
        for (auto& path : paths) path = folder / path;
        return read_graph(paths, options, context::cpu(2));
    };
    const auto graph = read({"a", "b"});
    EXPECT_THAT(shown(graph), ElementsAre("1>2", "2>30", "30>4"));
    EXPECT_THAT(names(graph), ElementsAre("1", "2", "4", "30"));
    EXPECT_THAT(said_by([&] { read({"a", "c"}); }), HasSubstr("must be the only input"));
    EXPECT_THAT(said_by([&] { read({"a", "d"}); }), HasSubstr("d:2: only one field"));
    EXPECT_THAT(said_by([&] { read({"a", "none"}); }), HasSubstr("none"));
    EXPECT_EQ(read({}).nodes(), 0u);
}

TEST(read_graph, compressed_and_cut_off) {
    const auto links = random_links(id_shapes[0], 200'000);
    const std::string text = text_of(links), packed = gzipped(text);
    expect_same(graph_of(packed), links);
    for (const std::size_t kept : {packed.size() - 1, packed.size() / 2, std::size_t{20}}) {
        const std::string cut = packed.substr(0, kept);
        EXPECT_THROW(graph_of(cut), invalid_input) << kept;
        EXPECT_THAT(said_by([&] { graph_of(cut); }), HasSubstr("sample: gzip data are truncated"));
    }
    std::string damaged = packed;
    damaged[packed.size() / 2] ^= 0x55;
    EXPECT_THROW(graph_of(damaged), invalid_input);
}

TEST(read_graph, the_first_wrong_line_is_named_whatever_the_threads) {
    std::string text;
    for (int i = 0; i < 400'000; ++i) {
        text += i == 250'000 ? "oops\n" : i == 250'001 || i == 399'999 ? "-1 3\n" : "12 3456\n";
        if (i % 1000 == 0) text += "# c\n";
    }
    for (const unsigned threads : {1u, 2u, 7u}) {
        EXPECT_THAT(said_by([&] { graph_of(text, {}, threads); }),
                    HasSubstr("sample:250251: only one field"));
    }
    // A wrong line precedes damaged bytes, and is reported.
    const std::string packed = gzipped(text);
    EXPECT_THAT(said_by([&] { graph_of(packed.substr(0, packed.size() - 9), {}, 4); }),
                HasSubstr("sample:250251: only one field"));
}

TEST(read_graph, lines_up_to_a_mebibyte) {
    const std::string longest(text_blocks::longest_line - 2, 'a');
    EXPECT_THAT(shown(graph_of("1 2\n" + longest + " b\n3 4")).size(), 3u);
    EXPECT_THAT(said_by([&] { graph_of("1 2\n" + longest + " bc\n3 4"); }),
                HasSubstr("sample:2: a line is longer than 1 MiB"));
    EXPECT_THAT(said_by([&] { graph_of("1 2\n" + longest + longest); }),
                HasSubstr("sample:2: a line is longer than 1 MiB"));
    EXPECT_THAT(said_by([&] { graph_of("%%MatrixMarket matrix" + longest + longest); }),
                HasSubstr("sample:1: a line is longer than 1 MiB"));
}

TEST(read_graph, nodes_do_not_depend_on_the_order_of_the_list) {
    for (const id_shape& shape : id_shapes) {
        auto links = random_links(shape, 20'000);
        const auto sorted_names = names(graph_of(text_of(links)));
        std::mt19937_64 random(1);
        std::shuffle(links.begin(), links.end(), random);
        const auto graph = graph_of(text_of(links), {}, 5);
        EXPECT_EQ(names(graph), sorted_names);
        expect_same(graph, links);
    }
}

TEST(read_graph, weights_stay_with_their_links) {
    std::mt19937_64 random(3);
    std::string text;
    std::vector<double> weights;
    for (int i = 0; i < 150'000; ++i) {
        char number[40];
        const double weight = std::ldexp(static_cast<double>(random() % 1'000'000 + 1), -int(random() % 60));
        std::snprintf(number, sizeof number, i % 3 == 0 ? "%.17g" : "%.3e", weight);
        weights.push_back(std::strtod(number, nullptr));
        text += std::to_string(random() % 5000) + (i % 2 == 0 ? " " : "\t") + std::to_string(i % 1200) +
                (i % 5 == 0 ? "  " : ",") + number + (i % 11 == 0 ? " 99\n" : "\n");
    }
    for (const unsigned threads : {1u, 3u}) {
        const auto graph = graph_of(text, {.weighted = true}, threads);
        EXPECT_TRUE(std::ranges::equal(graph.weights(), weights));
    }
}

TEST(read_graph, memory_is_counted) {
    const auto links = random_links(id_shapes[0], 300'000);
    const std::string text = text_of(links);
    for (const std::uint64_t budget : {std::uint64_t{1} << 20, 8 * std::uint64_t{300'000}}) {
        context ctx = context::cpu(2);
        ctx.memory_bytes = budget;
        EXPECT_THROW(read_graph(*open_bytes_memory(text, "sample", ctx), {}, ctx), out_of_memory) << budget;
    }
    context ctx = context::cpu(2);
    ctx.memory_bytes = 8 * std::uint64_t{300'000} + (1 << 16);
    expect_same(read_graph(*open_bytes_memory(text, "sample", ctx), {}, ctx), links);
    const std::string named = text_of(random_links(id_shapes[4], 100'000));
    ctx.memory_bytes = 820'000;  // the links, but not their names
    EXPECT_THROW(read_graph(*open_bytes_memory(named, "sample", ctx), {}, ctx), out_of_memory);
}

TEST(read_graph, stops_when_requested) {
    const std::string text = text_of(random_links(id_shapes[0], 300'000));
    const std::atomic<int> signal{2};
    context ctx = context::cpu(2);
    ctx.stop_signal = &signal;
    EXPECT_THROW(read_graph(*open_bytes_memory(text, "sample", ctx), {}, ctx), interrupted);
}

TEST(read_graph, a_large_symmetric_matrix) {
    std::string text = "%%MatrixMarket matrix coordinate real symmetric\n% c\n3000 3000 200000\n";
    std::mt19937_64 random(9);
    std::vector<std::tuple<std::uint32_t, std::uint32_t, double>> entries;
    for (int i = 0; i < 200'000; ++i) {
        const auto row = static_cast<std::uint32_t>(random() % 3000);
        const auto column = static_cast<std::uint32_t>(random() % (row + 1));
        const double value = static_cast<double>(random() % 2000 + 1) / 8;
        std::ostringstream line;
        line << row + 1 << (i % 9 == 0 ? "  " : " ") << column + 1 << ' ' << value
             << (i % 13 == 0 ? " \r\n" : "\n");
        text += line.str();
        entries.emplace_back(row, column, value);
        if (row != column) entries.emplace_back(column, row, value);
    }
    const auto graph = graph_of(text, {.weighted = true}, 4);
    ASSERT_EQ(graph.links().size(), entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i)
        ASSERT_EQ(std::tuple(graph.links()[i].from, graph.links()[i].to, graph.weights()[i]), entries[i]);

    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
    for (const unsigned threads : {1u, 5u}) {
        const auto matrix = matrix_of(text, threads);
        ASSERT_EQ(matrix.column.size(), entries.size());
        for (std::uint32_t row = 0; row < 3000; ++row)
            for (std::uint64_t e = matrix.offsets[row]; e < matrix.offsets[row + 1]; ++e)
                ASSERT_EQ(std::tuple(row, matrix.column[e], matrix.value[e]), entries[e]);
    }
    text.insert(text.rfind('\n', text.size() - 2) + 1, "3001 1 5\n");
    EXPECT_THAT(said_by([&] { graph_of(text, {}, 4); }), HasSubstr("row 3001"));
}

RC_GTEST_PROP(read_graph, any_list_reads_as_a_plain_reader_reads_it, ()) {
    const auto id = rc::gen::oneOf(
        rc::gen::map(rc::gen::inRange(0, 30), [](int i) { return std::to_string(i); }),
        rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t i) { return std::to_string(i); }),
        rc::gen::nonEmpty(
            rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcXYZ0123456789_.:/é")))));
    auto links = *rc::gen::container<std::vector<std::pair<std::string, std::string>>>(rc::gen::pair(id, id));
    // Two lists that begin with a heading, or with names only, are correctly read in another way.
    links.insert(links.begin(), {"1", "2"});
    std::string text;
    for (const auto& [from, to] : links) text += from + "\t" + to + "\n";
    const auto graph = graph_of(text);
    RC_ASSERT(graph.links().size() == links.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
        RC_ASSERT(graph.name_of(graph.links()[i].from) == links[i].first);
        RC_ASSERT(graph.name_of(graph.links()[i].to) == links[i].second);
    }
}

}  // namespace
}  // namespace quern::io::read_graph_test
