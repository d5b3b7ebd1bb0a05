// SPDX-License-Identifier: Apache-2.0
// The parts of a document's score, a row for each term of a query.
#include <cmath>
#include <utility>

#include "ops/search/field_scoring.hpp"
#include "ops/search/search_impl.hpp"
#include "tasks/search/query_plan.hpp"

namespace quern {

/// A row for each indexed field that has the term, the last row; a term of one field has the part itself.
void query_plan::add_fields_of(const query_term& term, const field_score_parts& parts,
                               std::vector<explained_term>& explained) const {
    const auto scaled = [](std::int64_t fixed) { return static_cast<double>(fixed) * 0x1p-32; };
    const explained_term whole = explained.back();
    for (std::size_t k = 0; k < parts.others.size(); ++k) {
        const score_parts& of = parts.others[k];
        if (of.frequency == 0) continue;
        const std::string field = store_.info().indexed_fields[k] + ":";
        const bool is_of_field = of.frequency == parts.frequency && whole.term.starts_with(field);
        explained_term& made = is_of_field ? explained.back() : explained.emplace_back(whole);
        made.part = made.score = scaled(of.part);
        if (is_of_field) continue;
        made.term = field + whole.term;
        made.in_document = of.frequency;
        made.documents = term.fields[k].document_frequency;
        made.in_collection = term.fields[k].collection_frequency;
        made.title = 0;
    }
}

std::vector<explained_term> query_plan::explain(const ranking_options& ranking,
                                                std::uint32_t document) const {
    // Skips the checked entry point, which reads all of a query's lists: the search has done that.
    std::vector<score_parts> parts;
    std::vector<field_score_parts> in_fields;
    if (fields_ != nullptr) {
        in_fields = search_detail::field_parts_of(collection_, view(), *fields_, document);
        parts.assign(in_fields.begin(), in_fields.end());
    } else {
        parts = search_detail::parts_of(collection_, view(), ranking, document);
    }
    const auto scaled = [](std::int64_t fixed) { return static_cast<double>(fixed) * 0x1p-32; };
    std::vector<explained_term> explained;
    const auto add = [&](std::string name, std::uint32_t count, const score_parts& of) -> explained_term& {
        auto& made = explained.emplace_back();
        made.term = std::move(name);
        made.count = count;
        made.in_document = of.frequency;
        made.part = scaled(of.part);
        made.background = scaled(of.background);
        made.length = scaled(of.length);
        made.title = scaled(of.title);
        made.score = scaled(of.sum());
        return made;
    };
    for (std::size_t i = 0; i < terms_.size(); ++i) {
        const query_term& term = terms_[i];
        if (term.continued == term.count && parts[i].title == 0) continue;  // occurs only in its histories
        auto& made = add(names_[i], term.count - term.continued, parts[i]);
        made.documents = term.list.scored_documents();
        made.in_collection = term.list.scored_occurrences();
        made.weight = static_cast<double>(term.weight) / weight_one;
        if (store_.info().listed == word_listing::weights)
            made.weight = std::ldexp(term.list.unit, -store_.info().weight_exponent);
        if (const std::size_t others = terms_.size() - similar_.size(); i >= others)
            made.similar_to = similar_[i - others].similar_to;
        if (fields_ != nullptr) add_fields_of(term, in_fields[i], explained);
    }
    for (std::size_t i = 0; i < continuations_.size(); ++i) {
        const auto& found = histories_->found()[i];
        const auto word = [&](std::uint32_t id) { return store_.words().dictionary().word(id); };
        std::string name = word(found.words.back()) + " |";
        for (std::size_t w = 0; w + 1 < found.words.size(); ++w)
            name.append(" ").append(word(found.words[w]));
        auto& made = add(std::move(name), found.count, parts[terms_.size() + i]);
        made.documents = found.holders;
        made.in_collection = found.frequency;
        made.history_in_document = parts[terms_.size() + i].history;
        made.history_in_collection = found.history;
    }
    return explained;
}

}  // namespace quern
