// SPDX-License-Identifier: Apache-2.0
// Word spaces of small generated corpora, compared with the definitions computed word by word in double precision: for
// any gaps, windows, relations and measures; the same bytes for any number of threads and any memory.
#include "quern/tasks/words.hpp"
#include "corpus_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "quern/base/error.hpp"
#include "quern/tasks/similar.hpp"
#include "temporary_folder.hpp"

namespace quern::words_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using testing::read_file;
using testing::temporary_folder;
using ::testing::UnorderedElementsAre;
using testing::write_file;

// ---- A corpus as a structure, and its text ----

using sentence = std::vector<std::string>;
using paragraph = std::vector<sentence>;
using made_corpus = std::vector<std::vector<paragraph>>;  // documents

/// Words with skewed frequencies, so that some are everywhere and many below any minimum; adjacent repeats; stop words;
/// documents and paragraphs of every length, including empty ones.
made_corpus generated(std::uint32_t documents, std::uint64_t seed) {
    testing::made_numbers next(seed);
    const auto word = [&]() -> std::string {
        if (next(5) == 0) return next(2) == 0 ? "the" : "of";
        const std::uint64_t rank = std::uint64_t{1} << next(8);
        return "w" + std::string(1, static_cast<char>('a' + next(rank) % 26)) +
               std::string(1, static_cast<char>('a' + rank % 26));
    };
    made_corpus corpus(documents);
    for (auto& document : corpus) {
        document.resize(next(4));
        for (paragraph& p : document) {
            p.resize(1 + next(4));
            for (sentence& s : p) {
                for (std::uint64_t length = 1 + next(12); s.size() < length;) {
                    s.push_back(s.empty() || next(10) != 0 ? word() : s.back());
                }
            }
        }
    }
    return corpus;
}

std::string lines_of(const made_corpus& corpus) {
    std::string lines;
    for (std::size_t d = 0; d < corpus.size(); ++d) {
        lines += R"({"id":"d)" + std::to_string(d) + R"(","title":"ignored title","text":")";
        for (const paragraph& p : corpus[d]) {
            for (const sentence& s : p) {
                for (std::size_t i = 0; i < s.size(); ++i) lines += (i == 0 ? "" : " ") + s[i];
                lines += "! ";
            }
            lines += R"(\n\n)";
        }
        lines += "\"}\n";
    }
    return lines;
}

// ---- The definitions, word by word ----

struct truth {
    std::vector<std::string> words;  // by id
    std::vector<std::uint64_t> frequencies;
    std::map<std::string, std::map<std::pair<std::string, std::string>, double>>
        weights;  // word, (relation, other)
};

bool is_stop(const std::string& word) {
    return word == "the" || word == "of";
}

truth truth_of(const made_corpus& corpus, const space_params& q) {
    truth out;
    std::map<std::string, std::uint64_t> counts;
    std::vector<std::vector<std::string>> passages;  // "": an empty position
    for (const auto& document : corpus) {
        for (const paragraph& p : document) {
            if (q.window_end == window_limit::paragraph) passages.emplace_back();
            for (const sentence& s : p) {
                if (q.window_end == window_limit::sentence) passages.emplace_back();
                for (const std::string& word : s) {
                    if (!is_stop(word)) {
                        ++counts[word];
                        passages.back().push_back(word);
                    } else if (q.gaps == gap_policy::keep) {
                        passages.back().emplace_back();
                    }
                }
            }
        }
    }
    std::vector<std::pair<std::string, std::uint64_t>> order;
    for (const auto& [word, count] : counts) {
        if (count >= q.min_count) order.emplace_back(word, count);
    }
    std::ranges::stable_sort(order, std::greater<>(), [](const auto& entry) { return entry.second; });
    if (order.size() > q.vocabulary) order.resize(q.vocabulary);
    std::set<std::string> known;
    for (const auto& [word, count] : order) {
        out.words.push_back(word);
        out.frequencies.push_back(count);
        known.insert(word);
    }
    std::map<std::string, std::map<std::pair<std::string, std::string>, double>> cells;
    std::map<std::pair<std::string, std::string>, double> of_word,
        of_context;  // (word, relation), (relation, other)
    std::map<std::string, double> of_relation, of_word_alone, of_other_alone;
    double all = 0;
    const int window = static_cast<int>(q.counting.window);
    for (const auto& passage : passages) {
        for (int i = 0; i < static_cast<int>(passage.size()); ++i) {
            for (int d = -window; d <= window; ++d) {
                if (d == 0 || i + d < 0 || i + d >= static_cast<int>(passage.size())) continue;
                const std::string &a = passage[static_cast<std::size_t>(i)],
                                  &b = passage[static_cast<std::size_t>(i + d)];
                if (!known.contains(a) || !known.contains(b)) continue;
                if (a == b && !q.counting.count_self) continue;
                const std::string r =
                    q.counting.relation == word_relation::none ? "*" : (d > 0 ? "+" : "") + std::to_string(d);
                cells[a][{r, b}] += 1;
                of_word[{a, r}] += 1;
                of_context[{r, b}] += 1;
                of_relation[r] += 1;
                of_word_alone[a] += 1;
                of_other_alone[b] += 1;
                all += 1;
            }
        }
    }
    for (const auto& [a, row] : cells) {
        for (const auto& [context, count] : row) {
            const auto& [r, b] = context;
            const double numerator = count - q.pmi.discount.value();
            const double weight =
                q.pmi.information == pmi_kind::conditional
                    ? std::log(numerator * of_relation[r] / (of_word[{a, r}] * of_context[context]))
                    : std::log(numerator * all * all /
                               (of_word_alone[a] * of_relation[r] * of_other_alone[b]));
            if (weight > q.pmi.min_weight) out.weights[a][context] = weight;
        }
    }
    return out;
}

