// SPDX-License-Identifier: Apache-2.0
// Near-duplicates of small corpora made here: that one run, a store fed in pieces, a set against another and a stream
// find the same pairs; that an interrupted run goes on where it was; that what comes out is what went in.
#include "quern/tasks/dedup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "quern/base/error.hpp"
#include "quern/tasks/signature.hpp"
#include "temporary_folder.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

/// Ids and what is said of them: comparable between runs whose positions differ.
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

/// Copies with few edits among texts of their own, of lengths around what files of the store are joined at, some of
/// them empty, some equal.
std::vector<made_document> generated(std::uint32_t count, std::uint64_t seed, std::size_t longest = 3000) {
    std::uint64_t state = seed;
    const auto next = [&](std::uint64_t below) {
        state = state * 6364136223846793005 + 1442695040888963407;
        return (state >> 33) % below;
    };
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
        // A cut in the middle of a character would not be JSON.
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

class Dedup : public ::testing::Test {
  protected:
    dedup_options options_for(const std::string& corpus, const std::string& name = "corpus.jsonl") {
        write_file(folder_ / name, corpus);
        dedup_options options;
        options.inputs = {folder_ / name};
        options.duplicates.threshold = parse_decimal("0.1");
        return options;
    }
    context run_with(unsigned threads = 2, std::uint64_t memory = 0) {
        context run;
        run.device.where = device_choice::kind::cpu;
        run.threads = threads;
        run.memory_bytes = memory;
        run.scratch = folder_ / "scratch";
        return run;
    }
    static std::string kept(const dedup_result& result) {
        std::string out;
        result.write_kept([&](std::string_view bytes) { out += bytes; });
        return out;
    }
    std::set<std::string> names_in(const fs::path& folder) {
        std::set<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder))
            names.insert(entry.path().filename().string());
        return names;
    }

    temporary_folder folder_;
};

TEST_F(Dedup, FindsPairsAndGroupsAndKeepsLinesAsTheyAre) {
    const std::string a = "{\"id\": \"a\", \"text\":\"a text of some length, more or less\" , \"x\":[1]}\r\n",
                      b = "{\"id\":7,\"text\":\"another one that has nothing to do with it\"}\n",
                      c = " {\"text\":\"a text of some length, more or lesse\",\"id\":\"c\"}\n",
                      d = "{\"id\":\"d\",\"text\":\"\"}\n", e = "{\"id\":\"e\",\"text\":\"\"}";
    dedup_options options = options_for(a + b + "\n" + c + d + e);
    options.keep_records = true;
    const dedup_result result = dedup(options, run_with());
    EXPECT_THAT(named(result), ElementsAre(named_pair("a", "c", 1, 71), named_pair("d", "e", 0, 0)));
    EXPECT_EQ(result.documents(), 5U);
    EXPECT_EQ(result.earlier(), 0U);
    EXPECT_EQ(result.dropped(), 2U);
    ASSERT_EQ(result.groups().size(), 2U);
    EXPECT_THAT(result.groups()[1].members, ElementsAre(3U, 4U));
    EXPECT_EQ(result.text(2), "a text of some length, more or lesse");
    EXPECT_EQ(kept(result), a + b + d);

    options.keep = keep_policy::last;
    EXPECT_EQ(kept(dedup(options, run_with())), b + c + e + "\n");
    options.keep = keep_policy::longest;
    EXPECT_EQ(kept(dedup(options, run_with())), b + c + d);
    options.keep = keep_policy::shortest;
    EXPECT_EQ(kept(dedup(options, run_with())), a + b + d);
}

TEST_F(Dedup, OtherFormsComeOutAsJsonLines) {
    const std::string tsv =
        "a\tone two three four five six seven\nb\tone two three four five six sevem\nc\t\x01 \"\\\n";
    dedup_options options = options_for(tsv, "corpus.tsv");
    options.keep_records = true;
    EXPECT_EQ(kept(dedup(options, run_with())), "a\tone two three four five six seven\nc\t\x01 \"\\\n");

    write_file(folder_ / "pages/one.txt", "Some \"text\"\n");
    write_file(folder_ / "pages/two.html",
               "<title>Two</title><p>Other words <a href=\"one.txt\">there</a>, quite a lot of them</p>");
    options.inputs = {folder_ / "pages"};
    const std::string lines = kept(dedup(options, run_with()));
    EXPECT_THAT(lines, HasSubstr(R"({"id":"one.txt","title":"one.txt","text":"Some \"text\"\n"})"));
    EXPECT_THAT(lines, HasSubstr(R"("links":["one.txt"]})"));
    // What comes out goes in again.
    EXPECT_THAT(dedup(options_for(lines), run_with()).issues, IsEmpty());
}

