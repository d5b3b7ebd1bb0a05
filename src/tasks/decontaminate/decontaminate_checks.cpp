// SPDX-License-Identifier: Apache-2.0
#include "tasks/decontaminate/decontaminate_checks.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "quern/base/error.hpp"
#include "quern/ops/contamination_option_table.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/corpus/reading_rules.hpp"

namespace quern {
namespace {

void check_folder(const decontaminate_options& options) {
    if (options.kept && !options.kept_folder.empty())
        throw usage_error("the kept documents can go to a file or to a folder, not to both");
    if (!options.resume) return;
    if (!options.matches_of_job.empty())
        throw usage_error(
            "the matches of a job are for the whole corpus, and a resumed run reads a part of it");
    if (options.kept_folder.empty())
        throw usage_error("to resume a run requires a folder for the kept documents");
    const auto is_stored = [](const std::filesystem::path& path) {
        if (path == "-") return false;
        std::error_code failed;
        const auto status = std::filesystem::status(path, failed);
        return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status) ||
               std::filesystem::is_directory(status);
    };
    if (options.against.source != nullptr || !std::ranges::all_of(options.against.inputs, is_stored))
        throw usage_error(
            "a run that is resumed reads its evaluation sets again (expected files or folders, not standard "
            "input or a pipe)");
}

}  // namespace

void check_request(const decontaminate_options& options) {
    require_documents(options);
    if (options.against.inputs.empty() && options.against.source == nullptr)
        throw usage_error("no evaluation set given");
    require_documents(options.against);
    check_ranges(options.contamination);
    check_folder(options);
    static_cast<void>(text::analyzer(options.text));  // refuses an unknown language, an unreadable list
    for (const corpus_input* const side : {static_cast<const corpus_input*>(&options), &options.against})
        for (const auto& input : side->inputs)
            if (input != "-") refuse_own_output(input);
}

}  // namespace quern