double true_score(const truth& t, const std::string& a, const std::string& b, word_measure measure) {
    const auto x = t.weights.find(a), y = t.weights.find(b);
    if (x == t.weights.end() || y == t.weights.end()) return 0;
    double shared = 0, left = 0, right = 0;
    const bool lin = measure == word_measure::lin;
    for (const auto& [context, w] : x->second) {
        left += lin ? w : w * w;
        const auto at = y->second.find(context);
        if (at != y->second.end()) shared += lin ? w + at->second : w * at->second;
    }
    for (const auto& [context, w] : y->second) right += lin ? w : w * w;
    return shared == 0 ? 0 : lin ? shared / (left + right) : shared / std::sqrt(left * right);
}

// ---- Running ----

class words_test : public testing::corpus_fixture {
  protected:
    words_options options_for(const std::string& corpus, const std::string& name = "corpus.jsonl") {
        write_file(folder_ / "stop", "the\nof\n");
        words_options options;
        options.inputs = {written(corpus, name)};
        options.space = folder_ / "space";
        options.text.stop_words = folder_ / "stop";
        options.params.min_count = 2;
        options.force = true;
        return options;
    }
    word_space opened() { return word_space::open(folder_ / "space", context_with()); }
    template <class Error, class Work>
    static std::string refusal(const Work& work) {
        try {
            work();
        } catch (const Error& e) {
            return e.what();
        }
        return "not refused";
    }
    /// All files of the space except the record of the run.
    std::map<std::string, std::string> bytes_of(const fs::path& space) {
        std::map<std::string, std::string> files;
        for (const auto& entry : fs::directory_iterator(space)) {
            const std::string name = entry.path().filename().string();
            if (name != "stats.json") files[name] = read_file(entry.path());
        }
        return files;
    }
    void expect_truth(const made_corpus& corpus, const space_params& q) {
        const truth t = truth_of(corpus, q);
        const word_space space = opened();
        ASSERT_EQ(space.size(), t.words.size());
        for (std::uint32_t w = 0; w < space.size(); ++w) {
            ASSERT_EQ(space.word(w), t.words[w]);
            ASSERT_EQ(space.frequency(w), t.frequencies[w]);
            ASSERT_EQ(space.find(t.words[w]), w);
            expect_contexts(space, t, w);
            if (q.measure != word_measure::lsa) expect_neighbours(space, t, w, q);
        }
    }
    static void expect_contexts(const word_space& space, const truth& t, std::uint32_t w) {
        const auto row = t.weights.find(t.words[w]);
        const auto found = space.contexts(w, 1'000'000);
        ASSERT_EQ(found.size(), row == t.weights.end() ? 0 : row->second.size()) << t.words[w];
        float before = INFINITY;
        for (const shared_context& c : found) {
            const std::pair key(space.relation(c.relation), std::string(space.word(c.word)));
            ASSERT_TRUE(row->second.contains(key)) << key.first << ' ' << key.second;
            ASSERT_NEAR(static_cast<double>(c.first), row->second.at(key),
                        1e-6 * row->second.at(key) + 1e-12);
            ASSERT_LE(c.first, before);
            before = c.first;
        }
    }
    static void expect_neighbours(const word_space& space, const truth& t, std::uint32_t w,
                                  const space_params& q) {
        const auto found = space.similar({{w}, {}}, q.top, context::cpu(1));
        std::vector<double> all;
        for (std::uint32_t v = 0; v < space.size(); ++v) {
            const double score = true_score(t, t.words[w], t.words[v], q.measure);
            if (v != w && score > 0) all.push_back(score);
        }
        std::ranges::sort(all, std::greater<>());
        ASSERT_EQ(found.size(), std::min<std::size_t>(all.size(), q.top)) << t.words[w];
        for (std::size_t i = 0; i < found.size(); ++i) {
            const double score = true_score(t, t.words[w], t.words[found[i].word], q.measure);
            ASSERT_NEAR(found[i].score, score, 1e-6 * score);
            ASSERT_NEAR(found[i].score, all[i], 1e-6 * all[i]);
            if (i > 0) {
                const bool in_order =
                    found[i - 1].score > found[i].score ||
                    (found[i - 1].score == found[i].score && found[i - 1].word < found[i].word);
                ASSERT_TRUE(in_order);
            }
        }
    }
};

