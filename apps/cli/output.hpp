// SPDX-License-Identifier: Apache-2.0
// Destinations of results: standard output, or a file that appears complete or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quern/tasks/output_file.hpp"
#include "quern/tasks/output_harm.hpp"

namespace quern::cli {

/// The reader of standard output has closed it (`| head`): the program ends silently with 0.
struct closed_pipe {};

using quern::refuse_harm;
using quern::same_file;

/// A file or folder that a run creates. An empty path: no output. "-": standard output.
struct destination {
    std::filesystem::path path;
    std::string form = {};  ///< for a file that is not plain text: see output_options, as for `written`
    bool is_folder = false;
    std::string written = {};
};

/// Throws usage_error if it cannot be created, or if it is an existing file and `replace` is false.
void check_destination(const destination& to, bool replace);

class output {
  public:
    output();  ///< standard output
    /// Throws what check_destination throws. `ctx` outlives the output.
    output(const destination& to, bool replace, const context& ctx);

    /// A file or pipe gets the unchanged bytes, a terminal no control sequences (for_terminal).
    void write(std::string_view bytes);
    /// The same for text that is already safe for a terminal and may contain its highlighting.
    void write_shown(std::string_view text);
    void flush();
    void commit();  ///< once, at the end: without it nothing appears under the final name
    /// Commits all outputs or, if one fails, none (output_file::commit_together). Ignores null pointers.
    static void commit_together(std::span<output* const> outputs);
    bool to_standard_output() const { return !file_.has_value(); }
    /// Sets a callback that runs before the first bytes go to standard output, if that is a terminal.
    void before_terminal(std::function<void()> call);

  private:
    std::optional<output_file> file_;
    std::string buffer_;
    bool is_terminal_;
    std::function<void()> before_terminal_;
};

}  // namespace quern::cli
