// SPDX-License-Identifier: Apache-2.0
// Dictionaries: words and their ids.
#include "quern/tasks/dictionary.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <optional>

#include "documents.hpp"
#include "errors.hpp"
#include "module.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/tasks/dictionary_option_table.hpp"
#include "quern/tasks/output_file.hpp"
#include "quern/tasks/output_harm.hpp"
#include "reopened.hpp"
#include "result.hpp"
#include "texts.hpp"
#include "unknown_word.hpp"
#include "word_arguments.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct dictionary_call : corpus_call {
    dictionary_options options;
};

struct opened_dictionary {
    std::filesystem::path path;  ///< absolute
    word_dictionary words;
    std::optional<dictionary_result> made;
};

std::unique_ptr<opened_dictionary> open_dictionary(const std::filesystem::path& path) {
    auto words = word_dictionary::open(path);
    return std::make_unique<opened_dictionary>(
        opened_dictionary{std::filesystem::absolute(path), std::move(words), {}});
}

void check_file(const std::filesystem::path& file, bool replace,
                std::span<const std::filesystem::path> inputs) {
    if (is_compressed_name(file))
        refuse(file.string() + ": a dictionary cannot be compressed; it is memory-mapped");
    refuse_harm(file, inputs);
    check_output(file, {.replace = replace, .form = ".bin", .written = "a dictionary in its own format"});
}

std::unique_ptr<opened_dictionary> build_dictionary(const nb::object& documents, const nb::object& path,
                                                    dictionary_call& call) {
    call.options.file = text_of("path", path);
    document_argument given(documents, call);
    dictionary_result made;
    run(call.run, [&](const context& ctx, calling_thread& caller) {
        given.read_into(call.options, caller);
        check_file(call.options.file, call.options.force, call.options.inputs);
        made = make_dictionary(call.options, ctx);
    });
    auto opened = open_dictionary(call.options.file);
    opened->made = std::move(made);
    return opened;
}

std::uint32_t id_of(const opened_dictionary& d, nb::handle word) {
    const std::string_view text = word_of("word", word);
    if (const auto id = d.words.find(text)) return *id;
    raise_unknown_word("'" + std::string(text) + "' is not in the dictionary", text);
}

nb::object ids_of(const opened_dictionary& d, nb::handle given) {
    const word_arguments words("words", given);
    std::vector<std::uint32_t> ids(words.words().size());
    {
        const nb::gil_scoped_release released;
        constexpr std::size_t enough_for_threads = 1 << 16;
        d.words.find(words.words(), ids, context::cpu(ids.size() < enough_for_threads ? 1 : 0));
    }
    return nb::cast(array_of(std::move(ids)));
}

std::uint32_t checked_id(const opened_dictionary& d, std::int64_t id) {
    if (id < 0 || id >= std::int64_t{d.words.size()}) {
        throw nb::index_error(("id " + std::to_string(id) + " is out of range (expected 0 to " +
                               std::to_string(std::int64_t{d.words.size()} - 1) + ")")
                                  .c_str());
    }
    return static_cast<std::uint32_t>(id);
}

nb::list words_of(const opened_dictionary& d, nb::handle ids) {
    nb::list words;
    if (ids.is_none()) {
        for (std::uint32_t id = 0; id < d.words.size(); ++id) words.append(text_object(d.words.word(id)));
        return words;
    }
    for (const nb::handle one : nb::borrow<nb::object>(ids)) {
        const nb::object index = nb::steal(PyNumber_Index(one.ptr()));
        if (!index.is_valid()) throw nb::python_error();
        words.append(text_object(d.words.word(checked_id(d, nb::cast<std::int64_t>(index)))));
    }
    return words;
}

nb::object frequencies_of(const opened_dictionary& d) {
    std::vector<std::uint64_t> counts(d.words.size());
    {
        const nb::gil_scoped_release released;
        for (std::uint32_t id = 0; id < d.words.size(); ++id) counts[id] = d.words.count(id);
    }
    return nb::cast(array_of(std::move(counts)));
}

nb::dict info_dict(const dictionary_info& info) {
    nb::dict text;
    for (const option<text_options>& row : options_of<text_options>)
        text[std::string(row.name).c_str()] = value_text(row, row.get(info.text));
    nb::dict made;
    made["format_version"] = info.format_version;
    made["unicode_version"] = info.unicode_version;
    made["text"] = text;
    made["verbatim"] = info.verbatim;
    made["titles"] = info.titles;
    made["min_count"] = info.min_count;
    made["documents"] = info.documents;
    made["occurrences"] = info.occurrences;
    made["occurrences_of_words"] = info.kept;
    made["distinct"] = info.distinct;
    made["words"] = info.words;
    made["word_bytes"] = info.word_bytes;
    made["file_bytes"] = info.file_bytes;
    made["checksum"] = hexadecimal(info.checksum);
    return made;
}

