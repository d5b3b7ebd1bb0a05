// SPDX-License-Identifier: Apache-2.0
// quern.dedup_parts: repeated parts of documents.
#include "quern/tasks/dedup_parts.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dedup_outputs.hpp"
#include "documents.hpp"
#include "errors.hpp"
#include "fingerprint.hpp"
#include "module.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/tasks/dedup_parts_option_table.hpp"
#include "quern/tasks/output_harm.hpp"
#include "result.hpp"
#include "table.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct parts_call : corpus_call {
    dedup_parts_options options;
    std::filesystem::path output, report;
    bool overwrite = false;
    parts_call() { options.level = dedup_level::substring; }
};

/// Calls use(what is left of the text, whether something is cut) for each document of the corpus.
template <class Use>
void for_each_rest(const dedup_parts_result& found, Use&& use) {
    std::size_t next = 0;
    const auto cuts = found.cuts();
    for (std::uint32_t d = found.earlier(); d < found.earlier() + found.documents(); ++d) {
        const std::string_view text = found.text(d);
        const std::size_t first = next;
        std::string rest;
        std::size_t at = 0;
        for (; next < cuts.size() && cuts[next].document == d; ++next) {
            rest.append(text.substr(at, cuts[next].begin - at));
            at = cuts[next].end;
        }
        rest.append(text.substr(at));
        use(rest, next != first);
    }
}

nb::list texts_after_cuts(const dedup_parts_result& found) {
    nb::list texts;
    for_each_rest(found, [&](const std::string& rest, bool) { texts.append(text_object(rest)); });
    return texts;
}

nb::object kept_after_cuts(const dedup_parts_result& found) {
    auto kept = std::make_shared<std::vector<std::uint8_t>>();
    for_each_rest(found, [&](const std::string& rest, bool has_cut) {
        kept->push_back(has_cut && rest.find_first_not_of(" \t\n\v\f\r") == std::string::npos ? 0 : 1);
    });
    return flags_of(std::move(kept));
}

}  // namespace

