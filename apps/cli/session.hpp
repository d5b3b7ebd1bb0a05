// SPDX-License-Identifier: Apache-2.0
// What all commands share: the common options, and the run they describe.
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
};

/// Which of the common options a command offers beyond those that all do.
struct offers {
    bool rows = true;    ///< --format, for commands that write rows
    bool output = true;  ///< --output, where one file is all that is written
    /// Common options without effect here: understood, as scripts may give them to every command, and not in the help.
    std::vector<std::string_view> idle = {};
};

void declare_common(command_line& line, common_options& common, const offers& offered = {});

/// The text options a user gave, and only those.
struct text_choice {
    std::optional<std::string> language, stop_words;
    std::optional<token_rule> tokens;
    std::optional<unsigned> min_length;
    std::optional<stemmer> stem;

    bool any() const;
    text_options over(text_options base) const;    ///< `base`, changed where something was given
    std::filesystem::path stop_word_file() const;  ///< empty: none is read, or a list of ours
};

/// --language, --tokens, --min-length, --stop-words, --stem.
void declare_text(command_line& line, text_choice& choice);

enum class corpus_forms { of_documents, and_triples };

/// --input-format and --max-errors, for commands that read a corpus.
void declare_corpus(command_line& line, build_options& build,
                    corpus_forms forms = corpus_forms::of_documents);

/// --titles, for commands that count the words of texts.
void declare_titles(command_line& line, bool& titles);

/// One run of a command.
class session {
  public:
    session(const command& self, const common_options& common);
    session(const session&) = delete;  // the context's listeners point into it
    session& operator=(const session&) = delete;

    console messages;
    context run;

    /// Decides where the operation runs, for the log and the record: quern::choose_device.
    void choose_device(std::string_view operation, offered_places offered);
    /// For the record, and for all that follows: the device that a task chose.
    void pin_device(const chosen_device& chosen);
    /// Runs and times one stage of the statistics.
    template <typename Work>
    auto stage(std::string name, Work work) {
        struct timer {
            session& owner;
            std::string name;
            std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
            ~timer() {
                const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
                owner.statistics.stages.push_back({.name = std::move(name), .seconds = taken.count()});
            }
        } guard{*this, std::move(name)};
        return work();
    }
    run_statistics statistics;

    /// Refuses, before the work, a destination or a record (--stats) that would harm what the run reads or
    /// one another, or that cannot be made, and standard input as two inputs; makes sure that the record can be written.
    /// Throws usage_error, io_error.
    void check_destinations(const std::vector<destination>& destinations,
                            std::vector<std::filesystem::path> inputs);
    /// One of these.
    output open(const destination& to) const { return {to, common_.force, run}; }
    /// Both, for the one destination of the results.
    output open_output(const std::string& path, std::vector<std::filesystem::path> inputs);
    /// A writer of rows in the form asked for: a table on a terminal, TSV elsewhere.
    row_writer rows(output& to, std::vector<std::string> columns) const;
    row_format format_for(const output& to) const;

    /// Writes --stats, where asked for.
    void write_statistics();

  private:
    const common_options& common_;
    std::optional<output> record_;  ///< --stats
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// "file:line: reason", and what became of the document.
std::string in_words(const input_issue& issue);

/// The end of a command that read a corpus: warnings for the first issues, what came of it, what was left out.
void tell_reading(console& messages, const reading_counts& counts, const std::vector<input_issue>& issues,
                  const std::string& outcome);

}  // namespace quern::cli
