// SPDX-License-Identifier: Apache-2.0
// A whole file as one text, decompressed if necessary.
#pragma once

#include <filesystem>
#include <string_view>

#include "device/memory_budget.hpp"
#include "io/files/whole_file.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// Move-only; moving it does not move the text. "-" is standard input. A byte-order mark is removed. Throws usage_error
/// (no such file, a folder), io_error, invalid_input if compressed data are damaged, out_of_memory if they exceed the
/// context's budget, interrupted.
class text_of_file {
  public:
    text_of_file() = default;
    text_of_file(const std::filesystem::path& path, const context& ctx);
    /// One of several texts that share a budget: what is not mapped stays counted there.
    text_of_file(const std::filesystem::path& path, const context& ctx, memory_budget& memory);
    /// The rest of `source`.
    text_of_file(byte_source& source, const context& ctx);
    std::string_view text() const noexcept;
    const std::string& name() const noexcept { return file_.name(); }  ///< as the user gave it, for messages

  private:
    whole_file file_;
};

}  // namespace quern::io
