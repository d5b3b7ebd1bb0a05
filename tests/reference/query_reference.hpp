// SPDX-License-Identifier: Apache-2.0
// Queries with operators the slow, obvious way: each document's words are compared with each part of the query.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reference/field_search_reference.hpp"
#include "reference/search_reference.hpp"

namespace quern::reference {

using text_words = std::vector<std::string>;

struct worded_document {
    text_words title, text;
    text_words all() const {
        text_words words = title;
        words.insert(words.end(), text.begin(), text.end());
        return words;
    }
};

struct operator_query {
    enum class kind { word, phrase, prefix, all, any, list };
    enum class sign { none, plus, minus };
    enum class field { any, title, text };
    kind what = kind::list;
    sign has = sign::none;
    field in = field::any;
    text_words words;  ///< of a word those into which it is split
    std::int64_t slop = 0;
    std::vector<operator_query> members;
};

/// Whether the words of the phrase from `i` on can stand at positions in [s + i, s + i + slop] that are not taken.
inline bool can_stand(const text_words& words, const text_words& phrase, std::int64_t s, std::int64_t slop,
                      std::size_t i, std::set<std::int64_t>& taken) {
    if (i == phrase.size()) return true;
    for (std::int64_t at = s + static_cast<std::int64_t>(i); at <= s + static_cast<std::int64_t>(i) + slop;
         ++at) {
        if (at < 0 || at >= static_cast<std::int64_t>(words.size()) || taken.contains(at)) continue;
        if (words[static_cast<std::size_t>(at)] != phrase[i]) continue;
        taken.insert(at);
        const bool rest = can_stand(words, phrase, s, slop, i + 1, taken);
        taken.erase(at);
        if (rest) return true;
    }
    return false;
}

inline std::uint32_t places_of(const text_words& words, const text_words& phrase, std::int64_t slop) {
    std::uint32_t places = 0;
    const auto size = static_cast<std::int64_t>(phrase.size());
    for (std::int64_t s = -size; s < static_cast<std::int64_t>(words.size()); ++s) {
        bool begins = false;
        for (std::int64_t i = 0; i < size; ++i) {
            const std::int64_t at = s + i;
            begins = begins || (at >= 0 && at < static_cast<std::int64_t>(words.size()) &&
                                words[static_cast<std::size_t>(at)] == phrase[static_cast<std::size_t>(i)]);
        }
        std::set<std::int64_t> taken;
        if (begins && can_stand(words, phrase, s, slop, 0, taken)) ++places;
    }
    return places;
}

/// How often these words have the part.
inline std::uint32_t frequency_in(const text_words& words, const operator_query& part) {
    if (part.what == operator_query::kind::prefix)
        return static_cast<std::uint32_t>(std::ranges::count_if(
            words, [&](const std::string& word) { return word.starts_with(part.words.front()); }));
    return places_of(words, part.words, part.words.size() == 1 ? 0 : part.slop);
}
inline std::uint32_t frequency_in(const worded_document& document, const operator_query& part) {
    using field = operator_query::field;
    return frequency_in(part.in == field::any     ? document.all()
                        : part.in == field::title ? document.title
                                                  : document.text,
                        part);
}

/// A word without an operator: those into which it is split are separate.
inline bool is_loose(const operator_query& part, bool in_list) {
    return part.what == operator_query::kind::word && in_list && part.has == operator_query::sign::none &&
           part.in == operator_query::field::any;
}

inline bool matches(const worded_document& document, const operator_query& query, bool in_list = false) {
    using kind = operator_query::kind;
    using sign = operator_query::sign;
    switch (query.what) {
        case kind::word:
            if (is_loose(query, in_list))
                return std::ranges::any_of(query.words, [&](const std::string& word) {
                    return std::ranges::count(document.all(), word) != 0;
                });
            [[fallthrough]];
        case kind::phrase:
        case kind::prefix:
            return frequency_in(document, query) != 0;
        case kind::any:
            return std::ranges::any_of(query.members,
                                       [&](const operator_query& m) { return matches(document, m); });
        case kind::all:
            return std::ranges::all_of(query.members, [&](const operator_query& m) {
                return matches(document, m) != (m.has == sign::minus);
            });
        case kind::list:
            break;
    }
    bool any = false, has_required = false;
    for (const operator_query& member : query.members) {
        const bool holds = matches(document, member, true);
        const bool required =
            member.has == sign::plus || (member.what == kind::phrase && member.has == sign::none);
        if (member.has == sign::minus ? holds : required && !holds) return false;
        has_required = has_required || required;
        any = any || (holds && member.has == sign::none);
    }
    return any || has_required;
}

/// The scored parts of the query, with the number of times that each occurs.
inline void add_terms(const operator_query& query, bool in_list, bool excluded,
                      std::map<std::string, std::pair<operator_query, std::uint32_t>>& terms) {
    excluded = excluded || query.has == operator_query::sign::minus;
    if (excluded) return;
    if (!query.members.empty()) {
        for (const operator_query& member : query.members)
            add_terms(member, query.what == operator_query::kind::list, excluded, terms);
        return;
    }
    const auto add = [&](operator_query part) {
        if (part.words.size() == 1) part.slop = 0;
        const bool prefix = part.what == operator_query::kind::prefix;
        std::string key =
            std::to_string(static_cast<int>(part.in)) + (prefix ? "*" : " ") + std::to_string(part.slop);
        for (const std::string& word : part.words) key += " " + word;
        if (!prefix) part.what = operator_query::kind::phrase;
        ++terms.try_emplace(key, part, 0).first->second.second;
    };
    if (!is_loose(query, in_list)) return add(query);
    for (const std::string& word : query.words) {
        operator_query part = query;
        part.words = {word};
        add(part);
    }
}

inline std::vector<scored_document> search(const std::vector<worded_document>& documents,
                                           const operator_query& query, const ranking_options& options,
                                           std::size_t k) {
    std::map<std::string, std::pair<operator_query, std::uint32_t>> terms;
    add_terms(query, false, false, terms);
    std::vector<query_word> words;
    for (const auto& [_, term] : terms) {
        query_word& word = words.emplace_back();
        word.count = term.second;
        for (std::uint32_t d = 0; d < documents.size(); ++d) {
            if (const auto f = frequency_in(documents[d], term.first)) word.documents[d] = f;
            if (term.first.in != operator_query::field::text &&
                frequency_in(documents[d].title, term.first) != 0)
                word.titles[d] = 1;
        }
    }
    std::vector<std::uint32_t> lengths;
    std::uint64_t total = 0;
    std::set<std::uint32_t> allowed;
    for (std::uint32_t d = 0; d < documents.size(); ++d) {
        lengths.push_back(static_cast<std::uint32_t>(documents[d].all().size()));
        total += lengths.back();
        if (matches(documents[d], query)) allowed.insert(d);
    }
    return search(lengths, total, words, options, k, {}, &allowed);
}

/// The same by BM25F.
inline std::vector<scored_document> search_fields(const std::vector<worded_document>& documents,
                                                  const operator_query& query, double k1, field_values title,
                                                  field_values text, std::size_t k) {
    std::map<std::string, std::pair<operator_query, std::uint32_t>> terms;
    add_terms(query, false, false, terms);
    std::vector<fielded_word> words;
    for (const auto& [_, term] : terms) {
        fielded_word& word = words.emplace_back();
        word.count = term.second;
        for (std::uint32_t d = 0; d < documents.size(); ++d) {
            const bool counts_titles = term.first.in != operator_query::field::text;
            const auto f = frequency_in(documents[d], term.first);
            const auto in_title = counts_titles ? frequency_in(documents[d].title, term.first) : 0;
            if (in_title != 0) word.title[d] = in_title;
            if (f != in_title) word.text[d] = f - in_title;
        }
    }
    std::vector<std::uint32_t> titles, texts;
    std::vector<bool> found;
    for (const worded_document& of : documents) {
        titles.push_back(static_cast<std::uint32_t>(of.title.size()));
        texts.push_back(static_cast<std::uint32_t>(of.text.size()));
        found.push_back(matches(of, query));
    }
    return search_fields(titles, texts, words, k1, title, text, k, [&](std::uint32_t d) { return found[d]; });
}

}  // namespace quern::reference
