// SPDX-License-Identifier: Apache-2.0
// A build's work besides the index: near-duplicates are excluded, but their names and links are kept; each stage can be
// skipped; and a killed build resumes after its last finished stage, with the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "corpus_fixture.hpp"
#include "ops/search/postings.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/dedup.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/ngram_index.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store_build/store_to_update.hpp"
#include "temporary_folder.hpp"

namespace quern::build_stages_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::files_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

std::string line_of(const std::string& id, const std::string& text, const std::string& links = "") {
    return "{\"id\":\"" + id + "\",\"title\":\"Title of " + id + "\",\"text\":\"" + text + "\",\"links\":[" +
           links + "]}\n";
}

/// A reproducible corpus in which every third document is an earlier one with a few letters changed, and some are
/// empty.
std::string generated_corpus(std::uint32_t documents, std::uint32_t words = 3000) {
    std::string lines;
    std::vector<std::string> texts;
    testing::made_numbers next(7);
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
                text += "w" + std::to_string(next() % words) + (w % 11 == 10 ? ". " : " ");
            }
        }
        texts.push_back(text);
        lines += line_of(
            "d" + std::to_string(d), text,
            "\"d" + std::to_string(next() % (documents + 5)) + "\",\"d" + std::to_string(d / 2) + '"');
    }
    return lines;
}

class build_stages_test : public ::testing::Test {
  protected:
    build_options options_for(const std::string& corpus, const std::string& name = "corpus.jsonl") {
        write_if_other(name, corpus);
        build_options options;
        options.inputs = {folder_ / name};
        options.store = folder_ / "store";
        return options;
    }
    /// Leaves a file with these bytes as it is: written again it would have another time, and be another corpus.
    void write_if_other(const std::string& name, const std::string& bytes) {
        const fs::path file = folder_ / name;
        if (!fs::exists(file) || testing::read_file(file) != bytes) write_file(file, bytes);
    }
    context context_with(unsigned threads, std::uint64_t memory = 0) {
        context ctx;
        ctx.device.where = device_choice::kind::cpu;
        ctx.threads = threads;
        ctx.memory_bytes = memory;
        ctx.scratch = folder_ / "scratch";
        ctx.on_log = [this](log_level, std::string_view message) { said_.append(message).append("\n"); };
        return ctx;
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

    /// A death test runs a second time, in the folder of the first.
    static constexpr const char* dying_folder = "QUERN_TEST_DYING_IN";
    std::optional<temporary_folder> own_;
    const fs::path folder_ =
        std::getenv(dying_folder) != nullptr ? fs::path(std::getenv(dying_folder)) : own_.emplace().path();
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

TEST_F(build_stages_test, near_duplicates_go_out_and_their_names_stay) {
    const std::string far = changed(first_text, 0, 6), farther = changed(far, 40, 6);
    auto options = options_for(line_of("a", first_text, "\"far\",\"b\",\"nowhere\"") +  //
                               line_of("far", far, "\"b\",\"b\"") +                     //
                               line_of("b", second_text, "\"farther\",\"again\"") +     //
                               line_of("farther", farther) +                            //
                               line_of("empty", "", "\"again\"") +                      //
                               line_of("again", second_text) + line_of("also empty", ""));
    const build_result result = build(options, context_with(2));
    EXPECT_EQ(result.counts.documents, 7U);
    EXPECT_EQ(result.documents, 5U);
    EXPECT_EQ(result.duplicates, 2U);

    const opened_store store(options.store);
    EXPECT_EQ(store.info().documents, 5U);
    EXPECT_EQ(store.info().duplicates, 2U);
    EXPECT_TRUE(store.info().stages.contains(build_stage::duplicates));
    std::vector<std::string> ids;
    for (std::uint32_t d = 0; d < 5; ++d) ids.emplace_back(store.id(d));
    // `farther` is near `far` only, which is not in the index, so it stays.
    EXPECT_THAT(ids, ElementsAre("a", "b", "farther", "empty", "also empty"));
    EXPECT_EQ(store.text(0), first_text);
    EXPECT_THAT(links_of(store), ElementsAre(0U, 1U, 2U, 1U, 1U));  // without those of near-duplicates

    const document_duplicates& duplicates = store.duplicates();
    EXPECT_EQ(duplicates.size(), 2U);
    const auto of_a = duplicates.of(0), of_b = duplicates.of(1);
    ASSERT_EQ(of_a.size(), 1U);
    EXPECT_EQ(of_a[0].id, "far");
    EXPECT_EQ(of_a[0].title, "Title of far");
    EXPECT_EQ(of_a[0].distance, 6U);
    ASSERT_EQ(of_b.size(), 1U);
    EXPECT_EQ(of_b[0].id, "again");
    EXPECT_EQ(of_b[0].distance, 0U);
    EXPECT_THAT(duplicates.of(2), IsEmpty());
    EXPECT_THAT(duplicates.of(3), IsEmpty());
    EXPECT_GT(verify_store(options.store, context_with(1)), 0U);
}

TEST_F(build_stages_test, keeps_what_dedup_keeps) {
    auto options = options_for(generated_corpus(1500));
    const build_result result = build(options, context_with(2));
    dedup_options requested;
    requested.inputs = options.inputs;
    requested.list_pairs = false;
    const dedup_result expected = dedup(requested, context_with(2));
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
    EXPECT_EQ(result.duplicates, 1500 - next);
    EXPECT_GT(result.duplicates, 300U);
}

TEST_F(build_stages_test, bytes_depend_on_the_collection_alone) {
    auto options = options_for(generated_corpus(1500, 1500));
    build(options, context_with(1));
    const auto expected = files_of(options.store);
    EXPECT_GT(expected.size(), 20U);
    for (const auto& [threads, memory] :
         {std::pair{2U, std::uint64_t{0}}, {1U, std::uint64_t{12} << 20}, {5U, std::uint64_t{16} << 20}}) {
        options.store = folder_ / ("store-" + std::to_string(threads));
        options.force = true;
        build(options, context_with(threads, memory));
        EXPECT_EQ(files_of(options.store), expected) << threads << " threads, " << memory << " bytes";
    }
}

TEST_F(build_stages_test, a_pipe_is_read_once) {
    const std::string corpus =
        line_of("a", first_text, "\"b\"") + line_of("b", first_text) + line_of("c", second_text);
    auto options = options_for(corpus);
    build(options, context_with(2));
    const auto expected = files_of(options.store);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], corpus.data(), corpus.size()), static_cast<ssize_t>(corpus.size()));
    ::close(ends[1]);
    options.inputs = {"/proc/self/fd/" + std::to_string(ends[0])};
    options.store = folder_ / "piped";
    EXPECT_EQ(build(options, context_with(1)).duplicates, 1U);
    ::close(ends[0]);
    EXPECT_EQ(files_of(options.store), expected);
}

