// SPDX-License-Identifier: Apache-2.0
// Exact nearest neighbours of dense vectors on the CPU, for bench/run-nearest.
//
//     nearest_bench write KIND ROWS DIMENSIONS QUERIES PREFIX   PREFIX.base.fbin and PREFIX.queries.fbin
//     nearest_bench kernels ROWS DIMENSIONS THREADS             only keys of all rows: type, metric, queries, ms, GB/s
//     nearest_bench serve BASE.fbin QUERIES.fbin THREADS        answers queries, so that engines take turns
//
// Input lines: way, first query, queries, k, [file for ids (uint32) and distances (double)]. The output is the time in
// milliseconds, for a search also the number of computed distances. Ways:
//     knn         a set that has been searched before, so that it has its 8-bit filter
//     first       a new set; the clock starts after its construction
//     reduction   the paper's method
//     prepare     the time to make a set
//     canonical   the contract's sums one by one, then a sort
//     real        the same with differences in double
//     read, copy  the set's bytes: the memory bandwidth of these threads
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "generator/vectors.hpp"
#include "ops/nearest/index/tile.hpp"
#include "quern/ops/nearest.hpp"

namespace {

using namespace quern;
using namespace quern::nearest_detail;

struct table {
    std::uint32_t rows = 0, dimensions = 0;
    std::vector<float> values;
    vectors_view view(std::size_t first, std::size_t count) const {
        const std::span<const float> wanted =
            std::span(values).subspan(first * dimensions, count * dimensions);
        return {vector_type::f32, count, dimensions, 4ull * dimensions, std::as_bytes(wanted)};
    }
    std::span<const float> row(std::size_t r) const {
        return std::span(values).subspan(r * dimensions, dimensions);
    }
};

table read_table(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    table read;
    file.read(reinterpret_cast<char*>(&read.rows), 4).read(reinterpret_cast<char*>(&read.dimensions), 4);
    read.values.resize(std::size_t{read.rows} * read.dimensions);
    file.read(reinterpret_cast<char*>(read.values.data()),
              static_cast<std::streamsize>(read.values.size() * 4));
    if (!file) throw std::runtime_error("cannot read " + path);
    return read;
}

void write_table(const std::string& path, std::uint32_t dimensions, const std::vector<float>& values) {
    const std::uint32_t head[] = {static_cast<std::uint32_t>(values.size() / dimensions), dimensions};
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(head), sizeof head)
        .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
}

double milliseconds(const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median_of(int rounds, const auto& work) {
    std::vector<double> taken;
    for (int round = 0; round < rounds; ++round) taken.push_back(milliseconds(work));
    std::ranges::nth_element(taken, taken.begin() + rounds / 2);
    return taken[static_cast<std::size_t>(rounds / 2)];
}

// ---- Reference for the results: one distance after the other, a sort of all ----

/// The definition of sql2 in distance.hpp, literally.
float canonical_distance(std::span<const float> a, std::span<const float> b) {
    float p[16] = {};
    for (std::size_t i = 0; i < a.size(); ++i) {
        const float difference = a[i] - b[i];
        const float part = difference * difference;
        p[i % 16] += part;
    }
    for (std::size_t width = 8; width > 0; width /= 2)
        for (std::size_t i = 0; i < width; ++i) p[i] += p[i + width];
    return p[0];
}

double real_distance(std::span<const float> a, std::span<const float> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = static_cast<double>(a[i]) - b[i];
        sum += difference * difference;
    }
    return sum;
}

void rank_slowly(const table& base, std::span<const float> query, std::size_t k, const auto& distance,
                 rankings& found) {
    std::vector<double> distances(base.rows);
    tbb::parallel_for(std::size_t{0}, std::size_t{base.rows}, [&](std::size_t r) {
        distances[r] = static_cast<double>(distance(base.row(r), query));
    });
    std::vector<std::uint32_t> order(base.rows);
    std::iota(order.begin(), order.end(), 0u);
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        return distances[a] < distances[b] || (distances[a] == distances[b] && a < b);
    };
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(k), before);
    order.resize(k);
    for (const std::uint32_t r : order) {
        found.ids.push_back(r);
        found.distances.push_back(distances[r]);
    }
}

// ---- Memory bandwidth ----

constexpr std::size_t chunk = std::size_t{1} << 20;

double read_time(std::span<const float> values) {
    const auto words = std::span(reinterpret_cast<const std::uint64_t*>(values.data()), values.size() / 2);
    std::vector<std::uint64_t> sums((words.size() + chunk - 1) / chunk);
    const double taken = milliseconds([&] {
        tbb::parallel_for(std::size_t{0}, sums.size(), [&](std::size_t s) {
            const auto mine = words.subspan(s * chunk, std::min(chunk, words.size() - s * chunk));
            sums[s] = std::accumulate(mine.begin(), mine.end(), std::uint64_t{0});
        });
    });
    if (std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) == 1) std::puts("");  // it is needed
    return taken;
}

