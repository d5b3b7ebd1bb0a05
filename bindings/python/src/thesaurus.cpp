// SPDX-License-Identifier: Apache-2.0
// Thesauri: words that are used alike.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "documents.hpp"
#include "errors.hpp"
#include "module.hpp"
#include "outputs.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/tasks/output_file.hpp"
#include "quern/tasks/output_harm.hpp"
#include "quern/tasks/similar.hpp"
#include "quern/tasks/words_option_table.hpp"
#include "reopened.hpp"
#include "result.hpp"
#include "texts.hpp"
#include "unknown_word.hpp"
#include "word_arguments.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

constexpr const char* manifest_file = "space.json";
constexpr const char* similarities_file = "similarities.npy";

struct words_call : corpus_call {
    words_options options;
    std::filesystem::path report;
};

struct thesaurus {
    std::filesystem::path path;  ///< of the space, absolute
    word_space space;
    std::optional<words_result> made;
};

/// For a look-up that may take long: what quern.config(…) says, without progress.
run_options query_run() {
    static const parameters<call> common = parameters<call>("query").common();
    run_options options = common.read(nb::kwargs()).run;
    options.progress = nb::bool_(false);
    return options;
}

const parameters<call>& verify_options() {
    static const parameters<call> options = parameters<call>("verify").common();
    return options;
}

std::unique_ptr<thesaurus> open_thesaurus(const std::filesystem::path& path, const run_options& options) {
    const std::filesystem::path space = std::filesystem::absolute(space_of(path));
    word_space opened = run_for(options, [&](const context& ctx) { return word_space::open(space, ctx); });
    return std::make_unique<thesaurus>(thesaurus{space, std::move(opened), {}});
}

// ---- Building ----

/// The options that only some others make useful.
void refuse_idle_options(const nb::kwargs& given, const words_options& options) {
    const space_params& q = options.params;
    const auto require = [&](const char* name, bool is_used, const char* needed) {
        if (given.contains(name) && !given[name].is_none() && !is_used)
            refuse(std::string(name) + " has no effect here (it requires " + needed + ")");
    };
    require("blocks", options.method == similarity_method::compressed, "method='compressed'");
    for (const char* const name : {"block_threads", "tile_bytes"})
        require(name, options.method != similarity_method::automatic,
                "method='compressed' or 'column-reduced'");
    const bool by_vectors = q.measure == word_measure::lsa, has_vectors = by_vectors || q.dimensions != 0;
    require("lsa_of", has_vectors, "measure='lsa' or vectors");
    require("lsa_words", has_vectors && q.lsa_of == reduced_matrix::documents, "lsa_of='documents'");
    require("lsa_measure", by_vectors, "measure='lsa'");
}

std::unique_ptr<thesaurus> build_thesaurus(const nb::object& documents, const nb::object& path,
                                           words_call& call) {
    words_options& options = call.options;
    options.space = text_of("path", path);
    space_params& q = options.params;
    q.full_matrix = q.top == top_of_all_pairs;
    if (q.full_matrix) q.top = space_params{}.top;
    q.seed = call.run.ctx.seed;
    document_argument given(documents, call);
    words_result made;
    run(call.run, [&](const context& ctx, calling_thread& caller) {
        given.read_into(options, caller);
        check_result_file(call.report, options.force, options.inputs);
        made = words(options, ctx);
        if (call.report.empty()) return;
        write_result_file(call.report, options.force, ctx,
                          [&](const auto& sink) { write_word_report(options.space, made, sink, ctx); });
    });
    auto opened = open_thesaurus(options.space, query_run());
    opened->made = std::move(made);
    return opened;
}

nb::object build_result_of(const thesaurus& t) {
    if (!t.made) return nb::none();
    const words_result& result = *t.made;
    nb::dict made;
    made["counts"] = counts_dict(result.counts);
    made["occurrences"] = result.occurrences;
    made["distinct"] = result.distinct;
    made["vocabulary"] = result.vocabulary;
    made["cooccurrences"] = result.cooccurrences;
    made["entries"] = result.entries;
    made["dimensions"] = result.dimensions;
    made["space_bytes"] = result.space_bytes;
    made["issues"] = issues_table(result.issues);
    made["statistics"] = statistics_dict(result.statistics);
    return made;
}

