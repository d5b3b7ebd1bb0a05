// SPDX-License-Identifier: Apache-2.0
#include "hits.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "fingerprint.hpp"
#include "quern/base/rows.hpp"
#include "table.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {

const std::vector<std::string>& found::marked_words() const {
    std::call_once(once_, [this] {
        words_ = (*opened)->engine().words_of(query, result.syntax);
        words_.insert(words_.end(), result.variant_words.begin(), result.variant_words.end());
        for (const similar_word& similar : result.similar_words) words_.push_back(similar.word);
        std::ranges::sort(words_);
    });
    return words_;
}

namespace {

/// Pairs of positions in characters.
nb::tuple marks_in(const found& of, std::string_view text) {
    std::vector<text_match> matches;
    {
        const nb::gil_scoped_release released;
        const auto& words = of.marked_words();
        if (!words.empty()) matches = (*of.opened)->engine().matches(text, words);
    }
    nb::list pairs;
    std::size_t at = 0, characters = 0;
    const auto position = [&](std::size_t bytes) {
        for (; at < bytes; ++at) characters += (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
        return characters;
    };
    for (const text_match& match : matches) {
        const std::size_t begin = position(match.begin);
        pairs.append(nb::make_tuple(begin, position(match.end)));
    }
    return nb::tuple(pairs);
}

/// A str that can mark the words of the query in itself.
nb::object marked_text(nb::handle hit, std::string_view text, const char* which) {
    return nb::module_::import_("quern._store")
        .attr("MarkedText")(text_object(text), nb::borrow<nb::object>(hit), which);
}

nb::object item(const hits& self, nb::handle key) {
    const auto size = static_cast<std::int64_t>(self.of->result.hits.size());
    if (PySlice_Check(key.ptr())) {
        nb::list some;
        const nb::object range =
            nb::module_::import_("builtins").attr("range")(size).attr("__getitem__")(key);
        for (const nb::handle at : range) some.append(nb::cast(hit{self.of, nb::cast<std::size_t>(at)}));
        return some;
    }
    const nb::object index = nb::steal(PyNumber_Index(key.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    auto at = nb::cast<std::int64_t>(index);
    if (at < 0) at += size;
    if (at < 0 || at >= size) throw nb::index_error("hit out of range");
    return nb::cast(hit{self.of, static_cast<std::size_t>(at)});
}

nb::list duplicates_of(const search_hit& of) {
    nb::list all;
    for (const duplicate_hit& duplicate : of.duplicates) {
        nb::dict one;
        one["id"] = text_object(duplicate.id);
        one["title"] = text_object(duplicate.title);
        one["distance"] = duplicate.distance;
        all.append(one);
    }
    return all;
}

nb::object explanation_of(const hit& self) {
    if (!self.of->explained) return nb::none();
    return nb::module_::import_("json").attr("loads")(text_object(explanation_json(*self)));
}

nb::object fields_of(const hit& self) {
    if (self->fields.empty()) return nb::dict();
    return nb::module_::import_("json").attr("loads")(text_object(self->fields));
}

nb::dict dict_of(const hit& self) {
    nb::dict fields;
    fields["rank"] = self->rank;
    fields["id"] = text_object(self->id);
    fields["score"] = self->score;
    fields["title"] = text_object(self->title);
    fields["snippet"] = text_object(self->snippet);
    fields["words"] = self->words;
    fields["duplicates"] = duplicates_of(*self);
    fields["duplicate_count"] = self->duplicate_count;
    if (!self->fields.empty()) fields["fields"] = fields_of(self);
    if (self.of->explained) fields["explanation"] = explanation_of(self);
    return fields;
}

table table_of(const hits& self) {
    number_column<std::uint32_t> ranks, words;
    text_column ids, titles, snippets, explanations;
    number_column<double> scores;
    number_column<std::uint64_t> duplicates;
    for (const search_hit& of : self.of->result.hits) {
        ranks.push_back(of.rank);
        ids.add(of.id);
        scores.push_back(of.score);
        titles.add(of.title);
        snippets.add(of.snippet);
        words.push_back(of.words);
        duplicates.push_back(of.duplicate_count);
        if (self.of->explained) explanations.add(explanation_json(of));
    }
    table rows("hits");
    rows.add("rank", std::move(ranks))
        .add("id", std::move(ids))
        .add("score", std::move(scores))
        .add("title", std::move(titles))
        .add("snippet", std::move(snippets))
        .add("words", std::move(words))
        .add("duplicate_count", std::move(duplicates));
    if (self.of->explained) rows.add("explanation", std::move(explanations));
    return rows;
}

std::string fingerprint_of_hits(const hits& self) {
    const nb::gil_scoped_release released;
    std::vector<std::string> columns{"rank", "id", "score", "title", "snippet"};
    if (self.of->explained) columns.emplace_back("explanation");
    return fingerprint_of_rows(columns, [&](row_writer& rows) {
        std::vector<cell> cells;
        for (const search_hit& of : self.of->result.hits) {
            cells = {std::uint64_t{of.rank}, of.id, of.score, of.title, std::string_view(of.snippet)};
            std::string explanation;
            if (self.of->explained) cells.emplace_back(raw_json{explanation = explanation_json(of)});
            rows.row(cells);
        }
    });
}

nb::list texts(const std::vector<std::string>& of) {
    nb::list all;
    for (const std::string& text : of) all.append(text_object(text));
    return all;
}

}  // namespace

void declare_hits(nb::module_& module) {
    nb::class_<hit>(
        module, "Hit",
        "A document that a search found: attributes, and the same as a mapping, hit[\"id\"], so that "
        "pandas.DataFrame(hits) has a column for each.")
        .def_prop_ro(
            "rank", [](const hit& self) { return self->rank; }, "Position in the ranking, from 1.")
        .def_prop_ro(
            "id", [](const hit& self) { return text_object(self->id); }, nb::sig("def id(self) -> str"),
            "Its id; `Store.document` returns its text.")
        .def_prop_ro(
            "document", [](const hit& self) { return self->document; },
            "Number of the document in the store, from 0.")
        .def_prop_ro(
            "score", [](const hit& self) { return self->score; }, "Exact, a multiple of 2**-32.")
        .def_prop_ro(
            "title",
            [](nb::handle self) { return marked_text(self, nb::cast<const hit&>(self)->title, "title"); },
            nb::sig("def title(self) -> MarkedText"), "A str, whose `mark` marks the words of the query.")
        .def_prop_ro(
            "snippet",
            [](nb::handle self) { return marked_text(self, nb::cast<const hit&>(self)->snippet, "snippet"); },
            nb::sig("def snippet(self) -> MarkedText"),
            "The best matching passage: a str, whose `mark(\"<b>\", \"</b>\")` marks the words of the query.")
        .def_prop_ro(
            "words", [](const hit& self) { return self->words; },
            "Number of words of the document, including the title.")
        .def_prop_ro(
            "duplicates", [](const hit& self) { return duplicates_of(*self); },
            nb::sig("def duplicates(self) -> list[dict[str, Any]]"),
            "Near-duplicates that the build excluded, at most 10: id, title, distance (an edit distance in "
            "bytes).")
        .def_prop_ro(
            "duplicate_count", [](const hit& self) { return self->duplicate_count; },
            "Number of all its near-duplicates.")
        .def_prop_ro("fields", fields_of, nb::sig("def fields(self) -> dict[str, Any]"),
                     "The fields that `build(…, keep_fields=…)` kept of its record.")
        .def_prop_ro("explanation", explanation_of,
                     nb::sig("def explanation(self) -> list[dict[str, Any]] | None"),
                     "With explain=True: what each word of the query contributes; the contributions add up "
                     "exactly to the "
                     "score.")
        .def("to_dict", dict_of, nb::sig("def to_dict(self) -> dict[str, Any]"), "All of these by name.")
        .def(
            "keys", [](const hit& self) { return nb::list(dict_of(self).keys()); },
            nb::sig("def keys(self) -> list[str]"), "The names of to_dict(): dict(hit) is the same.")
        .def(
            "__getitem__",
            [](const hit& self, nb::handle name) { return nb::borrow<nb::object>(dict_of(self)[name]); },
            nb::arg("name"), nb::sig("def __getitem__(self, name: str, /) -> Any"))
        .def(
            "__iter__", [](const hit& self) { return nb::iter(dict_of(self)); },
            nb::sig("def __iter__(self) -> Iterator[str]"))
        .def(
            "__len__", [](const hit& self) { return nb::len(dict_of(self)); },
            nb::sig("def __len__(self) -> int"))
        .def(
            "__reduce__",
            [](const hit& self) {
                return nb::make_tuple(nb::module_::import_("operator").attr("getitem"),
                                      nb::make_tuple(nb::cast(hits{self.of}), self.at));
            },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def("_marks",
             [](const hit& self, const std::string& which) {
                 return marks_in(*self.of, which == "title" ? self->title : std::string_view(self->snippet));
             })
        .def(
            "__repr__",
            [](nb::handle self) { return nb::module_::import_("quern._display").attr("hit_text")(self); },
            nb::sig("def __repr__(self) -> str"));

    nb::class_<hits>(module, "Hits", R"(The hits of a search, best first: a sequence of `Hit`.

pandas, polars and pyarrow read it as a table: `polars.DataFrame(hits)`.)")
        .def("__len__", [](const hits& self) { return self.of->result.hits.size(); })
        .def("__getitem__", item, nb::arg("key"),
             nb::sig("def __getitem__(self, key: int | slice, /) -> Any"))
        .def(
            "__iter__",
            [](nb::handle self) { return nb::module_::import_("quern._store").attr("each")(self); },
            nb::sig("def __iter__(self) -> Iterator[Hit]"))
        .def(
            "__reduce__",
            [](const hits& self) {
                const found& of = *self.of;
                const nb::object id = of.given_id.is_valid() ? of.given_id : nb::none();
                return nb::make_tuple(nb::module_::import_("quern._store").attr("searched_again"),
                                      nb::make_tuple(*of.opened, of.given_query, id, of.arguments));
            },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def(
            "__eq__",
            [](const hits& self, nb::handle other) -> nb::object {
                const hits* with = nullptr;
                if (!nb::try_cast(other, with) || with == nullptr) return nb::borrow(Py_NotImplemented);
                return nb::bool_(fingerprint_of_hits(self) == fingerprint_of_hits(*with));
            },
            nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__", [](const hits& self) { return nb::hash(nb::cast(fingerprint_of_hits(self))); })
        .def_prop_ro(
            "query", [](const hits& self) { return text_object(self.of->query); },
            nb::sig("def query(self) -> str"), "The query that was run.")
        .def_prop_ro(
            "total", [](const hits& self) { return self.of->result.total; },
            nb::sig("def total(self) -> int | None"),
            "With total=True: the number of documents that the query finds.")
        .def_prop_ro(
            "facets",
            [](const hits& self) {
                return nb::module_::import_("json").attr("loads")(
                    text_object(facets_json(self.of->result.facets)));
            },
            nb::sig("def facets(self) -> dict[str, dict[str, Any]]"),
            "With facets: for each field a dict of type, documents, distinct, values (a list of dicts of "
            "value "
            "and documents, most documents first), and min and max of numbers and dates.")
        .def_prop_ro(
            "syntax",
            [](const hits& self) {
                return std::string(query_syntax_names[static_cast<std::size_t>(self.of->result.syntax)]);
            },
            nb::sig("def syntax(self) -> str"), "How the query was read: 'words' or 'operators'.")
        .def_prop_ro(
            "syntax_note", [](const hits& self) { return text_object(self.of->result.syntax_note); },
            nb::sig("def syntax_note(self) -> str"),
            "With syntax='auto': why a query with an operator was read as words; else empty.")
        .def_prop_ro(
            "unknown_words", [](const hits& self) { return texts(self.of->result.unknown_words); },
            nb::sig("def unknown_words(self) -> list[str]"),
            "Words of the query that no document contains, as the store analyses them; phrases in quotes.")
        .def_prop_ro(
            "suggestions",
            [](const hits& self) {
                nb::dict all;
                for (const suggested_words& of : self.of->result.suggestions) {
                    nb::list words;
                    for (const suggested_words::known& known : of.words)
                        words.append(text_object(known.word));
                    all[text_object(of.unknown)] = words;
                }
                return all;
            },
            nb::sig("def suggestions(self) -> dict[str, list[str]]"),
            "For unknown words: words of the store that are spelled alike, the likeliest first.")
        .def_prop_ro(
            "variants",
            [](const hits& self) {
                text_column words, stands_for;
                number_column<std::uint32_t> distances;
                number_column<std::uint64_t> documents;
                for (const found_variants& of : self.of->result.variants) {
                    for (const suggested_words::known& known : of.words) {
                        words.add(known.word);
                        stands_for.add(of.word);
                        distances.push_back(known.distance);
                        documents.push_back(known.documents);
                    }
                }
                table rows("variants");
                rows.add("word", std::move(words))
                    .add("stands_for", std::move(stands_for))
                    .add("distance", std::move(distances))
                    .add("documents", std::move(documents));
                return rows;
            },
            "Words with typos that were searched for words of the query (`typos`, `word~1`).")
        .def_prop_ro(
            "corrected",
            [](const hits& self) -> nb::object {
                const found& of = *self.of;
                if (of.corrected) return text_object(*of.corrected);
                if (of.result.suggestions.empty()) return nb::none();
                const auto corrected = (*of.opened)->engine().corrected(of.query, of.result.suggestions);
                return corrected ? text_object(*corrected) : nb::none();
            },
            nb::sig("def corrected(self) -> str | None"),
            "The query with each unknown word replaced by its first suggestion; None if there is nothing to "
            "correct. With "
            "correct=True the query that was run, if it is not the given one.")
        .def_prop_ro(
            "similar_words",
            [](const hits& self) {
                text_column words, similar_to;
                number_column<double> weights;
                for (const similar_word& of : self.of->result.similar_words) {
                    words.add(of.word);
                    similar_to.add(of.similar_to);
                    weights.push_back(of.weight);
                }
                table rows("similar words");
                rows.add("word", std::move(words))
                    .add("similar_to", std::move(similar_to))
                    .add("weight", std::move(weights));
                return rows;
            },
            "Words by which `expand` expanded the query.")
        .def_prop_ro("table", table_of, "Rows of rank, id, score, title, snippet, words, duplicate_count.")
        .def(
            "to_dicts",
            [](const hits& self) {
                nb::list all;
                for (std::size_t at = 0; at < self.of->result.hits.size(); ++at)
                    all.append(dict_of({self.of, at}));
                return all;
            },
            nb::sig("def to_dicts(self) -> list[dict[str, Any]]"), "All hits, a dict each.")
        .def(
            "__arrow_c_stream__",
            [](const hits& self, const nb::object& requested_schema) {
                return nb::borrow<nb::object>(
                    nb::cast(table_of(self)).attr("__arrow_c_stream__")(requested_schema));
            },
            nb::arg("requested_schema") = nb::none(),
            nb::sig("def __arrow_c_stream__(self, requested_schema: object = None) -> object"))
        .def_prop_ro(
            "fingerprint", fingerprint_of_hits,
            "XXH3-64 of what `quern search STORE QUERY --format tsv` writes, as 16 hexadecimal digits.")
        .def(
            "__repr__",
            [](nb::handle self) { return nb::module_::import_("quern._display").attr("hits_text")(self); },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle self) { return nb::module_::import_("quern._display").attr("hits_html")(self); },
            nb::sig("def _repr_html_(self) -> str"));
}

}  // namespace quern::python
