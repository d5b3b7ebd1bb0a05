// SPDX-License-Identifier: Apache-2.0
// Rows, counts and models of small generated corpora, compared with the definitions: for any method, threads and
// memory.
#include "quern/tasks/ngrams.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <span>
#include <sstream>

#include "quern/base/error.hpp"
#include "quern/tasks/dictionary.hpp"
#include "quern/tasks/search.hpp"
#include "reference/ngram_reference.hpp"
#include "tasks/ngrams/child_words.hpp"
#include "tasks/ngrams/document_rows.hpp"
#include "tasks/ngrams/short_texts.hpp"
#include "tasks/ngrams/word_ranks.hpp"
#include "temporary_folder.hpp"

namespace quern::ngrams_test {
namespace {

namespace fs = std::filesystem;
using reference::word_list;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

/// Documents of few words with skewed frequencies, so that n-grams repeat; some are empty.
struct made_corpus {
    std::vector<std::string> vocabulary;  ///< sorted
    std::vector<word_list> documents;

    made_corpus(std::size_t size, unsigned words, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        std::set<std::string> sorted;
        while (sorted.size() < words)
            sorted.insert("w" + std::to_string(random() % (std::uint64_t{1} << (1 + random() % 16))));
        vocabulary.assign(sorted.begin(), sorted.end());
        for (std::size_t d = 0; d < size; ++d) {
            if (d % 10 == 9) {
                documents.push_back(documents[5]);  // long n-grams repeat, too
                continue;
            }
            word_list& text = documents.emplace_back();
            const std::size_t length = d % 7 == 0 ? 0 : random() % (d % 5 == 0 ? 200 : 12);
            for (std::size_t i = 0; i < length; ++i)
                text.push_back(static_cast<std::uint32_t>(random() % (1 + random() % words)));
        }
        // Only words that occur belong to the corpus.
        std::set<std::uint32_t> used;
        for (const word_list& text : documents) used.insert(text.begin(), text.end());
        std::map<std::uint32_t, std::uint32_t> rank;
        std::vector<std::string> kept;
        for (const std::uint32_t w : used) {
            rank.emplace(w, static_cast<std::uint32_t>(kept.size()));
            kept.push_back(vocabulary[w]);
        }
        vocabulary = kept;
        for (word_list& text : documents)
            for (std::uint32_t& w : text) w = rank[w];
    }

    std::string name(std::size_t document) const { return "doc " + std::to_string(99999 - document); }
    std::string words(const word_list& ids) const {
        std::string joined;
        for (const std::uint32_t w : ids) {
            if (!joined.empty()) joined += ' ';
            joined += w == vocabulary.size() ? std::string(unknown_ngram_word) : vocabulary[w];
        }
        return joined;
    }
    std::string tsv() const {
        std::string lines;
        for (std::size_t d = 0; d < documents.size(); ++d)
            lines += name(d) + "\t" + (documents[d].empty() ? "!" : words(documents[d])) + "\n";
        return lines;
    }
};

context context_with(unsigned threads, const temporary_folder& scratch, std::uint64_t memory = 0) {
    context ctx = context::cpu(threads);
    ctx.scratch = scratch.path();
    ctx.memory_bytes = memory;
    return ctx;
}

class ngrams_task : public ::testing::Test {
  protected:
    temporary_folder folder_;

