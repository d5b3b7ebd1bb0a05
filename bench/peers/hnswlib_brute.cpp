// SPDX-License-Identifier: Apache-2.0
// hnswlib_brute BASE.fbin QUERIES.fbin THREADS: hnswlib's exact search, for bench/run-nearest, which compiles it with
// the usual options (-O3 -march=native) and queries it in turn with the others (input lines: see bench/nearest_bench.cpp). hnswlib
// searches with one thread; here every thread has an index of a share of the rows, and the results are merged.
//
// Complete rankings in two ways, because its heap is not designed for them: `knn` drains the heap, `sort` calls its distance
// function for every row and sorts pairs of distance and id.
#include <hnswlib/hnswlib.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using hit = std::pair<float, hnswlib::labeltype>;

struct table {
    std::uint32_t rows = 0, dimensions = 0;
    std::vector<float> values;
    const float* row(std::size_t r) const { return values.data() + r * dimensions; }
};

table read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    table read;
    file.read(reinterpret_cast<char*>(&read.rows), 4).read(reinterpret_cast<char*>(&read.dimensions), 4);
    read.values.resize(std::size_t{read.rows} * read.dimensions);
    file.read(reinterpret_cast<char*>(read.values.data()),
              static_cast<std::streamsize>(read.values.size() * 4));
    if (!file) throw std::runtime_error("cannot read " + path);
    return read;
}

struct share {
    std::size_t begin = 0, end = 0;
    std::unique_ptr<hnswlib::BruteforceSearch<float>> index;
};

class engine {
  public:
    engine(const table& base, int threads) : space_(base.dimensions), rows_(base.rows), shares_(threads) {
        omp_set_num_threads(threads);
#pragma omp parallel for schedule(static, 1)
        for (int t = 0; t < threads; ++t) {
            share& mine = shares_[t];
            mine.begin = rows_ * t / threads;
            mine.end = rows_ * (t + 1) / threads;
            mine.index = std::make_unique<hnswlib::BruteforceSearch<float>>(&space_, mine.end - mine.begin);
            for (std::size_t r = mine.begin; r < mine.end; ++r) mine.index->addPoint(base.row(r), r);
        }
    }

    /// The k nearest, in order.
    std::vector<hit> search(const float* query, std::size_t k, bool sorting) const {
        std::vector<std::vector<hit>> found(shares_.size());
#pragma omp parallel for schedule(static, 1)
        for (std::size_t t = 0; t < shares_.size(); ++t)
            found[t] = sorting ? all_sorted(shares_[t], query) : best(shares_[t], query, k);
        std::vector<hit> merged = std::move(found[0]);
        for (std::size_t t = 1; t < found.size(); ++t) {
            std::vector<hit> both(merged.size() + found[t].size());
            std::merge(merged.begin(), merged.end(), found[t].begin(), found[t].end(), both.begin());
            merged = std::move(both);
        }
        if (merged.size() > k) merged.resize(k);
        return merged;
    }

  private:
    static std::vector<hit> best(const share& of, const float* query, std::size_t k) {
        auto heap = of.index->searchKnn(query, std::min(k, of.end - of.begin));
        std::vector<hit> found(heap.size());
        for (std::size_t i = found.size(); i-- > 0; heap.pop()) found[i] = heap.top();
        return found;
    }
    std::vector<hit> all_sorted(const share& of, const float* query) const {
        auto* space = const_cast<hnswlib::L2Space*>(&space_);  // its getters are not const
        const auto distance = space->get_dist_func();
        std::vector<hit> found(of.end - of.begin);
        for (std::size_t i = 0; i < found.size(); ++i)
            found[i] = {distance(query, of.index->data_ + i * of.index->size_per_element_,
                                 space->get_dist_func_param()),
                        of.begin + i};
        std::sort(found.begin(), found.end());
        return found;
    }

    hnswlib::L2Space space_;
    std::size_t rows_;
    std::vector<share> shares_;
};

}  // namespace

int main(int, char** arguments) {
    table base = read(arguments[1]);
    const table queries = read(arguments[2]);
    const engine searcher(base, std::stoi(arguments[3]));
    base.values = {};
    std::puts("ready");
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string way, path;
        std::size_t first = 0, count = 0, k = 0;
        words >> way >> first >> count >> k >> path;
        std::vector<std::vector<hit>> found(count);
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t q = 0; q < count; ++q)
            found[q] = searcher.search(queries.row(first + q), k, way == "sort");
        const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
        if (!path.empty()) {
            std::ofstream out(path, std::ios::binary);
            for (const auto& list : found)
                for (const hit& each : list) {
                    const auto id = static_cast<std::uint32_t>(each.second);
                    out.write(reinterpret_cast<const char*>(&id), 4);
                }
            for (const auto& list : found)
                for (const hit& each : list) {
                    const double distance = each.first;
                    out.write(reinterpret_cast<const char*>(&distance), 8);
                }
        }
        std::printf("%.4f\n", taken.count());
        std::fflush(stdout);
    }
}
