// SPDX-License-Identifier: Apache-2.0
// The distinct n-grams of a collection, each once: where one stands among the words, and how often it occurs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quern/ops/ngram_likelihood.hpp"
#include "tasks/words/number_stream.hpp"

namespace quern {

struct counted_ngram {
    std::uint64_t position, count;
};

class collection_counts {
  public:
    /// Holds about `memory_bytes` at most.
    collection_counts(scratch_folder& scratch, unsigned first_n, unsigned order, bool histories,
                      std::uint64_t memory_bytes)
        : first_n_(first_n), lengths_(order - first_n + 1) {
        const std::uint64_t share = memory_bytes / lengths_.size() / (histories ? 3 : 2);
        // Pieces that several threads can share in.
        most_fresh_ = std::clamp<std::uint64_t>(share / 32, std::uint64_t{1} << 14, std::uint64_t{1} << 17);
        for (unsigned n = first_n; n <= order; ++n) {
            of_length& of = lengths_[n - first_n];
            const std::string name = "ngrams_" + std::to_string(n);
            of.kept = std::make_unique<number_stream<counted_ngram>>(scratch, name, 2 * share);
            if (histories)
                of.histories =
                    std::make_unique<number_stream<std::uint64_t>>(scratch, name + "_histories", share);
        }
    }

    /// Of one n, in order over all calls, with history counts where `histories`.
    void add(const collection_ngrams& ngrams) {
        of_length& to = lengths_[ngrams.n - first_n_];
        to.fresh.reserve(std::max(most_fresh_, to.fresh.size() + ngrams.counts.size()));
        for (std::size_t i = 0; i < ngrams.counts.size(); ++i)
            to.fresh.push_back({ngrams.positions[i], ngrams.counts[i]});
        if (to.histories)
            to.fresh_histories.insert(to.fresh_histories.end(), ngrams.history_counts.begin(),
                                      ngrams.history_counts.end());
        if (to.fresh.size() >= most_fresh_) flush(to);
    }
    void finish() {
        for (of_length& of : lengths_) flush(of);
    }

    number_stream<counted_ngram>& of(unsigned n) { return *lengths_[n - first_n_].kept; }
    /// Of each of them, how often its history occurs with a word behind it; null unless asked for.
    number_stream<std::uint64_t>* histories_of(unsigned n) { return lengths_[n - first_n_].histories.get(); }
    std::uint64_t spilled_bytes() const {
        std::uint64_t sum = 0;
        for (const of_length& of : lengths_)
            sum += of.kept->spilled_bytes() + (of.histories ? of.histories->spilled_bytes() : 0);
        return sum;
    }

  private:
    struct of_length {
        std::unique_ptr<number_stream<counted_ngram>> kept;
        std::vector<counted_ngram> fresh;
        std::unique_ptr<number_stream<std::uint64_t>> histories;
        std::vector<std::uint64_t> fresh_histories;
    };
    static void flush(of_length& of) {
        of.kept->append(std::move(of.fresh));
        of.fresh = {};
        if (!of.histories) return;
        of.histories->append(std::move(of.fresh_histories));
        of.fresh_histories = {};
    }

    unsigned first_n_;
    std::size_t most_fresh_ = 0;
    std::vector<of_length> lengths_;
};

}  // namespace quern
