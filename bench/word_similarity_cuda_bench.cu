// SPDX-License-Identifier: Apache-2.0
// The most similar words of every word on a GPU: `auto`, step by step and whole, and the thesis's two methods.
// word_similarity_cuda_bench [--only=steps|table|reduced|map|wide-map|measures|places] [--device=cuda:all] [--words=N] [--rows=A-B] [--seconds=S] [PREFIX]
//   PREFIX: a matrix in the files PREFIX.offsets, .columns, .weights, .counts (raw, in the layout of context_matrix); else
//   a generated one with similar properties. reduced: the table without `compressed`; --words: the table for N words
//   only. --rows: thread counts of the heat map, in steps of 32, A to B.
//   wide-map: the heat map beyond 320 x 320, for --seconds, and the table at its best launch; only if asked for.
//   places: one GPU against all of --device (cuda:all or cuda:0,1 …), only if asked for.
//   --seconds: a method is not run on more words once it has taken S seconds.
// One line a measurement, tab-separated: what, words, blocks, threads, seconds, a count (entries, multiply-adds, pairs).
// places: what, words, GPUs, 0, seconds, how many times as fast as the first GPU.
// Steps, `auto` and places: medians of 3, warm; the thesis's methods: one run after a small one.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device/place_set.hpp"
#include "generator/word_contexts.hpp"
#include "ops/word_similarity/bounds/automatic_cuda.hpp"
#include "ops/word_similarity/exact/row_groups.cuh"
#include "ops/word_similarity/similarity_methods.hpp"
#include "quern/base/parse.hpp"

namespace quern::word_similarity_detail {
namespace {

template <class T>
std::vector<T> read_values(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::vector<T> values(static_cast<std::size_t>(file.tellg()) / sizeof(T));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(T)));
    return values;
}

context_matrix read_matrix(const std::string& prefix) {
    context_matrix made;
    made.offsets = read_values<std::uint64_t>(prefix + ".offsets");
    made.columns = read_values<std::uint32_t>(prefix + ".columns");
    made.weights = read_values<float>(prefix + ".weights");
    made.column_counts = read_values<std::uint64_t>(prefix + ".counts");
    made.words = static_cast<std::uint32_t>(made.offsets.size() - 1);
    made.relations = static_cast<std::uint32_t>(made.column_counts.size() / made.words);
    return made;
}

void print(const char* what, std::uint32_t words, unsigned blocks, unsigned threads, double seconds,
           double count) {
    std::printf("%s\t%u\t%u\t%u\t%.6f\t%.0f\n", what, words, blocks, threads, seconds, count);
    std::fflush(stdout);
}

template <class Timed>
double seconds_of(const Timed& timed) {
    const auto begin = std::chrono::steady_clock::now();
    timed();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
}

/// Multiply-adds of the product of the rows with each other, without zeros.
double multiply_adds(const fixed_rows& rows) {
    std::vector<double> lengths(rows.column_count);
    for (const std::uint32_t column : rows.columns) ++lengths[column];
    return std::inner_product(lengths.begin(), lengths.end(), lengths.begin(), 0.0);
}