// ---- Words ----

/// The id of a typed word; nothing for one that the text options refuse or the space lacks.
std::optional<std::uint32_t> find_word(const word_space& space, std::string_view typed) {
    try {
        return space.find(space.spelling(typed));
    } catch (const usage_error&) {
        return {};
    }
}

std::uint32_t id_of(const thesaurus& t, nb::handle given) {
    const std::string typed(word_of("word", given));
    std::string spelling;
    try {
        spelling = t.space.spelling(typed);
    } catch (const usage_error& why) {
        raise_unknown_word(why.what(), typed);
    }
    if (const auto id = t.space.find(spelling)) return *id;
    std::vector<std::string> near;
    {
        const nb::gil_scoped_release released;
        for (const std::uint32_t id : t.space.near_spellings(spelling, context::cpu(1)))
            near.emplace_back(t.space.word(id));
    }
    std::string message = "'" + spelling + "' is not in the vocabulary";
    for (const std::string& name : near) message += (&name == near.data() ? "; did you mean " : ", ") + name;
    raise_unknown_word(near.empty() ? message : message + "?", typed, near);
}

std::vector<std::uint32_t> ids_of(const thesaurus& t, const char* name, nb::handle given) {
    if (given.is_none()) return {};
    if (nb::isinstance<nb::str>(given)) return {id_of(t, given)};
    const nb::object all = nb::steal(PySequence_Tuple(given.ptr()));
    if (!all.is_valid()) {
        PyErr_Clear();
        throw nb::type_error((std::string(name) + ": expected a word or several").c_str());
    }
    std::vector<std::uint32_t> ids;
    for (const nb::handle word : nb::borrow<nb::tuple>(all)) ids.push_back(id_of(t, word));
    return ids;
}

/// Those that the space knows; unknown ones are reported by `logging`.
std::vector<std::uint32_t> known_of(const thesaurus& t, nb::handle given) {
    const word_arguments words("within", given);
    std::vector<std::uint32_t> ids;
    for (const std::string_view word : words.words()) {
        if (const auto id = find_word(t.space, word)) ids.push_back(*id);
    }
    if (ids.size() < words.words().size()) {
        nb::module_::import_("logging").attr("getLogger")("quern").attr("warning")(
            "within: %d of %d words are not in the vocabulary", words.words().size() - ids.size(),
            words.words().size());
    }
    return ids;
}

// ---- Queries ----

table neighbours_table(const thesaurus& t, std::span<const neighbour> found) {
    text_column words;
    number_column<double> scores;
    number_column<std::uint64_t> frequencies;
    for (const neighbour& n : found) {
        words.add(t.space.word(n.word));
        scores.push_back(n.score);
        frequencies.push_back(t.space.frequency(n.word));
    }
    table made("similar words");
    made.add("word", std::move(words)).add("score", std::move(scores));
    made.add("frequency", std::move(frequencies));
    return made;
}

std::uint32_t top_of(nb::handle k) {
    constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();
    if (k.is_none() || (nb::isinstance<nb::str>(k) && nb::cast<std::string>(k) == "all")) return all;
    return static_cast<std::uint32_t>(whole_of("k", k, 1, all));
}