TEST_F(build_stages_test, copies_are_found_by_the_words_of_their_titles) {
    const std::string far = changed(first_text, 0, 6);
    auto options =
        options_for(line_of("a", first_text) + line_of("far", far) + line_of("b", second_text) +
                    line_of("farther", changed(first_text, 40, 6)) + line_of("again", second_text) +
                    R"({"id":"?","text":"!?!"})"
                    "\n"
                    R"({"id":"!","title":"Nothing at all","text":"!?!"})"
                    "\n");
    EXPECT_EQ(build(options, context_with(2)).duplicates, 4U);
    const auto found = [&](std::string_view query) {
        const auto engine = search_engine::open(options.store, context_with(1));
        search_options options_of_search;
        options_of_search.explain = true;
        const search_result search_found = engine.search(query, options_of_search);
        EXPECT_THAT(search_found.unknown_words, IsEmpty());
        std::string text;
        for (const search_hit& hit : search_found.hits) {
            text.append(text.empty() ? "" : "; ").append(hit.id);
            for (const duplicate_hit& copy : hit.duplicates) text.append(" ").append(copy.id);
            double sum = 0;
            for (const explained_term& term : hit.explanation) sum += term.score;
            EXPECT_EQ(sum, hit.score);
        }
        return text;
    };
    EXPECT_EQ(found("farther"), "a farther far");  // the requested near-duplicate comes first
    EXPECT_EQ(found("far"), "a far farther");
    EXPECT_EQ(found("miller far"), "b again; a far farther");
    EXPECT_EQ(found("\"again\""), "b again");
    EXPECT_EQ(opened_store(options.store).title_words().find("title").document_frequency, 2U);
    verify_store(options.store, context_with(1));
    const auto engine = search_engine::open(options.store, context_with(1));
    EXPECT_THAT(engine.search("nothing", {}).unknown_words,
                ElementsAre("nothing"));  // its document has no words

    options.inputs = {folder_ / "more.jsonl"};
    write_file(options.inputs[0], line_of("later", second_text) + line_of("c", "Another text."));
    options.update = true;
    build(options, context_with(1));
    EXPECT_EQ(found("later"), "b later again");
    EXPECT_EQ(found("far"), "a far farther");
}

