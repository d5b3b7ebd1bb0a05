// SPDX-License-Identifier: Apache-2.0
// What a build has finished so far, kept beside the folder that it fills, so that a build that is killed can be gone on
// with. It names the answer it is a part of; what it names is checked by checksum before it is used, and what it does not
// name is removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/statistics.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/build/duplicates.hpp"
#include "tasks/corpus/reading_rules.hpp"

namespace quern {

class build_journal {
  public:
    /// Of nothing done. `notes`: where it is kept; empty: it is not. `request`: all that the store depends on.
    build_journal(std::filesystem::path notes, std::string request);
    /// The journal of a build of the same request, with what it names whole and all else removed; nothing where there is
    /// none.
    static std::optional<build_journal> take_over(const std::filesystem::path& store,
                                                  const std::filesystem::path& notes,
                                                  const std::string& request, const context& run);

    /// The first stage is done, the index not yet.
    void add_duplicates(duplicates_outcome found);
    const std::optional<duplicates_outcome>& duplicates() const { return duplicates_; }
    /// The list for the index, as long as that is not done; then duplicates() lacks it.
    std::vector<left_out_document> take_left_out();

    /// The index is done, or a stage that follows it: the store's manifest is replaced by one that says so.
    void add(const std::filesystem::path& store, const store_info& info);
    const std::optional<store_info>& info() const { return info_; }
    /// A stage that made nothing counts as not done, from the next add() on also for who reads the journal.
    void forget(build_stage stage) { info_->stages.erase(stage); }

    reading_record record;                        ///< of the corpus, with the first stage that read it
    std::map<std::string, std::uint64_t> counts;  ///< of the stages, for statistics
    std::vector<stage_statistics> stages;         ///< those that are done, with their seconds

  private:
    void write() const;
    bool read(const std::filesystem::path& store);
    void remove_unnamed(const std::filesystem::path& store) const;

    std::filesystem::path notes_;
    std::string request_;
    std::optional<duplicates_outcome> duplicates_;
    std::optional<store_section> left_out_;  ///< file of duplicates_->left_out
    std::optional<store_info> info_;
    std::string manifest_before_, manifest_;  ///< checksums: one of the two lies in the store
};

}  // namespace quern
