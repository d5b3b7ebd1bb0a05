// SPDX-License-Identifier: Apache-2.0
// N-gram likelihoods of a text on a GPU and on the machine's CPU cores, as in the paper's figures 4 to 6: the text and the
// dictionary are in host memory, the dictionary is loaded to the place before. The time is from the call to the last row in host
// memory, where a callback ignores the rows.
//
//     ngram_cuda_bench MEGABYTES known=N...  dictionaries of the N most frequent words; see below
//     ngram_cuda_bench MEGABYTES CASE...     a case: PLACE:METHOD:ORDER:only|all, PLACE cuda, cuda-all (every GPU),
//                                            gpu-memory=BYTES or cpu; ids-PLACE: numbered words on the host instead of text
//
// For cuda-all and ids-cuda-all after the same case with one GPU, also: "ratio", the case, how many times as fast; the
// checksums must be equal.
// The text is generated: words by rank about as 1/rank, and earlier passages repeat, about as often as in
// encyclopaedias (the share of n-grams that occur once is printed). Prints tab-separated:
// bytes, words, distinct words, place, method, order, only or all, repeats, seconds (median, minimum), rows, share of the n-grams
// that occur once, a checksum of the rows (the same for every method and place), pieces.
//
// known=N, as in the paper's table 2 and figure 6: "unknown", bytes, N, n, the share of n-grams with an unknown word, for n of 1
// to 8; and, for order 4 alone, "step", bytes, N, method, step, seconds (median of 4), with "whole" for their sum. The steps
// are those of the methods, a wait after each; the rows' way to the host is part of "count". Results of the methods on the GPU
// and of the CPU are compared.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/ngram_likelihood/rows/block_pipe.cuh"
//
#include "generator/random_numbers.hpp"
#include "generator/spelling.hpp"
#include "ops/ngram_likelihood/papers/dictionary_method.hpp"
#include "ops/ngram_likelihood/papers/string_words.hpp"
#include "primitives/dictionary/resident_words.hpp"
#include "primitives/sort/merge_sort.cuh"
#include "quern/base/parse.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace {

using namespace quern;

constexpr std::uint32_t vocabulary = 10'000'000;

/// Words by rank, the common ones short.
struct word_list {
    std::string letters;
    std::vector<std::uint64_t> ends;
    std::vector<std::string_view> sorted;
    std::vector<std::uint32_t> ids;  ///< of ranks: positions in `sorted`

    word_list() {
        for (std::uint32_t w = 0; w < vocabulary; ++w) {
            letters += generator::spell(w / 31 * 32 + w % 31);  // without those beyond ASCII
            ends.push_back(letters.size());
        }
        for (std::uint32_t w = 0; w < vocabulary; ++w) sorted.push_back(word(w));
        std::sort(sorted.begin(), sorted.end());
        ids.resize(vocabulary);
        for (std::uint32_t id = 0; id < vocabulary; ++id) {
            const auto begin = static_cast<std::uint64_t>(sorted[id].data() - letters.data());
            ids[std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin()] = id;
        }
    }
    /// The most frequent words, in byte order.
    std::vector<std::string_view> frequent_words(std::uint32_t count) const {
        std::vector<bool> kept(vocabulary);
        for (std::uint32_t rank = 0; rank < std::min(count, vocabulary); ++rank) kept[ids[rank]] = true;
        std::vector<std::string_view> found;
        for (std::uint32_t id = 0; id < vocabulary; ++id)
            if (kept[id]) found.push_back(sorted[id]);
        return found;
    }
    std::string_view word(std::uint32_t rank) const {
        const std::uint64_t begin = rank == 0 ? 0 : ends[rank - 1];
        return std::string_view(letters).substr(begin, ends[rank] - begin);
    }
};

struct generated_text {
    std::string text;
    std::vector<std::uint64_t> documents{0};
    std::vector<std::uint32_t> ids;
    std::vector<std::uint64_t> documents_of_ids{0};

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
            documents_of_ids.push_back(ids.size());
        }
    }

  private:
    void say(const word_list& words, std::uint32_t rank, std::vector<std::uint32_t>& said) {
        text += words.word(rank);
        text += ' ';
        said.push_back(rank);
        ids.push_back(words.ids[rank]);
    }
};

/// A sum over all rows that depends on their order among those of the same n.
struct checksum {
    std::uint64_t rows = 0, once = 0, of_n[max_ngram_order + 1] = {};
    void take(const ngram_rows& block) {
        std::uint64_t& sum = of_n[block.n];
        for (std::size_t r = 0; r < block.documents.size(); ++r) {
            const std::uint64_t row =
                (block.documents[r] + 1) * 0x9e3779b97f4a7c15u + block.in_document[r] * 0xc2b2ae3d27d4eb4fu +
                block.in_collection[r] * 0x165667b19e3779f9u +
                (std::bit_cast<std::uint64_t>(block.weights[r]) ^ block.firsts[r]) * (2 * block.n + 1);
            sum = sum * 0xd6e8feb86659fd93u + row;
            once += block.in_collection[r] == 1 ? 1 : 0;
        }
        rows += block.documents.size();
    }
    std::uint64_t all() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t one : of_n) sum = sum * 0xd6e8feb86659fd93u + one;
        return sum;
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

