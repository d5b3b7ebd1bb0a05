// SPDX-License-Identifier: Apache-2.0
// A language model, opened once.
#include "quern/tasks/language_model.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "module.hpp"
#include "outputs.hpp"
#include "parameters.hpp"
#include "quern/base/error.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/tasks/language_model_option_table.hpp"
#include "quern/tasks/perplexity_option_table.hpp"
#include "reopened.hpp"
#include "table.hpp"
#include "texts.hpp"
#include "word_arguments.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct model_call : call {
    perplexity_options options;
    text_options text;
};
struct compact_call : call {
    compact_model_options options;
};
struct generate_call : call {
    generate_options options;
};

struct opened_model {
    std::string path;
    language_model model;
};

std::unique_ptr<opened_model> open_model(nb::handle path, model_call& call) {
    call.options.model = text_of("path", path);
    call.options.text = call.text;
    auto model =
        run_for(call.run, [&](const context& ctx) { return language_model::open(call.options, ctx); });
    return std::make_unique<opened_model>(opened_model{call.options.model.string(), std::move(model)});
}

nb::dict make_compact(nb::handle source, nb::handle path, compact_call& call) {
    const std::filesystem::path from = text_of("source", source);
    call.options.file = text_of("path", path);
    check_result_file(call.options.file, call.options.force, std::span(&from, 1), ".bin");
    const language_model_info made =
        run_for(call.run, [&](const context& ctx) { return make_compact_model(from, call.options, ctx); });
    nb::list ngrams;
    for (const std::uint64_t of_length : made.ngrams) ngrams.append(of_length);
    nb::dict all;
    all["words"] = made.words;
    all["ngrams"] = ngrams;
    all["quantized_bits"] = made.quantized_bits;
    all["file_bytes"] = made.file_bytes;
    all["checksum"] = hexadecimal(made.checksum);
    return all;
}

perplexity_row score_of(const opened_model& m, nb::handle text) {
    return m.model.score(text_argument("text", text)).front();
}

table table_of(std::span<const perplexity_row> rows, bool sentences) {
    number_column<std::uint64_t> numbers, words, unknown;
    number_column<double> logarithms, perplexities, bits;
    for (const perplexity_row& row : rows) {
        numbers.push_back(row.number);
        words.push_back(row.words);
        unknown.push_back(row.unknown);
        logarithms.push_back(row.logarithm);
        perplexities.push_back(row.perplexity);
        bits.push_back(row.bits_per_byte);
    }
    table made("scores");
    if (sentences) made.add("sentence", std::move(numbers));
    made.add("words", std::move(words)).add("unknown", std::move(unknown));
    made.add("log10", std::move(logarithms)).add("perplexity", std::move(perplexities));
    if (!sentences) made.add("bits_per_byte", std::move(bits));
    return made;
}

table scores_of(const opened_model& m, nb::handle texts, call& with) {
    const word_arguments given("texts", texts);
    const auto rows =
        run_for(with.run, [&](const context& ctx) { return m.model.score(given.words(), ctx); });
    return table_of(rows, false);
}

nb::list generated_by(const opened_model& m, generate_call& call) {
    const std::vector<std::string> texts =
        run_for(call.run, [&](const context& ctx) { return m.model.generate(call.options, ctx); });
    nb::list made;
    for (const std::string& text : texts) made.append(text_object(text));
    return made;
}

std::uint64_t ngrams_of(const opened_model& m) {
    std::uint64_t all = 0;
    for (unsigned n = 1; n <= m.model.order(); ++n) all += m.model.ngrams(n);
    return all;
}

void declare_properties(nb::class_<opened_model>& of) {
    of.def_prop_ro(
          "order", [](const opened_model& m) { return m.model.order(); }, "The largest n of its n-grams.")
        .def_prop_ro("ngrams", ngrams_of, "How many n-grams it has.")
        .def_prop_ro(
            "has_marks", [](const opened_model& m) { return m.model.has_marks(); },
            "Whether <s> and </s> stand around each sentence.")
        .def_prop_ro(
            "weights",
            [](const opened_model& m) {
                nb::list made;
                for (const double w : m.model.weights()) made.append(w);
                return made;
            },
            nb::sig("def weights(self) -> list[float]"), "The weight of each model; their sum is 1.")
        .def_prop_ro(
            "memory_bytes", [](const opened_model& m) { return m.model.memory_bytes(); },
            "What the models take.")
        .def(
            "__repr__",
            [](const opened_model& m) {
                return "LanguageModel(order=" + std::to_string(m.model.order()) +
                       ", ngrams=" + std::to_string(ngrams_of(m)) + ")";
            },
            nb::sig("def __repr__(self) -> str"));
}

}  // namespace