table similar(const thesaurus& t, nb::handle word, nb::handle k, nb::handle positive, nb::handle negative,
              nb::handle within, bool stop_words) {
    word_combination requested{ids_of(t, "word", word), ids_of(t, "negative", negative)};
    const auto more = ids_of(t, "positive", positive);
    requested.plus.insert(requested.plus.end(), more.begin(), more.end());
    if (requested.plus.empty() && requested.minus.empty())
        refuse("no word given (expected similar(\"word\"), or positive=[…] and negative=[…])");
    const std::uint32_t top = top_of(k);
    std::vector<neighbour> found;
    const auto find = [&](const context& ctx) {
        return stop_words ? t.space.similar(requested, top, ctx)
                          : t.space.similar_but_stop_words(requested, top, ctx);
    };
    if (!within.is_none()) {
        const std::vector<std::uint32_t> list = known_of(t, within);
        found = run_for(query_run(),
                        [&](const context& ctx) { return t.space.similar(requested, top, ctx, list); });
    } else if (requested.plus.size() == 1 && requested.minus.empty() && top <= t.space.params().top) {
        const nb::gil_scoped_release released;  // stored ones
        found = find(context::cpu(1));
    } else {
        found = run_for(query_run(), find);
    }
    return neighbours_table(t, found);
}

double score(const thesaurus& t, nb::handle a, nb::handle b) {
    const std::pair<std::uint32_t, std::uint32_t> pair[] = {{id_of(t, a), id_of(t, b)}};
    return run_for(query_run(), [&](const context& ctx) { return t.space.scores(pair, ctx); })[0];
}

nb::object scores(const thesaurus& t, nb::handle pairs) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> known;
    std::vector<std::size_t> places;
    std::vector<double> all;
    for (const nb::handle pair : nb::borrow<nb::object>(pairs)) {
        const nb::object two = nb::steal(PySequence_Tuple(pair.ptr()));
        if (!two.is_valid() || nb::isinstance<nb::str>(pair) || nb::len(two) != 2) {
            PyErr_Clear();
            refuse("pairs: item " + std::to_string(all.size()) + " is not a pair of two words");
        }
        const auto a = find_word(t.space, word_of("pairs", nb::object(two[0])));
        const auto b = find_word(t.space, word_of("pairs", nb::object(two[1])));
        if (a && b) {
            known.emplace_back(*a, *b);
            places.push_back(all.size());
        }
        all.push_back(std::numeric_limits<double>::quiet_NaN());
    }
    const auto found = run_for(query_run(), [&](const context& ctx) { return t.space.scores(known, ctx); });
    for (std::size_t i = 0; i < found.size(); ++i) all[places[i]] = found[i];
    return nb::cast(array_of(std::move(all)));
}

table contexts(const thesaurus& t, nb::handle word, nb::handle other, nb::handle k) {
    const std::uint32_t first = id_of(t, word), top = top_of(k);
    const bool two = !other.is_none();
    const std::uint32_t second = two ? id_of(t, other) : 0;
    std::vector<shared_context> found;
    {
        const nb::gil_scoped_release released;
        found = two ? t.space.contexts(first, second, top) : t.space.contexts(first, top);
    }
    text_column relations, words;
    number_column<float> weights, others;
    for (const shared_context& c : found) {
        relations.add(t.space.relation(c.relation));
        words.add(t.space.word(c.word));
        weights.push_back(c.first);
        others.push_back(c.second);
    }
    table made("contexts");
    made.add("relation", std::move(relations)).add("word", std::move(words));
    made.add(two ? "weight_of_first" : "weight", std::move(weights));
    if (two) made.add("weight_of_second", std::move(others));
    return made;
}

table all_neighbours(const thesaurus& t) {
    text_column words, neighbours;
    number_column<double> scores;
    run(query_run(), [&](const context& ctx, calling_thread&) {
        t.space.each_neighbour(
            [&](std::uint32_t w, const neighbour& n) {
                words.add(t.space.word(w));
                neighbours.add(t.space.word(n.word));
                scores.push_back(n.score);
            },
            ctx);
    });
    table made("neighbours");
    made.add("word", std::move(words)).add("neighbour", std::move(neighbours));
    made.add("score", std::move(scores));
    return made;
}

// ---- Arrays ----

nb::object vector_of(nb::handle_t<thesaurus> self, nb::handle word) {
    const auto& t = *nb::inst_ptr<thesaurus>(self);
    const std::span<const float> values = t.space.vector(id_of(t, word));
    const std::size_t shape[] = {values.size()};
    return nb::cast(nb::ndarray<nb::numpy, const float>(values.data(), 1, shape, self));
}