double copy_time(std::span<const float> values, std::vector<float>& to) {
    to.resize(values.size());
    return milliseconds([&] {
        tbb::parallel_for(std::size_t{0}, (values.size() + chunk - 1) / chunk, [&](std::size_t s) {
            const std::size_t count = std::min(chunk, values.size() - s * chunk);
            std::memcpy(to.data() + s * chunk, values.data() + s * chunk, count * sizeof(float));
        });
    });
}

// ---- serve ----

void write_results(const std::string& path, const rankings& found) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(found.ids.data()),
               static_cast<std::streamsize>(found.ids.size() * sizeof found.ids[0]))
        .write(reinterpret_cast<const char*>(found.distances.data()),
               static_cast<std::streamsize>(found.distances.size() * sizeof found.distances[0]));
}

class server {
  public:
    server(const std::string& base_path, const std::string& queries_path, unsigned threads)
        : base_(read_table(base_path)),
          queries_(read_table(queries_path)),
          threads_(threads),
          arena_(static_cast<int>(threads)),
          set_(new_set(retrieval_method::automatic)),
          reduction_(new_set(retrieval_method::reduction)) {
        (void)set_.search(queries_.view(0, queries_.rows), {.k = 100});
    }

    void result(const std::string& way, std::size_t first, std::size_t count, std::size_t k,
                const std::string& path) {
        rankings found;
        const double taken = time(way, first, count, k, found);
        if (!path.empty()) write_results(path, found);
        std::printf("%.4f\t%llu\n", taken, static_cast<unsigned long long>(distances_));
        std::fflush(stdout);
    }

  private:
    vector_set new_set(retrieval_method method) const {
        return vector_set(base_.view(0, base_.rows), {.metric = vector_metric::sql2, .method = method},
                          context::cpu(threads_));
    }

    double time(const std::string& way, std::size_t first, std::size_t count, std::size_t k,
                rankings& found) {
        const auto slowly = [&](const auto& distance) {
            return milliseconds([&] {
                for (std::size_t q = first; q < first + count; ++q)
                    arena_.execute([&] { rank_slowly(base_, queries_.row(q), k, distance, found); });
            });
        };
        distances_ = 0;
        if (way == "read") return arena_.execute([&] { return read_time(base_.values); });
        if (way == "copy") return arena_.execute([&] { return copy_time(base_.values, copied_); });
        if (way == "canonical") return slowly(canonical_distance);
        if (way == "real") return slowly(real_distance);
        if (way == "prepare") return milliseconds([&] { (void)new_set(retrieval_method::automatic); });
        const auto search = [&](vector_set& set) {
            const double taken =
                milliseconds([&] { found = set.search(queries_.view(first, count), {.k = k}); });
            distances_ = set.record().distances;
            return taken;
        };
        if (way == "knn") return search(set_);
        if (way == "reduction") return search(reduction_);
        if (way != "first") throw std::invalid_argument("no way " + way);
        vector_set made = new_set(retrieval_method::automatic);
        return search(made);
    }

    table base_, queries_;
    unsigned threads_;
    tbb::task_arena arena_;
    vector_set set_, reduction_;
    std::vector<float> copied_;
    std::uint64_t distances_ = 0;  ///< of the last search
};

void serve(const std::string& base_path, const std::string& queries_path, unsigned threads) {
    server searching(base_path, queries_path, threads);
    std::puts("ready");
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string way, path;
        std::size_t first = 0, count = 0, k = 0;
        words >> way >> first >> count >> k >> path;
        searching.result(way, first, count, k, path);
    }
}

// ---- kernels ----

/// Integers of 0 to 255 as components of any type: native bits of the type, halves exact.
std::vector<std::byte> components(vector_type type, std::uint32_t dimensions, std::span<const float> bytes) {
    const std::size_t rows = bytes.size() / dimensions, each = bytes_of_row(type, dimensions);
    std::vector<std::byte> made(rows * each);
    const auto put = [&](std::size_t i, auto value) {
        std::memcpy(made.data() + i * sizeof value, &value, sizeof value);
    };
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const float value = bytes[i];
        const auto bits = std::bit_cast<std::uint32_t>(value);
        switch (type) {
            case vector_type::f32:
                put(i, value);
                break;
            case vector_type::f64:
                put(i, static_cast<double>(value));
                break;
            case vector_type::f16:
                put(i, static_cast<std::uint16_t>(value == 0 ? 0 : (bits >> 13) - (112u << 10)));
                break;
            case vector_type::bf16:
                put(i, static_cast<std::uint16_t>(bits >> 16));
                break;
            case vector_type::i16:
                put(i, static_cast<std::int16_t>(value * 100));
                break;
            case vector_type::i8:
                put(i, static_cast<std::int8_t>(value - 128));
                break;
            case vector_type::u8:
                put(i, static_cast<std::uint8_t>(value));
                break;
            case vector_type::bits:
                made[i / dimensions * each + i % dimensions / 8] |= std::byte{value > 29}
                                                                    << static_cast<int>(i % dimensions % 8);
                break;
        }
    }
    return made;
}

