// SPDX-License-Identifier: Apache-2.0
// Near-duplicates of small generated corpora: one run, a store fed in batches, a set against another and a stream find
// the same pairs; an interrupted run is resumed; the output equals the input.
#include "quern/tasks/dedup.hpp"
#include "corpus_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "io/files/joined_files.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/signature.hpp"
#include "reference/word_methods_reference.hpp"
#include "tasks/dedup/scratch_texts.hpp"
#include "temporary_folder.hpp"

namespace quern::dedup_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

/// Ids and their data: comparable between runs whose positions differ.
using named_pair = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>;

std::vector<named_pair> named(const dedup_result& result) {
    std::vector<named_pair> out;
    for (const duplicate_pair& p : result.pairs()) {
        out.emplace_back(result.id(p.a), result.id(p.b), p.distance, p.of);
    }
    return out;
}

std::set<named_pair> as_set(const std::vector<named_pair>& pairs) {
    return {pairs.begin(), pairs.end()};
}

struct made_document {
    std::string id, text;
};

/// Near-duplicates with few edits among distinct texts, of lengths around the size at which files of the store are
/// joined; some are empty, some equal.
std::vector<made_document> generated(std::uint32_t count, std::uint64_t seed, std::size_t longest = 3000) {
    testing::made_numbers next(seed);
    std::vector<made_document> all;
    for (std::uint32_t i = 0; i < count; ++i) {
        std::string text;
        if (i > 0 && next(3) != 0) {
            text = all[next(i)].text;
            for (std::uint64_t edits = next(1 + text.size() / 20 + 2); edits > 0 && !text.empty(); --edits) {
                const std::size_t at = next(text.size());
                if (next(2) != 0) {
                    text[at] = static_cast<char>('a' + next(26));
                } else {
                    text.insert(at, "é");
                }
            }
        } else if (next(8) != 0) {
            for (std::size_t size = next(longest); text.size() < size;)
                text += "wd" + std::to_string(next(500)) + " ";
        }
        // A cut inside a character would not be valid JSON.
        std::string clean;
        for (std::size_t k = 0; k < text.size(); ++k) {
            if (text[k] == '\xC3' && k + 1 < text.size() && text[k + 1] == '\xA9') {
                clean += "é";
                ++k;
            } else if (static_cast<unsigned char>(text[k]) < 0x80) {
                clean += text[k];
            }
        }
        all.push_back({"d" + std::to_string(i), clean});
    }
    return all;
}

std::string lines_of(const std::vector<made_document>& documents, std::size_t first = 0,
                     std::size_t last = ~std::size_t{0}) {
    std::string lines;
    for (std::size_t i = first; i < std::min(last, documents.size()); ++i) {
        lines += R"({"id":")" + documents[i].id + R"(","text":")" + documents[i].text + "\"}\n";
    }
    return lines;
}

class dedup_test : public testing::corpus_fixture {
  protected:
    dedup_options options_for(const std::string& corpus, const std::string& name = "corpus.jsonl") {
        dedup_options options;
        options.inputs = {written(corpus, name)};
        options.duplicates.threshold = parse_decimal("0.1");
        return options;
    }
    static std::string kept(const dedup_result& result) {
        std::string out;
        result.write_kept([&](std::string_view bytes) { out += bytes; });
        return out;
    }
    static std::set<std::string> removed_from(const dedup_result& result) {
        std::set<std::string> ids;
        for (const removed_duplicate& r : result.removed()) ids.emplace(result.id(r.document));
        return ids;
    }
    std::set<std::string> names_in(const fs::path& folder) {
        std::set<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder))
            names.insert(entry.path().filename().string());
        return names;
    }
};

TEST_F(dedup_test, finds_pairs_and_groups_and_keeps_lines_as_they_are) {
    const std::string a = "{\"id\": \"a\", \"text\":\"a text of some length, more or less\" , \"x\":[1]}\r\n",
                      b = "{\"id\":7,\"text\":\"another one that has nothing to do with it\"}\n",
                      c = " {\"text\":\"a text of some length, more or lesse\",\"id\":\"c\"}\n",
                      d = "{\"id\":\"d\",\"text\":\"\"}\n", e = "{\"id\":\"e\",\"text\":\"\"}";
    dedup_options options = options_for(a + b + "\n" + c + d + e);
    options.keep_records = true;
    const dedup_result result = dedup(options, context_with());
    EXPECT_THAT(named(result), ElementsAre(named_pair("a", "c", 1, 71), named_pair("d", "e", 0, 0)));
    EXPECT_EQ(result.documents(), 5U);
    EXPECT_EQ(result.earlier(), 0U);
    EXPECT_EQ(result.dropped(), 2U);
    ASSERT_EQ(result.groups().size(), 2U);
    EXPECT_THAT(result.groups()[1].members, ElementsAre(3U, 4U));
    EXPECT_EQ(result.text(2), "a text of some length, more or lesse");
    EXPECT_EQ(kept(result), a + b + d);

    options.keep = keep_policy::last;
    EXPECT_EQ(kept(dedup(options, context_with())), b + c + e + "\n");
    options.keep = keep_policy::longest;
    EXPECT_EQ(kept(dedup(options, context_with())), b + c + d);
    options.keep = keep_policy::shortest;
    EXPECT_EQ(kept(dedup(options, context_with())), a + b + d);
}

TEST_F(dedup_test, other_forms_come_out_as_json_lines) {
    const std::string tsv =
        "a\tone two three four five six seven\nb\tone two three four five six sevem\nc\t\x01 \"\\\n";
    dedup_options options = options_for(tsv, "corpus.tsv");
    options.keep_records = true;
    EXPECT_EQ(kept(dedup(options, context_with())), "a\tone two three four five six seven\nc\t\x01 \"\\\n");

    write_file(folder_ / "pages/one.txt", "Some \"text\"\n");
    write_file(folder_ / "pages/two.html",
               "<title>Two</title><p>Other words <a href=\"one.txt\">there</a>, quite a lot of them</p>");
    options.inputs = {folder_ / "pages"};
    const std::string lines = kept(dedup(options, context_with()));
    EXPECT_THAT(lines, HasSubstr(R"({"id":"one.txt","title":"one.txt","text":"Some \"text\"\n"})"));
    EXPECT_THAT(lines, HasSubstr(R"("links":["one.txt"]})"));
    // The output is accepted as input.
    EXPECT_THAT(dedup(options_for(lines), context_with()).issues, IsEmpty());
}