    ngrams_options of(const made_corpus& corpus, unsigned order) const {
        write_file(folder_ / "corpus.tsv", corpus.tsv());
        ngrams_options options;
        options.inputs = {folder_ / "corpus.tsv"};
        options.input_format = "tsv";
        options.ngrams.order = order;
        return options;
    }
    std::string tsv_of(const ngrams_options& options, const context& ctx) const {
        std::string text;
        ngrams_as_text(options, row_format::tsv, ctx, [&](std::string_view part) { text += part; });
        return text;
    }
    /// A dictionary of every second word.
    fs::path dictionary_of(const made_corpus& corpus, text_options text = {}) const {
        std::string lines = "1\t";
        for (std::size_t w = 0; w < corpus.vocabulary.size(); w += 2) lines += corpus.vocabulary[w] + " ";
        write_file(folder_ / "some.tsv", lines + "elsewhere\n");
        dictionary_options options;
        options.inputs = {folder_ / "some.tsv"};
        options.input_format = "tsv";
        options.file = folder_ / "some.dictionary";
        options.text = text;
        options.force = true;
        make_dictionary(options, context_with(1, folder_));
        return options.file;
    }
};

/// The expected output for a corpus, by the definitions.
std::string expected_tsv(const made_corpus& corpus, const ngram_options& options) {
    const reference::ngram_counter counter(corpus.documents, options.order);
    std::vector<reference::ngram_row> rows = counter.rows(options);
    std::ranges::stable_sort(rows, {}, &reference::ngram_row::document);
    std::string text;
    for (const reference::ngram_row& row : rows) {
        text += corpus.name(row.document) + "\t" + std::to_string(row.n) + "\t" + corpus.words(row.words) +
                "\t" + std::to_string(row.in_document) + "\t" + std::to_string(row.in_collection) + "\t" +
                shortest(row.weight);
        if (options.history_counts)
            text += "\t" + std::to_string(row.history_in_document) + "\t" +
                    std::to_string(row.history_in_collection);
        text += "\n";
    }
    return text;
}

TEST_F(ngrams_task, writes_what_the_definitions_say) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        const made_corpus corpus(60, 12, seed);
        for (const unsigned order : {1U, 2U, 4U, 8U}) {
            ngrams_options options = of(corpus, order);
            options.ngrams.only = seed == 3;
            options.ngrams.history_counts = seed == 2;
            options.ngrams.min_count = seed;
            options.ngrams.smoothing = static_cast<ngram_smoothing>(seed - 1);
            options.ngrams.mu = 7;
            if (order == 4) options.ngrams.measure = ngram_measure::bm25;
            const std::string expected = expected_tsv(corpus, options.ngrams);
            ASSERT_FALSE(expected.empty());
            for (unsigned method = 0; method < std::size(ngram_method_names); ++method) {
                options.ngrams.method = static_cast<ngram_method>(method);
                ASSERT_EQ(tsv_of(options, context_with(2, folder_)), expected) << ngram_method_names[method];
            }
        }
    }
}

TEST_F(ngrams_task, titles_stand_in_front_on_request) {
    write_file(folder_ / "titled.jsonl", R"({"id":"1","title":"The Mill","text":"grinds. The end"})"
                                         "\n"
                                         R"({"id":"2","text":"a mill"})"
                                         "\n"
                                         R"({"id":"3","title":"Alone","text":""})"
                                         "\n");
    write_file(folder_ / "plain.jsonl", R"({"id":"1","text":"The Mill grinds. The end"})"
                                        "\n"
                                        R"({"id":"2","text":"a mill"})"
                                        "\n"
                                        R"({"id":"3","text":"Alone"})"
                                        "\n");
    write_file(folder_ / "texts.jsonl", R"({"id":"1","text":"grinds. The end"})"
                                        "\n"
                                        R"({"id":"2","text":"a mill"})"
                                        "\n"
                                        R"({"id":"3","text":""})"
                                        "\n");
    const auto rows_of = [&](const char* name, bool titles) {
        ngrams_options options;
        options.inputs = {folder_ / name};
        options.titles = titles;
        return tsv_of(options, context_with(2, folder_));
    };
    EXPECT_EQ(rows_of("titled.jsonl", true), rows_of("plain.jsonl", false));
    EXPECT_EQ(rows_of("titled.jsonl", false), rows_of("texts.jsonl", true));
    EXPECT_NE(rows_of("titled.jsonl", true), rows_of("titled.jsonl", false));
}

/// The weight of a word in a document is the word's part of a search score, to the last bit of the score.
TEST_F(ngrams_task, bm25_of_single_words_is_what_search_adds) {
    const made_corpus corpus(200, 40, 9);
    std::string lines;
    for (std::size_t d = 0; d < corpus.documents.size(); ++d) {
        lines += R"({"id":")" + corpus.name(d) + R"(","title":")" +
                 corpus.vocabulary[d % corpus.vocabulary.size()] + R"(","text":")" +
                 corpus.words(corpus.documents[d]) + "\"}\n";
    }
    write_file(folder_ / "corpus.jsonl", lines);
    build_options built;
    built.inputs = {folder_ / "corpus.jsonl"};
    built.store = folder_ / "store";
    built.skip = all_build_stages;
    build(built, context_with(2, folder_));
    const auto engine = search_engine::open(built.store, context_with(1, folder_));
    for (const auto& [k1, b] : {std::pair(0.9, 0.4), std::pair(1.7, 1.0), std::pair(0.0, 0.0)}) {
        ngrams_options options;
        options.inputs = built.inputs;
        options.titles = true;
        options.ngrams = {.order = 1, .measure = ngram_measure::bm25, .k1 = k1, .b = b};
        using place = std::pair<std::string, std::string>;  // a document and a word
        std::map<place, std::pair<std::uint32_t, double>> weights, parts;
        ngrams(options, context_with(2, folder_), [&](const ngram_row& row) {
            // As search rounds them: multiples of 2^-32, at least one.
            const double units = std::max(1.0, std::nearbyint(row.weight * 0x1p32));
            weights[{std::string(row.document), std::string(row.words)}] = {row.in_document, units * 0x1p-32};
        });
        search_options requested;
        requested.explain = true;
        requested.snippets = false;
        requested.k = corpus.documents.size();
        requested.ranking.k1 = k1;
        requested.ranking.b = b;
        for (const std::string& word : corpus.vocabulary) {
            for (const search_hit& hit : engine.search(word, requested).hits) {
                ASSERT_EQ(hit.explanation.size(), 1U);
                const explained_term& of = hit.explanation.front();
                parts[{std::string(hit.id), of.term}] = {of.in_document, of.part};
            }
        }
        ASSERT_GT(parts.size(), 1000U);
        EXPECT_EQ(parts, weights) << "k1 " << k1 << ", b " << b;
    }
}

