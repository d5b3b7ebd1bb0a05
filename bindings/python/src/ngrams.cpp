// SPDX-License-Identifier: Apache-2.0
// The n-grams of documents, as rows.
#include "ngrams.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <array>
#include <optional>

#include "errors.hpp"
#include "fingerprint.hpp"
#include "module.hpp"
#include "outputs.hpp"
#include "quern/tasks/dictionary.hpp"
#include "quern/tasks/output_file.hpp"
#include "quern/tasks/output_harm.hpp"
#include "result.hpp"

namespace nb = nanobind;

namespace quern::python {

void add_ngram_words(parameters<ngrams_call>& to) {
    to.add({"dictionary", "str | os.PathLike[str] | Dictionary | None", "None",
            "The known words, as `Dictionary.build` writes them, with its text options; every other word "
            "becomes "
            "<unk>. Default: every word is known."},
           [](ngrams_call& r, nb::handle given) { r.options.dictionary = text_of("dictionary", given); });
    to.table<&ngrams_call::options>().table<&ngrams_call::text>();
}

void choose_ngram_text(ngrams_call& call, const nb::kwargs& given) {
    text_options text;
    bool is_given = false;
    if (!call.options.dictionary.empty()) {
        const dictionary_info info = read_dictionary_info(call.options.dictionary);
        if (!info.verbatim) text = info.text;
    }
    for (const option<text_options>& row : options_of<text_options>) {
        const nb::str name(row.name.data(), row.name.size());
        if (!given.contains(name) || given[name].is_none()) continue;
        row.set(text, row.get(call.text));
        is_given = true;
    }
    if (is_given) call.options.text = text;
    call.text = std::move(text);
}

void refuse_idle_ngram_options(const nb::kwargs& given, const ngram_options& options, bool has_model) {
    const auto require = [&](const char* name, bool is_used, const char* needed) {
        if (given.contains(name) && !given[name].is_none() && !is_used)
            refuse(std::string(name) + " has no effect here (it requires " + needed + ")");
    };
    const bool bm25 = options.measure == ngram_measure::bm25, smooths = !bm25 || has_model;
    for (const char* const name : {"k1", "b"}) require(name, bm25, "measure='bm25'");
    require("smoothing", smooths, "measure='likelihood' or arpa");
    const auto is = [&](ngram_smoothing rule) { return smooths && options.smoothing == rule; };
    require("lambda_", is(ngram_smoothing::jelinek_mercer), "smoothing='jm'");
    require("mu", is(ngram_smoothing::dirichlet), "smoothing='dirichlet'");
    require("delta", is(ngram_smoothing::absolute), "smoothing='absolute'");
}

table ngram_totals_table(std::span<const ngram_totals> totals) {
    number_column<std::uint32_t> lengths;
    number_column<std::uint64_t> occurrences, with_unknown, distinct, rows;
    for (const ngram_totals& of_n : totals) {
        lengths.push_back(of_n.n);
        occurrences.push_back(of_n.occurrences);
        with_unknown.push_back(of_n.with_unknown);
        distinct.push_back(of_n.distinct);
        rows.push_back(of_n.rows);
    }
    table made("lengths");
    made.add("n", std::move(lengths)).add("occurrences", std::move(occurrences));
    made.add("with_unknown", std::move(with_unknown)).add("distinct", std::move(distinct));
    made.add("rows", std::move(rows));
    return made;
}

nb::dict ngrams_result_dict(const ngrams_result& made) {
    nb::dict result;
    result["counts"] = counts_dict(made.counts);
    result["documents"] = made.documents;
    result["words"] = made.words;
    result["distinct"] = made.distinct;
    result["unknown"] = made.unknown;
    result["distinct_unknown"] = made.distinct_unknown;
    result["model_ngrams"] = made.model_ngrams;
    result["excluded_words"] = made.excluded_words;
    result["issues"] = issues_table(made.issues);
    result["statistics"] = statistics_dict(made.statistics);
    return result;
}

namespace {

/// The rows, and how they were made.
struct ngram_rows_table : table {
    explicit ngram_rows_table(ngram_options requested) : table("n-grams"), options(requested) {}

