// SPDX-License-Identifier: Apache-2.0
// Near-duplicates of files of bytes: every pair that the slow edit distance has, by every method that loses none, in one
// run, against a set and through a store; what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/dedup.hpp"
#include "quern/tasks/ngrams.hpp"
#include "quern/tasks/signature.hpp"
#include "reference/edit_distance_reference.hpp"
#include "temporary_folder.hpp"

namespace quern::dedup_binary_test {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::write_file;

using named_pair = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>;

std::vector<named_pair> named(const dedup_result& result) {
    std::vector<named_pair> out;
    for (const duplicate_pair& p : result.pairs())
        out.emplace_back(result.id(p.a), result.id(p.b), p.distance, p.of);
    return out;
}

std::string message_of(const auto& work) {
    try {
        work();
    } catch (const error& failed) {
        return failed.what();
    }
    return "nothing thrown";
}

class dedup_binary_test : public testing::corpus_fixture {
  protected:
    struct made_file {
        std::string id, bytes;
    };

    /// Random bytes of all values, few values, zeros only, headers of compressed files, one huge file, copies with a few
    /// edits, empty ones.
    std::vector<made_file> written_files(std::uint32_t count, std::uint64_t seed, const std::string& folder) {
        testing::made_numbers next(seed);
        std::vector<made_file> all;
        for (std::uint32_t i = 0; i < count; ++i) {
            std::string bytes;
            if (i > 4 && next(3) != 0) {
                bytes = all[next(i)].bytes;
                for (std::uint64_t edits = next(1 + bytes.size() / 12 + 2); edits > 0 && !bytes.empty();
                     --edits)
                    bytes[next(bytes.size())] = static_cast<char>(next(256));
            } else if (next(8) != 0) {
                const std::uint64_t values = next(2) != 0 ? 256 : 1 + next(3);
                const char* const starts[] = {"",     "\x1f\x8b\x08", "\x28\xb5\x2f\xfd",
                                              "BZh9", "{\"text\":\"", "\xFF\xFE"};
                bytes = starts[next(6)];
                for (std::size_t size = i == 2 ? 2500 : next(400); bytes.size() < size;)
                    bytes += static_cast<char>(next(values));
            }
            const char* const ends[] = {"", ".gz", ".txt", ".html", ".jsonl", ".png"};
            const std::string id = "f" + std::to_string(1000 + i) + ends[next(6)];
            write_file(folder_ / folder / id, bytes);
            all.push_back({id, bytes});
        }
        return all;
    }
    static std::vector<named_pair> reference(const std::vector<made_file>& files) {
        std::vector<named_pair> pairs;
        for (std::size_t b = 0; b < files.size(); ++b) {
            for (std::size_t a = 0; a < b; ++a) {
                const std::vector<char> x(files[a].bytes.begin(), files[a].bytes.end()),
                    y(files[b].bytes.begin(), files[b].bytes.end());
                const std::uint64_t of = x.size() + y.size(),
                                    distance = quern::reference::edit_distance(x, y);
                if (10 * distance < of || of == 0) pairs.emplace_back(files[a].id, files[b].id, distance, of);
            }
        }
        std::ranges::sort(pairs);
        return pairs;
    }
    dedup_options options_for(const std::string& input) {
        dedup_options options;
        options.inputs = {folder_ / input};
        options.input_format = "binary";
        options.duplicates.threshold = parse_decimal("0.1");
        return options;
    }
};

TEST_F(dedup_binary_test, pairs_match_the_reference) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        const std::string name = "files" + std::to_string(seed);
        const auto files = written_files(70, seed, name);
        const auto expected = reference(files);
        ASSERT_GT(expected.size(), 20U);
        dedup_options options = options_for(name);
        for (const duplicate_method method : {duplicate_method::automatic, duplicate_method::exhaustive}) {
            options.duplicates.method = method;
            for (const auto& [threads, memory] :
                 {std::pair{1U, std::uint64_t{0}}, {3U, std::uint64_t{64} << 20}}) {
                auto found = named(dedup(options, context_with(threads, memory)));
                std::ranges::sort(found);
                EXPECT_EQ(found, expected);
            }
        }
        options.duplicates.method = duplicate_method::signature;
        const auto some = named(dedup(options, context_with()));
        EXPECT_TRUE(std::ranges::includes(std::set(expected.begin(), expected.end()),
                                          std::set(some.begin(), some.end())));
        EXPECT_FALSE(some.empty());

        options.duplicates.method = duplicate_method::automatic;
        options.store = folder_ / ("store" + std::to_string(seed));
        auto stored = named(dedup(options, context_with()));
        std::ranges::sort(stored);
        EXPECT_EQ(stored, expected);
        stored = named(dedup(options, context_with()));  // all known
        std::ranges::sort(stored);
        EXPECT_EQ(stored, expected);
    }
}

