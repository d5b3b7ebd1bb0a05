// SPDX-License-Identifier: Apache-2.0
// xapian_search INDEX QUERIES K1 B K PASSES: times each query (its words joined by OR, BM25), prints JSON in
// the form of bench/engine_bench.cpp. Compiled by bench/run-search if libxapian-dev is installed.
#include <xapian.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

int main(int, char** arguments) {
    const Xapian::Database index(arguments[1]);
    const double k1 = std::atof(arguments[3]), b = std::atof(arguments[4]);
    const auto k = static_cast<Xapian::doccount>(std::atoi(arguments[5]));
    const int passes = std::atoi(arguments[6]);

    std::vector<Xapian::Query> queries;
    std::ifstream lines(arguments[2]);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream split(line);
        std::vector<std::string> words;
        for (std::string word; split >> word;) words.push_back(word);
        queries.emplace_back(Xapian::Query::OP_OR, words.begin(), words.end());
    }

    std::vector<std::vector<double>> seconds(queries.size());
    std::vector<std::vector<unsigned>> top(queries.size());
    for (int pass = 0; pass <= passes; ++pass) {  // the first one warms the caches
        for (std::size_t q = 0; q < queries.size(); ++q) {
            const auto begin = std::chrono::steady_clock::now();
            Xapian::Enquire enquire(index);
            enquire.set_weighting_scheme(Xapian::BM25Weight(k1, 0, 1, b, 0));
            enquire.set_docid_order(Xapian::Enquire::ASCENDING);
            enquire.set_query(queries[q]);
            const Xapian::MSet found = enquire.get_mset(0, k);
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
            if (pass > 0) {
                seconds[q].push_back(taken.count());
                continue;
            }
            for (auto hit = found.begin(); hit != found.end() && top[q].size() < 10; ++hit) {
                top[q].push_back(*hit - 1);
            }
        }
    }
    nlohmann::json result = {{"seconds", nlohmann::json::array()}, {"top", top}};
    for (auto& one : seconds) {
        std::ranges::sort(one);
        result["seconds"].push_back(one[one.size() / 2]);
    }
    std::puts(result.dump().c_str());
}
