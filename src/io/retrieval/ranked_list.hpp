// SPDX-License-Identifier: Apache-2.0
// A ranked list from a file: lines of `id TAB score`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "device/memory_budget.hpp"
#include "io/lines/text_blocks.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// An open list: the ids point into its text. Line i + 1 of the file is entry i. Move-only.
class ranked_list {
  public:
    /// Lines end with LF or CR LF; anything after a second tab is ignored. Throws usage_error (no such file), io_error,
    /// invalid_input with the line: no tab, an empty id, an invalid score; out_of_memory: text and entries stay counted
    /// in `memory`. Single-threaded: several lists are read at once.
    ranked_list(const std::filesystem::path& path, const context& ctx, memory_budget& memory);

    const std::string& name() const { return text_.name(); }
    const std::vector<std::string_view>& ids() const { return ids_; }
    const std::vector<double>& scores() const { return scores_; }  ///< unchanged, including NaN
    std::size_t bytes() const { return text_.text().size(); }

  private:
    void reserve(std::size_t entries, memory_budget& memory);

    text_of_file text_;
    std::vector<std::string_view> ids_;
    std::vector<double> scores_;
};

}  // namespace quern::io