TEST_F(dedup_test, the_same_for_threads_memory_and_units) {
    const auto documents = generated(300, 1, 1000);
    dedup_options options = options_for(lines_of(documents));
    options.keep_records = true;
    const dedup_result once = dedup(options, context_with(1));
    EXPECT_GT(once.pairs().size(), 50U);
    for (const auto& [threads, memory] : {std::pair{3U, std::uint64_t{0}}, {2U, std::uint64_t{64} << 20}}) {
        const dedup_result again = dedup(options, context_with(threads, memory));
        EXPECT_EQ(named(again), named(once));
        EXPECT_EQ(kept(again), kept(once));
    }
}

TEST(scratch_texts, are_what_threads_wrote_in_any_order) {
    const temporary_folder folder;
    std::mt19937_64 random(1);
    std::vector<std::vector<document>> units(40);  // 70 MB: several files
    std::vector<std::uint64_t> begins;
    std::string all;
    for (auto& unit : units) {
        begins.push_back(all.size());
        unit.resize(random() % 3000);
        for (document& d : unit) {
            d.text.assign(random() % (unit.size() < 100 ? 100'000 : 1'700),
                          static_cast<char>(random() % 128));
            all += d.text;
        }
    }
    const std::string overlap(12'345, 'o');
    {
        scratch_texts texts(folder.path(), overlap);
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < 3; ++t) {
            threads.emplace_back([&, t] {
                for (std::size_t i = units.size(); i-- > 0;)
                    if (i % 3 == t) texts.write(begins[i], units[i]);
            });
        }
        threads.clear();
        io::joined_files joined;
        for (const auto& [path, bytes] : texts.finish()) joined.append(path, bytes);
        EXPECT_TRUE(std::ranges::equal(joined.bytes(), overlap + all));
    }
    EXPECT_TRUE(fs::is_empty(folder.path()));
    EXPECT_TRUE(scratch_texts(folder.path(), {}).finish().empty());
}

TEST_F(dedup_test, a_store_fed_in_pieces_holds_the_same_pairs) {
    const auto documents = generated(60, 2, 20'000);
    const dedup_result once = dedup(options_for(lines_of(documents)), context_with());
    std::set<named_pair> found;
    std::string kept_in_pieces;
    for (const auto& [first, last] : {std::pair{0U, 1U}, {1U, 30U}, {30U, 31U}, {31U, 60U}}) {
        dedup_options piece = options_for(lines_of(documents, first, last), "piece.jsonl");
        piece.store = folder_ / "store";
        piece.shard_bytes = 1 << 20;
        piece.keep_records = true;
        const dedup_result result = dedup(piece, context_with());
        EXPECT_EQ(result.documents(), last - first);
        EXPECT_EQ(result.earlier(), first);
        found.merge(as_set(named(result)));
        kept_in_pieces += kept(result);
    }
    EXPECT_EQ(found, as_set(named(once)));
    EXPECT_TRUE(is_duplicate_store(folder_ / "store"));
    EXPECT_FALSE(kept_in_pieces.empty());

    // All of it again: nothing is added, and the result is that of one run.
    dedup_options again = options_for(lines_of(documents));
    again.store = folder_ / "store";
    again.keep_records = true;
    const auto sections = [&] {  // of shards: decisions are replaced under another name
        auto names = names_in(folder_ / "store");
        std::erase_if(names, [](const std::string& name) { return name.starts_with("decisions."); });
        return names;
    };
    const auto before = sections();
    const dedup_result repeated = dedup(again, context_with());
    EXPECT_EQ(named(repeated), named(once));
    EXPECT_EQ(repeated.earlier(), 0U);
    EXPECT_EQ(repeated.statistics.counts.at("documents"), 60U);
    EXPECT_EQ(sections(), before);
}

TEST_F(dedup_test, a_folder_is_committed_in_shards_too) {
    const auto documents = generated(40, 9, 60'000);
    for (const made_document& d : documents) write_file(folder_ / "texts" / (d.id + ".txt"), d.text);
    dedup_options options;
    options.inputs = {folder_ / "texts"};
    options.duplicates.threshold = parse_decimal("0.1");
    const dedup_result once = dedup(options, context_with());
    options.store = folder_ / "store";
    options.shard_bytes = 300'000;
    const context small = context_with(2, std::uint64_t{128} << 20);
    EXPECT_EQ(named(dedup(options, small)), named(once));
    EXPECT_GT(read_duplicate_store_info(folder_ / "store").shards, 1U);
    EXPECT_EQ(named(dedup(options, small)), named(once));
}

TEST_F(dedup_test, a_stream_answers_many_threads_and_adds_nothing) {
    const auto documents = generated(120, 10, 800);
    dedup_options options = options_for("");
    options.inputs.clear();
    options.store = folder_ / "store";
    options.shard_bytes = 16 << 10;  // some are committed, some are not
    duplicate_stream stream(options, context_with(1));
    for (std::size_t i = 0; i < 100; ++i) {
        const std::string line = lines_of(documents, i, i + 1);
        const auto answer = stream.ask(line);
        const auto added = stream.next(line);
        EXPECT_EQ(answer.position, std::nullopt);
        EXPECT_EQ(added.position, i);
        EXPECT_EQ(answer.pairs, added.pairs);
        EXPECT_EQ(answer.duplicates, added.duplicates);
        EXPECT_EQ(answer.id, documents[i].id);
    }
    EXPECT_EQ(stream.documents(), 100U);
    EXPECT_GT(stream.uncommitted(), 0U);
    EXPECT_LT(stream.uncommitted(), 100U);
    std::vector<std::vector<duplicate_pair>> expected, found(120);
    for (std::size_t i = 0; i < 120; ++i) expected.push_back(stream.ask(lines_of(documents, i, i + 1)).pairs);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (std::size_t i = t; i < 120; i += 4)
                found[i] = stream.ask(lines_of(documents, i, i + 1)).pairs;
        });
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(found, expected);
    EXPECT_EQ(stream.documents(), 100U);
    EXPECT_EQ(stream.ask("{\"text\":\"" + documents[5].text + "\"}").id, "");
    EXPECT_FALSE(stream.ask("no JSON").why.empty());
    EXPECT_FALSE(stream.ask("").is_document);
    stream.finish();
    EXPECT_EQ(stream.uncommitted(), 0U);
    EXPECT_EQ(read_duplicate_store_info(folder_ / "store").documents, 100U);
}

