// SPDX-License-Identifier: Apache-2.0
// A result file that appears under its name whole or not at all.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace quern {

/// Writes beside the final name and renames on commit(); without commit() nothing remains. What is no regular
/// file (/dev/null, a FIFO) is written to directly.
class output_file {
  public:
    /// Throws usage_error where `path` exists and `replace` is false, or is a folder; io_error where nothing
    /// can be created beside it.
    explicit output_file(const std::filesystem::path& path, bool replace = false);
    ~output_file();
    output_file(output_file&&) noexcept;
    output_file& operator=(output_file&&) noexcept;

    void write(std::string_view bytes);
    void flush();   ///< hands what is buffered to the system
    void commit();  ///< once, last: waits for the disk and gives the file its name

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern
