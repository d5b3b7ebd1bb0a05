// SPDX-License-Identifier: Apache-2.0
// What a build does beside the index: near-duplicates go out, their names and links stay; each stage can be skipped; and a
// build that is killed goes on from the last stage it finished, to the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/dedup.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/build/store_to_update.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/opened_store.hpp"
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

std::string line_of(const std::string& id, const std::string& text, const std::string& links = "") {
    return "{\"id\":\"" + id + "\",\"title\":\"Title of " + id + "\",\"text\":\"" + text + "\",\"links\":[" +
           links + "]}\n";
}

/// A reproducible corpus in which every third document is a copy of an earlier one with a few letters changed, and some
/// are empty.
std::string generated_corpus(std::uint32_t documents) {
    std::string lines;
    std::vector<std::string> texts;
    std::uint64_t state = 7;
    const auto next = [&] { return (state = state * 6364136223846793005 + 1442695040888963407) >> 33; };
    for (std::uint32_t d = 0; d < documents; ++d) {
        std::string text;
        if (d % 17 == 5) {
            // empty
        } else if (d % 3 == 2) {
            text = texts[next() % texts.size()];
            for (std::uint64_t edits = next() % 4; edits > 0 && !text.empty(); --edits) {
                text[next() % text.size()] = static_cast<char>('a' + next() % 26);
            }
        } else {
            for (std::uint32_t w = 0; w < 40; ++w) {
                text += "w" + std::to_string(next() % 3000) + (w % 11 == 10 ? ". " : " ");
            }
        }
        texts.push_back(text);
        lines += line_of(
            "d" + std::to_string(d), text,
            "\"d" + std::to_string(next() % (documents + 5)) + "\",\"d" + std::to_string(d / 2) + '"');
    }
    return lines;
}

class BuildStages : public ::testing::Test {
  protected:
    build_options options_for(const std::string& corpus, const std::string& name = "corpus.jsonl") {
        write_file(folder_ / name, corpus);
        build_options options;
        options.inputs = {folder_ / name};
        options.store = folder_ / "store";
        return options;
    }
    context run_with(unsigned threads, std::uint64_t memory = 0) {
        context run;
        run.device.where = device_choice::kind::cpu;
        run.threads = threads;
        run.memory_bytes = memory;
        run.scratch = folder_ / "scratch";
        run.on_log = [this](log_level, std::string_view message) { said_.append(message).append("\n"); };
        return run;
    }
    /// All files but the record of the run, those of folders within included.
    std::map<std::string, std::string> files_of(const fs::path& store) {
        std::map<std::string, std::string> files;
        for (const auto& entry : fs::recursive_directory_iterator(store)) {
            if (entry.is_regular_file() && entry.path().filename() != store_layout::statistics) {
                files[entry.path().lexically_relative(store).string()] = read_file(entry.path());
            }
        }
        return files;
    }
    std::vector<std::string> names_in(const fs::path& folder) {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
        return names;
    }
    std::vector<std::uint32_t> links_of(const opened_store& store) {
        const auto links = store.links().targets;
        const auto all = links.values<std::uint32_t>(0, store.info().links);
        return {all.begin(), all.end()};
    }

    /// A test that dies runs a second time, in the folder of the first.
    static constexpr const char* place_of_the_dying = "QUERN_TEST_DYING_IN";
    std::optional<temporary_folder> own_;
    const fs::path folder_ = std::getenv(place_of_the_dying) != nullptr
                                 ? fs::path(std::getenv(place_of_the_dying))
                                 : own_.emplace().path();
    std::string said_;
};

const std::string first_text =
    "The mill by the river grinds the grain of all who come, and it takes a tenth of it.";
const std::string second_text =
    "A windmill stands on the hill; when there is no wind its miller goes fishing instead.";

std::string changed(std::string text, std::size_t begin, std::size_t count) {
    for (std::size_t i = begin; i < begin + count; ++i) text[i] = '#';
    return text;
}

