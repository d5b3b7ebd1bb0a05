// SPDX-License-Identifier: Apache-2.0
// N-gram likelihoods of a text on a GPU and on the machine's CPU cores, as in the paper's figures 4 to 6: the text and the
// dictionary are in host memory, the dictionary is loaded to the place before. The time is from the call to the last row in host
// memory, where a callback ignores the rows.
//
//     ngram_cuda_bench MEGABYTES CASE...     a case: PLACE:METHOD:ORDER:only|all, PLACE cuda, gpu-memory=BYTES or cpu
//
// The text is generated: words by rank about as 1/rank, and earlier passages repeat, about as often as in
// encyclopaedias (the share of n-grams that occur once is printed). Prints tab-separated:
// bytes, words, distinct words, place, method, order, only or all, repeats, seconds (median, minimum), rows, share of the n-grams
// that occur once, a checksum of the rows (the same for every method and place), pieces.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "generator/random_numbers.hpp"
#include "generator/spelling.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace {

using namespace quern;

constexpr std::uint32_t vocabulary = 10'000'000;

/// Words by rank, the common ones short.
struct word_list {
    std::string letters;
    std::vector<std::uint64_t> ends;
    std::vector<std::string_view> sorted;

    word_list() {
        for (std::uint32_t w = 0; w < vocabulary; ++w) {
            letters += generator::spell(w / 31 * 32 + w % 31);  // without those beyond ASCII
            ends.push_back(letters.size());
        }
        for (std::uint32_t w = 0; w < vocabulary; ++w) sorted.push_back(word(w));
        std::sort(sorted.begin(), sorted.end());
    }
    std::string_view word(std::uint32_t rank) const {
        const std::uint64_t begin = rank == 0 ? 0 : ends[rank - 1];
        return std::string_view(letters).substr(begin, ends[rank] - begin);
    }
};

struct generated_text {
    std::string text;
    std::vector<std::uint64_t> documents{0};

    generated_text(const word_list& words, std::uint64_t bytes, std::uint64_t seed) {
        generator::random_numbers chance(seed);
        std::vector<std::uint32_t> said;
        while (text.size() < bytes) {
            const std::uint64_t length = 20 + chance.below(600);
            for (std::uint64_t i = 0; i < length;) {
                if (!said.empty() && chance.below(8) == 0) {  // a phrase that occurred before
                    const std::uint64_t from = chance.below(said.size()), max = 2 + chance.below(5);
                    for (std::uint64_t j = from; j < std::min<std::uint64_t>(from + max, said.size());
                         ++j, ++i)
                        say(words, said[j], said);
                } else {
                    say(words, static_cast<std::uint32_t>(chance.ranked(vocabulary)), said);
                    ++i;
                }
            }
            text += '\n';
            documents.push_back(text.size());
        }
    }

  private:
    void say(const word_list& words, std::uint32_t rank, std::vector<std::uint32_t>& said) {
        text += words.word(rank);
        text += ' ';
        said.push_back(rank);
    }
};

/// Sums over all rows that depend on the position of each value.
struct checksum {
    std::uint64_t rows = 0, sum = 0, once = 0;
    void take(const ngram_rows& block) {
        for (std::size_t r = 0; r < block.documents.size(); ++r) {
            sum += (block.documents[r] + 1) * 0x9e3779b97f4a7c15u +
                   block.in_document[r] * 0xc2b2ae3d27d4eb4fu + block.in_collection[r] * 0x165667b19e3779f9u;
            sum += (std::bit_cast<std::uint64_t>(block.weights[r]) ^ block.firsts[r]) * (2 * block.n + 1);
            once += block.in_collection[r] == 1 ? 1 : 0;
        }
        rows += block.documents.size();
    }
};

std::vector<std::string> parts_of(const std::string& text) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == ':')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

/// The dictionary on a place, kept for the cases that follow on the same one.
struct placed_counter {
    std::string where;
    std::optional<ngram_text_counter> counter;

    ngram_text_counter& on(const word_list& words, const std::string& requested) {
        if (counter && where == requested) return *counter;
        counter.reset();
        context ctx = requested == "cpu" ? context::cpu() : context::cuda();
        if (requested.starts_with("gpu-memory=")) ctx.gpu_memory_bytes = std::stoull(requested.substr(11));
        counter.emplace(words.sorted, ctx);
        where = requested;
        return *counter;
    }
};

void measure(const word_list& words, const generated_text& text, placed_counter& counters,
             const std::string& requested) {
    const std::vector<std::string> parts = parts_of(requested);
    if (parts.size() != 4) throw std::runtime_error("no case: " + requested);
    const std::string& where = parts[0];
    ngram_options options;
    const auto* const method =
        std::find(std::begin(ngram_method_names), std::end(ngram_method_names), parts[1]);
    if (method == std::end(ngram_method_names)) throw std::runtime_error("no method: " + parts[1]);
    options.method = static_cast<ngram_method>(method - std::begin(ngram_method_names));
    options.order = static_cast<unsigned>(std::stoul(parts[2]));
    options.only = parts[3] == "only";

    ngram_text_counter& counter = counters.on(words, where);
    const ngram_text view{text.text, text.documents, true};
    checksum sum;
    std::uint64_t pieces =
        counter.count(view, options, [&](const ngram_rows& rows) { sum.take(rows); }).pieces;
    std::vector<double> seconds;
    double all = 0;
    while (seconds.size() < 7 && (seconds.empty() || all < 2)) {
        const auto begin = std::chrono::steady_clock::now();
        counter.count(view, options, [](const ngram_rows&) {});
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        all += seconds.back();
    }
    std::sort(seconds.begin(), seconds.end());
    std::uint64_t count = 0;
    for (const char c : text.text) count += c == ' ' ? 1 : 0;
    std::printf("%zu\t%llu\t%zu\t%s\t%s\t%u\t%s\t%zu\t%.4f\t%.4f\t%llu\t%.3f\t%016llx\t%llu\n",
                text.text.size(), static_cast<unsigned long long>(count), words.sorted.size(), where.c_str(),
                parts[1].c_str(), options.order, parts[3].c_str(), seconds.size(),
                seconds[seconds.size() / 2], seconds.front(), static_cast<unsigned long long>(sum.rows),
                static_cast<double>(sum.once) / static_cast<double>(sum.rows),
                static_cast<unsigned long long>(sum.sum), static_cast<unsigned long long>(pieces));
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
    try {
        if (count < 3) throw std::runtime_error("ngram_cuda_bench MEGABYTES PLACE:METHOD:ORDER:only|all...");
        const word_list words;
        const generated_text text(words, std::stoull(arguments[1]) * 1'000'000, 1);
        placed_counter counters;
        for (int i = 2; i < count; ++i) measure(words, text, counters, arguments[i]);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "ngram_cuda_bench: %s\n", e.what());
        return 1;
    }
}
