// SPDX-License-Identifier: Apache-2.0
// Every corpus form as one stream of units. Cutting the input into units is serial and cheap; turning a unit
// into documents (parsing, cleaning) is the costly part and a pure function, so that many threads can do it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"

namespace quern::io {

enum class corpus_form { wikipedia, folder, jsonl, tsv, trec, wikiextractor, lines };

/// "jsonl" and so on, as on the command line.
std::string_view name_of(corpus_form form);
std::optional<corpus_form> corpus_form_named(std::string_view name);

/// What a unit holds. Issues are in input order; `counts` agrees with them.
struct parsed_unit {
    std::vector<document> documents;  ///< in input order
    std::vector<redirect> redirects;
    std::vector<input_issue> issues;
    reading_counts counts;
};

/// A run of consecutive documents, raw. `parse` may be called from any thread, once.
class corpus_unit {
  public:
    virtual ~corpus_unit() = default;
    virtual parsed_unit parse() = 0;
    virtual std::uint64_t raw_bytes() const = 0;
};

/// Cuts one input into units, in order.
class corpus_reader {
  public:
    virtual ~corpus_reader() = default;
    /// The next unit, or null at the end. Damage that ends the input early (cut-off compression, malformed
    /// XML beyond repair) is not thrown: it comes as an issue of the last unit. Throws io_error only.
    virtual std::unique_ptr<corpus_unit> next() = 0;
    virtual std::uint64_t consumed_bytes() const = 0;  ///< of the files themselves, for progress
    virtual std::uint64_t total_bytes() const = 0;     ///< 0 where unknown
};

struct corpus_options {
    std::optional<corpus_form> form;  ///< empty: told from the decompressed content
    std::uint64_t unit_bytes =
        4 << 20;  ///< raw bytes a unit aims at; one document larger than that is one unit
    std::uint64_t max_document_bytes = 1 << 30;  ///< a larger one is rejected, with its place
    bool keep_records = false;                   ///< fill document::record
};

/// Opens files and folders, read one after the other; "-" is standard input, JSON lines. The same bytes give
/// the same documents whatever the unit size. Throws usage_error for a missing path, invalid_input where the
/// form cannot be told (naming the forms tried).
std::unique_ptr<corpus_reader> open_corpus(const std::vector<std::filesystem::path>& inputs,
                                           const corpus_options& options, const context& run);

}  // namespace quern::io
