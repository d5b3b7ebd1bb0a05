// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/part_lists.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ops/search/proximity.hpp"
#include "tasks/search/folded_words.hpp"
#include "tasks/store/field_values.hpp"
#include "text/folding.hpp"

namespace quern {
namespace {

using search_detail::phrase_posting;
using search_detail::phrase_word;

std::vector<std::uint32_t> common(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
    std::vector<std::uint32_t> both;
    std::ranges::set_intersection(a, b, std::back_inserter(both));
    return both;
}

/// The documents of both, with the sum of their frequencies.
std::vector<phrase_posting> sum_of(const std::vector<phrase_posting>& a,
                                   const std::vector<phrase_posting>& b) {
    constexpr std::uint64_t max = std::numeric_limits<std::uint32_t>::max();
    std::vector<phrase_posting> sum;
    sum.reserve(a.size() + b.size());
    std::ranges::merge(a, b, std::back_inserter(sum), {}, &phrase_posting::document,
                       &phrase_posting::document);
    std::size_t kept = 0;
    for (const phrase_posting& of : sum) {
        if (kept != 0 && sum[kept - 1].document == of.document) {
            auto& frequency = sum[kept - 1].frequency;
            frequency = static_cast<std::uint32_t>(std::min(max, std::uint64_t{frequency} + of.frequency));
        } else {
            sum[kept++] = of;
        }
    }
    sum.resize(kept);
    return sum;
}

}  // namespace

part_documents part_finder::find(const query_part& part, bool with_titles, bool in_fields) const {
    if (part.prefix) {
        const std::string& beginning = part.words.front();
        return find_any(
            part.folded ? folded_->beginning_with(beginning) : words_beginning_with(store_, beginning),
            part.field, with_titles, in_fields);
    }
    if (part.folded && !part.is_phrase())
        return find_any(folded_->like(part.words.front()), part.field, with_titles, in_fields);
    if (const auto own = indexed_number(part.field)) return find_in_field(*own, part, in_fields);
    part_documents result = part.is_phrase() ? find_phrase(part, with_titles) : find_word(part, with_titles);
    if (!in_fields) return result;
    result.fields.resize(store_.field_words().size());
    if (part.field == query_field::any)
        for (std::size_t i = 0; i < result.fields.size(); ++i)
            result.fields[i] = phrase_in_field(i, part, result.found);
    return result;
}

part_documents part_finder::find_in_field(std::size_t field, const query_part& part, bool in_fields) const {
    part_documents result;
    if (part.is_phrase()) {
        query_part anywhere = part;
        anywhere.field = query_field::any;
        result.found = phrase_in_field(field, part, find_phrase(anywhere, false).found);
    } else {
        result.found = in_field(field, part.words);
    }
    if (!in_fields) return result;
    result.fields.resize(store_.field_words().size());
    result.fields[field] = result.found;
    return result;
}

part_finder::postings part_finder::in_field(std::size_t field, std::span<const std::string> words) const {
    std::vector<posting_list> lists;
    for (const std::string& word : words)
        if (const posting_list list = store_.field_words()[field].find(word); list.document_frequency != 0)
            lists.push_back(list);
    return search_detail::united(collection_, lists);
}

std::size_t part_finder::count_in_fields(std::uint32_t document) const {
    if (store_.field_words().empty()) return 0;
    const std::string fields = store_.fields()->json(document);
    std::size_t count = 0;
    text::token_list words;
    for (const std::string& name : store_.info().indexed_fields)
        each_text_of(fields, name, [&](std::string_view value) {
            words_of_(value, words);
            count += words.tokens.size();
        });
    return count;
}

part_finder::postings part_finder::phrase_in_field(std::size_t field, const query_part& part,
                                                   const postings& anywhere) const {
    std::vector<std::uint32_t> documents;
    documents.reserve(anywhere.size());
    for (const phrase_posting& of : anywhere) documents.push_back(of.document);
    for (const std::string& word : part.words) {
        const std::vector<std::string> words =
            part.folded ? spelled(store_, folded_->like(word)) : std::vector{word};
        std::vector<std::uint32_t> own;
        for (const phrase_posting& of : in_field(field, words)) own.push_back(of.document);
        documents = common(documents, own);
    }
    postings found;
    for (const std::uint32_t document : documents) {
        ctx_.check_stop();
        std::uint32_t places = 0;
        each_text_of(store_.fields()->json(document), store_.info().indexed_fields[field],
                     [&](std::string_view value) { places += count_in(value, part); });
        if (places != 0) found.push_back({document, places, 0});
    }
    return found;
}

part_finder::postings part_finder::without_fields(postings found, std::span<const std::string> words) const {
    for (std::size_t i = 0; i < store_.field_words().size(); ++i) {
        auto next = found.begin();
        for (const phrase_posting& of : in_field(i, words)) {
            next = std::lower_bound(next, found.end(), of.document,
                                    [](const phrase_posting& p, std::uint32_t d) { return p.document < d; });
            if (next == found.end()) break;
            if (next->document == of.document) next->frequency -= std::min(next->frequency, of.frequency);
        }
    }
    std::erase_if(found, [](const phrase_posting& p) { return p.frequency == 0; });
    return found;
}

bool has_word(const opened_store& store, std::string_view word) {
    return store.words().dictionary().find(word) || store.title_words().dictionary().find(word);
}

store_words words_beginning_with(const opened_store& store, std::string_view prefix) {
    const auto ids = [&](const word_index& index) {
        const auto [first, last] = index.dictionary().with_prefix(prefix);
        std::vector<std::uint32_t> range(last - first);
        std::iota(range.begin(), range.end(), first);
        return range;
    };
    return {ids(store.words()), ids(store.title_words())};
}

std::vector<std::string> spelled(const opened_store& store, const store_words& words) {
    std::vector<std::string> all;
    all.reserve(words.ids.size());
    const auto add = [&all](const word_index& index, const std::vector<std::uint32_t>& ids) {
        std::optional<text::dictionary_view::walker> walk;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (i == 0 || ids[i] != ids[i - 1] + 1) walk.emplace(index.dictionary(), ids[i]);
            all.emplace_back(*walk->next());
        }
    };
    add(store.words(), words.ids);
    if (store.duplicates().size() != 0) {
        const auto own = static_cast<std::ptrdiff_t>(all.size());
        add(store.title_words(), words.title_ids);
        std::inplace_merge(all.begin(), all.begin() + own, all.end());
        all.erase(std::ranges::unique(all).begin(), all.end());
    }
    return all;
}

