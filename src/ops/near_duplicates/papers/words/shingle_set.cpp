// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/papers/words/shingle_set.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "device/progress_meter.hpp"
#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "ops/near_duplicates/papers/words/shingle_bound.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::size_t prefetched = 16;  ///< counts ahead: they are seldom cached

/// The hash of the shingle at each position.
void write_hashes(const shingle_rule& rule, std::span<const std::uint32_t> words,
                  std::vector<std::uint64_t>& to) {
    to.clear();
    if (words.empty()) return;
    const std::size_t width = std::min<std::size_t>(words.size(), rule.width);
    std::uint64_t sum = 0, lead = 1;
    for (std::size_t i = 0; i < width; ++i) sum = sum * shingle_base + shingle_mixed(words[i]);
    for (std::size_t i = 0; i + 1 < width; ++i) lead *= shingle_base;
    const auto hash = [&] { return shingle_mixed(sum + width) & rule.hash_bits; };
    to.push_back(hash());
    for (std::size_t i = width; i < words.size(); ++i) {
        sum = (sum - shingle_mixed(words[i - width]) * lead) * shingle_base + shingle_mixed(words[i]);
        to.push_back(hash());
    }
}

void increase(std::uint8_t& count) {
    constexpr std::uint8_t max = 255;
    const std::atomic_ref<std::uint8_t> shared(count);
    std::uint8_t now = shared.load(std::memory_order_relaxed);
    while (now != max && !shared.compare_exchange_weak(now, static_cast<std::uint8_t>(now + 1),
                                                       std::memory_order_relaxed)) {
    }
}

}  // namespace

shingle_counts::shingle_counts(cpu_place& place, const word_list& documents, const shingle_rule& rule) {
    const std::uint64_t words = documents.words.size(), budget = place.memory().left() / 4;
    const std::uint64_t wanted = std::max<std::uint64_t>(std::min(2 * words, budget), 2);
    const unsigned bits = static_cast<unsigned>(std::bit_width(wanted)) - 1;
    shift_ = 64 - bits;
    counts_ = make_array<std::uint8_t>(place, std::size_t{1} << bits, "counts of shingles");
    std::ranges::fill(counts_.span(), std::uint8_t{0});
    progress_meter meter(place.ctx(), "shingles", words, "words");
    const std::size_t pieces = document_pieces(place, documents.offsets);
    std::vector<std::vector<std::uint64_t>> hashes_of(pieces);
    for_each_document(place, documents.offsets, pieces, [&](std::size_t p, std::uint32_t d) {
        std::vector<std::uint64_t>& hashes = hashes_of[p];
        write_hashes(rule, documents[d], hashes);
        for (std::size_t i = 0; i < hashes.size(); ++i) {
            if (i + prefetched < hashes.size()) __builtin_prefetch(&of(hashes[i + prefetched]), 1);
            increase(counts_.data()[hashes[i] >> shift_]);
        }
        meter.add(documents[d].size());
    });
    meter.finish();
}

int shingle_set::compare(const shingle_set& x, const shingle& s, const shingle_set& y, const shingle& t) {
    if (s.hash != t.hash) return s.hash < t.hash ? -1 : 1;
    const auto a = x.words_of(s), b = y.words_of(t);
    if (std::ranges::equal(a, b)) return 0;
    return std::ranges::lexicographical_compare(a, b) ? -1 : 1;
}

void shingle_set::make(std::span<const std::uint32_t> words) {
    words_ = words;
    write_hashes(rule_, words, hashes_);
    shared_.clear();
    once_ = hash_ = 0;
    for (std::size_t i = 0; i < hashes_.size(); ++i) {
        if (counts_ != nullptr && i + prefetched < hashes_.size())
            __builtin_prefetch(&counts_->of(hashes_[i + prefetched]));
        if (counts_ != nullptr && counts_->of(hashes_[i]) == 1) {
            ++once_;
            hash_ += shingle_mixed(hashes_[i]);
        } else {
            shared_.push_back({hashes_[i], static_cast<std::uint32_t>(i)});
        }
    }
    sort_shared();
    for (const shingle& s : shared_) hash_ += shingle_mixed(s.hash);
    hash_ = shingle_mixed(hash_ + size());
}

void shingle_set::sort_shared() {
    std::ranges::sort(shared_, [](const shingle& s, const shingle& t) {
        return s.hash != t.hash ? s.hash < t.hash : s.at < t.at;
    });
    const auto equal = [&](const shingle& s, const shingle& t) { return compare(*this, s, *this, t) == 0; };
    // Different shingles of one hash are rare; only then words are compared to sort.
    for (auto begin = shared_.begin(); begin != shared_.end();) {
        auto end = begin + 1;
        bool is_one = true;
        for (; end != shared_.end() && end->hash == begin->hash; ++end)
            is_one = is_one && equal(*begin, *end);
        if (!is_one) {
            std::sort(begin, end, [&](const shingle& s, const shingle& t) {
                const int order = compare(*this, s, *this, t);
                return order != 0 ? order < 0 : s.at < t.at;
            });
        }
        begin = end;
    }
    shared_.erase(std::unique(shared_.begin(), shared_.end(), equal), shared_.end());
}

std::uint64_t shingle_set::common(const shingle_set& x, const shingle_set& y, std::uint64_t required) {
    std::uint64_t found = 0;
    std::size_t i = 0, j = 0;
    while (i < x.shared_.size() && j < y.shared_.size()) {
        if (found + std::min(x.shared_.size() - i, y.shared_.size() - j) < required) return found;
        const int order = compare(x, x.shared_[i], y, y.shared_[j]);
        found += order == 0 ? 1 : 0;
        i += order <= 0 ? 1 : 0;
        j += order >= 0 ? 1 : 0;
    }
    return found;
}

bool shingle_set::same(const shingle_set& x, const shingle_set& y) {
    return x.once_ == 0 && y.once_ == 0 &&
           std::ranges::equal(x.shared_, y.shared_,
                              [&](const shingle& s, const shingle& t) { return compare(x, s, y, t) == 0; });
}

bool shingle_set::before(const shingle_set& x, const shingle_set& y) {
    if (x.once_ != y.once_) return x.once_ < y.once_;
    const std::size_t both = std::min(x.shared_.size(), y.shared_.size());
    for (std::size_t i = 0; i < both; ++i) {
        if (const int order = compare(x, x.shared_[i], y, y.shared_[i]); order != 0) return order < 0;
    }
    return x.shared_.size() < y.shared_.size();
}

}  // namespace quern::near_duplicates_detail
