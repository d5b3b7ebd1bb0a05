// SPDX-License-Identifier: Apache-2.0
// Exports of a store, read back by an independent parser and compared with words counted by hand.
#include "quern/tasks/export.hpp"
#include "corpus_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <map>
#include <stdexcept>

#include "added_outcome.hpp"
#include "io/byte_source.hpp"
#include "io/store/section.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/link_rank.hpp"
#include "quern/tasks/ngrams.hpp"
#include "reference/ciff_reference.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store_build/stages.hpp"
#include "temporary_folder.hpp"

namespace quern::export_test {
namespace {

namespace fs = std::filesystem;
using reference::ciff_document;
using reference::ciff_index;
using reference::ciff_list;
using reference::read_ciff;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

context context_with(unsigned threads, std::uint64_t memory = 0) {
    context ctx;
    ctx.threads = threads;
    ctx.memory_bytes = memory;
    return ctx;
}

fs::path store_of(const temporary_folder& folder, const std::string& name, const std::string& corpus) {
    write_file(folder / name, corpus);
    build_options options;
    options.inputs = {folder / name};
    options.store = folder / "store";
    options.skip = all_build_stages;
    options.force = true;
    if (name == "lines") options.input_format = "lines";
    build(options, context_with(2));
    return options.store;
}

std::string exported(const fs::path& store, const export_options& options = {},
                     const context& ctx = context_with(2)) {
    std::string bytes;
    export_ciff(
        store, [&](std::string_view part) { bytes += part; }, options, ctx);
    return bytes;
}

std::string unpacked(const std::string& bytes, const temporary_folder& folder) {
    write_file(folder / "packed.gz", bytes);
    const auto source = io::open_bytes(folder / "packed.gz", context_with(1));
    std::string plain, part(1 << 16, '\0');
    while (const std::size_t count = source->read(part)) plain.append(part, 0, count);
    return plain;
}

TEST(export_ciff_test, holds_words_documents_and_lengths) {
    const temporary_folder folder;
    const fs::path store = store_of(folder, "corpus.jsonl",
                                    "{\"id\":\"a\",\"title\":\"First\",\"text\":\"Red apples, red pears.\"}\n"
                                    "{\"id\":7,\"text\":\"\"}\n"
                                    "{\"id\":\"é\",\"title\":\"Third\",\"text\":\"A red Öl\"}\n");
    const std::string bytes = exported(store);
    const ciff_index index = read_ciff(bytes);
    EXPECT_EQ(index.version, 1);
    EXPECT_EQ(index.lists_in_all, index.lists_here);
    EXPECT_EQ(index.documents_in_all, 3);
    EXPECT_EQ(index.words, 9);
    EXPECT_EQ(index.mean_length, 3.0);
    EXPECT_THAT(index.description, HasSubstr("tokens unicode"));
    EXPECT_THAT(index.lists,
                ElementsAre(ciff_list{"a", 1, 1, {{2, 1}}}, ciff_list{"apples", 1, 1, {{0, 1}}},
                            ciff_list{"first", 1, 1, {{0, 1}}}, ciff_list{"pears", 1, 1, {{0, 1}}},
                            ciff_list{"red", 2, 3, {{0, 2}, {2, 1}}}, ciff_list{"third", 1, 1, {{2, 1}}},
                            ciff_list{"öl", 1, 1, {{2, 1}}}));
    EXPECT_THAT(index.documents,
                ElementsAre(ciff_document{0, "a", 5}, ciff_document{1, "7", 0}, ciff_document{2, "é", 4}));

    const ciff_counts counts = export_ciff(
        store, [](std::string_view) {}, {}, context_with(1));
    EXPECT_EQ(counts.lists, 7U);
    EXPECT_EQ(counts.postings, 8U);
    EXPECT_EQ(counts.documents, 3U);
    EXPECT_EQ(counts.bytes, bytes.size());
}

/// Words with numbers of every encoded size: gaps and frequencies of one and of two bytes, lists of several blocks.
void expect_what_counting_finds(std::uint32_t documents, std::uint64_t vocabulary, std::uint64_t seed) {
    testing::made_numbers next(seed);
    std::map<std::string, std::map<std::int32_t, std::int32_t>> counted;
    std::vector<ciff_document> lengths;
    std::string lines;
    for (std::uint32_t d = 0; d < documents; ++d) {
        // Words that every document has, that few have, and one that occurs hundreds of times in a document.
        std::map<std::string, std::int32_t> words;
        words["w0"] = 1;
        for (std::uint64_t w = next(vocabulary); w > 0; --w)
            ++words["wört" + std::to_string(next(vocabulary) * next(vocabulary))];
        if (next(50) == 0) words["often"] = static_cast<std::int32_t>(1 + next(1000));
        std::int32_t length = 0;
        for (const auto& [word, count] : words) {
            for (std::int32_t i = 0; i < count; ++i) lines += word + "\n";
            counted[word][static_cast<std::int32_t>(d)] = count;
            length += count;
        }
        lines += "\n";
        lengths.push_back({static_cast<std::int32_t>(d), std::to_string(d), length});
    }
    const temporary_folder folder;
    const ciff_index index = read_ciff(exported(store_of(folder, "lines", lines)));
    std::vector<ciff_list> expected;
    for (const auto& [word, postings] : counted) {
        ciff_list& list = expected.emplace_back();
        list.word = word;
        list.documents = static_cast<std::int64_t>(postings.size());
        for (const auto& [document, count] : postings) list.occurrences += count;
        list.postings.assign(postings.begin(), postings.end());
    }
    EXPECT_EQ(index.lists, expected);
    EXPECT_EQ(index.documents, lengths);
}

TEST(export_ciff_test, holds_what_counting_finds) {
    for (const std::uint32_t documents : {1U, 31U, 127U, 128U, 129U, 255U, 257U, 1000U}) {
        for (const std::uint64_t vocabulary : {1U, 7U, 40U}) {
            SCOPED_TRACE(std::to_string(documents) + " documents, " + std::to_string(vocabulary) + " words");
            expect_what_counting_finds(documents, vocabulary, documents * vocabulary);
        }
    }
}

TEST(export_ciff_test, compresses_to_the_same_bytes_whatever_the_threads) {
    const temporary_folder folder;
    std::string lines;
    for (int d = 0; d < 60'000; ++d) {
        lines += "w" + std::to_string(d % 7919) + "\nx" + std::to_string(d % 13) + "\ny" + std::to_string(d) +
                 "\n\n";
    }
    const fs::path store = store_of(folder, "lines", lines);
    const std::string plain = exported(store);
    ASSERT_GT(plain.size(), std::size_t{2} << 20);  // several pieces
    const std::string packed = exported(store, {.gzip = true}, context_with(1));
    EXPECT_LT(packed.size(), plain.size() / 2);
    EXPECT_EQ(unpacked(packed, folder), plain);
    EXPECT_EQ(exported(store, {.gzip = true}, context_with(5)), packed);
    EXPECT_EQ(exported(store, {.gzip = true}, context_with(3, std::uint64_t{64} << 20)), packed);
}

TEST(export_ciff_test, ends_with_what_goes_wrong) {
    const temporary_folder folder;
    const fs::path store = store_of(folder, "lines", "a\nb\n\na\n");
    EXPECT_THROW(export_ciff(
                     store, [](std::string_view) { throw std::runtime_error("full"); }, {}, context_with(1)),
                 std::runtime_error);
    const std::atomic<int> stop = SIGINT;
    context stopped = context_with(1);
    stopped.stop_signal = &stop;
    EXPECT_THROW(exported(store, {}, stopped), interrupted);
    EXPECT_THROW(exported(store, {.gzip = true}, stopped), interrupted);

    for (const std::string_view section :
         {store_layout::ids, store_layout::all_words.postings, store_layout::all_words.dictionary,
          store_layout::document_lengths}) {
        const fs::path file = store_layout::file_of(store, section);
        const std::string whole = read_file(file);
        std::string damaged = whole;
        damaged[0] = static_cast<char>(damaged[0] ^ 1);
        write_file(file, damaged);
        try {
            exported(store);
            ADD_FAILURE() << section << " may be damaged";
        } catch (const damaged_store& reported) {
            EXPECT_EQ(reported.section(), section);
        }
        write_file(file, whole);
    }
}

// ---- The model ----

/// Documents with titles, some without words or without a title; words with skewed frequencies.
std::string titled_corpus(unsigned documents, std::uint64_t seed) {
    testing::made_numbers next(seed);
    const auto words = [&](std::uint64_t max) {
        std::string text;
        for (std::uint64_t w = next(max + 1); w > 0; --w)
            text += "w" + std::to_string(next(1 + next(40))) + (next(9) == 0 ? ". " : " ");
        return text;
    };
    std::string lines;
    for (unsigned d = 0; d < documents; ++d) {
        lines += R"({"id":")" + std::to_string(d) + '"';
        if (d % 3 != 0) lines += R"(,"title":")" + words(4) + '"';
        lines += R"(,"text":")" + words(d % 5 == 0 ? 0 : 40) + "\"}\n";
    }
    return lines;
}

