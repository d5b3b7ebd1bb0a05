// SPDX-License-Identifier: Apache-2.0
// Queries that combine everything, the slow, obvious way: operators, phrases, prefixes, typos and unfinished words in any field
// of the documents, title and text and others, scored as words of the whole document or by BM25F.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reference/field_search_reference.hpp"
#include "reference/query_reference.hpp"
#include "reference/search_reference.hpp"
#include "reference/typo_reference.hpp"

namespace quern::reference {

/// A document by field, title and text first: the words of each of its values (of title and text one).
using words_by_field = std::vector<std::vector<text_words>>;

struct query_node {
    enum class kind { word, phrase, prefix, all, any, list };
    enum class sign { none, plus, minus };
    static constexpr std::size_t any_field = SIZE_MAX;
    kind what = kind::list;
    sign has = sign::none;
    std::size_t field = any_field;
    bool excluded = false;  ///< it, or what it is a part of
    text_words words;
    std::int64_t slop = 0;
    unsigned edits = 0;
    bool unfinished = false;
    std::vector<query_node> members;

    bool is_leaf() const { return what == kind::word || what == kind::phrase || what == kind::prefix; }
};

inline std::u32string characters_of(const std::string& word) {
    std::u32string all;
    for (const char c : word) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80)
            all.push_back(byte);
        else if (byte >= 0xC0)
            all.push_back(byte & 0x1F);
        else
            all.back() = all.back() << 6 | (byte & 0x3F);
    }
    return all;
}

class combined_search {
  public:
    /// `weights`: of the fields, for BM25F; none: scores are those of words anywhere in the document.
    combined_search(const std::vector<words_by_field>& documents, const ranking_options& options,
                    typo_mode mode, std::vector<field_values> weights)
        : documents_(documents), options_(options), mode_(mode), weights_(std::move(weights)) {
        fields_ = documents.front().size();
        lengths_.resize(fields_);
        for (const words_by_field& of : documents) {
            std::uint32_t all = 0;
            for (std::size_t i = 0; i < fields_; ++i) {
                const text_words words = in_field(of, i);
                vocabulary_.insert(words.begin(), words.end());
                lengths_[i].push_back(static_cast<std::uint32_t>(words.size()));
                all += lengths_[i].back();
            }
            all_lengths_.push_back(all);
            total_ += all;
        }
    }

    std::vector<scored_document> search(const query_node& query,
                                        const std::function<bool(std::uint32_t)>& passes) const {
        std::vector<term> terms;
        add_terms(query, terms);
        std::set<std::uint32_t> allowed;
        for (std::uint32_t d = 0; d < documents_.size(); ++d)
            if (passes(d) && matches(d, query)) allowed.insert(d);
        return scored(terms, &allowed);
    }

  private:
    /// A term: its occurrences in each field of each document that has it.
    struct term {
        std::map<std::uint32_t, std::vector<std::uint32_t>> counts;
        std::uint32_t weight = weight_one;
    };

    static text_words in_field(const words_by_field& of, std::size_t field) {
        text_words all;
        for (const text_words& value : of[field]) all.insert(all.end(), value.begin(), value.end());
        return all;
    }

    /// How often `count` counts a part in each field of a document. A phrase lies within one value of a field; one anywhere
    /// may go from one to the next, and then counts in the text.
    std::vector<std::uint32_t> counts_in(std::uint32_t d, std::size_t field,
                                         const std::function<std::uint32_t(const text_words&)>& count) const {
        std::vector<std::uint32_t> counts(fields_);
        std::uint32_t sum = 0;
        text_words whole;
        for (std::size_t i = 0; i < fields_; ++i) {
            if (field != query_node::any_field && field != i) continue;
            for (const text_words& value : documents_[d][i]) {
                counts[i] += count(value);
                whole.insert(whole.end(), value.begin(), value.end());
            }
            sum += counts[i];
        }
        if (field == query_node::any_field) counts[text_field] += count(whole) - sum;
        return counts;
    }
    std::vector<std::uint32_t> counts_of(std::uint32_t d, const query_node& leaf) const {
        return counts_in(d, leaf.field, [&](const text_words& words) -> std::uint32_t {
            if (leaf.what == query_node::kind::prefix)
                return static_cast<std::uint32_t>(std::ranges::count_if(
                    words, [&](const std::string& word) { return word.starts_with(leaf.words.front()); }));
            return places_of(words, leaf.words, leaf.words.size() == 1 ? 0 : leaf.slop);
        });
    }
    std::vector<std::uint32_t> counts_of(std::uint32_t d, std::size_t field,
                                         const std::set<std::string>& some) const {
        return counts_in(d, field, [&](const text_words& words) {
            return static_cast<std::uint32_t>(
                std::ranges::count_if(words, [&](const std::string& word) { return some.contains(word); }));
        });
    }
    static bool has(const std::vector<std::uint32_t>& counts) {
        return std::ranges::any_of(counts, [](std::uint32_t count) { return count != 0; });
    }

    // ---- Typos

