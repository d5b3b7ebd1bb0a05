// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/decontaminate.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <array>

#include "documents.hpp"
#include "errors.hpp"
#include "fingerprint.hpp"
#include "module.hpp"
#include "outputs.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/ops/contamination_option_table.hpp"
#include "quern/tasks/output_file.hpp"
#include "quern/tasks/output_harm.hpp"
#include "result.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct decontaminate_call : corpus_call {
    decontaminate_options options;
    std::filesystem::path output, report;
    bool overwrite = false;
};

/// Evaluation sets in memory, one after the other. Ids are those of the items, after the name of their set.
class joined_sets final : public document_source {
  public:
    struct set {
        std::string name;
        std::unique_ptr<document_argument> documents;
        std::uint32_t end = 0;  ///< the number of the first item that is not in it
    };
    explicit joined_sets(std::vector<set> sets) : sets_(std::move(sets)) {}

    void begin(calling_thread& caller) {
        for (set& s : sets_) {
            corpus_input input;
            s.documents->read_into(input, caller);
            sources_.push_back(input.source);
        }
    }
    bool next(source_document& document) override {
        for (; at_ < sets_.size(); ++at_) {
            if (sources_[at_]->next(document)) {
                ++read_;
                id_ = sets_[at_].name + ":" +
                      (document.id.empty() ? std::to_string(*sets_[at_].documents->rows())
                                           : std::string(document.id));
                document.id = id_;
                return true;
            }
            sets_[at_].end = read_;
        }
        return false;
    }
    std::string_view name() const override { return "evaluation sets"; }
    const std::vector<set>& sets() const { return sets_; }

  private:
    std::vector<set> sets_;
    std::vector<document_source*> sources_;
    std::size_t at_ = 0;
    std::uint32_t read_ = 0;
    std::string id_;
};

/// The argument `against`: files, documents, or a mapping of names to either.
class evaluation_sets {
  public:
    evaluation_sets(const nb::object& given, const corpus_call& call) : call_(call) {
        const bool is_list = nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given);
        if (is_list && nb::len(given) == 0) refuse("against: there is no evaluation set");
        if (!PyMapping_Check(given.ptr()) || !nb::hasattr(given, "items") || is_columns(given)) {
            single_ = std::make_unique<document_argument>(given, call_);
            return;
        }
        std::vector<joined_sets::set> sets;
        for (const nb::handle item : given.attr("items")()) {
            const auto name = nb::cast<std::string>(nb::str(nb::object(item[0])));
            if (is_path(nb::object(item[1]))) {
                for (const auto& path : paths_of("against", nb::object(item[1]))) files_.push_back(path);
                names_.push_back(name);
            } else {
                sets.push_back({name, std::make_unique<document_argument>(nb::object(item[1]), call_)});
            }
        }
        if (!sets.empty() && !files_.empty())
            refuse("against: some sets are files and some are in memory (expected all of one kind)");
        if (sets.empty() && files_.empty()) refuse("against: there is no evaluation set");
        if (!sets.empty()) joined_ = std::make_unique<joined_sets>(std::move(sets));
    }

    void read_into(corpus_input& input, calling_thread& caller) {
        if (single_) {
            single_->read_into(input, caller);
            for (const auto& path : input.inputs) names_.push_back(path.string());
        } else if (joined_) {
            joined_->begin(caller);
            input.source = joined_.get();
            input.max_errors = {.share = 0, .count = 0, .is_share = false};
        } else {
            input.inputs = files_;
            input.fields = call_.fields;
        }
    }

    /// The name of an item's set; empty if the sets have no names.
    std::string name_of(std::uint32_t item, std::uint32_t set) const {
        if (joined_) {
            const auto& sets = joined_->sets();
            return std::ranges::upper_bound(sets, item, {}, &joined_sets::set::end)->name;
        }
        return set < names_.size() ? names_[set] : std::string();
    }

  private:
    /// A mapping of columns, not of sets: it has a usual name for the text.
    bool is_columns(const nb::object& given) const {
        const std::string name = call_.fields.text.empty() ? "text" : call_.fields.text.front();
        return PyMapping_HasKeyString(given.ptr(), name.c_str()) != 0;
    }

    const corpus_call& call_;
    std::unique_ptr<document_argument> single_;
    std::unique_ptr<joined_sets> joined_;
    std::vector<std::filesystem::path> files_;
    std::vector<std::string> names_;
};

struct found_leaks {
    decontaminate_result result;
    std::vector<std::string> sets;  ///< of each match
};