TEST_F(ngrams_task, the_same_rows_whatever_the_threads_and_the_memory) {
    const made_corpus corpus(3000, 4000, 4);
    ngrams_options options = of(corpus, 3);
    options.ngrams.history_counts = true;
    const std::string expected = tsv_of(options, context_with(1, folder_));
    EXPECT_EQ(expected, expected_tsv(corpus, options.ngrams));
    EXPECT_EQ(tsv_of(options, context_with(3, folder_)), expected);
    for (const std::uint64_t memory : {3 << 20, 8 << 20}) {
        std::string text;
        const ngrams_result made = ngrams_as_text(options, row_format::tsv, context_with(2, folder_, memory),
                                                  [&](std::string_view part) { text += part; });
        EXPECT_EQ(text, expected);
        EXPECT_GT(made.statistics.counts.at("spilled_bytes"), 0U);
    }
}

TEST_F(ngrams_task, text_is_what_a_row_writer_writes) {
    write_file(folder_ / "corpus.jsonl",
               "{\"id\":\"a\\tb\\u0001\",\"text\":\"Stra\\u00dfe \\\"quoted\\\" naïve\"}\n"
               "{\"id\":\"\\ud83d\\ude00\",\"text\":\"naïve it's\"}\n");
    write_file(folder_ / "words.txt", "with \"quotes\"\nwith\ttab\n\xff\xfe\n\nwith\ttab\n");
    for (const bool verbatim : {false, true}) {
        for (const bool counts : {false, true}) {
            for (const row_format format : {row_format::tsv, row_format::jsonl}) {
                ngrams_options options;
                options.inputs = {folder_ / (verbatim ? "words.txt" : "corpus.jsonl")};
                options.input_format = verbatim ? "lines" : "jsonl";
                options.ngrams.history_counts = counts;
                std::string expected, text;
                row_writer rows(format, ngram_columns(options.ngrams),
                                [&](std::string_view part) { expected += part; });
                ngrams(options, context_with(2, folder_), [&](const ngram_row& row) {
                    std::vector<cell> cells = {row.document,      std::uint64_t{row.n},
                                               row.words,         std::uint64_t{row.in_document},
                                               row.in_collection, row.weight};
                    if (counts) {
                        cells.emplace_back(std::uint64_t{row.history_in_document});
                        cells.emplace_back(row.history_in_collection);
                    }
                    rows.row(cells);
                });
                ngrams_as_text(options, format, context_with(2, folder_),
                               [&](std::string_view part) { text += part; });
                EXPECT_EQ(text, expected);
                EXPECT_THAT(text, HasSubstr(verbatim ? "quotes" : "strasse"));
            }
        }
    }
}

TEST_F(ngrams_task, words_that_the_dictionary_lacks_are_one_and_stand_last) {
    made_corpus corpus(40, 30, 5);
    ngrams_options options = of(corpus, 3);
    options.dictionary = dictionary_of(corpus);
    std::uint64_t unknown = 0, words = 0;
    std::vector<std::string> kept;
    for (std::size_t w = 0; w < corpus.vocabulary.size(); w += 2) kept.push_back(corpus.vocabulary[w]);
    for (word_list& text : corpus.documents) {
        for (std::uint32_t& w : text) {
            ++words;
            unknown += w % 2;
            w = w % 2 ? static_cast<std::uint32_t>(kept.size()) : w / 2;
        }
    }
    const std::size_t distinct = corpus.vocabulary.size();
    corpus.vocabulary = kept;
    ASSERT_GT(unknown, 0U);
    std::string text;
    const ngrams_result made = ngrams_as_text(options, row_format::tsv, context_with(2, folder_),
                                              [&](std::string_view part) { text += part; });
    EXPECT_EQ(text, expected_tsv(corpus, options.ngrams));
    EXPECT_THAT(text, HasSubstr(" <unk>"));
    EXPECT_EQ(made.words, words);
    EXPECT_EQ(made.unknown, unknown);
    EXPECT_EQ(made.distinct, distinct);
    EXPECT_EQ(made.distinct_unknown, distinct / 2);
    EXPECT_EQ(made.totals[0].with_unknown, unknown);
    EXPECT_DOUBLE_EQ(made.statistics.measures.at("unknown_share_1"),
                     static_cast<double>(unknown) / static_cast<double>(words));
}

