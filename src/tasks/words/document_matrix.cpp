// SPDX-License-Identifier: Apache-2.0
// Sums of fractions are taken document by document and rounded in that order: the same bits everywhere. Their terms, and
// the words of documents, are counted by all threads.
#include "tasks/words/document_matrix.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/canonical_math.hpp"
#include "base/release.hpp"
#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"

namespace quern {
namespace {

constexpr std::size_t counted_at_once = std::size_t{1} << 19;  ///< words, about

/// log(1 + n).
class log_of_counts {
  public:
    log_of_counts() {
        for (std::size_t n = 0; n < small_.size(); ++n) small_[n] = canonical_log(1 + static_cast<double>(n));
    }
    double operator()(std::uint32_t n) const {
        return n < small_.size() ? small_[n] : canonical_log(1 + static_cast<double>(n));
    }

  private:
    std::array<double, 1024> small_{};
};

}  // namespace

document_matrix::document_matrix(std::uint32_t words, scratch_folder& scratch, const context& ctx)
    : words_(words), place_(ctx), all_(scratch, "words_of_documents", place_.memory().limit() / 2) {}

void document_matrix::add(std::span<const std::uint32_t> text) {
    waiting_.insert(waiting_.end(), text.begin(), text.end());
    waiting_ends_.push_back(waiting_.size());
    if (waiting_.size() >= counted_at_once) count_waiting();
}

void document_matrix::count_waiting() {
    // Each piece counts in an array of all words.
    const std::uint64_t counters = place_.memory().limit() / 16 / sizeof(std::uint32_t);
    const std::size_t most = std::clamp<std::uint64_t>(counters / std::max(words_, 1U), 1, place_.threads());
    const std::size_t documents = waiting_ends_.size();
    const std::size_t pieces = std::min({most, documents, waiting_.size() / (std::size_t{1} << 14) + 1});
    if (seen_.size() < pieces) seen_.resize(pieces);
    std::vector<std::vector<occurrence>> found(pieces);
    std::vector<std::size_t> sizes(documents);
    for_each_piece(place_, pieces, [&](std::size_t p) {
        std::vector<std::uint32_t>& seen = seen_[p];
        seen.resize(words_);
        std::vector<std::uint32_t> touched;
        const item_range part = piece_of(documents, pieces, p);
        for (std::size_t d = part.begin; d < part.end; ++d) {
            touched.clear();
            for (std::size_t i = d == 0 ? 0 : waiting_ends_[d - 1]; i < waiting_ends_[d]; ++i) {
                const std::uint32_t word = waiting_[i];
                if (word < words_ && seen[word]++ == 0) touched.push_back(word);
            }
            std::ranges::sort(touched);
            for (const std::uint32_t word : touched) found[p].push_back({word, std::exchange(seen[word], 0)});
            sizes[d] = touched.size();
        }
    });
    for (std::vector<occurrence>& some : found) all_.append(std::move(some));
    for (const std::size_t size : sizes) {
        occurrences_ += size;
        ends_.push_back(occurrences_);
    }
    waiting_.clear();
    waiting_ends_.clear();
}

void document_matrix::finish() {
    count_waiting();
    release(waiting_);
    release(seen_);
    std::vector<std::uint64_t> total(words_), documents_of(words_);
    all_.for_each([&](std::span<const occurrence> some) {
        for (const occurrence& o : some) {
            total[o.word] += o.count;
            ++documents_of[o.word];
        }
    });
    std::vector<double> evenness(words_);  // Σ p log p
    std::vector<double> terms;
    all_.for_each([&](std::span<const occurrence> some) {
        place_.ctx().check_stop();
        terms.resize(some.size());
        const std::size_t pieces = pieces_for(place_, some.size(), std::size_t{1} << 12);
        for_each_piece(place_, pieces, [&](std::size_t piece) {
            const item_range part = piece_of(some.size(), pieces, piece);
            for (std::size_t i = part.begin; i < part.end; ++i) {
                const double p =
                    static_cast<double>(some[i].count) / static_cast<double>(total[some[i].word]);
                terms[i] = p * canonical_log(p);
            }
        });
        for (std::size_t i = 0; i < some.size(); ++i) evenness[some[i].word] += terms[i];
    });
    place_entries(evenness, documents_of);
}

void document_matrix::place_entries(std::span<const double> evenness,
                                    std::span<const std::uint64_t> documents_of) {
    const double log_documents = canonical_log(static_cast<double>(documents()));
    constexpr double rounding = 1e-9;  // what is left of a word that every document has as often
    const auto global = [&](std::uint32_t word) {
        return log_documents > 0 ? 1 + evenness[word] / log_documents : 1;
    };
    offsets_.assign(words_ + std::size_t{1}, 0);
    column_counts_.assign(documents(), 0);
    for (std::uint32_t w = 0; w < words_; ++w)
        offsets_[w + std::size_t{1}] = offsets_[w] + (global(w) < rounding ? 0 : documents_of[w]);
    columns_ = {place_, offsets_.back(), "the words of the documents"};
    weights_ = {place_, offsets_.back(), "the words of the documents"};
    std::vector<std::uint64_t> next(offsets_.begin(), offsets_.end() - 1);
    const log_of_counts log_of;
    // Each part reads all and places some of the words, which pays from a few threads on.
    const std::size_t parts = place_.threads() < 4 ? 1 : std::bit_floor(std::min(place_.threads(), 16U));
    std::uint64_t before = 0;
    std::uint32_t document_before = 0;
    all_.drain([&](std::span<const occurrence> some) {
        for_each_piece(place_, parts, [&](std::size_t part) {
            paced_checks checks(place_.ctx(), scattered_values);
            std::uint64_t i = before;
            std::uint32_t document = document_before;
            for (const occurrence& o : some) {
                while (i == ends_[document]) ++document;
                ++i;
                if ((o.word / 16 & (parts - 1)) != part) continue;  // whole lines of the cache
                checks.after(1);
                if (global(o.word) < rounding) continue;
                const std::uint64_t at = next[o.word]++;
                columns_.data()[at] = document;
                weights_.data()[at] = static_cast<float>(log_of(o.count) * global(o.word));
            }
        });
        for (const occurrence& o : some) {
            while (before == ends_[document_before]) ++document_before;
            ++before;
            column_counts_[document_before] += o.count;
        }
    });
}

}  // namespace quern
