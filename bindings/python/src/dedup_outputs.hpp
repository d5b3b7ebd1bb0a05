// SPDX-License-Identifier: Apache-2.0
// The files that calls about duplicates read and write.
#pragma once

#include <filesystem>
#include <vector>

#include "outputs.hpp"
#include "parameters.hpp"
#include "texts.hpp"

namespace quern::python {

/// The files and folders that a run reads.
template <class Options>
std::vector<std::filesystem::path> inputs_of(const Options& options) {
    std::vector<std::filesystem::path> all = options.inputs;
    all.insert(all.end(), options.against.begin(), options.against.end());
    return all;
}

/// `what`: the help of `output`.
template <class Request>
void add_outputs(parameters<Request>& to, const char* what) {
    to.add({"output", "str | os.PathLike[str] | None", "None", what},
           [](Request& r, nanobind::handle given) { r.output = text_of("output", given); });
    to.add({"report", "str | os.PathLike[str] | None", "None",
            "Write an HTML page about the result to this file."},
           [](Request& r, nanobind::handle given) { r.report = text_of("report", given); });
    to.add({"overwrite", "bool", "False", "Replace existing files."},
           [](Request& r, nanobind::handle given) { r.overwrite = bool_of("overwrite", given); });
}

}  // namespace quern::python
