// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/filter.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <array>

#include "documents.hpp"
#include "errors.hpp"
#include "fingerprint.hpp"
#include "module.hpp"
#include "outputs.hpp"
#include "quern/tasks/filter_option_table.hpp"
#include "quern/tasks/output_file.hpp"
#include "quern/tasks/output_harm.hpp"
#include "result.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct filter_call : corpus_call {
    filter_options options;
    std::filesystem::path output, report;
    bool overwrite = false;
};

/// Names separated by commas, or a list of names.
std::vector<std::string> names_of(std::string_view what, nb::handle given) {
    std::vector<std::string> names;
    const auto add = [&](const std::string& list) {
        for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
            end = list.find(',', begin);
            std::string name = list.substr(begin, end - begin);
            name.erase(0, name.find_first_not_of(' '));
            name.erase(name.find_last_not_of(' ') + 1);
            names.push_back(std::move(name));
        }
    };
    if (nb::isinstance<nb::str>(given)) {
        add(text_argument(what, given));
    } else if (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given)) {
        for (const nb::handle each : nb::iter(given)) add(text_argument(what, each));
    } else {
        refuse(std::string(what) + ": expected a str with names separated by commas, or a list of names");
    }
    return names;
}

std::string rule_name(nb::handle given) {
    std::string name = text_argument("rules", given);
    std::ranges::replace(name, '_', '-');
    return name;
}

void set_rule(rule_choice& rules, const std::string& name, nb::handle value) {
    if (nb::isinstance<nb::bool_>(value)) return rules.set(name, nb::cast<bool>(value) ? "on" : "off");
    if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
        std::vector<std::string> words;
        for (const nb::handle each : nb::iter(value)) words.push_back(text_argument(name, each));
        return rules.set(name, std::move(words));
    }
    if (nb::isinstance<nb::int_>(value) || nb::isinstance<nb::float_>(value))
        return rules.set(name, nb::cast<std::string>(nb::repr(value)));
    rules.set(name, text_argument(name, value));
}

/// "gopher-quality,c4", a list of such names, a mapping of names to values, or the path of a file in TOML.
rule_choice rules_of(nb::handle given) {
    rule_choice rules;
    if (nb::isinstance<nb::str>(given)) {
        rules.add(text_argument("rules", given));
    } else if (nb::hasattr(given, "__fspath__")) {
        rules = read_rules(text_of("rules", given));
    } else if (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given)) {
        for (const nb::handle each : nb::iter(given)) rules.add(text_argument("rules", each));
    } else if (PyMapping_Check(given.ptr()) && nb::hasattr(given, "items")) {
        for (const nb::handle item : given.attr("items")()) {
            const std::string name = rule_name(nb::object(item[0]));
            const nb::object value = item[1];
            const bool is_group = name.find('.') == std::string::npos;
            if (!is_group) {
                set_rule(rules, name, value);
            } else if (PyMapping_Check(value.ptr()) && nb::hasattr(value, "items")) {
                if (name != "length") rules.add(name);
                for (const nb::handle rule : value.attr("items")())
                    set_rule(rules, name + "." + rule_name(nb::object(rule[0])), nb::object(rule[1]));
            } else if (value.is(Py_True)) {
                rules.add(name);
            } else {
                refuse("rules: " + name +
                       " is a group of rules (expected True or a mapping of its rules to values)");
            }
        }
    } else {
        refuse(
            "rules: expected a str, a list of names, a mapping of names to values, or the path of a file in "
            "TOML");
    }
    return rules;
}

struct removed_row {
    std::uint64_t position;
    std::string id, rule, value, limit;
};

struct filtered {
    std::optional<filter_result> result;
    std::vector<std::uint8_t> keep;
    std::vector<removed_row> removed;
    std::vector<std::string> texts;
    bool has_texts = false;
};

std::unique_ptr<filtered> filter_documents(const nb::object& documents, filter_call& call) {
    document_argument corpus(documents, call);
    auto made = std::make_unique<filtered>();
    run(call.run, [&](const context& ctx, calling_thread& caller) {
        corpus.read_into(call.options, caller);
        const bool to_folder = is_folder_name(call.output);
        const std::string_view form = form_of_kept(call.output);
        if (to_folder) {
            refuse_harm(call.output.parent_path(), call.options.inputs);
            call.options.kept_folder = call.output;
        } else {
            check_result_file(call.output, call.overwrite, call.options.inputs, form);
        }
        if (call.options.resume && !to_folder)
            refuse("resume requires an output folder, with a slash at the end");
        check_result_file(call.report, call.overwrite, call.options.inputs);
        refuse_shared_files(std::array{call.output, call.report});
        call.options.keep_examples = !call.report.empty();
        std::optional<output_file> kept;
        if (!call.output.empty() && !to_folder) {
            kept.emplace(call.output, output_options{.replace = call.overwrite, .form = form}, ctx);
            call.options.keep_rows = !form.empty();
            call.options.kept = [&](std::string_view bytes) { kept->write(bytes); };
        }
        made->has_texts = call.options.wants_texts;
        call.options.decided = [&](const filter_decision& d) {
            made->keep.push_back(d.is_kept ? 1 : 0);
            if (!d.is_kept)
                made->removed.push_back({d.position, std::string(d.id), std::string(d.rule),
                                         std::string(d.value), std::string(d.limit)});
            if (d.is_kept && made->has_texts) made->texts.emplace_back(d.text);
        };
        made->result.emplace(filter(call.options, ctx));
        if (kept) kept->commit();
        if (!call.report.empty())
            write_result_file(call.report, call.overwrite, ctx,
                              [&](const auto& sink) { made->result->write_report(sink); });
    });
    return made;
}

