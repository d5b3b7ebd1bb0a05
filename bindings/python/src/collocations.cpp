// SPDX-License-Identifier: Apache-2.0
// Words that occur together more often than by chance.
#include "quern/tasks/collocations.hpp"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <utility>

#include "documents.hpp"
#include "module.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/tasks/collocations_option_table.hpp"
#include "quern/tasks/words_option_table.hpp"
#include "result.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct collocations_call : corpus_call {
    collocations_options options;
};

table collocation_table(const nb::object& documents, collocations_call& call) {
    document_argument source(documents, call);
    text_column words, collocates;
    number_column<std::int64_t> positions;
    number_column<std::uint64_t> counts, of_words, of_collocates;
    number_column<double> information, likelihoods, dice, t_scores;
    run(call.run, [&](const context& ctx, calling_thread& caller) {
        source.read_into(call.options, caller);
        collocations(call.options, ctx, [&](const collocation_row& row) {
            words.add(row.word);
            collocates.add(row.collocate);
            positions.push_back(row.position);
            counts.push_back(row.counts.both);
            of_words.push_back(row.counts.of_word);
            of_collocates.push_back(row.counts.of_collocate);
            information.push_back(row.measures.mutual_information);
            likelihoods.push_back(row.measures.log_likelihood);
            dice.push_back(row.measures.log_dice);
            t_scores.push_back(row.measures.t_score);
        });
    });
    table made("collocations");
    made.add("word", std::move(words)).add("collocate", std::move(collocates));
    if (call.options.params.counting.relation == word_relation::position)
        made.add("position", std::move(positions));
    made.add("count", std::move(counts)).add("of_word", std::move(of_words));
    made.add("of_collocate", std::move(of_collocates)).add("mi", std::move(information));
    made.add("log_likelihood", std::move(likelihoods)).add("log_dice", std::move(dice));
    made.add("t_score", std::move(t_scores));
    return made;
}

/// A comma may be part of a word.
std::vector<std::string> words_of(nb::handle given) {
    if (nb::isinstance<nb::str>(given)) return {text_of("words", given)};
    return field_list_of("words", given);
}

}  // namespace

void declare_collocations(nb::module_& module) {
    static parameters<collocations_call> options("collocations");
    options.add({"words", "str | list[str] | None", "None", "Only the collocates of these words."},
                [](collocations_call& r, nb::handle given) { r.options.words = words_of(given); });
    options.table<&collocations_call::options>();
    options.table<&collocations_call::options, &collocations_options::params, &space_params::counting>();
    options.table<&collocations_call::options, &collocations_options::params>(
        {"columns", "measure", "top", "vectors", "lsa_of", "lsa_words", "lsa_measure"});
    options.table<&collocations_call::options, &collocations_options::text>();
    add_corpus(options).common();
    module.def(
        "collocations",
        [](const nb::object& documents, const nb::kwargs& given) {
            collocations_call call = options.read(given);
            return collocation_table(documents, call);
        },
        nb::arg("documents").none(), nb::arg("options"),
        nb::sig(options.signature("documents: object", "Table")),
        options.doc(
            R"(Finds the words that occur near a word more often than by chance.

Returns a table of word, collocate, count (how often they co-occur), of_word and of_collocate (the co-occurrences of each with
any word), mi (pointwise mutual information, in bits), log_likelihood, log_dice and t_score: words by falling frequency, a word's
collocates by falling `by`. With relation="position" each distance is a table of its own, and the column position counts words
from the word: -1 is the word before. `documents`: as for `dedup`; also the path of one store. Cost: one pass over the documents,
then counting.

>>> import quern
>>> tea = quern.collocations(["strong tea, strong tea, a strong horse"] * 5, words="tea", stop_words="en", window=1)
>>> tea[0]["collocate"], int(tea[0]["count"])
('strong', 20)
)"));
}

}  // namespace quern::python