    ngram_options options;
    ngrams_result made;
    bool has_rows = true;
};

/// Takes rows until they become columns.
struct row_columns {
    text_column documents, words;
    number_column<std::uint32_t> lengths, in_document, history_in_document;
    number_column<std::uint64_t> in_collection, history_in_collection;
    number_column<double> weights;

    void add(const ngram_row& row, bool has_histories) {
        documents.add(row.document);
        lengths.push_back(row.n);
        words.add(row.words);
        in_document.push_back(row.in_document);
        in_collection.push_back(row.in_collection);
        weights.push_back(row.weight);
        if (!has_histories) return;
        history_in_document.push_back(row.history_in_document);
        history_in_collection.push_back(row.history_in_collection);
    }
    void move_to(ngram_rows_table& rows) {
        const std::vector<std::string> names = ngram_columns(rows.options);
        rows.add(names[0], std::move(documents)).add(names[1], std::move(lengths));
        rows.add(names[2], std::move(words)).add(names[3], std::move(in_document));
        rows.add(names[4], std::move(in_collection)).add(names[5], std::move(weights));
        if (!rows.options.history_counts) return;
        rows.add(names[6], std::move(history_in_document)).add(names[7], std::move(history_in_collection));
    }
};

/// The value of a column as the program writes it.
cell cell_of(const table::column& column, std::size_t row) {
    return std::visit(
        [row](const auto& values) -> cell {
            using type = std::remove_const_t<typename std::remove_cvref_t<decltype(values)>::element_type>;
            if constexpr (std::is_same_v<type, text_column>) {
                return values->at(row);
            } else if constexpr (std::is_same_v<type, bool_column>) {
                return std::uint64_t{values->values[row]};
            } else if constexpr (std::is_same_v<type, number_column<std::uint32_t>>) {
                return std::uint64_t{(*values)[row]};
            } else {
                return (*values)[row];
            }
        },
        column);
}

nb::object fingerprint_of(const ngram_rows_table& rows) {
    if (!rows.has_rows) return nb::none();
    std::string made;
    {
        const nb::gil_scoped_release released;
        made = fingerprint_of_rows(ngram_columns(rows.options), [&](row_writer& to) {
            std::vector<cell> cells(rows.columns().size());
            for (std::size_t row = 0; row < rows.rows(); ++row) {
                for (std::size_t c = 0; c < cells.size(); ++c)
                    cells[c] = cell_of(rows.columns()[c].second, row);
                to.row(cells);
            }
        });
    }
    return nb::cast(made);
}

/// The files of a call, which appear together.
class result_files {
  public:
    result_files(const ngrams_call& call, const context& ctx) : call_(call), ctx_(ctx) {}

    /// Throws as check_output does, and usage_error for an input.
    void check(const std::filesystem::path& path, const output_options& form) const {
        if (path.empty()) return;
        std::vector<std::filesystem::path> inputs = call_.options.inputs;
        inputs.push_back(call_.options.dictionary);
        refuse_harm(path, inputs);
        check_output(path, with_replace(form));
    }
    /// Takes text for a file; nothing without one.
    std::function<void(std::string_view)> open(const std::filesystem::path& path,
                                               const output_options& form) {
        if (path.empty()) return {};
        files_.push_back(std::make_unique<output_file>(path, with_replace(form), ctx_));
        return [file = files_.back().get()](std::string_view text) { file->write(text); };
    }
    void commit() {
        std::vector<output_file*> all;
        for (const auto& file : files_) all.push_back(file.get());
        output_file::commit_together(all);
    }

  private:
    output_options with_replace(output_options form) const {
        form.replace = call_.overwrite;
        return form;
    }