table removed_table(const filtered& f) {
    number_column<std::uint64_t> positions;
    text_column ids, rules, values, limits;
    for (const removed_row& row : f.removed) {
        positions.push_back(row.position);
        ids.add(row.id);
        rules.add(row.rule);
        values.add(row.value);
        limits.add(row.limit);
    }
    table made("removed documents");
    made.add("position", std::move(positions)).add("id", std::move(ids)).add("rule", std::move(rules));
    made.add("value", std::move(values)).add("limit", std::move(limits));
    return made;
}

table rules_table(const filtered& f) {
    text_column rules, limits;
    number_column<std::uint64_t> documents;
    for (const removed_by_rule& rule : f.result->removed_by()) {
        rules.add(rule.rule);
        limits.add(rule.limit);
        documents.push_back(rule.documents);
    }
    table made("rules");
    made.add("rule", std::move(rules)).add("limit", std::move(limits)).add("removed", std::move(documents));
    return made;
}

nb::object texts_of(const filtered& f) {
    if (!f.has_texts) return nb::none();
    nb::list texts;
    for (const std::string& text : f.texts) texts.append(text_object(text));
    return texts;
}

table all_rules() {
    text_column names, kinds, defaults, measures, sources;
    for (const quality_group& group : quality_groups()) {
        for (const quality_rule& rule : quality_rules().subspan(group.first, group.end - group.first)) {
            names.add(full_name(rule));
            kinds.add(name_of(rule.kind));
            defaults.add(rule.limit ? to_text(*rule.limit) : rule.has_default ? "on" : "off");
            measures.add(rule.help);
            sources.add(group.source);
        }
    }
    table made("rules");
    made.add("rule", std::move(names)).add("kind", std::move(kinds)).add("default", std::move(defaults));
    made.add("measure", std::move(measures)).add("source", std::move(sources));
    return made;
}

void declare_result(nb::module_& module) {
    nb::class_<filtered>(module, "FilterResult", "The documents that quality rules removed.")
        .def_prop_ro(
            "keep",
            [](const filtered& f) {
                return flags_of(std::make_shared<const std::vector<std::uint8_t>>(f.keep));
            },
            nb::sig("def keep(self) -> NDArray[numpy.bool_]"),
            "A bool for each document, in their order: whether it passes all rules.")
        .def_prop_ro("removed", removed_table,
                     "The removed documents in their order: position, id, the first rule that it does not "
                     "pass, its value "
                     "and the limit, both as text.")
        .def_prop_ro("rules", rules_table,
                     "Every rule that was applied, in order: rule, limit, removed (the number of documents).")
        .def_prop_ro("texts", texts_of, nb::sig("def texts(self) -> list[str] | None"),
                     "The texts of the kept documents, as the rules and masks leave them; None without "
                     "return_texts=True.")
        .def_prop_ro(
            "documents", [](const filtered& f) { return f.result->found.documents; }, "Number of documents.")
        .def_prop_ro(
            "changed", [](const filtered& f) { return f.result->found.changed; },
            "Number of kept documents whose text a rule or a mask changed.")
        .def_prop_ro(
            "emails", [](const filtered& f) { return f.result->found.emails; },
            "Number of masked e-mail addresses.")
        .def_prop_ro(
            "ips", [](const filtered& f) { return f.result->found.ips; }, "Number of masked IP addresses.")
        .def_prop_ro(
            "issues", [](const filtered& f) { return issues_table(f.result->issues); },
            "The first 100 documents that were rejected or changed while they were read.")
        .def_prop_ro(
            "statistics", [](const filtered& f) { return statistics_dict(f.result->statistics); },
            nb::sig("def statistics(self) -> dict[str, Any]"), "Stages, seconds, peak memory.")
        .def_prop_ro(
            "fingerprint",
            [](const filtered& f) {
                return fingerprint_of_rows({"id", "rule", "value", "limit"}, [&](row_writer& rows) {
                    for (const removed_row& row : f.removed)
                        rows.row({std::string_view(row.id), std::string_view(row.rule),
                                  std::string_view(row.value), std::string_view(row.limit)});
                });
            },
            "16 hexadecimal digits, equal for equal results on every machine: XXH3 of the rows that quern "
            "filter "
            "--removed writes in TSV.")
        .def(
            "__repr__",
            [](const filtered& f) {
                return "FilterResult(documents=" + std::to_string(f.result->found.documents) +
                       ", removed=" + std::to_string(f.result->found.removed) +
                       ", changed=" + std::to_string(f.result->found.changed) + ")";
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle self) {
                return nb::module_::import_("quern._display").attr("result_html")(self, "rules");
            },
            nb::sig("def _repr_html_(self) -> str"));
}

}  // namespace