TEST_F(words_test, are_as_defined_for_any_params) {
    const made_corpus corpus = generated(60, 1);
    words_options options = options_for(lines_of(corpus));
    const space_params plain = options.params;
    std::vector<space_params> all_params(9, plain);
    all_params[1].gaps = gap_policy::keep;
    all_params[2].window_end = window_limit::sentence;
    all_params[3].counting = {1, word_relation::position, false};
    all_params[4].counting = {5, word_relation::none, true};
    all_params[5].pmi = {{0, 1}, pmi_kind::independent, 0.25};
    all_params[6].measure = word_measure::cosine;
    all_params[6].min_count = 7;
    all_params[7].vocabulary = 17;
    all_params[7].top = 3;
    all_params[8] = {gap_policy::keep,
                     window_limit::sentence,
                     {3, word_relation::position, false},
                     {{0, 1}, pmi_kind::conditional, 0}};  // the thesis
    for (std::size_t i = 0; i < all_params.size(); ++i) {
        SCOPED_TRACE(i);
        options.params = all_params[i];
        words(options, context_with());
        expect_truth(corpus, all_params[i]);
        if (HasFatalFailure()) return;
    }
}

TEST_F(words_test, are_the_same_bytes_for_every_thread_count_and_memory) {
    const made_corpus corpus = generated(20000, 2);
    words_options options = options_for(lines_of(corpus));
    ASSERT_GT(fs::file_size(options.inputs[0]), 1 << 20);
    std::map<std::string, std::string> once;
    std::uint64_t spilled = 0;
    for (const auto& [threads, memory] : std::vector<std::pair<unsigned, std::uint64_t>>{
             {1, 0}, {2, 0}, {5, 0}, {2, 4 << 20}, {1, 5 << 20}}) {
        context ctx = context_with(threads, memory);
        const words_result result = words(options, ctx);
        if (memory != 0) spilled += result.statistics.counts.at("spilled_bytes");
        if (once.empty()) once = bytes_of(options.space);
        EXPECT_EQ(bytes_of(options.space), once) << threads << " threads, " << memory << " bytes";
        EXPECT_THAT(once, Contains(Key("stop_words.txt")));
    }
    EXPECT_GT(spilled, 0U);
    EXPECT_EQ(verify_word_space(options.space, context_with()), [&] {
        std::uint64_t bytes = 0;
        for (const auto& [name, text] : once) bytes += name == "space.json" ? 0 : text.size();
        return bytes;
    }());
}

TEST_F(words_test, vectors_are_the_same_bytes_for_every_thread_count) {
    words_options options = options_for(lines_of(generated(400, 2)));
    options.params.measure = word_measure::lsa;
    options.params.dimensions = 12;
    std::set<std::string> different;
    for (const reduced_matrix of : {reduced_matrix::mi, reduced_matrix::documents}) {
        options.params.lsa_of = of;
        words(options, context_with(1));
        const auto once = bytes_of(options.space);
        different.insert(once.at("vectors.section"));
        words(options, context_with(3));
        EXPECT_EQ(bytes_of(options.space), once);
    }
    EXPECT_EQ(different.size(), 2U);
}

TEST_F(words_test, what_is_computed_is_what_is_stored) {
    for (const word_measure measure : {word_measure::lin, word_measure::cosine, word_measure::lsa}) {
        words_options options = options_for(lines_of(generated(80, 3)));
        options.params.measure = measure;
        options.params.dimensions = measure == word_measure::lsa ? 5 : 0;
        options.params.top = 4;
        words(options, context_with());
        const word_space space = opened();
        const context ctx = context_with();
        std::vector<std::uint32_t> everyone(space.size());
        for (std::uint32_t w = 0; w < space.size(); ++w) everyone[w] = w;
        for (std::uint32_t w = 0; w < space.size(); ++w) {
            const auto stored = space.similar({{w}, {}}, 4, ctx);
            EXPECT_EQ(space.similar({{w}, {}}, 4, ctx, everyone), stored);
            const auto more = space.similar({{w}, {}}, 9, ctx);
            ASSERT_GE(more.size(), stored.size());
            EXPECT_TRUE(std::equal(stored.begin(), stored.end(), more.begin()));
            for (const neighbour& n : stored) {
                const std::pair<std::uint32_t, std::uint32_t> pair[] = {{w, n.word}, {n.word, w}};
                EXPECT_THAT(space.scores(pair, ctx), ElementsAre(n.score, n.score));
            }
        }
    }
}