    const ngrams_call& call_;
    const context& ctx_;
    std::vector<std::unique_ptr<output_file>> files_;
};

constexpr output_options arpa_form{.form = ".arpa", .written = "a model in the ARPA format"};

std::unique_ptr<ngram_rows_table> find_ngrams(const nb::object& documents, ngrams_call& call) {
    ngrams_options& options = call.options;
    if (!call.rows && call.output.empty() && options.totals.empty() && options.arpa.empty())
        refuse("rows=False leaves nothing to do (expected totals or arpa)");
    if (!call.rows && !call.output.empty()) refuse("output has no rows with rows=False");
    document_argument given(documents, call);
    auto found = std::make_unique<ngram_rows_table>(options.ngrams);
    found->has_rows = call.rows && call.output.empty();
    row_columns columns;
    run(call.run, [&](const context& ctx, calling_thread& caller) {
        given.read_into(options, caller);
        result_files files(call, ctx);
        files.check(call.output, {});
        files.check(options.totals, {});
        files.check(options.arpa, arpa_form);
        refuse_shared_files(std::array{call.output, options.totals, options.arpa});
        const auto rows_to = files.open(call.output, {});
        options.take_totals = files.open(options.totals, {});
        options.take_arpa = files.open(options.arpa, arpa_form);
        if (rows_to) {
            const auto format = form_of_name(call.output) == ".jsonl" ? row_format::jsonl : row_format::tsv;
            found->made = ngrams_as_text(options, format, ctx, rows_to);
        } else if (call.rows) {
            found->made = ngrams(
                options, ctx, [&](const ngram_row& row) { columns.add(row, options.ngrams.history_counts); });
        } else {
            found->made = ngrams(options, ctx, {});
        }
        files.commit();
    });
    columns.move_to(*found);
    return found;
}

void declare_rows(nb::module_& module) {
    nb::class_<ngram_rows_table, table>(module, "NgramTable", "The rows of `ngrams`: a Table.")
        .def_prop_ro(
            "totals", [](const ngram_rows_table& t) { return ngram_totals_table(t.made.totals); },
            "For each n: occurrences, those with an unknown word, distinct n-grams, rows.")
        .def_prop_ro(
            "result", [](const ngram_rows_table& t) { return ngrams_result_dict(t.made); },
            nb::sig("def result(self) -> dict[str, Any]"),
            "What was read and counted: counts, documents, words, distinct, unknown …, issues, statistics.")
        .def_prop_ro(
            "fingerprint", fingerprint_of, nb::sig("def fingerprint(self) -> str | None"),
            "16 hexadecimal digits: XXH3 of the rows as quern ngrams writes them in TSV. None if the "
            "rows are in a file, or were not made.");
}

/// The counts of a call, as uint64 arrays of one shape.
class count_arrays {
  public:
    explicit count_arrays(const nb::list& given) {
        const nb::module_ numpy = nb::module_::import_("numpy");
        nb::list arrays;
        for (const nb::handle one : given) {
            const nb::object array = numpy.attr("asarray")(one);
            const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
            if (kind != "u" && kind != "i")
                throw nb::type_error("counts are whole numbers, or arrays of them");
            if (kind == "i" && bool_of("counts", array.attr("__lt__")(0).attr("any")()))
                refuse("a count is negative (expected whole numbers from 0)");
            arrays.append(array.attr("astype")("uint64"));
        }
        const nb::object same = numpy.attr("broadcast_arrays")(*arrays);
        shape_ = nb::object(same[0]).attr("shape");
        for (const nb::handle one : nb::borrow<nb::object>(same)) {
            kept_.push_back(nb::cast<nb::ndarray<const std::uint64_t, nb::c_contig>>(
                numpy.attr("ascontiguousarray")(one)));
        }
    }
    std::size_t size() const { return kept_[0].size(); }
    std::uint64_t at(std::size_t array, std::size_t i) const { return kept_[array].data()[i]; }
    nb::object shape() const { return shape_; }