void declare_dedup_parts(nb::module_& module) {
    nb::class_<dedup_parts_result>(module, "PartsResult", "The repeated parts of documents.")
        .def_prop_ro(
            "cuts",
            [](const dedup_parts_result& f) {
                text_column ids, first_ids;
                number_column<std::uint64_t> begins, ends;
                number_column<std::int64_t> positions, firsts;
                for (const text_cut& cut : f.cuts()) {
                    ids.add(f.id(cut.document));
                    begins.push_back(cut.begin);
                    ends.push_back(cut.end);
                    first_ids.add(f.id(cut.first));
                    positions.push_back(std::int64_t{cut.document} - f.earlier());
                    firsts.push_back(std::int64_t{cut.first} - f.earlier());
                }
                table made("cuts");
                made.add("id", std::move(ids)).add("begin", std::move(begins)).add("end", std::move(ends));
                made.add("first_id", std::move(first_ids)).add("position", std::move(positions));
                made.add("first", std::move(firsts));
                return made;
            },
            "What is cut: id, bytes [begin, end) of the UTF-8 text, first_id (the document with the first "
            "occurrence), and the positions of both; negative ones are documents of `against`.")
        .def_prop_ro(
            "texts", texts_after_cuts, nb::sig("def texts(self) -> list[str]"),
            "The texts without what is cut, in the order of the documents; of those that are not kept only "
            "white space, or nothing.")
        .def_prop_ro("keep", kept_after_cuts, nb::sig("def keep(self) -> NDArray[numpy.bool_]"),
                     "A bool for each document, in their order: False if it was cut and only white space is "
                     "left, so that `output` lacks it.")
        .def_prop_ro("documents", &dedup_parts_result::documents, "Number of documents.")
        .def_prop_ro("changed", &dedup_parts_result::changed, "Number of documents with a cut.")
        .def_prop_ro("dropped", &dedup_parts_result::dropped, "Number of documents that are not kept.")
        .def_prop_ro("characters", &dedup_parts_result::characters, "Code points of the texts.")
        .def_prop_ro("characters_cut", &dedup_parts_result::characters_cut, "Code points that are cut.")
        .def_prop_ro(
            "issues", [](const dedup_parts_result& f) { return issues_table(f.issues); },
            "The first 100 documents that were rejected or changed.")
        .def_prop_ro(
            "statistics", [](const dedup_parts_result& f) { return statistics_dict(f.statistics); },
            nb::sig("def statistics(self) -> dict[str, Any]"), "Stages, seconds, peak memory.")
        .def_prop_ro(
            "fingerprint",
            [](const dedup_parts_result& f) {
                return fingerprint_of_rows({"id", "begin", "end", "first"}, [&](row_writer& rows) {
                    for (const text_cut& cut : f.cuts())
                        rows.row({f.id(cut.document), cut.begin, cut.end, f.id(cut.first)});
                });
            },
            "16 hexadecimal digits: XXH3 of the cuts as quern dedup --cuts writes them in TSV.")
        .def(
            "__repr__",
            [](const dedup_parts_result& f) {
                return "PartsResult(documents=" + std::to_string(f.documents()) +
                       ", changed=" + std::to_string(f.changed()) +
                       ", dropped=" + std::to_string(f.dropped()) + ")";
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle self) {
                return nb::module_::import_("quern._display").attr("result_html")(self, "cuts");
            },
            nb::sig("def _repr_html_(self) -> str"));

    static parameters<parts_call> options("dedup_parts");
    options.table<&parts_call::options>();
    options.add({"against", "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None", "None",
                 "Corpora and stores whose documents come first: what occurs in them is cut, too."},
                [](parts_call& r, nb::handle given) { r.options.against = paths_of("against", given); });
    options.add(
        {"output", "str | os.PathLike[str] | None", "None",
         "Write the documents without what is cut to this file; those of which nothing is left are dropped. "
         "With a slash at the end: to a new folder, a file for each file of the corpus."},
        [](parts_call& r, nb::handle given) { r.output = text_of("output", given); });
    options.add({"overwrite", "bool", "False", "Replace an existing file."},
                [](parts_call& r, nb::handle given) { r.overwrite = bool_of("overwrite", given); });
    add_corpus(options).common();
    module.def(
        "dedup_parts",
        [](const nb::object& documents, const nb::kwargs& given) {
            parts_call call = options.read(given);
            if (call.options.level == dedup_level::document)
                refuse(
                    "level: 'document' is what quern.dedup compares (expected paragraph, line or substring)");
            document_argument source(documents, call);
            std::unique_ptr<dedup_parts_result> found;
            run(call.run, [&](const context& ctx, calling_thread& caller) {
                source.read_into(call.options, caller);
                const bool to_folder = is_folder_name(call.output);
                if (to_folder) {
                    refuse_harm(call.output.parent_path(), inputs_of(call.options));
                    call.options.kept_folder = call.output;
                } else {
                    check_result_file(call.output, call.overwrite, inputs_of(call.options));
                }
                call.options.keep_records = !call.output.empty() && !to_folder;
                found = std::make_unique<dedup_parts_result>(dedup_parts(call.options, ctx));
                if (call.output.empty()) return;
                if (to_folder) return found->write_kept_folder(ctx);
                write_result_file(call.output, call.overwrite, ctx,
                                  [&](const auto& sink) { found->write_kept(sink); });
            });
            return found;
        },
        nb::arg("documents").none(), nb::arg("options"),
        nb::sig(options.signature("documents: object", "PartsResult")),
        options.doc(
            R"(Cuts what occurs again: lines, paragraphs, or any substrings of at least `min_length` code points.

What an earlier document has, or the same one before, is cut; first occurrences stay. Exact, and the same for every number
of threads and memory budget. `documents`: as for `dedup`.

>>> import quern
>>> result = quern.dedup_parts(["Grain is ground.\nAll rights reserved.", "Salt is cooked.\nAll rights reserved."],
...                            level="line", min_length=10)
>>> result.texts[1]
'Salt is cooked.'
)"));
}

}  // namespace quern::python
