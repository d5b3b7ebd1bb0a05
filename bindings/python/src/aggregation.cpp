// SPDX-License-Identifier: Apache-2.0
// quern.top_k and quern.RankedLists: the best objects over several ranked lists.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "constructor.hpp"
#include "errors.hpp"
#include "fingerprint.hpp"
#include "held_list.hpp"
#include "kept_run.hpp"
#include "list_numbering.hpp"
#include "module.hpp"
#include "parameters.hpp"
#include "python_stream.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/ops/rank_aggregation_option_table.hpp"
#include "table.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct top_k_call : call {
    aggregation_options options;
    nb::object weights = nb::none(), floors = nb::none();
    std::optional<std::uint32_t> objects;
};

parameters<top_k_call>& add_rule(parameters<top_k_call>& to) {
    static const option_description rule = [] {
        option_description named = option_of<aggregation_options>("aggregate");
        named.name = "score";
        return named;
    }();
    return to
        .add(text_of(rule, std::uint64_t{0}),
             [](top_k_call& requested, nb::handle given) {
                 option_of<aggregation_options>("aggregate").set(requested.options, value_of(rule, given));
             })
        .table<&top_k_call::options>({"top", "aggregate"});
}
parameters<top_k_call>& add_lists(parameters<top_k_call>& to, const char* objects_help) {
    return to
        .add({"weights", "Sequence[float] | None", "None", "One for each list; positive. Default: 1 each."},
             [](top_k_call& requested, nb::handle given) { requested.weights = nb::borrow(given); })
        .add({"floors", "float | Sequence[float] | None", "None",
              "Score of an object that a list lacks; one for each list, or one for all. No score of a "
              "list is below it. "
              "Default: 0."},
             [](top_k_call& requested, nb::handle given) { requested.floors = nb::borrow(given); })
        .add({"objects", "int | None", "None", objects_help}, [](top_k_call& requested, nb::handle given) {
            requested.objects = static_cast<std::uint32_t>(whole_of("objects", given, 0, max_objects));
        });
}

const parameters<top_k_call>& call_parameters() {
    static const parameters<top_k_call> all = [] {
        parameters<top_k_call> made("top_k");
        add_lists(add_rule(made),
                  "Ids are below this number. Needed with generators; else found in the lists.");
        made.common();
        return made;
    }();
    return all;
}
const parameters<top_k_call>& lists_parameters() {
    static const parameters<top_k_call> all = [] {
        parameters<top_k_call> made("RankedLists");
        add_lists(made, "Ids are below this number. Default: found in the lists.");
        return made;
    }();
    return all;
}
const parameters<top_k_call>& method_parameters() {
    static const parameters<top_k_call> all = [] {
        parameters<top_k_call> made("top_k");
        add_rule(made).common();
        return made;
    }();
    return all;
}

bool is_pulled(nb::handle given) {
    return nb::hasattr(given, "__next__");
}

// ---- Results ----

/// As quern.TopK.
struct python_top_k {
    aggregation_result found;
    std::shared_ptr<const numbering> ids = std::make_shared<const numbering>();

    bool has_texts() const { return !ids->texts.empty(); }
    std::uint64_t integer(std::size_t at) const {
        const std::uint32_t number = found.ids[at];
        return ids->integers.empty() ? number : ids->integers[number];
    }
    std::string text(std::size_t at) const {
        return has_texts() ? ids->texts[found.ids[at]] : std::to_string(integer(at));
    }
};

nb::object ids_of(const python_top_k& top) {
    if (top.has_texts()) {
        nb::list texts;
        for (std::size_t at = 0; at < top.found.ids.size(); ++at) texts.append(nb::str(top.text(at).c_str()));
        return texts;
    }
    std::vector<std::uint64_t> numbers;
    for (std::size_t at = 0; at < top.found.ids.size(); ++at) numbers.push_back(top.integer(at));
    return array_from(std::move(numbers));
}

