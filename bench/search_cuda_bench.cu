// SPDX-License-Identifier: Apache-2.0
// Batches of topics over a generated collection: on the threads of the CPU, and on a GPU. The collection has the word
// frequencies of natural language (Zipf), in bursts: half of the documents avoid a word; a document has 276 words on
// average. Topics are mixed as in run-search: 300 of 1 to 5 words of medium rank (titles), 500 of 1 to 5 words in text order
// (passages of text), 200 of two of the 300 commonest words.
// search_cuda_bench [DOCUMENTS...]: default 100,000 and 1,000,000. One line a measurement, tab-separated:
// documents, postings of the topics' words, bytes of their lists, model, k, topics, hits, place (cpu:THREADS; cuda first: a
// new object, which loads the lists; cuda again: they are resident; cuda little: a budget of half the lists; cuda all first,
// cuda all again: by all GPUs, if there are several), seconds by the host's clock from the call to the rankings in host
// memory, median.
// Every ranking is compared with the CPU's.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "generator/random_numbers.hpp"
#include "ops/search/postings.hpp"
#include "quern/ops/resident_index.hpp"

namespace quern {
namespace {

constexpr std::uint64_t vocabulary = 1'000'000;

void on_all_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < context::cpu().thread_count(); ++t)
        threads.emplace_back([&] {
            for (std::size_t i = next++; i < count; i = next++) work(i);
        });
    for (std::thread& thread : threads) thread.join();
}

struct list_bytes {
    std::string bytes;
    search_detail::postings_writer::totals totals{};
    posting_list view() const { return {bytes, totals.document_frequency, totals.collection_frequency}; }
};