TEST_F(BuildStages, NearDuplicatesGoOutAndTheirNamesStay) {
    const std::string far = changed(first_text, 0, 6), farther = changed(far, 40, 6);
    auto options = options_for(line_of("a", first_text, "\"far\",\"b\",\"nowhere\"") +  //
                               line_of("far", far, "\"b\",\"b\"") +                     //
                               line_of("b", second_text, "\"farther\",\"again\"") +     //
                               line_of("farther", farther) +                            //
                               line_of("empty", "", "\"again\"") +                      //
                               line_of("again", second_text) + line_of("also empty", ""));
    const build_result result = build(options, run_with(2));
    EXPECT_EQ(result.counts.documents, 7U);
    EXPECT_EQ(result.documents, 4U);
    EXPECT_EQ(result.copies, 3U);

    const opened_store store(options.store);
    EXPECT_EQ(store.info().documents, 4U);
    EXPECT_EQ(store.info().copies, 3U);
    EXPECT_TRUE(store.info().stages.contains(build_stage::duplicates));
    std::vector<std::string> ids;
    for (std::uint32_t d = 0; d < 4; ++d) ids.emplace_back(store.id(d));
    EXPECT_THAT(ids, ElementsAre("a", "b", "empty", "also empty"));
    EXPECT_EQ(store.text(0), first_text);
    EXPECT_THAT(links_of(store), ElementsAre(0U, 1U, 0U, 1U, 1U));  // those of copies went with them

    const document_copies copies = store.copies();
    EXPECT_EQ(copies.size(), 3U);
    const auto of_a = copies.of(0), of_b = copies.of(1);
    ASSERT_EQ(of_a.size(), 2U);
    EXPECT_EQ(of_a[0].id, "far");
    EXPECT_EQ(of_a[0].title, "Title of far");
    EXPECT_EQ(of_a[0].distance, 6U);
    EXPECT_EQ(of_a[1].id, "farther");  // near to `far` alone; the distance is still that to `a`
    EXPECT_EQ(of_a[1].distance, 12U);
    ASSERT_EQ(of_b.size(), 1U);
    EXPECT_EQ(of_b[0].id, "again");
    EXPECT_EQ(of_b[0].distance, 0U);
    EXPECT_THAT(copies.of(2), IsEmpty());
    EXPECT_THAT(copies.of(3), IsEmpty());
    EXPECT_GT(verify_store(options.store, run_with(1)), 0U);
}

TEST_F(BuildStages, KeepsWhatDedupKeeps) {
    auto options = options_for(generated_corpus(1500));
    const build_result result = build(options, run_with(2));
    dedup_options asked;
    asked.inputs = options.inputs;
    asked.list_pairs = false;
    const dedup_result expected = dedup(asked, run_with(2));
    std::vector<bool> dropped(expected.documents());
    for (const duplicate_group& group : expected.groups()) {
        for (const std::uint32_t d : group.members) dropped[d] = d != group.kept && !expected.text(d).empty();
    }
    const opened_store store(options.store);
    std::uint32_t next = 0;
    for (std::uint32_t d = 0; d < expected.documents(); ++d) {
        if (dropped[d]) continue;
        ASSERT_LT(next, store.info().documents);
        ASSERT_EQ(store.id(next), expected.id(d));
        ASSERT_EQ(store.text(next), expected.text(d));
        ++next;
    }
    EXPECT_EQ(next, store.info().documents);
    EXPECT_EQ(result.copies, 1500 - next);
    EXPECT_GT(result.copies, 300U);
}

TEST_F(BuildStages, BytesDependOnTheCollectionAlone) {
    auto options = options_for(generated_corpus(3000));
    build(options, run_with(1));
    const auto expected = files_of(options.store);
    EXPECT_GT(expected.size(), 20U);
    for (const auto& [threads, memory] :
         {std::pair{2U, std::uint64_t{0}}, {1U, std::uint64_t{12} << 20}, {5U, std::uint64_t{16} << 20}}) {
        options.store = folder_ / ("store-" + std::to_string(threads));
        options.force = true;
        build(options, run_with(threads, memory));
        EXPECT_EQ(files_of(options.store), expected) << threads << " threads, " << memory << " bytes";
    }
}

TEST_F(BuildStages, APipeIsReadOnce) {
    const std::string corpus =
        line_of("a", first_text, "\"b\"") + line_of("b", first_text) + line_of("c", second_text);
    auto options = options_for(corpus);
    build(options, run_with(2));
    const auto expected = files_of(options.store);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], corpus.data(), corpus.size()), static_cast<ssize_t>(corpus.size()));
    ::close(ends[1]);
    options.inputs = {"/proc/self/fd/" + std::to_string(ends[0])};
    options.store = folder_ / "piped";
    EXPECT_EQ(build(options, run_with(1)).copies, 1U);
    ::close(ends[0]);
    EXPECT_EQ(files_of(options.store), expected);
}