table table_of(const python_top_k& top) {
    table rows("objects");
    if (top.has_texts()) {
        text_column texts;
        for (std::size_t at = 0; at < top.found.ids.size(); ++at) texts.add(top.text(at));
        rows.add("id", std::move(texts));
    } else {
        number_column<std::uint64_t> numbers;
        for (std::size_t at = 0; at < top.found.ids.size(); ++at) numbers.push_back(top.integer(at));
        rows.add("id", std::move(numbers));
    }
    rows.add("score", number_column<double>(top.found.scores));
    return rows;
}

std::string fingerprint_of(const python_top_k& top) {
    return fingerprint_of_rows({"id", "score"}, [&](row_writer& rows) {
        for (std::size_t at = 0; at < top.found.ids.size(); ++at) {
            const std::string id = top.text(at);
            rows.row({std::string_view(id), top.found.scores[at]});
        }
    });
}

/// Throws TypeError unless `given` can be iterated over; `expected` is for its message.
nb::object items_of(nb::handle given, std::string_view name, std::string_view expected) {
    if (!nb::hasattr(given, "__iter__") && PySequence_Check(given.ptr()) == 0)
        refuse_type(name, expected, nb::cast<std::string>(nb::type_name(given.type())));
    return nb::borrow<nb::object>(given);
}

std::vector<double> numbers_for(nb::handle given, std::size_t lists, double usual, std::string_view name,
                                bool one_for_all) {
    if (given.is_none()) return std::vector<double>(lists, usual);
    const bool is_single = one_for_all && PyNumber_Check(given.ptr()) != 0 && !nb::hasattr(given, "__len__");
    if (is_single) return std::vector<double>(lists, number_of(name, given));
    std::vector<double> numbers;
    for (const nb::handle one : items_of(given, name, "a list of numbers"))
        numbers.push_back(number_of(name, one));
    if (numbers.size() != lists)
        refuse(std::string(name) + ": " + std::to_string(numbers.size()) + " for " + std::to_string(lists) +
               " lists");
    return numbers;
}

template <class Score>
std::vector<ranked_list_view<Score>> views_of(std::deque<held_list>& lists,
                                              const std::vector<double>& weights,
                                              const std::vector<double>& floors) {
    std::vector<ranked_list_view<Score>> views;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        held_list& list = lists[i];
        std::span<const Score> scores;
        if constexpr (std::is_same_v<Score, double>) {
            if (list.score_array.type == number_type::f32) {
                const auto narrow = numbers_of<float>(list.score_array, "scores");
                list.doubles.assign(narrow.begin(), narrow.end());
                scores = list.doubles;
            } else {
                scores = numbers_of<double>(list.score_array, "scores");
            }
        } else {
            scores = numbers_of<float>(list.score_array, "scores");
        }
        views.push_back({list.ids(), scores, weights[i], floors[i]});
    }
    return views;
}

/// Lists of a call, in memory.
struct lists_in_memory {
    std::deque<held_list> lists;
    std::shared_ptr<const numbering> ids;
    std::vector<double> weights, floors;
    bool is_narrow = false;  ///< all scores are floats
    std::vector<ranked_list_view<float>> narrow;
    std::vector<ranked_list_view<double>> wide;

    lists_in_memory(const std::vector<nb::object>& given, const top_k_call& requested)
        : lists(given.size()),
          weights(numbers_for(requested.weights, given.size(), 1, "weights", false)),
          floors(numbers_for(requested.floors, given.size(), 0, "floors", true)),
          is_narrow(!given.empty()) {
        for (std::size_t i = 0; i < given.size(); ++i) {
            read_list(lists[i], given[i], i);
            is_narrow = is_narrow && lists[i].score_array.type == number_type::f32;
        }
        ids = std::make_shared<const numbering>(number_ids(lists, requested.objects));
        if (is_narrow)
            narrow = views_of<float>(lists, weights, floors);
        else
            wide = views_of<double>(lists, weights, floors);
    }
    lists_in_memory(const lists_in_memory&) = delete;  // views point into it
    lists_in_memory& operator=(const lists_in_memory&) = delete;
    /// work(views)
    template <class Work>
    auto visit(const Work& work) const {
        return is_narrow ? work(std::span<const ranked_list_view<float>>(narrow))
                         : work(std::span<const ranked_list_view<double>>(wide));
    }
};