TEST_F(ngrams_task, a_dictionary_brings_its_text_options) {
    const made_corpus corpus(10, 10, 6);
    ngrams_options options = of(corpus, 1);
    text_options text;
    text.tokens = token_rule::letters;
    options.dictionary = dictionary_of(corpus, text);
    EXPECT_THAT(tsv_of(options, context_with(1, folder_)), HasSubstr("\tw\t"));
    options.text = text_options{};
    EXPECT_THROW(tsv_of(options, context_with(1, folder_)), usage_error);
    options.text = text;
    EXPECT_THAT(tsv_of(options, context_with(1, folder_)), HasSubstr("\tw\t"));

    write_file(folder_ / "stop", "w\n");
    text.stop_words = (folder_ / "stop").string();
    options.dictionary = dictionary_of(corpus, text);
    options.text.reset();
    EXPECT_THROW(tsv_of(options, context_with(1, folder_)), usage_error);
    options.text = text;
    EXPECT_EQ(tsv_of(options, context_with(1, folder_)), "");
}

TEST_F(ngrams_task, refuses_what_cannot_be) {
    const made_corpus corpus(10, 10, 7);
    const ngrams_options good = of(corpus, 2);
    const context ctx = context_with(1, folder_);
    const auto refused = [&](const auto& change) {
        ngrams_options options = good;
        change(options);
        EXPECT_THROW(tsv_of(options, ctx), usage_error);
    };
    refused([](ngrams_options& o) { o.inputs.clear(); });
    refused([](ngrams_options& o) { o.inputs = {"/no/such/corpus"}; });
    refused([](ngrams_options& o) { o.ngrams.order = 33; });
    refused([](ngrams_options& o) { o.ngrams.lambda = 2; });
    refused([](ngrams_options& o) { o.dictionary = "/no/such/dictionary"; });
    refused([&](ngrams_options& o) { o.totals = o.inputs.front(); });
    refused([&](ngrams_options& o) {
        o.arpa = folder_ / "model";
        o.ngrams.only = true;
    });
    refused([&](ngrams_options& o) {
        o.dictionary = dictionary_of(corpus);
        o.ngrams.method = ngram_method::strings;
    });
    EXPECT_FALSE(fs::exists(folder_ / "model"));
    ngrams_options options = good;
    options.totals = folder_ / "totals";
    EXPECT_THROW(ngrams(options, ctx, [](const ngram_row&) { throw interrupted(2); }), interrupted);
    EXPECT_FALSE(fs::exists(options.totals));
}

TEST_F(ngrams_task, a_corpus_without_words_has_no_rows) {
    write_file(folder_ / "corpus.tsv", "1\t!\n2\t?\n");
    ngrams_options options;
    options.inputs = {folder_ / "corpus.tsv"};
    options.input_format = "tsv";
    options.totals = folder_ / "totals";
    options.arpa = folder_ / "model";
    std::uint64_t rows = 0;
    const ngrams_result made = ngrams(options, context_with(2, folder_), [&](const ngram_row&) { ++rows; });
    EXPECT_EQ(rows, 0U);
    EXPECT_EQ(made.documents, 2U);
    EXPECT_EQ(read_file(options.totals), "");
    EXPECT_THAT(read_file(options.arpa), HasSubstr("ngram 1=3\nngram 2=0\n"));
}

TEST_F(ngrams_task, totals_are_the_counts_of_the_collection) {
    const made_corpus corpus(400, 50, 8);
    for (const std::uint64_t least : {1, 3}) {
        ngrams_options options = of(corpus, 4);
        options.ngrams.min_count = least;
        options.totals = folder_ / "totals";
        options.replace = true;
        std::string expected;
        const reference::ngram_counter counter(corpus.documents, 4);
        word_list last;
        for (const reference::ngram_row& row : counter.rows(options.ngrams)) {
            if (row.words != last)
                expected += corpus.words(row.words) + "\t" + std::to_string(row.in_collection) + "\n";
            last = row.words;
        }
        for (const std::uint64_t memory : {0, 2 << 20}) {
            ngrams(options, context_with(2, folder_, memory), {});
            EXPECT_EQ(read_file(options.totals), expected);
        }
    }
}

// ---- Models ----

/// An ARPA file as readers parse it.
struct arpa {
    struct entry {
        double probability, back_off;
    };
    std::map<std::string, entry> ngrams;
    std::vector<std::uint64_t> announced, found;
    bool ended = false;