TEST_F(BuildStages, CopiesAreFoundByTheWordsOfTheirTitles) {
    const std::string far = changed(first_text, 0, 6);
    auto options = options_for(line_of("a", first_text) + line_of("far", far) + line_of("b", second_text) +
                               line_of("farther", changed(far, 40, 6)) + line_of("again", second_text) +
                               R"({"id":"?","text":"!?!"})"
                               "\n"
                               R"({"id":"!","title":"Nothing at all","text":"!?!"})"
                               "\n");
    EXPECT_EQ(build(options, run_with(2)).copies, 4U);
    const auto found = [&](std::string_view query) {
        const auto engine = search_engine::open(options.store, run_with(1));
        search_options options_of_search;
        options_of_search.explain = true;
        const search_answer answer = engine.search(query, options_of_search);
        EXPECT_THAT(answer.unknown_words, IsEmpty());
        std::string text;
        for (const search_hit& hit : answer.hits) {
            text.append(text.empty() ? "" : "; ").append(hit.id);
            for (const hit_copy& copy : hit.copies) text.append(" ").append(copy.id);
            double sum = 0;
            for (const explained_term& term : hit.explanation) sum += term.score;
            EXPECT_EQ(sum, hit.score);
        }
        return text;
    };
    EXPECT_EQ(found("farther"), "a farther far");  // the copy that is asked for comes first
    EXPECT_EQ(found("far"), "a far farther");
    EXPECT_EQ(found("miller far"), "b again; a far farther");
    EXPECT_EQ(found("\"again\""), "b again");
    EXPECT_EQ(opened_store(options.store).title_words().find("title").document_frequency, 2U);
    verify_store(options.store, run_with(1));
    const auto engine = search_engine::open(options.store, run_with(1));
    EXPECT_THAT(engine.search("nothing", {}).unknown_words,
                ElementsAre("nothing"));  // its document has no words

    options.inputs = {folder_ / "more.jsonl"};
    write_file(options.inputs[0], line_of("later", second_text) + line_of("c", "Another text."));
    options.update = true;
    build(options, run_with(1));
    EXPECT_EQ(found("later"), "b later again");
    EXPECT_EQ(found("far"), "a far farther");
}

TEST_F(BuildStages, RedirectsToACopyLeadToTheKeptOne) {
    const auto page = [](const std::string& title, const std::string& body) {
        return "<page><title>" + title + "</title><ns>0</ns><id>1</id><revision><id>1</id>" + body +
               "</revision></page>\n";
    };
    const auto text = [](const std::string& t) { return "<text xml:space=\"preserve\">" + t + "</text>"; };
    auto options =
        options_for("<mediawiki>\n" + page("A", text(first_text)) + page("Copy", text(first_text)) +
                        page("Old", text("#REDIRECT [[Copy]]")) +
                        page("B", text(second_text + " [[Old]] [[Copy]] [[A]]")) + "</mediawiki>\n",
                    "dump.xml");
    const build_result result = build(options, run_with(2));
    EXPECT_EQ(result.copies, 1U);
    EXPECT_EQ(result.counts.redirects, 1U);
    EXPECT_EQ(result.dangling_links, 0U);
    EXPECT_THAT(links_of(opened_store(options.store)), ElementsAre(0U, 0U, 0U));
}

TEST_F(BuildStages, RepeatedIdsAreRejectedWithAndWithoutTheStage) {
    auto options =
        options_for(line_of("a", first_text) + line_of("a", second_text) + line_of("b", second_text));
    options.max_errors = {.count = 1, .is_share = false};
    for (const bool skipped : {false, true}) {
        if (skipped) options.skip = {build_stage::duplicates};
        options.force = skipped;
        const build_result result = build(options, run_with(1));
        EXPECT_EQ(result.counts.rejected, 1U);
        EXPECT_EQ(result.documents, 2U);
        ASSERT_EQ(result.issues.size(), 1U);
        EXPECT_THAT(result.issues[0].reason, HasSubstr("repeated"));
    }
    options.max_errors = {};
    EXPECT_THROW(build(options, run_with(1)), invalid_input);
    EXPECT_THROW(build(options_for("\n"), run_with(1)), error);
}

TEST_F(BuildStages, EachCanBeSkipped) {
    auto options = options_for(generated_corpus(300));
    build(options, run_with(2));
    const store_info whole = read_store_info(options.store);
    EXPECT_FALSE(whole.stages.empty());
    options.force = true;
    for (const build_stage stage : whole.stages) {
        options.skip = {stage};
        build(options, run_with(2));
        auto expected = whole.stages;
        expected.erase(stage);
        EXPECT_EQ(read_store_info(options.store).stages, expected);
    }
    options.skip = all_build_stages;
    said_.clear();
    EXPECT_EQ(build(options, run_with(2)).documents, 300U);
    const store_info index = read_store_info(options.store);
    EXPECT_TRUE(index.stages.empty());
    EXPECT_EQ(index.copies, 0U);
    EXPECT_EQ(said_, "");
    EXPECT_EQ(opened_store(options.store).copies().size(), 0U);
}

/// Where a build is killed: when it says so or is so far, for the first time; with both, when it is so far after it said so.
struct death {
    std::string name, said, progress;
    bool goes_on = true;
};