TEST_F(dedup_binary_test, against_a_set_or_a_store_only_pairs_across) {
    const auto old_files = written_files(40, 7, "old");
    auto all = old_files;
    for (auto& file : all) file.id = "old " + file.id;
    const auto is_across = [](const named_pair& p) {
        return std::get<0>(p).starts_with("old ") != std::get<1>(p).starts_with("old ");
    };
    testing::made_numbers next(8);
    for (int i = 0; i < 30; ++i) {
        std::string bytes = old_files[next(old_files.size())].bytes;
        if (!bytes.empty()) bytes[next(bytes.size())] = '\0';
        const std::string id = "n" + std::to_string(100 + i);
        write_file(folder_ / "new" / id, bytes);
        all.push_back({id, bytes});
    }
    std::vector<named_pair> expected;
    for (const named_pair& p : reference(all)) {
        if (!is_across(p)) continue;
        expected.emplace_back(std::get<0>(p).substr(4), std::get<1>(p), std::get<2>(p), std::get<3>(p));
    }
    ASSERT_GT(expected.size(), 20U);
    std::ranges::sort(expected);
    dedup_options as_store = options_for("old");
    as_store.store = folder_ / "store";
    dedup(as_store, context_with());
    for (const char* const set : {"old", "store"}) {
        dedup_options options = options_for("new");
        options.against = {folder_ / set};
        auto found = named(dedup(options, context_with()));
        std::ranges::sort(found);
        EXPECT_EQ(found, expected);
    }
}

TEST_F(dedup_binary_test, the_kept_documents_are_a_list_of_paths) {
    write_file(folder_ / "in/a.png", "\0\1\2"s);
    write_file(folder_ / "in/b/copy.png", "\0\1\2"s);
    write_file(folder_ / "in/c.gz", "\x1f\x8b");
    write_file(folder_ / "in/empty", "");
    dedup_options options = options_for("in");
    options.keep_records = true;
    const auto kept = [&] {
        std::string out;
        dedup(options, context_with()).write_kept([&](std::string_view bytes) { out += bytes; });
        return out;
    };
    const std::string root = (folder_ / "in").native();
    EXPECT_EQ(kept(), root + "/a.png\n" + root + "/c.gz\n" + root + "/empty\n");
    options.keep = keep_policy::last;
    EXPECT_EQ(kept(), root + "/b/copy.png\n" + root + "/c.gz\n" + root + "/empty\n");
    write_file(folder_ / "in/line\nend", "x");
    EXPECT_THAT(message_of([&] { kept(); }), HasSubstr("a path with a line end"));
    options.keep_records = false;
    EXPECT_EQ(dedup(options, context_with()).documents(), 5U);
}

TEST_F(dedup_binary_test, the_report_of_bytes_has_no_differences) {
    write_file(folder_ / "in/a.png", std::string(100, '\0') + "<b>\xFF");
    write_file(folder_ / "in/b.png", std::string(100, '\0') + "<b>\xFE");
    std::string page;
    dedup(options_for("in"), context_with()).write_report([&](std::string_view bytes) { page += bytes; });
    EXPECT_THAT(page, HasSubstr("a.png (104 bytes) and b.png (104 bytes): no text to compare."));
    EXPECT_THAT(page, Not(HasSubstr("\xFF")));
}

TEST_F(dedup_binary_test, words_and_characters_of_bytes_are_refused) {
    write_file(folder_ / "in/a", "a");
    dedup_options options = options_for("in");
    for (const auto method :
         {duplicate_method::shingle, duplicate_method::simhash, duplicate_method::i_match}) {
        options.duplicates.method = method;
        EXPECT_THAT(message_of([&] { dedup(options, context_with()); }), HasSubstr("compares words"));
    }
    options.duplicates = {};
    options.duplicates.unit = edit_unit::character;
    EXPECT_THAT(message_of([&] { dedup(options, context_with()); }), HasSubstr("expected unit byte"));
    build_options build;
    build.inputs = {folder_ / "in"};
    build.input_format = "binary";
    build.store = folder_ / "built";
    EXPECT_THAT(message_of([&] { quern::build(build, context_with()); }), HasSubstr("has bytes, not text"));
    EXPECT_FALSE(fs::exists(folder_ / "built"));
}

TEST_F(dedup_binary_test, a_file_larger_than_a_sketch_counts_is_rejected_by_name) {
    write_file(folder_ / "in/a", "a");
    write_file(folder_ / "in/large", "");
    fs::resize_file(folder_ / "in/large", std::uintmax_t{1} << 31);
    dedup_options options = options_for("in");
    const std::string why = message_of([&] { dedup(options, context_with(2, std::uint64_t{64} << 30)); });
    EXPECT_THAT(why, HasSubstr((folder_ / "in/large").native()));
    EXPECT_THAT(why, HasSubstr("larger than the limit of 2147483647 bytes a document"));
    options.max_errors = {.share = 1, .forgives_incomplete = true};
    EXPECT_EQ(dedup(options, context_with(2, std::uint64_t{64} << 30)).documents(), 1U);
}

TEST_F(dedup_binary_test, signatures_are_of_the_bytes_on_disk) {
    const std::string bytes = "\x1f\x8b\0\0 some bytes that are not gzip"s;
    write_file(folder_ / "in/a.gz", bytes);
    write_file(folder_ / "in/b", "");
    signature_options options;
    options.inputs = {folder_ / "in"};
    options.input_format = "binary";
    std::vector<std::string> ids;
    signatures(options, context_with(), [&](std::string_view id, const fuzzy_signature& s) {
        EXPECT_EQ(s, signature_of(ids.empty() ? bytes : "", options.length));
        ids.emplace_back(id);
    });
    EXPECT_THAT(ids, ElementsAre("a.gz", "b"));
}

}  // namespace
}  // namespace quern::dedup_binary_test