nb::object build_result_of(const opened_dictionary& d) {
    if (!d.made) return nb::none();
    nb::dict made;
    made["counts"] = counts_dict(d.made->counts);
    made["runs"] = d.made->runs;
    made["issues"] = issues_table(d.made->issues);
    made["statistics"] = statistics_dict(d.made->statistics);
    return made;
}

nb::object range_of(std::uint32_t first, std::uint32_t last) {
    return nb::module_::import_("builtins").attr("range")(first, last);
}

void declare_look_ups(nb::class_<opened_dictionary>& of) {
    of.def("__getitem__", id_of, nb::arg("word"), nb::sig("def __getitem__(self, word: str, /) -> int"),
           "The id of a word. Raises UnknownWord, a KeyError.")
        .def(
            "get",
            [](const opened_dictionary& d, nb::handle word, const nb::object& otherwise) -> nb::object {
                const auto id = d.words.find(word_of("word", word));
                return id ? nb::cast(*id) : otherwise;
            },
            nb::arg("word"), nb::arg("default") = nb::none(),
            nb::sig("def get(self, word: str, default: Any = None) -> Any"),
            "The id of a word, or `default`.")
        .def(
            "__contains__",
            [](const opened_dictionary& d, nb::handle word) {
                return nb::isinstance<nb::str>(word) && d.words.find(word_of("word", word)).has_value();
            },
            nb::arg("word"), nb::sig("def __contains__(self, word: object, /) -> bool"))
        .def("__len__", [](const opened_dictionary& d) { return d.words.size(); })
        .def(
            "__iter__",
            [](nb::handle_t<opened_dictionary> self) {
                const auto* const d = nb::inst_ptr<opened_dictionary>(self);
                return nb::module_::import_("builtins")
                    .attr("map")(self.attr("word"), range_of(0, d->words.size()));
            },
            nb::sig("def __iter__(self) -> Iterator[str]"), "The words by id, that is by their bytes.")
        .def(
            "word",
            [](const opened_dictionary& d, std::int64_t id) {
                return text_object(d.words.word(checked_id(d, id)));
            },
            nb::arg("id"), nb::sig("def word(self, id: int) -> str"),
            "The word with an id. Raises IndexError.")
        .def("words", words_of, nb::arg("ids") = nb::none(),
             nb::sig("def words(self, ids: Iterable[int] | None = None) -> list[str]"),
             "The words with these ids, or all words by id.")
        .def("ids", ids_of, nb::arg("words"),
             nb::sig("def ids(self, words: object) -> NDArray[numpy.uint32]"),
             "The ids of many words, uint32. An unknown word or None gets len(self), which no word has. "
             "Several "
             "times as fast as one by one. `words`: an iterable of str, or a column of pyarrow, polars, "
             "pandas or DuckDB.")
        .def(
            "prefix",
            [](const opened_dictionary& d, nb::handle prefix) {
                const auto [first, last] = d.words.with_prefix(word_of("prefix", prefix));
                return range_of(first, last);
            },
            nb::arg("prefix"), nb::sig("def prefix(self, prefix: str) -> range"),
            "The ids of the words that begin with `prefix`: they are consecutive. "
            "`dictionary.words(dictionary.prefix(\"ab\"))` are the words.")
        .def(
            "frequency",
            [](const opened_dictionary& d, nb::handle word) { return d.words.count(id_of(d, word)); },
            nb::arg("word"), nb::sig("def frequency(self, word: str) -> int"),
            "How often a word occurs in the corpus. Raises UnknownWord.")
        .def_prop_ro("frequencies", frequencies_of, nb::sig("def frequencies(self) -> NDArray[numpy.uint64]"),
                     "How often each word occurs, by id: uint64.");
}

