// SPDX-License-Identifier: Apache-2.0
// External runs, from the folder `runs` of QUERN_DATA: fused as published by Pyserini, and 13 systems of TREC 2003
// Robust fused as the reference does with an obvious parser.
#include "quern/tasks/fuse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "io/byte_source.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/trec_run.hpp"
#include "reference/fusion_reference.hpp"

namespace quern::fuse_test {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> runs_folder() {
    const char* const data = std::getenv("QUERN_DATA");
    if (data == nullptr || !fs::exists(fs::path(data) / "runs")) return std::nullopt;
    return fs::path(data) / "runs";
}

struct plain_line {
    std::string topic, document;
    std::uint64_t rank;
    double score;
};
std::vector<plain_line> lines_of(const std::string& text) {
    std::vector<plain_line> lines;
    std::istringstream in(text);
    std::string line;
    while (std::getline(in, line)) {
        std::istringstream fields(line);
        std::string topic, second, document, rank, score;
        if (!(fields >> topic >> second >> document >> rank >> score)) continue;
        lines.push_back({topic, document, std::stoull(rank), std::strtod(score.c_str(), nullptr)});
    }
    return lines;
}
std::string text_of(const fs::path& path) {
    const auto source = io::open_bytes(path, {});
    std::string text;
    for (std::vector<char> piece(1 << 20);;) {
        const std::size_t got = source->read(piece);
        if (got == 0) return text;
        text.append(piece.data(), got);
    }
}
std::string fused(const fuse_request& request, unsigned threads = 2) {
    std::string text;
    fuse_runs(request, context::cpu(threads), [&](std::string_view lines) { text += lines; });
    return text;
}

void expect_as_published(const fuse_request& request, const fs::path& expected) {
    SCOPED_TRACE(expected.filename().string());
    const auto ours = lines_of(fused(request)), theirs = lines_of(text_of(expected));
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
        EXPECT_EQ(ours[i].topic, theirs[i].topic);
        EXPECT_EQ(ours[i].document, theirs[i].document);
        EXPECT_EQ(ours[i].score, theirs[i].score);
    }
}

TEST(fuse_runs, what_pyserini_publishes) {
    const auto runs = runs_folder();
    if (!runs) GTEST_SKIP() << "QUERN_DATA has no runs";
    const fs::path folder = *runs / "pyserini_small";
    const auto file = [&](const std::string& name) { return folder / ("simple_trec_run_" + name + ".txt"); };
    const std::vector<fs::path> both = {file("fusion_1"), file("fusion_2")};
    const std::vector<double> weights = {0.4, 0.6};
    using enum fusion_rule;
    expect_as_published({.runs = {file("read")}, .options = {}}, file("read_verify"));
    expect_as_published({.runs = both, .options = {.rule = mean}}, file("average_verify"));
    expect_as_published({.runs = both, .options = {.weights = weights}}, file("interpolation_verify"));
    expect_as_published({.runs = both, .options = {.rule = rrf}, .ranks = rank_source::field},
                        file("rrf_verify"));
    expect_as_published({.runs = {both[0]}, .options = {.normalisation = score_normalisation::minmax}},
                        file("normalize_verify"));
    expect_as_published({.runs = both, .options = {.normalisation = score_normalisation::minmax}},
                        folder / "simple_fusion_normalize_verify.txt");
}

TEST(fuse_runs, two_rankings_of_the_same_documents) {
    const auto runs = runs_folder();
    if (!runs) GTEST_SKIP() << "QUERN_DATA has no runs";
    // The second run is the first one reversed: sums have two values, and ids break ties.
    const std::vector<fs::path> both = {*runs / "polyfuse/1-a.run", *runs / "polyfuse/1-b.run"};
    EXPECT_EQ(fused({.runs = both, .options = {}}),
              "757 Q0 GX000-14-16729172 1 33 quern\n"
              "757 Q0 GX000-97-6852839 2 33 quern\n"
              "757 Q0 GX000-04-12610479 3 31 quern\n"
              "757 Q0 GX000-23-16376608 4 31 quern\n"
              "757 Q0 GX000-86-12022569 5 31 quern\n");
}

