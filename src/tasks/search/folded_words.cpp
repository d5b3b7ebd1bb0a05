// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/folded_words.hpp"

#include <algorithm>

#include "text/folding.hpp"

namespace quern {
namespace {

void sort_once(std::vector<std::uint32_t>& ids) {
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
}

void add(store_words& to, const store_words& from) {
    to.ids.insert(to.ids.end(), from.ids.begin(), from.ids.end());
    to.title_ids.insert(to.title_ids.end(), from.title_ids.begin(), from.title_ids.end());
}

}  // namespace

folded_words::folded_words(const opened_store& store) : store_(store) {
    const auto add_all = [this](const word_index& index, std::vector<std::uint32_t> store_words::*ids) {
        text::dictionary_view::walker walk(index.dictionary(), 0);
        for (std::uint32_t id = 0; id < index.dictionary().size(); ++id) {
            const std::string_view word = *walk.next();
            std::string form = text::without_accents(word);
            if (form != word) (forms_[std::move(form)].*ids).push_back(id);
        }
    };
    add_all(store.words(), &store_words::ids);
    add_all(store.title_words(), &store_words::title_ids);
}

store_words folded_words::like(std::string_view word) const {
    const std::string form = text::without_accents(word);
    store_words all;
    if (const auto id = store_.words().dictionary().find(form)) all.ids.push_back(*id);
    if (const auto id = store_.title_words().dictionary().find(form)) all.title_ids.push_back(*id);
    if (const auto others = forms_.find(form); others != forms_.end()) add(all, others->second);
    sort_once(all.ids);
    sort_once(all.title_ids);
    return all;
}

store_words folded_words::beginning_with(std::string_view beginning) const {
    const std::string form = text::without_accents(beginning);
    store_words all = words_beginning_with(store_, form);
    for (auto at = forms_.lower_bound(form); at != forms_.end() && at->first.starts_with(form); ++at)
        add(all, at->second);
    sort_once(all.ids);
    sort_once(all.title_ids);
    return all;
}

bool folded_words::has_others(std::string_view word) const {
    const auto is_other = [&](const word_index& index, const std::vector<std::uint32_t>& ids) {
        const auto own = index.dictionary().find(word);
        return std::ranges::any_of(ids, [&](std::uint32_t id) { return id != own; });
    };
    const store_words all = like(word);
    return is_other(store_.words(), all.ids) || is_other(store_.title_words(), all.title_ids);
}

}  // namespace quern