class KilledBuild : public BuildStages, public ::testing::WithParamInterface<death> {
  protected:
    build_options options() {
        auto options = options_for(generated_corpus(2000));
        // Of the same time, or it is another corpus.
        fs::last_write_time(options.inputs[0], fs::file_time_type(std::chrono::hours(1)));
        return options;
    }
    void die() {
        context run = run_with(2);
        const auto at = [](bool here) {
            if (here) ::kill(::getpid(), SIGKILL);
        };
        const std::string &said = GetParam().said, &progress = GetParam().progress;
        bool was_said = said.empty();
        run.on_log = [&](log_level, std::string_view message) {
            was_said |= message.starts_with(said);
            at(was_said && progress.empty());
        };
        run.on_progress = [&](const quern::progress& now) { at(was_said && now.stage == progress); };
        build(options(), run);
    }
};

TEST_P(KilledBuild, GoesOnToTheSameBytes) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv(place_of_the_dying, folder_.c_str(), 0);
    EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGKILL), "");
    ::unsetenv(place_of_the_dying);
    EXPECT_FALSE(fs::exists(folder_ / "store"));

    build(options(), run_with(1));
    EXPECT_EQ(said_.find("going on with a build that was stopped") != std::string::npos, GetParam().goes_on)
        << said_;
    const auto found = files_of(folder_ / "store");
    const auto left = names_in(folder_);
    EXPECT_THAT(left, ::testing::UnorderedElementsAre("corpus.jsonl", "scratch", "store"));
    EXPECT_THAT(names_in(folder_ / "scratch"), IsEmpty());
    fs::remove_all(folder_ / "store");
    said_.clear();
    build(options(), run_with(2));
    EXPECT_THAT(said_, ::testing::Not(HasSubstr("going on")));
    EXPECT_EQ(found, files_of(folder_ / "store"));
    const opened_store store(folder_ / "store");  // of all that is made
    EXPECT_TRUE(store.link_ranks() && store.thesaurus() && store.document_vectors());
    EXPECT_GT(store.copies().size(), 0U);
}

TEST_P(KilledBuild, BeginsAnewForAnotherQuestion) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv(place_of_the_dying, folder_.c_str(), 0);
    EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGKILL), "");
    ::unsetenv(place_of_the_dying);

    auto other = options();
    other.text.min_length = 2;
    build(other, run_with(2));
    EXPECT_THAT(said_, ::testing::Not(HasSubstr("going on")));
    EXPECT_EQ(read_store_info(other.store).text.min_length, 2U);
}

INSTANTIATE_TEST_SUITE_P(Anywhere, KilledBuild,
                         ::testing::Values(death{"Reading", "", "read", false},
                                           death{"Duplicates", "duplicates: done", ""},
                                           death{"Indexing", "", "index"}, death{"Merging", "", "merge"},
                                           death{"Tokens", "", "tokens"}, death{"Index", "index: done", ""},
                                           death{"Ranks", "ranks: done", ""},
                                           death{"WithinThesaurus", "ranks: done", "vectors"},
                                           death{"Thesaurus", "thesaurus: done", ""},
                                           death{"WithinVectors", "thesaurus: done", "vectors"},
                                           death{"Vectors", "vectors: done", ""}),
                         [](const auto& point) { return point.param.name; });

/// A store of `first` that `second` is added to, beside a store of both.
class UpdatedStore : public BuildStages {
  protected:
    void expect_the_store_of_both(const std::string& first, const std::string& second,
                                  const std::string& extension, const build_options& asked = {}) {
        build_options options = asked;
        for (const auto& [name, text] : {std::pair{"first", first}, {"second", second}}) {
            options.inputs.push_back(folder_ / (name + extension));
            write_file(options.inputs.back(), text);
        }
        options.store = folder_ / "both";
        options.force = true;
        build(options, run_with(2));
        const fs::path added = options.inputs.back();
        options.inputs.pop_back();
        options.store = folder_ / "store";
        build(options, run_with(2));
        const std::uint64_t before = read_store_info(options.store).documents;
        build_options update;
        update.inputs = {added};
        update.store = options.store;
        update.update = true;
        const build_result result = build(update, run_with(1));
        EXPECT_GT(result.documents, before);
        EXPECT_EQ(files_of(options.store), files_of(folder_ / "both"));
        build(update, run_with(2));  // all of it is known by now
        EXPECT_EQ(files_of(options.store), files_of(folder_ / "both"));
    }
};

TEST_F(UpdatedStore, IsTheOneOfBothInputs) {
    const std::string corpus = generated_corpus(900);
    const std::size_t middle = corpus.find('\n', corpus.size() / 2) + 1;
    expect_the_store_of_both(corpus.substr(0, middle), corpus.substr(middle), ".jsonl");
    build_options asked;
    asked.skip = {build_stage::duplicates};
    asked.text.stem = stemmer::porter;
    write_file(folder_ / "words.txt", "title\nw1\n");
    asked.text.stop_words = (folder_ / "words.txt").string();
    expect_the_store_of_both(corpus.substr(0, middle), corpus.substr(middle), ".jsonl", asked);
}

