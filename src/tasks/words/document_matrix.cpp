// SPDX-License-Identifier: Apache-2.0
// Sums of fractions are taken document by document and rounded in that order: the same bits everywhere. The words of documents are
// counted by all threads; later each thread has some of the words, reads the occurrences of all and takes its own.
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

/// Words, about: few batches, which take a small part of the memory.
std::size_t counted_at_once(std::uint64_t memory_bytes) {
    return std::clamp<std::uint64_t>(memory_bytes / 128, std::size_t{1} << 16, std::size_t{1} << 21);
}

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

/// One of several parts of the words, by whole lines of the cache.
struct word_part {
    std::size_t mask, number;
    bool has(std::uint32_t word) const { return (word / 16 & mask) == number; }
};

}  // namespace

document_matrix::document_matrix(std::uint32_t words, scratch_folder& scratch, const context& ctx)
    : words_(words),
      place_(ctx),
      counted_at_once_(counted_at_once(place_.memory().limit())),
      all_(scratch, "words_of_documents", place_.memory().limit() / 2) {}

void document_matrix::add(std::span<const std::uint32_t> text) {
    waiting_.insert(waiting_.end(), text.begin(), text.end());
    waiting_ends_.push_back(waiting_.size());
    if (waiting_.size() >= counted_at_once_) count_waiting();
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
    append(std::move(found));
    for (const std::size_t size : sizes) {
        occurrences_ += size;
        ends_.push_back(occurrences_);
    }
    waiting_.clear();
    waiting_ends_.clear();
}

void document_matrix::append(std::vector<std::vector<occurrence>> found) {
    std::vector<std::size_t> begins{0};
    for (const std::vector<occurrence>& some : found) begins.push_back(begins.back() + some.size());
    std::vector<occurrence> joined(begins.back());
    for_each_piece(place_, found.size(), [&](std::size_t p) {
        std::ranges::copy(found[p], joined.begin() + static_cast<std::ptrdiff_t>(begins[p]));
        release(found[p]);
    });
    all_.append(std::move(joined));
}

template <class Work>
void document_matrix::for_each_part(const Work& work) {
    const std::size_t parts = std::bit_floor(std::min(place_.threads(), 16U));
    for_each_piece(place_, parts, [&](std::size_t part) {
        paced_checks checks(place_.ctx(), scattered_values);
        work(word_part{parts - 1, part}, checks);
    });
}

template <class Work>
void document_matrix::for_each_document(std::span<const occurrence> batch, std::uint64_t before,
                                        paced_checks& checks, const Work& work) const {
    auto document = static_cast<std::size_t>(std::ranges::upper_bound(ends_, before) - ends_.begin());
    for (std::size_t i = 0; i < batch.size(); ++document) {
        const std::size_t end = std::min<std::uint64_t>(batch.size(), ends_[document] - before);
        checks.after(end - i);
        work(static_cast<std::uint32_t>(document), batch.subspan(i, end - i));
        i = end;
    }
}

void document_matrix::finish() {
    count_waiting();
    release(waiting_);
    release(seen_);
    std::vector<std::uint64_t> total(words_), documents_of(words_);
    all_.for_each([&](std::span<const occurrence> batch) {
        for_each_part([&](word_part part, paced_checks& checks) {
            checks.after(batch.size());
            for (const occurrence& o : batch) {
                if (!part.has(o.word)) continue;
                total[o.word] += o.count;
                ++documents_of[o.word];
            }
        });
    });
    std::vector<double> evenness(words_);  // Σ p log p
    all_.for_each([&](std::span<const occurrence> batch) {
        for_each_part([&](word_part part, paced_checks& checks) {
            checks.after(batch.size());
            for (const occurrence& o : batch) {
                if (!part.has(o.word)) continue;
                const double p = static_cast<double>(o.count) / static_cast<double>(total[o.word]);
                evenness[o.word] += p * canonical_log(p);
            }
        });
    });
    place_entries(std::move(evenness), documents_of);
}

void document_matrix::place_entries(std::vector<double> evenness,
                                    std::span<const std::uint64_t> documents_of) {
    const double log_documents = canonical_log(static_cast<double>(documents()));
    constexpr double rounding = 1e-9;  // what is left of a word that every document has as often
    std::vector<double> global = std::move(evenness);
    for (double& of_word : global) of_word = log_documents > 0 ? 1 + of_word / log_documents : 1;
    offsets_.assign(words_ + std::size_t{1}, 0);
    column_counts_.assign(documents(), 0);
    for (std::uint32_t w = 0; w < words_; ++w)
        offsets_[w + std::size_t{1}] = offsets_[w] + (global[w] < rounding ? 0 : documents_of[w]);
    columns_ = {place_, offsets_.back(), "the words of the documents"};
    weights_ = {place_, offsets_.back(), "the words of the documents"};
    std::vector<std::uint64_t> next(offsets_.begin(), offsets_.end() - 1);
    const log_of_counts log_of;
    std::uint64_t before = 0;
    all_.drain([&](std::span<const occurrence> batch) {
        for_each_part([&](word_part part, paced_checks& checks) {
            for_each_document(
                batch, before, checks, [&](std::uint32_t document, std::span<const occurrence> some) {
                    if ((document & part.mask) == part.number)
                        for (const occurrence& o : some) column_counts_[document] += o.count;
                    for (const occurrence& o : some) {
                        if (!part.has(o.word) || global[o.word] < rounding) continue;
                        const std::uint64_t at = next[o.word]++;
                        columns_.data()[at] = document;
                        weights_.data()[at] = static_cast<float>(log_of(o.count) * global[o.word]);
                    }
                });
        });
        before += batch.size();
    });
}

}  // namespace quern
