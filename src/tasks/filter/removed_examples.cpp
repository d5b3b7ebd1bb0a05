// SPDX-License-Identifier: Apache-2.0
#include "tasks/filter/removed_examples.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace quern {

void removed_examples::consider(std::size_t rule, std::uint64_t position, std::string_view id,
                                std::string_view value, std::string_view text) {
    if (of_each_ == 0) return;
    const auto made = [&](std::uint64_t hash) {
        std::size_t end = std::min(text.size(), text_bytes);
        while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
        return removed_example{
            hash,       position, std::string(id), std::string(value), std::string(text.substr(0, end)),
            text.size()};
    };
    examples& all = by_rule_[rule];
    if (all.first.size() < of_each_) {
        all.first.push_back(made(0));
        return;
    }
    const auto lower = [](const removed_example& a, const removed_example& b) { return a.hash < b.hash; };
    const std::uint64_t hash = hash64(id);
    if (all.by_hash.size() == of_each_) {
        if (hash >= all.by_hash.front().hash) return;
        std::ranges::pop_heap(all.by_hash, lower);
        all.by_hash.pop_back();
    }
    all.by_hash.push_back(made(hash));
    std::ranges::push_heap(all.by_hash, lower);
}

std::vector<removed_example> removed_examples::of_rule(std::size_t rule) const {
    std::vector<removed_example> all = by_rule_[rule].first;
    all.insert(all.end(), by_rule_[rule].by_hash.begin(), by_rule_[rule].by_hash.end());
    std::ranges::sort(all, {}, &removed_example::position);
    return all;
}

}  // namespace quern
