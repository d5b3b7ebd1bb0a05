// SPDX-License-Identifier: Apache-2.0
// Documents that arrive in batches, compared with those of a store and with each other.
//
//     dedup_stream_bench STORE LINES DEVICE SECONDS
//
// STORE: of quern dedup --store, which is not changed. LINES: a file of JSON lines with new documents. DEVICE: cpu or cuda. For
// batches of 1, 100 and 10,000 documents in turn, each for at most SECONDS and a tenth, half and all of the lines: a line of
// JSON with documents, seconds, and the median, the 99th percentile and the maximum of the times of a batch in milliseconds;
// then one with the seconds to open the store, the pairs, a hash of them, and the memory.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "quern/tasks/dedup.hpp"

namespace {

using quern::duplicate_stream;
using clock_type = std::chrono::steady_clock;

double since(clock_type::time_point begin) {
    return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Of the rows, in order.
struct row_hash {
    std::uint64_t pairs = 0, hash = 14695981039346656037u;

    void add(const duplicate_stream::stream_result& result) {
        for (const quern::duplicate_pair& p : result.pairs) {
            for (const std::uint64_t value : {std::uint64_t{p.a}, std::uint64_t{p.b}, p.distance, p.of})
                hash = (hash ^ value) * 1099511628211u;
            ++pairs;
        }
    }
};

void run(const std::string& store, const std::string& lines_file, const std::string& device, double seconds) {
    std::vector<std::string> lines;
    std::ifstream in(lines_file);
    for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
    quern::dedup_options options;
    options.store = store;
    options.shard_bytes = ~std::uint64_t{0};  // no commit
    const auto opening = clock_type::now();
    duplicate_stream stream(options, device == "cuda" ? quern::context::cuda() : quern::context::cpu(0));
    const double opened = since(opening);

    row_hash rows;
    std::size_t next = 0;
    const std::size_t ends[] = {lines.size() / 10, lines.size() / 2, lines.size()},
                      sizes[] = {1, 100, 10'000};
    for (std::size_t k = 0; k < std::size(ends); ++k) {
        const std::size_t first = next;
        std::vector<double> times;
        const auto begin = clock_type::now();
        while (next < ends[k] && since(begin) < seconds) {
            const std::size_t count = std::min(sizes[k], ends[k] - next);
            const std::vector<std::string_view> batch(
                lines.begin() + static_cast<std::ptrdiff_t>(next),
                lines.begin() + static_cast<std::ptrdiff_t>(next + count));
            const auto started = clock_type::now();
            stream.next(batch, [&](duplicate_stream::stream_result&& result) { rows.add(result); });
            times.push_back(1000 * since(started));
            next += count;
        }
        const double all = since(begin);
        std::ranges::sort(times);
        const auto at = [&](double share) {
            return times.empty()
                       ? 0
                       : times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
        };
        fmt::print(
            "{{\"batch\":{},\"documents\":{},\"seconds\":{:.4f},\"p50\":{:.3f},\"p99\":{:.3f},\"worst\":{:."
            "3f}}}\n",
            sizes[k], next - first, all, at(.5), at(.99), at(1));
        std::fflush(stdout);
    }
    fmt::print(
        "{{\"open\":{:.3f},\"earlier\":{},\"done\":{},\"pairs\":{},\"hash\":\"{:016x}\",\"memory\":{},"
        "\"device_memory\":{}}}\n",
        opened, stream.earlier(), next, rows.pairs, rows.hash, stream.memory_bytes(), stream.device_bytes());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fputs("usage: dedup_stream_bench STORE LINES DEVICE SECONDS\n", stderr);
        return 2;
    }
    try {
        run(argv[1], argv[2], argv[3], std::strtod(argv[4], nullptr));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