TEST_F(build_stages_test, redirects_to_a_copy_lead_to_the_kept_one) {
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
    const build_result result = build(options, context_with(2));
    EXPECT_EQ(result.duplicates, 1U);
    EXPECT_EQ(result.counts.redirects, 1U);
    EXPECT_EQ(result.dangling_links, 0U);
    EXPECT_THAT(links_of(opened_store(options.store)), ElementsAre(0U, 0U, 0U));
}

TEST_F(build_stages_test, repeated_ids_are_rejected_with_and_without_the_stage) {
    auto options =
        options_for(line_of("a", first_text) + line_of("a", second_text) + line_of("b", second_text));
    options.max_errors = {.count = 1, .is_share = false};
    for (const bool skipped : {false, true}) {
        if (skipped) options.skip = {build_stage::duplicates};
        options.force = skipped;
        const build_result result = build(options, context_with(1));
        EXPECT_EQ(result.counts.rejected, 1U);
        EXPECT_EQ(result.documents, 2U);
        ASSERT_EQ(result.issues.size(), 1U);
        EXPECT_THAT(result.issues[0].reason, HasSubstr("duplicate id"));
    }
    options.max_errors = {};
    EXPECT_THROW(build(options, context_with(1)), invalid_input);
    EXPECT_THROW(build(options_for("\n"), context_with(1)), error);
}

TEST_F(build_stages_test, each_can_be_skipped) {
    auto options = options_for(generated_corpus(300));
    build(options, context_with(2));
    const store_info whole = read_store_info(options.store);
    EXPECT_FALSE(whole.stages.empty());
    options.force = true;
    for (const build_stage stage : whole.stages) {
        options.skip = {stage};
        build(options, context_with(2));
        auto expected = whole.stages;
        expected.erase(stage);
        EXPECT_EQ(read_store_info(options.store).stages, expected);
    }
    options.skip = all_build_stages;
    said_.clear();
    EXPECT_EQ(build(options, context_with(2)).documents, 300U);
    const store_info index = read_store_info(options.store);
    EXPECT_TRUE(index.stages.empty());
    EXPECT_EQ(index.duplicates, 0U);
    EXPECT_EQ(said_, "");
    EXPECT_EQ(opened_store(options.store).duplicates().size(), 0U);
}

TEST_F(build_stages_test, ngrams_lists_the_pairs_of_frequent_words) {
    testing::made_numbers next(3);
    std::string lines;
    for (int d = 0; d < 400; ++d) {
        std::string text;
        for (int w = 0; w < 40; ++w)
            text += "w" + std::to_string(next() % (w % 3 == 0 ? 2000 : 20)) + (w % 13 == 12 ? ". " : " ");
        lines += line_of("d" + std::to_string(d), text);
    }
    auto options = options_for(lines);
    options.skip = all_build_stages;
    options.ngrams = true;
    build(options, context_with(2));
    const opened_store store(options.store);
    EXPECT_TRUE(store.info().stages.contains(build_stage::ngrams));
    ASSERT_NE(store.ngrams(), nullptr);

    // Every pair of words, by the words in order.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint32_t, std::uint32_t>> pairs;
    const auto tokens = store.tokens();
    for (std::uint32_t d = 0; d < store.info().documents; ++d) {
        std::vector<std::uint32_t> words;
        tokens.code->decode(tokens.words_of(d), words);
        for (std::size_t i = 1; i < words.size(); ++i) ++pairs[{words[i - 1], words[i]}][d];
    }
    std::size_t listed = 0, others = 0;
    for (const auto& [pair, documents] : pairs) {
        const auto found = indexed_pair(store, pair.first, pair.second);
        others += found ? 0 : 1;
        if (!found) continue;
        ++listed;
        ASSERT_EQ(found->document_frequency, documents.size());
        std::uint64_t occurrences = 0;
        for (const auto& [_, frequency] : documents) occurrences += frequency;
        EXPECT_EQ(found->collection_frequency, occurrences);
        std::map<std::uint32_t, std::uint32_t> in_list;
        for (search_detail::postings_cursor cursor(*found, store.collection().document_lengths);
             !cursor.done(); cursor.next_block()) {
            cursor.decode();
            for (std::size_t i = 0; i < cursor.documents().size(); ++i)
                in_list[cursor.documents()[i]] = cursor.frequencies()[i];
        }
        EXPECT_EQ(in_list, documents);
    }
    EXPECT_GT(listed, 100U);
    EXPECT_GT(others, 100U);
    EXPECT_EQ(store.ngrams()->dictionary().size(), listed);
    EXPECT_GT(verify_store(options.store, context_with(2)), 0U);

    // The same bytes by other threads and with less memory; kept by an update.
    const auto made = files_of(options.store);
    auto again = options;
    again.force = true;
    build(again, context_with(5, 24 << 20));
    EXPECT_EQ(files_of(options.store), made);
    auto more = options_for(line_of("new", "w1 w2 w3"), "more.jsonl");
    more.update = true;
    build(more, context_with(2));
    EXPECT_NE(opened_store(options.store).ngrams(), nullptr);
}