TEST_F(dedup_test, a_file_that_changed_since_it_was_read_is_not_copied) {
    write_file(folder_ / "in/a.txt", "one text");
    write_file(folder_ / "in/b.txt", "quite another one");
    dedup_options options;
    options.inputs = {folder_ / "in"};
    options.kept_folder = folder_ / "out";
    const dedup_result result = dedup(options, context_with());
    EXPECT_FALSE(fs::exists(folder_ / "out"));
    write_file(folder_ / "in/b.txt", "changed meanwhile");
    EXPECT_THROW(result.write_kept_folder(context_with()), invalid_input);
    EXPECT_FALSE(fs::exists(folder_ / "out"));
    const dedup_result again = dedup(options, context_with());
    write_file(folder_ / "out/file", "appeared meanwhile");
    EXPECT_THROW(again.write_kept_folder(context_with()), usage_error);
    EXPECT_EQ(read_file(folder_ / "out/file"), "appeared meanwhile");
    fs::remove_all(folder_ / "out");
    dedup(options, context_with()).write_kept_folder(context_with());
    EXPECT_EQ(read_file(folder_ / "out/a.txt"), "one text");
    EXPECT_EQ(read_file(folder_ / "out/b.txt"), "changed meanwhile");
    EXPECT_THROW(dedup(options, context_with()), usage_error);
}

TEST_F(dedup_test, groups_do_not_need_all_pairs) {
    auto documents = generated(200, 5, 1000);
    for (int i = 0; i < 300; ++i)
        documents.push_back({"e" + std::to_string(i), i % 3 == 0 ? "" : "the same"});
    dedup_options options = options_for(lines_of(documents));
    options.keep_records = true;
    const auto members = [](const dedup_result& result) {
        std::vector<std::vector<std::string>> all;
        for (const duplicate_group& group : result.groups()) {
            all.emplace_back();
            for (const std::uint32_t d : group.members) all.back().emplace_back(result.id(d));
        }
        return all;
    };
    const dedup_result truth = dedup(options, context_with());
    EXPECT_EQ(truth.pair_count(), truth.pairs().size());
    options.list_pairs = false;
    const dedup_result once = dedup(options, context_with());
    EXPECT_EQ(members(once), members(truth));
    EXPECT_EQ(kept(once), kept(truth));
    EXPECT_EQ(once.pair_count(), std::nullopt);
    EXPECT_LT(once.pairs().size(), truth.pairs().size() / 2);
    EXPECT_THROW(once.write_report([](std::string_view) {}), usage_error);

    // A store fed in batches later returns all pairs.
    for (const std::size_t first : {0, 150, 350}) {
        dedup_options piece = options_for(
            lines_of(documents, first, first == 350 ? 500 : first + (first == 0 ? 150 : 200)), "piece.jsonl");
        piece.store = folder_ / "store";
        piece.list_pairs = false;
        dedup(piece, context_with());
    }
    options.store = folder_ / "store";
    const dedup_result again = dedup(options, context_with());
    EXPECT_EQ(members(again), members(truth));
    EXPECT_EQ(again.pair_count(), truth.pair_count());
    options.list_pairs = true;
    EXPECT_EQ(named(dedup(options, context_with())), named(truth));
}