TEST_F(words_test, several_together_are_sums_of_scores) {
    words_options options = options_for(lines_of(generated(80, 4)));
    words(options, context_with());
    const word_space space = opened();
    const context ctx = context_with();
    const auto found = space.similar({{5, 2}, {3}}, 1000, ctx);
    ASSERT_GT(found.size(), 3U);
    EXPECT_EQ(space.similar({{2, 5}, {3}}, 1000, ctx), found);
    std::set<std::uint32_t> seen;
    for (const neighbour& n : found) {
        seen.insert(n.word);
        const std::pair<std::uint32_t, std::uint32_t> pairs[] = {{2, n.word}, {5, n.word}, {3, n.word}};
        const auto s = space.scores(pairs, ctx);
        EXPECT_EQ(n.score, s[0] + s[1] - s[2]);
        EXPECT_GT(n.score, 0);
    }
    for (const std::uint32_t w : {2U, 3U, 5U}) EXPECT_FALSE(seen.contains(w));
    const std::vector<std::uint32_t> list{7, 1, 2, 7};
    for (const neighbour& n : space.similar({{2}, {}}, 10, ctx, list))
        EXPECT_TRUE(n.word == 7 || n.word == 1);
    EXPECT_THROW(space.similar({}, 10, ctx), usage_error);
    const std::vector<std::uint32_t> beyond{1, space.size()};
    EXPECT_THROW(space.similar({{2}, {}}, 10, ctx, beyond), usage_error);
    EXPECT_THROW(space.similar({{space.size()}, {}}, 10, ctx), usage_error);
    EXPECT_THROW(space.similar({{1}, beyond}, 10, ctx), usage_error);
}

TEST_F(words_test, shared_contexts_are_those_of_both_rows) {
    words_options options = options_for(lines_of(generated(80, 5)));
    options.params.measure = word_measure::cosine;
    words(options, context_with());
    const word_space space = opened();
    std::map<std::pair<std::uint32_t, std::uint32_t>, float> first;
    for (const auto& c : space.contexts(0, 1000)) first[{c.relation, c.word}] = c.first;
    std::size_t shared = 0;
    for (const auto& c : space.contexts(1, 1000)) shared += first.contains({c.relation, c.word}) ? 1 : 0;
    const auto both = space.contexts(0, 1, 1000);
    ASSERT_GT(shared, 1U);
    EXPECT_EQ(both.size(), shared);
    float before = INFINITY;
    for (const auto& c : both) {
        const auto at = first.find({c.relation, c.word});
        ASSERT_NE(at, first.end());
        EXPECT_EQ(at->second, c.first);
        EXPECT_LE(c.first * c.second, before * 1.000001F);
        before = c.first * c.second;
    }
    EXPECT_EQ(space.contexts(0, 1, 2).size(), 2U);
}

TEST_F(words_test, all_scores_are_an_array_of_num_py) {
    words_options options = options_for(lines_of(generated(40, 6)));
    options.params.full_matrix = true;
    for (const word_measure measure : {word_measure::lin, word_measure::lsa}) {
        options.params.measure = measure;
        options.params.dimensions = 6;
        words(options, context_with());
        const word_space space = opened();
        const std::uint32_t n = space.size();
        const std::string file = read_file(options.space / "similarities.npy");
        const std::string shape = "'shape': (" + std::to_string(n) + ", " + std::to_string(n) + ")";
        EXPECT_THAT(file.substr(0, 128), AllOf(HasSubstr("NUMPY"), HasSubstr("'<f8'"), HasSubstr(shape)));
        ASSERT_GT(file.size(), 8ULL * n * n);
        const std::size_t header = file.size() - 8ULL * n * n;
        EXPECT_EQ(header % 64, 0U);
        EXPECT_EQ(file[header - 1], '\n');
        std::vector<double> scores(std::size_t{n} * n);
        std::memcpy(scores.data(), file.data() + header, 8 * scores.size());
        for (std::uint32_t a = 0; a < n; ++a) {
            for (const neighbour& found : space.similar({{a}, {}}, 20, context_with())) {
                EXPECT_EQ(scores[a * std::size_t{n} + found.word], found.score);
            }
            const double self = scores[a * (n + std::size_t{1})];
            EXPECT_TRUE(self == 1 || self == 0);
        }
        EXPECT_EQ(read_word_space_info(options.space).requested.at("top"), "all");
        std::string broken = file;
        broken[header + 100] ^= 1;
        write_file(options.space / "similarities.npy", broken);
        EXPECT_THROW(verify_word_space(options.space, context_with()), damaged_store);
    }
}