std::unique_ptr<found_leaks> find_leaks(const nb::object& documents, const nb::object& against,
                                        decontaminate_call& call) {
    document_argument train(documents, call);
    const corpus_call plain{call, {}, {}, id_rule::scoped, false, call.fields};
    evaluation_sets sets(against, plain);
    std::unique_ptr<found_leaks> found;
    run(call.run, [&](const context& ctx, calling_thread& caller) {
        train.read_into(call.options, caller);
        sets.read_into(call.options.against, caller);
        std::vector<std::filesystem::path> inputs = call.options.inputs;
        inputs.insert(inputs.end(), call.options.against.inputs.begin(), call.options.against.inputs.end());
        const bool to_folder = is_folder_name(call.output);
        const std::string_view form = form_of_kept(call.output);
        if (to_folder) {
            refuse_harm(call.output.parent_path(), inputs);
            call.options.kept_folder = call.output;
        } else {
            check_result_file(call.output, call.overwrite, inputs, form);
        }
        if (call.options.resume && !to_folder)
            refuse("resume requires an output folder, with a slash at the end");
        check_result_file(call.report, call.overwrite, inputs);
        refuse_shared_files(std::array{call.output, call.report});
        call.options.keep_examples = !call.report.empty();
        std::optional<output_file> kept;
        if (!call.output.empty() && !to_folder) {
            kept.emplace(call.output, output_options{.replace = call.overwrite, .form = form}, ctx);
            call.options.keep_rows = !form.empty();
            call.options.kept = [&](std::string_view bytes) { kept->write(bytes); };
        }
        auto result = decontaminate(call.options, ctx);
        if (kept) kept->commit();
        if (!call.report.empty())
            write_result_file(call.report, call.overwrite, ctx,
                              [&](const auto& sink) { result.write_report(sink); });
        if (to_folder) result.write_kept_folder(ctx);
        std::vector<std::string> names;
        for (const contamination& m : result.matches())
            names.push_back(sets.name_of(m.item, result.item(m.item).set));
        found = std::make_unique<found_leaks>(found_leaks{std::move(result), std::move(names)});
    });
    return found;
}

table matches_table(const found_leaks& found) {
    text_column items, documents, sets;
    number_column<double> shares;
    number_column<std::uint32_t> found_positions, of, numbers, begins, ends;
    number_column<std::uint32_t> positions;
    for (std::size_t i = 0; i < found.sets.size(); ++i) {
        const contamination& m = found.result.matches()[i];
        items.add(found.result.item(m.item).id);
        documents.add(found.result.contaminated(m.document).id);
        sets.add(found.sets[i]);
        shares.push_back(m.share());
        found_positions.push_back(m.found);
        of.push_back(m.of);
        numbers.push_back(m.item);
        positions.push_back(found.result.contaminated(m.document).position);
        begins.push_back(m.begin);
        ends.push_back(m.end);
    }
    table made("matches");
    made.add("item_id", std::move(items))
        .add("document_id", std::move(documents))
        .add("share", std::move(shares));
    made.add("set", std::move(sets)).add("found", std::move(found_positions)).add("of", std::move(of));
    made.add("item", std::move(numbers)).add("position", std::move(positions));
    made.add("begin", std::move(begins)).add("end", std::move(ends));
    return made;
}

nb::object keep_mask(const found_leaks& found) {
    std::vector<std::uint8_t> keep(found.result.found.documents, 1);
    for (std::uint32_t i = 0; i < found.result.found.contaminated; ++i)
        keep[found.result.contaminated(i).position] = 0;
    return flags_of(std::make_shared<const std::vector<std::uint8_t>>(std::move(keep)));
}

}  // namespace