TEST_F(dedup_test, many_equal_documents_fit_a_small_memory) {
    std::vector<made_document> documents;
    for (int i = 0; i < 50'000; ++i) documents.push_back({std::to_string(i), ""});
    dedup_options options = options_for(lines_of(documents));
    options.list_pairs = false;
    options.store = folder_ / "store";
    const dedup_result result = dedup(options, context_with(2, std::uint64_t{64} << 20));
    EXPECT_EQ(result.groups().size(), 1U);
    EXPECT_EQ(result.dropped(), 49'999U);
    EXPECT_EQ(result.pair_count(), std::uint64_t{25'000} * 49'999);
    EXPECT_EQ(read_duplicate_store_info(folder_ / "store").pairs, 0U);

    options = options_for("{\"id\":\"one more\",\"text\":\"\"}\n", "more.jsonl");
    options.store = folder_ / "store";
    EXPECT_EQ(dedup(options, context_with()).pairs().size(), 50'000U);
    options = options_for(lines_of(documents));
    EXPECT_THROW(dedup(options, context_with(2, std::uint64_t{64} << 20)), out_of_memory);
}

TEST_F(dedup_test, an_empty_corpus_is_refused_and_an_empty_stream_makes_a_store) {
    dedup_options options = options_for("");
    options.store = folder_ / "store";
    EXPECT_THROW(dedup(options, context_with()), invalid_input);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "store"));

    dedup_options streamed = options_for("");
    streamed.inputs.clear();
    streamed.store = folder_ / "of_a_stream";
    duplicate_stream(streamed, context_with()).finish();
    EXPECT_EQ(read_duplicate_store_info(folder_ / "of_a_stream").documents, 0U);
    dedup_options later = options_for("{\"id\":\"a\",\"text\":\"a\"}\n{\"id\":\"b\",\"text\":\"a\"}\n");
    later.store = folder_ / "of_a_stream";
    EXPECT_EQ(dedup(later, context_with()).pairs().size(), 1U);
}

TEST_F(dedup_test, characters_in_pieces_are_compared_as_in_one_run) {
    const auto documents = generated(90, 12, 2000);
    dedup_options options = options_for(lines_of(documents));
    options.duplicates.unit = edit_unit::character;
    const dedup_result once = dedup(options, context_with());
    ASSERT_GT(once.pairs().size(), 20U);
    options.store = folder_ / "store";
    std::set<named_pair> found;
    for (std::size_t first = 0; first < documents.size(); first += 18) {
        write_file(folder_ / "piece.jsonl", lines_of(documents, first, first + 18));
        options.inputs = {folder_ / "piece.jsonl"};
        found.merge(as_set(named(dedup(options, context_with()))));
    }
    EXPECT_EQ(found, as_set(named(once)));
    // Sketches of characters do not apply to bytes: the texts of the store are read then.
    dedup_options across =
        options_for("{\"id\":\"x\",\"text\":\"" + documents[40].text + "\"}\n", "new.jsonl");
    const auto of_one_run = [&](const char* against) {
        across.against = {folder_ / against};
        return as_set(named(dedup(across, context_with())));
    };
    EXPECT_EQ(of_one_run("store"), of_one_run("corpus.jsonl"));
}

/// Texts of a store are compared by their sketches; a text itself is read, and checked, only if these are inconclusive.
TEST_F(dedup_test, the_texts_of_a_store_are_not_read_but_for_candidates) {
    std::vector<made_document> documents;
    for (char a = 'a'; a <= 'z'; ++a)
        for (char b = 'a'; b < a; ++b)
            documents.push_back({std::string{a, b}, std::string(150, a) + std::string(150, b)});
    const std::size_t last_64_kib =
        (documents.size() * 300 - 1) / 65536 * 65536 / 300;  // repeated by new files
    ASSERT_GT(last_64_kib, 200U);
    dedup_options options = options_for(lines_of(documents));
    options.store = folder_ / "store";
    dedup(options, context_with());
    const fs::path texts = folder_ / "store/000000.texts.section";
    const std::string whole = read_file(texts);
    const auto broken_but = [&](const std::string& id) {
        std::string bytes = whole;
        for (std::size_t i = 0; i < last_64_kib; ++i)
            if (documents[i].id != id) bytes[i * 300 + 150] = '?';
        write_file(texts, bytes);
    };
    const std::string line =
        R"({"id":"new","text":")" + std::string(150, 'h') + std::string(149, 'b') + "!\"}\n";
    const named_pair expected("hb", "new", 1, 600);

    dedup_options one = options_for(line, "one.jsonl");
    one.against = {options.store};
    broken_but("hb");
    EXPECT_THAT(named(dedup(one, context_with())), ElementsAre(expected));
    duplicate_stream stream(one, context_with());
    ASSERT_EQ(stream.next(line).duplicates.size(), 1U);
    broken_but("gb");
    try {
        dedup(one, context_with());
        ADD_FAILURE() << "a damaged candidate";
    } catch (const damaged_store& e) {
        EXPECT_THAT(e.what(), HasSubstr("000000.texts.section"));
    }

    one.against.clear();
    one.store = options.store;
    write_file(texts, whole);
    EXPECT_THAT(named(dedup(one, context_with())), ElementsAre(expected));
    EXPECT_GT(verify_duplicate_store(options.store, context_with()), documents.size() * 300);
}

/// Copying bytes of the preceding shard into a new one must not hide their damage.
TEST_F(dedup_test, damage_is_not_copied_into_a_new_shard) {
    dedup_options options = options_for(lines_of(generated(60, 4)));
    options.store = folder_ / "store";
    dedup(options, context_with());
    const fs::path texts = folder_ / "store/000000.texts.section";
    std::string bytes = read_file(texts);
    const auto info = read_duplicate_store_info(options.store);
    ASSERT_GT(info.text_bytes % 65536, 10U);
    bytes[info.text_bytes - 5] = static_cast<char>(bytes[info.text_bytes - 5] ^ 1);
    write_file(texts, bytes);
    dedup_options more = options_for("{\"id\":\"x\",\"text\":\"something else\"}\n", "more.jsonl");
    more.store = options.store;
    EXPECT_THROW(dedup(more, context_with()), damaged_store);
    EXPECT_EQ(read_duplicate_store_info(options.store).shards, 1U);
}

TEST_F(dedup_test, a_store_of_another_version_is_refused) {
    dedup_options options = options_for("{\"id\":\"a\",\"text\":\"x\"}\n");
    options.store = folder_ / "store";
    dedup(options, context_with());
    const fs::path manifest = folder_ / "store/duplicates.json";
    std::string json = read_file(manifest);
    const std::size_t at = json.find("\"version\": 2");
    ASSERT_NE(at, std::string::npos);
    json[at + 11] = '1';
    write_file(manifest, json);
    try {
        dedup(options, context_with());
        ADD_FAILURE();
    } catch (const damaged_store& e) {
        EXPECT_THAT(e.what(), HasSubstr("has format version 1, but this program reads version 2"));
    }
}

TEST_F(dedup_test, an_interrupted_run_goes_on_where_it_was) {
    const auto documents = generated(100, 3, 12'000);
    dedup_options options = options_for(lines_of(documents));
    options.keep_records = true;
    const dedup_result once = dedup(options, context_with());
    options.store = folder_ / "store";
    options.shard_bytes = 300'000;

    // Units of the input are the smallest amount read at once; little memory makes them small.
    context ctx = context_with(1, std::uint64_t{32} << 20);
    std::atomic<int> stop{0};
    ctx.stop_signal = &stop;
    ctx.on_progress = [&](const progress&) {
        if (is_duplicate_store(folder_ / "store")) stop = 2;
    };
    EXPECT_THROW(dedup(options, ctx), interrupted);
    ASSERT_TRUE(is_duplicate_store(folder_ / "store"));
    const auto files = names_in(folder_ / "store");
    EXPECT_EQ(files.size(), 6U) << "the first shard and the manifest";
    EXPECT_EQ(names_in(folder_ / "scratch").size(), 1U) << "of the first run, whose result is still held";

    ctx.stop_signal = nullptr;
    ctx.on_progress = nullptr;
    const dedup_result rest = dedup(options, ctx);
    EXPECT_EQ(named(rest), named(once));
    EXPECT_EQ(kept(rest), kept(once));
    for (const std::string& name : files) EXPECT_TRUE(fs::exists(folder_ / "store" / name)) << name;
    EXPECT_GT(names_in(folder_ / "store").size(), 6U);
}

TEST_F(dedup_test, nothing_is_left_of_a_store_that_was_never_whole) {
    dedup_options options = options_for("{\"id\":\"a\",\"text\":\"x\"}\nbroken\n");
    options.store = folder_ / "store";
    EXPECT_THROW(dedup(options, context_with()), invalid_input);
    EXPECT_EQ(names_in(folder_.path()), (std::set<std::string>{"corpus.jsonl", "scratch"}));
    EXPECT_TRUE(fs::is_empty(folder_ / "scratch"));
}

TEST_F(dedup_test, files_of_a_killed_run_are_not_taken) {
    dedup_options options = options_for("{\"id\":\"a\",\"text\":\"x\"}\n");
    options.store = folder_ / "store";
    dedup(options, context_with());
    write_file(folder_ / "store/000001.texts.section", "half a shard");
    write_file(folder_ / "store/000007.pairs.section", "of a killed run");
    const dedup_result result = dedup(options, context_with());
    EXPECT_EQ(result.documents(), 1U);
    EXPECT_EQ(names_in(folder_ / "store").size(), 7U);
}

TEST_F(dedup_test, a_store_refuses_what_its_pairs_do_not_answer) {
    dedup_options options = options_for("{\"id\":\"a\",\"text\":\"x\"}\n");
    options.store = folder_ / "store";
    dedup(options, context_with());
    const auto refused = [&](const dedup_options& changed, const std::string& why) {
        try {
            dedup(changed, context_with());
            ADD_FAILURE() << why;
        } catch (const usage_error& e) {
            EXPECT_THAT(e.what(), HasSubstr(why));
        }
    };
    dedup_options other = options;
    other.duplicates.threshold = parse_decimal("0.05");
    refused(other, "threshold 0.1 (now 0.05)");
    other = options;
    other.duplicates.unit = edit_unit::character;
    refused(other, "unit byte (now char)");
    other = options;
    other.duplicates.method = duplicate_method::signature;
    refused(other, "method edit-rate (now signature)");
    other.duplicates.method = duplicate_method::simhash;
    refused(other, "cannot work in batches");
    other = options;
    other.against = {folder_ / "corpus.jsonl"};
    refused(other, "cannot be combined");
    other = options;
    other.inputs = {folder_ / "store"};
    refused(other, "store");
    other = options;
    other.store = folder_ / "scratch";
    refused(other, "not a store of quern dedup");
    // The same pairs by another method are the same result.
    other = options;
    other.duplicates.method = duplicate_method::exhaustive;
    EXPECT_NO_THROW(dedup(other, context_with()));
}

TEST_F(dedup_test, one_run_at_a_time_adds_to_a_store) {
    dedup_options options = options_for("{\"id\":\"a\",\"text\":\"x\"}\n");
    options.store = folder_ / "store";
    dedup(options, context_with());
    const duplicate_stream adding(options, context_with());
    EXPECT_THROW(dedup(options, context_with()), usage_error);
    // Reading is always allowed.
    dedup_options reading = options_for("{\"id\":\"b\",\"text\":\"x\"}\n", "other.jsonl");
    reading.against = {folder_ / "store"};
    EXPECT_THAT(named(dedup(reading, context_with())), ElementsAre(named_pair("a", "b", 0, 2)));
}

TEST_F(dedup_test, damage_of_a_store_is_named) {
    dedup_options options = options_for(lines_of(generated(60, 4)));
    options.store = folder_ / "store";
    dedup(options, context_with());
    for (const std::string& name : names_in(folder_ / "store")) {
        const fs::path file = folder_ / "store" / name;
        const std::string whole = read_file(file);
        std::string flipped = whole;
        flipped[whole.size() / 3] = static_cast<char>(flipped[whole.size() / 3] ^ 4);
        for (const std::string& bytes : {flipped, whole.substr(0, whole.size() / 2), std::string()}) {
            write_file(file, bytes);
            try {
                dedup(options, context_with());
                ADD_FAILURE() << name;
            } catch (const damaged_store& e) {
                EXPECT_THAT(e.what(), HasSubstr(name)) << name;
            }
        }
        write_file(file, whole);
    }
    EXPECT_NO_THROW(dedup(options, context_with()));
}

TEST_F(dedup_test, repeated_ids_are_reported_and_counted) {
    dedup_options options = options_for(
        "{\"id\":\"a\",\"text\":\"one\"}\n{\"id\":\"a\",\"text\":\"one\"}\n{\"id\":\"b\",\"text\":\"two\"}"
        "\n");
    EXPECT_THROW(dedup(options, context_with()), invalid_input);
    options.max_errors = {0, 1, false};
    options.store = folder_ / "store";
    const dedup_result first = dedup(options, context_with());
    ASSERT_EQ(first.issues.size(), 1U);
    EXPECT_EQ(first.issues[0].reason,
              "duplicate id \"a\"; first used in " + options.inputs[0].string() + ":1");
    EXPECT_EQ(first.issues[0].line, 2U);
    EXPECT_EQ(first.documents(), 2U);
    EXPECT_EQ(first.counts.rejected, 1U);
    // In the store: the same text is known; with another text it is another document, whose id is prefixed with the
    // file.
    dedup_options second = options_for("{\"id\":\"b\",\"text\":\"two\"}\n{\"id\":\"a\",\"text\":\"new\"}\n");
    second.store = options.store;
    second.max_errors = options.max_errors;
    for (int again = 0; again < 2; ++again) {
        const dedup_result result = dedup(second, context_with());
        EXPECT_EQ(result.documents(), 2U);
        EXPECT_EQ(result.earlier(), 1U);
        EXPECT_EQ(result.counts.rejected, 0U);
        EXPECT_EQ(result.id(2), second.inputs[0].string() + ":a");
    }
    second.ids = id_rule::global;
    const dedup_result result = dedup(second, context_with());
    EXPECT_EQ(result.documents(), 1U);
    EXPECT_EQ(result.issues.at(0).reason, "duplicate id \"a\"; first used in an earlier file");
}

TEST_F(dedup_test, ids_that_restart_in_each_file_cost_no_document) {
    const auto documents = generated(120, 31);
    dedup_options whole = options_for(lines_of(documents));
    const dedup_result once = dedup(whole, context_with());
    // The same texts in three files, whose ids start again.
    dedup_options options = whole;
    options.inputs.clear();
    for (std::size_t f = 0; f < 3; ++f) {
        std::string lines;
        for (std::size_t i = 0; i < 40; ++i) {
            const std::string line = lines_of(documents, 40 * f + i, 40 * f + i + 1);
            const std::string id = "\"d" + std::to_string(40 * f + i) + "\"";
            lines += std::string(line).replace(line.find(id), id.size(), std::to_string(i));
        }
        options.inputs.push_back(folder_ / ("shard" + std::to_string(f) + ".jsonl"));
        write_file(options.inputs.back(), lines);
    }
    options.keep_records = true;
    const auto named_by_file = [&](std::uint32_t d) {
        return (d < 40 ? "" : options.inputs[d / 40].string() + ":") + std::to_string(d % 40);
    };
    for (const unsigned threads : {1U, 3U}) {
        const dedup_result result =
            dedup(options, context_with(threads, threads == 1 ? 0 : std::uint64_t{64} << 20));
        ASSERT_EQ(result.documents(), 120U);
        EXPECT_TRUE(std::ranges::equal(result.pairs(), once.pairs()));
        EXPECT_EQ(result.dropped(), once.dropped());
        for (std::uint32_t d = 0; d < 120; ++d) ASSERT_EQ(result.id(d), named_by_file(d));
        std::string kept;
        result.write_kept([&](std::string_view bytes) { kept += bytes; });
        EXPECT_EQ(static_cast<std::uint32_t>(std::ranges::count(kept, '\n')), 120 - once.dropped());
    }
    // A store, the files one by one and then all again: nothing is added twice.
    options.store = folder_ / "store";
    for (const auto& input : options.inputs) {
        dedup_options one = options;
        one.inputs = {input};
        dedup(one, context_with());
    }
    const dedup_result again = dedup(options, context_with());
    EXPECT_EQ(again.documents(), 120U);
    EXPECT_EQ(again.earlier(), 0U);
    EXPECT_EQ(as_set(named(again)).size(), once.pair_count());
    // Without any ids, and generated ones: the same groups.
    options.store.clear();
    options.ids = id_rule::generate;
    const dedup_result numbered = dedup(options, context_with());
    EXPECT_TRUE(std::ranges::equal(numbered.pairs(), once.pairs()));
    EXPECT_EQ(numbered.id(41), "shard1.jsonl:2");
    options.ids = id_rule::global;
    EXPECT_THROW(dedup(options, context_with()), invalid_input);
}

TEST_F(dedup_test, folders_with_equal_paths_keep_all_their_files) {
    dedup_options options;
    for (const char* version : {"v1", "v2"}) {
        fs::create_directories(folder_ / version / "in");
        write_file(folder_ / version / "README.md", std::string("one of ") + version);
        write_file(folder_ / version / "in/a.txt", std::string("text of ") + version);
        write_file(folder_ / version / "in/x.jsonl",
                   "{\"text\":\"without an id\"}\n{\"id\":\"README.md\",\"text\":\"x\"}\n");
        options.inputs.push_back(folder_ / version);
    }
    const dedup_result result = dedup(options, context_with());
    std::vector<std::string> ids;
    for (std::uint32_t d = 0; d < result.documents(); ++d) ids.emplace_back(result.id(d));
    const std::string v1 = (folder_ / "v1").string(), v2 = (folder_ / "v2").string();
    EXPECT_EQ(ids,
              (std::vector<std::string>{"README.md", "in/a.txt", "in/x.jsonl:1", v1 + "/in/x.jsonl:README.md",
                                        v2 + "/README.md", v2 + "/in/a.txt", v2 + "/in/x.jsonl:1",
                                        v2 + "/in/x.jsonl:README.md"}));
    options.inputs = {folder_ / "v1", folder_ / "v1"};
    EXPECT_EQ(dedup(options, context_with()).documents(), 8U);
}

TEST_F(dedup_test, rows_of_tables_come_out_under_their_heading) {
    const std::string heading = "title\tid\ttext\n";
    dedup_options options = options_for("");
    options.inputs = {folder_ / "a.tsv", folder_ / "b.tsv"};
    write_file(options.inputs[0], heading + "A\t1\tthe same long text\nB\t2\tanother\n");
    write_file(options.inputs[1], heading + "C\t1\tthe same long text\nD\t3\tthird");
    options.keep_records = true;
    const auto kept_of = [&] {
        std::string kept;
        dedup(options, context_with()).write_kept([&](std::string_view bytes) { kept += bytes; });
        return kept;
    };
    EXPECT_EQ(kept_of(), heading + "A\t1\tthe same long text\nB\t2\tanother\nD\t3\tthird\n");
    // In other forms: JSON lines, with the ids of the pairs.
    options.inputs[0] = folder_ / "a.csv";
    write_file(options.inputs[0], "id,text\n3,\"with\nlines\"\n");
    EXPECT_EQ(kept_of(),
              "{\"id\":\"3\",\"text\":\"with\\nlines\"}\n"
              "{\"id\":\"1\",\"title\":\"C\",\"text\":\"the same long text\"}\n"
              "{\"id\":\"" +
                  options.inputs[1].string() + ":3\",\"title\":\"D\",\"text\":\"third\"}\n");
}

TEST_F(dedup_test, against_a_set_only_pairs_across) {
    const auto documents = generated(240, 5);
    const dedup_result whole = dedup(options_for(lines_of(documents)), context_with());
    std::set<named_pair> across;
    for (const duplicate_pair& p : whole.pairs()) {
        if (p.a < 100 && p.b >= 100) across.emplace(whole.id(p.a), whole.id(p.b), p.distance, p.of);
    }
    ASSERT_GT(across.size(), 10U);
    write_file(folder_ / "old.jsonl", lines_of(documents, 0, 100));
    dedup_options into_store = options_for(lines_of(documents, 0, 100), "old.jsonl");
    into_store.store = folder_ / "seen";
    dedup(into_store, context_with());
    build_options built;
    built.inputs = {folder_ / "old.jsonl"};
    built.store = folder_ / "built";
    built.skip = all_build_stages;
    build(built, context_with());

    for (const char* against : {"old.jsonl", "seen", "built"}) {
        dedup_options options = options_for(lines_of(documents, 100), "new.jsonl");
        options.against = {folder_ / against};
        options.keep_records = true;
        options.keep = keep_policy::longest;
        const dedup_result result = dedup(options, context_with());
        EXPECT_EQ(as_set(named(result)), across) << against;
        EXPECT_EQ(result.earlier(), 100U);
        // Keeps the documents without a near-duplicate among the old ones, whatever the policy.
        std::set<std::string> dropped;
        for (const auto& [a, b, distance, of] : across) dropped.insert(b);
        EXPECT_EQ(result.dropped(), dropped.size());
        std::string expected;
        for (std::size_t i = 100; i < documents.size(); ++i) {
            if (!dropped.contains(documents[i].id)) expected += lines_of(documents, i, i + 1);
        }
        EXPECT_EQ(kept(result), expected) << against;
    }
}

TEST_F(dedup_test, words_are_compared_in_pieces_as_in_one_run) {
    const auto documents = generated(150, 6);
    dedup_options options = options_for(lines_of(documents));
    options.duplicates.method = duplicate_method::shingle;
    options.duplicates.similarity = parse_decimal("0.5");
    const dedup_result once = dedup(options, context_with());
    ASSERT_GT(once.pairs().size(), 20U);
    std::set<named_pair> found;
    for (const auto& [first, last] : {std::pair{0U, 70U}, {70U, 150U}}) {
        dedup_options piece = options;
        write_file(folder_ / "piece.jsonl", lines_of(documents, first, last));
        piece.inputs = {folder_ / "piece.jsonl"};
        piece.store = folder_ / "store";
        found.merge(as_set(named(dedup(piece, context_with()))));
    }
    EXPECT_EQ(found, as_set(named(once)));
    options.store = folder_ / "store";
    options.text.stem = stemmer::porter;
    EXPECT_THROW(dedup(options, context_with()), usage_error);
    for (const auto method : {duplicate_method::simhash, duplicate_method::i_match}) {
        dedup_options whole = options_for(lines_of(documents));
        whole.duplicates.method = method;
        const auto pairs = named(dedup(whole, context_with(1)));
        EXPECT_EQ(named(dedup(whole, context_with(3))), pairs);
    }
}

TEST_F(dedup_test, a_stream_answers_as_one_run) {
    const auto documents = generated(120, 7, 1000);
    for (const edit_unit unit : {edit_unit::byte, edit_unit::character}) {
        dedup_options options = options_for(lines_of(documents));
        options.duplicates.unit = unit;
        const dedup_result once = dedup(options, context_with());
        const std::set<std::string> removed = removed_from(once);
        duplicate_stream stream(options, context_with());
        std::set<named_pair> found;
        for (std::size_t i = 0; i < documents.size(); ++i) {
            const auto stream_result = stream.next(lines_of(documents, i, i + 1));
            ASSERT_TRUE(stream_result.is_document) << stream_result.why;
            EXPECT_EQ(stream_result.id, documents[i].id);
            for (std::size_t k = 0; k < stream_result.pairs.size(); ++k) {
                const duplicate_pair& p = stream_result.pairs[k];
                found.emplace(stream.id(p.a), stream.id(p.b), p.distance, p.of);
                if (k > 0) {
                    EXPECT_LE(stream_result.pairs[k - 1].rate(), p.rate());
                }
            }
            for (const duplicate_pair& p : stream_result.duplicates)
                EXPECT_EQ(removed.count(std::string(stream.id(p.a))), 0U) << "near one that stays";
            EXPECT_EQ(stream_result.duplicates.empty(), removed.count(stream_result.id) == 0);
        }
        EXPECT_GT(removed.size(), 10U);
        EXPECT_EQ(found, as_set(named(once)));
        stream.finish();
        EXPECT_EQ(stream.counts().documents, documents.size());
    }
}

TEST_F(dedup_test, shingles_of_characters_match_the_reference) {
    auto documents = generated(80, 5, 400);
    documents[7].text = documents[8].text = "";
    documents[9].text = "\u00e9t\u00e9";  // three characters, fewer than a shingle has
    documents[10].text = documents[9].text;
    std::vector<reference::words> characters;
    for (const made_document& d : documents) {
        characters.emplace_back();
        for (const char c : d.text)
            if ((c & 0xc0) != 0x80) characters.back().push_back(static_cast<unsigned char>(c));
    }
    dedup_options options = options_for(lines_of(documents));
    options.duplicates.method = duplicate_method::shingle;
    options.duplicates.of_shingles = shingle_unit::character;
    for (const auto& [similarity, width] : {std::pair{"0.8", 12U}, {"0.5", 1U}, {"0.3", 5U}}) {
        options.duplicates.shingle = width;
        options.duplicates.similarity = parse_decimal(similarity);
        const dedup_result once = dedup(options, context_with());
        const auto expected = reference::shingle_pairs(characters, options.duplicates, {});
        EXPECT_GT(expected.size(), 5U);
        EXPECT_EQ(std::vector<duplicate_pair>(once.pairs().begin(), once.pairs().end()), expected);
        duplicate_stream stream(options, context_with());
        std::size_t found = 0;
        for (std::size_t i = 0; i < documents.size(); ++i)
            found += stream.next(lines_of(documents, i, i + 1)).pairs.size();
        EXPECT_EQ(found, expected.size());
    }
    dedup_options stored = options;
    stored.store = folder_ / "store";
    dedup(stored, context_with());
    stored.duplicates.of_shingles = shingle_unit::word;
    EXPECT_THROW(dedup(stored, context_with()), usage_error);
}

// The same pairs for any similarity, in a store's order of arrival, from many threads, and against an earlier set.
TEST_F(dedup_test, a_stream_of_shingles_answers_as_one_run) {
    auto documents = generated(120, 7, 1000);
    documents[3].text = documents[60].text = "";
    documents[70].text = documents[20].text;
    documents[80].text = "two words";
    documents[90].text = "Two  words!";
    for (const auto& [similarity, width] : {std::pair{"0.8", 4U}, {"1", 1U}, {"0.25", 2U}, {"0.01", 1U}}) {
        dedup_options options = options_for(lines_of(documents));
        options.duplicates.method = duplicate_method::shingle;
        options.duplicates.shingle = width;
        options.duplicates.similarity = parse_decimal(similarity);
        const dedup_result once = dedup(options, context_with());
        const std::set<std::string> removed = removed_from(once);
        options.store = folder_ / (std::string("store") + similarity);
        options.shard_bytes = 20'000;
        std::set<named_pair> found;
        for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>{0, 50}, {50, 120}}) {
            duplicate_stream stream(options, context_with());
            for (std::size_t i = first; i < last; ++i) {
                const std::string line = lines_of(documents, i, i + 1);
                const auto unstored = stream.ask(line);
                const auto answer = stream.next(line);
                ASSERT_TRUE(answer.is_document) << answer.why;
                EXPECT_EQ(unstored.pairs, answer.pairs);
                for (const duplicate_pair& p : answer.pairs)
                    found.emplace(stream.id(p.a), stream.id(p.b), p.distance, p.of);
                EXPECT_EQ(answer.duplicates.empty(), removed.count(answer.id) == 0);
            }
            stream.finish();
        }
        EXPECT_GT(found.size(), 1U);
        EXPECT_EQ(found, as_set(named(once))) << similarity;
        // The store is that of a run, which adds nothing and finds the same.
        EXPECT_EQ(as_set(named(dedup(options, context_with()))), found);

        dedup_options across = options_for(lines_of(documents, 50), "new.jsonl");
        across.duplicates = options.duplicates;
        write_file(folder_ / "old.jsonl", lines_of(documents, 0, 50));
        across.against = {folder_ / "old.jsonl"};
        const auto expected = as_set(named(dedup(across, context_with())));
        duplicate_stream stream(across, context_with());
        std::set<named_pair> between;
        for (std::size_t i = 50; i < documents.size(); ++i)
            for (const duplicate_pair& p : stream.next(lines_of(documents, i, i + 1)).pairs)
                between.emplace(stream.id(p.a), stream.id(p.b), p.distance, p.of);
        EXPECT_EQ(between, expected);
    }
}

