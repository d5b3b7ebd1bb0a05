// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "parameters.hpp"
#include "quern/tasks/similar.hpp"
#include "run.hpp"
#include "store_methods.hpp"
#include "table.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

// ---- Words ----

const word_space& thesaurus_of(const opened_folder& of) {
    if (const word_space* const space = of.engine().thesaurus()) return *space;
    refuse(of.path().filename().string() +
           " has no thesaurus, which similar words need; the stage thesaurus of quern.build makes it");
}

std::uint32_t known_word(const word_space& space, const std::string& typed, const context& ctx) {
    const std::string spelling = space.spelling(typed);
    if (const auto id = space.find(spelling)) return *id;
    std::string near;
    for (const std::uint32_t id : space.near_spellings(spelling, ctx))
        near.append(near.empty() ? "; did you mean " : ", ").append(space.word(id));
    refuse("'" + spelling + "' is not in the vocabulary" + near + (near.empty() ? "" : "?"));
}

std::vector<std::string> words_argument(nb::handle given) {
    std::vector<std::string> words;
    if (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given)) {
        for (const nb::handle word : nb::borrow<nb::object>(given))
            words.push_back(text_argument("a word", word));
    } else {
        words.push_back(text_argument("word", given));
    }
    if (words.empty()) refuse("there is no word");
    return words;
}

table similar(const store& self, nb::handle word, nb::handle k, nb::handle all_words) {
    const std::vector<std::string> words = words_argument(word);
    const auto top = static_cast<std::uint32_t>(whole_of("k", k, 1, 0xffffffff));
    const bool all = bool_of("all_words", all_words);
    const word_space& space = thesaurus_of(*self);
    const auto neighbours = run_quietly([&](const context& ctx) {
        word_combination requested;
        for (const std::string& each : words) {
            const bool minus = each.starts_with('-'),
                       sign = each.size() > 1 && (minus || each.starts_with('+'));
            (minus && sign ? requested.minus : requested.plus)
                .push_back(known_word(space, sign ? each.substr(1) : each, ctx));
        }
        return all ? space.similar(requested, top, ctx) : space.similar_but_stop_words(requested, top, ctx);
    });
    text_column names;
    number_column<double> scores;
    for (const neighbour& n : neighbours) {
        names.add(space.word(n.word));
        scores.push_back(n.score);
    }
    table rows("similar words");
    rows.add("word", std::move(names)).add("score", std::move(scores));
    return rows;
}

table contexts(const store& self, nb::handle word, nb::handle other, nb::handle k) {
    const std::string first = text_argument("word", word);
    std::optional<std::string> second;
    if (!other.is_none()) second = text_argument("other", other);
    const auto top = static_cast<std::size_t>(whole_of("k", k, 1));
    const word_space& space = thesaurus_of(*self);
    const auto found = run_quietly([&](const context& ctx) {
        const std::uint32_t id = known_word(space, first, ctx);
        return second ? space.contexts(id, known_word(space, *second, ctx), top) : space.contexts(id, top);
    });
    text_column relations, words;
    number_column<float> weights, weights_of_second;
    for (const shared_context& c : found) {
        relations.add(space.relation(c.relation));
        words.add(space.word(c.word));
        weights.push_back(c.first);
        weights_of_second.push_back(c.second);
    }
    table rows("contexts");
    rows.add("relation", std::move(relations)).add("word", std::move(words));
    if (second) {
        rows.add("weight_of_first", std::move(weights)).add("weight_of_second", std::move(weights_of_second));
    } else {
        rows.add("weight", std::move(weights));
    }
    return rows;
}

nb::object count(const store& self, nb::handle phrase, const nb::kwargs& given) {
    const call requested = common_parameters("count").read(given);
    const std::string text = text_argument("phrase", phrase);
    text_column documents;
    number_column<std::uint32_t> counts, followed;
    const auto found = run_for(requested.run, [&](const context& ctx) {
        const ngram_counter& counter = self->counter(ctx);
        ngram_occurrences occurrences = counter.count(text, ctx);
        for (const ngram_document& d : occurrences.documents) {
            documents.add(counter.id(d.document));
            counts.push_back(d.count);
            followed.push_back(d.followed);
        }
        return occurrences;
    });
    table rows("documents");
    rows.add("document", std::move(documents))
        .add("count", std::move(counts))
        .add("followed", std::move(followed));
    nb::list words, unknown;
    for (const std::string& word : found.words) words.append(text_object(word));
    for (const std::string& word : found.unknown_words) unknown.append(text_object(word));
    return nb::module_::import_("quern._store")
        .attr("Counts")(words, found.count, found.followed, unknown, rows);
}

}  // namespace

void declare_words(nb::class_<store>& to) {
    to.def("similar", similar, nb::arg("word").none(), nb::arg("k") = 20, nb::arg("all_words") = false,
           nb::sig("def similar(self, word: str | list[str], k: int = 20, all_words: bool = False) -> Table"),
           "The words of the thesaurus that are used like a word: a table of word and score, most similar "
           "first.\n\n"
           "A list combines words: close to 'king' and '+woman', far from '-man'. Stop words are excluded "
           "unless "
           "`all_words` is set. Raises UsageError, with similar spellings, for an unknown word.")
        .def("contexts", contexts, nb::arg("word").none(), nb::arg("other") = nb::none(), nb::arg("k") = 20,
             nb::sig("def contexts(self, word: str, other: str | None = None, k: int = 20) -> Table"),
             "The contexts in which a word occurs more often than by chance: relation, word and weight "
             "(pointwise mutual "
             "information, in nats), highest first; with two words those that both share.")
        .def("count", count, nb::arg("phrase").none(), nb::arg("kwargs"),
             nb::sig(common_parameters("count").signature("self, phrase: str", "Counts")),
             common_parameters("count").doc(
                 "How often words follow each other in the documents, whose titles precede their texts.\n\n"
                 "Returns `words` (after the store's analysis), `count` (in the collection, overlapping ones "
                 "too), "
                 "`followed` (by another word of the document), `unknown_words`, and `documents`, a table of "
                 "document, "
                 "count and followed in the order of the collection."));
}

}  // namespace quern::python