TEST_F(UpdatedStore, LinksAndRedirectsFindWhatComesLater) {
    const auto page = [](const std::string& title, const std::string& text) {
        return "<page><title>" + title +
               "</title><ns>0</ns><id>1</id><revision><id>1</id><text xml:space=\"preserve\">" + text +
               "</text></revision></page>\n";
    };
    const auto dump = [](const std::string& pages) { return "<mediawiki>\n" + pages + "</mediawiki>\n"; };
    const std::string links = "[[Later]] [[Alias]] [[Town]] [[A]] [[Nowhere]] [[Town]] [[Later]] [[Copy]]";
    expect_the_store_of_both(
        dump(page("A", first_text + links) + page("Alias", "#REDIRECT [[Later]]") +
             page("Town", "#REDIRECT [[A]]") + page("B", "[[Nowhere]]") + page("Copy", first_text + links)),
        dump(page("Later", second_text + links) + page("Town", "Other words about a town. [[B]] [[Alias]]") +
             page("Nowhere else", "#REDIRECT [[B]]")),
        ".xml");
    const opened_store store(folder_ / "store");
    std::vector<std::string> ids;
    for (const std::uint32_t d : links_of(store)) ids.emplace_back(store.id(d));
    EXPECT_THAT(ids, ElementsAre("Later", "Later", "Town", "A", "Town", "Later", "A",  // of A
                                 "Later", "Later", "Town", "A", "Town", "Later", "A",  // of Later
                                 "B", "Later"));
}

TEST_F(UpdatedStore, RefusesAKnownIdWithAnotherTextAndKeepsTheOldStore) {
    auto options = options_for(line_of("a", first_text) + line_of("copy", first_text));
    build(options, run_with(1));
    const auto before = files_of(options.store);
    options.update = true;
    options.inputs = {folder_ / "new.jsonl"};
    write_file(options.inputs[0], line_of("a", second_text));
    EXPECT_THROW(build(options, run_with(1)), invalid_input);
    EXPECT_EQ(files_of(options.store), before);
    write_file(options.inputs[0],
               line_of("copy", first_text) + line_of("new copy", changed(first_text, 3, 2)));
    const build_result result = build(options, run_with(1));
    EXPECT_EQ(result.documents, 1U);
    EXPECT_EQ(result.copies, 2U);
    const opened_store store(options.store);
    const auto copies = store.copies().of(0);
    ASSERT_EQ(copies.size(), 2U);
    EXPECT_EQ(copies[0].id, "copy");
    EXPECT_EQ(copies[1].id, "new copy");
    EXPECT_EQ(copies[1].distance, 2U);
    options.store = folder_ / "none";
    EXPECT_THROW(build(options, run_with(1)), usage_error);
}

TEST_F(UpdatedStore, CountsTheMemoryOfTheOldOne) {
    auto options = options_for(generated_corpus(900));
    options.skip = {build_stage::duplicates};  // else the memory is too small for the first stage already
    build(options, run_with(2));
    options.update = true;
    options.inputs = {folder_ / "new.jsonl"};
    write_file(options.inputs[0], line_of("new", first_text));
    const std::uint64_t held = store_to_update(options.store).memory_bytes();
    EXPECT_GE(held, 900 * 6U);
    try {
        build(options, run_with(1, held));
        ADD_FAILURE();
    } catch (const out_of_memory& e) {
        EXPECT_THAT(e.what(), HasSubstr("the store to add to"));
    }
}

TEST_F(UpdatedStore, OneAtATime) {
    auto options = options_for(line_of("a", first_text));
    build(options, run_with(1));
    const auto update_with = [&](const std::string& id, const std::string& text) {
        build_options update = options;
        update.update = true;
        update.inputs = {folder_ / (id + ".jsonl")};
        write_file(update.inputs[0], line_of(id, text));
        return update;
    };
    context run = run_with(2);
    int refused = 0;
    run.on_log = [&](log_level, std::string_view message) {
        if (!message.starts_with("index: done")) return;
        auto anew = options;
        anew.force = true;
        for (const build_options& other : {update_with("c", "The water of a mill."), anew}) {
            try {
                build(other, run_with(1));
            } catch (const usage_error& e) {
                EXPECT_EQ(e.what(), "another build of " + options.store.string() + " is under way");
                ++refused;
            }
        }
    };
    build(update_with("b", second_text), run);
    EXPECT_EQ(refused, 2);
    EXPECT_EQ(build(update_with("c", "The water of a mill."), run_with(1)).documents, 3U);
    EXPECT_THAT(names_in(folder_), ::testing::Not(::testing::Contains(::testing::StartsWith("."))));
}

