// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/papers/words/shingle_set.hpp"

#include <algorithm>
#include <compare>

#include "base/hash.hpp"

namespace quern::near_duplicates_detail {

int shingle_set::compare(const shingle_set& x, const shingle& s, const shingle_set& y, const shingle& t) {
    if (s.hash != t.hash) return s.hash < t.hash ? -1 : 1;
    const auto a = x.words_of(s), b = y.words_of(t);
    if (std::ranges::equal(a, b)) return 0;
    return std::ranges::lexicographical_compare(a, b) ? -1 : 1;
}

void shingle_set::make(std::span<const std::uint32_t> words) {
    words_ = words;
    all_.clear();
    for_each_hash(rule_, words, [&](std::uint64_t hash) {
        all_.push_back({hash, static_cast<std::uint32_t>(all_.size())});
    });
    std::ranges::sort(all_, [](const shingle& s, const shingle& t) {
        return s.hash != t.hash ? s.hash < t.hash : s.at < t.at;
    });
    const auto equal = [&](const shingle& s, const shingle& t) { return compare(*this, s, *this, t) == 0; };
    // Different shingles of one hash are rare; only then words are compared to sort.
    for (auto begin = all_.begin(); begin != all_.end();) {
        auto end = begin + 1;
        bool is_one = true;
        for (; end != all_.end() && end->hash == begin->hash; ++end) is_one = is_one && equal(*begin, *end);
        if (!is_one)
            std::sort(begin, end, [&](const shingle& s, const shingle& t) {
                const int order = compare(*this, s, *this, t);
                return order != 0 ? order < 0 : s.at < t.at;
            });
        begin = end;
    }
    all_.erase(std::unique(all_.begin(), all_.end(), equal), all_.end());
}

std::uint64_t shingle_set::common(const shingle_set& x, const shingle_set& y, std::uint64_t required) {
    std::uint64_t shared = 0;
    std::size_t i = 0, j = 0;
    while (i < x.all_.size() && j < y.all_.size()) {
        if (shared + std::min(x.all_.size() - i, y.all_.size() - j) < required) return shared;
        const int order = compare(x, x.all_[i], y, y.all_[j]);
        shared += order == 0 ? 1 : 0;
        i += order <= 0 ? 1 : 0;
        j += order >= 0 ? 1 : 0;
    }
    return shared;
}

bool shingle_set::same(const shingle_set& x, const shingle_set& y) {
    return std::ranges::equal(x.all_, y.all_,
                              [&](const shingle& s, const shingle& t) { return compare(x, s, y, t) == 0; });
}

bool shingle_set::before(const shingle_set& x, const shingle_set& y) {
    return std::lexicographical_compare_three_way(
               x.all_.begin(), x.all_.end(), y.all_.begin(), y.all_.end(),
               [&](const shingle& s, const shingle& t) { return compare(x, s, y, t) <=> 0; }) < 0;
}

std::uint64_t shingle_set::hash() const {
    std::uint64_t hash = all_.size();
    for (const shingle& s : all_) hash = mixed(hash + s.hash);
    return hash;
}

}  // namespace quern::near_duplicates_detail