/// When a build is killed: at the first message or progress of this name; with both, at the progress after the message.
struct death {
    std::string name, said, progress;
    bool goes_on = true;
};

class killed_build_test : public build_stages_test, public ::testing::WithParamInterface<death> {
  protected:
    build_options options() { return options_for(generated_corpus(2000)); }
    void die() {
        context ctx = context_with(2);
        const auto at = [](bool here) {
            if (here) ::kill(::getpid(), SIGKILL);
        };
        const std::string &said = GetParam().said, &progress = GetParam().progress;
        bool was_said = said.empty();
        ctx.on_log = [&](log_level, std::string_view message) {
            was_said |= message.starts_with(said);
            at(was_said && progress.empty());
        };
        ctx.on_progress = [&](const quern::progress& now) { at(was_said && now.stage == progress); };
        build(options(), ctx);
    }
};

TEST_P(killed_build_test, goes_on_to_the_same_bytes) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv(dying_folder, folder_.c_str(), 0);
    EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGKILL), "");
    ::unsetenv(dying_folder);
    EXPECT_FALSE(fs::exists(folder_ / "store"));

    build(options(), context_with(1));
    EXPECT_EQ(said_.find("resuming an interrupted build") != std::string::npos, GetParam().goes_on) << said_;
    const auto found = files_of(folder_ / "store");
    const auto left = names_in(folder_);
    EXPECT_THAT(left, ::testing::UnorderedElementsAre("corpus.jsonl", "scratch", "store"));
    EXPECT_THAT(names_in(folder_ / "scratch"), IsEmpty());
    fs::remove_all(folder_ / "store");
    said_.clear();
    build(options(), context_with(2));
    EXPECT_THAT(said_, ::testing::Not(HasSubstr("resuming")));
    EXPECT_EQ(found, files_of(folder_ / "store"));
    const opened_store store(folder_ / "store");  // of all that is made
    EXPECT_TRUE(store.link_ranks() && store.thesaurus() && store.document_vectors());
    EXPECT_GT(store.duplicates().size(), 0U);
}

TEST_P(killed_build_test, begins_anew_for_other_params) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv(dying_folder, folder_.c_str(), 0);
    EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGKILL), "");
    ::unsetenv(dying_folder);

    auto other = options();
    other.text.min_length = 2;
    build(other, context_with(2));
    EXPECT_THAT(said_, ::testing::Not(HasSubstr("resuming")));
    EXPECT_EQ(read_store_info(other.store).text.min_length, 2U);
}

