// SPDX-License-Identifier: Apache-2.0
#include "store.hpp"

#include <nanobind/stl/string.h>

#include <map>
#include <utility>

#include "errors.hpp"
#include "fingerprint.hpp"
#include "hits.hpp"
#include "module.hpp"
#include "parameters.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/shards.hpp"
#include "quern/tasks/store.hpp"
#include "run.hpp"
#include "store_methods.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

std::string fingerprint_of_info(const store_info& info) {
    return fingerprint_of_rows({"property", "value"}, [&](row_writer& rows) {
        for (const auto& [name, value] : properties_of(info)) {
            if (const auto* const text = std::get_if<std::string>(&value))
                rows.row({std::string_view(name), std::string_view(*text)});
            else
                rows.row({std::string_view(name), std::get<std::uint64_t>(value)});
        }
    });
}

/// Of a sharded store: what tells its shards.
std::string fingerprint_of_shards(const std::filesystem::path& path) {
    return fingerprint_of_rows({"documents", "checksum"}, [&](row_writer& rows) {
        for (const shard_info& shard : read_shards(path).shards) rows.row({shard.documents, shard.checksum});
    });
}

std::string fingerprint_at(const std::filesystem::path& path) {
    return is_sharded_store(path) ? fingerprint_of_shards(path) : fingerprint_of_info(read_store_info(path));
}

}  // namespace

opened_folder::opened_folder(const std::filesystem::path& path, const context& ctx)
    : engine_(search_engine::open(path, ctx)),
      path_(std::filesystem::absolute(path).lexically_normal()),
      fingerprint_(engine_.is_sharded() ? fingerprint_of_shards(path_)
                                        : fingerprint_of_info(engine_.store())) {}

const ngram_counter& opened_folder::counter(const context& ctx) const {
    const std::lock_guard held(lock_);
    if (!counter_) {
        auto opened = ngram_counter::open(path_, ctx);
        check_unchanged();
        counter_.emplace(std::move(opened));
    }
    return *counter_;
}

void opened_folder::check_unchanged() const {
    if (fingerprint_at(path_) != fingerprint_) {
        throw usage_error(
            path_.string() +
            " is another store by now: it was replaced or updated since it was opened; open it again");
    }
}

const parameters<call>& common_parameters(const char* function) {
    static std::map<std::string, parameters<call>> made;
    const auto at = made.find(function);
    if (at != made.end()) return at->second;
    return made.emplace(function, parameters<call>(function).common()).first->second;
}

std::uint32_t number_of_id(const opened_folder& of, std::string_view id, const char* what) {
    if (const auto number = of.engine().find(id)) return *number;
    const auto near = of.engine().near_id(id);
    refuse(std::string(what) + of.path().filename().string() + " has no document '" + std::string(id) + "'" +
           (near ? "; did you mean '" + std::string(*near) + "'?" : ""));
}

namespace {

// ---- Documents ----

nb::object document(const store& self, nb::handle id) {
    std::uint32_t number = 0;
    stored_document found;
    std::string wanted;
    if (nb::isinstance<nb::str>(id)) {
        wanted = text_argument("id", id);
    } else {
        const auto documents = self->engine().documents();
        if (documents == 0) throw nb::index_error("the store has no documents");
        number = static_cast<std::uint32_t>(whole_of("document", id, 0, documents - 1));
    }
    {
        const nb::gil_scoped_release released;
        if (!wanted.empty()) number = number_of_id(*self, wanted, "");
        found = self->engine().document(number);
    }
    return nb::module_::import_("quern._store")
        .attr("Document")(
            number, text_object(found.id), text_object(found.title), text_object(found.text), found.words,
            found.fields.empty() ? nb::object(nb::dict())
                                 : nb::module_::import_("json").attr("loads")(text_object(found.fields)));
}

/// The ids of a store's documents, made when they are read.
struct id_list {
    store of;
};

nb::object id_at(const id_list& ids, std::int64_t at) {
    const auto size = static_cast<std::int64_t>(ids.of->engine().documents());
    if (at < 0) at += size;
    if (at < 0 || at >= size) throw nb::index_error("document out of range");
    return text_object(ids.of->engine().id(static_cast<std::uint32_t>(at)));
}

// ---- The store itself ----

nb::dict info_of(const store& self) {
    nb::dict info;
    for (const auto& [name, value] : properties_of(self->engine().store())) {
        if (const auto* const text = std::get_if<std::string>(&value))
            info[name.c_str()] = *text;
        else
            info[name.c_str()] = std::get<std::uint64_t>(value);
    }
    return info;
}

nb::dict text_options_of(const store& self) {
    nb::dict options;
    const text_options& text = self->engine().text();
    options["language"] = text.language;
    options["tokens"] = std::string(token_rule_names[static_cast<std::size_t>(text.tokens)]);
    options["min_length"] = text.min_length;
    options["stop_words"] = text.stop_words;
    options["stem"] = std::string(stemmer_names[static_cast<std::size_t>(text.stem)]);
    options["fold"] = std::string(folding_names[static_cast<std::size_t>(text.fold)]);
    return options;
}

/// Of a pickle: the store at the path must still be the same.
store reopened(const std::string& path, const std::string& fingerprint) {
    store again = open_store(path, {});
    if (again->fingerprint() != fingerprint) {
        refuse(path + " is another store by now: it was replaced or updated after the pickle was made");
    }
    return again;
}

}  // namespace

store open_store(const std::filesystem::path& path, const run_options& options) {
    return store(run_for(
        options, [&](const context& ctx) { return std::make_shared<const opened_folder>(path, ctx); }));
}

void declare_store(nb::module_& module) {
    declare_hits(module);
    nb::class_<id_list>(module, "Ids",
                        "The ids of a store's documents, in the order of the collection: a sequence of str.")
        .def("__len__", [](const id_list& ids) { return ids.of->engine().documents(); })
        .def(
            "__getitem__",
            [](const id_list& ids, nb::handle key) -> nb::object {
                if (!PySlice_Check(key.ptr())) return id_at(ids, nb::cast<std::int64_t>(key));
                nb::list some;
                const nb::object range = nb::module_::import_("builtins")
                                             .attr("range")(ids.of->engine().documents())
                                             .attr("__getitem__")(key);
                for (const nb::handle at : range) some.append(id_at(ids, nb::cast<std::int64_t>(at)));
                return some;
            },
            nb::sig("def __getitem__(self, key: int | slice, /) -> Any"))
        .def(
            "__iter__",
            [](nb::handle self) { return nb::module_::import_("quern._store").attr("each")(self); },
            nb::sig("def __iter__(self) -> Iterator[str]"))
        .def(
            "__contains__",
            [](const id_list& ids, nb::handle id) {
                return nb::isinstance<nb::str>(id) &&
                       ids.of->engine().find(text_argument("id", id)).has_value();
            },
            nb::sig("def __contains__(self, id: object, /) -> bool"))
        .def(
            "index",
            [](const id_list& ids, nb::handle id) {
                return number_of_id(*ids.of, text_argument("id", id), "");
            },
            nb::arg("id"), nb::sig("def index(self, id: str) -> int"),
            "The number of the document with this id. The first call makes a table of 6 bytes per document.")
        .def(
            "__repr__",
            [](const id_list& ids) {
                return nb::module_::import_("quern._display")
                    .attr("ids_text")(nb::cast(ids, nb::rv_policy::copy));
            },
            nb::sig("def __repr__(self) -> str"));

    nb::class_<store> made(
        module, "Store",
        R"(A store opened for search: a snapshot, which later changes on disk do not affect.

Made by `quern.open` and `quern.build`. Thread-safe; searches release the interpreter's lock. A pickle holds the absolute
path and the fingerprint, and opens the store again; it fails if the store has changed.)");
    refuse_constructor(made, "a store is opened by quern.open, and made by quern.build");
    declare_searches(made);
    made.def("document", document, nb::arg("id"), nb::sig("def document(self, id: str | int) -> Document"),
             "A document by its id, or by its number from 0: number, id, title, text, words.\n\n"
             "Raises UsageError, with a similar id if there is one, for an unknown id.")
        .def(
            "__contains__",
            [](const store& self, nb::handle id) {
                return nb::isinstance<nb::str>(id) &&
                       self->engine().find(text_argument("id", id)).has_value();
            },
            nb::sig("def __contains__(self, id: object, /) -> bool"),
            "Whether there is a document with this id.")
        .def_prop_ro(
            "ids", [](const store& self) { return id_list{self}; }, nb::sig("def ids(self) -> Ids"),
            "The ids of all documents.");
    declare_words(made);
    made.def(
            "verify",
            [](const store& self, const nb::kwargs& given) {
                const call requested = common_parameters("verify").read(given);
                return run_for(requested.run,
                               [&](const context& ctx) { return verify_store(self->path(), ctx); });
            },
            nb::arg("kwargs"), nb::sig(common_parameters("verify").signature("self", "int")),
            common_parameters("verify").doc("Reads every byte of the folder and checks every checksum; "
                                            "returns the bytes read.\n\nRaises DamagedStore "
                                            "with the section."))
        .def_prop_ro(
            "documents", [](const store& self) { return self->engine().documents(); }, "Number of documents.")
        .def("__len__", [](const store& self) { return self->engine().documents(); })
        .def_prop_ro(
            "vocabulary", [](const store& self) { return self->engine().vocabulary(); },
            "Number of distinct words.")
        .def_prop_ro(
            "path", [](const store& self) { return text_object(self->path().string()); },
            nb::sig("def path(self) -> str"), "Absolute path of the folder.")
        .def_prop_ro(
            "models",
            [](const store& self) {
                nb::list names;
                for (std::size_t i = 0; i < std::size(ranking_model_names); ++i)
                    if (self->engine().ranks_by(static_cast<ranking_model>(i)))
                        names.append(text_object(ranking_model_names[i]));
                return names;
            },
            nb::sig("def models(self) -> list[str]"),
            "The ranking models of its searches, the usual one first: 'impact' alone for a store of weights, "
            "else 'bm25' and the others.")
        .def_prop_ro("info", info_of, nb::sig("def info(self) -> dict[str, str | int]"),
                     "The properties that `quern info` writes: versions, text options, counts, sections with "
                     "checksums.")
        .def_prop_ro("text_options", text_options_of,
                     nb::sig("def text_options(self) -> dict[str, str | int]"),
                     "How text becomes words, in documents and queries.")
        .def_prop_ro(
            "fingerprint", [](const store& self) { return self->fingerprint(); },
            "XXH3-64 of what `quern info STORE --format tsv` writes: equal stores have equal fingerprints.")
        .def(
            "__reduce__",
            [](const store& self) {
                return nb::make_tuple(
                    nb::module_::import_("quern._store").attr("reopened"),
                    nb::make_tuple(text_object(self->path().string()), self->fingerprint()));
            },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def(
            "__eq__",
            [](const store& self, nb::handle other) -> nb::object {
                const store* with = nullptr;
                if (!nb::try_cast(other, with) || with == nullptr) return nb::borrow(Py_NotImplemented);
                return nb::bool_(self->fingerprint() == (*with)->fingerprint());
            },
            nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__", [](const store& self) { return nb::hash(nb::cast(self->fingerprint())); })
        .def(
            "__repr__",
            [](nb::handle self) { return nb::module_::import_("quern._display").attr("store_text")(self); },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle self) { return nb::module_::import_("quern._display").attr("store_html")(self); },
            nb::sig("def _repr_html_(self) -> str"));

    module.def("_reopened", [](nb::handle path, const std::string& fingerprint) {
        return reopened(text_argument("path", path), fingerprint);
    });
    module.def("_fingerprint_of_counts", [](const nb::list& documents, const nb::list& counts) {
        return fingerprint_of_rows({"doc", "count"}, [&](row_writer& rows) {
            for (std::size_t row = 0; row < nb::len(documents); ++row) {
                const std::string id = text_argument("a document", documents[row]);
                rows.row({std::string_view(id), nb::cast<std::uint64_t>(counts[row])});
            }
        });
    });
    static const parameters<call> open_parameters = parameters<call>("open").common();
    module.def(
        "open",
        [](const nb::object& path, const nb::kwargs& given) {
            const call requested = open_parameters.read(given);
            return open_store(text_of("path", path), requested.run);
        },
        nb::arg("path"), nb::arg("kwargs"),
        nb::sig(open_parameters.signature("path: str | os.PathLike[str]", "Store")),
        open_parameters.doc("Opens a store that `quern.build` or `quern build` wrote. `memory` limits what "
                            "its queries use: a quarter of it "
                            "each.\n\nRaises UsageError if the path is not a store, and DamagedStore, which "
                            "names the section. "
                            "Cost: a few milliseconds; pages "
                            "are read from disk when they are used."));
}

}  // namespace quern::python