std::string model_of(const fs::path& store, const ngram_options& model, const context& ctx = context_with(2),
                     const export_options& options = {}) {
    std::string bytes;
    export_arpa(
        store, [&](std::string_view part) { bytes += part; }, model, options, ctx);
    return bytes;
}

std::string model_of_corpus(const fs::path& corpus, const fs::path& file, const ngram_options& model,
                            const std::string& input_format = "") {
    ngrams_options options;
    options.inputs = {corpus};
    options.input_format = input_format;
    options.titles = true;
    options.ngrams = model;
    options.arpa = file;
    options.replace = true;
    ngrams(options, context_with(1), {});
    return read_file(file);
}

TEST(export_arpa_test, is_the_model_of_the_documents_with_their_titles) {
    const temporary_folder folder;
    const fs::path store = store_of(folder, "corpus.jsonl", titled_corpus(400, 7));
    for (const ngram_smoothing smoothing :
         {ngram_smoothing::jelinek_mercer, ngram_smoothing::dirichlet, ngram_smoothing::absolute}) {
        for (const unsigned order : {1U, 2U, 5U}) {
            for (const std::uint64_t min_count : {1U, 3U}) {
                const ngram_options model{.order = order, .smoothing = smoothing, .min_count = min_count};
                const std::string expected =
                    model_of_corpus(folder / "corpus.jsonl", folder / "model", model);
                ASSERT_GT(expected.size(), 100U);
                EXPECT_EQ(model_of(store, model, context_with(1)), expected);
                EXPECT_EQ(model_of(store, model, context_with(3, std::uint64_t{4} << 20)), expected);
            }
        }
    }
}