row_tile<cpu_place> tile_of(vector_type type, std::uint32_t dimensions,
                            std::span<const std::byte> components) {
    const std::uint64_t each = bytes_of_row(type, dimensions);
    return {.type = type,
            .rows = static_cast<std::uint32_t>(components.size() / each),
            .dimensions = dimensions,
            .stride = each,
            .values = components,
            .squares = {}};
}

bool has_metric(vector_type type, vector_metric metric) {
    if (type == vector_type::u8) return true;
    return (metric == vector_metric::hamming) == (type == vector_type::bits);
}

template <class Key>
double time_keys(cpu_place& place, const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries,
                 vector_metric metric) {
    std::vector<Key> keys(std::size_t{queries.rows} * tile.rows);
    return median_of(5, [&] { distance_keys<Key>(place, tile, queries, metric, {}, keys); });
}

void time_kernels(std::uint32_t rows, std::uint32_t dimensions, unsigned threads) {
    const std::vector<float> bytes =
        generator::make_vectors(generator::vectors_kind::sift, 0, rows + 8, dimensions);
    cpu_place place(context::cpu(threads));
    for (const vector_type type : {vector_type::f32, vector_type::f16, vector_type::bf16, vector_type::i16,
                                   vector_type::i8, vector_type::u8, vector_type::bits}) {
        const std::vector<std::byte> values = components(type, dimensions, bytes);
        const std::size_t base_bytes = std::size_t{rows} * bytes_of_row(type, dimensions);
        row_tile<cpu_place> base = tile_of(type, dimensions, std::span(values).first(base_bytes));
        row_tile<cpu_place> queries = tile_of(type, dimensions, std::span(values).subspan(base_bytes));
        std::vector<double> squares(rows), query_squares(queries.rows);
        if (type != vector_type::bits) {
            (void)stats_of(place, base, squares);
            (void)stats_of(place, queries, query_squares);
            base.squares = squares;
        }
        for (int m = 0; m < 7; ++m) {
            const auto metric = static_cast<vector_metric>(m);
            if (metric == vector_metric::l2 || !has_metric(type, metric))
                continue;  // l2 has the keys of sql2
            const integer_range range = type == vector_type::i16  ? integer_range{0, 25500}
                                        : type == vector_type::i8 ? integer_range{-128, 127}
                                                                  : integer_range{0, 255};
            const bool narrow = is_float(type) || fits_32_bits(metric, range, dimensions);
            for (const std::uint32_t requested : {1u, 8u}) {
                queries.rows = requested;
                queries.squares = std::span(query_squares).first(type == vector_type::bits ? 0 : requested);
                const double ms = narrow ? time_keys<std::uint32_t>(place, base, queries, metric)
                                         : time_keys<std::uint64_t>(place, base, queries, metric);
                std::printf("%s\t%s\t%u\t%.3f\t%.2f\n",
                            std::string(vector_type_names[static_cast<int>(type)]).c_str(),
                            std::string(vector_metric_names[m]).c_str(), requested, ms,
                            static_cast<double>(base_bytes) / ms / 1e6);
                std::fflush(stdout);
            }
        }
    }
}

void write_data(const std::string& kind_name, std::uint64_t rows, std::uint32_t dimensions,
                std::uint64_t queries, const std::string& prefix) {
    const auto found = std::ranges::find(generator::vectors_kind_names, kind_name);
    if (found == std::end(generator::vectors_kind_names)) throw std::invalid_argument("no kind " + kind_name);
    const auto kind = static_cast<generator::vectors_kind>(found - std::begin(generator::vectors_kind_names));
    write_table(prefix + ".base.fbin", dimensions, generator::make_vectors(kind, 0, rows, dimensions));
    write_table(prefix + ".queries.fbin", dimensions,
                generator::make_vectors(kind, rows, queries, dimensions));
}

}  // namespace

int main(int count, char** arguments) try {
    const std::vector<std::string> given(arguments + 1, arguments + count);
    const auto number = [&](std::size_t i) { return static_cast<std::uint32_t>(std::stoul(given.at(i))); };
    const std::string what = given.empty() ? "" : given[0];
    if (what == "write") {
        write_data(given.at(1), number(2), number(3), number(4), given.at(5));
    } else if (what == "kernels") {
        time_kernels(number(1), number(2), number(3));
    } else if (what == "serve") {
        serve(given.at(1), given.at(2), number(3));
    } else {
        std::fputs("nearest_bench write|kernels|serve …\n", stderr);
        return 2;
    }
    return 0;
} catch (const std::exception& wrong) {
    std::fprintf(stderr, "nearest_bench: %s\n", wrong.what());
    return 1;
}