/// The steps of `auto`, as automatic_cuda.cu takes them where all fits on the device.
void measure_steps(cuda_place& place, const fixed_rows& rows, similarity_measure measure) {
    const bool is_lin = measure == similarity_measure::lin;
    const std::string of = is_lin ? " (lin)" : " (cosine)";
    cpu_place host(place.ctx());
    std::map<std::string, std::vector<double>> seconds;
    double pairs = 0;
    for (int round = 0; round < 4; ++round) {
        const auto timed = [&](const char* what, const auto& work) {
            double took = seconds_of([&] {
                work();
                place.synchronise();
            });
            if (round > 0) seconds[what].push_back(took);
        };
        std::optional<weight_codes> codes;
        timed("codes", [&] { codes = choose_codes(host, rows, measure); });
        if (!codes) return;
        const auto exact = array_from<cuda_place, std::uint64_t>(place, is_lin ? rows.sums : rows.squares);
        const auto norms = array_from<cuda_place, float>(place, codes->norms);
        row_group group;
        timed("rows to the device", [&] { group = row_group(place, rows, 0, rows.words); });
        best_lists best(place, rows.words, 20);
        double postings = 0, choosing = 0, scoring = 0;
        for (const word_range& words :
             cut_words(rows, {0, rows.words}, max_tile_words, std::uint64_t{1} << 31)) {
            tile_postings tile;
            const std::uint64_t begin = rows.offsets[words.first];
            postings += seconds_of([&] {
                tile =
                    make_postings(place, group.view(), words.first, words.count, begin,
                                  rows.offsets[words.first + words.count] - begin, rows.column_count, *codes);
                place.synchronise();
            });
            choosing += seconds_of([&] {
                choose_candidates(place, group.view(), tile, *codes, norms.span(), best);
                place.synchronise();
            });
            if (round == 0)
                for (const std::uint32_t found : to_host(place, best.found.span())) pairs += found;
            scoring += seconds_of([&] {
                keep_best(place, group.view(), group.view(), words.first, words.count, measure,
                          std::ldexp(1.0, is_lin ? rows.bits : rows.product_bits), exact.span(), best);
                place.synchronise();
            });
        }
        if (round == 0) continue;
        seconds["words by context"].push_back(postings);
        seconds["candidates"].push_back(choosing);
        seconds["exact scores"].push_back(scoring);
    }
    const double adds = multiply_adds(rows);
    for (const auto& [what, all] : seconds)
        print(("step, " + what + of).c_str(), rows.words, 0, 0, median(all),
              what == "candidates"     ? adds
              : what == "exact scores" ? pairs
                                       : static_cast<double>(rows.columns.size()));
    std::vector<double> whole;
    for (int round = 0; round < 4; ++round) {
        const double took = seconds_of([&] {
            find_automatically(place, rows, {similarity_method::automatic, measure});
        });
        if (round > 0) whole.push_back(took);
    }
    print(("auto" + of).c_str(), rows.words, 0, 0, median(whole), adds);
}

bool same(const neighbour_lists& a, const neighbour_lists& b) {
    return a.offsets == b.offsets && a.words == b.words && a.scores == b.scores;
}

/// The first words of a matrix, in fixed point.
struct first_rows {
    first_rows(const context_matrix& whole, const generator::vocabulary& first)
        : part(generator::first_words(whole, std::min(whole.words, first.words), first.share)),
          owned(restrict_columns(host, part.view(), all_columns)) {
        fix_sums(host, owned.rows);
    }
    first_rows(const first_rows&) = delete;  // `owned` may view `part`
    cpu_place host{context::cpu()};
    context_matrix part;
    owned_rows owned;
};

struct options {
    bool steps = true, table = true, map = true, measures = true, compressed = true, places = false,
         wide_map = false;
    unsigned first_threads = 32, last_threads = 320;
    double seconds = 20;
    std::uint32_t words = 0;
    std::string prefix, device = "cuda:all";
};

struct timed_lists {
    neighbour_lists lists;
    double seconds = 0;
};

