// SPDX-License-Identifier: Apache-2.0
// N-gram likelihoods on the CPU: a text of documents (one a line, words between spaces), all words in the dictionary. Prints,
// tab-separated: words, distinct words, method, order, threads, all n or only the last, seconds and CPU seconds (medians) to
// tables and to a callback that ignores the blocks, rows, a checksum of the rows (the same for every method).
//
//     ngram_bench TEXT METHOD ORDER THREADS [all|only] [REPEATS]
//
// The method `sorting` is the first half of `auto`: only the order, without rows; its times are in both columns.
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/ngram_likelihood/order/ngram_order.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace {

using namespace quern;

struct text_words {
    std::string text;
    std::vector<std::uint64_t> starts, documents{0};
    std::vector<std::uint32_t> lengths, ids;
    std::uint32_t vocabulary = 0;

    explicit text_words(const char* path) {
        std::ifstream file(path, std::ios::binary);
        if (!file) throw std::runtime_error(std::string("cannot read ") + path);
        text.assign(std::istreambuf_iterator<char>(file), {});
        std::unordered_map<std::string_view, std::uint32_t> numbers;
        std::vector<std::string_view> words;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const std::size_t begin = i;
            while (i < text.size() && text[i] != ' ' && text[i] != '\n') ++i;
            if (i != begin) {
                const std::string_view word(text.data() + begin, i - begin);
                starts.push_back(begin);
                lengths.push_back(static_cast<std::uint32_t>(word.size()));
                const auto [at, fresh] = numbers.emplace(word, static_cast<std::uint32_t>(words.size()));
                if (fresh) words.push_back(word);
                ids.push_back(at->second);
            }
            if (i < text.size() && text[i] == '\n') documents.push_back(ids.size());
        }
        if (documents.back() != ids.size()) documents.push_back(ids.size());
        std::sort(words.begin(), words.end());
        vocabulary = static_cast<std::uint32_t>(words.size());
        std::vector<std::uint32_t> ranks(words.size());
        for (std::uint32_t w = 0; w < vocabulary; ++w) ranks[numbers[words[w]]] = w;
        for (std::uint32_t& id : ids) id = ranks[id];
    }
    ngram_collection view() const { return {ids, documents, vocabulary, text, starts, lengths}; }
};

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

template <class Work>
void timed(std::vector<double>& seconds, std::vector<double>& of_cpu, const Work& work) {
    const double cpu = cpu_seconds();
    const auto begin = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    of_cpu.push_back(cpu_seconds() - cpu);
}

/// A checksum of the output, independent of blocks: sums over all rows that depend on the position of each value.
struct checksum {
    std::uint64_t rows = 0, sum = 0;
    void take(const ngram_rows& block) {
        for (std::size_t r = 0; r < block.documents.size(); ++r) {
            sum += (block.documents[r] + 1) * 0x9e3779b97f4a7c15u +
                   block.in_document[r] * 0xc2b2ae3d27d4eb4fu + block.in_collection[r] * 0x165667b19e3779f9u;
            sum += (std::bit_cast<std::uint64_t>(block.weights[r]) ^ block.firsts[r]) * (2 * block.n + 1);
        }
        rows += block.documents.size();
    }
};

}  // namespace

int main(int count, char** arguments) {
    try {
        if (count < 5) throw std::runtime_error("ngram_bench TEXT METHOD ORDER THREADS [all|only] [REPEATS]");
        const text_words words(arguments[1]);
        ngram_options options;
        const auto* const method =
            std::find(std::begin(ngram_method_names), std::end(ngram_method_names), arguments[2]);
        if (method != std::end(ngram_method_names))
            options.method = static_cast<ngram_method>(method - std::begin(ngram_method_names));
        else if (arguments[2] != std::string_view("sorting"))
            throw std::runtime_error(std::string("no method ") + arguments[2]);
        options.order = static_cast<unsigned>(std::atoi(arguments[3]));
        options.only = count > 5 && std::string_view(arguments[5]) == "only";
        const auto threads = static_cast<unsigned>(std::atoi(arguments[4]));
        const int repeats = count > 6 ? std::atoi(arguments[6]) : 3;

        std::vector<double> seconds, of_cpu, streamed, streamed_cpu;
        checksum sum;
        if (method != std::end(ngram_method_names))
            ngram_likelihood(words.view(), options, context::cpu(threads),
                             [&](const ngram_rows& rows) { sum.take(rows); });
        std::uint64_t rows = 0, blocks = 0;
        for (int r = 0; r < repeats; ++r) {
            rows = 0;
            if (arguments[2] == std::string_view("sorting")) {
                cpu_place place(context::cpu(threads));
                timed(seconds, of_cpu, [&] {
                    const ngram_detail::document_table documents(place, words.documents);
                    rows += ngram_detail::packed_order<std::uint32_t>(place, words.view(), documents,
                                                                      options.order)
                                .positions()
                                .size();
                });
                streamed = seconds;
                streamed_cpu = of_cpu;
                continue;
            }
            timed(seconds, of_cpu, [&] {
                const ngram_result result = ngram_likelihood(words.view(), options, context::cpu(threads));
                for (const ngram_table& table : result.tables) rows += table.documents.size();
            });
            timed(streamed, streamed_cpu, [&] {
                ngram_likelihood(words.view(), options, context::cpu(threads),
                                 [&](const ngram_rows&) { ++blocks; });
            });
        }
        if (rows == 0) throw std::runtime_error("no rows");
        std::printf("%zu\t%u\t%s\t%u\t%u\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%llu\t%016llx\n", words.ids.size(),
                    words.vocabulary, arguments[2], options.order, threads, options.only ? "only" : "all",
                    median(seconds), median(of_cpu), median(streamed), median(streamed_cpu),
                    static_cast<unsigned long long>(rows), static_cast<unsigned long long>(sum.sum));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "ngram_bench: %s\n", e.what());
        return 1;
    }
}