class generated_topics {
  public:
    explicit generated_topics(std::uint32_t documents) {
        generator::random_numbers random(20081);
        begins_.push_back(0);
        for (std::uint32_t d = 0; d < documents; ++d) {
            lengths_.push_back(1 + static_cast<std::uint32_t>(std::exp(5.3 + 0.8 * random.normal())));
            begins_.push_back(begins_.back() + lengths_.back());
        }
        for (std::uint64_t r = 0; r < vocabulary; ++r) all_shares_ += 1 / (static_cast<double>(r) + 2.7);
        std::vector<std::vector<std::uint64_t>> topics;
        const auto add = [&](int count, auto word, std::uint64_t min, std::uint64_t max) {
            for (int i = 0; i < count; ++i) {
                std::vector<std::uint64_t>& topic = topics.emplace_back();
                for (std::uint64_t n = min + random.below(max - min + 1); n > 0; --n) topic.push_back(word());
            }
        };
        add(
            300, [&] { return 100 + random.ranked(100'000); }, 1, 5);
        add(
            500, [&] { return random.ranked(vocabulary); }, 1, 5);
        add(
            200, [&] { return random.below(300); }, 2, 2);
        make_lists(topics);
        for (const auto& topic : topics) {
            std::map<std::uint64_t, std::uint32_t> counts;
            for (const std::uint64_t word : topic) ++counts[word];
            std::vector<query_term>& terms = terms_.emplace_back();
            for (const auto& [word, count] : counts) terms.push_back({lists_.at(word).view(), count});
        }
        for (const auto& terms : terms_) queries_.push_back({.terms = terms});
    }

    collection_view view() const { return {lengths_, begins_.back()}; }
    std::span<const search_query> queries() const { return queries_; }
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t postings() const {
        std::uint64_t sum = 0;
        for (const auto& terms : terms_)
            for (const query_term& term : terms) sum += term.list.document_frequency;
        return sum;
    }

  private:
    void make_lists(const std::vector<std::vector<std::uint64_t>>& topics) {
        for (const auto& topic : topics)
            for (const std::uint64_t word : topic) lists_[word];
        std::vector<std::pair<const std::uint64_t, list_bytes>*> words;
        for (auto& word : lists_) words.push_back(&word);  // the commonest first
        on_all_threads(words.size(), [&](std::size_t i) { make_list(words[i]->first, words[i]->second); });
        for (const auto* word : words) bytes_ += word->second.bytes.size();
    }

    /// Random occurrences in the concatenated words of all documents; those in documents that avoid the word do not
    /// count.
    void make_list(std::uint64_t word, list_bytes& list) const {
        search_detail::postings_writer writer(list.bytes, lengths_);
        const double share = 2 / ((static_cast<double>(word) + 2.7) * all_shares_);
        const double step = 1 / std::log1p(-share);
        generator::random_numbers random = generator::numbers_of(7, word);
        double at = 0;
        std::uint32_t document = 0, frequency = 0;
        bool avoided = false;
        const auto end = [&] {
            if (frequency != 0 && !avoided) writer.add(document, frequency);
            frequency = 0;
        };
        for (;;) {
            at += 1 + std::floor(std::log(1 - random.uniform()) * step);
            if (at > static_cast<double>(begins_.back())) break;
            const auto position = static_cast<std::uint64_t>(at) - 1;
            if (position >= begins_[document + 1]) {
                end();
                const auto from = begins_.begin() + document + 1;
                document = static_cast<std::uint32_t>(std::upper_bound(from, begins_.end(), position) -
                                                      begins_.begin() - 1);
                avoided = generator::numbers_of(word, document).next() % 2 == 0;
            }
            ++frequency;
        }
        end();
        list.totals = writer.finish_list();
    }

    std::vector<std::uint32_t> lengths_;
    std::vector<std::uint64_t> begins_;
    double all_shares_ = 0;
    std::map<std::uint64_t, list_bytes> lists_;
    std::vector<std::vector<query_term>> terms_;
    std::vector<search_query> queries_;
    std::uint64_t bytes_ = 0;
};

using rankings = std::vector<std::vector<scored_document>>;

template <class Work>
double median_seconds(int rounds, Work work) {
    std::vector<double> seconds;
    for (int round = 0; round < rounds; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
}

class measurement {
  public:
    measurement(const generated_topics& topics, ranking_model model, std::size_t k) : topics_(topics), k_(k) {
        options_.model = model;
    }

    /// False if a ranking differs.
    bool run() {
        const unsigned all = context::cpu().thread_count();
        for (const unsigned threads : {1u, all}) {
            resident_index on_cpu(topics_.view(), context::cpu(threads));
            const double seconds = median_seconds(threads == 1 ? 1 : 3, [&] { take(on_cpu, expected_); });
            print("cpu:" + std::to_string(threads), seconds);
            if (all == 1) break;
        }
        rankings found;
        bool right = true;
        const double first = median_seconds(3, [&] {
            resident_index fresh(topics_.view(), context::cuda());
            take(fresh, found);
        });
        right &= found == expected_;
        print("cuda first", first);
        resident_index resident(topics_.view(), context::cuda());
        take(resident, found);
        print("cuda again", median_seconds(5, [&] { take(resident, found); }));
        right &= found == expected_;
        context little = context::cuda();
        little.gpu_memory_bytes =
            std::max<std::uint64_t>(topics_.bytes(), 1 << 22);  // half of it is for lists
        resident_index squeezed(topics_.view(), little);
        print("cuda little", median_seconds(1, [&] { take(squeezed, found); }));
        right &= found == expected_;
        right &= by_all_gpus();
        if (!right) std::fprintf(stderr, "search_cuda_bench: rankings differ\n");
        return right;
    }

  private:
    bool by_all_gpus() const {
        context all = context::cuda();
        all.device.ordinal = device_choice::all_ordinals;
        const chosen_device chosen = choose_device(all, "search_cuda_bench", offered_places::several_gpus);
        if (chosen.more.empty()) return true;
        rankings found;
        print("cuda all first", median_seconds(3, [&] {
                  resident_index fresh(topics_.view(), all, chosen);
                  take(fresh, found);
              }));
        bool right = found == expected_;
        resident_index resident(topics_.view(), all, chosen);
        for (int i = 0; i < 5; ++i) take(resident, found);  // until each GPU has the lists of most units
        print("cuda all again", median_seconds(5, [&] { take(resident, found); }));
        right &= found == expected_;
        return right;
    }
    void take(resident_index& collection, rankings& found) const {
        found = collection.search(topics_.queries(), options_, k_);
    }
    void print(const std::string& place, double seconds) const {
        std::uint64_t hits = 0;
        for (const auto& ranking : expected_) hits += ranking.size();
        std::printf("%zu\t%llu\t%llu\t%s\t%zu\t%zu\t%llu\t%s\t%.6f\n", topics_.view().document_lengths.size(),
                    static_cast<unsigned long long>(topics_.postings()),
                    static_cast<unsigned long long>(topics_.bytes()),
                    std::string(ranking_model_names[static_cast<std::size_t>(options_.model)]).c_str(), k_,
                    topics_.queries().size(), static_cast<unsigned long long>(hits), place.c_str(), seconds);
        std::fflush(stdout);
    }

    const generated_topics& topics_;
    ranking_options options_;
    std::size_t k_;
    rankings expected_;
};

bool run(int count, char** arguments) {
    std::vector<std::uint32_t> sizes;
    for (int i = 1; i < count; ++i)
        sizes.push_back(static_cast<std::uint32_t>(std::strtoul(arguments[i], nullptr, 10)));
    if (sizes.empty()) sizes = {100'000, 1'000'000};
    choose_device(context::cuda(), "search_cuda_bench");  // which starts CUDA
    bool right = true;
    for (const std::uint32_t documents : sizes) {
        const generated_topics topics(documents);
        right &= measurement(topics, ranking_model::bm25, 10).run();
        right &= measurement(topics, ranking_model::bm25, 1000).run();
        right &= measurement(topics, ranking_model::ql, 1000).run();
        right &= measurement(topics, ranking_model::dirichlet, 1000).run();
    }
    return right;
}

}  // namespace
}  // namespace quern

int main(int count, char** arguments) {
    try {
        return quern::run(count, arguments) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "search_cuda_bench: %s\n", error.what());
        return 1;
    }
}
