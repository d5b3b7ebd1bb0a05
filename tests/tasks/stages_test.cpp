// SPDX-License-Identifier: Apache-2.0
// The results of the stages for a complete index: the same bits for any threads, equal to those of the separate
// commands, and nothing if the store lacks their input.
#include "tasks/store_build/stages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "added_outcome.hpp"
#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/link_rank.hpp"
#include "quern/tasks/similar.hpp"
#include "tasks/store/document_vectors.hpp"
#include "tasks/store/layout.hpp"
#include "temporary_folder.hpp"

namespace quern::stages_test {
namespace {

namespace fs = std::filesystem;
using testing::files_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

class stages_test : public testing::corpus_fixture {
  protected:
    fs::path store_of(const std::string& corpus, const std::string& name = "store") {
        build_options options;
        options.inputs = {written(corpus, name + ".jsonl")};
        options.store = folder_ / name;
        options.skip = all_build_stages;
        build(options, context_with(2));
        return options.store;
    }
};

/// Documents that link to many others, to themselves and to some that do not exist.
std::string linked_corpus(std::uint32_t documents) {
    std::string lines;
    testing::made_numbers next(7);
    for (std::uint32_t d = 0; d < documents; ++d) {
        lines += "{\"id\":\"d" + std::to_string(d) + "\",\"text\":\"page\",\"links\":[";
        for (std::uint64_t left = next() % 9; left > 0; --left) {
            lines +=
                "\"d" + std::to_string(next() % (1 + next() % (documents + 3))) + (left > 1 ? "\"," : "\"");
        }
        lines += "]}\n";
    }
    return lines;
}

TEST_F(stages_test, link_ranks_are_those_of_the_pagerank_command) {
    const fs::path store = store_of(linked_corpus(700));
    std::map<std::string, double> reported;
    link_rank_options requested;
    requested.graph = store;
    rank_links(requested, context_with(1),
               [&](const ranked_node& node) { reported[std::string(node.id)] = node.rank; });

    EXPECT_FALSE(opened_store(store).link_ranks());
    const fs::path section = store_layout::file_of(store, store_layout::link_ranks);
    const auto once = make_link_ranks(opened_store(store), context_with(1));
    const std::string bytes = read_file(section);
    const auto twice = make_link_ranks(opened_store(store), context_with(3));
    EXPECT_EQ(read_file(section), bytes);
    EXPECT_EQ(once.sections.front().checksum, twice.sections.front().checksum);
    EXPECT_GT(once.counts.at("link_rank_iterations"), 3U);

    testing::add_outcome(store, once);
    testing::add_outcome(store, once);
    EXPECT_EQ(read_store_info(store).sections.size(), opened_store(store).info().sections.size());
    const opened_store ranked(store);
    const auto ranks = ranked.link_ranks();
    ASSERT_TRUE(ranks);
    ASSERT_EQ(ranks->size(), 700U);
    std::uint64_t sum = 0;
    for (std::uint32_t d = 0; d < ranks->size(); ++d) {
        EXPECT_EQ(static_cast<double>((*ranks)[d]) / store_layout::link_rank_units,
                  reported.at(std::string(ranked.id(d))));
        sum += (*ranks)[d];
    }
    EXPECT_NEAR(static_cast<double>(sum) / store_layout::link_rank_units, 1, 1e-4);
    EXPECT_GT(verify_store(store, context_with(2)), 0U);
}

TEST_F(stages_test, a_store_without_links_has_no_ranks) {
    const fs::path store = store_of("{\"id\":\"a\",\"text\":\"one\",\"links\":[\"b\"]}\n");
    const auto made = make_link_ranks(opened_store(store), context_with(1));
    EXPECT_THAT(made.sections, IsEmpty());
    EXPECT_FALSE(fs::exists(store_layout::file_of(store, store_layout::link_ranks)));
}

/// Sentences of a few patterns, so that words are used alike, in paragraphs; titles have separate words.
std::string worded_corpus(std::uint32_t documents) {
    std::string lines;
    testing::made_numbers next(3);
    for (std::uint32_t d = 0; d < documents; ++d) {
        const std::uint64_t theme = next(5);
        lines += "{\"id\":\"d" + std::to_string(d) + "\",\"title\":\"Title " + std::to_string(theme) +
                 "\",\"text\":\"";
        for (std::uint64_t words = 1 + next(200), w = 0; w < words; ++w) {
            lines += "t" + std::to_string(theme) + "n" + std::to_string(next(30) * next(30) / 30);
            lines += w % 13 == 12 ? ".\\n\\n" : w % 5 == 4 ? " the " : " ";
        }
        lines += "\"}\n";
    }
    return lines;
}

TEST_F(stages_test, a_thesaurus_is_the_space_of_the_corpus) {
    const fs::path store = store_of(worded_corpus(300));
    const fs::path thesaurus = store / store_layout::thesaurus;
    const auto made = make_thesaurus(opened_store(store), context_with(1));
    const auto files = files_of(thesaurus);
    EXPECT_GT(files.size(), 10U);
    EXPECT_GT(made.counts.at("thesaurus_words"), 50U);
    ASSERT_TRUE(made.thesaurus);

    words_options requested;
    requested.inputs = {folder_ / "store.jsonl"};
    requested.space = folder_ / "space";
    requested.params = word_space::open(thesaurus, context_with(1)).params();
    words(requested, context_with(2));
    EXPECT_EQ(files_of(requested.space), files);
    requested.inputs = {store};
    requested.force = true;
    words(requested, context_with(3));
    EXPECT_EQ(files_of(requested.space), files);
    make_thesaurus(opened_store(store), context_with(3, 48 << 20));
    EXPECT_EQ(files_of(thesaurus), files);

    EXPECT_FALSE(opened_store(store).thesaurus());
    EXPECT_THROW(space_of(store), usage_error);
    testing::add_outcome(store, made);
    EXPECT_EQ(opened_store(store).thesaurus(), thesaurus);
    EXPECT_EQ(space_of(store), thesaurus);
    EXPECT_EQ(space_of(thesaurus), thesaurus);
    const std::uint64_t bytes = verify_store(store, context_with(2));
    EXPECT_GT(bytes, verify_word_space(thesaurus, context_with(2)));

    // An undamaged space of another store.
    fs::remove_all(thesaurus);
    EXPECT_THROW(verify_store(store, context_with(1)), damaged_store);
    requested.params.min_count = 7;
    words(requested, context_with(1));
    fs::copy(requested.space, thesaurus);
    try {
        verify_store(store, context_with(1));
        FAIL();
    } catch (const damaged_store& e) {
        EXPECT_THAT(e.what(), HasSubstr("belongs to another store"));
    }
}

TEST_F(stages_test, a_thesaurus_has_the_stop_words_of_its_store) {
    write_file(folder_ / "stop", "the\nt0n0\n");
    write_file(folder_ / "corpus.jsonl", worded_corpus(300));
    build_options options;
    options.inputs = {folder_ / "corpus.jsonl"};
    options.store = folder_ / "store";
    options.text.stop_words = folder_ / "stop";
    build(options, context_with(2));
    fs::remove(folder_ / "stop");
    testing::add_outcome(options.store, make_thesaurus(opened_store(options.store), context_with(2)));
    const auto space = word_space::open(space_of(options.store), context_with(1));
    EXPECT_FALSE(space.find("the"));
    EXPECT_FALSE(space.find("t0n0"));
    EXPECT_TRUE(space.find("t0n1"));
    EXPECT_EQ(space.info().requested.at("stop-words"), read_store_info(options.store).text.stop_words);
    EXPECT_GT(verify_store(options.store, context_with(2)), 0U);
}

TEST_F(stages_test, too_little_for_a_thesaurus_is_no_error) {
    for (const std::string corpus :
         {"{\"id\":\"a\",\"text\":\"\"}\n", "{\"id\":\"a\",\"text\":\"one two one\"}\n",
          "{\"id\":\"a\",\"text\":\"a\\n\\na\\n\\na\\n\\na\\n\\na\\n\\nb\\n\\nb\\n\\nb\\n\\nb\\n\\nb\"}\n"}) {
        const fs::path store = store_of(corpus);
        const auto made = make_thesaurus(opened_store(store), context_with(1));
        EXPECT_FALSE(made.thesaurus);
        EXPECT_FALSE(fs::exists(store / store_layout::thesaurus));
        fs::remove_all(store);
    }
}

/// Of two rows; the sums are exact.
double cosine(std::span<const std::int16_t> a, std::span<const std::int16_t> b) {
    std::int64_t both = 0, first = 0, second = 0;
    for (std::size_t j = 0; j < a.size(); ++j) {
        both += std::int64_t{a[j]} * b[j];
        first += std::int64_t{a[j]} * a[j];
        second += std::int64_t{b[j]} * b[j];
    }
    return static_cast<double>(both) / std::sqrt(static_cast<double>(first) * static_cast<double>(second));
}

class vectors_test : public stages_test {
  protected:
    /// A store with a thesaurus and vectors: documents by subject, two that are equal, and some without a known word.
    fs::path store_with_vectors() {
        std::string corpus = worded_corpus(200);
        corpus += "{\"id\":\"rare\",\"text\":\"nobody else says this\"}\n";
        corpus += corpus.substr(0, corpus.find('\n') + 1).replace(corpus.find("d0"), 2, "e0");
        corpus += "{\"id\":\"empty\",\"text\":\"\"}\n";
        const fs::path store = store_of(corpus);
        testing::add_outcome(store, make_thesaurus(opened_store(store), context_with(2)));
        made_ = make_document_vectors(opened_store(store), context_with(2));
        testing::add_outcome(store, made_);
        return store;
    }
    static std::vector<std::vector<std::int16_t>> rows_of(const opened_store& store) {
        const auto view = store.document_vectors().value();
        const auto* values = reinterpret_cast<const std::int16_t*>(view.values.data());
        std::vector<std::vector<std::int16_t>> rows;
        for (std::uint64_t d = 0; d < view.rows; ++d, values += view.dimensions) {
            rows.emplace_back(values, values + view.dimensions);
        }
        return rows;
    }
    stage_outcome made_;
};

TEST_F(vectors_test, are_the_same_for_any_threads) {
    const fs::path store = store_with_vectors();
    const fs::path section = store_layout::file_of(store, store_layout::document_vectors);
    const std::string bytes = read_file(section);
    make_document_vectors(opened_store(store), context_with(1));
    EXPECT_EQ(read_file(section), bytes);
    make_document_vectors(opened_store(store), context_with(5));
    EXPECT_EQ(read_file(section), bytes);
    EXPECT_EQ(made_.counts.at("documents_without_vector"), 2U);
    EXPECT_EQ(read_store_info(store).vectors, made_.vectors);
    EXPECT_GT(verify_store(store, context_with(2)), 0U);
    EXPECT_THROW(make_document_vectors(opened_store(store), context_with(1, 1 << 10)), out_of_memory);
}

TEST_F(vectors_test, are_sums_of_weighted_directions) {
    const opened_store store(store_with_vectors());
    const auto space = word_space::open(*store.thesaurus(), context_with(1));
    const auto info = space.info();
    const auto sigma_section =
        io::section_view(*store.thesaurus() / "singular_values.section", "singular_values");
    const auto sigma = sigma_section.values<double>(0, info.dimensions);
    const auto rows = rows_of(store);
    const auto documents = static_cast<double>(store.info().documents);
    for (std::uint32_t d = 0; d < rows.size(); ++d) {
        std::vector<std::uint32_t> words;
        const auto tokens = store.tokens();
        tokens.code->decode(tokens.words_of(d), words);
        std::vector<double> sum(info.dimensions);
        for (const std::uint32_t word : words) {
            const auto known = space.find(store.words().dictionary().word(word));
            if (!known) continue;
            const auto vector = space.vector(*known);
            double squares = 0;
            for (std::size_t j = 0; j < sum.size(); ++j)
                squares += vector[j] / sigma[j] * (vector[j] / sigma[j]);
            const double weight = std::log(documents / store.words().postings(word).document_frequency);
            for (std::size_t j = 0; j < sum.size(); ++j)
                sum[j] += weight * vector[j] / sigma[j] / std::sqrt(squares);
        }
        double squares = 0;
        for (const double x : sum) squares += x * x;
        for (std::size_t j = 0; j < sum.size(); ++j) {
            EXPECT_NEAR(rows[d][j], squares > 0 ? sum[j] / std::sqrt(squares) * 32767 : 0, 0.6)
                << d << ' ' << j;
        }
    }
}

TEST_F(vectors_test, nearest_documents_are_those_of_all_pairs) {
    const opened_store store(store_with_vectors());
    const auto rows = rows_of(store);
    const auto vectors = document_vectors::of(store, context_with(2)).value();
    const auto same = static_cast<std::uint32_t>(rows.size() - 2), rare = same - 1;
    EXPECT_FALSE(vectors.has(rare));
    EXPECT_FALSE(vectors.has(static_cast<std::uint32_t>(rows.size())));
    EXPECT_TRUE(vectors.has(same));
    EXPECT_THAT(vectors.nearest_documents(rare, 5), IsEmpty());
    EXPECT_THAT(vectors.nearest_documents(0, 0), IsEmpty());
    EXPECT_THROW(vectors.nearest_documents(static_cast<std::uint32_t>(rows.size()), 1), usage_error);
    for (std::uint32_t d = 0; d < rows.size(); d += 7) {
        std::vector<std::uint32_t> wanted, found;
        for (std::uint32_t other = 0; other < rows.size(); ++other) {
            if (other != d && vectors.has(other) && vectors.has(d)) wanted.push_back(other);
        }
        const auto all = vectors.nearest_documents(d, 10'000);
        for (const auto& [document, similarity] : all) {
            found.push_back(document);
            EXPECT_NEAR(similarity, cosine(rows[d], rows[document]), 0x1p-23);
        }
        EXPECT_TRUE(std::ranges::is_sorted(all, [](const similar_document& a, const similar_document& b) {
            return a.similarity != b.similarity ? a.similarity > b.similarity : a.document < b.document;
        }));
        std::ranges::sort(found);
        EXPECT_EQ(found, wanted);
        auto few = all;
        few.resize(std::min<std::size_t>(3, few.size()));
        EXPECT_EQ(vectors.nearest_documents(d, 3), few);
    }
    // Of two equal ones each finds the other, and never itself.
    EXPECT_EQ(vectors.nearest_documents(0, 1).front().document, same);
    EXPECT_EQ(vectors.nearest_documents(same, 1).front().document, 0U);
}

TEST_F(vectors_test, need_a_thesaurus_and_words_that_tell_documents_apart) {
    const fs::path store = store_of(worded_corpus(20), "plain");
    EXPECT_THAT(make_document_vectors(opened_store(store), context_with(1)).sections, IsEmpty());
    EXPECT_FALSE(document_vectors::of(opened_store(store), context_with(1)));

    std::string equal;
    for (const char* id : {"a", "b", "c", "d", "e"}) {
        equal += "{\"id\":\"" + std::string(id) + "\",\"text\":\"one two three\"}\n";
    }
    const fs::path alike = store_of(equal, "alike");
    testing::add_outcome(alike, make_thesaurus(opened_store(alike), context_with(1)));
    ASSERT_TRUE(opened_store(alike).thesaurus());
    EXPECT_THAT(make_document_vectors(opened_store(alike), context_with(1)).sections, IsEmpty());
    EXPECT_FALSE(fs::exists(store_layout::file_of(alike, store_layout::document_vectors)));
    EXPECT_GT(verify_store(alike, context_with(1)), 0U);
}

TEST_F(stages_test, ranks_of_another_collection_are_found_out) {
    const fs::path large = store_of(linked_corpus(40), "large"), small = store_of(linked_corpus(30), "small");
    const auto ranks = make_link_ranks(opened_store(large), context_with(1));
    fs::copy_file(store_layout::file_of(large, store_layout::link_ranks),
                  store_layout::file_of(small, store_layout::link_ranks));
    testing::add_outcome(small, ranks);
    try {
        verify_store(small, context_with(1));
        FAIL();
    } catch (const damaged_store& e) {
        EXPECT_THAT(e.what(), HasSubstr("link_ranks"));
    }
}

}  // namespace
}  // namespace quern::stages_test
