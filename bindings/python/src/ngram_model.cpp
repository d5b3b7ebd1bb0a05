// SPDX-License-Identifier: Apache-2.0
// The n-gram counts and the back-off model of a collection.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <mutex>
#include <optional>

#include "errors.hpp"
#include "fingerprint.hpp"
#include "module.hpp"
#include "ngram_counts_text.hpp"
#include "ngrams.hpp"
#include "quern/tasks/output_file.hpp"
#include "quern/tasks/output_harm.hpp"
#include "quern/text/analyzer.hpp"
#include "result.hpp"
#include "scratch_text.hpp"
#include "word_arguments.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

/// The parameters of a model besides its texts.
struct model_metadata {
    text_options text;
    bool verbatim = false;
    std::uint64_t min_count = 1;
    std::vector<ngram_totals> totals;  ///< n from 1
};

class ngram_model {
  public:
    ngram_model(model_metadata metadata, std::unique_ptr<scratch_text> totals,
                std::unique_ptr<scratch_text> arpa)
        : metadata_(std::move(metadata)),
          totals_(std::move(totals)),
          arpa_(std::move(arpa)),
          counts_(totals_->view(), distinct_of(metadata_)) {
        if (!metadata_.verbatim) analyzer_.emplace(metadata_.text);
    }

    const model_metadata& metadata() const { return metadata_; }
    std::string_view totals() const { return totals_->view(); }
    std::string_view arpa() const { return arpa_->view(); }
    const ngram_counts_text& counts() const { return counts_; }

    /// The words of a text, by the text options; of word lines, between blanks.
    std::uint64_t count(std::string_view text) const {
        std::vector<std::string_view> words;
        if (metadata_.verbatim) {
            for (std::string_view rest = text; !rest.empty();) {
                const std::string_view word = rest.substr(0, rest.find(' '));
                if (!word.empty()) words.push_back(word);
                rest.remove_prefix(std::min(word.size() + 1, rest.size()));
            }
            return count(words);
        }
        const std::lock_guard one_at_a_time(analyzing_);
        analyzer_->analyze(text, tokens_);
        for (const text::token& token : tokens_.tokens) words.push_back(tokens_.word(token));
        return count(words);
    }
    std::uint64_t count(std::span<const std::string_view> words) const {
        if (words.empty())
            throw usage_error("there is no word to count (stop words and short words are none)");
        if (words.size() > counts_.order())
            throw usage_error(std::to_string(words.size()) +
                              " words are too many: the model counts n-grams of up to " +
                              std::to_string(counts_.order()) + " (raise order)");
        return counts_.count(words);
    }

    std::optional<ngrams_result> made;

  private:
    static std::vector<std::uint64_t> distinct_of(const model_metadata& metadata) {
        std::vector<std::uint64_t> distinct;
        for (const ngram_totals& of_n : metadata.totals) distinct.push_back(of_n.distinct);
        return distinct;
    }

    model_metadata metadata_;
    std::unique_ptr<scratch_text> totals_, arpa_;
    ngram_counts_text counts_;
    mutable std::mutex analyzing_;
    mutable std::optional<text::analyzer> analyzer_;
    mutable text::token_list tokens_;
};

std::unique_ptr<ngram_model> fit(const nb::object& documents, ngrams_call& call) {
    document_argument given(documents, call);
    std::unique_ptr<ngram_model> model;
    ngrams_options& options = call.options;
    run(call.run, [&](const context& ctx, calling_thread& caller) {
        given.read_into(options, caller);
        auto totals = std::make_unique<scratch_text>(ctx.scratch_folder());
        auto arpa = std::make_unique<scratch_text>(ctx.scratch_folder());
        options.take_totals = [&](std::string_view text) { totals->write(text); };
        options.take_arpa = [&](std::string_view text) { arpa->write(text); };
        ngrams_result made = ngrams(options, ctx, {});
        totals->finish();
        arpa->finish();
        const model_metadata metadata{.text = call.text,
                                      .verbatim = options.input_format == "lines",
                                      .min_count = options.ngrams.min_count,
                                      .totals = made.totals};
        model = std::make_unique<ngram_model>(metadata, std::move(totals), std::move(arpa));
        model->made = std::move(made);
    });
    return model;
}

// ---- Counts ----

std::uint64_t count_of(const ngram_model& model, nb::handle ngram) {
    if (!nb::isinstance<nb::tuple>(ngram)) return model.count(word_of("ngrams", ngram));
    std::vector<std::string_view> words;
    for (const nb::handle word : nb::borrow<nb::tuple>(ngram)) {
        words.push_back(word_of("ngrams", word));
        const bool has_blank =
            words.back().empty() || words.back().find_first_of(" \t\n\v\f\r") != std::string_view::npos;
        if (has_blank)
            refuse("ngrams: a word of a tuple is empty or has white space (expected one word each)");
    }
    return model.count(words);
}