nb::object vectors_of(nb::handle_t<thesaurus> self) {
    const auto& t = *nb::inst_ptr<thesaurus>(self);
    const std::size_t words = t.space.size(), dimensions = t.space.info().dimensions;
    const float* first = nullptr;
    bool is_consecutive = true;
    {
        const nb::gil_scoped_release released;
        first = t.space.vector(0).data();
        // Also checks the bytes of every row.
        for (std::uint32_t w = 0; w < words; ++w)
            is_consecutive &= t.space.vector(w).data() == first + std::size_t{w} * dimensions;
    }
    if (!is_consecutive) throw error("the vectors of " + t.path.string() + " are not consecutive in memory");
    const std::size_t shape[] = {words, dimensions};
    return nb::cast(nb::ndarray<nb::numpy, const float>(first, 2, shape, self));
}

nb::list words_of(const thesaurus& t) {
    nb::list words;
    for (std::uint32_t w = 0; w < t.space.size(); ++w) words.append(text_object(t.space.word(w)));
    return words;
}

nb::object frequencies_of(const thesaurus& t) {
    std::vector<std::uint64_t> frequencies(t.space.size());
    for (std::uint32_t w = 0; w < frequencies.size(); ++w) frequencies[w] = t.space.frequency(w);
    return nb::cast(array_of(std::move(frequencies)));
}

nb::object similarities_of(const thesaurus& t) {
    if (t.space.info().matrix_bytes == 0)
        refuse(t.path.string() + " has no scores of all pairs; build it with top='all'");
    return nb::module_::import_("numpy").attr("load")((t.path / similarities_file).string(),
                                                      nb::arg("mmap_mode") = "r");
}

nb::dict info_dict(const word_space_info& info) {
    nb::dict options, sections;
    for (const auto& [name, value] : info.requested) options[text_object(name)] = text_object(value);
    for (const store_section& section : info.sections) sections[text_object(section.name)] = section.bytes;
    nb::dict made;
    made["format_version"] = info.format_version;
    made["unicode_version"] = info.unicode_version;
    made["options"] = options;
    made["verbatim"] = info.verbatim;
    made["documents"] = info.documents;
    made["occurrences"] = info.occurrences;
    made["distinct"] = info.distinct;
    made["vocabulary"] = info.vocabulary;
    made["relations"] = info.relations;
    made["dimensions"] = info.dimensions;
    made["cooccurrences"] = info.cooccurrences;
    made["triples"] = info.triples;
    made["entries"] = info.entries;
    made["neighbours"] = info.neighbours;
    made["matrix_bytes"] = info.matrix_bytes;
    made["sections"] = sections;
    return made;
}

// ---- Files ----

/// `form`: the endings of the format, blank: text.
void write_file(nb::handle path, bool overwrite, const output_options& form,
                const std::function<void(const word_space::sink&, const context&)>& write) {
    const std::filesystem::path to = text_of("path", path);
    output_options options = form;
    options.replace = overwrite;
    run(query_run(), [&](const context& ctx, calling_thread&) {
        refuse_harm(to, {});
        check_output(to, options);
        output_file file(to, options, ctx);
        write(
            [&](std::string_view bytes) {
                ctx.check_stop();
                file.write(bytes);
            },
            ctx);
        file.commit();
    });
}

