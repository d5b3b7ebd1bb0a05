// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/passing_lists.hpp"

#include <algorithm>
#include <utility>

namespace quern {
namespace {

/// A list that so many documents make is made at its first use, one of n times as many at its n-th.
constexpr std::uint64_t documents_per_use = 32'768;

}  // namespace

passing_lists::passing_lists(std::shared_ptr<const document_bits> filter,
                             std::shared_ptr<const known_words> known, std::uint64_t memory)
    : filter_(std::move(filter)),
      known_(std::move(known)),
      documents_(std::as_const(*filter_).words()),
      memory_(memory),
      used_(documents_.bytes()) {}

std::optional<std::vector<search_detail::kept_term>> passing_lists::of(
    std::span<const search_detail::kept_term> terms) {
    std::vector<search_detail::kept_term> result(terms.begin(), terms.end());
    const auto replace = [&] {
        for (std::size_t i = 0; i < terms.size(); ++i) {
            const auto found = lists_.find(terms[i].list);
            if (found == lists_.end() || !found->second.list) return false;
            result[i].list = found->second.list.get();
        }
        return true;
    };
    {
        const std::shared_lock held(lock_);
        if (replace()) return result;
    }
    // Without waiting: the query can be ranked without the lists.
    const std::unique_lock held(lock_, std::try_to_lock);
    if (!held.owns_lock()) return {};
    for (const search_detail::kept_term& term : terms) use(*term.list);
    if (!replace()) return {};
    return result;
}

void passing_lists::use(const search_detail::kept_list& whole) {
    made_list& made = lists_[&whole];
    if (made.list) return;
    const std::uint64_t size = whole.form == search_detail::kept_form::dense ? documents_.size() : whole.size;
    if (size > ++made.uses * documents_per_use) return;
    const std::uint64_t most = std::min(whole.size, documents_.size());
    if (used_ + search_detail::kept_bytes(most, documents_.size()) > memory_) return;
    made.list =
        std::make_unique<const search_detail::kept_list>(search_detail::keep_those_of(whole, documents_));
    used_ += made.list->bytes();
}

std::shared_ptr<passing_lists> passing_lists_cache::find(const std::shared_ptr<const document_bits>& filter,
                                                         const std::shared_ptr<known_words>& known) {
    const std::lock_guard held(lock_);
    const auto found = std::ranges::find_if(
        kept_, [&](const auto& lists) { return lists->are_of(filter.get(), known.get()); });
    if (found != kept_.end()) {
        kept_.splice(kept_.begin(), kept_, found);
        return kept_.front();
    }
    if (kept_.size() == max_kept) kept_.pop_back();
    kept_.push_front(std::make_shared<passing_lists>(filter, known, memory_));
    return kept_.front();
}

}  // namespace quern