/// Builds that fail where a stage begins or is at work, and keep what is made.
class FailedBuild : public BuildStages {
  protected:
    build_options options() {
        auto options = options_for(corpus_);
        fs::last_write_time(options.inputs[0], fs::file_time_type(std::chrono::hours(1)));
        write_file(folder_ / "words.txt", "title\nw1\n");
        options.text.stop_words = (folder_ / "words.txt").string();
        return options;
    }
    /// What is left of builds of the store.
    std::vector<fs::path> leftovers() {
        std::vector<fs::path> left;
        for (const auto& entry : fs::directory_iterator(folder_)) {
            if (entry.is_directory() && entry.path().filename().string().starts_with(".store.quern-")) {
                left.push_back(entry.path());
            }
        }
        return left;
    }
    /// What is told where a section cannot be written, after a stage that says it is done.
    std::string io_error_at(std::string_view section, std::string_view said, const build_options& asked) {
        context run = run_with(2);
        run.on_log = [&](log_level, std::string_view message) {
            if (!message.starts_with(said)) return;
            fs::create_directory(store_layout::file_of(leftovers().at(0) / "folder", section));
        };
        try {
            build(asked, run);
        } catch (const io_error& e) {
            EXPECT_EQ(e.code(), EISDIR);
            return e.what();
        }
        return "no error";
    }
    /// The ranks have no place to go to: a folder lies there.
    std::string io_error_at_the_ranks(const build_options& asked) {
        return io_error_at(store_layout::link_ranks, "index: done", asked);
    }
    /// No memory is left when documents get vectors.
    std::string out_of_memory_at_the_vectors(const build_options& asked) {
        context run = run_with(2);
        bool now = false;
        run.on_log = [&](log_level, std::string_view message) {
            now |= message.starts_with("thesaurus: done");
        };
        run.on_progress = [&](const quern::progress& at) {
            if (now && at.stage == "vectors") throw out_of_memory("a test", 2, 1);
        };
        try {
            build(asked, run);
        } catch (const out_of_memory& e) {
            return e.what();
        }
        return "no error";
    }
    /// Kills a build when it says so, in another process.
    void die(const std::string& said, const std::set<build_stage>& skip = {}) {
        context run = run_with(2);
        run.on_log = [&](log_level, std::string_view message) {
            if (message.starts_with(said)) ::kill(::getpid(), SIGKILL);
        };
        build_options asked = options();
        asked.skip = skip;
        build(asked, run);
    }

    const std::string corpus_ = generated_corpus(1200);
};

