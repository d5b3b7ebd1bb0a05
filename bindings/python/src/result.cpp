// SPDX-License-Identifier: Apache-2.0
#include "result.hpp"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace quern::python {

nb::object statistics_dict(const run_statistics& statistics) {
    return nb::module_::import_("json").attr("loads")(to_json(statistics));
}

nb::dict counts_dict(const reading_counts& counts) {
    nb::dict made;
    made["documents"] = counts.documents;
    made["rejected"] = counts.rejected;
    made["damaged"] = counts.damaged;
    made["truncated"] = counts.truncated;
    made["incomplete"] = counts.incomplete;
    nb::dict skipped;
    for (const auto& [reason, count] : counts.skipped) skipped[reason.c_str()] = count;
    made["skipped"] = skipped;
    return made;
}

table issues_table(const std::vector<input_issue>& issues) {
    text_column paths, reasons;
    number_column<std::uint64_t> lines;
    bool_column rejected;
    for (const input_issue& issue : issues) {
        paths.add(issue.path);
        lines.push_back(issue.line);
        reasons.add(issue.reason);
        rejected.values.push_back(issue.rejected);
    }
    table made("issues");
    made.add("path", std::move(paths)).add("line", std::move(lines)).add("reason", std::move(reasons));
    made.add("rejected", std::move(rejected));
    return made;
}

}  // namespace quern::python