    explicit arpa(const std::string& text) {
        std::istringstream lines(text);
        std::string line;
        std::getline(lines, line);
        EXPECT_EQ(line, "\\data\\");
        while (std::getline(lines, line)) {
            EXPECT_FALSE(ended);
            if (line.empty()) continue;
            if (line.starts_with("ngram ")) {
                announced.push_back(std::stoull(line.substr(line.find('=') + 1)));
                EXPECT_EQ(line.substr(6, line.find('=') - 6), std::to_string(announced.size()));
            } else if (line.ends_with("-grams:")) {
                found.push_back(0);
                EXPECT_EQ(line, "\\" + std::to_string(found.size()) + "-grams:");
            } else if (line == "\\end\\") {
                ended = true;
            } else {
                const std::size_t tab = line.find('\t'), second = line.find('\t', tab + 1);
                EXPECT_EQ(second == std::string::npos, found.size() == announced.size()) << line;
                const std::string words = line.substr(tab + 1, second - tab - 1);
                const double back_off =
                    second == std::string::npos ? 1 : std::pow(10, std::stod(line.substr(second + 1)));
                EXPECT_TRUE(ngrams.emplace(words, entry{std::pow(10, std::stod(line)), back_off}).second);
                EXPECT_EQ(std::ranges::count(words, ' ') + 1, static_cast<std::ptrdiff_t>(found.size()));
                ++found.back();
            }
        }
        EXPECT_EQ(found, announced);
        EXPECT_TRUE(ended);
    }

    /// Backs off as every reader does.
    double probability(const std::vector<std::string>& history, const std::string& word) const {
        std::string joined;
        for (const std::string& h : history) joined += h + " ";
        if (const auto at = ngrams.find(joined + word); at != ngrams.end()) return at->second.probability;
        if (history.empty()) return ngrams.at("<unk>").probability;
        joined.pop_back();
        const auto at = ngrams.find(joined);
        const double weight = at == ngrams.end() ? 1 : at->second.back_off;
        return weight * probability({history.begin() + 1, history.end()}, word);
    }
};

/// The probability by its definition, recursively.
double model_probability(const reference::ngram_counter& counter, const ngram_options& options,
                         const word_list& ngram, std::uint64_t words, std::uint32_t kept_words) {
    const word_list history(ngram.begin(), ngram.end() - 1), shorter(ngram.begin() + 1, ngram.end());
    const auto f = static_cast<double>(counter.of(ngram).all);
    if (history.empty()) {
        double rest = 1;
        for (const std::uint32_t w : counter.of(history).followers) {
            const auto of_word = static_cast<double>(counter.of({w}).all);
            if (of_word >= static_cast<double>(options.min_count))
                rest -= (of_word - options.delta) / static_cast<double>(words);
        }
        return (f - options.delta) / static_cast<double>(words) + rest / (kept_words + 1);
    }
    const reference::occurrences& of_history = counter.of(history);
    const auto h = static_cast<double>(of_history.followed);
    double rest = 1;
    const auto own = [&](double count) {
        if (options.smoothing == ngram_smoothing::dirichlet) return count / (h + options.mu);
        if (options.smoothing == ngram_smoothing::absolute) return (count - options.delta) / h;
        return options.lambda * count / h;
    };
    for (const std::uint32_t w : of_history.followers) {
        word_list other = history;
        other.push_back(w);
        const std::uint64_t count = counter.of(other).all;
        if (count >= options.min_count) rest -= own(static_cast<double>(count));
    }
    return own(f) + rest * model_probability(counter, options, shorter, words, kept_words);
}

TEST_F(ngrams_task, a_model_is_proper_and_as_it_says) {
    const made_corpus corpus(50, 15, 9);
    std::uint64_t words = 0;
    for (const word_list& text : corpus.documents) words += text.size();
    const reference::ngram_counter counter(corpus.documents, 4);
    for (const unsigned smoothing : {0, 1, 2}) {
        for (const std::uint64_t least : {1, 2}) {
            ngrams_options options = of(corpus, 4);
            options.ngrams.smoothing = static_cast<ngram_smoothing>(smoothing);
            options.ngrams.mu = 5;
            options.ngrams.lambda = 0.75;
            options.ngrams.min_count = least;
            options.arpa = folder_ / "model";
            options.replace = true;
            const ngrams_result made = ngrams(options, context_with(2, folder_), {});
            const arpa model(read_file(options.arpa));
            EXPECT_EQ(made.model_ngrams, model.ngrams.size());

            std::uint32_t kept_words = 0;
            std::vector<std::string> vocabulary{"<unk>"};
            for (std::uint32_t w = 0; w < corpus.vocabulary.size(); ++w) {
                if (counter.of({w}).all < least) continue;
                ++kept_words;
                vocabulary.push_back(corpus.vocabulary[w]);
            }
            word_list last;
            std::size_t compared = 0;
            for (const reference::ngram_row& row : counter.rows(options.ngrams)) {
                if (row.words == last) continue;
                last = row.words;
                const auto at = model.ngrams.find(corpus.words(row.words));
                ASSERT_NE(at, model.ngrams.end());
                const double expected =
                    model_probability(counter, options.ngrams, row.words, words, kept_words);
                EXPECT_NEAR(at->second.probability, expected, 1e-6 * expected);
                ++compared;
            }
            EXPECT_EQ(compared + 3, model.ngrams.size());
            // After every known history, after an unknown one, and after none.
            std::vector<std::vector<std::string>> histories = {{}, {"<unk>"}, {"w0", "<unk>", "w1"}};
            for (const auto& [ngram, ignored] : model.ngrams) {
                std::istringstream parts(ngram);
                histories.emplace_back(std::istream_iterator<std::string>(parts),
                                       std::istream_iterator<std::string>());
                if (histories.back().size() == 4) histories.back().erase(histories.back().begin());
            }
            for (const std::vector<std::string>& history : histories) {
                double sum = 0;
                for (const std::string& word : vocabulary) sum += model.probability(history, word);
                ASSERT_NEAR(sum, 1, 1e-5);
            }
        }
    }
}