part_documents part_finder::find_any(const store_words& words, query_field field, bool with_titles,
                                     bool in_fields) const {
    if (const auto own = indexed_number(field)) {
        part_documents result;
        result.found = in_field(*own, spelled(store_, words));
        if (in_fields) {
            result.fields.resize(store_.field_words().size());
            result.fields[*own] = result.found;
        }
        return result;
    }
    const auto lists_of = [](const word_index& index, const std::vector<std::uint32_t>& ids) {
        std::vector<posting_list> lists;
        lists.reserve(ids.size());
        for (const std::uint32_t id : ids) lists.push_back(index.postings(id));
        return lists;
    };
    part_documents result;
    postings in_titles;
    const bool joins = weighs_fields_ && field == query_field::any && store_.duplicates().size() != 0;
    if (with_titles || field != query_field::any)
        in_titles = search_detail::united(collection_, lists_of(store_.title_words(), words.title_ids));
    if (field == query_field::title) {
        result.found = in_titles;
    } else {
        std::vector<posting_list> lists = lists_of(store_.words(), words.ids);
        if (field == query_field::any && !joins && store_.duplicates().size() != 0) {
            // A word that occurs only in titles of near-duplicates belongs to their kept documents.
            const auto& titles = store_.title_words();
            for (const std::uint32_t id : words.title_ids)
                if (!store_.words().dictionary().find(titles.dictionary().word(id)))
                    lists.push_back(titles.postings(id));
        }
        result.found = search_detail::united(collection_, lists);
    }
    if (field == query_field::text || joins) {
        const std::vector<std::string> all = spelled(store_, words);
        result.found = without_titles(std::move(result.found), in_titles, [&](std::string_view word) {
            return std::ranges::binary_search(all, word);
        });
        if (field == query_field::text) result.found = without_fields(std::move(result.found), all);
    }
    if (in_fields) {
        result.fields.resize(store_.field_words().size());
        if (field == query_field::any) {
            const std::vector<std::string> all = spelled(store_, words);
            for (std::size_t i = 0; i < result.fields.size(); ++i) result.fields[i] = in_field(i, all);
        }
    }
    if (joins) result.found = sum_of(result.found, in_titles);
    if (field != query_field::text && with_titles) {
        result.titles = std::move(in_titles);
    }
    return result;
}