/// Names the list of a fault as Python does.
template <class Work>
void naming_lists(const Work& work) {
    try {
        work();
    } catch (const list_fault& fault) {
        throw invalid_value(name_of_list(fault.list()) + ", position " + std::to_string(fault.position()) +
                                ": " + fault.what(),
                            fault.position());
    }
}

aggregation_result top_k_pulled(const std::vector<nb::object>& iterators, std::uint32_t objects,
                                const std::vector<double>& weights, const std::vector<double>& floors,
                                const top_k_call& requested) {
    std::deque<python_stream> streams;
    std::vector<pulled_list> lists;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
        streams.emplace_back(iterators[i], i);
        lists.push_back({&streams.back(), weights[i], floors[i]});
    }
    std::optional<aggregation_result> found;
    run(requested.run, [&](const context& ctx, calling_thread& thread) {
        for (python_stream& stream : streams) stream.set_thread(thread);
        found = top_k(std::span<const pulled_list>(lists), objects, requested.options, ctx);
    });
    return *std::move(found);
}

std::uint32_t k_of(nb::handle given) {
    const auto& row = option_of<aggregation_options>("top");
    option_description named = row;
    named.name = "k";
    aggregation_options options;
    if (given.is_none()) return static_cast<std::uint32_t>(*row.whole.all);
    row.set(options, value_of(named, given));
    return options.k;
}

python_top_k top_k_of_lists(nb::handle lists, nb::handle k, const nb::kwargs& given) {
    top_k_call requested = call_parameters().read(given);
    requested.options.k = k_of(k);
    std::vector<nb::object> all;
    for (const nb::handle list : items_of(lists, "lists", "a list of ranked lists"))
        all.push_back(nb::borrow(list));
    python_top_k made;
    naming_lists([&] {
        if (std::ranges::any_of(all, is_pulled)) {
            const auto weights = numbers_for(requested.weights, all.size(), 1, "weights", false);
            const auto floors = numbers_for(requested.floors, all.size(), 0, "floors", true);
            if (!requested.objects)
                refuse(
                    "objects: needed with lists that are pulled, for the memory of their ids (expected a "
                    "number above "
                    "every id)");
            for (nb::object& list : all) {
                if (is_pulled(list)) continue;
                const nb::object entries = nb::make_tuple(list);  // one chunk: a pair of arrays
                list = nb::steal(PyObject_GetIter(entries.ptr()));
            }
            made.found = top_k_pulled(all, *requested.objects, weights, floors, requested);
            return;
        }
        const lists_in_memory held(all, requested);
        made.ids = held.ids;
        made.found = held.visit([&](auto views) {
            return run_for(requested.run, [&](const context& ctx) {
                return top_k(views, held.ids->size, requested.options, ctx);
            });
        });
    });
    return made;
}

// ---- Lists that stay ----

/// As quern.RankedLists.
class python_ranked_lists {
  public:
    python_ranked_lists(nb::handle given, const nb::kwargs& options)
        : requested_(lists_parameters().read(options)), lists_(read(given), requested_) {}

    const lists_in_memory& lists() const { return lists_; }
    const top_k_call& requested() const { return requested_; }
    kept_object<ranked_list_set>& kept() { return kept_; }

    python_top_k top_k(nb::handle k, const nb::kwargs& given) {
        top_k_call requested = method_parameters().read(given);
        requested.options.k = k_of(k);
        device_choice& device = requested.run.ctx.device;
        if (device.where == device_choice::kind::automatic && !runs_on_gpus(requested.options.method))
            device = context::cpu().device;
        python_top_k made;
        made.ids = lists_.ids;
        const auto make = [&](const context& ctx) {
            return lists_.visit([&](auto views) { return ranked_list_set(views, lists_.ids->size, ctx); });
        };
        naming_lists([&] {
            kept_.call(requested.run, {}, entries() <= short_work, make,
                       [&](ranked_list_set& set) { made.found = set.top_k(requested.options); });
        });
        return made;
    }
    std::uint64_t entries() const {
        std::uint64_t sum = 0;
        for (const held_list& list : lists_.lists) sum += list.size();
        return sum;
    }