TEST_F(ngrams_task, a_model_counts_unknown_words_and_is_the_same_in_little_memory) {
    const made_corpus corpus(2000, 900, 10);
    ngrams_options options = of(corpus, 3);
    options.dictionary = dictionary_of(corpus);
    options.arpa = folder_ / "model";
    options.replace = true;
    options.ngrams.smoothing = ngram_smoothing::absolute;
    ngrams(options, context_with(2, folder_), {});
    const std::string text = read_file(options.arpa);
    const arpa model(text);
    EXPECT_TRUE(model.ngrams.contains("<unk> <unk>"));
    EXPECT_GT(model.ngrams.at("<unk>").probability, 0.1);
    double sum = 0;
    for (std::size_t w = 0; w < corpus.vocabulary.size(); w += 2)
        sum += model.probability({"<unk>"}, corpus.vocabulary[w]);
    EXPECT_NEAR(sum + model.probability({"<unk>"}, "<unk>"), 1, 1e-5);
    for (const std::uint64_t memory : {3 << 20, 16 << 20}) {
        ngrams(options, context_with(1, folder_, memory), {});
        EXPECT_EQ(read_file(options.arpa), text);
    }
}

TEST_F(ngrams_task, a_model_lacks_the_words_that_its_format_cannot_hold) {
    for (const char* const word : {"two words", "<s>", "</s>", "<unk>", "tab\there"}) {
        write_file(folder_ / "words", std::string("fine\nfine\n") + word + "\nfine\nother\n");
        ngrams_options options;
        options.inputs = {folder_ / "words"};
        options.input_format = "lines";
        options.arpa = folder_ / "model";
        options.totals = folder_ / "totals";
        options.replace = true;
        options.ngrams.order = 3;
        std::vector<std::string> warnings;
        context ctx = context_with(1, folder_);
        ctx.on_log = [&](log_level level, std::string_view text) {
            if (level == log_level::warning) warnings.emplace_back(text);
        };
        const ngrams_result result = ngrams(options, ctx, {});
        EXPECT_EQ(result.excluded_words, 1U) << word;
        ASSERT_EQ(warnings.size(), 1U) << word;
        EXPECT_THAT(warnings[0], HasSubstr(word));
        EXPECT_THAT(read_file(options.totals), HasSubstr("fine fine\t1\n"));
        const arpa model(read_file(options.arpa));
        // Three marks, fine and other; fine fine and fine other. Every n-gram of three words contains it.
        EXPECT_EQ(model.ngrams.size(), 7U) << word;
        EXPECT_EQ(result.model_ngrams, 7U) << word;
        EXPECT_EQ(model.ngrams.contains(word), std::string_view(word).starts_with('<'));
        double sum = model.probability({"fine"}, "<unk>");
        for (const char* const each : {"fine", "other"}) sum += model.probability({"fine"}, each);
        EXPECT_NEAR(sum, 1, 1e-5) << word;

        options.ngrams.min_count = 2;  // excludes it
        EXPECT_EQ(ngrams(options, ctx, {}).excluded_words, 0U);
        EXPECT_EQ(warnings.size(), 1U);
    }
}

