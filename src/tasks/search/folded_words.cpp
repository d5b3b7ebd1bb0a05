// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/folded_words.hpp"

#include <algorithm>
#include <utility>

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
    if (forms_.empty()) return;
    text::dictionary_builder builder;
    for (const auto& [form, words] : forms_) {
        builder.append(form);
        by_form_.push_back(&words);
    }
    form_bytes_ = builder.finish();
    form_dictionary_ = text::dictionary_view::open(form_bytes_);
    form_finder_.emplace(form_dictionary_.value());
}

std::vector<folded_words::near_form> folded_words::near(std::string_view form, std::uint32_t bound,
                                                        bool of_beginnings, const context& ctx) const {
    if (!form_dictionary_) return {};
    std::vector<near_form> all;
    for (const text::near_word& of : of_beginnings
                                         ? text::near_beginnings(*form_dictionary_, form, bound, ctx)
                                         : form_finder_->find(form, bound, ctx))
        all.push_back({by_form_[of.id], of.distance});
    return all;
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
