// SPDX-License-Identifier: Apache-2.0
// A long text in an unlinked temporary file, mapped once it is complete: the system can reclaim its pages at any time.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace quern::python {

class scratch_text {
  public:
    /// Throws io_error, as the other members do.
    explicit scratch_text(const std::filesystem::path& folder);
    ~scratch_text();
    scratch_text(scratch_text&&) = delete;

    void write(std::string_view bytes);
    /// After it nothing is written.
    void finish();
    /// The whole text, after finish().
    std::string_view view() const { return view_; }

  private:
    void flush();

    std::filesystem::path folder_;
    int file_ = -1;
    std::string buffer_;
    std::size_t size_ = 0;
    std::string_view view_;
};

}  // namespace quern::python