void declare_queries(nb::class_<thesaurus>& of) {
    of.def(
          "similar", similar, nb::arg("word") = nb::none(), nb::kw_only(), nb::arg("k").none() = 20,
          nb::arg("positive") = nb::none(), nb::arg("negative") = nb::none(), nb::arg("within") = nb::none(),
          nb::arg("stop_words") = false,
          nb::sig("def similar(self, word: str | Sequence[str] | None = None, *, k: int | Literal['all'] | "
                  "None = 20, positive: str | Sequence[str] | None = None, negative: str | Sequence[str] | "
                  "None = None, within: object = None, stop_words: bool = False) -> Table"),
          R"(The k words that are used most alike: word, score, frequency, by falling score, ties by frequency.

With several words: the sum of the scores with `word` and `positive`, minus the sum of those with `negative`; none of these
words is returned. Without vectors only scores above 0. `within`: only these words (an iterable of str, or a column of
Arrow; unknown ones are skipped). `stop_words`: also stop words, which `within` always allows; without them there may be
fewer than k rows. `k`: "all" or None for all.

Raises UnknownWord, with words of nearly the same spelling as `near`. Cost: microseconds for a single word and k up to the
stored neighbours; else the scores with all words are computed.)")
        .def("score", score, nb::arg("a"), nb::arg("b"), nb::sig("def score(self, a: str, b: str) -> float"),
             "The score of two words. Raises UnknownWord. For many pairs use `scores`.")
        .def("scores", scores, nb::arg("pairs"),
             nb::sig("def scores(self, pairs: Iterable[Sequence[str]]) -> NDArray[numpy.float64]"),
             "The scores of pairs of words, float64; nan if one of the two is unknown.")
        .def("contexts", contexts, nb::arg("word"), nb::arg("other") = nb::none(), nb::kw_only(),
             nb::arg("k").none() = 20,
             nb::sig(
                 "def contexts(self, word: str, other: str | None = None, *, k: int | Literal['all'] | None "
                 "= 20) -> Table"),
             R"(The contexts of a word by falling weight: relation, word, weight (mutual information in nats).

With another word: the contexts that both share, by what each adds to their score: relation, word, weight_of_first,
weight_of_second. The relation is *, a distance such as -1 and +2, or a parser's name. Raises UnknownWord.)")
        .def("neighbours", all_neighbours, nb::sig("def neighbours(self) -> Table"),
             "The stored neighbours of all words: word, neighbour, score; words by falling frequency, "
             "neighbours "
             "by falling score. The rows that quern words --export writes.");
}

void declare_words(nb::class_<thesaurus>& of) {
    of.def(
          "__contains__",
          [](const thesaurus& t, nb::handle word) {
              return nb::isinstance<nb::str>(word) && find_word(t.space, word_of("word", word)).has_value();
          },
          nb::arg("word"), nb::sig("def __contains__(self, word: object, /) -> bool"))
        .def("__len__", [](const thesaurus& t) { return t.space.size(); })
        .def(
            "__iter__", [](const thesaurus& t) { return nb::iter(words_of(t)); },
            nb::sig("def __iter__(self) -> Iterator[str]"))
        .def_prop_ro("words", words_of, nb::sig("def words(self) -> list[str]"),
                     "The words by falling frequency, equal ones by bytes: the order of `vectors`.")
        .def(
            "frequency",
            [](const thesaurus& t, nb::handle word) { return t.space.frequency(id_of(t, word)); },
            nb::arg("word"), nb::sig("def frequency(self, word: str) -> int"),
            "How often a word occurs in the corpus. Raises UnknownWord.")
        .def_prop_ro("frequencies", frequencies_of, nb::sig("def frequencies(self) -> NDArray[numpy.uint64]"),
                     "How often each word occurs, in the order of `words`: uint64.")
        .def(
            "is_stop_word",
            [](const thesaurus& t, nb::handle word) { return t.space.is_stop_word(id_of(t, word)); },
            nb::arg("word"), nb::sig("def is_stop_word(self, word: str) -> bool"),
            "Whether a word is in the stop list of the corpus's language. Raises UnknownWord.")
        .def(
            "vector", vector_of, nb::arg("word"),
            nb::sig("def vector(self, word: str) -> NDArray[numpy.float32]"),
            "The vector of a word, float32, read-only and without a copy. Raises UnknownWord, and UsageError "
            "for a thesaurus without vectors.")
        .def_prop_ro("vectors", vectors_of, nb::sig("def vectors(self) -> NDArray[numpy.float32]"),
                     "The vectors of all words, words × dimensions, float32: a read-only view of the mapped "
                     "file. The first access checks its bytes.")
        .def_prop_ro("similarities", similarities_of,
                     nb::sig("def similarities(self) -> NDArray[numpy.float64]"),
                     "With top='all': the scores of all pairs, words × words, float64, memory-mapped.");
}

void declare_files(nb::class_<thesaurus>& of) {
    of.def(
          "to_word2vec",
          [](const thesaurus& t, nb::handle path, bool overwrite) {
              write_file(path, overwrite, {},
                         [&](const auto& sink, const context&) { t.space.write_vectors_text(sink); });
          },
          nb::arg("path"), nb::kw_only(), nb::arg("overwrite") = false,
          nb::sig("def to_word2vec(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None"),
          "Writes the vectors in word2vec's text format; .gz and .zst compress. Blanks in a word become _. "
          "Raises "
          "UsageError for a thesaurus without vectors.")
        .def(
            "to_graphml",
            [](const thesaurus& t, nb::handle path, bool overwrite) {
                write_file(path, overwrite, {.form = ".graphml", .written = "a graph in GraphML"},
                           [&](const auto& sink, const context& ctx) { t.space.write_graphml(sink, ctx); });
            },
            nb::arg("path"), nb::kw_only(), nb::arg("overwrite") = false,
            nb::sig("def to_graphml(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None"),
            "Writes the stored neighbours as a directed graph, with frequencies of words and scores of "
            "edges, for "
            "Gephi, NetworkX and igraph.")
        .def(
            "verify",
            [](const thesaurus& t, const nb::kwargs& given) {
                const call requested = verify_options().read(given);
                return run_for(requested.run,
                               [&](const context& ctx) { return verify_word_space(t.path, ctx); });
            },
            nb::arg("options"), nb::sig(verify_options().signature("self", "int")),
            verify_options().doc("Reads every byte and checks every checksum; returns the bytes read. Raises "
                                 "DamagedStore with the section."))
        .def_prop_ro(
            "info", [](const thesaurus& t) { return info_dict(t.space.info()); },
            nb::sig("def info(self) -> dict[str, Any]"), "As quern info shows it.")
        .def_prop_ro(
            "build_result", build_result_of, nb::sig("def build_result(self) -> dict[str, Any] | None"),
            "Of `build`: counts of documents, words and co-occurrences, issues, statistics. None if it "
            "was opened.")
        .def_prop_ro(
            "path", [](const thesaurus& t) { return text_object(t.path.string()); },
            nb::sig("def path(self) -> str"), "The absolute path of the space.")
        .def(
            "__fspath__", [](const thesaurus& t) { return text_object(t.path.string()); },
            nb::sig("def __fspath__(self) -> str"))
        .def_prop_ro(
            "fingerprint", [](const thesaurus& t) { return fingerprint_of_file(t.path / manifest_file); },
            "16 hexadecimal digits: XXH3 of the space's space.json, which has the checksums of all its "
            "parts. "
            "Equal for equal corpora and options on every machine.")
        .def(
            "__repr__",
            [](const thesaurus& t) {
                return nb::str("Thesaurus({!r}, words={})")
                    .attr("format")(text_object(t.path.string()), t.space.size());
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle_t<thesaurus> self) {
                return nb::module_::import_("quern._display").attr("thesaurus_html")(self);
            },
            nb::sig("def _repr_html_(self) -> str"))
        .def(
            "__reduce__",
            [](const thesaurus& t) {
                return nb::make_tuple(nb::module_::import_("quern._reopen").attr("thesaurus"),
                                      nb::make_tuple(text_object(t.path.string()),
                                                     fingerprint_of_file(t.path / manifest_file)));
            },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def_static(
            "_reopen",
            [](nb::handle given, const std::string& checksum) {
                const std::string path = text_argument("path", given);
                auto opened = open_thesaurus(path, query_run());
                check_unchanged(opened->path, fingerprint_of_file(opened->path / manifest_file), checksum);
                return opened;
            },
            nb::arg("path"), nb::arg("checksum"));
}

void add_build_options(parameters<words_call>& to) {
    to.add(
        {"preset", "Literal['thesis'] | None", "None",
         "thesis: discount=0, measure='lin', relation='position', gaps='keep', window_end='sentence', unless "
         "given."},
        [](words_call& r, nb::handle given) {
            const std::string name = text_of("preset", given);
            if (name != "thesis") refuse("preset: invalid value '" + name + "' (expected thesis)");
            space_params& q = r.options.params;
            q.pmi.discount = {0, 1};
            q.measure = word_measure::lin;
            q.counting.relation = word_relation::position;
            q.gaps = gap_policy::keep;
            q.window_end = window_limit::sentence;
        });
    to.table<&words_call::options, &words_options::params, &space_params::counting>();
    to.table<&words_call::options, &words_options::params, &space_params::pmi>();
    to.table<&words_call::options, &words_options::params>().table<&words_call::options>();
    to.table<&words_call::options, &words_options::text>();
    to.add({"report", "str | os.PathLike[str] | None", "None",
            "Write an HTML page: sizes, times, the most frequent words with their neighbours."},
           [](words_call& r, nb::handle given) { r.report = text_of("report", given); });
    to.add({"overwrite", "bool", "False", "Replace an existing space, in one step."},
           [](words_call& r, nb::handle given) { r.options.force = bool_of("overwrite", given); });
    add_corpus(to).common(true);
}

}  // namespace

void declare_thesaurus(nb::module_& module) {
    static parameters<words_call> options("build");
    add_build_options(options);
    nb::class_<thesaurus> of(module, "Thesaurus",
                             R"(Words that are used alike in a corpus (Lin 1998): an open word space.

>>> import quern, tempfile
>>> village = ["Hot tea in a cup.", "Hot coffee in a cup.", "The old horse pulls the cart."] * 5
>>> words = quern.Thesaurus.build(village, tempfile.mkdtemp() + "/village", stop_words="en")
>>> words.similar("tea", k=1)[0]["word"]
'coffee'
>>> words.score("tea", "coffee") == words.similar("tea")[0]["score"]
True
>>> "horse" in words, len(words), words.frequency("cup")
(True, 8, 10)

Words go through the text options of the corpus. Threads may share a thesaurus; look-ups release the interpreter's lock. A
pickle has its path and checksum.)");
    refuse_constructor(of, "a thesaurus is opened by Thesaurus.open, and made by Thesaurus.build");
    of.def_static(
          "build",
          [](const nb::object& documents, const nb::object& path, const nb::kwargs& given) {
              words_call call = options.read(given);
              refuse_idle_options(given, call.options);
              return build_thesaurus(documents, path, call);
          },
          nb::arg("documents").none(), nb::arg("path"), nb::arg("options"),
          nb::sig(options.signature("documents: object, path: str | os.PathLike[str]", "Thesaurus")),
          options.doc(R"(Finds the words that are used alike, as quern words does, and opens the result.

Counts which words co-occur within a window, weights each co-occurrence by its pointwise mutual information, and compares the
weights of all pairs of words (Lin 1998; Kolb 2008). `path`: the folder to write; it appears whole or not at all. The same
corpus and options give the same bytes for any number of threads, memory budget and device.

`documents`: as for `dedup`; also the path of one store, whose texts are read, and with format="triples" the lines of a parser:
word, relation, other word, count.

Raises UsageError (options, missing inputs, an existing space), InvalidInput (too much rejected, fewer than two words that
occur `min_count` times), OutOfMemory, DeviceError, StorageError. Cost: one pass over the documents, then counting and the
comparison of all pairs (docs/words.md).)"))
        .def_static(
            "open", [](const nb::object& path) { return open_thesaurus(text_of("path", path), query_run()); },
            nb::arg("path"), nb::sig("def open(path: str | os.PathLike[str]) -> Thesaurus"),
            "Opens a word space, or the thesaurus of a store. Raises UsageError if there is none, "
            "DamagedStore.");
    declare_queries(of);
    declare_words(of);
    declare_files(of);
}

}  // namespace quern::python