/// The topics of each of the 13 runs, as the reference reads them.
class robust {
  public:
    explicit robust(const fs::path& folder) {
        std::set<fs::path> files;
        for (const auto& file : fs::directory_iterator(folder))
            if (file.path().extension() == ".gz") files.insert(file.path());
        paths.assign(files.begin(), files.end());
        for (const fs::path& path : paths) {
            auto& topics = runs_.emplace_back();
            for (plain_line& line : lines_of(text_of(path))) {
                lines += 1;
                topics_.insert(line.topic);
                topics[line.topic].push_back(std::move(line));
            }
            for (auto& [topic, entries] : topics) {
                std::ranges::sort(entries, [](const plain_line& a, const plain_line& b) {
                    return a.score != b.score ? a.score > b.score : a.document < b.document;
                });
            }
        }
    }
    const std::set<std::string>& topics() const { return topics_; }

    /// Document -> score.
    std::map<std::string, double> expected(const std::string& topic, const fusion_options& options) {
        std::map<std::string, std::uint32_t> numbers;
        std::vector<reference::one_run> lists;
        for (auto& run : runs_) {
            auto& list = lists.emplace_back();
            for (const plain_line& line : run[topic]) {
                list.ids.push_back(
                    numbers.emplace(line.document, static_cast<std::uint32_t>(numbers.size())).first->second);
                list.scores.push_back(line.score);
            }
        }
        const auto by_number = reference::fused_scores(lists, options);
        std::map<std::string, double> scores;
        for (const auto& [document, number] : numbers) scores[document] = by_number.at(number);
        return scores;
    }

    std::vector<fs::path> paths;
    std::uint64_t lines = 0;

  private:
    std::vector<std::map<std::string, std::vector<plain_line>>> runs_;
    std::set<std::string> topics_;
};

void expect_topic(robust& truth, const fusion_options& options, const std::vector<plain_line>& found) {
    ASSERT_FALSE(found.empty());
    const auto expected = truth.expected(found[0].topic, options);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].topic, found[0].topic);
        ASSERT_EQ(found[i].rank, i + 1);
        ASSERT_DOUBLE_EQ(found[i].score, expected.at(found[i].document));
        if (i == 0) continue;
        const plain_line& before = found[i - 1];
        ASSERT_TRUE(before.score > found[i].score ||
                    (before.score == found[i].score && before.document < found[i].document));
    }
}

TEST(fuse_runs, thirteen_systems_of_trec_2003_robust) {
    const auto runs = runs_folder();
    if (!runs) GTEST_SKIP() << "QUERN_DATA has no runs";
    robust truth(*runs / "robust03");
    ASSERT_EQ(truth.paths.size(), 13u);
    std::vector<fusion_options> requested;
    for (std::size_t rule = 0; rule < std::size(fusion_rule_names); ++rule)
        requested.push_back(
            {.rule = static_cast<fusion_rule>(rule), .normalisation = score_normalisation::minmax});
    for (std::size_t how = 0; how < std::size(score_normalisation_names); ++how)
        requested.push_back({.normalisation = static_cast<score_normalisation>(how)});
    const std::vector<double> weights = {1, 2, 0.5, -1, 0, 3, 1, 1, 0.25, 1, 1, 7, 1};
    requested.push_back({.rule = fusion_rule::rrf, .constant = 10, .weights = weights});
    for (const fusion_options& options : requested) {
        SCOPED_TRACE(std::string(fusion_rule_names[static_cast<std::size_t>(options.rule)]) + " " +
                     std::string(score_normalisation_names[static_cast<std::size_t>(options.normalisation)]));
        std::size_t number = 0;
        const auto take = [&](std::string_view lines) {  // those of one topic
            if (number++ % 10 == 0) expect_topic(truth, options, lines_of(std::string(lines)));
        };
        fuse_runs({.runs = truth.paths, .options = options}, context::cpu(2), take);
        ASSERT_EQ(number, truth.topics().size());
    }
    const fuse_request rrf{.runs = truth.paths, .options = {.rule = fusion_rule::rrf}};
    std::uint64_t topics = 0;
    const std::string once = fused(rrf, 1);
    EXPECT_EQ(once, fused(rrf, 3));
    const fuse_result result = fuse_runs(rrf, context::cpu(2), [&](std::string_view) { ++topics; });
    EXPECT_EQ(result.lines_read, truth.lines);
    EXPECT_EQ(topics, truth.topics().size());
    EXPECT_EQ(result.lines_written, static_cast<std::uint64_t>(std::ranges::count(once, '\n')));
}

