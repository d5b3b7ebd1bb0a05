// SPDX-License-Identifier: Apache-2.0
// A text of lines tokenized and looked up on a GPU, the dictionary resident; the same on all cores; and a comparison of
// both. dictionary_cuda_bench WORDS BYTES ROUNDS: prints NAME TAB VALUE lines, times in milliseconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "generator/random_numbers.hpp"
#include "generator/spelling.hpp"
#include "primitives/dictionary/resident_words.hpp"
#include "text/dictionary.hpp"

namespace quern {
namespace {

template <class Place, class Work>
void print_median(const char* name, Place& place, int rounds, const Work& work) {
    std::vector<double> taken;
    for (int i = 0; i < rounds; ++i) {
        place.synchronise();
        const auto start = std::chrono::steady_clock::now();
        work();
        place.synchronise();
        taken.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(taken.begin(), taken.end());
    std::printf("%s\t%.3f\n", name, taken[taken.size() / 2]);
}

struct outcome {
    std::vector<std::uint32_t> begins, ends, ids, run_begins;
    std::vector<std::uint64_t> documents;
    friend bool operator==(const outcome&, const outcome&) = default;
};

template <class Place>
outcome measure(const char* where, Place& place, const text::dictionary_view& words,
                const std::vector<std::uint8_t>& text, int rounds) {
    const auto name = [&](const char* what) { return std::string(where) + " " + what; };
    text::dictionary_view::walker walker(words, 0);
    const primitives::resident_words<Place> resident(place, [&] { return walker.next(); });
    auto on_place = make_array<std::uint8_t>(place, text.size());
    print_median(name("copy in").c_str(), place, rounds,
                 [&] { copy_in<std::uint8_t>(place, std::span<const std::uint8_t>(text), on_place.span()); });
    const span_on<Place, const std::uint8_t> view = on_place.span();
    primitives::tokenized_text<Place> cut;
    print_median(name("cut lines").c_str(), place, rounds,
                 [&] { cut = primitives::tokenize_lines(place, view); });
    auto ids = make_array<std::uint32_t>(place, cut.begins.size());
    print_median(name("find").c_str(), place, rounds,
                 [&] { resident.find(place, view, cut.begins.span(), cut.ends.span(), ids.span()); });
    outcome out{to_host(place, cut.begins.span()),
                to_host(place, cut.ends.span()),
                to_host(place, ids.span()),
                {},
                to_host(place, cut.document_offsets.span())};
    const std::vector<std::uint64_t> whole = {0, text.size()};
    const auto offsets = array_from(place, std::span<const std::uint64_t>(whole));
    const span_on<Place, const std::uint64_t> documents = offsets.span();
    print_median(name("cut runs").c_str(), place, rounds, [&] {
        cut = primitives::tokenize_runs(place, view, documents, primitives::run_of::letters_and_digits);
    });
    out.run_begins = to_host(place, cut.begins.span());
    return out;
}

void run(std::size_t count, std::size_t bytes, int rounds) {
    std::vector<std::string> words;
    for (std::size_t n = 0; n < count; ++n) words.push_back(generator::spell(3 * n));
    std::sort(words.begin(), words.end());
    text::dictionary_builder builder;
    for (const std::string& word : words) builder.append(word);
    const std::string stored = builder.finish();
    const auto view = text::dictionary_view::open(stored);
    generator::random_numbers random(1);
    std::vector<std::uint8_t> text;
    text.reserve(bytes + 100);
    std::uint64_t requested = 0;
    while (text.size() < bytes) {
        const std::string word = generator::spell(random.ranked(3 * count));  // two in three are unknown
        text.insert(text.end(), word.begin(), word.end());
        text.push_back('\n');
        if (++requested % 500 == 0) text.push_back('\n');
    }
    std::printf("words\t%zu\nbits\t%.1f\ntext bytes\t%zu\nasked\t%llu\n", words.size(),
                8.0 * static_cast<double>(stored.size()) / static_cast<double>(words.size()), text.size(),
                static_cast<unsigned long long>(requested));
    words = {};

    cuda_place gpu(context::cuda());
    const outcome on_gpu = measure("gpu", gpu, *view, text, rounds);
    cpu_place cpu(context::cpu());
    const outcome on_cpu = measure("cpu", cpu, *view, text, rounds);
    if (on_gpu != on_cpu) throw std::runtime_error("the places differ");
}

}  // namespace
}  // namespace quern

int main(int argc, char** argv) try {
    if (argc != 4) throw std::runtime_error("dictionary_cuda_bench WORDS BYTES ROUNDS");
    quern::run(std::stoul(argv[1]), std::stoul(argv[2]), std::stoi(argv[3]));
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
