// SPDX-License-Identifier: Apache-2.0
// marisa-trie, measured like our dictionary in dictionary_bench: marisa_lookup WORDS ROUNDS. The same words in the same order.
#include <marisa.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

template <class Work>
static double median_seconds(int rounds, const Work& work) {
    std::vector<double> taken;
    for (int i = 0; i < rounds; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        taken.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::nth_element(taken.begin(), taken.begin() + rounds / 2, taken.end());
    return taken[rounds / 2];
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    std::ifstream in(argv[1], std::ios::binary);
    std::vector<std::string> words;
    for (std::string line; std::getline(in, line);) {
        if (!line.empty()) words.push_back(line);
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::mt19937_64 random(1);
    std::vector<std::string> requested;
    for (int i = 0; i < 2000000; ++i) requested.push_back(words[random() % words.size()]);

    const auto start = std::chrono::steady_clock::now();
    marisa::Keyset keys;
    for (const std::string& word : words) keys.push_back(word.data(), word.size());
    marisa::Trie trie;
    trie.build(keys);
    std::printf("build\t%g\n",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    std::printf("words\t%zu\nbits\t%g\n", words.size(), 8.0 * trie.io_size() / words.size());
    words = {};

    const int rounds = std::atoi(argv[2]);
    std::vector<std::size_t> ids(requested.size());
    marisa::Agent agent;
    std::printf("find\t%g\n", 1e9 / requested.size() * median_seconds(rounds, [&] {
                                  for (std::size_t i = 0; i < requested.size(); ++i) {
                                      agent.set_query(requested[i].data(), requested[i].size());
                                      if (!trie.lookup(agent)) std::abort();
                                      ids[i] = agent.key().id();
                                  }
                              }));
    std::printf("word\t%g\n", 1e9 / requested.size() * median_seconds(rounds, [&] {
                                  for (std::size_t i = 0; i < requested.size(); ++i) {
                                      agent.set_query(ids[i]);
                                      trie.reverse_lookup(agent);
                                      if (requested[i].compare(0, std::string::npos, agent.key().ptr(),
                                                               agent.key().length()) != 0)
                                          std::abort();
                                  }
                              }));
    for (std::string& word : requested) word += "~";
    std::printf("find none\t%g\n", 1e9 / requested.size() * median_seconds(rounds, [&] {
                                       for (const std::string& word : requested) {
                                           agent.set_query(word.data(), word.size());
                                           if (trie.lookup(agent)) std::abort();
                                       }
                                   }));
}
