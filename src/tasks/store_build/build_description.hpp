// SPDX-License-Identifier: Apache-2.0
// Describes a build of files, to resume it if it is killed, and to see later whether a store is still that of its inputs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/statistics.hpp"
#include "tasks/corpus/described_corpus.hpp"

namespace quern {

/// Whether the inputs are files and folders, which can be read again.
bool is_repeatable(const build_options& options);

/// Everything that the bytes of a build of files depend on, except the stages after the index.
described_content describe_build(const build_options& options, const context& ctx);

/// Everything besides the files that the documents read from them depend on.
std::string describe_reading(const build_options& options, const context& ctx);

/// Everything besides the texts that their near-duplicates depend on.
std::string describe_duplicates();

/// The statistics that a store keeps. A description is added as its checksum: the store will be up to date as long as it
/// is the same.
std::string statistics_of_store(const run_statistics& statistics,
                                const std::optional<std::string>& description, const context& ctx);

/// Whether the statistics of a store have this description of a build.
bool is_up_to_date(const std::filesystem::path& store, const std::string& description);

/// Whether the statistics of a store say that the same version of the program made it, with the same seed: its stages make the
/// same of the same input.
bool is_made_alike(const std::filesystem::path& store, const context& ctx);

}  // namespace quern