TEST_F(FailedBuild, InTheIndexKeepsWhatIsKnownOfCopies) {
    const auto asked = options();
    const auto expect_kept = [&](const std::string& told) {
        EXPECT_THAT(told,
                    ::testing::StartsWith(store_layout::file_of(asked.store, store_layout::texts).string()));
        EXPECT_THAT(told,
                    ::testing::EndsWith("; what is made is kept, and the same command goes on from there"));
        EXPECT_FALSE(fs::exists(asked.store));
        EXPECT_THAT(names_in(folder_ / "scratch"), IsEmpty());
        EXPECT_EQ(leftovers().size(), 1U);
    };
    expect_kept(io_error_at(store_layout::texts, "duplicates: done", asked));
    expect_kept(io_error_at(store_layout::texts, "going on", asked));

    context nowhere = run_with(1);
    nowhere.scratch = asked.inputs[0] / "no folder";
    EXPECT_THROW(build(asked, nowhere), io_error);
    EXPECT_EQ(leftovers().size(), 1U);

    said_.clear();
    const run_statistics cost = build(asked, run_with(2)).statistics;
    EXPECT_THAT(said_, HasSubstr("done are: duplicates\n"));
    ASSERT_GT(cost.stages.size(), 3U);
    EXPECT_EQ(cost.stages[0].name, "read");
    EXPECT_EQ(cost.stages[1].name, "duplicates");
    EXPECT_EQ(cost.stages[2].name, "collection");
    double seconds = 0;
    for (const stage_statistics& stage : cost.stages) {
        EXPECT_TRUE(stage.seconds > 0 || stage.name.find('/') != std::string::npos) << stage.name;
        seconds += stage.seconds;
    }
    EXPECT_DOUBLE_EQ(cost.seconds, seconds);
    EXPECT_THAT(leftovers(), IsEmpty());
    const auto found = files_of(asked.store);
    fs::remove_all(asked.store);
    build(asked, run_with(1));
    EXPECT_EQ(found, files_of(asked.store));

    fs::remove_all(asked.store);
    auto with_all = asked;  // nothing is made before the index
    with_all.skip = {build_stage::duplicates};
    context run = run_with(2);
    run.on_progress = [&](const progress&) {
        fs::create_directory(store_layout::file_of(leftovers().at(0) / "folder", store_layout::tokens));
    };
    try {
        build(with_all, run);
        ADD_FAILURE();
    } catch (const io_error& e) {
        EXPECT_THAT(e.what(), ::testing::Not(HasSubstr("kept")));
    }
    EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(FailedBuild, InTheLastStepKeepsWhatIsMade) {
    const auto asked = options();
    const auto tell = [&](const std::function<void()>& spoil) -> std::string {
        context run = run_with(2);
        run.on_log = [&](log_level, std::string_view message) {
            if (message.starts_with("vectors: done") || message.ends_with("thesaurus vectors")) spoil();
        };
        try {
            build(asked, run);
        } catch (const error& e) {
            return e.what();
        }
        return "no error";
    };
    EXPECT_THAT(tell([&] { fs::create_directory(leftovers().at(0) / "folder" / store_layout::statistics); }),
                HasSubstr("what is made is kept, and the same command goes on from there"));
    EXPECT_EQ(leftovers().size(), 1U);
    EXPECT_THAT(tell([&] { write_file(asked.store / "a file", "of somebody else"); }),
                ::testing::AllOf(HasSubstr("exists"), HasSubstr("what is made is kept")));
    EXPECT_EQ(leftovers().size(), 1U);
    EXPECT_THAT(names_in(asked.store), ElementsAre("a file"));

    fs::remove_all(asked.store);
    said_.clear();
    build(asked, run_with(1));
    EXPECT_THAT(said_, HasSubstr("done are: duplicates index ranks thesaurus vectors\n"));
    EXPECT_THAT(leftovers(), IsEmpty());
    const auto found = files_of(asked.store);
    fs::remove_all(asked.store);
    build(asked, run_with(1));
    EXPECT_EQ(found, files_of(asked.store));
}

TEST_F(FailedBuild, InAnAddedStageKeepsWhatIsMade) {
    auto asked = options();
    const std::string told = io_error_at_the_ranks(asked);
    EXPECT_THAT(told,
                ::testing::StartsWith(store_layout::file_of(asked.store, store_layout::link_ranks).string()));
    EXPECT_THAT(told, HasSubstr("the same command goes on from there, with --skip ranks"));
    EXPECT_THAT(told, ::testing::Not(HasSubstr(".quern-")));
    EXPECT_FALSE(fs::exists(asked.store));
    EXPECT_THAT(names_in(folder_ / "scratch"), IsEmpty());
    EXPECT_EQ(leftovers().size(), 1U);

    EXPECT_THAT(out_of_memory_at_the_vectors(asked), HasSubstr("--skip vectors"));
    said_.clear();
    build(asked, run_with(1));
    EXPECT_THAT(said_, HasSubstr("done are: duplicates index ranks thesaurus\n"));
    EXPECT_THAT(leftovers(), IsEmpty());
    const auto found = files_of(asked.store);
    fs::remove_all(asked.store);
    build(asked, run_with(2));
    EXPECT_EQ(found, files_of(asked.store));
}

TEST_F(FailedBuild, GoesOnWithoutTheStage) {
    auto asked = options();
    EXPECT_THAT(out_of_memory_at_the_vectors(asked), HasSubstr("--skip vectors"));
    asked.skip = {build_stage::vectors};
    build(asked, run_with(2));
    EXPECT_THAT(said_, HasSubstr("going on"));
    const auto found = files_of(asked.store);
    fs::remove_all(asked.store);

    // A stage that is made cannot be taken back.
    asked.skip = {};
    EXPECT_THAT(out_of_memory_at_the_vectors(asked), HasSubstr("--skip vectors"));
    asked.skip = {build_stage::thesaurus};
    said_.clear();
    build(asked, run_with(2));
    EXPECT_THAT(said_, ::testing::Not(HasSubstr("going on")));
    EXPECT_FALSE(opened_store(asked.store).thesaurus());
    EXPECT_THAT(leftovers(), IsEmpty());
    fs::remove_all(asked.store);

    asked.skip = {build_stage::vectors};
    build(asked, run_with(2));
    EXPECT_EQ(found, files_of(asked.store));
}

TEST_F(FailedBuild, AStageThatLackedASkippedOneIsMadeAnew) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv(place_of_the_dying, folder_.c_str(), 0);
    EXPECT_EXIT(die("vectors: ", {build_stage::thesaurus}), ::testing::KilledBySignal(SIGKILL), "");
    ::unsetenv(place_of_the_dying);

    const auto asked = options();
    build(asked, run_with(2));
    EXPECT_THAT(said_, HasSubstr("done are: duplicates index ranks\n"));
    const auto found = files_of(asked.store);
    EXPECT_TRUE(opened_store(asked.store).document_vectors());
    fs::remove_all(asked.store);
    build(asked, run_with(2));
    EXPECT_EQ(found, files_of(asked.store));
}

