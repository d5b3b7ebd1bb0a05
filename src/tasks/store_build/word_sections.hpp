// SPDX-License-Identifier: Apache-2.0
// The sections of an index of words while they are written, range of words by range.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/store/section.hpp"
#include "ops/search/indexing/index_runs.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/layout.hpp"
#include "text/dictionary.hpp"

namespace quern {

/// Dictionary, frequencies and postings, each range appended to all of them. Not thread-safe.
class word_sections {
  public:
    /// `names` must outlive it.
    word_sections(const std::filesystem::path& store, const store_layout::word_index_names& names);

    /// Ranges in the order of their words.
    void append(const search_detail::merged_range& range);

    struct outcome {
        std::uint64_t vocabulary = 0, postings = 0;
        std::vector<store_section> sections;
    };
    outcome finish();

  private:
    const store_layout::word_index_names& names_;
    text::dictionary_builder words_;
    io::section_writer dictionary_, document_frequencies_, collection_frequencies_, posting_ends_, postings_;
    std::uint64_t count_ = 0;
};

}  // namespace quern
