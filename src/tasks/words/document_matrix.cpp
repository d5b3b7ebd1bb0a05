// SPDX-License-Identifier: Apache-2.0
// Sums are taken document by document and rounded in that order, on one thread: the same bits everywhere.
#include "tasks/words/document_matrix.hpp"

#include <algorithm>

#include "base/canonical_math.hpp"
#include "quern/base/error.hpp"

namespace quern {

void document_matrix::add(std::span<const std::uint32_t> text) {
    touched_.clear();
    for (const std::uint32_t word : text) {
        if (word >= words_) continue;
        if (seen_[word]++ == 0) touched_.push_back(word);
    }
    std::ranges::sort(touched_);
    for (const std::uint32_t word : touched_) {
        all_.push_back({word, seen_[word]});
        seen_[word] = 0;
    }
    ends_.push_back(all_.size());
    // Twice: the entries by document, then by word.
    const std::uint64_t bytes = all_.capacity() * sizeof(occurrence) * 2;
    if (bytes > budget_) throw out_of_memory("the words of the documents", bytes, budget_);
}

context_matrix document_matrix::finish() {
    std::vector<std::uint64_t> total(words_);
    for (const occurrence& o : all_) total[o.word] += o.count;
    std::vector<double> evenness(words_);  // Σ p log p
    for (const occurrence& o : all_) {
        const double p = static_cast<double>(o.count) / static_cast<double>(total[o.word]);
        evenness[o.word] += p * canonical_log(p);
    }
    const double log_documents = canonical_log(static_cast<double>(documents()));
    constexpr double rounding = 1e-9;  // what is left of a word that every document has as often
    const auto weight = [&](const occurrence& o) {
        const double global = log_documents > 0 ? 1 + evenness[o.word] / log_documents : 1;
        if (global < rounding) return 0.0F;
        return static_cast<float>(canonical_log(1 + static_cast<double>(o.count)) * global);
    };

    context_matrix matrix;
    matrix.words = words_;
    matrix.relations = 1;
    matrix.offsets.assign(words_ + std::size_t{1}, 0);
    matrix.column_counts.assign(documents(), 0);
    for (const occurrence& o : all_) matrix.offsets[o.word + std::size_t{1}] += weight(o) > 0 ? 1 : 0;
    for (std::uint32_t w = 0; w < words_; ++w) matrix.offsets[w + std::size_t{1}] += matrix.offsets[w];
    matrix.columns.resize(matrix.offsets.back());
    matrix.weights.resize(matrix.offsets.back());
    std::vector<std::uint64_t> next(matrix.offsets.begin(), matrix.offsets.end() - 1);
    std::uint64_t i = 0;
    for (std::uint32_t d = 0; d < documents(); ++d) {
        for (; i < ends_[d]; ++i) {
            matrix.column_counts[d] += all_[i].count;
            const float w = weight(all_[i]);
            if (!(w > 0)) continue;
            const std::uint64_t at = next[all_[i].word]++;
            matrix.columns[at] = d;
            matrix.weights[at] = w;
        }
    }
    all_ = {};
    return matrix;
}

}  // namespace quern