void measure_table(cuda_place& place, const context_matrix& whole, std::uint32_t only, bool compressed,
                   double limit) {
    cpu_place host(place.ctx());
    double last_compressed = 0, last_reduced = 0;
    for (const auto& [words, share] : generator::thesis_vocabularies) {
        if (words > whole.words) break;
        if (only != 0 && words != only && words != 1000) continue;
        const context_matrix part =
            words == whole.words ? whole : generator::first_words(whole, words, share);
        owned_rows all = restrict_columns(host, part.view(), all_columns);
        fix_sums(host, all.rows);
        const auto run = [&](const fixed_rows& rows, const similarity_options& how, auto find) {
            timed_lists made;
            made.seconds = seconds_of([&] { made.lists = find(place, rows, how); });
            return made;
        };
        const auto by_auto = [](auto& p, const auto& rows, const auto& how) {
            return find_automatically(p, rows, how);
        };
        run(all.rows, {}, by_auto);
        const timed_lists ours = run(all.rows, {}, by_auto);
        if (words == 1000) {  // warms up, and is checked
            const timed_lists theirs = run(all.rows, {}, [](auto& p, const auto& rows, const auto& how) {
                return find_compressed(p, rows, how);
            });
            if (!same(ours.lists, theirs.lists)) throw std::runtime_error("the methods disagree");
            continue;
        }
        print("table, auto", words, 0, 0, ours.seconds, multiply_adds(all.rows));
        if (compressed && last_compressed < limit) {
            const timed_lists theirs = run(all.rows, {}, [](auto& p, const auto& rows, const auto& how) {
                return find_compressed(p, rows, how);
            });
            last_compressed = theirs.seconds;
            print("table, compressed", words, 0, 0, theirs.seconds,
                  static_cast<double>(all.rows.columns.size()));
            if (!same(ours.lists, theirs.lists)) throw std::runtime_error("the methods disagree");
        }
        if (last_reduced < limit) {
            owned_rows reduced = restrict_columns(host, part.view(), 5000);
            fix_sums(host, reduced.rows);
            const timed_lists theirs = run(reduced.rows, {}, [](auto& p, const auto& rows, const auto& how) {
                return find_column_reduced(p, rows, how);
            });
            last_reduced = theirs.seconds;
            print("table, column-reduced", words, 0, 0, theirs.seconds, 5000);
            const timed_lists fast = run(reduced.rows, {}, by_auto);
            print("table, auto of 5,000 columns", words, 0, 0, fast.seconds, multiply_adds(reduced.rows));
            if (!same(fast.lists, theirs.lists)) throw std::runtime_error("the methods disagree");
        }
    }
}

void measure_map(cuda_place& place, const context_matrix& whole, unsigned first_threads,
                 unsigned last_threads) {
    const first_rows first(whole, generator::thesis_vocabularies[1]);
    const fixed_rows& rows = first.owned.rows;
    similarity_options how;
    find_compressed(place, rows, how);  // warm
    for (how.threads = last_threads; how.threads >= first_threads; how.threads -= 32) {
        for (how.blocks = 320; how.blocks >= 32; how.blocks -= 32) {
            const double seconds = seconds_of([&] { find_compressed(place, rows, how); });
            print("map", rows.words, how.blocks, how.threads, seconds, 0);
        }
    }
}