TEST_F(dedup_test, a_stream_adds_to_the_store_and_says_what_is_no_document) {
    const auto documents = generated(120, 8);
    dedup_options options = options_for(lines_of(documents));
    const dedup_result once = dedup(options, context_with());
    options.store = folder_ / "store";
    options.shard_bytes = 20'000;
    {
        dedup_options first = options;
        write_file(folder_ / "first.jsonl", lines_of(documents, 0, 50));
        first.inputs = {folder_ / "first.jsonl"};
        dedup(first, context_with());
        duplicate_stream stream(options, context_with());
        for (std::size_t i = 40; i < 100; ++i) stream.next(lines_of(documents, i, i + 1));  // ten are known
        const auto repeated = stream.next(lines_of(documents, 60, 61));
        EXPECT_FALSE(repeated.is_document);
        EXPECT_EQ(repeated.why, "duplicate id \"d60\"; first used in -:21");
        EXPECT_THAT(stream.next("{\"id\":").why, HasSubstr("malformed"));
        EXPECT_EQ(stream.next("\n").why, "");
        EXPECT_EQ(stream.counts().documents, 60U);
        EXPECT_EQ(stream.counts().rejected, 2U);
        EXPECT_THROW(stream.finish(), invalid_input) << "two of 62 are more than 1%";
    }
    const dedup_result all = dedup(options, context_with());
    EXPECT_EQ(as_set(named(all)), as_set(named(once)));

    dedup_options across = options_for("");
    across.against = {folder_ / "store"};
    duplicate_stream stream(across, context_with());
    EXPECT_TRUE(stream.next("{\"id\":\"x\",\"text\":\"nothing like it, nothing at all like it\"}")
                    .duplicates.empty());
    EXPECT_TRUE(stream.next("{\"id\":\"y\",\"text\":\"nothing like it, nothing at all like it\"}")
                    .duplicates.empty());
    across.duplicates.method = duplicate_method::simhash;
    EXPECT_THROW(duplicate_stream(across, context_with()), usage_error);
}

