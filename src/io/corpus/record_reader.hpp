// SPDX-License-Identifier: Apache-2.0
// The shared half of every form that is one stream of records (JSON lines, TSV, TREC, wikiextractor, lines):
// cutting the stream into units that end where a record ends. What ends a record depends on the bytes of the
// record alone, so the records are the same wherever the units were cut; a form adds only how to find an end
// and how to parse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "io/byte_source.hpp"
#include "io/corpus/corpus.hpp"

namespace quern::io {

/// Where a unit lies in its input.
struct unit_place {
    std::string path;
    std::uint64_t first_line = 1;
    std::uint64_t first_record = 0;  ///< records counted by record_form::count before this unit
    std::uint64_t max_document_bytes = UINT64_MAX;
    bool keep_records = false;
};

/// Bytes that may be read beyond a unit's end (their values mean nothing): what the JSON parser asks for.
inline constexpr std::size_t unit_padding = 64;

class record_form {
  public:
    virtual ~record_form() = default;
    /// The end of the last whole record in `bytes`, which begin where a record does; 0 where none is whole.
    virtual std::size_t last_end(std::string_view bytes) const = 0;
    /// The first end of a record in `bytes`, which begin within one; 0 where there is none.
    virtual std::size_t end_within(std::string_view bytes) const = 0;
    /// The length of the longest mark that ends a record, so that one is seen across two reads.
    virtual std::size_t end_mark_bytes() const = 0;
    /// Records in `bytes`, for forms whose documents are numbered; the others need not count.
    virtual std::uint64_t count(std::string_view) const { return 0; }
    /// Whole records; at the input's end the last may lack its end. Pure; called from any thread.
    virtual void parse(std::string_view bytes, const unit_place& place, parsed_unit& out) const = 0;
};

/// Takes a finished document, and notes where it came from.
void keep(parsed_unit& out, document made, std::string_view path, std::uint64_t line);

/// Notes an issue and counts it.
void note(parsed_unit& out, input_issue issue);
void reject(parsed_unit& out, std::string_view path, std::uint64_t line, std::string reason);
void mend(parsed_unit& out, std::string_view path, std::uint64_t line, std::string reason);
void cut(parsed_unit& out, std::string_view path, std::uint64_t line, std::string reason);

/// "larger than the limit of N bytes a document": one wording for every form.
std::string oversize_reason(std::uint64_t limit);

/// Reads `source` to its end. `first_record` numbers the first record and is left at the number after the
/// last (null for forms that do not count); it must outlive the reader.
std::unique_ptr<corpus_reader> read_records(std::unique_ptr<byte_source> source,
                                            std::shared_ptr<const record_form> form,
                                            const corpus_options& options, const context& run,
                                            std::uint64_t* first_record = nullptr);

std::shared_ptr<const record_form> jsonl_form();
std::shared_ptr<const record_form> tsv_form();
std::shared_ptr<const record_form> lines_form();
std::shared_ptr<const record_form> trec_form();
std::shared_ptr<const record_form> wikiextractor_form();

}  // namespace quern::io