void declare_filter(nb::module_& module) {
    declare_result(module);
    static parameters<filter_call> options("filter");
    options.add({"rules", "object", "None",
                 "The rules, in the order in which they are applied: names of groups and rules separated by "
                 "commas, a "
                 "list of them, a mapping {\"gopher-quality\": {\"min-words\": 20}, \"c4.javascript\": "
                 "True}, or the path "
                 "object of a file in TOML. filter_rules() lists all."},
                [](filter_call& r, nb::handle given) { r.options.rules = rules_of(given); });
    options.table<&filter_call::options>({"sample_removed"});
    options.add(
        {"language", "str | list[str] | None", "None",
         "Before the rules, remove documents that are not mainly in one of these languages (ISO 639: \"en\", "
         "\"de\")."},
        [](filter_call& r, nb::handle given) {
            for (const std::string& code : names_of("language", given))
                r.options.languages.push_back(detectable_language(code));
        });
    options.add(
        {"mask", "str | list[str] | None", "None",
         "In the kept documents, replace e-mail addresses (\"emails\") and public IPv4 addresses (\"ips\")."},
        [](filter_call& r, nb::handle given) {
            for (const std::string& name : names_of("mask", given)) {
                if (name != "emails" && name != "ips")
                    refuse("mask: invalid value '" + name + "' (expected emails or ips)");
                (name == "emails" ? r.options.mask_emails : r.options.mask_ips) = true;
            }
        });
    options.add(
        {"return_texts", "bool", "False", "Keep the texts of the kept documents in the result."},
        [](filter_call& r, nb::handle given) { r.options.wants_texts = bool_of("return_texts", given); });
    options.add(
        {"output", "str | os.PathLike[str] | None", "None",
         "Write the kept documents to this file: lines of JSON lines and TSV byte for byte, but for changed "
         "texts, others as JSON lines; .gz and .zst compress; with .parquet, rows of Parquet files. With a "
         "slash at the end: to a new folder, a file for each file of the corpus."},
        [](filter_call& r, nb::handle given) { r.output = text_of("output", given); });
    options.add(
        {"resume", "bool", "False",
         "With an output folder: continue a run of the same call that was killed or interrupted, if there "
         "is one, and keep what is finished if this one is."},
        [](filter_call& r, nb::handle given) { r.options.resume = bool_of("resume", given); });
    options.add({"report", "str | os.PathLike[str] | None", "None",
                 "Write an HTML page with examples of what each rule removed to this file."},
                [](filter_call& r, nb::handle given) { r.report = text_of("report", given); });
    options.add(
        {"sample_removed", "int", "5", "Examples of each rule in the report, first ones and by hash."},
        [](filter_call& r, nb::handle given) {
            r.options.sample_removed = static_cast<std::uint32_t>(whole_of("sample_removed", given, 0, 1000));
        });
    options.add({"overwrite", "bool", "False", "Replace existing files."},
                [](filter_call& r, nb::handle given) { r.overwrite = bool_of("overwrite", given); });
    add_corpus(options).common();
    module.def(
        "filter",
        [](const nb::object& documents, const nb::kwargs& given) {
            filter_call call = options.read(given);
            return filter_documents(documents, call);
        },
        nb::arg("documents").none(), nb::arg("options"),
        nb::sig(options.signature("documents: object", "FilterResult")),
        options.doc(
            R"(Applies quality rules to documents: lengths, repetition, the rules of Gopher, C4 and FineWeb, languages, masks.

`documents`: as for `dedup`. Each document is removed by the first rule that it does not pass; the limits are compared in integers.
The rules of C4 drop lines, so that kept documents have other texts (`return_texts`, `output`).

Returns a FilterResult: `keep`, `removed`, `rules`, `texts`. Errors: a ValueError for an unknown rule or a wrong limit, with the names
that exist. Cost: one pass; about 20 ms for 1 MB of text with all groups, on one core. Sources: Rae et al. 2021 (Gopher), Raffel et al.
2020 (C4), Penedo et al. 2024 (FineWeb); docs/filter.md has the formulas.

>>> import quern
>>> result = quern.filter(["A mill by a river.", "buy buy buy buy"], rules="gopher-repetition.max-top-2-gram=0.8")
>>> result.keep.tolist(), result.removed["rule"]
([True, False], ['gopher-repetition.max-top-2-gram']))"));
    module.def("filter_rules", all_rules, nb::sig("def filter_rules() -> Table"),
               "All rules of filter(), in the order of their groups: rule, kind, default, measure, source.");
}

}  // namespace quern::python
