// SPDX-License-Identifier: Apache-2.0
// Words scored by a back-off model on a GPU, where the model and the words lie, and with words and scores of the host; and
// by all cores. language_model_cuda_bench [WORDS [ROUNDS]] prints NAME TAB VALUE lines, times in milliseconds;
// language_model_cuda_bench write FOLDER WORDS writes train.txt and held.txt, sentences on lines, for quern perplexity.
#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "generator/random_numbers.hpp"
#include "ops/language_model/held_model.hpp"

namespace quern {
namespace {

constexpr unsigned order = 5;
constexpr std::uint32_t vocabulary = 200'000;

struct text {
    std::vector<std::uint32_t> words;
    std::vector<std::uint8_t> begins;
};

/// Two in three words are one of few that often follow the two before them; the others are drawn by their frequency.
text made_text(std::size_t size, std::uint64_t seed) {
    generator::random_numbers random(seed);
    text made;
    std::uint32_t last = 0, before = 0;
    for (std::size_t i = 0; i < size; ++i) {
        std::uint32_t word = 0;
        if (random.below(3) != 0) {
            auto of_history =
                generator::numbers_of(before * std::uint64_t{vocabulary} + last, random.ranked(40));
            word = static_cast<std::uint32_t>(of_history.ranked(vocabulary));
        } else {
            word = static_cast<std::uint32_t>(random.ranked(vocabulary));
        }
        made.words.push_back(word);
        made.begins.push_back(i == 0 || random.below(22) == 0 ? 1 : 0);
        before = last;
        last = word;
    }
    return made;
}

/// Every n-gram of the text up to the order, with random values.
back_off_model model_of(const text& from) {
    std::vector<ngram_list> lists(order);
    for (unsigned n = 1; n <= order; ++n) {
        std::vector<std::uint32_t> ends;
        const auto word = [&](std::uint32_t end, unsigned k) { return from.words[end - k]; };
        if (n > 1) {
            for (std::uint32_t end = n - 1; end < from.words.size(); ++end) {
                bool crosses = false;
                for (unsigned k = 0; k + 1 < n; ++k) crosses = crosses || from.begins[end - k] != 0;
                if (!crosses) ends.push_back(end);
            }
            const auto compare = [&](std::uint32_t a, std::uint32_t b) {
                for (unsigned k = 0; k < n; ++k)
                    if (word(a, k) != word(b, k)) return word(a, k) < word(b, k) ? -1 : 1;
                return 0;
            };
            tbb::parallel_sort(ends.begin(), ends.end(),
                               [&](std::uint32_t a, std::uint32_t b) { return compare(a, b) < 0; });
            const auto same = [&](std::uint32_t a, std::uint32_t b) { return compare(a, b) == 0; };
            ends.erase(std::unique(ends.begin(), ends.end(), same), ends.end());
        }
        ngram_list& list = lists[n - 1];
        list.n = n;
        const std::size_t size = n == 1 ? vocabulary : ends.size();
        generator::random_numbers random(n);
        for (std::size_t i = 0; i < size; ++i) {
            if (n == 1) list.words.push_back(static_cast<std::uint32_t>(i));
            for (unsigned k = 0; n > 1 && k < n; ++k) list.words.push_back(word(ends[i], k));
            list.logarithms.push_back(-static_cast<float>(random.below(1 << 16)) / (1 << 13));
            if (n < order) list.back_offs.push_back(-static_cast<float>(random.below(1 << 12)) / (1 << 12));
        }
    }
    back_off_model::repeated_ngram repeated;
    return {std::move(lists), repeated};
}

template <class Place, class Work>
double median(Place& place, int rounds, const Work& work) {
    std::vector<double> taken;
    for (int i = 0; i <= rounds; ++i) {
        place.synchronise();
        const auto start = std::chrono::steady_clock::now();
        work();
        place.synchronise();
        if (i != 0)
            taken.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(taken.begin(), taken.end());
    return taken[taken.size() / 2];
}

/// What walks look up, and the fewest sectors of 32 bytes that this takes if nothing stays in a cache: of a single word its
/// record, and where its children begin; of a longer n-gram a sample, its bits of the children and a record.
void print_steps(const compact_model& model, const text& held) {
    const compact_trie trie{model.levels().data(), order};
    std::uint64_t searches = 0, found = 0, sectors = 0;
    std::uint32_t nodes[order];
    for (std::size_t i = 0; i < held.words.size(); ++i) {
        const unsigned history = history_size(held.begins.data(), i, order);
        const unsigned known = walk(trie, held.words.data(), i, history, nodes, 1);
        const unsigned searched = std::min({known, history, order - 1});
        found += known;
        searches += searched;
        sectors += 1 + (searched == 0 ? 0 : 2) + (searched > 1 ? (searched - 1) * 3 : 0);
    }
    const auto a_word = [&](std::uint64_t of) {
        return static_cast<double>(of) / static_cast<double>(held.words.size());
    };
    std::printf("searches a word\t%.3f\nn-grams found a word\t%.3f\nsectors a word\t%.3f\n", a_word(searches),
                a_word(found), a_word(sectors));
}

void measure(const char* name, const any_ngrams& model, const text& held, int rounds, cuda_place& gpu,
             cpu_place& cpu) {
    const std::size_t size = held.words.size();
    std::vector<double> on_gpu(size), on_cpu(size);
    std::printf("%s bytes\t%llu\n", name, static_cast<unsigned long long>(device_bytes(model)));
    held_model<cpu_place> by_cores(cpu, cpu, model);
    std::printf("%s cores\t%.3f\n", name,
                median(cpu, rounds, [&] { by_cores.score(held.words, held.begins, on_cpu); }));
    const auto start = std::chrono::steady_clock::now();
    held_model<cuda_place> by_gpu(gpu, cpu, model);
    gpu.synchronise();
    std::printf("%s copy\t%.3f\n", name,
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    const auto words = array_from(gpu, std::span<const std::uint32_t>(held.words));
    const auto begins = array_from(gpu, std::span<const std::uint8_t>(held.begins));
    const auto made = make_array<double>(gpu, size);
    std::printf("%s resident\t%.3f\n", name,
                median(gpu, rounds, [&] { by_gpu.score(words.span(), begins.span(), made.span()); }));
    // As quern perplexity gives them.
    constexpr std::size_t at_once = 65536;
    std::printf("%s from the host\t%.3f\n", name, median(gpu, rounds, [&] {
                    for (std::size_t i = 0; i < size; i += at_once) {
                        const std::size_t count = std::min(at_once, size - i);
                        by_gpu.score_host(std::span(held.words).subspan(i, count),
                                          std::span(held.begins).subspan(i, count),
                                          std::span(on_gpu).subspan(i, count));
                    }
                }));
    copy_out<double>(gpu, made.span(), on_gpu);
    if (std::memcmp(on_gpu.data(), on_cpu.data(), size * sizeof(double)) != 0)
        throw std::runtime_error("the places differ");
}

void run(std::size_t size, int rounds) {
    const text held = made_text(size, 2);
    const back_off_model model = model_of(made_text(size, 1));
    std::uint64_t ngrams = 0;
    for (unsigned n = 1; n <= order; ++n) ngrams += model.size(n);
    std::printf("order\t%u\nn-grams\t%llu\nwords\t%zu\n", order, static_cast<unsigned long long>(ngrams),
                size);
    cuda_place gpu(context::cuda());
    cpu_place cpu(context::cpu());
    std::printf("threads\t%u\n", cpu.threads());
    measure("plain", &model, held, rounds, gpu, cpu);
    for (const unsigned bits : {0U, 8U}) {
        const std::vector<char> encoded = compact_model::encode(model, bits);
        std::vector<std::uint64_t> aligned((encoded.size() + 7) / 8);
        std::memcpy(aligned.data(), encoded.data(), encoded.size());
        const compact_model compact({reinterpret_cast<const char*>(aligned.data()), encoded.size()});
        if (bits == 0) print_steps(compact, held);
        measure(bits == 0 ? "compact" : "compact, 8 bits", &compact, held, rounds, gpu, cpu);
    }
}

void write_texts(const std::string& folder, std::size_t size) {
    for (const unsigned seed : {1U, 2U}) {
        const text made = made_text(size, seed);
        std::ofstream out(folder + (seed == 1 ? "/train.txt" : "/held.txt"));
        for (std::size_t i = 0; i < made.words.size(); ++i)
            out << (i == 0 ? "" : made.begins[i] != 0 ? "\n" : " ") << 'w' << made.words[i];
        out << '\n';
    }
}

}  // namespace
}  // namespace quern

int main(int argc, char** argv) try {
    if (argc == 4 && std::string(argv[1]) == "write")
        quern::write_texts(argv[2], std::stoul(argv[3]));
    else
        quern::run(argc > 1 ? std::stoul(argv[1]) : 8'000'000, argc > 2 ? std::stoi(argv[2]) : 9);
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
