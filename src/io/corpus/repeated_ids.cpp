// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/repeated_ids.hpp"

#include <algorithm>
#include <utility>

#include "base/hash.hpp"

namespace quern::io {
namespace {

std::uint64_t key_of(std::string_view id) {
    return std::max<std::uint64_t>(1, hash64(id));
}

}  // namespace

std::string repeated_ids::settle(std::string id) {
    const std::uint64_t key = key_of(id);
    if (insert(key)) return id;
    std::uint64_t& number = last_.try_emplace(key, 1).first->second;
    while (true) {
        std::string result = id + '#' + std::to_string(++number);
        if (insert(key_of(result))) return result;
    }
}

bool repeated_ids::insert(std::uint64_t hash) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
        if (slots_[at] == hash) return false;
        if (slots_[at] == 0) {
            slots_[at] = hash;
            ++used_;
            return true;
        }
    }
}

void repeated_ids::grow() {
    const std::vector<std::uint64_t> before =
        std::exchange(slots_, std::vector<std::uint64_t>(std::max<std::size_t>(64, 2 * slots_.size())));
    const std::size_t mask = slots_.size() - 1;
    for (const std::uint64_t hash : before) {
        if (hash == 0) continue;
        std::size_t at = hash & mask;
        while (slots_[at] != 0) at = (at + 1) & mask;
        slots_[at] = hash;
    }
}

}  // namespace quern::io