nb::object counts_of(const ngram_model& model, nb::handle ngrams) {
    if (nb::isinstance<nb::str>(ngrams) || nb::isinstance<nb::tuple>(ngrams))
        return nb::cast(count_of(model, ngrams));
    std::vector<std::uint64_t> counts;
    for (const nb::handle ngram : nb::borrow<nb::object>(ngrams)) counts.push_back(count_of(model, ngram));
    return nb::cast(array_of(std::move(counts)));
}

table table_of_length(const ngram_model& model, std::uint64_t n) {
    if (n < 1 || n > model.counts().order())
        refuse("n: invalid value '" + std::to_string(n) + "' (expected 1 to " +
               std::to_string(model.counts().order()) + ")");
    text_column words;
    number_column<std::uint64_t> counts;
    model.counts().each(n, [&](std::string_view ngram, std::uint64_t count) {
        words.add(ngram);
        counts.push_back(count);
    });
    table made("n-grams");
    made.add("words", std::move(words)).add("count", std::move(counts));
    return made;
}

// ---- Files and pickles ----

void write_file(nb::handle path, bool overwrite, std::string_view text, output_options form) {
    const std::filesystem::path to = text_of("path", path);
    form.replace = overwrite;
    run_options options;
    options.progress = nb::bool_(false);
    run(options, [&](const context& ctx, calling_thread&) {
        refuse_harm(to, {});
        check_output(to, form);
        output_file file(to, form, ctx);
        constexpr std::size_t at_once = std::size_t{1} << 20;
        for (std::string_view rest = text; !rest.empty();
             rest.remove_prefix(std::min(at_once, rest.size()))) {
            ctx.check_stop();
            file.write(rest.substr(0, at_once));
        }
        file.commit();
    });
}

nb::object bytes_array(std::string_view text) {
    return nb::module_::import_("numpy").attr("frombuffer")(nb::bytes(text.data(), text.size()), "uint8");
}

std::unique_ptr<scratch_text> text_from(nb::handle array) {
    const auto bytes = nb::cast<nb::ndarray<const std::uint8_t, nb::c_contig>>(array);
    auto made = std::make_unique<scratch_text>(context{}.scratch_folder());
    made->write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    made->finish();
    return made;
}

nb::object state_of(const ngram_model& model) {
    nb::dict text;
    for (const option<text_options>& row : options_of<text_options>)
        text[std::string(row.name).c_str()] = value_text(row, row.get(model.metadata().text));
    nb::list totals;
    for (const ngram_totals& t : model.metadata().totals)
        totals.append(nb::make_tuple(t.n, t.occurrences, t.with_unknown, t.distinct, t.rows));
    return nb::make_tuple(text, model.metadata().verbatim, model.metadata().min_count, totals,
                          bytes_array(model.totals()), bytes_array(model.arpa()));
}

void restore(ngram_model* self, const nb::tuple& state) {
    model_metadata metadata;
    const nb::dict text = nb::cast<nb::dict>(state[0]);
    for (const option<text_options>& row : options_of<text_options>)
        row.set(metadata.text,
                parse_value(row, nb::cast<std::string>(nb::object(text[std::string(row.name).c_str()]))));
    metadata.verbatim = nb::cast<bool>(state[1]);
    metadata.min_count = nb::cast<std::uint64_t>(state[2]);
    for (const nb::handle one : nb::cast<nb::list>(state[3])) {
        const nb::tuple t = nb::cast<nb::tuple>(one);
        metadata.totals.push_back({.n = nb::cast<unsigned>(t[0]),
                                   .occurrences = nb::cast<std::uint64_t>(t[1]),
                                   .with_unknown = nb::cast<std::uint64_t>(t[2]),
                                   .distinct = nb::cast<std::uint64_t>(t[3]),
                                   .rows = nb::cast<std::uint64_t>(t[4])});
    }
    new (self)
        ngram_model(std::move(metadata), text_from(nb::object(state[4])), text_from(nb::object(state[5])));
}