bool part_finder::lacks_titles(const posting_list& titles) const {
    if (titles.document_frequency == 0 || store_.duplicates().size() == 0) return false;
    return std::ranges::any_of(search_detail::documents_of(titles, collection_), [&](std::uint32_t document) {
        return store_.duplicates().count(document) != 0;
    });
}

std::vector<phrase_posting> part_finder::in_any_field(const posting_list& list, const posting_list& titles,
                                                      std::string_view word) const {
    const postings in_titles = search_detail::united(collection_, std::span(&titles, 1));
    return sum_of(without_titles(search_detail::united(collection_, std::span(&list, 1)), in_titles,
                                 [&](std::string_view other) { return other == word; }),
                  in_titles);
}

part_documents part_finder::find_word(const query_part& part, bool with_titles) const {
    const std::string& word = part.words.front();
    const posting_list titles = store_.title_words().find(word);
    postings in_titles = search_detail::united(collection_, std::span(&titles, 1));
    part_documents result;
    if (part.field == query_field::title) {
        result.found = in_titles;
        if (with_titles) result.titles = std::move(in_titles);
        return result;
    }
    const posting_list list = store_.words().find(word);
    result.found =
        without_fields(without_titles(search_detail::united(collection_, std::span(&list, 1)), in_titles,
                                      [&](std::string_view other) { return other == word; }),
                       part.words);
    return result;
}

part_finder::postings part_finder::without_titles(
    postings found, const postings& in_titles,
    const std::function<bool(std::string_view word)>& counts) const {
    text::token_list title;
    auto next = found.begin();
    for (const phrase_posting& of : in_titles) {
        ctx_.check_stop();
        next = std::lower_bound(next, found.end(), of.document,
                                [](const phrase_posting& p, std::uint32_t d) { return p.document < d; });
        if (next == found.end()) break;
        if (next->document != of.document) continue;
        std::uint32_t in_title = of.frequency;
        // Of a document with near-duplicates, also in the titles of these.
        if (store_.duplicates().size() != 0 && store_.duplicates().count(of.document) != 0) {
            words_of_(store_.title(of.document), title);
            in_title = static_cast<std::uint32_t>(std::ranges::count_if(
                title.tokens, [&](const text::token& t) { return counts(title.word(t)); }));
        }
        next->frequency -= std::min(next->frequency, in_title);
    }
    std::erase_if(found, [](const phrase_posting& p) { return p.frequency == 0; });
    return found;
}

std::vector<std::uint32_t> part_finder::documents_by_titles(const query_part& part) const {
    std::vector<std::uint32_t> documents;
    for (std::size_t i = 0; i < part.words.size(); ++i) {
        auto own = search_detail::documents_of(store_.title_words().find(part.words[i]), collection_);
        if (part.folded) {
            own.clear();
            for (const auto& of : find_any(folded_->like(part.words[i]), query_field::title, false).found)
                own.push_back(of.document);
        }
        documents = i == 0 ? std::move(own) : common(documents, own);
    }
    return documents;
}

std::uint32_t part_finder::count_in(std::string_view text, const query_part& phrase) const {
    text::token_list words;
    words_of_(text, words);
    const auto form_of = [&](std::string_view word) {
        return phrase.folded ? text::without_accents(word) : std::string(word);
    };
    const auto id_of = [&](std::string_view word) {  // another word gets a number that the phrase lacks
        return static_cast<std::uint32_t>(std::ranges::find(phrase.words, form_of(word), form_of) -
                                          phrase.words.begin());
    };
    std::vector<std::uint32_t> in_text, ids;
    for (const text::token& t : words.tokens) in_text.push_back(id_of(words.word(t)));
    for (const std::string& word : phrase.words) ids.push_back(id_of(word));
    return search_detail::count_places(in_text, ids, phrase.slop);
}

