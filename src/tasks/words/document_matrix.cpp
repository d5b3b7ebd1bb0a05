// SPDX-License-Identifier: Apache-2.0
// Sums are taken document by document and rounded in that order, on one thread: the same bits everywhere.
#include "tasks/words/document_matrix.hpp"

#include <algorithm>
#include <utility>

#include "base/canonical_math.hpp"
#include "device/paced_checks.hpp"

namespace quern {

document_matrix::document_matrix(std::uint32_t words, scratch_folder& scratch, const context& ctx)
    : words_(words),
      place_(ctx),
      seen_(words),
      all_(scratch, "words_of_documents", place_.memory().limit() / 2) {}

void document_matrix::add(std::span<const std::uint32_t> text) {
    constexpr std::size_t happens_before = std::size_t{1} << 18;
    touched_.clear();
    for (const std::uint32_t word : text) {
        if (word >= words_) continue;
        if (seen_[word]++ == 0) touched_.push_back(word);
    }
    std::ranges::sort(touched_);
    for (const std::uint32_t word : touched_) {
        latest_.push_back({word, seen_[word]});
        seen_[word] = 0;
    }
    occurrences_ += touched_.size();
    ends_.push_back(occurrences_);
    if (latest_.size() >= happens_before) hand_over();
}

void document_matrix::hand_over() {
    all_.append(std::exchange(latest_, {}));
}

void document_matrix::finish() {
    hand_over();
    std::vector<std::uint64_t> total(words_);
    all_.for_each([&](std::span<const occurrence> some) {
        for (const occurrence& o : some) total[o.word] += o.count;
    });
    std::vector<double> evenness(words_);  // Σ p log p
    all_.for_each([&](std::span<const occurrence> some) {
        place_.ctx().check_stop();
        for (const occurrence& o : some) {
            const double p = static_cast<double>(o.count) / static_cast<double>(total[o.word]);
            evenness[o.word] += p * canonical_log(p);
        }
    });
    place_entries(evenness);
}

void document_matrix::place_entries(std::span<const double> evenness) {
    const double log_documents = canonical_log(static_cast<double>(documents()));
    constexpr double rounding = 1e-9;  // what is left of a word that every document has as often
    const auto weight = [&](const occurrence& o) {
        const double global = log_documents > 0 ? 1 + evenness[o.word] / log_documents : 1;
        if (global < rounding) return 0.0F;
        return static_cast<float>(canonical_log(1 + static_cast<double>(o.count)) * global);
    };
    offsets_.assign(words_ + std::size_t{1}, 0);
    column_counts_.assign(documents(), 0);
    all_.for_each([&](std::span<const occurrence> some) {
        for (const occurrence& o : some) offsets_[o.word + std::size_t{1}] += weight(o) > 0 ? 1 : 0;
    });
    for (std::uint32_t w = 0; w < words_; ++w) offsets_[w + std::size_t{1}] += offsets_[w];
    columns_ = {place_, offsets_.back(), "the words of the documents"};
    weights_ = {place_, offsets_.back(), "the words of the documents"};
    std::vector<std::uint64_t> next(offsets_.begin(), offsets_.end() - 1);
    std::uint64_t i = 0;
    std::uint32_t document = 0;
    paced_checks checks(place_.ctx(), scattered_values);
    all_.drain([&](std::span<const occurrence> some) {
        for (const occurrence& o : some) {
            checks.after(1);
            while (i == ends_[document]) ++document;
            ++i;
            column_counts_[document] += o.count;
            const float w = weight(o);
            if (!(w > 0)) continue;
            const std::uint64_t at = next[o.word]++;
            columns_.data()[at] = document;
            weights_.data()[at] = w;
        }
    });
}

}  // namespace quern