void declare_decontaminate(nb::module_& module) {
    nb::class_<found_leaks>(module, "DecontaminateResult",
                            "The evaluation items that training documents contain.")
        .def_prop_ro("keep", keep_mask, nb::sig("def keep(self) -> NDArray[numpy.bool_]"),
                     "A bool for each training document, in their order: whether it contains no item.")
        .def_prop_ro(
            "matches", matches_table,
            "Every item and training document that contains at least the share `overlap` of it, by item, "
            "then by "
            "document: item_id, document_id, share = found / of (n-grams of the item), set, item (its number "
            "over all "
            "sets), position (of the document), and the bytes [begin, end) of its text in which they are.")
        .def_prop_ro(
            "documents", [](const found_leaks& f) { return f.result.found.documents; },
            "Number of documents.")
        .def_prop_ro(
            "contaminated", [](const found_leaks& f) { return f.result.found.contaminated; },
            "Number of documents with an item.")
        .def_prop_ro(
            "items", [](const found_leaks& f) { return f.result.found.items; },
            "Number of items of all sets.")
        .def_prop_ro(
            "found_items", [](const found_leaks& f) { return f.result.found.found_items; },
            "Number of items that are in a document.")
        .def_prop_ro(
            "empty_items", [](const found_leaks& f) { return f.result.found.empty_items; },
            "Number of items without a word, which cannot be found.")
        .def_prop_ro(
            "short_items", [](const found_leaks& f) { return f.result.found.short_items; },
            "Number of items shorter than an n-gram: all their words must occur in succession.")
        .def_prop_ro(
            "issues", [](const found_leaks& f) { return issues_table(f.result.issues); },
            "The first 100 documents that were rejected or changed.")
        .def_prop_ro(
            "statistics", [](const found_leaks& f) { return statistics_dict(f.result.statistics); },
            nb::sig("def statistics(self) -> dict[str, Any]"), "Stages, seconds, peak memory.")
        .def_prop_ro(
            "fingerprint",
            [](const found_leaks& f) {
                return fingerprint_of_rows({"eval_id", "train_id", "share", "place"}, [&](row_writer& rows) {
                    for (const contamination& m : f.result.matches()) {
                        const std::string place = std::to_string(m.begin) + "-" + std::to_string(m.end);
                        rows.row({f.result.item(m.item).id, f.result.contaminated(m.document).id, m.share(),
                                  std::string_view(place)});
                    }
                });
            },
            "16 hexadecimal digits, equal for equal results on every machine: XXH3 of the rows that "
            "quern decontaminate --matches writes in TSV.")
        .def(
            "__repr__",
            [](const found_leaks& f) {
                return "DecontaminateResult(documents=" + std::to_string(f.result.found.documents) +
                       ", contaminated=" + std::to_string(f.result.found.contaminated) +
                       ", items=" + std::to_string(f.result.found.items) +
                       ", found_items=" + std::to_string(f.result.found.found_items) + ")";
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle self) {
                return nb::module_::import_("quern._display").attr("result_html")(self, "matches");
            },
            nb::sig("def _repr_html_(self) -> str"));

    static parameters<decontaminate_call> options("decontaminate");
    options.table<&decontaminate_call::options, &decontaminate_options::contamination>();
    options.table<&decontaminate_call::options, &decontaminate_options::text>();
    options.add({"output", "str | os.PathLike[str] | None", "None",
                 "Write the documents without items to this file: lines of JSON lines and TSV byte for byte, "
                 "others as JSON lines; .gz and .zst compress; with .parquet, rows of Parquet files. With a "
                 "slash at the end: to a new folder, a file for each file of the training data."},
                [](decontaminate_call& r, nb::handle given) { r.output = text_of("output", given); });
    options.add(
        {"resume", "bool", "False",
         "With an output folder: continue a run of the same call that was killed or interrupted, if there "
         "is one, and keep what is finished if this one is."},
        [](decontaminate_call& r, nb::handle given) { r.options.resume = bool_of("resume", given); });
    options.add({"report", "str | os.PathLike[str] | None", "None",
                 "Write an HTML page about the result to this file."},
                [](decontaminate_call& r, nb::handle given) { r.report = text_of("report", given); });
    options.add({"overwrite", "bool", "False", "Replace existing files."},
                [](decontaminate_call& r, nb::handle given) { r.overwrite = bool_of("overwrite", given); });
    add_corpus(options).common();
    module.def(
        "decontaminate",
        [](const nb::object& documents, const nb::object& against, const nb::kwargs& given) {
            decontaminate_call call = options.read(given);
            return find_leaks(documents, against, call);
        },
        nb::arg("documents").none(), nb::arg("against"), nb::arg("options"),
        nb::sig(options.signature("documents: object, against: object", "DecontaminateResult")),
        options.doc(
            R"(Finds the training documents that contain items of evaluation sets, by word n-grams, exactly.

`documents`: as for `dedup`. `against`: the evaluation sets, each document of which is an item: paths, documents in memory, or a
mapping of names to sets. Every n-gram is found, and compared word by word.

>>> import quern
>>> train = ["Salt comes from the sea.", "A riddle: which wheel turns, (in the mill) at dawn?"]
>>> result = quern.decontaminate(train, {"riddles": ["Which wheel turns in the mill at dusk?"]}, ngram=3)
>>> result.keep.tolist()
[True, False]
>>> result.matches[0]["set"], result.matches[0]["found"], result.matches[0]["of"]
('riddles', 5, 6)
)"));
}

}  // namespace quern::python