  private:
    std::vector<nb::ndarray<const std::uint64_t, nb::c_contig>> kept_;
    nb::object shape_;
};

struct likelihood_call : call {
    ngram_options options;
};

nb::object likelihoods(const nb::list& counts, const ngram_options& options) {
    const count_arrays given(counts);
    std::vector<double> made(given.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
        made[i] = likelihood_of({.in_document = given.at(0, i),
                                 .history_in_document = given.at(1, i),
                                 .in_collection = given.at(2, i),
                                 .history_in_collection = given.at(3, i),
                                 .followers = given.at(4, i)},
                                options);
    }
    if (nb::len(given.shape()) == 0) return nb::float_(made[0]);
    return nb::cast(array_of(std::move(made))).attr("reshape")(given.shape());
}

void declare_likelihood(nb::module_& module) {
    static parameters<likelihood_call> options("ngram_likelihood");
    options.table<&likelihood_call::options>(
        {"order", "only", "min_count", "counts", "method", "measure", "k1", "b"});
    module.def(
        "ngram_likelihood",
        [](const nb::object& in_document, const nb::object& history_in_document,
           const nb::object& in_collection, const nb::object& history_in_collection,
           const nb::object& followers, const nb::kwargs& given) {
            const likelihood_call call = options.read(given);
            refuse_idle_ngram_options(given, call.options, false);
            validate(call.options);
            nb::list counts;
            for (const nb::object& one :
                 {in_document, history_in_document, in_collection, history_in_collection, followers})
                counts.append(one);
            return likelihoods(counts, call.options);
        },
        nb::arg("in_document"), nb::arg("history_in_document"), nb::arg("in_collection"),
        nb::arg("history_in_collection"), nb::arg("followers") = 0, nb::arg("options"),
        nb::sig(options.signature("in_document: Any, history_in_document: Any, in_collection: Any, "
                                  "history_in_collection: Any, followers: Any = 0",
                                  "Any")),
        options.doc(
            R"(The likelihood that a document generates the last word of an n-gram after the others (Ponte and Croft 1998).

From the counts of the n-gram and of its history, which include only occurrences that another word of the document follows;
`followers`, for absolute discounting only: distinct words after the history in the document. The document need not contain
the n-gram. The same bits as in the rows of `ngrams`.

Whole numbers give a float, arrays an array of float64 of their common shape.

>>> import quern
>>> quern.ngram_likelihood(1, 3, 1, 5)
0.26666666666666666
>>> quern.ngram_likelihood([1, 0], 3, 1, 5, smoothing="dirichlet", mu=10).round(6).tolist()
[0.230769, 0.153846])"));
}

}  // namespace

void declare_ngrams(nb::module_& module) {
    declare_rows(module);
    declare_likelihood(module);
    static parameters<ngrams_call> options("ngrams");
    options.table<&ngrams_call::options, &ngrams_options::ngrams>();
    add_ngram_words(options);
    const char* const path = "str | os.PathLike[str] | None";
    options.add(
        {"totals", path, "None", "Write the counts of the collection to this file: words, tab, count."},
        [](ngrams_call& r, nb::handle given) { r.options.totals = text_of("totals", given); });
    options.add({"arpa", path, "None",
                 "Write a back-off language model of the collection in the ARPA format to this file."},
                [](ngrams_call& r, nb::handle given) { r.options.arpa = text_of("arpa", given); });
    options.add(
        {"output", path, "None",
         "Write the rows to this file instead of returning them: TSV, or JSON lines if its name ends in "
         ".jsonl; .gz and .zst compress."},
        [](ngrams_call& r, nb::handle given) { r.output = text_of("output", given); });
    options.add({"rows", "bool", "True", "False: make only the files."},
                [](ngrams_call& r, nb::handle given) { r.rows = bool_of("rows", given); });
    options.add({"overwrite", "bool", "False", "Replace existing files."},
                [](ngrams_call& r, nb::handle given) { r.overwrite = bool_of("overwrite", given); });
    add_corpus(options).common();
    module.def(
        "ngrams",
        [](const nb::object& documents, const nb::kwargs& given) {
            ngrams_call call = options.read(given);
            choose_ngram_text(call, given);
            refuse_idle_ngram_options(given, call.options.ngrams, !call.options.arpa.empty());
            return find_ngrams(documents, call);
        },
        nb::arg("documents").none(), nb::arg("options"),
        nb::sig(options.signature("documents: object", "NgramTable")),
        options.doc(R"text(Every n-gram of every document, with its counts and its likelihood.

Returns a table of doc, n, words, f(d) and f(C) (occurrences in the document and in the collection), P (how likely the
document generates the last word after the others; the weight with measure='bm25'); with counts=True also h(d) and h(C),
those of the history: all words but the last, where a word of the same document follows. Sorted by document, then n, then
words, compared one after the other by bytes.

`documents`: as for `dedup`. The rows are the same for any number of threads, memory budget, device and method.

>>> import quern
>>> rows = quern.ngrams(["the mill grinds the corn", "the sea"], order=2)
>>> rows[0]["words"], rows[0]["f(d)"], rows[0]["f(C)"]
('corn', 1, 1)

Raises UsageError (options, missing inputs, existing files, a dictionary with other text options), InvalidInput, OutOfMemory,
DeviceError, DamagedStore, StorageError. Cost: one pass over the documents; a row takes some 60 bytes in the result.)text"));
}

}  // namespace quern::python