    bool begins(const std::string& beginning) const {
        return std::ranges::any_of(vocabulary_,
                                   [&](const std::string& word) { return word.starts_with(beginning); });
    }
    unsigned edits_of(const query_node& leaf) const {
        if (leaf.edits != 0 || mode_ == typo_mode::never || leaf.excluded) return leaf.edits;
        const std::string& word = leaf.words.front();
        const bool known = vocabulary_.contains(word) || (leaf.unfinished && begins(word));
        if (mode_ == typo_mode::automatic && known) return 0;
        const std::size_t size = characters_of(word).size();
        const unsigned by_length = size < 4 ? 0 : size < 8 ? 1 : 2;
        return mode_ == typo_mode::one ? std::min(by_length, 1U) : by_length;
    }
    /// Distances and words, the nearest first; none but of words.
    std::vector<std::pair<unsigned, std::set<std::string>>> tiers_of(const query_node& leaf) const {
        std::vector<std::pair<unsigned, std::set<std::string>>> tiers;
        if (leaf.what != query_node::kind::word) return tiers;
        const std::string& typed = leaf.words.front();
        if (leaf.unfinished) {
            tiers.push_back({0, {}});
            for (const std::string& word : vocabulary_)
                if (word.starts_with(typed) && word != typed) tiers.back().second.insert(word);
        }
        const bool beginnings = leaf.unfinished && !vocabulary_.contains(typed) && !begins(typed);
        for (unsigned distance = 1; distance <= edits_of(leaf); ++distance) {
            tiers.push_back({distance, {}});
            for (const std::string& word : vocabulary_)
                if (typos_between(characters_of(typed), characters_of(word), beginnings) == distance)
                    tiers.back().second.insert(word);
        }
        return tiers;
    }

    // ---- Matches

    bool holds(std::uint32_t d, const query_node& leaf) const {
        if (has(counts_of(d, leaf))) return true;
        return std::ranges::any_of(
            tiers_of(leaf), [&](const auto& tier) { return has(counts_of(d, leaf.field, tier.second)); });
    }
    bool matches(std::uint32_t d, const query_node& query) const {
        using kind = query_node::kind;
        using sign = query_node::sign;
        if (query.is_leaf()) return holds(d, query);
        if (query.what == kind::any)
            return std::ranges::any_of(query.members, [&](const query_node& m) { return matches(d, m); });
        if (query.what == kind::all)
            return std::ranges::all_of(
                query.members, [&](const query_node& m) { return matches(d, m) != (m.has == sign::minus); });
        bool any = false, has_required = false;
        for (const query_node& member : query.members) {
            const bool matched = matches(d, member);
            const bool required =
                member.has == sign::plus || (member.what == kind::phrase && member.has == sign::none);
            if (member.has == sign::minus ? matched : required && !matched) return false;
            has_required = has_required || required;
            any = any || (matched && member.has == sign::none);
        }
        return any || has_required;
    }

    // ---- Scores

    void add_terms(const query_node& query, std::vector<term>& terms) const {
        for (const query_node& member : query.members) add_terms(member, terms);
        if (!query.is_leaf() || query.excluded) return;
        std::set<std::uint32_t> nearer;
        const auto add = [&](const std::function<std::vector<std::uint32_t>(std::uint32_t)>& counts) {
            term made;
            for (std::uint32_t d = 0; d < documents_.size(); ++d) {
                auto of = counts(d);
                if (!nearer.contains(d) && has(of)) made.counts.emplace(d, std::move(of));
            }
            for (const auto& [d, _] : made.counts) nearer.insert(d);
            terms.push_back(std::move(made));
        };
        add([&](std::uint32_t d) { return counts_of(d, query); });
        const std::int64_t least = bounds(terms.back()).first;
        for (const auto& [distance, words] : tiers_of(query)) {
            add([&](std::uint32_t d) { return counts_of(d, query.field, words); });
            terms.back().weight = weight_of_tier(distance, least, bounds(terms.back()).second);
        }
    }

    std::pair<std::int64_t, std::int64_t> bounds(const term& of) const {
        if (weights_.empty()) return part_bounds_of(word_of(of), all_lengths_, total_, options_);
        std::int64_t least = 0, largest = 0;
        for (const scored_document& each : scored({of}, nullptr)) {
            least = least == 0 ? each.fixed_score : std::min(least, each.fixed_score);
            largest = std::max(largest, each.fixed_score);
        }
        return {least, largest};
    }

    static query_word word_of(const term& of) {
        query_word word;
        word.weight = of.weight;
        for (const auto& [d, counts] : of.counts) {
            for (const std::uint32_t count : counts) word.documents[d] += count;
            if (counts[title_field] != 0) word.titles[d] = 1;
        }
        return word;
    }

    std::vector<scored_document> scored(const std::vector<term>& terms,
                                        const std::set<std::uint32_t>* allowed) const {
        if (weights_.empty()) {
            std::vector<query_word> words;
            for (const term& of : terms) words.push_back(word_of(of));
            return reference::search(all_lengths_, total_, words, options_, documents_.size() + 1, {},
                                     allowed);
        }
        std::vector<fielded_word> words;
        for (const term& of : terms) {
            fielded_word& word = words.emplace_back();
            word.weight = of.weight;
            word.others.resize(fields_ - 2);
            for (const auto& [d, counts] : of.counts) {
                if (counts[title_field] != 0) word.title[d] = counts[title_field];
                if (counts[text_field] != 0) word.text[d] = counts[text_field];
                for (std::size_t i = 2; i < fields_; ++i)
                    if (counts[i] != 0) word.others[i - 2][d] = counts[i];
            }
        }
        std::vector<other_field> others;
        for (std::size_t i = 2; i < fields_; ++i) others.push_back({weights_[i], lengths_[i]});
        return search_fields(
            lengths_[title_field], lengths_[text_field], words, options_.k1, weights_[title_field],
            weights_[text_field], documents_.size() + 1,
            [&](std::uint32_t d) { return allowed == nullptr || allowed->contains(d); }, {}, {}, others);
    }

    static constexpr std::size_t title_field = 0, text_field = 1;

    const std::vector<words_by_field>& documents_;
    ranking_options options_;
    typo_mode mode_;
    std::vector<field_values> weights_;
    std::size_t fields_ = 0;
    std::vector<std::vector<std::uint32_t>> lengths_;  // of each field
    std::vector<std::uint32_t> all_lengths_;
    std::uint64_t total_ = 0;
    std::set<std::string> vocabulary_;
};

}  // namespace quern::reference
