// SPDX-License-Identifier: Apache-2.0
// Which documents a query finds: its required, excluded and optional parts as conditions on documents.
#include <algorithm>
#include <utility>

#include "ops/search/search_impl.hpp"
#include "tasks/search/query_plan.hpp"

namespace quern {
namespace {

using search_detail::condition;

}  // namespace

search_detail::condition query_plan::word_condition(const std::string& word, bool with_titles) const {
    const auto id = store_.words().dictionary().find(word);
    const posting_list titles = store_.title_words().find(word);
    const posting_list list = id ? store_.words().postings(*id) : titles;
    if (!with_titles || titles.document_frequency == 0) return search_detail::one_of(list);
    return {condition::kind::any, {}, {}, {search_detail::one_of(list), search_detail::one_of(titles)}};
}

search_detail::condition query_plan::part_condition(const query_part& part) const {
    const bool other_titles = with_titles_ && has_other_titles_;
    condition any;
    const auto add = [&](std::span<const std::uint32_t> documents, const posting_list& titles, bool many) {
        any.members.push_back(search_detail::one_of(documents));
        if (other_titles && many && titles.document_frequency != 0)
            any.members.push_back(search_detail::one_of(titles));
    };
    if (part.is_loose()) {
        for (const std::string& word : part.words)
            any.members.push_back(word_condition(word, other_titles && !part.quoted));
    } else {
        const made_part& made = made_.at(part_key(part.prefix, part.field, part.slop, part.words));
        add(made.documents, made.titles, part.prefix || part.folded);
    }
    for (const std::string& word : part.words)
        if (const auto* const tiers = tiers_of(part, word))
            for (const made_tier& tier : *tiers) add(tier.documents, tier.titles, true);
    // A part in quotes has one word here.
    return any.members.size() == 1 ? any.members.front() : any;
}

search_detail::condition query_plan::group_condition(const query_group& group) const {
    if (group.part) return part_condition(query_.parts[*group.part]);
    condition made{condition::kind::all}, any;
    for (const query_group& member : group.members) {
        const bool optional = member.occurs == occurrence::optional;
        auto& to = member.occurs == occurrence::excluded              ? made.excluded
                   : optional && group.what != syntax_node::kind::all ? any.members
                                                                      : made.members;
        to.push_back(group_condition(member));
    }
    // Optional members only matter if nothing is required.
    if (made.members.empty()) {
        if (made.excluded.empty()) return any.members.size() == 1 ? any.members.front() : any;
        made.members.push_back(std::move(any));
    }
    return made.members.size() == 1 && made.excluded.empty() ? made.members.front() : made;
}

std::optional<std::size_t> query_plan::term_of(const query_part& part) const {
    if (part.words.size() == 1 && tiers_of(part, part.words.front()) != nullptr) return {};
    if (!part.is_loose()) return made_.at(part_key(part.prefix, part.field, part.slop, part.words)).term;
    const auto end =
        names_.begin() + static_cast<std::ptrdiff_t>(words_.size());  // words come first, in order
    const auto at = std::lower_bound(names_.begin(), end, part.words.front());
    if (part.words.size() != 1 || at == end || *at != part.words.front()) return {};
    return static_cast<std::size_t>(at - names_.begin());
}

/// Whether each required member is a term; then marks these.
bool query_plan::require_terms(const query_group& whole) {
    // Other titles are in lists of their own.
    if (with_titles_ && has_other_titles_) return false;
    std::vector<std::size_t> terms;
    for (const query_group& member : whole.members) {
        const bool optional = member.occurs == occurrence::optional && whole.what != syntax_node::kind::all;
        if (optional || member.occurs == occurrence::excluded) continue;
        const auto term = member.part ? term_of(query_.parts[*member.part]) : std::nullopt;
        if (!term) return false;
        terms.push_back(*term);
    }
    required_terms_.assign(terms_.size(), 0);
    for (const std::size_t term : terms) required_terms_[term] = 1;
    return !terms.empty();
}

void query_plan::plan_restriction(bool by_terms) {
    const query_group* whole = &query_.whole;
    while (whole->members.size() == 1 && !whole->members.front().part &&
           whole->members.front().what != syntax_node::kind::any &&
           whole->members.front().occurs != occurrence::excluded)
        whole = &whole->members.front();
    condition excluded;
    for (const query_group& member : whole->members)
        if (member.occurs == occurrence::excluded) excluded.members.push_back(group_condition(member));
    if (!excluded.members.empty()) excluded_ = std::move(excluded);
    const auto restricts = [&](const query_group& of) {
        return of.occurs == occurrence::required ||
               (of.occurs == occurrence::optional && (!of.part || whole->what == syntax_node::kind::all));
    };
    if (!std::ranges::any_of(whole->members, restricts)) return;
    required_ = group_condition(*whole);
    if (by_terms && !require_terms(*whole)) required_terms_.clear();
}

void query_plan::restrict() {
    if (required_ && required_terms_.empty())
        allowed_ = search_detail::matching_documents(collection_, *required_, &ctx_);
    else if (excluded_)
        forbidden_ = search_detail::matching_documents(collection_, *excluded_, &ctx_);
}

search_detail::condition query_plan::any_term() const {
    condition any;
    for (const query_term& term : terms_) {
        if (term.list.document_frequency == 0) continue;
        any.members.push_back(search_detail::one_of(term.list));
        if (with_titles_ && has_other_titles_ && term.titles.document_frequency != 0)
            any.members.push_back(search_detail::one_of(term.titles));
    }
    return any.members.size() == 1 ? any.members.front() : any;
}

search_detail::condition query_plan::found(const document_bits* filter) const {
    condition found = allowed_ ? search_detail::one_of(*allowed_) : required_ ? *required_ : any_term();
    const bool excludes = excluded_ && !required_;
    if (!excludes && filter == nullptr) return found;
    condition all{condition::kind::all};
    all.members.push_back(std::move(found));
    if (filter != nullptr) all.members.push_back(filter->condition());
    if (excludes) all.excluded.push_back(*excluded_);
    return all;
}

std::uint64_t query_plan::count(std::optional<std::span<const std::int64_t>> boosts,
                                std::optional<std::uint32_t> besides, const document_bits* filter) const {
    if (boosts || besides) return matching(boosts, besides, filter).size();
    return search_detail::count_matching(collection_, found(filter), &ctx_);
}

std::vector<std::uint32_t> query_plan::matching(std::optional<std::span<const std::int64_t>> boosts,
                                                std::optional<std::uint32_t> besides,
                                                const document_bits* filter) const {
    auto documents = search_detail::matching_documents(collection_, found(filter), &ctx_);
    if (!boosts && !besides) return documents;
    // Documents that are allowed have a term.
    search_detail::ascending_set with_term(documents), forbidden(forbidden_);
    std::vector<std::uint32_t> both;
    for (std::uint32_t d = 0; d < collection_.document_lengths.size(); ++d) {
        const bool listed = boosts && !required_ && (*boosts)[d] != no_boost && !forbidden.contains(d) &&
                            (filter == nullptr || filter->contains(d));
        if (d != besides && (with_term.contains(d) || listed)) both.push_back(d);
    }
    return both;
}

}  // namespace quern
