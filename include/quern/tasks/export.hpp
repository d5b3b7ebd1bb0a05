// SPDX-License-Identifier: Apache-2.0
// A store in the forms that other search engines read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "quern/base/context.hpp"

namespace quern {

struct ciff_options {
    bool gzip = false;  ///< compressed, as a file whose name ends in .gz is expected to be
};

/// What was written.
struct ciff_counts {
    std::uint64_t lists = 0, postings = 0, documents = 0;
    std::uint64_t bytes = 0;  ///< before compression
};

/// Hands `out` the store's words, postings and documents in the Common Index File Format, front to back: the words in
/// bytewise order, the documents numbered as in the collection, their lengths as `search` counts them (title and text).
/// The bytes depend on the store alone. Before any is written it throws usage_error where there is no store, and
/// invalid_input where the format cannot hold it: more than 2^31 - 1 words or documents. Meanwhile it throws invalid_input
/// for a word whose documents take more than 2 GiB and for a document of more than 2^31 - 1 words, damaged_store,
/// interrupted, and what `out` throws. Memory: a word and, with gzip, about 1 MiB a thread, whatever the store holds.
ciff_counts export_ciff(const std::filesystem::path& store, const std::function<void(std::string_view)>& out,
                        const ciff_options& options, const context& run);

}  // namespace quern