TEST_F(words_test, triples_in_any_order) {
    const std::string some =
        "eat\tobj\tbread\t4\neat\tobj\tapple\t3\nbake\tobj\tbread\t5\r\nbake\tobj\tcake\n\nbake\tobj\tcake\n"
        "bread\tobj-of\teat\t4\napple\tobj-of\teat\t3\nbread\tobj-of\tbake\t5\ncake\tobj-of\tbake\t2\n"
        "cake\tobj-of\teat\t2\neat\tobj\tcake\t2\nfly\tsubj\tbird\n";
    words_options options = options_for(some, "triples.tsv");
    options.input_format = "triples";
    options.params.pmi.discount = {0, 1};
    words_result result = words(options, context_with());
    EXPECT_EQ(result.counts.documents, 12U);
    EXPECT_EQ(result.occurrences, 33U);
    const auto once = bytes_of(options.space);
    const word_space space = opened();
    EXPECT_EQ(space.relation(0), "obj");
    EXPECT_EQ(space.relation(1), "obj-of");
    EXPECT_EQ(space.word(0), "bread");  // as often as eat, and before it
    EXPECT_EQ(space.frequency(0), 18U);
    EXPECT_FALSE(space.find("bird"));  // once, but two are required
    const auto cake = space.find("cake"), bread = space.find("bread");
    ASSERT_TRUE(cake && bread);
    // |cake, obj-of, eat| = 2; obj-of occurs 16 times, 4 of them with cake, 9 with eat.
    const auto contexts = space.contexts(*cake, 10);
    EXPECT_EQ(contexts.size(), 1U);  // with bake: log(2 * 16 / (4 * 7)) is above 0; with eat below
    EXPECT_NEAR(static_cast<double>(contexts[0].first), std::log(2.0 * 16 / (4 * 7)), 1e-7);
    const std::pair<std::uint32_t, std::uint32_t> pair[] = {{*cake, *bread}};
    EXPECT_GT(space.scores(pair, context_with())[0], 0.99);

    std::vector<std::string> lines;
    for (std::size_t at = 0; at < some.size(); at = some.find('\n', at) + 1) {
        lines.push_back(some.substr(at, some.find('\n', at) - at));
    }
    std::ranges::reverse(lines);
    std::string reversed;
    for (const std::string& line : lines) reversed += line + "\n";
    options = options_for(reversed, "triples.tsv");
    options.input_format = "triples";
    options.params.pmi.discount = {0, 1};
    words(options, context_with());
    EXPECT_EQ(bytes_of(options.space), once);
}

TEST_F(words_test, lines_that_are_no_triples_are_reported_by_number) {
    words_options options = options_for(
        "a\tr\tb\na\tr\n\nb\tr\ta\t0\na\tr\tb\t2\tx\n\tr\tb\na\tr\tb\t1e3\nb\tr\t\xFF\nb\tr\ta\t2",
        "triples.tsv");
    options.input_format = "triples";
    options.max_errors = {0, 100, false};
    options.params.pmi.discount = {0, 1};
    const words_result result = words(options, context_with());
    EXPECT_EQ(result.counts.documents, 2U);
    EXPECT_EQ(result.counts.rejected, 6U);
    std::vector<std::uint64_t> lines;
    for (const input_issue& issue : result.issues) lines.push_back(issue.line);
    EXPECT_THAT(lines, ElementsAre(2, 4, 5, 6, 7, 8));
    const std::string with_mark =
        "\xEF\xBB\xBF"
        "a\tr\tb\nb\tr\ta\nc\tr\tb\n";
    write_file(folder_ / "marked.tsv", with_mark);
    options.inputs = {folder_ / "marked.tsv"};
    options.params.min_count = 1;
    words(options, context_with());
    EXPECT_TRUE(opened().find("a"));  // not the mark and it
    options.inputs = {folder_ / "triples.tsv"};
    options.params.min_count = 2;
    options.max_errors = {0, 5, false};
    EXPECT_THAT(refusal<invalid_input>([&] { words(options, context_with()); }), HasSubstr("triples.tsv:2"));
    options.max_errors = {};
    EXPECT_THROW(words(options, context_with()), invalid_input);
    options.params.dimensions = 3;
    options.params.lsa_of = reduced_matrix::documents;
    EXPECT_THROW(words(options, context_with()), usage_error);
}

