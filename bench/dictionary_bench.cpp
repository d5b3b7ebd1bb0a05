// SPDX-License-Identifier: Apache-2.0
// The dictionary on one list of words: bits a word and ns a look-up, both ways. Prints NAME TAB VALUE lines, like the peers'
// programs, on the same words in the same order.
//
//   dictionary_bench make COUNT > WORDS     word-like strings: stems, compounds and endings by Zipf's law
//   dictionary_bench measure WORDS THREADS ROUNDS
//   dictionary_bench cut TEXT THREADS ROUNDS
//   dictionary_bench text WORDS TEXT THREADS ROUNDS   a text, a document on each line, of which WORDS lacks some words: the
//                       share of n-grams with one, and milliseconds of each step to the likelihoods of n-grams of order 4
//   dictionary_bench near WORDS 1 ROUNDS        milliseconds for all words near a misspelt one, by edits
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "generator/random_numbers.hpp"
#include "generator/spelling.hpp"
#include "ops/ngram_likelihood/order/ngram_order.hpp"
#include "primitives/dictionary/text_to_ids.hpp"
#include "quern/ops/ngram_likelihood.hpp"
#include "text/dictionary.hpp"
#include "text/near_words.hpp"

namespace quern {
namespace {

constexpr std::size_t requested_words = 2'000'000;

std::string read_file(const char* path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error(std::string("cannot read ") + path);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (end > at) lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

void make(std::size_t count) {
    static constexpr std::string_view endings[] = {"",    "s",   "ed",   "ing",  "er",   "ly",  "al",  "ion",
                                                   "en",  "ism", "ness", "able", "ment", "est", "'s",  "ers",
                                                   "ity", "ful", "less", "ings", "ions", "ist", "ous", "ive"};
    generator::random_numbers random(1);
    constexpr std::uint64_t stems = 400'000;
    std::unordered_set<std::string> words;
    while (words.size() < count) {
        std::string word = generator::spell(random.ranked(stems));
        while (random.uniform() < 0.35) word += generator::spell(random.ranked(stems));
        word += endings[random.ranked(std::size(endings))];
        if (random.uniform() < 0.05) word += std::to_string(random.below(2100));
        if (words.insert(word).second) std::printf("%s\n", word.c_str());
    }
}

template <class Work>
double median_seconds(int rounds, const Work& work) {
    std::vector<double> taken;
    for (int i = 0; i < rounds; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        taken.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::ranges::nth_element(taken, taken.begin() + rounds / 2);
    return taken[static_cast<std::size_t>(rounds) / 2];
}

void print(const char* name, double value) {
    std::fputs(fmt::format("{}\t{}\n", name, value).c_str(), stdout);
}

/// Concatenated words, as find_words takes them.
struct batch {
    std::vector<std::uint8_t> text;
    std::vector<std::uint32_t> begins, ends;

    explicit batch(const std::vector<std::string>& words) {
        for (const std::string& word : words) {
            begins.push_back(static_cast<std::uint32_t>(text.size()));
            text.insert(text.end(), word.begin(), word.end());
            ends.push_back(static_cast<std::uint32_t>(text.size()));
            text.push_back(' ');
        }
    }
};

void require(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
}

void measure(const char* path, unsigned threads, int rounds) {
    std::vector<std::string> words = lines_of(read_file(path));
    std::ranges::sort(words);
    words.erase(std::ranges::unique(words).begin(), words.end());
    std::mt19937_64 random(1);
    std::vector<std::string> requested;
    for (std::size_t i = 0; i < requested_words; ++i) requested.push_back(words[random() % words.size()]);

    const auto start = std::chrono::steady_clock::now();
    text::dictionary_builder builder;
    for (const std::string& word : words) builder.append(word);
    const std::string bytes = builder.finish();
    print("build", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    const auto view = text::dictionary_view::open(bytes);
    require(view.has_value(), "the dictionary does not open");
    const auto count = static_cast<double>(words.size());
    std::size_t letters = 0;
    for (const std::string& word : words) letters += word.size();
    print("words", count);
    print("plain bits", static_cast<double>(letters) * 8 / count);
    print("bits", static_cast<double>(bytes.size()) * 8 / count);
    words = {};

    std::vector<std::uint32_t> ids(requested.size());
    const double nanoseconds = 1e9 / static_cast<double>(requested.size());
    print("find", nanoseconds * median_seconds(rounds, [&] {
                      for (std::size_t i = 0; i < requested.size(); ++i)
                          ids[i] = view->find(requested[i]).value();
                  }));
    std::size_t same = 0;
    print("word", nanoseconds * median_seconds(rounds, [&] {
                      same = 0;
                      for (std::size_t i = 0; i < requested.size(); ++i)
                          same += view->word(ids[i]) == requested[i] ? 1 : 0;
                  }));
    require(same == requested.size(), "words come back changed");
    const batch together(requested);
    for (const unsigned t : {1u, threads}) {
        cpu_place place(context::cpu(t));
        std::vector<std::uint32_t> found(requested.size());
        print(t == 1 ? "find many" : "find many, threads", nanoseconds * median_seconds(rounds, [&] {
                                                               primitives::find_words(
                                                                   place, view->list(), together.text,
                                                                   together.begins, together.ends, found);
                                                           }));
        require(found == ids, "batched look-ups differ from single ones");
    }
    for (std::string& word : requested) word += "~";
    std::size_t unknown = 0;
    print("find none", nanoseconds * median_seconds(rounds, [&] {
                           unknown = 0;
                           for (const std::string& word : requested) unknown += view->find(word) ? 0 : 1;
                       }));
    require(unknown == requested.size(), "a missing word was found");
}

/// Words of the list with one or two typing errors that are not in the list.
std::vector<std::string> misspelt(const std::vector<std::string>& words, const text::dictionary_view& known,
                                  std::size_t slips) {
    std::mt19937_64 random(slips);
    std::vector<std::string> requested;
    while (requested.size() < 40) {
        std::string word = words[random() % words.size()];
        if (word.size() < 6) continue;
        for (std::size_t slip = 0; slip < slips; ++slip) {
            const std::size_t at = random() % (word.size() - 1);
            const auto letter = static_cast<char>('a' + random() % 26);
            switch (random() % 4) {
                case 0:
                    word[at] = letter;
                    break;
                case 1:
                    word.insert(at, 1, letter);
                    break;
                case 2:
                    word.erase(at, 1);
                    break;
                default:
                    std::swap(word[at], word[at + 1]);
            }
        }
        if (!known.find(word)) requested.push_back(word);
    }
    return requested;
}

void near(const char* path, int rounds) {
    std::vector<std::string> words = lines_of(read_file(path));
    std::ranges::sort(words);
    words.erase(std::ranges::unique(words).begin(), words.end());
    text::dictionary_builder builder;
    for (const std::string& word : words) builder.append(word);
    const std::string bytes = builder.finish();
    const auto view = text::dictionary_view::open(bytes);
    require(view.has_value(), "the dictionary does not open");
    print("words", static_cast<double>(words.size()));
    for (const std::uint32_t bound : {1U, 2U}) {
        std::vector<double> taken;
        std::size_t found = 0;
        for (const std::string& word : misspelt(words, *view, bound)) {
            std::size_t present = 0;
            taken.push_back(1e3 * median_seconds(rounds, [&] {
                                present = text::near_words(*view, word, bound, context()).size();
                            }));
            found += present;
        }
        require(found >= taken.size(), "the original of a misspelt word is not found");
        std::ranges::sort(taken);
        print(bound == 1 ? "1 edit, median" : "2 edits, median", taken[taken.size() / 2]);
        print(bound == 1 ? "1 edit, most" : "2 edits, most", taken.back());
        print(bound == 1 ? "1 edit, found" : "2 edits, found",
              static_cast<double>(found) / static_cast<double>(taken.size()));
    }
}

/// Of the n-grams of a text, the percentage of those with an unknown word.
double percent_unknown(const ngram_collection& collection, std::size_t n) {
    std::uint64_t all = 0, unknown = 0;
    for (std::size_t d = 1; d < collection.documents.size(); ++d) {
        std::uint64_t since = 0;  // words after the last unknown one
        for (std::uint64_t i = collection.documents[d - 1], first = i; i < collection.documents[d]; ++i) {
            since = collection.words[i] == collection.vocabulary ? 0 : since + 1;
            if (i + 1 < first + n) continue;
            ++all;
            unknown += since < n ? 1 : 0;
        }
    }
    return 100 * static_cast<double>(unknown) / static_cast<double>(std::max<std::uint64_t>(all, 1));
}

void text_to_likelihoods(const char* words_path, const char* text_path, unsigned threads, int rounds) {
    constexpr unsigned order = 4;  // the paper's figure 6
    std::vector<std::string> words = lines_of(read_file(words_path));
    std::ranges::sort(words);
    words.erase(std::ranges::unique(words).begin(), words.end());
    text::dictionary_builder builder;
    for (const std::string& word : words) builder.append(word);
    const std::string stored = builder.finish();
    const auto view = text::dictionary_view::open(stored);
    require(view.has_value(), "the dictionary does not open");
    const std::string text = read_file(text_path);
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    std::vector<std::uint64_t> documents = {0};
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n' || i + 1 == text.size()) documents.push_back(i + 1);

    cpu_place place(context::cpu(threads));
    primitives::tokenized_text<cpu_place> cut;
    const double to_cut = median_seconds(rounds, [&] {
        cut = primitives::tokenize_runs(place, bytes, documents, primitives::run_of::letters);
    });
    std::vector<std::uint32_t> ids(cut.begins.size());
    const double to_find = median_seconds(rounds, [&] {
        primitives::find_words(place, view->list(), cut.letters.span(), cut.begins.span(), cut.ends.span(),
                               ids);
    });
    const ngram_collection collection{
        .words = ids, .documents = cut.document_offsets.span(), .vocabulary = view->size()};
    const double to_sort = median_seconds(rounds, [&] {
        const ngram_detail::document_table table(place, collection.documents);
        require(
            !ngram_detail::packed_order<std::uint32_t>(place, collection, table, order).positions().empty(),
            "there are no n-grams");
    });
    const double counted = median_seconds(rounds, [&] {
        ngram_likelihood(collection, {.order = order, .only = true}, context::cpu(threads),
                         [](const ngram_rows&) {});
    });
    print("words", static_cast<double>(ids.size()));
    for (const std::size_t n : {1U, 2U, 4U, 8U}) {
        const std::string name = fmt::format("unknown {}", n);
        print(name.c_str(), percent_unknown(collection, n));
    }
    print("cut", 1e3 * to_cut);
    print("find", 1e3 * to_find);
    print("sort", 1e3 * to_sort);
    print("count", 1e3 * std::max(0.0, counted - to_sort));
    print("whole", 1e3 * (to_cut + to_find + counted));
}

void cut(const char* path, unsigned threads, int rounds) {
    const std::string text = read_file(path);
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    const std::vector<std::uint64_t> whole = {0, bytes.size()};
    const double megabytes = static_cast<double>(bytes.size()) / 1e6;
    cpu_place place(context::cpu(threads));
    print("runs", megabytes / median_seconds(rounds, [&] {
                      primitives::tokenize_runs(place, bytes, whole, primitives::run_of::letters_and_digits);
                  }));
    std::vector<std::uint8_t> lines = bytes;
    std::ranges::replace(lines, std::uint8_t{' '}, std::uint8_t{'\n'});
    print("lines", megabytes / median_seconds(rounds, [&] { primitives::tokenize_lines(place, lines); }));
}

}  // namespace
}  // namespace quern

int main(int argc, char** argv) try {
    const std::string what = argc > 2 ? argv[1] : "";
    if (what == "make") {
        quern::make(std::stoul(argv[2]));
        return 0;
    }
    if (what == "text" && argc == 6) {
        quern::text_to_likelihoods(argv[2], argv[3], static_cast<unsigned>(std::stoul(argv[4])),
                                   std::stoi(argv[5]));
        return 0;
    }
    if (argc != 5)
        throw std::runtime_error("make COUNT | measure WORDS THREADS ROUNDS | cut TEXT THREADS ROUNDS");
    const auto threads = static_cast<unsigned>(std::stoul(argv[3]));
    if (what == "measure") quern::measure(argv[2], threads, std::stoi(argv[4]));
    if (what == "near") quern::near(argv[2], std::stoi(argv[4]));
    if (what == "cut") quern::cut(argv[2], threads, std::stoi(argv[4]));
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