TEST(export_arpa_test, counts_and_compresses) {
    const temporary_folder folder;
    const fs::path store = store_of(folder, "lines", "b\na\nb\n\na\n\n");
    const ngram_options model{.order = 2};
    const std::string plain = model_of(store, model);
    EXPECT_EQ(plain, model_of_corpus(folder / "lines", folder / "model", model, "lines"));
    std::string packed;
    const arpa_counts counts = export_arpa(
        store, [&](std::string_view part) { packed += part; }, model, {.gzip = true}, context_with(2));
    EXPECT_EQ(unpacked(packed, folder), plain);
    EXPECT_EQ(counts.bytes, plain.size());
    EXPECT_EQ(counts.documents, 2U);
    EXPECT_EQ(counts.words, 4U);
    EXPECT_EQ(counts.ngrams, 5U + 2);  // a, b and the three marks; a b, b a
    EXPECT_THAT(plain, HasSubstr("ngram 1=5\nngram 2=2\n"));
}

TEST(export_arpa_test, refuses_what_cannot_be) {
    const temporary_folder folder;
    const fs::path store = store_of(folder, "lines", "two words\nfine\nfine\n");
    EXPECT_THAT(model_of(store, {.order = 1}), HasSubstr("\tfine\n"));
    EXPECT_THAT(model_of(store, {.order = 1}), Not(HasSubstr("two words")));
    EXPECT_THROW(model_of(store, {.order = 33}), usage_error);
    EXPECT_THROW(model_of(store, {.only = true}), usage_error);
    EXPECT_THROW(model_of(store, {.method = ngram_method::strings}), usage_error);
    EXPECT_THROW(model_of(folder / "missing", {}), usage_error);
    const fs::path file = store_layout::file_of(store, store_layout::tokens);
    std::string damaged = read_file(file);
    damaged[0] = static_cast<char>(damaged[0] ^ 1);
    write_file(file, damaged);
    EXPECT_THROW(model_of(store, {.order = 1, .min_count = 2}), damaged_store);
}

// ---- The graph ----

std::string graph_of(const fs::path& store, const context& ctx = context_with(2),
                     const export_options& options = {}) {
    std::string bytes;
    export_graph(
        store, [&](std::string_view part) { bytes += part; }, options, ctx);
    return bytes;
}

std::vector<std::pair<std::string, double>> ranks_of(const fs::path& graph) {
    std::vector<std::pair<std::string, double>> ranks;
    link_rank_options options;
    options.graph = graph;
    rank_links(options, context_with(2),
               [&](const ranked_node& node) { ranks.emplace_back(node.id, node.rank); });
    std::ranges::sort(ranks);  // a store's ties are in document order
    return ranks;
}