  private:
    static constexpr std::uint64_t short_work = std::uint64_t{1} << 16;  ///< entries: some milliseconds

    static std::vector<nb::object> read(nb::handle given) {
        std::vector<nb::object> all;
        for (const nb::handle list : items_of(given, "lists", "a list of ranked lists")) {
            if (is_pulled(list))
                refuse_type(name_of_list(all.size()),
                            "a pair (ids, scores) of arrays, which can be read again",
                            "an iterator, which quern.top_k takes");
            all.push_back(nb::borrow(list));
        }
        return all;
    }

    top_k_call requested_;
    lists_in_memory lists_;
    kept_object<ranked_list_set> kept_{"a call of these lists"};  ///< ends before the lists
};

/// The ids as they were given: an array, or a list of texts.
nb::object given_ids(const held_list& list, nb::handle owner) {
    if (!list.texts.empty()) {
        nb::list texts;
        for (const std::string& text : list.texts) texts.append(text_object(text));
        return texts;
    }
    return list.narrow.empty() ? view_array(list.wide, owner) : view_array(list.narrow, owner);
}
nb::object given_scores(const held_list& list, nb::handle owner) {
    const auto view = [&]<class Score>(Score /*type*/) {
        return view_array(std::span(reinterpret_cast<const Score*>(list.score_array.data), list.size()),
                          owner);
    };
    return list.score_array.type == number_type::f32 ? view(float{}) : view(double{});
}

}  // namespace