TEST_F(dedup_test, bad_requests_are_refused_before_the_work) {
    dedup_options options = options_for("{\"id\":\"a\",\"text\":\"x\"}\n");
    const auto refused = [&](const std::function<void(dedup_options&)>& change) {
        dedup_options changed = options;
        change(changed);
        EXPECT_THROW(dedup(changed, context_with()), usage_error);
    };
    refused([](dedup_options& o) { o.inputs.clear(); });
    refused([](dedup_options& o) { o.inputs = {"no such file"}; });
    refused([](dedup_options& o) { o.against = {"no such file"}; });
    refused([](dedup_options& o) { o.duplicates.threshold = parse_decimal("0.6"); });
    refused([](dedup_options& o) { o.duplicates.threshold = parse_decimal("0"); });
    refused([](dedup_options& o) { o.duplicates.hamming = 65; });
    refused([&](dedup_options& o) {
        o.inputs = {folder_.path()};
        o.store = folder_ / "store";
    });
    context cuda = context_with();
    cuda.device.where = device_choice::kind::cuda;
    options.duplicates.method = duplicate_method::simhash;
    EXPECT_THROW(dedup(options, cuda), usage_error);
    context small = context_with(1, 1 << 20);
    EXPECT_THROW(dedup(options_for(lines_of(generated(4000, 9, 20))), small), out_of_memory);
}

