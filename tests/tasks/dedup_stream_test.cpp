// SPDX-License-Identifier: Apache-2.0
// Documents that arrive in batches have the results of documents that arrive one by one, on every place, and these are the
// pairs of one run.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "on_each_place.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/text_sketches.hpp"
#include "quern/tasks/dedup.hpp"
#include "temporary_folder.hpp"

namespace quern::dedup_stream_test {
namespace {

using testing::temporary_folder;
using testing::write_file;

std::string words(std::mt19937_64& random, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) {
        text +=
            "wd" + std::to_string(random() % 700) + (random() % 30 == 0 ? "\xC3\xA9\xE4\xB8\xAD" : "") + " ";
    }
    return text;
}

/// A letter replaced, a byte of which no character needs more.
std::string edited(std::mt19937_64& random, std::string text, std::size_t edits) {
    for (; edits > 0 && !text.empty(); --edits) {
        const std::size_t at = random() % text.size();
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte < 0x80 && byte >= ' ') text[at] = static_cast<char>('a' + random() % 26);
    }
    return text;
}

/// Lines of input: near and equal copies, empty texts, one character, long texts, texts around the limits of scales, blank
/// lines, lines without JSON, repeated ids.
std::vector<std::string> arriving_lines(std::uint64_t seed, std::size_t count) {
    std::mt19937_64 random(seed);
    std::vector<std::string> texts, lines;
    for (std::size_t i = 0; i < count; ++i) {
        std::string text;
        const auto kind = random() % 24;
        if (kind < 10 && !texts.empty()) {
            text = texts[random() % texts.size()];
            if (kind < 8) text = edited(random, text, random() % (text.size() / 12 + 2));
        } else if (kind == 10) {
            text = "";
        } else if (kind == 11) {
            text = random() % 2 == 0 ? "x" : "\xC3\xA9";
        } else if (kind == 12) {
            text = std::string(random() % 900, 'a');
        } else {
            constexpr std::size_t lengths[] = {20, 60, 126, 130, 250, 500, 1020, 2040, 4090, 4100, 8200};
            text = words(random, lengths[random() % (tested_with().small_sizes ? 8 : 11)] + random() % 9);
        }
        texts.push_back(text);
        const std::string id = random() % 40 == 0 ? "d0" : "d" + std::to_string(i);
        lines.push_back(R"({"id":")" + id + R"(","text":")" + text + "\"}");
        if (random() % 30 == 0) lines.emplace_back("");
        if (random() % 30 == 0) lines.emplace_back("no JSON");
    }
    std::string longest = words(random, tested_with().small_sizes ? 9000 : 140'000);
    lines.push_back(R"({"id":"long","text":")" + longest + "\"}");
    lines.push_back(R"({"id":"long copy","text":")" + edited(random, longest, 40) + "\"}");
    return lines;
}

using row = std::tuple<bool, std::string, std::string, std::vector<duplicate_pair>,
                       std::vector<duplicate_pair>, std::optional<std::uint32_t>>;

row row_of(const duplicate_stream::stream_result& r) {
    return {r.is_document, r.id, r.why, r.duplicates, r.pairs, r.position};
}

std::vector<row> one_by_one(duplicate_stream& stream, const std::vector<std::string>& lines) {
    std::vector<row> rows;
    for (const std::string& line : lines) rows.push_back(row_of(stream.next(line)));
    return rows;
}

std::vector<row> in_batches(duplicate_stream& stream, const std::vector<std::string>& lines,
                            std::size_t size) {
    std::vector<row> rows;
    const std::vector<std::string_view> all(lines.begin(), lines.end());
    for (std::size_t begin = 0; begin < all.size(); begin += size) {
        stream.next(std::span(all).subspan(begin, std::min(size, all.size() - begin)),
                    [&](duplicate_stream::stream_result&& r) { rows.push_back(row_of(r)); });
    }
    return rows;
}

