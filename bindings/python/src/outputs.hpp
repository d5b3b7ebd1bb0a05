// SPDX-License-Identifier: Apache-2.0
// The file that a call writes besides its result.
#pragma once

#include <nanobind/nanobind.h>

#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "quern/base/context.hpp"
#include "quern/tasks/output_file.hpp"

namespace quern::python {

/// The name of a folder ends in a slash, as on the command line.
inline bool is_folder_name(const std::filesystem::path& path) {
    return path.native().ends_with('/');
}
/// ".parquet" for the name of a file with rows of Parquet files, else nothing.
inline std::string_view form_of_kept(const std::filesystem::path& path) {
    constexpr std::string_view parquet = ".parquet";
    return form_of_name(path) == parquet && !is_compressed_name(path) ? parquet : std::string_view();
}
/// Throws usage_error before the work if the file cannot be written, exists (unless `overwrite`), or if it would damage
/// an input or a store (refuse_harm). Does nothing for an empty path. `form`: as in output_options.
void check_result_file(const std::filesystem::path& path, bool overwrite,
                       std::span<const std::filesystem::path> inputs, std::string_view form = {});
/// Throws usage_error if two results of a call go to the same file. Empty paths are none.
void refuse_shared_files(std::span<const std::filesystem::path> results);
/// Writes a file that appears whole or not at all; `write` gets what takes its bytes.
void write_result_file(const std::filesystem::path& path, bool overwrite, const context& ctx,
                       const std::function<void(const std::function<void(std::string_view)>&)>& write,
                       std::string_view form = {});

}  // namespace quern::python
