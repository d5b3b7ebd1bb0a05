// SPDX-License-Identifier: Apache-2.0
// Where results go: standard output, or a file that appears whole or not at all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/tasks/output_file.hpp"

namespace quern::cli {

/// The reader of standard output has gone (`| head`): the program ends quietly with 0.
struct closed_pipe {};

class output {
  public:
    /// `path` empty or "-": standard output. Throws usage_error where the file exists and `force` is false,
    /// or is one of the `inputs`, whatever its name.
    output(const std::string& path, bool force, const std::vector<std::filesystem::path>& inputs);

    void write(std::string_view bytes);
    void flush();
    void commit();  ///< once, last: nothing is left under the final name without it
    bool to_standard_output() const { return !file_.has_value(); }

  private:
    std::optional<output_file> file_;
    std::string buffer_;
};

}  // namespace quern::cli
