// SPDX-License-Identifier: Apache-2.0
// Shared by all commands: the common options and the run they describe.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"
#include "console.hpp"
#include "output.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/context.hpp"
#include "quern/base/rows.hpp"
#include "quern/base/text_options.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern::cli {

struct common_options {
    device_choice device;
    unsigned threads = 0;
    std::uint64_t memory = 0, gpu_memory = 0, seed = 0;
    std::filesystem::path scratch;
    std::string output;
    std::optional<row_format> format;
    bool quiet = false, force = false;
    progress_mode progress = progress_mode::automatic;
    std::string stats, config;
    const command_line* line = nullptr;  ///< that read them
    bool has_rows = false;               ///< offers::rows
};

/// Which common options a command offers beyond those that all commands offer. Every command accepts --device
/// (only cpu if it has no other), --threads, --memory and --tmp, because scripts pass them to all commands:
/// they are limits that need not be reached.
struct offers {
    bool rows = true;     ///< --format, for commands that write rows
    bool output = true;   ///< --output, for commands that write a single file
    bool gpu = false;     ///< CUDA as a --device, and --gpu-memory
    bool seed = false;    ///< --seed, for commands that draw random numbers
    bool scratch = true;  ///< --tmp is in the help
    /// Common options that are accepted but not in the help: they have no effect here.
    std::vector<std::string_view> idle = {};
};

void declare_common(command_line& line, common_options& common, const offers& offered = {});

/// The text options a user gave, and only those.
struct text_choice {
    text_options values;
    const command_line* line = nullptr;  ///< that read them

    bool any() const;
    text_options over(text_options base) const;    ///< `base` with the given options replaced
    std::filesystem::path stop_word_file() const;  ///< empty: no list, or a built-in one
};

/// --language, --tokens, --min-length, --stop-words, --stem. `except`: the name of one that the command declares
/// itself.
void declare_text(command_line& line, text_choice& choice, std::string_view except = {});

enum class corpus_forms { of_documents, and_triples, and_binary, and_indexes };

/// --input-format, --files-from, --max-errors and others, for commands that read a corpus. The paths of --files-from become
/// `build.inputs`.
void declare_corpus(command_line& line, build_options& build,
                    corpus_forms forms = corpus_forms::of_documents);
/// After line.parse(): the inputs that were typed, with their patterns expanded, then those of --files-from. `name`: of
/// the argument, for the usage_error if there are none; empty: there may be none.
std::vector<std::filesystem::path> inputs_of(const std::vector<std::string>& typed,
                                             const build_options& build, std::string_view name = "CORPUS");
/// The values read by declare_corpus(), except the inputs: form, limit of errors, fields, ids, links.
void take_reading_rules(const build_options& build, corpus_input& into);

/// --binary, for commands with corpus_forms::and_binary.
void declare_binary(command_line& line, bool& binary);
/// After line.parse(): sets the input format. Throws usage_error if another one was requested.
void choose_binary(bool binary, build_options& build);

/// One run of a command.
class session {
  public:
    session(const command& self, const common_options& common);
    session(const session&) = delete;  // the context's listeners point into it
    session& operator=(const session&) = delete;

    mutable console messages;  ///< mutable: const members report too
    context ctx;

    /// Chooses the device, for the log and the record: quern::choose_device.
    void choose_device(std::string_view operation, offered_places offered);
    /// Fixes the device that a task chose, for the record and all later operations.
    void pin_device(const chosen_device& chosen);
    /// Runs and times one stage of the statistics.
    template <typename Work>
    auto stage(std::string name, Work work) {
        struct timer {
            session& owner;
            std::string name;
            std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
            double cpu_start = process_cpu_seconds();
            ~timer() {
                const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
                owner.statistics.stages.push_back({.name = std::move(name),
                                                   .seconds = taken.count(),
                                                   .thread_seconds = process_cpu_seconds() - cpu_start});
            }
        } guard{*this, std::move(name)};
        return work();
    }
    run_statistics statistics;

    /// Before the work, refuses a destination or record (--stats) that would overwrite an input or another
    /// output or that cannot be created, and refuses standard input given as two inputs. Ensures that the
    /// record can be written. Throws usage_error, io_error.
    bool follow_links = false;  ///< as in build_options: whose permissions limit those of the output
    void check_destinations(const std::vector<destination>& destinations,
                            std::vector<std::filesystem::path> inputs);
    /// Opens one of these destinations.
    output open(const destination& to) const;
    /// Checks and opens the single destination of the results.
    output open_output(const std::string& path, std::vector<std::filesystem::path> inputs);
    /// A writer of rows in the requested format; by default a table on a terminal, TSV elsewhere.
    row_writer rows(output& to, std::vector<std::string> columns) const;
    /// Writes kept documents to `to` and reports progress. The session and `to` must outlive it.
    std::function<void(std::string_view)> documents(output& to) const;
    row_format format_for(const output& to) const;

    /// Writes --stats if requested.
    void write_statistics();

  private:
    const common_options& common_;
    std::optional<output> record_;  ///< --stats
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The destination of --report. Throws usage_error for standard output.
destination report_page(const std::string& path);

/// "file:line: reason", and whether the document was kept.
std::string in_words(const input_issue& issue);

/// Closing messages of a command that read a corpus: warnings for the first issues, the outcome, what was
/// skipped.
void report_reading(console& messages, const reading_counts& counts, const std::vector<input_issue>& issues,
                    const std::string& outcome);

}  // namespace quern::cli