void declare_language_model(nb::module_& module) {
    static parameters<model_call> options("open");
    options.add(
        {"interpolate", "str | os.PathLike[str] | list[str | os.PathLike[str]] | None", "None",
         "More models; a word's probability is the weighted mean."},
        [](model_call& r, nb::handle given) { r.options.interpolate = paths_of("interpolate", given); });
    options.table<&model_call::options>({"sentences", "tune"}).table<&model_call::text>().common();
    static parameters<generate_call> generation("generate");
    generation.table<&generate_call::options>({"generate"}).common();
    static parameters<call> scoring("scores");
    scoring.common();
    static parameters<compact_call> compacting("make_compact");
    compacting.table<&compact_call::options>()
        .add({"overwrite", "bool", "False", "Replace an existing file."},
             [](compact_call& r, nb::handle given) { r.options.force = bool_of("overwrite", given); })
        .common();

    nb::class_<opened_model> of(module, "LanguageModel",
                                R"(A back-off language model, or several interpolated, opened once.

>>> import quern
>>> texts = ["the mill grinds the corn", "the mill stands"]
>>> quern.NgramModel.fit(texts, order=2, smoothing="kneser-ney", sentences=True).to_arpa("mill.arpa", overwrite=True)
>>> model = quern.LanguageModel.open("mill.arpa")
>>> model.perplexity("The mill stands.") < model.perplexity("Stands mill the.")
True

Its methods may be called from several threads at once.)");
    refuse_constructor(of, "a model is opened by LanguageModel.open");
    of.def_static(
        "open",
        [](const nb::object& path, const nb::kwargs& given) {
            model_call call = options.read(given);
            return open_model(path, call);
        },
        nb::arg("path"), nb::arg("options"),
        nb::sig(options.signature("path: str | os.PathLike[str]", "LanguageModel")),
        options.doc("Reads a model: an ARPA file, plain or compressed, from `NgramModel.to_arpa`, KenLM or "
                    "SRILM; or one that "
                    "quern model wrote. The text options must be those with which it was made."));
    of.def_static(
        "make_compact",
        [](const nb::object& source, const nb::object& path, const nb::kwargs& given) {
            compact_call call = compacting.read(given);
            return make_compact(source, path, call);
        },
        nb::arg("source"), nb::arg("path"), nb::arg("options"),
        nb::sig(compacting.signature("source: str | os.PathLike[str], path: str | os.PathLike[str]",
                                     "dict[str, Any]")),
        compacting.doc(
            "Writes a model in the ARPA format, `source`, as a compact one, `path`: a file that is mapped "
            "instead of read, in a fraction of the memory. `open`, `quern.perplexity` and `quern.filter` "
            "take both; the scores are the same to the bit, unless it is quantized.\n\n"
            "Returns its words, n-grams of each length, quantized_bits, file_bytes and checksum. Raises "
            "UsageError for an existing file without `overwrite`, InvalidInput with the line."));
    of.def(
          "score", [](const opened_model& m, nb::handle text) { return score_of(m, text).logarithm; },
          nb::arg("text").none(), nb::sig("def score(self, text: str) -> float"),
          "The logarithm, base 10, of the probability of the text.")
        .def(
            "perplexity", [](const opened_model& m, nb::handle text) { return score_of(m, text).perplexity; },
            nb::arg("text").none(), nb::sig("def perplexity(self, text: str) -> float"),
            "10^(-score / N) for the N words of the text and </s>; nan without words.")
        .def(
            "sentences",
            [](const opened_model& m, nb::handle text) {
                return table_of(m.model.score(text_argument("text", text), true), true);
            },
            nb::arg("text").none(), nb::sig("def sentences(self, text: str) -> Table"),
            "A row for each sentence: sentence (from 1), words, unknown, log10, perplexity.")
        .def(
            "scores",
            [](const opened_model& m, const nb::object& texts, const nb::kwargs& given) {
                call with = scoring.read(given);
                return scores_of(m, texts, with);
            },
            nb::arg("texts"), nb::arg("options"),
            nb::sig(scoring.signature("self, texts: Iterable[str]", "Table")),
            scoring.doc("A row for each text, in their order: words, unknown, log10, perplexity, "
                        "bits_per_byte. By all threads."))
        .def(
            "generate",
            [](const opened_model& m, std::uint64_t count, const nb::kwargs& given) {
                generate_call call = generation.read(given);
                call.options.count = count;
                return generated_by(m, call);
            },
            nb::arg("count"), nb::arg("options"),
            nb::sig(generation.signature("self, count: int", "list[str]")),
            generation.doc(
                "Texts by chance: each word by its probability after the words before it. The same seed and "
                "model "
                "give the same texts. Every word of the vocabulary is scored for each word drawn."));
    declare_properties(of);
}

}  // namespace quern::python