TEST_F(FailedBuild, OfAPipeOrByCtrlCLeavesNothing) {
    auto asked = options();
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const std::string corpus = generated_corpus(60);
    ASSERT_EQ(::write(ends[1], corpus.data(), corpus.size()), static_cast<ssize_t>(corpus.size()));
    ::close(ends[1]);
    asked.inputs = {"/proc/self/fd/" + std::to_string(ends[0])};
    const std::string told = io_error_at_the_ranks(asked);
    ::close(ends[0]);
    EXPECT_THAT(told, HasSubstr("--skip ranks builds without this stage"));
    EXPECT_THAT(leftovers(), IsEmpty());

    context run = run_with(2);
    std::atomic<int> signal{0};
    run.stop_signal = &signal;
    run.on_log = [&](log_level, std::string_view message) {
        if (message.starts_with("ranks: done")) signal = SIGINT;
    };
    EXPECT_THROW(build(options(), run), interrupted);
    EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(FailedBuild, LeftoversThatAreDamagedAreNotUsed) {
    const auto asked = options();
    build(asked, run_with(1));
    const auto expected = files_of(asked.store);
    const auto expect_unused = [&](const std::string& damaged) {
        SCOPED_TRACE(damaged);
        fs::remove_all(asked.store);
        std::string bytes = read_file(leftovers().at(0) / damaged);
        ASSERT_FALSE(bytes.empty());
        bytes[bytes.size() / 3] = static_cast<char>(bytes[bytes.size() / 3] ^ 1);
        write_file(leftovers().at(0) / damaged, bytes);
        said_.clear();
        build(asked, run_with(2));
        EXPECT_THAT(said_, ::testing::Not(HasSubstr("going on")));
        EXPECT_EQ(files_of(asked.store), expected);
        EXPECT_THAT(leftovers(), IsEmpty());
    };
    for (const char* damaged :
         {"folder/texts.section", "folder/link_ranks.section", "folder/copy_ids.section",
          "folder/stop_words.txt", "folder/thesaurus/vectors.section", "left_out.section", "journal.json"}) {
        fs::remove_all(asked.store);
        EXPECT_THAT(out_of_memory_at_the_vectors(asked), HasSubstr("--skip vectors"));
        expect_unused(damaged);
    }
    fs::remove_all(asked.store);
    EXPECT_THAT(out_of_memory_at_the_vectors(asked), HasSubstr("--skip vectors"));
    said_.clear();
    build(asked, run_with(2));  // whole, it is used
    EXPECT_THAT(said_, HasSubstr("going on"));
}

TEST_F(FailedBuild, AListOfTheLeftOutThatIsDamagedIsNotUsed) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv(place_of_the_dying, folder_.c_str(), 0);
    EXPECT_EXIT(die("duplicates: done"), ::testing::KilledBySignal(SIGKILL), "");
    ::unsetenv(place_of_the_dying);
    ASSERT_EQ(leftovers().size(), 1U);
    const fs::path list = leftovers()[0] / "left_out.section";
    std::string bytes = read_file(list);
    bytes[0] = static_cast<char>(bytes[0] ^ 1);
    write_file(list, bytes);
    build(options(), run_with(2));
    EXPECT_THAT(said_, ::testing::Not(HasSubstr("going on")));
}

TEST_F(FailedBuild, OfAnotherJournalIsNotUsed) {
    auto asked = options();
    build(asked, run_with(1));
    const auto expected = files_of(asked.store);
    fs::create_directories(folder_ / ".store.quern-abcdef");
    fs::rename(asked.store, folder_ / ".store.quern-abcdef" / "folder");
    write_file(folder_ / ".store.quern-abcdef" / "journal.json", "{}");
    said_.clear();
    build(asked, run_with(1));
    EXPECT_THAT(said_, ::testing::Not(HasSubstr("going on")));
    EXPECT_EQ(files_of(asked.store), expected);
    EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(BuildStages, DocumentsThatWaitedLeaveNoFiles) {
    context run = run_with(2);
    std::vector<std::string> left;
    run.on_log = [&](log_level, std::string_view message) {
        if (!message.starts_with("index: done")) return;
        for (const auto& entry : fs::recursive_directory_iterator(folder_ / "scratch")) {
            left.push_back(entry.path().filename());
        }
    };
    build(options_for(generated_corpus(600)), run);
    EXPECT_THAT(left, ::testing::Not(IsEmpty()));  // those of the index
    for (const char* waited : {"entries", "redirects_read", "spooled_ids", "0.texts.section"}) {
        EXPECT_THAT(left, ::testing::Not(::testing::Contains(waited)));
    }
}

}  // namespace
}  // namespace quern
