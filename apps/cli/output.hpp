// SPDX-License-Identifier: Apache-2.0
// Where results go: standard output, or a file that appears whole or not at all.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quern/tasks/output_file.hpp"

namespace quern::cli {

/// The reader of standard output has gone (`| head`): the program ends quietly with 0.
struct closed_pipe {};

/// Throws usage_error where a file written as `path` would harm what a run reads: it is one of the `inputs`,
/// whatever its name, or lies within one that is a folder, or within any store. What is no regular file
/// (/dev/null, a FIFO) harms nothing.
void refuse_harm(const std::filesystem::path& path, std::span<const std::filesystem::path> inputs);

/// Whether two names, of files that need not exist, lead to the same regular file.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// A file or folder that a run is to make; an empty path is none, and "-" standard output.
struct destination {
    std::filesystem::path path;
    std::string form = {};  ///< of a file that is no text: output_options
    bool is_folder = false;
};

/// Throws usage_error where it cannot be made, or, a file, exists and `replace` is false.
void check_destination(const destination& to, bool replace);

class output {
  public:
    output() = default;  ///< standard output
    /// Throws what check_destination throws. `run` outlives the output.
    output(const destination& to, bool replace, const context& run);

    void write(std::string_view bytes);
    void flush();
    void commit();  ///< once, last: nothing is left under the final name without it
    bool to_standard_output() const { return !file_.has_value(); }

  private:
    std::optional<output_file> file_;
    std::string buffer_;
};

}  // namespace quern::cli