constexpr std::string_view first_run = "a Q0 x 1 3 t\nb Q0 y 1 1 t\na Q0 z 2 2 t\n";
constexpr std::string_view second_run = "a Q0 z 1 9 t\n";

struct written_runs : ::testing::Test {
    written_runs() {
        std::ofstream(one) << first_run;
        std::ofstream(two) << second_run;
    }
    ~written_runs() override {
        fs::remove(one);
        fs::remove(two);
    }
    fs::path one = fs::temp_directory_path() / ("quern-fuse-1-" + std::to_string(::getpid()));
    fs::path two = fs::temp_directory_path() / ("quern-fuse-2-" + std::to_string(::getpid()));
};

fuse_request request(std::vector<fs::path> runs, std::vector<std::optional<std::string_view>> texts = {}) {
    fuse_request made;
    made.runs = std::move(runs);
    made.texts = std::move(texts);
    return made;
}

TEST_F(written_runs, in_memory_are_fused_like_files) {
    const std::string expected = "a Q0 z 1 11 quern\na Q0 x 2 3 quern\nb Q0 y 1 1 quern\n";
    EXPECT_EQ(fused(request({one, two})), expected);
    EXPECT_EQ(fused(request({"one", "two"}, {first_run, second_run})), expected);
    EXPECT_EQ(fused(request({one, "two"}, {std::nullopt, second_run})), expected);
}

TEST_F(written_runs, in_memory_are_named_in_errors) {
    try {
        fused(request({one, "memory"}, {std::nullopt, "a Q0 z 1 9 t\na Q0 z 2 8 t\n"}));
        FAIL();
    } catch (const invalid_input& refused) {
        EXPECT_EQ(refused.path(), "memory");
        EXPECT_EQ(refused.line(), 2);
    }
    EXPECT_THROW(fused(request({one, two}, {first_run})), usage_error);
}

TEST_F(written_runs, weights_in_memory_count_like_those_of_a_file) {
    fuse_request weighted = request({one, two});
    weighted.weights_by_topic = {{"a", {1, 0.5}}};
    EXPECT_EQ(fused(weighted), "a Q0 z 1 6.5 quern\na Q0 x 2 3 quern\nb Q0 y 1 1 quern\n");
    weighted.weights_by_topic = {{"a", {1}}};
    EXPECT_THROW(fused(weighted), usage_error);
    weighted.weights_by_topic = {{"a", {1, std::nan("")}}};
    EXPECT_THROW(fused(weighted), usage_error);
}

TEST_F(written_runs, are_read_topic_by_topic) {
    std::vector<std::string> lines;
    const auto take = [&](const trec_run_line& line) {
        lines.push_back(std::string(line.topic) + " " + std::string(line.document) + " " +
                        std::to_string(line.rank) + " " + std::to_string(line.score));
    };
    read_trec_run(one, context::cpu(1), take);
    EXPECT_THAT(lines, ::testing::ElementsAre("a x 1 3.000000", "a z 2 2.000000", "b y 1 1.000000"));
    for (const char* wrong : {"a Q0 x 1 3 t\na Q0 x 2 2 t\n", "b Q0 x 1 1 t\na Q0 x first 3 t\n"}) {
        std::ofstream(two) << wrong;
        try {
            read_trec_run(two, context::cpu(1), take);
            ADD_FAILURE() << wrong;
        } catch (const invalid_input& refused) {
            EXPECT_EQ(refused.line(), 2);
        }
    }
    EXPECT_THROW(read_trec_run(one.string() + "-none", context::cpu(1), take), usage_error);
}

}  // namespace
}  // namespace quern::fuse_test