context context_of(const std::string& where) {
    context ctx = where == "cpu" ? context::cpu() : context::cuda();
    if (where == "cuda-all") ctx.device = parse_device("cuda:all");
    if (where.starts_with("gpu-memory=")) ctx.gpu_memory_bytes = std::stoull(where.substr(11));
    return ctx;
}

/// The dictionary on a place, kept for the cases that follow on the same one.
struct placed_counter {
    std::string where;
    std::optional<ngram_text_counter> counter;

    ngram_text_counter& on(const word_list& words, const std::string& requested) {
        if (counter && where == requested) return *counter;
        counter.reset();
        counter.emplace(words.sorted, context_of(requested));
        where = requested;
        return *counter;
    }
};

/// Prints how many times as fast all GPUs are as the first, if that was measured.
void compare(const std::string& requested, std::uint64_t sum, double seconds) {
    static std::map<std::string, std::pair<std::uint64_t, double>> measured;
    measured[requested] = {sum, seconds};
    const std::size_t all = requested.find("cuda-all:");
    if (all == std::string::npos) return;
    const auto one = measured.find(requested.substr(0, all) + "cuda" + requested.substr(all + 8));
    if (one == measured.end()) return;
    if (one->second.first != sum) throw std::runtime_error(requested + ": the numbers of GPUs disagree");
    std::printf("ratio\t%s\t%.2f\n", requested.c_str(), one->second.second / seconds);
}

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

    const auto count = [&](const std::function<void(const ngram_rows&)>& take) {
        if (where.starts_with("ids-"))
            return ngram_likelihood(
                {.words = text.ids, .documents = text.documents_of_ids, .vocabulary = vocabulary}, options,
                context_of(where.substr(4)), take);
        return counters.on(words, where).count({text.text, text.documents, true}, options, take);
    };
    checksum sum;
    const std::uint64_t pieces = count([&](const ngram_rows& rows) { sum.take(rows); }).pieces;
    std::vector<double> seconds;
    double all = 0;
    while (seconds.size() < 7 && (seconds.empty() || all < 2)) {
        const auto begin = std::chrono::steady_clock::now();
        count([](const ngram_rows&) {});
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        all += seconds.back();
    }
    std::sort(seconds.begin(), seconds.end());
    std::printf("%zu\t%llu\t%zu\t%s\t%s\t%u\t%s\t%zu\t%.4f\t%.4f\t%llu\t%.3f\t%016llx\t%llu\n",
                text.text.size(), static_cast<unsigned long long>(text.ids.size()), words.sorted.size(),
                where.c_str(), parts[1].c_str(), options.order, parts[3].c_str(), seconds.size(),
                seconds[seconds.size() / 2], seconds.front(), static_cast<unsigned long long>(sum.rows),
                static_cast<double>(sum.once) / static_cast<double>(sum.rows),
                static_cast<unsigned long long>(sum.all()), static_cast<unsigned long long>(pieces));
    compare(requested, sum.all(), seconds[seconds.size() / 2]);
    std::fflush(stdout);
}

/// Seconds of each step, by name, in the order of the steps.
class step_clock {
  public:
    explicit step_clock(cuda_place& place) : place_(place) {}
    void begin() { since_ = std::chrono::steady_clock::now(); }
    void end(const std::string& step) {
        place_.synchronise();
        const auto now = std::chrono::steady_clock::now();
        if (seconds_.find(step) == seconds_.end()) steps_.push_back(step);
        seconds_[step].push_back(std::chrono::duration<double>(now - since_).count());
        since_ = std::chrono::steady_clock::now();
    }
    /// Without the first round, which warms up.
    void print(const std::string& before) {
        double whole = 0;
        for (const std::string& step : steps_) {
            std::vector<double>& of_step = seconds_[step];
            std::sort(of_step.begin() + 1, of_step.end());
            const double median = of_step[1 + (of_step.size() - 1) / 2];
            whole += median;
            std::printf("%s\t%s\t%.5f\n", before.c_str(), step.c_str(), median);
        }
        std::printf("%s\twhole\t%.5f\n", before.c_str(), whole);
    }

  private:
    cuda_place& place_;
    std::chrono::steady_clock::time_point since_;
    std::vector<std::string> steps_;
    std::map<std::string, std::vector<double>> seconds_;
};