INSTANTIATE_TEST_SUITE_P(anywhere, killed_build_test,
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

/// A store of `first` to which `second` is added, next to a store of both.
class updated_store_test : public build_stages_test {
  protected:
    void expect_the_store_of_both(const std::string& first, const std::string& second,
                                  const std::string& extension, const build_options& requested = {}) {
        build_options options = requested;
        for (const auto& [name, text] : {std::pair{"first", first}, {"second", second}}) {
            options.inputs.push_back(folder_ / (name + extension));
            write_file(options.inputs.back(), text);
        }
        options.store = folder_ / "both";
        options.force = true;
        build(options, context_with(2));
        const fs::path added = options.inputs.back();
        options.inputs.pop_back();
        options.store = folder_ / "store";
        build(options, context_with(2));
        const std::uint64_t before = read_store_info(options.store).documents;
        build_options update;
        update.inputs = {added};
        update.store = options.store;
        update.update = true;
        const build_result result = build(update, context_with(1));
        EXPECT_GT(result.documents, before);
        EXPECT_EQ(files_of(options.store), files_of(folder_ / "both"));
        build(update, context_with(2));  // all of it is known now
        EXPECT_EQ(files_of(options.store), files_of(folder_ / "both"));
    }
};

TEST_F(updated_store_test, is_the_one_of_both_inputs) {
    const std::string corpus = generated_corpus(900);
    const std::size_t middle = corpus.find('\n', corpus.size() / 2) + 1;
    expect_the_store_of_both(corpus.substr(0, middle), corpus.substr(middle), ".jsonl");
    build_options requested;
    requested.skip = {build_stage::duplicates};
    requested.text.stem = stemmer::porter;
    write_file(folder_ / "words.txt", "title\nw1\n");
    requested.text.stop_words = (folder_ / "words.txt").string();
    expect_the_store_of_both(corpus.substr(0, middle), corpus.substr(middle), ".jsonl", requested);
}

TEST_F(updated_store_test, links_and_redirects_find_what_comes_later) {
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

TEST_F(updated_store_test, takes_a_known_id_with_another_text_for_another_document) {
    auto options = options_for(line_of("a", first_text) + line_of("copy", first_text));
    build(options, context_with(1));
    const auto before = files_of(options.store);
    options.update = true;
    options.inputs = {folder_ / "new.jsonl"};
    write_file(options.inputs[0], line_of("a", second_text));
    options.ids = id_rule::global;
    EXPECT_THROW(build(options, context_with(1)), invalid_input);
    EXPECT_EQ(files_of(options.store), before);
    options.ids = id_rule::scoped;
    for (int again = 0; again < 2; ++again) EXPECT_EQ(build(options, context_with(1)).documents, 2U);
    EXPECT_EQ(opened_store(options.store).id(1), options.inputs[0].string() + ":a");
}

TEST_F(updated_store_test, knows_the_ids_of_copies) {
    auto options = options_for(line_of("a", first_text) + line_of("copy", first_text));
    build(options, context_with(1));
    options.update = true;
    options.inputs = {folder_ / "new.jsonl"};
    write_file(options.inputs[0],
               line_of("copy", first_text) + line_of("new copy", changed(first_text, 3, 2)));
    const build_result result = build(options, context_with(1));
    EXPECT_EQ(result.documents, 1U);
    EXPECT_EQ(result.duplicates, 2U);
    const opened_store store(options.store);
    const auto duplicates = store.duplicates().of(0);
    ASSERT_EQ(duplicates.size(), 2U);
    EXPECT_EQ(duplicates[0].id, "copy");
    EXPECT_EQ(duplicates[1].id, "new copy");
    EXPECT_EQ(duplicates[1].distance, 2U);
    options.store = folder_ / "none";
    EXPECT_THROW(build(options, context_with(1)), usage_error);
}

TEST_F(updated_store_test, counts_the_memory_of_the_old_one) {
    auto options = options_for(generated_corpus(900));
    options.skip = {build_stage::duplicates};  // otherwise the memory is too small even for the first stage
    build(options, context_with(2));
    options.update = true;
    options.inputs = {folder_ / "new.jsonl"};
    write_file(options.inputs[0], line_of("new", first_text));
    const std::uint64_t held = store_to_update(options.store).memory_bytes();
    EXPECT_GE(held, 900 * 6U);
    try {
        build(options, context_with(1, held));
        ADD_FAILURE();
    } catch (const out_of_memory& e) {
        EXPECT_THAT(e.what(), HasSubstr("the store to add to"));
    }
}

TEST_F(updated_store_test, one_at_a_time) {
    auto options = options_for(line_of("a", first_text));
    build(options, context_with(1));
    const auto update_with = [&](const std::string& id, const std::string& text) {
        build_options update = options;
        update.update = true;
        update.inputs = {folder_ / (id + ".jsonl")};
        write_file(update.inputs[0], line_of(id, text));
        return update;
    };
    context ctx = context_with(2);
    int refused = 0;
    ctx.on_log = [&](log_level, std::string_view message) {
        if (!message.starts_with("index: done")) return;
        auto anew = options;
        anew.force = true;
        for (const build_options& other : {update_with("c", "The water of a mill."), anew}) {
            try {
                build(other, context_with(1));
            } catch (const usage_error& e) {
                EXPECT_EQ(e.what(), "another build of " + options.store.string() + " is in progress");
                ++refused;
            }
        }
    };
    build(update_with("b", second_text), ctx);
    EXPECT_EQ(refused, 2);
    EXPECT_EQ(build(update_with("c", "The water of a mill."), context_with(1)).documents, 3U);
    EXPECT_THAT(names_in(folder_), ::testing::Not(::testing::Contains(::testing::StartsWith("."))));
}

/// Builds that fail at the beginning of a stage or within it, and keep finished stages.
class failed_build_test : public build_stages_test {
  protected:
    build_options options() {
        auto options = options_for(corpus_);
        write_if_other("words.txt", "title\nw1\n");
        options.text.stop_words = (folder_ / "words.txt").string();
        return options;
    }
    /// Leftovers of builds of the store.
    std::vector<fs::path> leftovers() {
        std::vector<fs::path> left;
        for (const auto& entry : fs::directory_iterator(folder_)) {
            if (entry.is_directory() && entry.path().filename().string().starts_with(".store.quern-")) {
                left.push_back(entry.path());
            }
        }
        return left;
    }
    /// The error if a section cannot be written, after a stage's message that it is done.
    std::string io_error_at(std::string_view section, std::string_view said, const build_options& requested) {
        context ctx = context_with(2);
        ctx.on_log = [&](log_level, std::string_view message) {
            if (!message.starts_with(said)) return;
            fs::create_directory(store_layout::file_of(leftovers().at(0) / "folder", section));
        };
        try {
            build(requested, ctx);
        } catch (const io_error& e) {
            EXPECT_EQ(e.code(), EISDIR);
            return e.what();
        }
        return "no error";
    }
    /// The ranks cannot be written: a folder has their name.
    std::string io_error_at_the_ranks(const build_options& requested) {
        return io_error_at(store_layout::link_ranks, "index: done", requested);
    }
    /// Memory runs out in the stage of document vectors.
    std::string out_of_memory_at_the_vectors(const build_options& requested) {
        context ctx = context_with(2);
        bool now = false;
        ctx.on_log = [&](log_level, std::string_view message) {
            now |= message.starts_with("thesaurus: done");
        };
        ctx.on_progress = [&](const quern::progress& at) {
            if (now && at.stage == "vectors") throw out_of_memory("a test", 2, 1);
        };
        try {
            build(requested, ctx);
        } catch (const out_of_memory& e) {
            return e.what();
        }
        return "no error";
    }
    /// Kills a build at a message, in another process.
    void die(const std::string& said, const std::set<build_stage>& skip = {}) {
        context ctx = context_with(2);
        ctx.on_log = [&](log_level, std::string_view message) {
            if (message.starts_with(said)) ::kill(::getpid(), SIGKILL);
        };
        build_options requested = options();
        requested.skip = skip;
        build(requested, ctx);
    }

    const std::string corpus_ = generated_corpus(400, 600);
};

TEST_F(failed_build_test, in_the_index_keeps_what_is_known_of_copies) {
    const auto requested = options();
    const auto expect_kept = [&](const std::string& reported) {
        EXPECT_THAT(reported, ::testing::StartsWith(
                                  store_layout::file_of(requested.store, store_layout::texts).string()));
        EXPECT_THAT(reported,
                    ::testing::EndsWith("; finished stages are kept; the same command resumes from there"));
        EXPECT_FALSE(fs::exists(requested.store));
        EXPECT_THAT(names_in(folder_ / "scratch"), IsEmpty());
        EXPECT_EQ(leftovers().size(), 1U);
    };
    expect_kept(io_error_at(store_layout::texts, "duplicates: done", requested));
    expect_kept(io_error_at(store_layout::texts, "resuming", requested));

    context nowhere = context_with(1);
    nowhere.scratch = requested.inputs[0] / "no folder";
    EXPECT_THROW(build(requested, nowhere), io_error);
    EXPECT_EQ(leftovers().size(), 1U);

    said_.clear();
    const run_statistics cost = build(requested, context_with(2)).statistics;
    EXPECT_THAT(said_, HasSubstr("finished stages: duplicates\n"));
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
    const auto found = files_of(requested.store);
    fs::remove_all(requested.store);
    build(requested, context_with(1));
    EXPECT_EQ(found, files_of(requested.store));

    fs::remove_all(requested.store);
    auto with_all = requested;  // nothing is made before the index
    with_all.skip = {build_stage::duplicates};
    context ctx = context_with(2);
    ctx.on_progress = [&](const progress&) {
        fs::create_directory(store_layout::file_of(leftovers().at(0) / "folder", store_layout::tokens));
    };
    try {
        build(with_all, ctx);
        ADD_FAILURE();
    } catch (const io_error& e) {
        EXPECT_THAT(e.what(), ::testing::Not(HasSubstr("kept")));
    }
    EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(failed_build_test, in_the_last_step_keeps_what_is_made) {
    const auto requested = options();
    const auto tell = [&](const std::function<void()>& spoil) -> std::string {
        context ctx = context_with(2);
        ctx.on_log = [&](log_level, std::string_view message) {
            if (message.starts_with("vectors: done") || message.ends_with("thesaurus vectors")) spoil();
        };
        try {
            build(requested, ctx);
        } catch (const error& e) {
            return e.what();
        }
        return "no error";
    };
    EXPECT_THAT(tell([&] { fs::create_directory(leftovers().at(0) / "folder" / store_layout::statistics); }),
                HasSubstr("finished stages are kept; the same command resumes from there"));
    EXPECT_EQ(leftovers().size(), 1U);
    EXPECT_THAT(tell([&] { write_file(requested.store / "a file", "of somebody else"); }),
                ::testing::AllOf(HasSubstr("exists"), HasSubstr("finished stages are kept")));
    EXPECT_EQ(leftovers().size(), 1U);
    EXPECT_THAT(names_in(requested.store), ElementsAre("a file"));

    fs::remove_all(requested.store);
    said_.clear();
    build(requested, context_with(1));
    EXPECT_THAT(said_, HasSubstr("finished stages: duplicates index ranks thesaurus vectors\n"));
    EXPECT_THAT(leftovers(), IsEmpty());
    const auto found = files_of(requested.store);
    fs::remove_all(requested.store);
    build(requested, context_with(1));
    EXPECT_EQ(found, files_of(requested.store));
}

TEST_F(failed_build_test, in_an_added_stage_keeps_what_is_made) {
    auto requested = options();
    const std::string reported = io_error_at_the_ranks(requested);
    EXPECT_THAT(reported, ::testing::StartsWith(
                              store_layout::file_of(requested.store, store_layout::link_ranks).string()));
    EXPECT_THAT(reported, HasSubstr("the same command resumes from there, with --skip ranks"));
    EXPECT_THAT(reported, ::testing::Not(HasSubstr(".quern-")));
    EXPECT_FALSE(fs::exists(requested.store));
    EXPECT_THAT(names_in(folder_ / "scratch"), IsEmpty());
    EXPECT_EQ(leftovers().size(), 1U);

    EXPECT_THAT(out_of_memory_at_the_vectors(requested), HasSubstr("--skip vectors"));
    said_.clear();
    build(requested, context_with(1));
    EXPECT_THAT(said_, HasSubstr("finished stages: duplicates index ranks thesaurus\n"));
    EXPECT_THAT(leftovers(), IsEmpty());
    const auto found = files_of(requested.store);
    fs::remove_all(requested.store);
    build(requested, context_with(2));
    EXPECT_EQ(found, files_of(requested.store));
}

TEST_F(failed_build_test, goes_on_without_the_stage) {
    auto requested = options();
    EXPECT_THAT(out_of_memory_at_the_vectors(requested), HasSubstr("--skip vectors"));
    requested.skip = {build_stage::vectors};
    build(requested, context_with(2));
    EXPECT_THAT(said_, HasSubstr("resuming"));
    const auto found = files_of(requested.store);
    fs::remove_all(requested.store);

    // A finished stage cannot be undone.
    requested.skip = {};
    EXPECT_THAT(out_of_memory_at_the_vectors(requested), HasSubstr("--skip vectors"));
    requested.skip = {build_stage::thesaurus};
    said_.clear();
    build(requested, context_with(2));
    EXPECT_THAT(said_, ::testing::Not(HasSubstr("resuming")));
    EXPECT_FALSE(opened_store(requested.store).thesaurus());
    EXPECT_THAT(leftovers(), IsEmpty());
    fs::remove_all(requested.store);

    requested.skip = {build_stage::vectors};
    build(requested, context_with(2));
    EXPECT_EQ(found, files_of(requested.store));
}

TEST_F(failed_build_test, a_stage_that_lacked_a_skipped_one_is_made_anew) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv(dying_folder, folder_.c_str(), 0);
    EXPECT_EXIT(die("vectors: ", {build_stage::thesaurus}), ::testing::KilledBySignal(SIGKILL), "");
    ::unsetenv(dying_folder);

    const auto requested = options();
    build(requested, context_with(2));
    EXPECT_THAT(said_, HasSubstr("finished stages: duplicates index ranks\n"));
    const auto found = files_of(requested.store);
    EXPECT_TRUE(opened_store(requested.store).document_vectors());
    fs::remove_all(requested.store);
    build(requested, context_with(2));
    EXPECT_EQ(found, files_of(requested.store));
}

TEST_F(failed_build_test, of_a_pipe_or_by_ctrl_c_leaves_nothing) {
    auto requested = options();
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const std::string corpus = generated_corpus(60);
    ASSERT_EQ(::write(ends[1], corpus.data(), corpus.size()), static_cast<ssize_t>(corpus.size()));
    ::close(ends[1]);
    requested.inputs = {"/proc/self/fd/" + std::to_string(ends[0])};
    const std::string reported = io_error_at_the_ranks(requested);
    ::close(ends[0]);
    EXPECT_THAT(reported, HasSubstr("--skip ranks builds without this stage"));
    EXPECT_THAT(leftovers(), IsEmpty());

    context ctx = context_with(2);
    std::atomic<int> signal{0};
    ctx.stop_signal = &signal;
    ctx.on_log = [&](log_level, std::string_view message) {
        if (message.starts_with("ranks: done")) signal = SIGINT;
    };
    EXPECT_THROW(build(options(), ctx), interrupted);
    EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(failed_build_test, leftovers_that_are_damaged_are_not_used) {
    const auto requested = options();
    build(requested, context_with(1));
    const auto expected = files_of(requested.store);
    const auto expect_unused = [&](const std::string& damaged) {
        SCOPED_TRACE(damaged);
        fs::remove_all(requested.store);
        std::string bytes = read_file(leftovers().at(0) / damaged);
        ASSERT_FALSE(bytes.empty());
        bytes[bytes.size() / 3] = static_cast<char>(bytes[bytes.size() / 3] ^ 1);
        write_file(leftovers().at(0) / damaged, bytes);
        said_.clear();
        build(requested, context_with(2));
        EXPECT_THAT(said_, ::testing::Not(HasSubstr("resuming")));
        EXPECT_EQ(files_of(requested.store), expected);
        EXPECT_THAT(leftovers(), IsEmpty());
    };
    for (const char* damaged :
         {"folder/texts.section", "folder/link_ranks.section", "folder/copy_ids.section",
          "folder/stop_words.txt", "folder/thesaurus/vectors.section", "left_out.section", "journal.json"}) {
        fs::remove_all(requested.store);
        EXPECT_THAT(out_of_memory_at_the_vectors(requested), HasSubstr("--skip vectors"));
        expect_unused(damaged);
    }
    fs::remove_all(requested.store);
    EXPECT_THAT(out_of_memory_at_the_vectors(requested), HasSubstr("--skip vectors"));
    said_.clear();
    build(requested, context_with(2));  // undamaged, it is used
    EXPECT_THAT(said_, HasSubstr("resuming"));
}

TEST_F(failed_build_test, a_damaged_list_of_excluded_documents_is_not_used) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv(dying_folder, folder_.c_str(), 0);
    EXPECT_EXIT(die("duplicates: done"), ::testing::KilledBySignal(SIGKILL), "");
    ::unsetenv(dying_folder);
    ASSERT_EQ(leftovers().size(), 1U);
    const fs::path list = leftovers()[0] / "left_out.section";
    std::string bytes = read_file(list);
    bytes[0] = static_cast<char>(bytes[0] ^ 1);
    write_file(list, bytes);
    build(options(), context_with(2));
    EXPECT_THAT(said_, ::testing::Not(HasSubstr("resuming")));
}

TEST_F(failed_build_test, of_another_journal_is_not_used) {
    auto requested = options();
    build(requested, context_with(1));
    const auto expected = files_of(requested.store);
    fs::create_directories(folder_ / ".store.quern-abcdef");
    fs::rename(requested.store, folder_ / ".store.quern-abcdef" / "folder");
    write_file(folder_ / ".store.quern-abcdef" / "journal.json", "{}");
    said_.clear();
    build(requested, context_with(1));
    EXPECT_THAT(said_, ::testing::Not(HasSubstr("resuming")));
    EXPECT_EQ(files_of(requested.store), expected);
    EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(build_stages_test, documents_that_waited_leave_no_files) {
    context ctx = context_with(2);
    std::vector<std::string> left;
    ctx.on_log = [&](log_level, std::string_view message) {
        if (!message.starts_with("index: done")) return;
        for (const auto& entry : fs::recursive_directory_iterator(folder_ / "scratch")) {
            left.push_back(entry.path().filename());
        }
    };
    build(options_for(generated_corpus(600)), ctx);
    EXPECT_THAT(left, ::testing::Not(IsEmpty()));  // those of the index
    for (const char* waited : {"entries", "redirects_read", "spooled_ids", "0.texts.section"}) {
        EXPECT_THAT(left, ::testing::Not(::testing::Contains(waited)));
    }
}

}  // namespace
}  // namespace quern::build_stages_test