TEST(export_graph_test, is_the_stores_graph) {
    const temporary_folder folder;
    std::string lines;
    for (int d = 0; d < 300; ++d) {
        const auto id = [](int of) { return "\"page, " + std::to_string(of % 300) + "\""; };
        lines += "{\"id\":" + id(d) + ",\"text\":\"\",\"links\":[" + id(d * 7 + 1) + "," + id(d * d) + "," +
                 id(d * 7 + 1) + "]}\n";
    }
    const fs::path store = store_of(folder, "corpus.jsonl", lines);
    const std::string text = graph_of(store);
    EXPECT_EQ(text.substr(0, text.find('\n', 20)), "page, 0\tpage, 1\npage, 0\tpage, 0");
    write_file(folder / "graph.tsv", text);
    EXPECT_EQ(ranks_of(folder / "graph.tsv"), ranks_of(store));

    std::string packed;
    const graph_counts counts = export_graph(
        store, [&](std::string_view part) { packed += part; }, {.gzip = true}, context_with(2));
    EXPECT_EQ(unpacked(packed, folder), text);
    EXPECT_EQ(counts.links, static_cast<std::uint64_t>(std::ranges::count(text, '\n')));
    EXPECT_EQ(counts.bytes, text.size());
}

TEST(export_graph_test, its_first_link_is_no_heading) {
    const temporary_folder folder;
    const fs::path store = store_of(folder, "corpus.jsonl",
                                    "{\"id\":\"source\",\"text\":\"\",\"links\":[\"target\"]}\n"
                                    "{\"id\":\"target\",\"text\":\"\",\"links\":[\"source\",\"target\"]}\n");
    write_file(folder / "graph.tsv", graph_of(store));
    EXPECT_EQ(ranks_of(folder / "graph.tsv"), ranks_of(store));
}

TEST(export_graph_test, refuses_ids_that_a_line_cannot_hold) {
    const temporary_folder folder;
    for (const std::string id : {"a\\tb", " a", "#a", "1 2", "-3", "%x"}) {
        const fs::path store = store_of(folder, "corpus.jsonl",
                                        R"({"id":"x","text":"","links":["y"]})"
                                        "\n"
                                        R"({"id":"y","text":""})"
                                        "\n"
                                        R"({"id":")" +
                                            id +
                                            R"(","text":""})"
                                            "\n");
        EXPECT_EQ(graph_of(store), "x\ty\n") << id;  // it has no link
        const fs::path linked = store_of(folder, "corpus.jsonl",
                                         R"({"id":"x","text":"","links":[")" + id +
                                             R"("]})"
                                             "\n"
                                             R"({"id":")" +
                                             id +
                                             R"(","text":""})"
                                             "\n");
        EXPECT_THROW(graph_of(linked), invalid_input) << id;
    }
    EXPECT_EQ(graph_of(store_of(folder, "lines", "a\n")), "");
    EXPECT_THROW(graph_of(folder / "missing"), usage_error);
}

// ---- Documents and their vectors ----

TEST(export_vectors_test, are_floats_of_the_stores_integers) {
    const temporary_folder folder;
    const fs::path store = store_of(folder, "corpus.jsonl",
                                    R"({"id":"a","title":"A\tb","text":"c"})"
                                    "\n"
                                    R"({"id":"z","text":""})"
                                    "\n");
    std::string bytes;
    const auto write = [&] {
        bytes.clear();
        return export_vectors(
            store, [&](std::string_view part) { bytes += part; }, {}, context_with(1));
    };
    EXPECT_THROW(write(), usage_error);  // it has none

    const std::int16_t rows[] = {3, -32767, 0, 0, 0, 1};
    io::section_writer section(store_layout::file_of(store, store_layout::document_vectors));
    section.append_values(std::span<const std::int16_t>(rows));
    const auto written = section.finish();
    stage_outcome outcome;
    outcome.sections = {{std::string(store_layout::document_vectors), written.file_bytes, written.checksum}};
    outcome.vectors = {.dimensions = 3, .unit = 32767};
    testing::add_outcome(store, outcome);
    const vector_counts counts = write();
    EXPECT_EQ(counts.rows, 2U);
    EXPECT_EQ(counts.dimensions, 3U);
    ASSERT_EQ(counts.bytes, bytes.size());
    EXPECT_THAT(bytes, HasSubstr("'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)"));
    float values[6];
    std::memcpy(values, bytes.data() + bytes.size() - sizeof values, sizeof values);
    EXPECT_THAT(values, ElementsAre(3 / 32767.0F, -1.0F, 0.0F, 0.0F, 0.0F, 1 / 32767.0F));

    std::string table;
    EXPECT_EQ(export_documents(
                  store, [&](std::string_view part) { table += part; }, {}, context_with(1))
                  .documents,
              2U);
    EXPECT_EQ(table, "a\tA b\t3\nz\t\t0\n");
}

}  // namespace
}  // namespace quern::export_test