TEST_F(Dedup, TheSameForThreadsMemoryAndUnits) {
    const auto documents = generated(300, 1, 1000);
    dedup_options options = options_for(lines_of(documents));
    options.keep_records = true;
    const dedup_result once = dedup(options, run_with(1));
    EXPECT_GT(once.pairs().size(), 50U);
    for (const auto& [threads, memory] : {std::pair{3U, std::uint64_t{0}}, {2U, std::uint64_t{64} << 20}}) {
        const dedup_result again = dedup(options, run_with(threads, memory));
        EXPECT_EQ(named(again), named(once));
        EXPECT_EQ(kept(again), kept(once));
    }
}

TEST_F(Dedup, AStoreFedInPiecesHoldsTheSamePairs) {
    const auto documents = generated(60, 2, 20'000);
    const dedup_result once = dedup(options_for(lines_of(documents)), run_with());
    std::set<named_pair> found;
    std::string kept_in_pieces;
    for (const auto& [first, last] : {std::pair{0U, 1U}, {1U, 30U}, {30U, 31U}, {31U, 60U}}) {
        dedup_options piece = options_for(lines_of(documents, first, last), "piece.jsonl");
        piece.store = folder_ / "store";
        piece.shard_bytes = 1 << 20;
        piece.keep_records = true;
        const dedup_result result = dedup(piece, run_with());
        EXPECT_EQ(result.documents(), last - first);
        EXPECT_EQ(result.earlier(), first);
        found.merge(as_set(named(result)));
        kept_in_pieces += kept(result);
    }
    EXPECT_EQ(found, as_set(named(once)));
    EXPECT_TRUE(is_duplicate_store(folder_ / "store"));
    EXPECT_FALSE(kept_in_pieces.empty());

    // All of it again: nothing is added, and the answer is that of one run.
    dedup_options again = options_for(lines_of(documents));
    again.store = folder_ / "store";
    again.keep_records = true;
    const auto before = names_in(folder_ / "store");
    const dedup_result repeated = dedup(again, run_with());
    EXPECT_EQ(named(repeated), named(once));
    EXPECT_EQ(repeated.earlier(), 0U);
    EXPECT_EQ(repeated.statistics.counts.at("documents"), 60U);
    EXPECT_EQ(names_in(folder_ / "store"), before);
}

TEST_F(Dedup, GroupsDoNotNeedAllPairs) {
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
    const dedup_result truth = dedup(options, run_with());
    EXPECT_EQ(truth.pair_count(), truth.pairs().size());
    options.list_pairs = false;
    const dedup_result once = dedup(options, run_with());
    EXPECT_EQ(members(once), members(truth));
    EXPECT_EQ(kept(once), kept(truth));
    EXPECT_EQ(once.pair_count(), truth.pair_count());
    EXPECT_LT(once.pairs().size(), truth.pairs().size() / 2);
    EXPECT_THROW(once.write_report([](std::string_view) {}), usage_error);

    // A store fed so answers later with all pairs.
    for (const std::size_t first : {0, 150, 350}) {
        dedup_options piece = options_for(
            lines_of(documents, first, first == 350 ? 500 : first + (first == 0 ? 150 : 200)), "piece.jsonl");
        piece.store = folder_ / "store";
        piece.list_pairs = false;
        dedup(piece, run_with());
    }
    options.store = folder_ / "store";
    const dedup_result again = dedup(options, run_with());
    EXPECT_EQ(members(again), members(truth));
    EXPECT_EQ(again.pair_count(), truth.pair_count());
    options.list_pairs = true;
    EXPECT_EQ(named(dedup(options, run_with())), named(truth));
}

TEST_F(Dedup, ManyEqualDocumentsFitASmallMemory) {
    std::vector<made_document> documents;
    for (int i = 0; i < 50'000; ++i) documents.push_back({std::to_string(i), ""});
    dedup_options options = options_for(lines_of(documents));
    options.list_pairs = false;
    options.store = folder_ / "store";
    const dedup_result result = dedup(options, run_with(2, std::uint64_t{64} << 20));
    EXPECT_EQ(result.groups().size(), 1U);
    EXPECT_EQ(result.dropped(), 49'999U);
    EXPECT_EQ(result.pair_count(), std::uint64_t{25'000} * 49'999);
    EXPECT_EQ(read_duplicate_store_info(folder_ / "store").pairs, 0U);

    options = options_for("{\"id\":\"one more\",\"text\":\"\"}\n", "more.jsonl");
    options.store = folder_ / "store";
    EXPECT_EQ(dedup(options, run_with()).pairs().size(), 50'000U);
    options = options_for(lines_of(documents));
    EXPECT_THROW(dedup(options, run_with(2, std::uint64_t{64} << 20)), out_of_memory);
}

TEST_F(Dedup, AnEmptyCorpusIsRefusedAndAnEmptyStreamMakesAStore) {
    dedup_options options = options_for("");
    options.store = folder_ / "store";
    EXPECT_THROW(dedup(options, run_with()), invalid_input);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "store"));

    dedup_options streamed = options_for("");
    streamed.inputs.clear();
    streamed.store = folder_ / "of_a_stream";
    duplicate_stream(streamed, run_with()).finish();
    EXPECT_EQ(read_duplicate_store_info(folder_ / "of_a_stream").documents, 0U);
    dedup_options later = options_for("{\"id\":\"a\",\"text\":\"a\"}\n{\"id\":\"b\",\"text\":\"a\"}\n");
    later.store = folder_ / "of_a_stream";
    EXPECT_EQ(dedup(later, run_with()).pairs().size(), 1U);
}

TEST_F(Dedup, CharactersInPiecesAreComparedAsInOneRun) {
    const auto documents = generated(90, 12, 2000);
    dedup_options options = options_for(lines_of(documents));
    options.duplicates.unit = edit_unit::character;
    const dedup_result once = dedup(options, run_with());
    ASSERT_GT(once.pairs().size(), 20U);
    options.store = folder_ / "store";
    std::set<named_pair> found;
    for (std::size_t first = 0; first < documents.size(); first += 18) {
        write_file(folder_ / "piece.jsonl", lines_of(documents, first, first + 18));
        options.inputs = {folder_ / "piece.jsonl"};
        found.merge(as_set(named(dedup(options, run_with()))));
    }
    EXPECT_EQ(found, as_set(named(once)));
    // Sketches of characters say nothing of bytes: the texts of the store are read then.
    dedup_options across =
        options_for("{\"id\":\"x\",\"text\":\"" + documents[40].text + "\"}\n", "new.jsonl");
    const auto of_one_run = [&](const char* against) {
        across.against = {folder_ / against};
        return as_set(named(dedup(across, run_with())));
    };
    EXPECT_EQ(of_one_run("store"), of_one_run("corpus.jsonl"));
}

/// What lies in a store is known by its sketches; a text itself is read, and checked, where these leave it.
TEST_F(Dedup, TheTextsOfAStoreAreNotReadButForCandidates) {
    std::vector<made_document> documents;
    for (char a = 'a'; a <= 'z'; ++a)
        for (char b = 'a'; b < a; ++b)
            documents.push_back({std::string{a, b}, std::string(150, a) + std::string(150, b)});
    const std::size_t last_64_kib =
        (documents.size() * 300 - 1) / 65536 * 65536 / 300;  // which new files repeat
    ASSERT_GT(last_64_kib, 200U);
    dedup_options options = options_for(lines_of(documents));
    options.store = folder_ / "store";
    dedup(options, run_with());
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
    EXPECT_THAT(named(dedup(one, run_with())), ElementsAre(expected));
    duplicate_stream stream(one, run_with());
    ASSERT_EQ(stream.next(line).duplicates.size(), 1U);
    broken_but("gb");
    try {
        dedup(one, run_with());
        ADD_FAILURE() << "a damaged candidate";
    } catch (const damaged_store& e) {
        EXPECT_THAT(e.what(), HasSubstr("000000.texts.section"));
    }

    one.against.clear();
    one.store = options.store;
    write_file(texts, whole);
    EXPECT_THAT(named(dedup(one, run_with())), ElementsAre(expected));
    EXPECT_GT(verify_duplicate_store(options.store, run_with()), documents.size() * 300);
}

/// Bytes that a new shard repeats of the one before must not become right by that.
TEST_F(Dedup, DamageIsNotCopiedIntoANewShard) {
    dedup_options options = options_for(lines_of(generated(60, 4)));
    options.store = folder_ / "store";
    dedup(options, run_with());
    const fs::path texts = folder_ / "store/000000.texts.section";
    std::string bytes = read_file(texts);
    const auto info = read_duplicate_store_info(options.store);
    ASSERT_GT(info.text_bytes % 65536, 10U);
    bytes[info.text_bytes - 5] = static_cast<char>(bytes[info.text_bytes - 5] ^ 1);
    write_file(texts, bytes);
    dedup_options more = options_for("{\"id\":\"x\",\"text\":\"something else\"}\n", "more.jsonl");
    more.store = options.store;
    EXPECT_THROW(dedup(more, run_with()), damaged_store);
    EXPECT_EQ(read_duplicate_store_info(options.store).shards, 1U);
}

TEST_F(Dedup, AStoreOfAnotherVersionIsRefused) {
    dedup_options options = options_for("{\"id\":\"a\",\"text\":\"x\"}\n");
    options.store = folder_ / "store";
    dedup(options, run_with());
    const fs::path manifest = folder_ / "store/duplicates.json";
    std::string json = read_file(manifest);
    const std::size_t at = json.find("\"version\": 2");
    ASSERT_NE(at, std::string::npos);
    json[at + 11] = '1';
    write_file(manifest, json);
    try {
        dedup(options, run_with());
        ADD_FAILURE();
    } catch (const damaged_store& e) {
        EXPECT_THAT(e.what(), HasSubstr("is of format version 1, and this program reads version 2"));
    }
}

TEST_F(Dedup, AnInterruptedRunGoesOnWhereItWas) {
    const auto documents = generated(100, 3, 12'000);
    dedup_options options = options_for(lines_of(documents));
    options.keep_records = true;
    const dedup_result once = dedup(options, run_with());
    options.store = folder_ / "store";
    options.shard_bytes = 300'000;

    // Units of the input are the least that is read at once; small memory makes them small.
    context run = run_with(1, std::uint64_t{32} << 20);
    std::atomic<int> stop{0};
    run.stop_signal = &stop;
    run.on_progress = [&](const progress&) {
        if (is_duplicate_store(folder_ / "store")) stop = 2;
    };
    EXPECT_THROW(dedup(options, run), interrupted);
    ASSERT_TRUE(is_duplicate_store(folder_ / "store"));
    const auto files = names_in(folder_ / "store");
    EXPECT_EQ(files.size(), 6U) << "the first shard and the manifest";
    EXPECT_EQ(names_in(folder_ / "scratch").size(), 1U) << "of the first run, whose result is still held";

    run.stop_signal = nullptr;
    run.on_progress = nullptr;
    const dedup_result rest = dedup(options, run);
    EXPECT_EQ(named(rest), named(once));
    EXPECT_EQ(kept(rest), kept(once));
    for (const std::string& name : files) EXPECT_TRUE(fs::exists(folder_ / "store" / name)) << name;
    EXPECT_GT(names_in(folder_ / "store").size(), 6U);
}

TEST_F(Dedup, NothingIsLeftOfAStoreThatWasNeverWhole) {
    dedup_options options = options_for("{\"id\":\"a\",\"text\":\"x\"}\nbroken\n");
    options.store = folder_ / "store";
    EXPECT_THROW(dedup(options, run_with()), invalid_input);
    EXPECT_EQ(names_in(folder_.path()), (std::set<std::string>{"corpus.jsonl", "scratch"}));
    EXPECT_TRUE(fs::is_empty(folder_ / "scratch"));
}

TEST_F(Dedup, FilesOfAKilledRunAreNotTaken) {
    dedup_options options = options_for("{\"id\":\"a\",\"text\":\"x\"}\n");
    options.store = folder_ / "store";
    dedup(options, run_with());
    write_file(folder_ / "store/000001.texts.section", "half a shard");
    write_file(folder_ / "store/000007.pairs.section", "of a killed run");
    const dedup_result result = dedup(options, run_with());
    EXPECT_EQ(result.documents(), 1U);
    EXPECT_EQ(names_in(folder_ / "store").size(), 6U);
}

TEST_F(Dedup, AStoreRefusesWhatItsPairsDoNotAnswer) {
    dedup_options options = options_for("{\"id\":\"a\",\"text\":\"x\"}\n");
    options.store = folder_ / "store";
    dedup(options, run_with());
    const auto refused = [&](const dedup_options& changed, const std::string& why) {
        try {
            dedup(changed, run_with());
            ADD_FAILURE() << why;
        } catch (const usage_error& e) {
            EXPECT_THAT(e.what(), HasSubstr(why));
        }
    };
    dedup_options other = options;
    other.duplicates.threshold = parse_decimal("0.05");
    refused(other, "threshold 0.1, and is asked with 0.05");
    other = options;
    other.duplicates.unit = edit_unit::character;
    refused(other, "unit byte, and is asked with char");
    other = options;
    other.duplicates.method = duplicate_method::signature;
    refused(other, "method edit-rate, and is asked with signature");
    other.duplicates.method = duplicate_method::simhash;
    refused(other, "cannot be asked piece by piece");
    other = options;
    other.against = {folder_ / "corpus.jsonl"};
    refused(other, "exclude each other");
    other = options;
    other.inputs = {folder_ / "store"};
    refused(other, "store");
    other = options;
    other.store = folder_ / "scratch";
    refused(other, "is no store of quern dedup");
    // The same pairs by another way are the same answer.
    other = options;
    other.duplicates.method = duplicate_method::exhaustive;
    EXPECT_NO_THROW(dedup(other, run_with()));
}

TEST_F(Dedup, OneRunAtATimeAddsToAStore) {
    dedup_options options = options_for("{\"id\":\"a\",\"text\":\"x\"}\n");
    options.store = folder_ / "store";
    dedup(options, run_with());
    const duplicate_stream adding(options, run_with());
    EXPECT_THROW(dedup(options, run_with()), usage_error);
    // Reading is free.
    dedup_options reading = options_for("{\"id\":\"b\",\"text\":\"x\"}\n", "other.jsonl");
    reading.against = {folder_ / "store"};
    EXPECT_THAT(named(dedup(reading, run_with())), ElementsAre(named_pair("a", "b", 0, 2)));
}

TEST_F(Dedup, DamageOfAStoreIsNamed) {
    dedup_options options = options_for(lines_of(generated(60, 4)));
    options.store = folder_ / "store";
    dedup(options, run_with());
    for (const std::string& name : names_in(folder_ / "store")) {
        const fs::path file = folder_ / "store" / name;
        const std::string whole = read_file(file);
        std::string flipped = whole;
        flipped[whole.size() / 3] = static_cast<char>(flipped[whole.size() / 3] ^ 4);
        for (const std::string& bytes : {flipped, whole.substr(0, whole.size() / 2), std::string()}) {
            write_file(file, bytes);
            try {
                dedup(options, run_with());
                ADD_FAILURE() << name;
            } catch (const damaged_store& e) {
                EXPECT_THAT(e.what(), HasSubstr(name)) << name;
            }
        }
        write_file(file, whole);
    }
    EXPECT_NO_THROW(dedup(options, run_with()));
}

TEST_F(Dedup, RepeatedIdsAreToldAndCounted) {
    dedup_options options = options_for(
        "{\"id\":\"a\",\"text\":\"one\"}\n{\"id\":\"a\",\"text\":\"one\"}\n{\"id\":\"b\",\"text\":\"two\"}"
        "\n");
    EXPECT_THROW(dedup(options, run_with()), invalid_input);
    options.max_errors = {0, 1, false};
    options.store = folder_ / "store";
    const dedup_result first = dedup(options, run_with());
    ASSERT_EQ(first.issues.size(), 1U);
    EXPECT_EQ(first.issues[0].reason, "the id \"a\" is repeated");
    EXPECT_EQ(first.issues[0].line, 2U);
    EXPECT_EQ(first.documents(), 2U);
    EXPECT_EQ(first.counts.rejected, 1U);
    // In the store: the same text is known, another one is another document's id.
    dedup_options second = options_for("{\"id\":\"b\",\"text\":\"two\"}\n{\"id\":\"a\",\"text\":\"new\"}\n");
    second.store = options.store;
    second.max_errors = options.max_errors;
    const dedup_result result = dedup(second, run_with());
    EXPECT_EQ(result.documents(), 1U);
    EXPECT_EQ(result.counts.rejected, 1U);
    EXPECT_EQ(result.issues.at(0).line, 2U);
}

TEST_F(Dedup, AgainstASetOnlyPairsAcross) {
    const auto documents = generated(240, 5);
    const dedup_result whole = dedup(options_for(lines_of(documents)), run_with());
    std::set<named_pair> across;
    for (const duplicate_pair& p : whole.pairs()) {
        if (p.a < 100 && p.b >= 100) across.emplace(whole.id(p.a), whole.id(p.b), p.distance, p.of);
    }
    ASSERT_GT(across.size(), 10U);
    write_file(folder_ / "old.jsonl", lines_of(documents, 0, 100));
    dedup_options into_store = options_for(lines_of(documents, 0, 100), "old.jsonl");
    into_store.store = folder_ / "seen";
    dedup(into_store, run_with());
    build_options built;
    built.inputs = {folder_ / "old.jsonl"};
    built.store = folder_ / "built";
    built.skip = all_build_stages;
    build(built, run_with());

    for (const char* against : {"old.jsonl", "seen", "built"}) {
        dedup_options options = options_for(lines_of(documents, 100), "new.jsonl");
        options.against = {folder_ / against};
        options.keep_records = true;
        options.keep = keep_policy::longest;
        const dedup_result result = dedup(options, run_with());
        EXPECT_EQ(as_set(named(result)), across) << against;
        EXPECT_EQ(result.earlier(), 100U);
        // What is kept is what has no near-copy among the old ones, whatever the policy.
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

TEST_F(Dedup, WordsAreComparedInPiecesAsInOneRun) {
    const auto documents = generated(150, 6);
    dedup_options options = options_for(lines_of(documents));
    options.duplicates.method = duplicate_method::shingle;
    options.duplicates.similarity = parse_decimal("0.5");
    const dedup_result once = dedup(options, run_with());
    ASSERT_GT(once.pairs().size(), 20U);
    std::set<named_pair> found;
    for (const auto& [first, last] : {std::pair{0U, 70U}, {70U, 150U}}) {
        dedup_options piece = options;
        write_file(folder_ / "piece.jsonl", lines_of(documents, first, last));
        piece.inputs = {folder_ / "piece.jsonl"};
        piece.store = folder_ / "store";
        found.merge(as_set(named(dedup(piece, run_with()))));
    }
    EXPECT_EQ(found, as_set(named(once)));
    options.store = folder_ / "store";
    options.text.stem = stemmer::porter;
    EXPECT_THROW(dedup(options, run_with()), usage_error);
    for (const auto method : {duplicate_method::simhash, duplicate_method::i_match}) {
        dedup_options whole = options_for(lines_of(documents));
        whole.duplicates.method = method;
        const auto pairs = named(dedup(whole, run_with(1)));
        EXPECT_EQ(named(dedup(whole, run_with(3))), pairs);
    }
}

TEST_F(Dedup, AStreamAnswersAsOneRun) {
    const auto documents = generated(120, 7, 1000);
    for (const edit_unit unit : {edit_unit::byte, edit_unit::character}) {
        dedup_options options = options_for(lines_of(documents));
        options.duplicates.unit = unit;
        const dedup_result once = dedup(options, run_with());
        duplicate_stream stream(options, run_with());
        std::set<named_pair> found;
        for (std::size_t i = 0; i < documents.size(); ++i) {
            const auto answer = stream.next(lines_of(documents, i, i + 1));
            ASSERT_TRUE(answer.is_document) << answer.why;
            EXPECT_EQ(answer.id, documents[i].id);
            for (std::size_t k = 0; k < answer.duplicates.size(); ++k) {
                const duplicate_pair& p = answer.duplicates[k];
                found.emplace(stream.id(p.a), stream.id(p.b), p.distance, p.of);
                if (k > 0) {
                    EXPECT_LE(answer.duplicates[k - 1].rate(), p.rate());
                }
            }
        }
        EXPECT_EQ(found, as_set(named(once)));
        stream.finish();
        EXPECT_EQ(stream.counts().documents, documents.size());
    }
}

TEST_F(Dedup, AStreamAddsToTheStoreAndSaysWhatIsNoDocument) {
    const auto documents = generated(120, 8);
    dedup_options options = options_for(lines_of(documents));
    const dedup_result once = dedup(options, run_with());
    options.store = folder_ / "store";
    options.shard_bytes = 20'000;
    {
        dedup_options first = options;
        write_file(folder_ / "first.jsonl", lines_of(documents, 0, 50));
        first.inputs = {folder_ / "first.jsonl"};
        dedup(first, run_with());
        duplicate_stream stream(options, run_with());
        for (std::size_t i = 40; i < 100; ++i) stream.next(lines_of(documents, i, i + 1));  // ten are known
        const auto repeated = stream.next(lines_of(documents, 60, 61));
        EXPECT_FALSE(repeated.is_document);
        EXPECT_EQ(repeated.why, "the id \"d60\" is repeated");
        EXPECT_THAT(stream.next("{\"id\":").why, HasSubstr("malformed"));
        EXPECT_EQ(stream.next("\n").why, "");
        EXPECT_EQ(stream.counts().documents, 60U);
        EXPECT_EQ(stream.counts().rejected, 2U);
        EXPECT_THROW(stream.finish(), invalid_input) << "two of 62 are more than 1%";
    }
    const dedup_result all = dedup(options, run_with());
    EXPECT_EQ(as_set(named(all)), as_set(named(once)));

    dedup_options across = options_for("");
    across.against = {folder_ / "store"};
    duplicate_stream stream(across, run_with());
    EXPECT_TRUE(stream.next("{\"id\":\"x\",\"text\":\"nothing like it, nothing at all like it\"}")
                    .duplicates.empty());
    EXPECT_TRUE(stream.next("{\"id\":\"y\",\"text\":\"nothing like it, nothing at all like it\"}")
                    .duplicates.empty());
    across.duplicates.method = duplicate_method::shingle;
    EXPECT_THROW(duplicate_stream(across, run_with()), usage_error);
}

TEST_F(Dedup, BadRequestsAreRefusedBeforeTheWork) {
    dedup_options options = options_for("{\"id\":\"a\",\"text\":\"x\"}\n");
    const auto refused = [&](const std::function<void(dedup_options&)>& change) {
        dedup_options changed = options;
        change(changed);
        EXPECT_THROW(dedup(changed, run_with()), usage_error);
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
    context cuda = run_with();
    cuda.device.where = device_choice::kind::cuda;
    options.duplicates.method = duplicate_method::simhash;
    EXPECT_THROW(dedup(options, cuda), usage_error);
    context small = run_with(1, 1 << 20);
    EXPECT_THROW(dedup(options_for(lines_of(generated(4000, 9, 20))), small), out_of_memory);
}

TEST_F(Dedup, ReportShowsTheDifference) {
    std::string page;
    const dedup_result close =
        dedup(options_for("{\"id\":\"a\",\"text\":\"a text of some length, more or less\"}\n"
                          "{\"id\":\"b\",\"text\":\"a text of same length, more or less\"}\n"),
              run_with());
    close.write_report([&](std::string_view bytes) { page += bytes; });
    EXPECT_THAT(page, HasSubstr("<del>some</del>"));
    EXPECT_THAT(page, HasSubstr("<ins>same</ins>"));
    EXPECT_THAT(page, HasSubstr("edit rate below 0.1, in bytes"));
}

TEST_F(Dedup, SignaturesComeInOrder) {
    const auto documents = generated(300, 10);
    write_file(folder_ / "corpus.jsonl", lines_of(documents));
    signature_options options;
    options.inputs = {folder_ / "corpus.jsonl"};
    options.length = 40;
    std::size_t next = 0;
    const auto result =
        signatures(options, run_with(3), [&](std::string_view id, const fuzzy_signature& made) {
            ASSERT_LT(next, documents.size());
            EXPECT_EQ(id, documents[next].id);
            EXPECT_EQ(made, signature_of(documents[next].text, 40));
            ++next;
        });
    EXPECT_EQ(next, documents.size());
    EXPECT_EQ(result.counts.documents, documents.size());
    options.length = 0;
    EXPECT_THROW(signatures(options, run_with(), [](std::string_view, const fuzzy_signature&) {}),
                 usage_error);
}

}  // namespace
}  // namespace quern
