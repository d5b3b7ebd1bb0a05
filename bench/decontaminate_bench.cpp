// SPDX-License-Identifier: Apache-2.0
// What finding evaluation items costs beyond the words of the training documents, on one core, and whether what is found
// is what the slow reference finds:
//
//     decontaminate_bench TRAIN EVAL [ROUNDS]          seconds of reading, words, hashes and the whole, as JSON
//     decontaminate_bench --reference TRAIN EVAL       the true matches of both corpora, as quern --matches writes them
//
// Both are JSON lines with ids. The reference indexes all n-grams of all documents, as strings, by a method of its own.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/quern.hpp"

namespace quern {
namespace {

constexpr unsigned ngram = 13;
constexpr std::uint64_t overlap_numerator = 1, overlap_denominator = 2;

std::vector<document> documents_of(const char* path) {
    std::vector<document> all;
    const auto corpus = io::open_corpus({path}, {}, context::cpu(1));
    while (const auto unit = corpus->next())
        for (document& d : unit->parse().documents) all.push_back(std::move(d));
    return all;
}

double seconds_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median_of(int rounds, const std::function<void()>& work) {
    std::vector<double> all;
    for (int round = 0; round < rounds; ++round) all.push_back(seconds_of(work));
    std::ranges::sort(all);
    return all[all.size() / 2];
}

/// Documents in memory, without parsing.
class documents_in_memory : public document_source {
  public:
    explicit documents_in_memory(const std::vector<document>& documents) : documents_(documents) {}
    bool next(source_document& document) override {
        if (at_ == documents_.size()) return false;
        document = {.id = documents_[at_].id, .title = {}, .text = documents_[at_].text};
        ++at_;
        return true;
    }

  private:
    const std::vector<document>& documents_;
    std::size_t at_ = 0;
};

void print_measured(const char* train, const char* eval, int rounds) {
    const std::vector<document> documents = documents_of(train);
    std::uint64_t bytes = 0, words = 0, sum = 0;
    for (const document& d : documents) bytes += d.text.size();
    text::analyzer analyzer{text_options{}};
    text::token_list list;
    const auto each_word = [&](const auto& use) {
        for (const document& d : documents)
            analyzer.analyze_in_pieces(d.text, list, [&](const text::token_list& piece) {
                for (const text::token& t : piece.tokens) use(piece.word(t));
            });
    };
    each_word([&](std::string_view) { ++words; });
    const double segmented = median_of(rounds, [&] {
        for (const document& d : documents)
            analyzer.analyze_in_pieces(d.text, list,
                                       [&](const text::token_list& piece) { sum += piece.tokens.size(); });
    });
    const double hashed =
        median_of(rounds, [&] { each_word([&](std::string_view word) { sum += hash64(word); }); });
    std::uint64_t evaluation_bytes = 0, matches = 0;
    const double whole = median_of(rounds, [&] {
        documents_in_memory source(documents);
        decontaminate_options options;
        options.source = &source;
        options.against.inputs = {eval};
        const decontaminate_result result = decontaminate(options, context::cpu(1));
        evaluation_bytes = result.found.evaluation_bytes;
        matches = result.matches().size();
    });
    // The same without an item to find.
    const std::vector<std::string> nothing = {"."};
    const double none = median_of(rounds, [&] {
        documents_in_memory source(documents);
        range_source empty(nothing);
        decontaminate_options options;
        options.source = &source;
        options.against.source = &empty;
        sum += decontaminate(options, context::cpu(1)).matches().size();
    });
    fmt::print(
        "{{\"bytes\": {}, \"words\": {}, \"segmented\": {}, \"hashed\": {}, \"none\": {}, \"whole\": {}, "
        "\"evaluation_bytes\": {}, "
        "\"matches\": {}, \"check\": {}}}\n",
        bytes, words, segmented, hashed, none, whole, evaluation_bytes, matches, sum % 10);
}

std::vector<std::string> words_of(text::analyzer& analyzer, const std::string& text,
                                  std::vector<text::token>& tokens) {
    text::token_list list;
    analyzer.analyze(text, list);
    tokens = list.tokens;
    std::vector<std::string> words;
    for (const text::token& t : list.tokens) words.emplace_back(list.word(t));
    return words;
}

std::string joined(const std::vector<std::string>& words, std::size_t begin, std::size_t size) {
    std::string text;
    for (std::size_t i = begin; i < begin + size; ++i) text.append(words[i]).append("\n");
    return text;
}

/// From n-grams of items to their places in documents, item by item at the end.
void print_reference(const char* train, const char* eval) {
    struct place {
        std::uint32_t begin, end;
    };
    text::analyzer analyzer{text_options{}};
    std::vector<text::token> tokens;
    const std::vector<document> items = documents_of(eval);
    std::vector<std::vector<std::string>> item_ngrams;
    std::unordered_map<std::string, std::map<std::uint32_t, place>> places;  // by document
    std::set<std::size_t> lengths;
    for (const document& d : items) {
        const auto words = words_of(analyzer, d.text, tokens);
        const std::size_t length = std::min<std::size_t>(words.size(), ngram);
        auto& own = item_ngrams.emplace_back();
        if (length == 0) continue;
        lengths.insert(length);
        for (std::size_t i = 0; i + length <= words.size(); ++i)
            places[own.emplace_back(joined(words, i, length))];
    }
    const std::vector<document> documents = documents_of(train);
    for (std::uint32_t number = 0; number < documents.size(); ++number) {
        const auto words = words_of(analyzer, documents[number].text, tokens);
        for (const std::size_t length : lengths) {
            for (std::size_t i = 0; i + length <= words.size(); ++i) {
                const auto at = places.find(joined(words, i, length));
                if (at == places.end()) continue;
                const place here{tokens[i].source_begin, tokens[i + length - 1].source_end};
                place& p = at->second.emplace(number, here).first->second;
                p = {std::min(p.begin, here.begin), std::max(p.end, here.end)};
            }
        }
    }
    for (std::size_t item = 0; item < items.size(); ++item) {
        std::map<std::uint32_t, std::pair<std::uint64_t, place>> found;
        for (const std::string& n : item_ngrams[item]) {
            for (const auto& [number, p] : places[n]) {
                auto& [count, all] = found.emplace(number, std::pair(std::uint64_t{0}, p)).first->second;
                ++count;
                all = {std::min(all.begin, p.begin), std::max(all.end, p.end)};
            }
        }
        for (const auto& [number, f] : found) {
            const std::uint64_t of = item_ngrams[item].size();
            if (f.first * overlap_denominator < of * overlap_numerator) continue;
            fmt::print("{}\t{}\t{}\t{}-{}\n", items[item].id, documents[number].id,
                       shortest(static_cast<double>(f.first) / static_cast<double>(of)), f.second.begin,
                       f.second.end);
        }
    }
}

}  // namespace
}  // namespace quern

int main(int count, char** values) {
    const std::vector<const char*> arguments(values + 1, values + count);
    if (arguments.size() == 3 && std::string_view(arguments[0]) == "--reference") {
        quern::print_reference(arguments[1], arguments[2]);
    } else if (arguments.size() == 2 || arguments.size() == 3) {
        quern::print_measured(arguments[0], arguments[1],
                              arguments.size() == 3 ? std::atoi(arguments[2]) : 5);
    } else {
        std::fputs("usage: decontaminate_bench [--reference] TRAIN EVAL [ROUNDS]\n", stderr);
        return 2;
    }
    return 0;
}
