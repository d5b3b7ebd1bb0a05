// SPDX-License-Identifier: Apache-2.0
// Numbers in the results of tasks, as they lie in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/cluster.hpp"

namespace quern {

template <class Value>
void append_values(task_results& results, std::span<const Value> values) {
    constexpr std::size_t at_once = std::size_t{1} << 20;
    for (std::size_t i = 0; i < values.size(); i += at_once) {
        const auto some = values.subspan(i, std::min(at_once, values.size() - i));
        results.append({reinterpret_cast<const char*>(some.data()), some.size_bytes()});
    }
}

/// Reads them from front to back; the spans point into the mapped file. Values of 8 bytes come first.
class value_reader {
  public:
    /// Throws io_error.
    explicit value_reader(const std::filesystem::path& file)
        : file_(file, io::mapped_file::access::sequential) {}

    /// Throws damaged_store if the file ends earlier.
    template <class Value>
    std::span<const Value> take(std::uint64_t count) {
        if (count > (file_.size() - at_) / sizeof(Value)) refuse("ends early");
        const auto* const first = reinterpret_cast<const Value*>(file_.bytes().data() + at_);
        at_ += count * sizeof(Value);
        return {first, count};
    }
    std::string_view rest() const { return file_.text().substr(at_); }
    void require_end() const {
        if (at_ != file_.size()) refuse("has more than it lists");
    }
    [[noreturn]] void refuse(std::string_view reason) const {
        throw damaged_store(file_.path().string(), "results", std::string(reason));
    }

  private:
    io::mapped_file file_;
    std::size_t at_ = 0;
};

}  // namespace quern
