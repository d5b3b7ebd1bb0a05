// SPDX-License-Identifier: Apache-2.0
// A store, mapped: every section as plain views, checked where they are touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "io/store/section.hpp"
#include "quern/ops/search.hpp"
#include "quern/tasks/store.hpp"
#include "text/dictionary.hpp"

namespace quern {

/// Thread-safe once opened. Every member throws damaged_store, naming the section, where bytes are damaged.
class opened_store {
  public:
    explicit opened_store(std::filesystem::path path);

    const store_info& info() const { return info_; }
    const std::filesystem::path& path() const { return path_; }
    collection_view collection() const { return {lengths_, info_.words}; }
    const text::dictionary_view& dictionary() const { return *dictionary_; }
    posting_list postings(std::uint32_t word) const;
    std::string_view id(std::uint32_t document) const;
    std::string_view title(std::uint32_t document) const;
    /// The document's text, decompressed. Cost: its block, 64 KiB or the document.
    std::string text(std::uint32_t document) const;

  private:
    std::filesystem::path path_;
    store_info info_;
    io::section_view ids_, titles_, lengths_section_, text_ends_, text_blocks_, texts_;
    io::section_view dictionary_section_, document_frequencies_, collection_frequencies_, posting_ends_,
        postings_;
    std::span<const std::uint32_t> lengths_;
    std::optional<text::dictionary_view> dictionary_;
};

}  // namespace quern