TEST_F(dedup_test, report_shows_the_difference) {
    std::string page;
    const dedup_result close =
        dedup(options_for("{\"id\":\"a\",\"text\":\"a text of some length, more or less\"}\n"
                          "{\"id\":\"b\",\"text\":\"a text of same length, more or less\"}\n"),
              context_with());
    close.write_report([&](std::string_view bytes) { page += bytes; });
    EXPECT_THAT(page, HasSubstr("<del>some</del>"));
    EXPECT_THAT(page, HasSubstr("<ins>same</ins>"));
    EXPECT_THAT(page, HasSubstr("edit rate below 0.1, in bytes"));
}

TEST_F(dedup_test, signatures_come_in_order) {
    const auto documents = generated(300, 10);
    write_file(folder_ / "corpus.jsonl", lines_of(documents));
    signature_options options;
    options.inputs = {folder_ / "corpus.jsonl"};
    options.length = 40;
    std::size_t next = 0;
    const auto result =
        signatures(options, context_with(3), [&](std::string_view id, const fuzzy_signature& made) {
            ASSERT_LT(next, documents.size());
            EXPECT_EQ(id, documents[next].id);
            EXPECT_EQ(made, signature_of(documents[next].text, 40));
            ++next;
        });
    EXPECT_EQ(next, documents.size());
    EXPECT_EQ(result.counts.documents, documents.size());
    options.length = 0;
    EXPECT_THROW(signatures(options, context_with(), [](std::string_view, const fuzzy_signature&) {}),
                 usage_error);
}

}  // namespace
}  // namespace quern::dedup_test
