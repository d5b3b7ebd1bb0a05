// SPDX-License-Identifier: Apache-2.0
// The distinct n-grams of a collection: the position of one occurrence, and the count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/release.hpp"
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
        : scratch_(scratch),
          first_n_(first_n),
          share_(memory_bytes / (order - first_n + 1) / (histories ? 3 : 2)),
          lengths_(order - first_n + 1) {
        // Pieces large enough for several threads; a quarter of the memory of one n, except for little memory.
        max_fresh_ = std::clamp<std::uint64_t>(share_ / 32, std::uint64_t{1} << 14, std::uint64_t{1} << 17);
        for (unsigned n = first_n; n <= order; ++n)
            lengths_[n - first_n] = make("ngrams_" + std::to_string(n), histories);
    }

    /// Of one n, in order over all calls, with history counts if `histories`.
    void add(const collection_ngrams& ngrams) {
        of_length& to = lengths_[ngrams.n - first_n_];
        if (!to.fresh.empty() && to.fresh.size() + ngrams.counts.size() > max_fresh_) flush(to);
        to.fresh.reserve(std::max(max_fresh_, ngrams.counts.size()));
        for (std::size_t i = 0; i < ngrams.counts.size(); ++i)
            to.fresh.push_back({ngrams.positions[i], ngrams.counts[i]});
        if (to.histories)
            to.fresh_histories.insert(to.fresh_histories.end(), ngrams.history_counts.begin(),
                                      ngrams.history_counts.end());
        if (to.fresh.size() >= max_fresh_) flush(to);
    }
    /// The same of values that are ready; `histories`: empty without history counts.
    void add(unsigned n, std::vector<counted_ngram> ngrams, std::vector<std::uint64_t> histories) {
        of_length& to = lengths_[n - first_n_];
        if (!to.fresh.empty()) flush(to);
        to.fresh = std::move(ngrams);
        to.fresh_histories = std::move(histories);
        flush(to);
    }
    void finish() {
        for (of_length& of : lengths_) {
            flush(of);
            release(of.fresh);
            release(of.fresh_histories);
        }
    }

    /// Removes, after finish(), every n-gram for which gone(position, n) is true; once.
    template <class Gone>
    void remove_if(const Gone& gone) {
        for (unsigned n = first_n_; n < first_n_ + lengths_.size(); ++n) {
            of_length& old = lengths_[n - first_n_];
            of_length left = make("ngrams_left_" + std::to_string(n), old.histories != nullptr);
            std::vector<bool> stays;
            old.kept->drain([&](std::span<const counted_ngram> part) {
                for (const counted_ngram& g : part) {
                    stays.push_back(!gone(g.position, n));
                    if (stays.back()) left.fresh.push_back(g);
                    if (left.fresh.size() >= max_fresh_) flush(left);
                }
            });
            if (old.histories) {
                std::uint64_t at = 0;
                old.histories->drain([&](std::span<const std::uint64_t> part) {
                    for (const std::uint64_t history : part)
                        if (stays[at++]) left.fresh_histories.push_back(history);
                    flush(left);
                });
            }
            flush(left);
            release(left.fresh);
            release(left.fresh_histories);
            old = std::move(left);
        }
    }

    number_stream<counted_ngram>& of(unsigned n) { return *lengths_[n - first_n_].kept; }
    /// For each of them, how often its history occurs followed by a word; null unless requested.
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
    of_length make(const std::string& name, bool histories) const {
        of_length made;
        const std::uint64_t fresh = std::min<std::uint64_t>(share_, max_fresh_ * sizeof(counted_ngram));
        made.kept = std::make_unique<number_stream<counted_ngram>>(scratch_, name, 2 * share_ - fresh);
        if (histories)
            made.histories =
                std::make_unique<number_stream<std::uint64_t>>(scratch_, name + "_histories", share_);
        return made;
    }
    static void flush(of_length& of) {
        of.kept->append_from(of.fresh);
        if (of.histories) of.histories->append_from(of.fresh_histories);
    }

    scratch_folder& scratch_;
    unsigned first_n_;
    std::uint64_t share_;
    std::size_t max_fresh_ = 0;
    std::vector<of_length> lengths_;
};

}  // namespace quern
