// SPDX-License-Identifier: Apache-2.0
// spmv_bench SHAPE f32|f64 THREADS ROUNDS [real|midpoints|wide|sparse]: y = A·x in every storage format, compared with
// the plain loop over rows that adds in Value like libraries (scipy's csr_matvec is this loop), which runs on one thread.
// They take turns on the same data. Prints for each a line: name, median seconds, best seconds, bytes of the matrix,
// seconds of the conversion. The last line is the rate at which the same threads read memory, in bytes a second.
//
// Shapes, after matrices of the BRCP paper: banded (cant: 62,451 rows of 64), mesh (cage14: rows of 18, near the
// diagonal), web (webbase-1M: 3 a row, some of thousands), gene (rows of 1,100, anywhere), random (rows of 16, anywhere).
// Values: real, in (−1, 1); midpoints, integers whose sums are midpoints of two floats; wide, of many
// exponents; sparse, x is 0 except for one in 1,000.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "primitives/sparse/multiply.hpp"

namespace {

using namespace quern;

template <class Value>
struct matrix {
    std::uint32_t columns = 0;
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint32_t> column;
    std::vector<Value> value, x;

    primitives::csr_view<Value> view() const {
        return {static_cast<std::uint32_t>(offsets.size() - 1), columns, offsets, column, value};
    }
};

struct shape {
    std::uint32_t rows;
    std::uint64_t mean;
    bool near, power;
};
shape shape_of(const std::string& name) {
    if (name == "banded") return {62'451, 64, true, false};
    if (name == "mesh") return {400'000, 18, true, false};
    if (name == "web") return {1'000'005, 3, false, true};
    if (name == "gene") return {8'000, 1'100, false, false};
    if (name == "random") return {500'000, 16, false, false};
    std::fprintf(stderr, "no shape %s\n", name.c_str());
    std::exit(2);
}

template <class Value>
matrix<Value> made_of(const shape& like, const std::string& values) {
    std::mt19937_64 random(1);
    const auto unit = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    const auto draw = [&](bool of_x) {
        if (values == "midpoints") {
            const double each =
                std::ldexp(1.5, std::numeric_limits<Value>::digits) / static_cast<double>(like.mean);
            return of_x ? Value(1) : static_cast<Value>(std::floor(each * (0.9 + 0.2 * unit())));
        }
        if (values == "wide")
            return static_cast<Value>(std::ldexp(2 * unit() - 1, static_cast<int>(random() % 60) - 30));
        if (values == "sparse" && of_x && random() % 1000 != 0) return Value(0);
        return static_cast<Value>(2 * unit() - 1);
    };
    matrix<Value> made;
    made.columns = like.rows;
    for (std::uint32_t i = 0; i < like.rows; ++i) {
        std::uint64_t length = like.mean;
        if (like.power)
            length =
                std::min<std::uint64_t>(4700, static_cast<std::uint64_t>(0.9 / std::pow(unit() + 1e-9, 0.7)));
        else if (like.mean < 64)
            length = like.mean / 2 + random() % like.mean;
        const std::size_t begin = made.column.size();
        for (std::uint64_t k = 0; k < length; ++k) {
            const std::uint64_t at =
                like.near ? (i + like.rows + random() % 2000 - 1000) % like.rows : random() % like.rows;
            made.column.push_back(static_cast<std::uint32_t>(at));
            made.value.push_back(draw(false));
        }
        std::sort(made.column.begin() + static_cast<std::ptrdiff_t>(begin), made.column.end());
        made.offsets.push_back(made.column.size());
    }
    for (std::uint32_t j = 0; j < made.columns; ++j) made.x.push_back(draw(true));
    return made;
}

template <class Value>
void plain_loop(const matrix<Value>& a, std::vector<Value>& y) {
    for (std::size_t i = 0; i < y.size(); ++i) {
        Value sum = 0;
        for (std::uint64_t e = a.offsets[i]; e < a.offsets[i + 1]; ++e) sum += a.value[e] * a.x[a.column[e]];
        y[i] = sum;
    }
}

double seconds_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct candidate {
    std::string name;
    std::uint64_t bytes = 0;
    double conversion = 0;
    std::function<void()> run;
    std::vector<double> seconds{};
};

/// The read bandwidth of the threads, each reading its range of 256 MiB in all.
double read_rate(cpu_place& place) {
    const std::size_t size = std::size_t{1} << 25;
    const auto memory = make_array<double>(place, size);
    std::fill_n(memory.data(), size, 1.0);
    const std::size_t pieces = 64;
    std::vector<double> sums(pieces * 8), seconds;
    for (int round = 0; round < 7; ++round) {
        seconds.push_back(seconds_of([&] {
            for_each_piece(place, pieces, [&](std::size_t p) {
                const auto [begin, end] = piece_of(size, pieces, p);
                double lane[32] = {};
                for (std::size_t i = begin; i + 32 <= end; i += 32)
                    for (std::size_t l = 0; l < 32; ++l) lane[l] += memory.data()[i + l];
                sums[p * 8] = std::accumulate(lane, lane + 32, 0.0);
            });
        }));
    }
    return static_cast<double>(size * 8) / *std::min_element(seconds.begin(), seconds.end());
}

template <class Value>
int run(const std::string& name, unsigned threads, int rounds, const std::string& values) {
    const matrix<Value> a = made_of<Value>(shape_of(name), values);
    cpu_place place(context::cpu(threads));
    std::vector<Value> plain(a.view().rows), y(a.view().rows), expected;
    const std::span<const Value> x(a.x);
    std::vector<candidate> all;
    all.push_back({"plain loop", a.column.size() * (4 + sizeof(Value)) + a.offsets.size() * 8, 0,
                   [&] { plain_loop(a, plain); }});
    const auto add = [&](const char* format, auto convert) {
        try {
            candidate made{format, 0, 0, nullptr};
            decltype(convert()) held;
            made.conversion = seconds_of([&] { held = convert(); });
            made.bytes = primitives::bytes_of(held);
            auto kept = std::make_shared<decltype(held)>(std::move(held));
            made.run = [&, kept, paper = std::string(format) == "brcp_paper"] {
                if constexpr (requires { kept->row_seg_len; }) {
                    if (paper) return primitives::multiply_as_printed(place, *kept, x, std::span(y));
                }
                primitives::multiply(place, *kept, x, std::span(y));
            };
            all.push_back(std::move(made));
        } catch (const usage_error& e) {
            std::fprintf(stderr, "%s\n", e.what());
        }
    };
    add("csr", [&] { return primitives::to_csr(place, a.view()); });
    add("coo", [&] { return primitives::to_coo(place, a.view()); });
    add("ell", [&] { return primitives::to_ell(place, a.view()); });
    add("brcp", [&] { return primitives::to_brcp(place, a.view()); });
    add("brc", [&] { return primitives::to_brc(place, a.view()); });
    add("brcp_paper", [&] { return primitives::to_brcp(place, a.view()); });
    for (int round = 0; round < rounds + 1; ++round) {
        for (candidate& one : all) {
            const double seconds = seconds_of(one.run);
            if (round > 0) one.seconds.push_back(seconds);
            const bool exact =
                one.name == "csr" || one.name == "coo" || one.name == "ell" || one.name == "brcp";
            if (round > 0 || !exact) continue;
            if (one.name == "csr") expected = y;
            if (std::memcmp(y.data(), expected.data(), y.size() * sizeof(Value)) != 0) {
                std::fprintf(stderr, "%s differs from csr\n", one.name.c_str());
                return 1;
            }
        }
    }
    for (candidate& one : all) {
        std::sort(one.seconds.begin(), one.seconds.end());
        std::printf("%s\t%.6g\t%.6g\t%llu\t%.6g\n", one.name.c_str(), one.seconds[one.seconds.size() / 2],
                    one.seconds.front(), static_cast<unsigned long long>(one.bytes), one.conversion);
    }
    std::printf("read\t%.6g\n", read_rate(place));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) {
        std::fprintf(stderr, "usage: spmv_bench SHAPE f32|f64 THREADS ROUNDS [real|midpoints|wide|sparse]\n");
        return 2;
    }
    const std::string values = argc > 5 ? argv[5] : "real";
    const auto threads = static_cast<unsigned>(std::atoi(argv[3]));
    const int rounds = std::max(1, std::atoi(argv[4]));
    return std::string(argv[2]) == "f32" ? run<float>(argv[1], threads, rounds, values)
                                         : run<double>(argv[1], threads, rounds, values);
}