void declare_file(nb::class_<opened_dictionary>& of) {
    static const parameters<call> verify_options = parameters<call>("verify").common();
    of.def(
          "verify",
          [](const opened_dictionary& d, const nb::kwargs& given) {
              const call requested = verify_options.read(given);
              return run_for(requested.run,
                             [&](const context& ctx) { return verify_dictionary(d.path, ctx); });
          },
          nb::arg("options"), nb::sig(verify_options.signature("self", "int")),
          verify_options.doc("Reads every byte and checks every checksum; returns the bytes read. Raises "
                             "DamagedStore."))
        .def_prop_ro(
            "info", [](const opened_dictionary& d) { return info_dict(d.words.info()); },
            nb::sig("def info(self) -> dict[str, Any]"), "As quern info shows it.")
        .def_prop_ro("build_result", build_result_of,
                     nb::sig("def build_result(self) -> dict[str, Any] | None"),
                     "Of `build`: counts of documents, issues, statistics. None if it was opened.")
        .def_prop_ro(
            "path", [](const opened_dictionary& d) { return text_object(d.path.string()); },
            nb::sig("def path(self) -> str"), "The absolute path.")
        .def(
            "__fspath__", [](const opened_dictionary& d) { return text_object(d.path.string()); },
            nb::sig("def __fspath__(self) -> str"))
        .def_prop_ro(
            "fingerprint",
            [](const opened_dictionary& d) {
                const nb::gil_scoped_release released;
                return fingerprint_of_file(d.path);
            },
            "16 hexadecimal digits: XXH3 of the file's bytes.")
        .def(
            "__repr__",
            [](const opened_dictionary& d) {
                return nb::str("Dictionary({!r}, words={})")
                    .attr("format")(text_object(d.path.string()), d.words.size());
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle_t<opened_dictionary> self) {
                return nb::module_::import_("quern._display").attr("dictionary_html")(self);
            },
            nb::sig("def _repr_html_(self) -> str"))
        .def(
            "__reduce__",
            [](const opened_dictionary& d) {
                return nb::make_tuple(
                    nb::module_::import_("quern._reopen").attr("dictionary"),
                    nb::make_tuple(text_object(d.path.string()), hexadecimal(d.words.info().checksum)));
            },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def_static(
            "_reopen",
            [](nb::handle given, const std::string& checksum) {
                const std::string path = text_argument("path", given);
                auto opened = open_dictionary(path);
                check_unchanged(path, hexadecimal(opened->words.info().checksum), checksum);
                return opened;
            },
            nb::arg("path"), nb::arg("checksum"));
}

}  // namespace

void declare_dictionary(nb::module_& module) {
    static parameters<dictionary_call> options("build");
    options.table<&dictionary_call::options>().table<&dictionary_call::options, &dictionary_options::text>();
    options.add({"overwrite", "bool", "False", "Replace an existing file, in one step."},
                [](dictionary_call& r, nb::handle given) { r.options.force = bool_of("overwrite", given); });
    add_corpus(options).common();

    nb::class_<opened_dictionary> of(module, "Dictionary",
                                     R"(The words of a corpus with their ids, in a memory-mapped file.

An id is the rank of a word in the order of the bytes, from 0. Words are in the form of the text options, so of most
corpora in lower case; look-ups take them as they are.

>>> import quern, tempfile
>>> path = tempfile.mkdtemp() + "/mill.dictionary"
>>> words = quern.Dictionary.build(["The mill grinds the corn.", "Millers sell corn."], path)
>>> len(words), words["corn"], words.word(0), words.frequency("corn")
(6, 0, 'corn', 2)
>>> words.ids(["mill", "sea", "the"]).tolist()
[2, 6, 5]
>>> words.words(words.prefix("mill"))
['mill', 'millers']

Threads may share a dictionary. A pickle has its path and checksum.)");
    refuse_constructor(of, "a dictionary is opened by Dictionary.open, and made by Dictionary.build");
    of.def_static(
          "build",
          [](const nb::object& documents, const nb::object& path, const nb::kwargs& given) {
              dictionary_call call = options.read(given);
              return build_dictionary(documents, path, call);
          },
          nb::arg("documents").none(), nb::arg("path"), nb::arg("options"),
          nb::sig(options.signature("documents: object, path: str | os.PathLike[str]", "Dictionary")),
          options.doc(
              "Writes the dictionary of a corpus, as quern dictionary does, and opens it.\n\n"
              "`documents`: as for `dedup`. `path`: the file; it appears whole or not at all. Runs on "
              "the CPU. Raises UsageError (options, missing inputs, an existing file), InvalidInput, "
              "OutOfMemory, StorageError. Cost: one pass over the documents."))
        .def_static(
            "open", [](const nb::object& path) { return open_dictionary(text_of("path", path)); },
            nb::arg("path"), nb::sig("def open(path: str | os.PathLike[str]) -> Dictionary"),
            "Opens a dictionary. Raises UsageError if the file is not a dictionary, and DamagedStore.");
    declare_look_ups(of);
    declare_file(of);
}

}  // namespace quern::python
