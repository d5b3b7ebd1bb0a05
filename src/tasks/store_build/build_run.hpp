// SPDX-License-Identifier: Apache-2.0
// The work of one build: its stages in a folder under a temporary name, and the journal of those that are finished.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "io/corpus/corpus.hpp"
#include "io/corpus/file_log.hpp"
#include "io/files/atomic_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/statistics.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/corpus/described_corpus.hpp"
#include "tasks/shared/device_ahead.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "tasks/store_build/document_spool.hpp"
#include "tasks/store_build/index.hpp"
#include "tasks/store_build/journal.hpp"
#include "tasks/store_build/reading.hpp"
#include "tasks/store_build/stages.hpp"
#include "tasks/store_build/store_comparison.hpp"
#include "tasks/store_build/store_to_update.hpp"

namespace quern {

/// What a store has, as the result of its build.
build_result result_of(const store_info& info);

/// The work of one call.
class build_run {
  public:
    /// `described`: if the build is repeatable; `old`: the store to change, without the documents to delete, or null;
    /// `changes`: what that changed.
    build_run(const build_options& options, std::optional<described_content> described,
              std::unique_ptr<store_to_update> old, store_changes changes, const context& ctx);

    /// An error keeps the finished stages, which took longer than the failed one, for the same command to resume.
    /// Ctrl-C does not, nor does an error that reports damage there.
    build_result run();

  private:
    build_result make_all();
    /// For what can use a GPU: from then on the context has the device.
    void settle_device();
    /// Everything that the results so far depend on, whatever stages follow.
    std::string request() const;
    bool take_over(const std::filesystem::path& folder, const std::filesystem::path& notes);
    /// A stage that ran while its input stage was skipped made nothing; it counts as not done if that input is built
    /// now.
    void forget_what_lacked_something();
    void report_what_exists() const;
    void add(const added_stage& stage);
    /// The text of an error, with the hidden folder replaced by the store.
    std::string of_the_store(const error& failed) const;
    /// Whether there is something for the next build to resume; then the folder stays.
    bool keep_what_is_made();
    /// As keep_what_is_made(); returns the message for the user.
    std::string kept_after(const error& failed);
    void make(const added_stage& stage);
    /// What the store that is replaced has of a stage, if that would make the same again.
    std::optional<stage_outcome> unchanged_of(build_stage stage) const;
    /// Last, and not in the journal: a resumed build does it again.
    void add_user_vectors();
    void end_stage(build_stage stage, const std::vector<store_section>& sections);
    void log_stage(std::string_view name, std::string_view device) const;
    build_result result();

    // build_run_index.cpp
    const store_to_update* old() const { return old_.get(); }
    std::unique_ptr<io::corpus_reader> open_inputs(const io::corpus_options& corpus) const;
    std::unique_ptr<io::corpus_reader> open_corpus() const;
    /// What was read of folders is kept for the next --sync; units wait for each other in memory then.
    void keep_read_files();
    /// The new documents wait on disk until it is known which of the old ones they replace.
    void read_replacements();
    /// If near-duplicates are excluded, documents wait on disk until it is known which ones.
    void index(const text_options& text);
    /// Whether a store is replaced of which documents may stay.
    bool is_change() const { return old_ || before_; }
    /// Why the words and texts of the store that is replaced may be others than those that this program makes.
    std::optional<std::string> reason_not_to_join() const;
    /// The index, if most documents are in the store that is replaced; says why not. `read` is null if there is a reason.
    std::optional<index_outcome> join_with_store(const text_options& text, const document_spool* read,
                                                 const index_source& source, const context& ctx);
    /// A resumed build has them from the journal.
    void note_changes(const index_outcome& outcome);
    void leave_out(document_spool& spool);

    const build_options& options_;
    device_ahead device_;
    context ctx_;                                       ///< that of `device_`
    const std::optional<described_content> described_;  // if the build is repeatable
    const std::unique_ptr<store_to_update> old_;
    const std::unique_ptr<store_comparison> before_;
    std::unique_ptr<io::file_log> read_files_;  // of a synchronised store, while its inputs are read
    std::optional<document_spool> replacements_;
    store_changes changes_;
    run_statistics statistics_;
    stage_clock clock_{statistics_};
    std::optional<build_journal> journal_;  // before the folder, which looks for a journal
    const scratch_folder scratch_;          // before the folder: nothing is resumed without it
    io::resumable_folder folder_;
    std::optional<text_passages> passages_;  // until there is a thesaurus, if this run has indexed all texts
    const added_stage* at_work_ = nullptr;
};

}  // namespace quern
