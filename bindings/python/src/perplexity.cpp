// SPDX-License-Identifier: Apache-2.0
// Texts scored with a language model.
#include "quern/tasks/perplexity.hpp"

#include <nanobind/stl/string.h>

#include "documents.hpp"
#include "module.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/tasks/perplexity_option_table.hpp"
#include "result.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct perplexity_call : corpus_call {
    perplexity_options options;
    text_options text;
};

table weights_of(const perplexity_call& call, const perplexity_result& result) {
    text_column models;
    number_column<double> weights;
    for (std::size_t i = 0; i < result.weights.size(); ++i) {
        models.add((i == 0 ? call.options.model : call.options.interpolate[i - 1]).string());
        weights.push_back(result.weights[i]);
    }
    table made("weights");
    made.add("model", std::move(models)).add("weight", std::move(weights));
    return made;
}

table scores(const nb::object& model, const nb::object& documents, perplexity_call& call) {
    call.options.model = text_of("model", model);
    call.options.text = call.text;
    document_argument source(documents, call);
    text_column ids;
    number_column<std::uint64_t> sentences, words, unknown;
    number_column<double> logarithms, perplexities, bits;
    perplexity_result result;
    run(call.run, [&](const context& ctx, calling_thread& caller) {
        source.read_into(call.options, caller);
        result = perplexity(call.options, ctx, [&](const perplexity_row& row) {
            ids.add(row.id);
            if (row.number != 0) sentences.push_back(row.number);
            words.push_back(row.words);
            unknown.push_back(row.unknown);
            logarithms.push_back(row.logarithm);
            perplexities.push_back(row.perplexity);
            if (!call.options.sentences) bits.push_back(row.bits_per_byte);
        });
    });
    if (call.options.tune) return weights_of(call, result);
    table made("scores");
    made.add("id", std::move(ids));
    if (call.options.sentences) made.add("sentence", std::move(sentences));
    made.add("words", std::move(words)).add("unknown", std::move(unknown));
    made.add("log10", std::move(logarithms)).add("perplexity", std::move(perplexities));
    if (!call.options.sentences) made.add("bits_per_byte", std::move(bits));
    return made;
}

}  // namespace

void declare_perplexity(nb::module_& module) {
    static parameters<perplexity_call> options("perplexity");
    options.add(
        {"interpolate", "str | os.PathLike[str] | list[str | os.PathLike[str]] | None", "None",
         "More models; a word's probability is the weighted mean."},
        [](perplexity_call& r, nb::handle given) { r.options.interpolate = paths_of("interpolate", given); });
    options.table<&perplexity_call::options>().table<&perplexity_call::text>();
    add_corpus(options).common();
    module.def(
        "perplexity",
        [](const nb::object& model, const nb::object& documents, const nb::kwargs& given) {
            perplexity_call call = options.read(given);
            return scores(model, documents, call);
        },
        nb::arg("model"), nb::arg("documents").none(), nb::arg("options"),
        nb::sig(options.signature("model: str | os.PathLike[str], documents: object", "Table")),
        options.doc(
            R"(Scores each document, or sentence, with a back-off language model (Katz 1987).

`model`: a file in the ARPA format, from `NgramModel.to_arpa`, KenLM or SRILM. Returns a table of id, words, unknown (words
that the model lacks), log10 (of the text's probability), perplexity and bits_per_byte (of the text in UTF-8), in the order of
the documents; with `sentences` the column sentence counts those of a document from 1, without bits_per_byte. With `tune` the
table has the weights instead: model, weight. `documents`: as for `dedup`. Cost: about 1 µs a word.

>>> import quern
>>> texts = ["Grain is ground.", "Grain is sold."]
>>> quern.NgramModel.fit(texts, order=2, smoothing="absolute").to_arpa("grain.arpa", overwrite=True)
>>> [round(float(p), 1) for p in quern.perplexity("grain.arpa", texts)["perplexity"]]
[2.6, 2.6]
)"));
}

}  // namespace quern::python
