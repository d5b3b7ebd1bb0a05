// SPDX-License-Identifier: Apache-2.0
// Numbers and bytes of a result of a task, read from front to back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/checked_varint.hpp"
#include "io/files/mapped_file.hpp"
#include "tasks/ngrams/part_merge.hpp"

namespace quern {

class number_file {
  public:
    /// Throws io_error.
    explicit number_file(const std::filesystem::path& file)
        : file_(file, io::mapped_file::access::sequential) {}
    bool is_at_end() const { return left() == 0; }
    std::uint64_t left() const { return file_.size() - at_; }
    /// Throws damaged_store if the file ends earlier, as bytes() does.
    std::uint64_t next() {
        std::uint64_t value = 0;
        if (!read_checked_varint(file_.text(), at_, value)) refuse("ends early");
        return value;
    }
    std::string_view bytes(std::uint64_t count) {
        if (count > left()) refuse("ends early");
        const std::string_view found = file_.text().substr(at_, count);
        at_ += count;
        return found;
    }
    [[noreturn]] void refuse(const std::string& why) const { refuse_counts(file_.path(), why); }

  private:
    io::mapped_file file_;
    std::size_t at_ = 0;
};

}  // namespace quern