void declare_aggregation(nb::module_& module) {
    nb::class_<python_top_k>(module, "TopK", R"(The result of top_k: a sequence of (id, score), best first.)")
        .def_prop_ro("ids", ids_of, nb::sig("def ids(self) -> NDArray[numpy.uint64] | list[str]"),
                     "Best first, ties by id.")
        .def_prop_ro(
            "scores",
            [](const python_top_k& top) { return array_from(std::vector<double>(top.found.scores)); },
            nb::sig("def scores(self) -> NDArray[numpy.float64]"), "float64, as many as ids.")
        .def_prop_ro(
            "depths",
            [](const python_top_k& top) { return array_from(std::vector<std::uint64_t>(top.found.depths)); },
            nb::sig("def depths(self) -> NDArray[numpy.uint64]"), "Entries read of each list.")
        .def_prop_ro(
            "candidates", [](const python_top_k& top) { return top.found.candidates; },
            "The maximum number of objects held at a time.")
        .def_prop_ro(
            "read_all", [](const python_top_k& top) { return top.found.read_all; },
            "Whether everything was read.")
        .def_prop_ro(
            "place", [](const python_top_k& top) { return top.found.place; }, "The device, with the reason.")
        .def_prop_ro("table", table_of, nb::sig("def table(self) -> Table"), "Rows of id and score.")
        .def_prop_ro("fingerprint", fingerprint_of,
                     "XXH3-64 of the rows that `quern topk --format tsv` writes for the lists.")
        .def("__len__", [](const python_top_k& top) { return top.found.ids.size(); })
        .def(
            "__getitem__",
            [](const python_top_k& top, std::int64_t at) {
                const auto size = static_cast<std::int64_t>(top.found.ids.size());
                if (at < 0) at += size;
                if (at < 0 || at >= size) throw nb::index_error("rank out of range");
                const auto rank = static_cast<std::size_t>(at);
                const std::string text = top.text(rank);
                const nb::object id = top.has_texts()
                                          ? nb::object(nb::str(text.c_str()))
                                          : nb::steal(PyLong_FromString(text.c_str(), nullptr, 10));
                return nb::make_tuple(id, top.found.scores[rank]);
            },
            nb::arg("rank"), nb::sig("def __getitem__(self, rank: int, /) -> tuple[int | str, float]"))
        .def(
            "__iter__", [](const nb::object& self) { return nb::steal(PySeqIter_New(self.ptr())); },
            nb::sig("def __iter__(self) -> Iterator[tuple[int | str, float]]"))
        .def(
            "__getstate__",
            [](const python_top_k& top) {
                std::vector<std::uint64_t> ids;
                std::vector<std::string> texts;
                nb::list kept;
                for (std::size_t at = 0; at < top.found.ids.size(); ++at)
                    kept.append(nb::str(top.text(at).c_str()));
                return nb::make_tuple(kept, top.has_texts(),
                                      array_from(std::vector<double>(top.found.scores)),
                                      array_from(std::vector<std::uint64_t>(top.found.depths)),
                                      top.found.candidates, top.found.read_all, top.found.place);
            },
            nb::sig("def __getstate__(self) -> tuple[Any, ...]"))
        .def(
            "__setstate__",
            [](python_top_k& self, const nb::tuple& state) {
                python_top_k made;
                const bool texts = nb::cast<bool>(state[1]);
                numbering ids;
                for (const nb::handle id : state[0]) {
                    made.found.ids.push_back(static_cast<std::uint32_t>(made.found.ids.size()));
                    if (texts)
                        ids.texts.push_back(nb::cast<std::string>(id));
                    else
                        ids.integers.push_back(std::stoull(nb::cast<std::string>(id)));
                }
                made.ids = std::make_shared<const numbering>(std::move(ids));
                host_array scores = read_array(state[2], "scores"), depths = read_array(state[3], "depths");
                const auto score_values = numbers_of<double>(scores, "scores");
                const auto depth_values = numbers_of<std::uint64_t>(depths, "depths");
                made.found.scores.assign(score_values.begin(), score_values.end());
                made.found.depths.assign(depth_values.begin(), depth_values.end());
                made.found.candidates = nb::cast<std::uint64_t>(state[4]);
                made.found.read_all = nb::cast<bool>(state[5]);
                made.found.place = nb::cast<std::string>(state[6]);
                new (&self) python_top_k(std::move(made));
            },
            nb::sig("def __setstate__(self, state: tuple[Any, ...], /) -> None"))
        .def(
            "__repr__",
            [](const python_top_k& top) {
                return nb::module_::import_("quern._display").attr("table_text")(nb::cast(table_of(top)));
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](const python_top_k& top) {
                return nb::module_::import_("quern._display").attr("table_html")(nb::cast(table_of(top)));
            },
            nb::sig("def _repr_html_(self) -> str"));

    nb::class_<python_ranked_lists>(module, "RankedLists",
                                    R"(Ranked lists that are read once, for many calls of top_k.

>>> import quern
>>> lists = quern.RankedLists([(["b", "a"], [0.9, 0.5]), (["a", "c"], [0.8, 0.1])])
>>> list(lists.top_k(k=2))
[('a', 1.3), ('b', 0.9)]
>>> [id for id, score in lists.top_k(k=3, score="rrf", constant=10)]
['a', 'b', 'c']
>>> len(lists), lists.objects
(2, 3))")
        .def(
            "__init__",
            [](python_ranked_lists* self, const nb::args& given, const nb::kwargs& options) {
                const constructor_call call = call_with("lists", "RankedLists", given, options);
                new (self) python_ranked_lists(call.argument, call.options);
            },
            nb::sig(lists_parameters().constructor_signature("lists: Sequence[object]")),
            lists_parameters().doc(R"(Reads the lists and numbers their ids.

lists: at most 64, each by falling score, as quern.top_k takes them, but no iterators. Arrays of NumPy are
used in place, if ids are uint32 and scores of all lists have one type; those of a GPU are copied to the host once. Do
not change them afterwards. Raises TypeError and UsageError; the faults of the lists themselves are found by the calls.)"))
        .def(
            "top_k",
            [](python_ranked_lists& lists, const nb::object& k, const nb::kwargs& given) {
                return lists.top_k(k, given);
            },
            nb::arg("k").none() = 10, nb::arg("options"),
            nb::sig(method_parameters().signature("self, k: int | Literal['all'] | None = 10", "TopK")),
            method_parameters().doc(R"(The k best objects, as quern.top_k returns them: the same ids and bits.

The first call copies the lists to the device, where they stay for calls with the same device, threads and memory, until
release(). A GPU checks them then, and keeps the table of all scores if a call had to read everything; the CPU reads them where
they lie. Methods other than auto and segmented run on the CPU only: give device='cpu'.)"))
        .def(
            "release", [](python_ranked_lists& lists) { lists.kept().release(); },
            "Frees what calls keep on the device. The next call copies the lists again.")
        .def_prop_ro(
            "kept_bytes", [](python_ranked_lists& lists) { return lists.kept().bytes(); },
            "What the last call left on host and device, besides the lists; 0 before the first.")
        .def_prop_ro(
            "objects", [](const python_ranked_lists& lists) { return lists.lists().ids->size; },
            "The number of different ids; of small whole numbers, one more than the greatest.")
        .def_prop_ro("entries", &python_ranked_lists::entries, "Of all lists.")
        .def("__len__", [](const python_ranked_lists& lists) { return lists.lists().lists.size(); })
        .def(
            "__reduce__",
            [](nb::handle self) {
                const auto& lists = nb::cast<const python_ranked_lists&>(self);
                nb::list pairs;
                for (const held_list& list : lists.lists().lists)
                    pairs.append(nb::make_tuple(given_ids(list, self), given_scores(list, self)));
                const auto& objects = lists.requested().objects;
                return nb::module_::import_("quern._lists")
                    .attr("reduce")(pairs, array_from(std::vector<double>(lists.lists().weights)),
                                    array_from(std::vector<double>(lists.lists().floors)),
                                    objects ? nb::cast(*objects) : nb::object(nb::none()));
            },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def(
            "__repr__",
            [](nb::handle self) { return nb::module_::import_("quern._lists").attr("text_of")(self); },
            nb::sig("def __repr__(self) -> str"))
        .def("_repr_html_",
             [](nb::handle self) { return "<code>" + nb::cast<std::string>(nb::repr(self)) + "</code>"; });

    const auto& all = call_parameters();
    module.def(
        "top_k", top_k_of_lists, nb::arg("lists").none(), nb::arg("k").none() = 10, nb::arg("options"),
        nb::sig(all.signature("lists: Sequence[object], k: int | Literal['all'] | None = 10", "TopK")),
        all.doc(
            R"(The k best objects over several ranked lists, each read from the top no further than needed.

lists: at most 64, each by falling score: a tuple (ids, scores), where ids are an array of whole numbers or a list of texts,
scores an array of float32 or float64; a list of entries (id, score); a mapping of ids to scores; or an iterator that yields
pairs (id, score), or pairs of arrays, and is asked for no more than one step beyond what the result needs (then give
`objects`). k: None or "all" for all objects.

Returns a TopK: `ids`, `scores`, `depths` (entries read of each list), `candidates`. Scores are one sum (minimum, maximum,
product) over the lists in their order, in double; ties by rising id, as numbers if all ids are integers, else by bytes. Every
method and device gives the same ids and bits. For many calls with the same lists: quern.RankedLists.

Raises InvalidInput with `position` for a score that rises, is not finite or below the floor, and for a repeated id, as far as
a list is read; UsageError and TypeError for other faults. Method: docs/rank_aggregation.md; Fagin, Lotem and Naor 2003, "Optimal
aggregation algorithms for middleware".

>>> import quern
>>> best = quern.top_k([(["b", "a"], [0.9, 0.5]), (["a", "c"], [0.8, 0.1])], k=2)
>>> list(best)
[('a', 1.3), ('b', 0.9)])"));
}

}  // namespace quern::python