/// The launches beyond the thesis's, up to the most threads that a block can have and more blocks than words, none after `limit`
/// seconds; and its table, up to 20,000 words, at the best of them and at ours.
void measure_wide_map(cuda_place& place, const context_matrix& whole, double limit) {
    similarity_options how, best;
    double least = 1e30, all = 0;
    {
        const first_rows first(whole, generator::thesis_vocabularies[1]);
        const fixed_rows& rows = first.owned.rows;
        find_compressed(place, rows, how);  // warm
        for (const unsigned blocks : {320u, 640u, 1280u, 2560u, 5120u, 10'240u, 160u}) {
            for (const unsigned threads :
                 {320u, 512u, 1024u, 768u, 640u, 448u, 384u, 256u, 192u, 128u, 64u}) {
                if (all > limit) break;
                how.blocks = blocks, how.threads = threads;
                const double seconds = seconds_of([&] { find_compressed(place, rows, how); });
                all += seconds;
                print("wide map", rows.words, blocks, threads, seconds, 0);
                if (seconds < least) least = seconds, best = how;
            }
        }
    }
    for (const generator::vocabulary& part : generator::thesis_vocabularies) {
        if (part.words < 5000 || part.words > 20'000) continue;
        const first_rows first(whole, part);
        const fixed_rows& rows = first.owned.rows;
        const auto entries = static_cast<double>(rows.columns.size());
        neighbour_lists ours, theirs;
        const double usual = seconds_of([&] { ours = find_compressed(place, rows, {}); });
        print("launch, ours", part.words, 0, 0, usual, entries);
        const double tuned = seconds_of([&] { theirs = find_compressed(place, rows, best); });
        print("launch, best", part.words, best.blocks, best.threads, tuned, entries);
        if (!same(ours, theirs)) throw std::runtime_error("the launches disagree");
    }
}

/// Every measure from the matrix on the host to lists there, the second of two runs; and with 10,000 words on all cores.
void measure_measures(const context_matrix& whole) {
    constexpr std::pair<const char*, similarity_measure> measures[] = {
        {"lin", similarity_measure::lin},
        {"cosine", similarity_measure::cosine},
        {"jaccard", similarity_measure::jaccard},
        {"weeds", similarity_measure::weeds},
        {"jensen-shannon", similarity_measure::jensen_shannon},
        {"skew", similarity_measure::skew}};
    const auto twice = [](const context_matrix& matrix, similarity_measure measure, const context& ctx) {
        timed_lists made;
        for (int round = 0; round < 2; ++round)
            made.seconds =
                seconds_of([&] { made.lists = similar_words(matrix.view(), {.measure = measure}, ctx); });
        return made;
    };
    const context_matrix part = generator::first_words(whole, 10'000, 0.38);
    for (const auto& [name, measure] : measures) {
        const std::string what = std::string("measure, ") + name;
        const timed_lists small = twice(part, measure, context::cuda());
        print(what.c_str(), part.words, 0, 0, small.seconds, static_cast<double>(part.columns.size()));
        timed_lists on_host;
        on_host.seconds = seconds_of(
            [&] { on_host.lists = similar_words(part.view(), {.measure = measure}, context::cpu()); });
        print((what + ", CPU").c_str(), part.words, 0, 0, on_host.seconds,
              static_cast<double>(part.columns.size()));
        if (!same(small.lists, on_host.lists)) throw std::runtime_error(what + ": the places disagree");
        print(what.c_str(), whole.words, 0, 0, twice(whole, measure, context::cuda()).seconds,
              static_cast<double>(whole.columns.size()));
    }
}

/// The ranges of words with the matrix on every place already.
class resident_searches {
  public:
    resident_searches(place_set& places, const fixed_rows& rows, const similarity_options& how)
        : places_(places),
          shares_(shares_of_words(rows, places.size())),
          searches_(places.size()),
          found_(shares_.size()) {
        places.on_each([&](auto& place, cpu_place&, std::size_t index) {
            searches_[index] = open_range_search(place, rows, how);
        });
        find();  // what the first search makes, and keeps
    }
    ~resident_searches() {
        places_.on_each([&](auto&, cpu_place&, std::size_t index) { searches_[index] = nullptr; });
    }
    void find() {
        std::atomic<std::size_t> next{0};
        places_.on_each([&](auto&, cpu_place&, std::size_t index) {
            for (std::size_t unit = next++; unit < shares_.size(); unit = next++)
                found_[unit] = searches_[index]->find(shares_[unit]);
        });
    }

  private:
    place_set& places_;
    std::vector<word_range> shares_;
    std::vector<std::unique_ptr<range_search>> searches_;
    std::vector<neighbour_lists> found_;
};

/// One GPU against all: with the matrix there, from fixed-point rows on the host, and from the matrix on the host, to lists
/// there.
void measure_places(const context_matrix& whole, const std::string& device) {
    context ctx = context::cuda();
    ctx.device = parse_device(device);
    const chosen_device all = choose_device(ctx, "this benchmark", offered_places::several_gpus);
    chosen_device first = all;
    first.more.clear();
    cpu_place host(ctx);
    owned_rows owned = restrict_columns(host, whole.view(), all_columns);
    fix_sums(host, owned.rows);
    for (const auto& [name, measure] : {std::pair{"lin", similarity_measure::lin},
                                        {"cosine", similarity_measure::cosine},
                                        {"jaccard", similarity_measure::jaccard}}) {
        const similarity_options how{.measure = measure};
        std::map<std::string, double> alone;
        neighbour_lists expected;
        for (const chosen_device& chosen : {first, all}) {
            const auto timed = [&](const char* what, const auto& work) {
                std::vector<double> seconds;
                for (int round = 0; round < 4; ++round) {
                    const double took = seconds_of(work);
                    if (round > 0) seconds.push_back(took);
                }
                const double took = median(seconds);
                alone.try_emplace(what, took);
                std::printf("places, %s, %s\t%u\t%zu\t0\t%.6f\t%.3f\n", name, what, whole.words,
                            1 + chosen.more.size(), took, alone[what] / took);
                std::fflush(stdout);
            };
            place_set places(ctx, chosen);
            {
                resident_searches resident(places, owned.rows, how);
                timed("matrix on the device", [&] { resident.find(); });
            }
            neighbour_lists found;
            timed("rows on the host", [&] {
                places[0].visit([&](auto& place) {
                    found = chosen.more.empty() ? find_automatically(place, owned.rows, how)
                                                : find_on_several(places, owned.rows, how);
                });
            });
            if (chosen.more.empty()) expected = found;
            if (!same(found, expected)) throw std::runtime_error("the numbers of GPUs disagree");
            timed("matrix on the host", [&] { found = similar_words_on(chosen, whole.view(), how, ctx); });
            if (!same(found, expected)) throw std::runtime_error("the numbers of GPUs disagree");
        }
    }
}

options read_options(int count, char** arguments) {
    options made;
    for (int i = 1; i < count; ++i) {
        const std::string argument = arguments[i];
        const auto value = [&](std::string_view name) {
            return argument.rfind(name, 0) == 0 ? argument.c_str() + name.size() : nullptr;
        };
        if (const char* only = value("--only=")) {
            const std::string_view part = only;
            made.steps = part == "steps";
            made.compressed = part != "reduced";
            made.table = part == "table" || part == "reduced";
            made.map = part == "map";
            made.wide_map = part == "wide-map";
            made.measures = part == "measures";
            made.places = part == "places";
        } else if (const char* device = value("--device=")) {
            made.device = device;
        } else if (const char* threads = value("--rows=")) {
            if (std::sscanf(threads, "%u-%u", &made.first_threads, &made.last_threads) != 2)
                throw std::runtime_error("--rows=A-B");
        } else if (const char* words = value("--words=")) {
            made.words = static_cast<std::uint32_t>(std::stoul(words));
        } else if (const char* seconds = value("--seconds=")) {
            made.seconds = std::stod(seconds);
        } else {
            made.prefix = argument;
        }
    }
    return made;
}

void run(const options& requested) {
    cuda_place place(context::cuda());
    cpu_place host(place.ctx());
    context_matrix whole;
    const double made = seconds_of([&] {
        whole = requested.prefix.empty() ? generator::word_contexts(100'000) : read_matrix(requested.prefix);
    });
    print("matrix", whole.words, 0, 0, made, static_cast<double>(whole.columns.size()));
    if (requested.steps) {
        owned_rows rows;
        const double fixed = seconds_of([&] {
            rows = restrict_columns(host, whole.view(), all_columns);
            fix_sums(host, rows.rows);
        });
        print("step, check and fixed point on the host", whole.words, 0, 0, fixed,
              static_cast<double>(whole.columns.size()));
        measure_steps(place, rows.rows, similarity_measure::lin);
        measure_steps(place, rows.rows, similarity_measure::cosine);
    }
    if (requested.table)
        measure_table(place, whole, requested.words, requested.compressed, requested.seconds);
    if (requested.measures) measure_measures(whole);
    if (requested.places) measure_places(whole, requested.device);
    if (requested.map) measure_map(place, whole, requested.first_threads, requested.last_threads);
    if (requested.wide_map) measure_wide_map(place, whole, requested.seconds);
}

}  // namespace
}  // namespace quern::word_similarity_detail

int main(int count, char** arguments) {
    try {
        using namespace quern::word_similarity_detail;
        run(read_options(count, arguments));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "word_similarity_cuda_bench: %s\n", e.what());
        return 1;
    }
    return 0;
}