void declare_counts(nb::class_<ngram_model>& of) {
    of.def(
          "counts", counts_of, nb::arg("ngrams"),
          nb::sig("def counts(self, ngrams: str | tuple[str, ...] | Iterable[str | tuple[str, ...]]) -> Any"),
          R"(How often an n-gram occurs in the collection; 0 if never, or less than min_count times.

A text goes through the text options of the model; a tuple has the words as they are, "<unk>" too. One n-gram gives an int,
several an array of uint64. Raises UsageError for a text without words, or with more than `order`. Cost: microseconds each.)")
        .def("table", table_of_length, nb::arg("n"), nb::sig("def table(self, n: int) -> Table"),
             "All n-grams of n words with their counts, by words: words, count.")
        .def_prop_ro(
            "order", [](const ngram_model& m) { return m.counts().order(); }, "The largest n.")
        .def_prop_ro(
            "min_count", [](const ngram_model& m) { return m.metadata().min_count; },
            "N-grams that occur less often are left out.")
        .def_prop_ro(
            "totals", [](const ngram_model& m) { return ngram_totals_table(m.metadata().totals); },
            "For each n: occurrences, those with an unknown word, distinct n-grams.")
        .def_prop_ro(
            "build_result",
            [](const ngram_model& m) -> nb::object {
                if (!m.made) return nb::none();
                return ngrams_result_dict(*m.made);
            },
            nb::sig("def build_result(self) -> dict[str, Any] | None"),
            "What was read and counted; None if the model was unpickled.");
}

}  // namespace

void declare_ngram_model(nb::module_& module) {
    static parameters<ngrams_call> options("fit");
    options.table<&ngrams_call::options, &ngrams_options::ngrams>({"only", "counts", "measure", "k1", "b"});
    add_ngram_words(options);
    add_corpus(options).common();

    nb::class_<ngram_model> of(module, "NgramModel",
                               R"(The n-grams of a collection: counts, and a back-off language model.

>>> import quern
>>> model = quern.NgramModel.fit(["the mill grinds the corn", "the mill stands"], order=2, smoothing="absolute")
>>> model.counts("The mill"), model.counts(["corn", "mill the"]).tolist()
(2, [1, 0])

The counts and the model are in temporary files without names. A pickle contains them.)");
    refuse_constructor(of, "a model is made by NgramModel.fit");
    of.def_static(
        "fit",
        [](const nb::object& documents, const nb::kwargs& given) {
            ngrams_call call = options.read(given);
            choose_ngram_text(call, given);
            refuse_idle_ngram_options(given, call.options.ngrams, true);
            return fit(documents, call);
        },
        nb::arg("documents").none(), nb::arg("options"),
        nb::sig(options.signature("documents: object", "NgramModel")),
        options.doc(
            "Counts the n-grams of a collection and makes a back-off model of them, as quern ngrams --totals "
            "--arpa does.\n\n"
            "`documents`: as for `dedup`. The same counts and the same model for any number of threads, "
            "memory budget, device and method. `tmp` holds both texts as long as the model lives. Raises "
            "UsageError, InvalidInput, OutOfMemory, DeviceError, StorageError."));
    declare_counts(of);
    of.def(
          "to_arpa",
          [](const ngram_model& m, nb::handle path, bool overwrite) {
              write_file(path, overwrite, m.arpa(),
                         {.form = ".arpa", .written = "a model in the ARPA format"});
          },
          nb::arg("path"), nb::kw_only(), nb::arg("overwrite") = false,
          nb::sig("def to_arpa(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None"),
          "Writes the model in the ARPA format, for KenLM, SRILM and others; .gz and .zst compress. Score "
          "texts "
          "without marks of sentences (docs/ngrams.md).")
        .def(
            "to_totals",
            [](const ngram_model& m, nb::handle path, bool overwrite) {
                write_file(path, overwrite, m.totals(), {});
            },
            nb::arg("path"), nb::kw_only(), nb::arg("overwrite") = false,
            nb::sig("def to_totals(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None"),
            "Writes the counts as quern ngrams --totals does: words, tab, count.")
        .def_prop_ro(
            "fingerprint",
            [](const ngram_model& m) {
                const nb::gil_scoped_release released;
                fingerprint made;
                made.add(m.totals());
                return made.text();
            },
            "16 hexadecimal digits: XXH3 of the counts as quern ngrams --totals writes them.")
        .def(
            "__repr__",
            [](const ngram_model& m) {
                std::uint64_t distinct = 0;
                for (const ngram_totals& of_n : m.metadata().totals) distinct += of_n.distinct;
                return "NgramModel(order=" + std::to_string(m.counts().order()) +
                       ", ngrams=" + std::to_string(distinct) + ")";
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle_t<ngram_model> self) {
                return nb::module_::import_("quern._display").attr("model_html")(self);
            },
            nb::sig("def _repr_html_(self) -> str"))
        .def("__getstate__", state_of, nb::sig("def __getstate__(self) -> tuple[Any, ...]"))
        .def("__setstate__", restore, nb::arg("state"),
             nb::sig("def __setstate__(self, state: tuple[Any, ...]) -> None"));
}

}  // namespace quern::python