TEST_F(ngrams_task, a_model_without_some_words_has_its_histories_still) {
    // With a minimum count, a history's own count comes from another table, which must lose the same rows.
    std::string lines;
    for (int i = 0; i < 40; ++i)
        lines += "a\nb\n" + std::string(i % 3 == 0 ? "new york\n" : "c\n") + "a\nc\n";
    write_file(folder_ / "words", lines);
    ngrams_options options;
    options.inputs = {folder_ / "words"};
    options.input_format = "lines";
    options.arpa = folder_ / "model";
    options.replace = true;
    options.ngrams.order = 3;
    options.ngrams.min_count = 2;
    options.ngrams.smoothing = ngram_smoothing::absolute;
    EXPECT_EQ(ngrams(options, context_with(2, folder_), {}).excluded_words, 1U);
    const std::string text = read_file(options.arpa);
    EXPECT_THAT(text, Not(HasSubstr("york")));
    const arpa model(text);
    const std::vector<std::vector<std::string>> histories = {{},         {"a"},      {"b"},     {"c"},
                                                             {"a", "b"}, {"b", "c"}, {"c", "a"}};
    for (const std::vector<std::string>& history : histories) {
        double sum = model.probability(history, "<unk>");
        for (const char* const each : {"a", "b", "c"}) sum += model.probability(history, each);
        EXPECT_NEAR(sum, 1, 1e-5);
    }
    ngrams(options, context_with(1, folder_, 3 << 20), {});
    EXPECT_EQ(read_file(options.arpa), text);
}

// ---- Parts ----

TEST(word_ranks, merges_what_was_spilled) {
    for (const std::uint64_t memory : {std::uint64_t{1} << 30, std::uint64_t{1} << 14}) {
        const temporary_folder folder;
        const context ctx = context_with(2, folder);
        scratch_folder scratch(ctx);
        word_ranks ranks(scratch, memory);
        std::mt19937_64 random(11);
        std::map<std::string, std::set<std::uint32_t>> expected;
        for (unsigned unit = 0; unit < 60; ++unit) {
            word_count_table words;
            for (unsigned i = 0; i < 100; ++i)
                words.add(std::string(random() % 20, 'x') + std::to_string(random() % 300) +
                          std::string(random() % 2, '\0'));
            std::vector<std::uint32_t> numbers;
            ranks.add(words, numbers);
            for (std::uint32_t w = 0; w < words.size(); ++w)
                expected[std::string(words.word(w))].insert(numbers[w]);
        }
        EXPECT_EQ(ranks.runs() > 3, memory < (1 << 20));
        const std::uint64_t given = ranks.numbers(), max_letters = ranks.letters();
        auto at = expected.begin();
        std::uint64_t letters = 0, numbers_seen = 0;
        ranks.for_each(ctx, [&](std::string_view word, std::span<const std::uint32_t> numbers) {
            ASSERT_NE(at, expected.end());
            EXPECT_EQ(at->first, word);
            EXPECT_EQ(at->second, std::set<std::uint32_t>(numbers.begin(), numbers.end()));
            ++at;
            letters += word.size();
            numbers_seen += numbers.size();
        });
        EXPECT_EQ(at, expected.end());
        EXPECT_EQ(numbers_seen, given);
        EXPECT_GE(max_letters, letters);
    }
}

TEST(short_texts, are_the_pieces_one_after_the_other) {
    std::string found, expected;
    short_texts pieces(found);
    padded_text padded;
    for (const std::size_t size :
         {0, 1, 31, 32, 33, 5000, 16'351, 16'352, 16'383, 16'384, 16'385, 40'000, 7}) {
        for (unsigned times = 0; times < 5; ++times) {
            const std::string piece(size, static_cast<char>('a' + times));
            pieces.append(piece);
            padded.make([&](std::string& text) { text += piece; });
            pieces.append_with(padded.capacity(), [&](char* to) { return padded.put(to); });
            expected += piece + piece;
        }
    }
    pieces.flush();
    EXPECT_EQ(found, expected);
}

TEST(child_words, finds_the_words_of_every_node) {
    std::mt19937_64 random(13);
    for (const std::uint32_t vocabulary : {0U, 1U, 40U, 5000U, ~std::uint32_t{0}}) {
        std::vector<std::uint64_t> children{0};
        std::vector<std::uint32_t> words;
        for (const std::size_t max : {1, 0, 15, 16, 17, 0, 63, 64, 65, 3000, 2, 257}) {
            // Dense, sparse, and all possible words.
            for (const std::uint64_t spread : {std::uint64_t{max}, std::uint64_t{1} << 32}) {
                std::set<std::uint32_t> of_node;
                for (std::size_t i = 0; i < 4 * max && of_node.size() < max; ++i)
                    of_node.insert(static_cast<std::uint32_t>(
                        random() % std::min<std::uint64_t>(spread, std::uint64_t{vocabulary} + 1)));
                words.insert(words.end(), of_node.begin(), of_node.end());
                children.push_back(words.size());
            }
        }
        const temporary_folder folder;
        const context ctx = context_with(2, folder);
        scratch_folder scratch(ctx);
        table_share share(std::uint64_t{1} << 20);
        cpu_place place(ctx);
        const child_words found(place, children, words, vocabulary,
                                {share, scratch, "starts", words.size() / child_words::words_an_entry + 1});
        for (std::size_t node = 0; node + 1 < children.size(); ++node) {
            const child_words::range among{children[node], children[node + 1]};
            for (std::uint64_t i = among.begin; i < among.end; ++i) {
                const child_words::range narrowed = found.narrow(among, words[i]);
                EXPECT_LE(among.begin, narrowed.begin);
                EXPECT_LE(narrowed.end, among.end);
                EXPECT_EQ(found.find(narrowed, words[i]), i);
            }
        }
    }
}