TEST_F(words_test, counts_of_triples_that_would_wrap_around_are_refused) {
    // 2,048 times 2^53 is 2^64: the count would wrap to zero, and the words would be dropped silently.
    std::string corpus = "c\tr\td\t10\ne\tr\td\t10\nc\tr\tf\t5\ne\tr\tf\t7\n";
    for (int i = 0; i < 2048; ++i) corpus += "a\tr\tb\t9007199254740992\n";
    words_options options = options_for(corpus, "triples.tsv");
    options.input_format = "triples";
    EXPECT_THAT(refusal<invalid_input>([&] { words(options, context_with()); }),
                AllOf(HasSubstr("triples.tsv:1028"), HasSubstr("2^63")));
}

TEST_F(words_test, lines_of_words_are_taken_as_they_are) {
    std::string corpus;
    for (int i = 0; i < 6; ++i) corpus += "New York\nThe\nBig Apple\n\nParis\nThe\nCity\n\n";
    words_options options = options_for(corpus, "corpus.lines");
    options.input_format = "lines";
    words(options, context_with());
    const word_space space = opened();
    EXPECT_TRUE(space.info().verbatim);
    EXPECT_EQ(space.spelling("The"), "The");
    EXPECT_EQ(space.word(0), "The");
    ASSERT_TRUE(space.find("New York"));
    EXPECT_FALSE(space.find("new york"));
    std::vector<std::string> met;
    for (const auto& c : space.contexts(*space.find("New York"), 9)) met.emplace_back(space.word(c.word));
    EXPECT_THAT(met, UnorderedElementsAre("Big Apple", "The"));
}

TEST_F(words_test, paragraphs_of_wikiextractor_are_lines) {
    std::string corpus;
    for (int i = 0; i < 4; ++i) {
        corpus += "<doc id=\"" + std::to_string(i) +
                  "\" url=\"x\" title=\"T\">\nT\n\nred blue\ngreen brown\n</doc>\n";
    }
    words_options options = options_for(corpus, "corpus.txt");
    words(options, context_with());
    const word_space space = opened();
    std::vector<std::string> met;
    for (const auto& c : space.contexts(*space.find("blue"), 9)) met.emplace_back(space.word(c.word));
    EXPECT_THAT(met, ElementsAre("red"));
}

TEST_F(words_test, spellings_go_through_the_text_options) {
    const made_corpus corpus = generated(40, 7);
    words_options options = options_for(lines_of(corpus));
    words(options, context_with());
    const word_space space = opened();
    const std::string word(space.word(0));
    std::string upper = word;
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    EXPECT_EQ(space.spelling(upper), word);
    EXPECT_EQ(space.spelling("  " + word + "! "), word);
    EXPECT_THAT(refusal<usage_error>([&] { (void)space.spelling("The"); }), HasSubstr("stop word"));
    EXPECT_THAT(refusal<usage_error>([&] { (void)space.spelling("two words"); }), HasSubstr("more than one"));
    EXPECT_THAT(refusal<usage_error>([&] { (void)space.spelling("?"); }), HasSubstr("not a word"));
    fs::remove(folder_ / "stop");  // the space has its own copy
    EXPECT_EQ(opened().spelling(upper), word);
}

TEST_F(words_test, near_spellings_by_distance_then_frequency) {
    std::string corpus = R"({"id":"d","text":")";
    for (int i = 0; i < 9; ++i) corpus += "stream streams ";
    for (int i = 0; i < 5; ++i) corpus += "steam dream müller mill ";
    for (int i = 0; i < 3; ++i) corpus += "scream mull ";
    corpus += "\"}\n";
    words_options options = options_for(corpus);
    words(options, context_with());
    const word_space space = opened();
    const auto near = [&](const char* typed, std::size_t max = 5) {
        std::vector<std::string> out;
        for (const std::uint32_t id : space.near_spellings(typed, context_with(), max))
            out.emplace_back(space.word(id));
        return out;
    };
    EXPECT_THAT(near("streem"), ElementsAre("stream", "streams", "steam", "scream"));
    EXPECT_THAT(near("streem", 1), ElementsAre("stream"));
    EXPECT_THAT(near("m中ll"), ElementsAre("mill", "mull"));  // one code point, three bytes
    EXPECT_THAT(near("m中llerr"), ElementsAre("müller"));
    EXPECT_THAT(near("mell"), ElementsAre("mill", "mull"));
    EXPECT_THAT(near("x"), IsEmpty());
    EXPECT_THAT(near(""), IsEmpty());
}

