// SPDX-License-Identifier: Apache-2.0
// The finished parts of a build, kept next to the folder that it fills, so that a killed build can be resumed. It
// identifies the result that they belong to. What it lists is verified by checksum before use; what it does not list is
// removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/statistics.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/store_build/duplicates.hpp"

namespace quern {

/// What was read of the files of folders (io::file_log), in a store that is synchronised. Not a part of it: it may be missing.
inline constexpr std::string_view read_files_name = "read_files.log";

class build_journal {
  public:
    /// An empty journal. `notes`: where to keep it; empty: it is not kept. `request`: everything that the store depends
    /// on.
    build_journal(std::filesystem::path notes, std::string request);
    /// The journal of a build of the same request; what it lists is verified, everything else removed. Nothing if there
    /// is none.
    static std::optional<build_journal> take_over(const std::filesystem::path& store,
                                                  const std::filesystem::path& notes,
                                                  const std::string& request, const context& ctx);

    /// The first stage is done, but not the index.
    void add_duplicates(duplicates_outcome found);
    const std::optional<duplicates_outcome>& duplicates() const { return duplicates_; }
    /// The list for the index, until that is done; duplicates() has it no longer.
    std::vector<excluded_document> take_excluded();

    /// The index is done, or a stage after it: replaces the store's manifest accordingly.
    void add(const std::filesystem::path& store, const store_info& info);
    const std::optional<store_info>& info() const { return info_; }
    /// A stage that made nothing counts as not done; the next add() writes this to the journal.
    void forget(build_stage stage) { info_->stages.erase(stage); }

    reading_record record;                        ///< of the corpus, with the first stage that read it
    std::map<std::string, std::uint64_t> counts;  ///< of the stages, for statistics
    std::vector<stage_statistics> stages;         ///< the finished ones, with their seconds

  private:
    void write() const;
    bool read(const std::filesystem::path& store);
    void remove_unnamed(const std::filesystem::path& store) const;

    std::filesystem::path notes_;
    std::string request_;
    std::optional<duplicates_outcome> duplicates_;
    std::optional<store_section> excluded_;  ///< file of duplicates_->excluded
    std::optional<store_info> info_;
    std::string manifest_before_, manifest_;  ///< checksums: one of the two is in the store
};

}  // namespace quern
