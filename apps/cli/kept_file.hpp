// SPDX-License-Identifier: Apache-2.0
// -o FILE|DIR/ for kept documents, of filter, dedup and decontaminate.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "output.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/output_harm.hpp"
#include "session.hpp"

namespace quern::cli {

constexpr std::string_view parquet_form = ".parquet";

/// Refuses a folder without the slash.
inline void require_file_or_slash(const std::string& name) {
    std::error_code failed;
    if (!name.ends_with('/') && std::filesystem::is_directory(name, failed))
        throw usage_error(fmt::format(
            "{0} is a folder (expected a file; {0}/, with a slash, has a file for each file of the "
            "corpus)",
            name));
}

/// Nothing if `name` ends with a slash, a folder.
inline destination file_of_documents(const std::string& name) {
    if (name.ends_with('/')) return {};
    require_file_or_slash(name);
    if (form_of_name(name) != parquet_form || is_compressed_name(name))
        return {.path = name, .written = "lines, as in FILE.jsonl, or FILE.parquet for Parquet files"};
    return {.path = name, .form = std::string(parquet_form), .written = "the kept rows of Parquet files"};
}

/// Whether it is a Parquet file.
inline bool holds_rows(const destination& kept) {
    return kept.form == parquet_form;
}

/// The folder of `name`, which ends with a slash, unless it would harm the inputs.
inline std::filesystem::path harmless_folder(const std::string& name,
                                             const std::vector<std::filesystem::path>& inputs) {
    std::filesystem::path folder = std::filesystem::path(name).parent_path();
    refuse_harm(folder, inputs);
    return folder;
}

/// Opens a requested result; empty if it was not requested.
inline std::optional<output> open_if(const destination& to, const session& job) {
    if (to.path.empty()) return {};
    return job.open(to);
}

/// Commits those results that were requested, all or none.
inline void commit_given(std::initializer_list<std::optional<output>*> results) {
    std::vector<output*> given;
    for (std::optional<output>* const result : results)
        if (*result) given.push_back(&**result);
    output::commit_together(given);
}

/// With --resume: whether a former run of the same command made the folder; then says so.
template <class Options>
bool is_complete_already(const Options& options, const session& job) {
    if (!options.resume || !is_kept_folder_complete(options)) return false;
    job.messages.info(options.kept_folder.string() + " is complete already");
    return true;
}

/// work(). If it fails with --resume, says that the same command continues.
template <class Options, class Work>
auto run_resumable(const Options& options, const session& job, const Work& work) {
    try {
        return work();
    } catch (const usage_error&) {
        throw;
    } catch (const error&) {
        if (options.resume)
            job.messages.info(
                fmt::format("{}: what is finished is kept; the same command continues from there",
                            options.kept_folder.string()));
        throw;
    }
}

}  // namespace quern::cli