/// The steps of text_counting and of the methods (ngram_methods_cuda.cu), one after the other. Returns the checksum.
std::uint64_t time_steps(cuda_place& place, const primitives::resident_words<cuda_place>& dictionary,
                         const generated_text& text, bool with_dictionary, const ngram_options& options,
                         const std::string& before) {
    step_clock clock(place);
    std::uint64_t first = 0;
    for (int round = 0; round < 5; ++round) {
        clock.begin();
        const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.text.data()), text.text.size());
        auto on_place = array_from<cuda_place>(place, std::span<const std::uint8_t>(bytes), "text");
        const auto offsets =
            array_from<cuda_place>(place, std::span<const std::uint64_t>(text.documents), "documents");
        clock.end("text to the GPU");
        const primitives::tokenized_text<cuda_place> cut = primitives::tokenize_runs(
            place, on_place.span(), offsets.span(), primitives::run_of::letters_and_digits);
        const std::vector<std::uint64_t> documents = to_host(place, cut.document_offsets.span());
        clock.end("cut");
        const std::size_t size = cut.begins.size();
        cuda_array<std::uint32_t> ids;
        if (with_dictionary) {
            ids = make_array<std::uint32_t>(place, size, "words");
            dictionary.find(place, cut.letters.span(), cut.begins.span(), cut.ends.span(), ids.span());
            clock.end("words to ids");
        }
        ngram_detail::sorted_counting<cuda_place> counting(place, size, documents, options);
        const ngram_detail::words_by_letters letters{cut.letters.data(), cut.begins.data(), cut.ends.data()};
        if (with_dictionary)
            ngram_detail::sort_by_doubling<cuda_place>(place, ids.span(), options.order, counting.left(),
                                                       counting.positions());
        else
            primitives::merge_sort(place, counting.positions(),
                                   ngram_detail::words_before{letters, counting.left().data()});
        clock.end("sort");
        checksum sum;
        const std::function<void(const ngram_rows&)> take = [&](const ngram_rows& rows) {
            if (round == 0) sum.take(rows);
        };
        if (with_dictionary)
            counting.count(ngram_detail::words_by_id{ids.data()}, take);
        else
            counting.count(letters, take);
        clock.end("count");
        if (round == 0) first = sum.all();
    }
    clock.print(before);
    return first;
}

void require(bool what, const char* otherwise) {
    if (!what) throw std::runtime_error(otherwise);
}

void measure_known(const word_list& words, const generated_text& text, std::uint32_t known) {
    const std::vector<std::string_view> some = words.frequent_words(known);
    const ngram_text all{text.text, text.documents, true};
    ngram_options options{.order = 4, .only = true};
    const auto sum_of = [&](ngram_text_counter& counter, ngram_method method) {
        checksum sum;
        options.method = method;
        counter.count(all, options, [&](const ngram_rows& rows) { sum.take(rows); });
        return sum.all();
    };
    std::uint64_t by_ids = 0, by_letters = 0;
    {
        ngram_text_counter counter(some, context::cuda());
        const ngram_options of_all{.order = 8};
        for (const ngram_totals& of_n : counter.count(all, of_all, [](const ngram_rows&) {}).totals)
            std::printf("unknown\t%zu\t%u\t%u\t%.6f\n", text.text.size(), known, of_n.n,
                        static_cast<double>(of_n.with_unknown) / static_cast<double>(of_n.occurrences));
        std::fflush(stdout);
        by_ids = sum_of(counter, ngram_method::dictionary);
        by_letters = sum_of(counter, ngram_method::strings);
        require(sum_of(counter, ngram_method::automatic) == by_ids, "auto and dictionary disagree");
    }
    const std::string before = "step\t" + std::to_string(text.text.size()) + "\t" + std::to_string(known);
    {
        cuda_place place(context::cuda());
        std::size_t next = 0;
        const primitives::resident_words<cuda_place> dictionary(place,
                                                                [&]() -> std::optional<std::string_view> {
                                                                    if (next == some.size()) return {};
                                                                    return some[next++];
                                                                });
        require(time_steps(place, dictionary, text, true, options, before + "\tdictionary") == by_ids,
                "the steps of dictionary give other rows");
        require(time_steps(place, dictionary, text, false, options, before + "\tstrings") == by_letters,
                "the steps of strings give other rows");
    }
    std::fflush(stdout);
    ngram_text_counter counter(some, context::cpu());
    require(sum_of(counter, ngram_method::automatic) == by_ids, "GPU and CPU disagree");
}

}  // namespace

int main(int count, char** arguments) {
    try {
        if (count < 3) throw std::runtime_error("ngram_cuda_bench MEGABYTES PLACE:METHOD:ORDER:only|all...");
        const word_list words;
        const generated_text text(words, std::stoull(arguments[1]) * 1'000'000, 1);
        placed_counter counters;
        for (int i = 2; i < count; ++i) {
            const std::string requested = arguments[i];
            if (requested.starts_with("known="))
                measure_known(words, text, static_cast<std::uint32_t>(std::stoul(requested.substr(6))));
            else
                measure(words, text, counters, requested);
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "ngram_cuda_bench: %s\n", e.what());
        return 1;
    }
}