part_finder::postings part_finder::only_in_text(const postings& found,
                                                const std::vector<std::uint32_t>& phrase,
                                                std::uint32_t slop) const {
    postings kept;
    text::token_list title;
    std::vector<std::uint32_t> words;
    for (const phrase_posting& of : found) {
        ctx_.check_stop();
        words.clear();
        tokens_.code->decode(tokens_.words_of(of.document), words);
        words_of_(store_.title(of.document), title);
        auto text = std::span(words).subspan(std::min(words.size(), title.tokens.size()));
        text = text.first(text.size() - std::min(text.size(), count_in_fields(of.document)));
        const std::uint32_t places = search_detail::count_places(text, phrase, slop);
        if (places != 0) kept.push_back({of.document, places, 0});
    }
    return kept;
}

part_finder::postings part_finder::find_folded_phrase(const query_part& part) const {
    // Words that are the same without accents get one number, the place of the first of them in the phrase.
    constexpr std::uint32_t other = 0xFFFF'FFFF;
    std::vector<std::string> forms;
    std::vector<std::uint32_t> phrase;
    std::unordered_map<std::uint32_t, std::uint32_t> numbers;
    std::vector<std::uint32_t> documents;
    for (std::size_t i = 0; i < part.words.size(); ++i) {
        forms.push_back(text::without_accents(part.words[i]));
        const auto first = static_cast<std::uint32_t>(std::ranges::find(forms, forms.back()) - forms.begin());
        phrase.push_back(first);
        const store_words words = folded_->like(part.words[i]);
        for (const std::uint32_t id : words.ids) numbers.emplace(id, first);
        std::vector<std::uint32_t> own;
        for (const auto& of : find_any({words.ids, {}}, query_field::any, false).found)
            own.push_back(of.document);
        documents = i == 0 ? std::move(own) : common(documents, own);
    }
    postings found;
    text::token_list title;
    std::vector<std::uint32_t> words;
    for (const std::uint32_t document : documents) {
        ctx_.check_stop();
        words.clear();
        tokens_.code->decode(tokens_.words_of(document), words);
        for (std::uint32_t& word : words) {
            const auto at = numbers.find(word);
            word = at == numbers.end() ? other : at->second;
        }
        std::span<const std::uint32_t> within(words);
        if (part.field == query_field::text) {
            words_of_(store_.title(document), title);
            within = within.subspan(std::min(words.size(), title.tokens.size()));
            within = within.first(within.size() - std::min(within.size(), count_in_fields(document)));
        }
        const std::uint32_t places = search_detail::count_places(within, phrase, part.slop);
        if (places != 0) found.push_back({document, places, 0});
    }
    return found;
}

part_documents part_finder::find_phrase(const query_part& part, bool with_titles) const {
    part_documents result;
    if (part.field == query_field::title) {
        for (const std::uint32_t document : documents_by_titles(part)) {
            ctx_.check_stop();
            std::uint32_t places = count_in(store_.title(document), part);
            if (places == 0) {
                const auto copies = store_.duplicates().of(document);
                places = std::ranges::any_of(
                    copies, [&](const auto& copy) { return count_in(copy.title, part) != 0; });
            }
            if (places != 0) result.found.push_back({document, places, 0});
        }
        if (with_titles) result.titles = result.found;
        return result;
    }
    std::vector<phrase_word> phrase;
    std::vector<std::uint32_t> ids;
    if (part.folded) result.found = find_folded_phrase(part);
    for (const std::string& word : part.words) {
        if (part.folded) break;
        const auto id = store_.words().dictionary().find(word);
        if (!id) return result;
        phrase.push_back({*id, store_.words().postings(*id)});
        ids.push_back(*id);
    }
    if (!part.folded)
        result.found = part.slop == 0
                           ? search_detail::find_phrase(collection_, tokens_, phrase)
                           : search_detail::find_near(collection_, tokens_, phrase, part.slop, &ctx_);
    if (part.field == query_field::text) {
        if (!part.folded) result.found = only_in_text(result.found, ids, part.slop);
    } else if (with_titles) {
        std::vector<std::uint32_t> documents;
        documents.reserve(result.found.size());
        for (const phrase_posting& posting : result.found) documents.push_back(posting.document);
        for (const std::uint32_t document : common(documents, documents_by_titles(part)))
            if (const std::uint32_t places = count_in(store_.title(document), part); places != 0)
                result.titles.push_back({document, places, 0});
    }
    return result;
}

}  // namespace quern