/// Adds blocks of random rows of the documents that document_of(random number) names, for n of 1 to 3 in turns, and
/// compares the order in which they come back.
void expect_rows_by_document(std::span<const std::uint64_t> offsets, std::uint64_t memory, unsigned blocks,
                             unsigned rows_of_block,
                             const std::function<std::uint32_t(std::uint64_t)>& document_of,
                             const std::function<void(std::uint64_t spilled, std::uint64_t added)>& judge) {
    ngram_options options;
    options.order = 3;
    const temporary_folder folder;
    scratch_folder scratch(context_with(1, folder));
    document_rows<document_row> rows(scratch, offsets, options, memory, 3);
    cpu_place host(context::cpu(3));
    std::vector<std::vector<std::uint32_t>> expected((offsets.size() - 1) * 3);  // firsts, by document and n
    std::mt19937_64 random(12);
    for (unsigned block = 0; block < blocks; ++block) {
        const unsigned n = 1 + block % 3;
        std::vector<std::uint32_t> documents, firsts;
        for (unsigned i = 0; i < rows_of_block; ++i) {
            documents.push_back(document_of(random()));
            firsts.push_back(static_cast<std::uint32_t>(random()));
            expected[documents.back() * 3 + n - 1].push_back(firsts.back());
        }
        const std::vector<std::uint32_t> counts(rows_of_block, 7);
        const std::vector<std::uint64_t> in_collection(rows_of_block, 9);
        const std::vector<double> weights(rows_of_block, 0.5);
        rows.add(host, {n, documents, firsts, counts, in_collection, weights, {}, {}});
    }
    std::vector<std::vector<std::uint32_t>> found(expected.size());
    std::uint32_t last = 0;
    bool ordered = true, whole = true;
    const auto look = [&](std::span<const document_row> part) {
        for (const document_row& row : part) {
            const std::uint32_t key = row.document * 3 + row.n - 1;
            ordered &= key >= last;
            last = key;
            found[key].push_back(row.first);
            whole &= row.in_document == 7 && row.in_collection == 9 && row.weight == 0.5;
        }
    };
    std::vector<document_rows<document_row>::piece> pieces(3);  // each is used when later ones are made
    std::size_t made = 0, used = 0;
    while (rows.next(pieces[made % 3])) {
        if (++made - used == 3) pieces[used++ % 3].drain(look);
    }
    while (used != made) pieces[used++ % 3].drain(look);
    EXPECT_TRUE(ordered);
    EXPECT_TRUE(whole);
    EXPECT_EQ(found, expected);
    judge(rows.spilled_bytes(), std::uint64_t{blocks} * rows_of_block * sizeof(document_row));
}

TEST(document_rows, brings_rows_into_the_order_of_documents) {
    // Document 2 alone exceeds a bucket; document 1 is empty.
    const std::vector<std::uint64_t> offsets = {0, 10'000, 10'000, 200'000, 210'000, 240'000};
    for (const std::uint64_t memory : {std::uint64_t{1} << 20, std::uint64_t{1} << 30}) {
        for (const unsigned blocks : {300U, 3U}) {  // one thread adds small ones, several add large ones
            expect_rows_by_document(
                offsets, memory, blocks, 150'000 / blocks,
                [](std::uint64_t random) {
                    constexpr std::uint32_t with_words[] = {0, 2, 2, 2, 3, 4, 4};
                    return with_words[random % std::size(with_words)];
                },
                [&](std::uint64_t spilled, std::uint64_t) { EXPECT_EQ(spilled > 0, memory == (1 << 20)); });
        }
    }
}

TEST(document_rows, partitions_again_what_does_not_fit) {
    // Far more buckets than may be open at once; every hundredth document is empty, and one is longer than a bucket.
    std::vector<std::uint64_t> offsets{0};
    for (unsigned d = 0; d < 5'000; ++d)
        offsets.push_back(offsets.back() + (d == 1'234 ? 150'000 : d % 100 == 0 ? 0 : 900));
    expect_rows_by_document(
        offsets, 1 << 20, 2'400, 500,
        [](std::uint64_t random) -> std::uint32_t {
            if (random % 8 == 0) return 1'234;
            const auto d = static_cast<std::uint32_t>(random / 8 % 5'000);
            return d % 100 == 0 ? d + 1 : d;
        },
        [](std::uint64_t spilled, std::uint64_t added) { EXPECT_GT(spilled, added + added / 2); });
}

}  // namespace
}  // namespace quern::ngrams_test
