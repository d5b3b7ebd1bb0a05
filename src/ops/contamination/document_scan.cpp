// SPDX-License-Identifier: Apache-2.0
#include "ops/contamination/document_scan.hpp"

#include <algorithm>

namespace quern::contamination_detail {
namespace {

constexpr std::uint32_t unresolved = item_index::none - 1;
}  // namespace

void document_scan::add(std::span<const std::uint64_t> hashes, const word_source& words, bool is_last) {
    source_ = &words;
    prefixes_.resize(carried_.size() + hashes.size() + 1);
    std::uint64_t prefix = 0;
    std::size_t at = 0;
    prefixes_[at++] = prefix;
    for (const known_word& word : carried_) prefixes_[at++] = prefix = window_kind::next(prefix, word.hash);
    for (const std::uint64_t hash : hashes) prefixes_[at++] = prefix = window_kind::next(prefix, hash);
    numbers_.clear();
    for (const window_search& search : index_.searches()) look_for(search);
    if (is_last) {
        carried_.clear();
    } else {
        carry_on(hashes);
    }
    source_ = nullptr;
}

void document_scan::look_for(const window_search& search) {
    const std::size_t size = prefixes_.size() - 1, length = search.anchor.length, stride = search.stride;
    if (size < length) return;
    const std::size_t anchors = (size - length) / stride + 1;
    for (std::size_t begin = 0; begin < anchors; begin += block) {
        const std::size_t count = std::min(block, anchors - begin);
        const std::uint64_t* const before = prefixes_.data() + begin * stride;
        const std::uint64_t* const to_end = before + length;
        std::size_t passed = 0;
        for (std::size_t i = 0; i < count; ++i) {
            passed_[passed] = static_cast<std::uint32_t>(i);
            const std::uint64_t key = search.anchor.key(before[i * stride], to_end[i * stride]);
            passed += search.anchors.may_contain(key) ? 1 : 0;
        }
        for (std::size_t i = 0; i < passed; ++i) look_around(search, (begin + passed_[i]) * stride);
    }
}

/// Only windows that end among the new words: the others were compared before.
void document_scan::look_around(const window_search& search, std::size_t anchor) {
    const std::size_t size = prefixes_.size() - 1;
    for (const window_kind& kind : search.windows) {
        std::size_t at = anchor - std::min<std::size_t>(anchor, search.stride - 1);
        if (at + kind.length <= carried_.size()) at = carried_.size() + 1 - kind.length;
        for (; at <= anchor && at + kind.length <= size; ++at) {
            if (search.whole.may_contain(kind.key(prefixes_[at], prefixes_[at + kind.length])))
                compare(kind, at);
        }
    }
}

void document_scan::compare(const window_kind& kind, std::size_t first) {
    const std::uint64_t key = kind.key(prefixes_[first], prefixes_[first + kind.length]);
    const std::uint32_t ngram = index_.find(key, kind.length, [&](std::span<const std::uint32_t> words) {
        for (std::size_t i = 0; i < words.size(); ++i)
            if (number_at(first + i) != words[i]) return false;
        return true;
    });
    if (ngram == item_index::none) return;
    note(ngram, bytes_at(first).first, bytes_at(first + kind.length - 1).second);
}

std::uint32_t document_scan::number_at(std::size_t at) {
    if (numbers_.empty()) {
        numbers_.assign(prefixes_.size() - 1, unresolved);
        for (std::size_t i = 0; i < carried_.size(); ++i) numbers_[i] = carried_[i].number;
    }
    if (numbers_[at] == unresolved) numbers_[at] = source_->number(at - carried_.size());
    return numbers_[at];
}

std::pair<std::uint32_t, std::uint32_t> document_scan::bytes_at(std::size_t at) const {
    if (at < carried_.size()) return {carried_[at].begin, carried_[at].end};
    return source_->bytes(at - carried_.size());
}

/// Keeps the words that a window beginning here may still need.
void document_scan::carry_on(std::span<const std::uint64_t> hashes) {
    const std::size_t size = carried_.size() + hashes.size();
    const std::size_t kept = std::min<std::size_t>(size, index_.ngram() - 1);
    std::vector<known_word> next;
    next.reserve(kept);
    for (std::size_t at = size - kept; at < size; ++at) {
        const std::uint64_t hash = at < carried_.size() ? carried_[at].hash : hashes[at - carried_.size()];
        const auto [begin, end] = bytes_at(at);
        next.push_back({hash, number_at(at), begin, end});
    }
    carried_.swap(next);
}

std::span<const contamination> document_scan::finish() {
    carried_.clear();
    results_.clear();
    if (found_.empty()) return {};
    candidates_.clear();
    for (const found_ngram& f : found_) {
        const auto items = index_.items_of(f.ngram);
        candidates_.insert(candidates_.end(), items.begin(), items.end());
    }
    std::ranges::sort(candidates_);
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    for (const std::uint32_t item : candidates_) {
        const auto ngrams = index_.ngrams_of(item);
        contamination result{item, 0, 0, static_cast<std::uint32_t>(ngrams.size()), item_index::none, 0};
        for (const std::uint32_t ngram : ngrams) {
            const found_ngram* const f = found(ngram);
            if (f == nullptr) continue;
            ++result.found;
            result.begin = std::min(result.begin, f->begin);
            result.end = std::max(result.end, f->end);
        }
        if (result.found >= index_.needed(ngrams.size())) results_.push_back(result);
    }
    for (found_ngram& f : found_) f.begin = static_cast<std::uint32_t>(slot_of(f.ngram));
    for (const found_ngram& f : found_) slots_[f.begin] = 0;
    found_.clear();
    return results_;
}

std::size_t document_scan::slot_of(std::uint32_t ngram) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = ngram * std::uint64_t{0x9E3779B97F4A7C15} >> 32 & mask;
    while (slots_[at] != 0 && found_[slots_[at] - 1].ngram != ngram) at = (at + 1) & mask;
    return at;
}

const document_scan::found_ngram* document_scan::found(std::uint32_t ngram) const {
    const std::uint32_t at = slots_[slot_of(ngram)];
    return at == 0 ? nullptr : &found_[at - 1];
}

void document_scan::note(std::uint32_t ngram, std::uint32_t begin, std::uint32_t end) {
    if (2 * (found_.size() + 1) > slots_.size()) grow();
    std::uint32_t& slot = slots_[slot_of(ngram)];
    if (slot == 0) {
        found_.push_back({ngram, begin, end});
        slot = static_cast<std::uint32_t>(found_.size());
        return;
    }
    found_ngram& f = found_[slot - 1];
    f.begin = std::min(f.begin, begin);
    f.end = std::max(f.end, end);
}

void document_scan::grow() {
    slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), 0);
    for (std::uint32_t i = 0; i < found_.size(); ++i) slots_[slot_of(found_[i].ngram)] = i + 1;
}

}  // namespace quern::contamination_detail