dedup_options stream_options(edit_unit unit, const char* threshold = "0.1") {
    dedup_options options;
    options.duplicates.unit = unit;
    options.duplicates.threshold = parse_decimal(threshold);
    options.max_errors = {.share = 1, .forgives_incomplete = true};
    return options;
}

template <class Tested>
class dedup_stream_test : public on_place<Tested> {
  protected:
    static context ctx() { return Tested::ctx(); }
    static context on_cpu() { return context::cpu(2); }
    temporary_folder folder_;
};
TYPED_TEST_SUITE(dedup_stream_test, tested_places, tested_place_names);

template <class Tested>
constexpr bool is_on_gpu = std::is_same_v<typename Tested::place_type, cuda_place>;

TYPED_TEST(dedup_stream_test, batches_of_any_size_give_the_rows_of_one_by_one) {
    const std::size_t count = tested_with().small_sizes ? 120 : 250;
    const auto lines = arriving_lines(1, count);
    for (const edit_unit unit : {edit_unit::byte, edit_unit::character}) {
        for (const char* const threshold : {"0.02", "0.3"}) {
            const dedup_options options = stream_options(unit, threshold);
            duplicate_stream reference(options, this->on_cpu());
            const auto expected = one_by_one(reference, lines);
            for (const std::size_t size : {1u, 7u, 100'000u}) {
                if (size == 1 && tested_with().small_sizes) continue;
                if (size != 7 && !is_on_gpu<TypeParam>) continue;  // one by one in any case
                duplicate_stream stream(options, this->ctx());
                EXPECT_EQ(in_batches(stream, lines, size), expected) << size;
                EXPECT_EQ(stream.documents(), reference.documents());
                EXPECT_EQ(stream.counts().rejected, reference.counts().rejected);
                EXPECT_EQ(stream.device_bytes() != 0, stream.batch() != 1);
            }
        }
    }
}

TYPED_TEST(dedup_stream_test, the_pairs_are_those_of_an_exhaustive_run) {
    const auto lines = arriving_lines(2, tested_with().small_sizes ? 80 : 250);
    std::string corpus;
    for (const std::string& line : lines) corpus += line + "\n";
    write_file(this->folder_ / "corpus.jsonl", corpus);
    dedup_options options = stream_options(edit_unit::byte);
    options.inputs = {this->folder_ / "corpus.jsonl"};
    options.duplicates.method = duplicate_method::exhaustive;
    const dedup_result whole = dedup(options, this->on_cpu());
    std::set<std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>> expected, found;
    for (const duplicate_pair& p : whole.pairs())
        expected.emplace(whole.id(p.a), whole.id(p.b), p.distance, p.of);
    for (const duplicate_method method : {duplicate_method::automatic, duplicate_method::exhaustive}) {
        options.duplicates.method = method;
        duplicate_stream stream(options, this->ctx());
        found.clear();
        for (const row& r : in_batches(stream, lines, 33))
            for (const duplicate_pair& p : std::get<4>(r))
                found.emplace(stream.id(p.a), stream.id(p.b), p.distance, p.of);
        EXPECT_EQ(found, expected);
    }
    EXPECT_GT(expected.size(), 30U);
}

TYPED_TEST(dedup_stream_test, a_store_grows_as_on_the_cpu_and_its_documents_are_known) {
    const auto lines = arriving_lines(3, tested_with().small_sizes ? 60 : 200);
    const std::vector<std::string> half(lines.begin(),
                                        lines.begin() + static_cast<std::ptrdiff_t>(lines.size() / 2));
    dedup_options options = stream_options(edit_unit::byte), reference = options;
    options.shard_bytes = reference.shard_bytes = 20'000;
    options.store = this->folder_ / "batches";
    reference.store = this->folder_ / "one";
    for (const auto* const some : {&half, &lines}) {  // the second time half of them are known
        duplicate_stream cpu(reference, this->on_cpu());
        const auto expected = one_by_one(cpu, *some);
        cpu.finish();
        duplicate_stream stream(options, this->ctx());
        EXPECT_EQ(in_batches(stream, *some, 17), expected);
        stream.finish();
    }
    EXPECT_EQ(read_duplicate_store_info(options.store).pairs,
              read_duplicate_store_info(reference.store).pairs);
    EXPECT_EQ(read_duplicate_store_info(options.store).documents,
              read_duplicate_store_info(reference.store).documents);
}

TYPED_TEST(dedup_stream_test, a_set_is_compared_and_nothing_else) {
    const auto old = arriving_lines(4, 60), lines = arriving_lines(4, 90);
    std::string corpus;
    for (const std::string& line : old) corpus += line + "\n";
    write_file(this->folder_ / "old.jsonl", corpus);
    dedup_options options = stream_options(edit_unit::character);
    options.against = {this->folder_ / "old.jsonl"};
    options.max_errors = {.share = 1, .forgives_incomplete = true};
    duplicate_stream cpu(options, this->on_cpu()), stream(options, this->ctx());
    const auto expected = one_by_one(cpu, lines);
    EXPECT_EQ(in_batches(stream, lines, 25), expected);
    EXPECT_EQ(stream.earlier(), cpu.earlier());
}

TYPED_TEST(dedup_stream_test, asks_without_adding) {
    const auto lines = arriving_lines(5, 100);
    const dedup_options options = stream_options(edit_unit::byte);
    duplicate_stream cpu(options, this->on_cpu()), stream(options, this->ctx());
    one_by_one(cpu, lines);
    in_batches(stream, lines, 40);
    const std::vector<std::string> others = arriving_lines(5, 140);
    std::vector<row> expected, found;
    for (const std::string& line : others) expected.push_back(row_of(cpu.ask(line)));
    stream.ask(std::vector<std::string_view>(others.begin(), others.end()),
               [&](duplicate_stream::stream_result&& r) { found.push_back(row_of(r)); });
    EXPECT_EQ(found, expected);
    EXPECT_EQ(row_of(stream.ask(others[3])), expected[3]);
    EXPECT_EQ(stream.documents(), cpu.documents());
    EXPECT_EQ(in_batches(stream, others, 9), one_by_one(cpu, others)) << "asking leaves no trace";
}

TYPED_TEST(dedup_stream_test, many_equal_documents_are_cut_into_smaller_batches) {
    // 8 million pairs; the CPU has no batches to cut.
    const std::size_t count = tested_with().small_sizes || !is_on_gpu<TypeParam> ? 100 : 4000;
    std::vector<std::string> lines(count, R"({"text":"The miller grinds the corn."})");
    duplicate_stream stream(stream_options(edit_unit::byte), this->ctx());
    std::size_t pairs = 0;
    for (const row& r : in_batches(stream, lines, count)) pairs += std::get<4>(r).size();
    EXPECT_EQ(pairs, count * (count - 1) / 2);
}

TYPED_TEST(dedup_stream_test, memory_that_does_not_suffice_is_stated) {
    if constexpr (!is_on_gpu<TypeParam>) {
        GTEST_SKIP() << "only a GPU holds the texts";
    } else {
        context ctx = this->ctx();
        ctx.gpu_memory_bytes = std::uint64_t{24} << 20;
        duplicate_stream stream(stream_options(edit_unit::byte), ctx);
        std::mt19937_64 random(6);
        try {
            for (int i = 0; i < 1000; ++i) stream.next("{\"text\":\"" + words(random, 100'000) + "\"}");
            FAIL() << "100 MB in 24 MiB";
        } catch (const out_of_memory& e) {
            EXPECT_NE(std::string(e.what()).find("holding the texts of a stream needs"), std::string::npos)
                << e.what();
        }
        const std::uint32_t held = stream.documents();
        EXPECT_GT(held, 5U);
        EXPECT_EQ(stream.next("{\"text\":\"short\"}").position, held) << "as before the one that did not fit";
    }
}

/// Lines of a few texts, each many times, with few edits or none: most documents are near many others.
std::vector<std::string> lines_of_groups(std::uint64_t seed, std::size_t count) {
    std::mt19937_64 random(seed);
    const std::vector<std::string> pages = {words(random, 400), words(random, 90), "a b c d", ""};
    std::string version = words(random, 300);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < count; ++i) {
        version = edited(random, version, random() % 12);
        std::string text = random() % 4 == 0 ? version : pages[random() % pages.size()];
        if (random() % 2 == 0) text = edited(random, text, random() % (text.size() / 8 + 1));
        lines.push_back(R"({"id":")" + std::to_string(seed) + "/" + std::to_string(i) + R"(","text":")" +
                        text + "\"}");
    }
    return lines;
}

TYPED_TEST(dedup_stream_test, without_a_list_of_pairs_the_same_documents_remove) {
    const auto old = lines_of_groups(7, 60), lines = lines_of_groups(8, 150);
    std::string corpus;
    for (const std::string& line : old) corpus += line + "\n";
    write_file(this->folder_ / "old.jsonl", corpus);
    std::size_t removed = 0;
    for (const removal_rule rule : {removal_rule::near_kept, removal_rule::connected}) {
        for (const std::string_view with : {"", "against", "store"}) {
            dedup_options options = stream_options(edit_unit::byte);
            options.rule = rule;
            if (with == "against") options.against = {this->folder_ / "old.jsonl"};
            const auto rows_of = [&](bool list_pairs) {
                dedup_options mine = options;
                mine.list_pairs = list_pairs;
                if (with == "store") {
                    mine.store = this->folder_ / (list_pairs ? "listed" : "not listed");
                    std::filesystem::remove_all(mine.store);
                    duplicate_stream first(mine, this->on_cpu());
                    in_batches(first, old, 30);
                    first.finish();
                }
                duplicate_stream stream(mine, this->ctx());
                return in_batches(stream, lines, 40);
            };
            auto expected = rows_of(true);
            for (row& r : expected) {
                std::vector<duplicate_pair>& pairs = std::get<4>(r);
                if (rule == removal_rule::connected) {
                    EXPECT_EQ(std::get<3>(r), pairs);
                }
                removed += std::get<3>(r).empty() ? 0 : 1;
                pairs.clear();
            }
            EXPECT_EQ(rows_of(false), expected) << with;
        }
    }
    EXPECT_GT(removed, 500U);
}

TYPED_TEST(dedup_stream_test, copies_without_a_list_of_pairs_take_no_sketches) {
    if constexpr (is_on_gpu<TypeParam>) {
        GTEST_SKIP() << "a GPU holds all texts";
    } else {
        std::mt19937_64 random(9);
        const std::string page = words(random, 300);
        dedup_options options = stream_options(edit_unit::byte);
        options.list_pairs = false;
        duplicate_stream copies(options, this->ctx()), others(options, this->ctx());
        constexpr std::size_t count = 500;
        for (std::size_t i = 0; i < count; ++i) {
            copies.next(R"({"text":")" + edited(random, page, i % 3) + "\"}");
            others.next(R"({"text":")" + words(random, 300) + "\"}");
        }
        EXPECT_LT(copies.memory_bytes() + count * sizeof(text_sketch::counts), others.memory_bytes());
    }
}

TYPED_TEST(dedup_stream_test, methods_of_signatures_need_the_cpu) {
    dedup_options options = stream_options(edit_unit::byte);
    options.duplicates.method = duplicate_method::signature;
    if constexpr (is_on_gpu<TypeParam>) {
        EXPECT_THROW(duplicate_stream(options, this->ctx()), usage_error);
    } else {
        EXPECT_EQ(duplicate_stream(options, this->ctx()).batch(), 1U);
    }
}

}  // namespace
}  // namespace quern::dedup_stream_test
