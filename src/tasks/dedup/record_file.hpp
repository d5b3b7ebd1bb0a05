// SPDX-License-Identifier: Apache-2.0
// The documents of a corpus as they are to come out again: each the line it was read from, or a JSON line where it was
// none. Lines of TSV among others become JSON lines too, so that the whole can be read. On disk, in order; 8 bytes of
// memory a document.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "device/files/spill_file.hpp"
#include "quern/base/document.hpp"

namespace quern {

class record_file {
  public:
    explicit record_file(const std::filesystem::path& scratch_file) : file_(scratch_file) {}
    void append(const document& d);
    /// Hands out the records for which wanted(i) is true, in order, in large pieces.
    void write(const std::function<bool(std::size_t)>& wanted,
               const std::function<void(std::string_view)>& out);

  private:
    void write_converted(const std::function<bool(std::size_t)>& wanted,
                         const std::function<void(std::string_view)>& out);

    spill_file file_;
    std::vector<std::uint64_t> ends_;
    std::vector<bool> is_tsv_;
    std::size_t tsv_lines_ = 0;
};

}  // namespace quern