TEST_F(words_test, refuse_what_is_too_little) {
    const auto say = [&](const std::string& text, std::uint64_t min_count = 1) {
        words_options options = options_for(R"({"id":"d","text":")" + text + "\"}\n");
        options.params.min_count = min_count;
        const std::string said = refusal<invalid_input>([&] { words(options, context_with()); });
        EXPECT_FALSE(fs::exists(options.space));
        return said;
    };
    EXPECT_THAT(say(""), HasSubstr("of 0 distinct words none occurs"));
    EXPECT_THAT(say("alone the alone"), HasSubstr("of 1 distinct words one occurs"));
    EXPECT_THAT(say("one two", 2), HasSubstr("of 2 distinct words none occurs at least 2 times"));
    EXPECT_THAT(say(R"(one\n\ntwo)"), HasSubstr("co-occur within 3 positions"));
    EXPECT_THAT(say("one one"), HasSubstr("of 1 distinct words one"));
    write_file(folder_ / "stop", "the\n");
    words_options options = options_for(R"({"id":"d","text":"one two"})");
    options.params.min_count = 1;
    options.params.dimensions = 2;
    options.params.lsa_of = reduced_matrix::documents;
    EXPECT_THAT(refusal<invalid_input>([&] { words(options, context_with()); }), HasSubstr("two documents"));
}

TEST_F(words_test, refuse_options_before_the_work) {
    const words_options good = options_for(lines_of(generated(20, 8)));
    const auto refused = [&](const auto& change) {
        words_options options = good;
        change(options);
        options.inputs.emplace_back(folder_ / "corpus.jsonl");
        return refusal<usage_error>([&] { words(options, context_with()); });
    };
    EXPECT_THAT(refused([](words_options& o) { o.text.language = "xx"; }), HasSubstr("unknown language"));
    EXPECT_THAT(refused([](words_options& o) { o.text.stop_words = "/no/such"; }), HasSubstr("/no/such"));
    for (const auto& change : std::vector<std::function<void(space_params&)>>{
             [](space_params& q) { q.counting.window = 0; }, [](space_params& q) { q.counting.window = 101; },
             [](space_params& q) {
                 q.pmi.discount = {1, 1};
             },
             [](space_params& q) { q.pmi.min_weight = -1; }, [](space_params& q) { q.columns = 0; },
             [](space_params& q) { q.min_count = 0; }, [](space_params& q) { q.vocabulary = 1; },
             [](space_params& q) { q.dimensions = 4097; }}) {
        EXPECT_NE(refused([&](words_options& o) { change(o.params); }), "not refused");
    }
    EXPECT_NE(refused([](words_options& o) { o.method = similarity_method::column_reduced; }), "not refused");
    EXPECT_THAT(refused([](words_options& o) { o.inputs = {"/no/such/file"}; }), HasSubstr("no such file"));
    EXPECT_THAT(refused([&](words_options& o) { o.space = folder_ / "corpus.jsonl"; }),
                HasSubstr("is inside the store"));
    EXPECT_FALSE(fs::exists(good.space));
}

TEST_F(words_test, replace_a_space_and_nothing_else) {
    words_options options = options_for(lines_of(generated(20, 9)));
    options.force = false;
    words(options, context_with());
    const auto once = bytes_of(options.space);
    EXPECT_THAT(refusal<usage_error>([&] { words(options, context_with()); }), HasSubstr("--force"));
    options.force = true;
    words(options, context_with());
    EXPECT_EQ(bytes_of(options.space), once);
    write_file(options.space / "diary.txt", "mine");
    EXPECT_THAT(refusal<usage_error>([&] { words(options, context_with()); }), HasSubstr("diary.txt"));
    fs::create_directories(folder_ / "home");
    options.space = folder_ / "home";
    EXPECT_THAT(refusal<usage_error>([&] { words(options, context_with()); }), HasSubstr("not a word space"));
    write_file(folder_ / "home" / "space.json", "{}");  // a file of that name does not make it a space
    EXPECT_THAT(refusal<usage_error>([&] { words(options, context_with()); }), HasSubstr("not a word space"));
    EXPECT_EQ(bytes_of(folder_ / "home").size(), 1U);
    options.space = folder_ / "other";
    options.inputs = {folder_ / "space"};
    EXPECT_THAT(refusal<usage_error>([&] { words(options, context_with()); }), HasSubstr("not a corpus"));
}

TEST_F(words_test, a_missing_or_repeated_id_is_an_error) {
    words_options options = options_for(lines_of(generated(20, 10)) + R"({"id":"d3","text":"again"})" + "\n");
    EXPECT_THAT(refusal<invalid_input>([&] { words(options, context_with()); }), HasSubstr("duplicate id"));
    options.max_errors = {0, 1, false};
    EXPECT_EQ(words(options, context_with()).counts.rejected, 1U);
}

TEST_F(words_test, damage_is_noticed) {
    words_options options = options_for(lines_of(generated(60, 11)));
    options.params.dimensions = 4;
    words(options, context_with());
    const auto whole = bytes_of(options.space);
    for (const auto& [name, text] : whole) {
        SCOPED_TRACE(name);
        std::string broken = text;
        broken[broken.size() / 3] ^= 0x20;
        write_file(options.space / name, broken);
        EXPECT_THROW(verify_word_space(options.space, context_with()), damaged_store);
        fs::remove(options.space / name);
        if (name != "space.json") {  // without it, it is not a space
            EXPECT_THROW(verify_word_space(options.space, context_with()), damaged_store);
        }
        write_file(options.space / name, text.substr(0, text.size() - 3));
        EXPECT_THROW(verify_word_space(options.space, context_with()), damaged_store);
        write_file(options.space / name, text);
    }
    std::string later = whole.at("space.json");
    later.replace(later.find("\"version\": 1"), 12, "\"version\": 2");
    write_file(options.space / "space.json", later);
    EXPECT_THAT(refusal<damaged_store>([&] { opened(); }),
                AllOf(HasSubstr("version 2"), HasSubstr("reads version 1")));
    EXPECT_THROW(word_space::open(folder_ / "none", context_with()), usage_error);
    EXPECT_THROW(word_space::open(folder_.path(), context_with()), usage_error);
}

TEST_F(words_test, a_stopped_run_leaves_nothing) {
    words_options options = options_for(lines_of(generated(2000, 12)));
    std::atomic<int> stop{0};
    context ctx = context_with();
    ctx.stop_signal = &stop;
    ctx.on_progress = [&](const progress& now) {
        if (now.stage == "count") stop = 2;
    };
    EXPECT_THROW(words(options, ctx), interrupted);
    EXPECT_FALSE(fs::exists(options.space));
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
        EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("quern-")));
    }
    EXPECT_TRUE(fs::is_empty(folder_ / "scratch"));
}

TEST_F(words_test, other_tools_read_them) {
    std::string corpus;
    for (int i = 0; i < 4; ++i) {
        corpus += "New York\na<b&c\nBig Apple\n\nParis\x01\na<b&c\nCity\xEF\xBF\xBE\n\n";
    }
    words_options options = options_for(corpus, "corpus.lines");
    options.input_format = "lines";
    options.params.dimensions = 2;
    words(options, context_with());
    const word_space space = opened();
    const auto text_of = [&](const auto& write) {
        std::string out;
        write([&](std::string_view bytes) { out += bytes; });
        return out;
    };
    const std::string npy = text_of([&](const auto& out) { space.write_vectors_npy(out); });
    EXPECT_THAT(npy.substr(0, 128), AllOf(HasSubstr("'<f4'"), HasSubstr("'shape': (5, 2)")));
    EXPECT_EQ(npy.size(), 128U + 5 * 2 * 4);
    float first = 0;
    std::memcpy(&first, npy.data() + 128, 4);
    EXPECT_EQ(first, space.vector(0)[0]);
    const std::string word2vec = text_of([&](const auto& out) { space.write_vectors_text(out); });
    EXPECT_EQ(word2vec.substr(0, 4), "5 2\n");
    EXPECT_THAT(word2vec, HasSubstr("\nNew_York "));
    const std::string graph = text_of([&](const auto& out) { space.write_graph_tsv(out, context_with()); });
    EXPECT_THAT(graph, HasSubstr("New York\t"));
    const std::string graphml = text_of([&](const auto& out) { space.write_graphml(out, context_with()); });
    EXPECT_THAT(graphml,
                AllOf(HasSubstr(">a&lt;b&amp;c<"), HasSubstr("<edge source=\"n"), HasSubstr("</graphml>")));
    // Characters that XML cannot represent in any way.
    EXPECT_THAT(graphml, AllOf(HasSubstr(">Paris\xE2\x90\x81<"), HasSubstr(">City\xEF\xBF\xBD<")));
    EXPECT_THAT(text_of([&](const auto& out) { space.write_words(out); }), HasSubstr("a<b&c\t8\n"));

    options.params.dimensions = 0;
    const words_result made = words(options, context_with());
    EXPECT_THROW(opened().write_vectors_npy([](std::string_view) {}), usage_error);
    const std::string page =
        text_of([&](const auto& out) { write_word_report(options.space, made, out, context_with()); });
    EXPECT_THAT(page,
                AllOf(HasSubstr("<b>a&lt;b&amp;c</b>"), HasSubstr("New York"), HasSubstr("<h2>Time</h2>")));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
}

}  // namespace
}  // namespace quern::words_test
