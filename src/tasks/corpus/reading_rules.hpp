// SPDX-License-Identifier: Apache-2.0
// The rules by which every task reads a corpus: how much of it at once, which documents are refused, and how many may
// be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/tasks/corpus_input.hpp"

namespace quern {

/// How many units of a corpus are in progress at once, and how they are cut, for a task that holds about eight copies
/// of each (raw, parsed, processed): all together take an eighth of the memory budget.
std::size_t units_at_once(const context& ctx);

/// `ctx` with no more threads than units are in progress: each thread that reads has a word segmenter and buffers of its
/// own, which a small budget has no room for.
context with_threads_that_read(const context& ctx);

/// The budget's shares while a corpus is read: an eighth for units of ordinary size, three eighths for the one larger
/// document, the rest for the task's own data.
struct reading_memory {
    std::uint64_t ordinary_unit;      ///< bytes of a unit, raw or parsed, processed concurrently with others
    std::uint64_t ordinary_document;  ///< memory to parse a document of such a unit
    std::uint64_t document;           ///< memory to parse any document, and then to process it
};
/// Throws out_of_memory if the budget is too small to read any corpus.
reading_memory reading_memory_of(const context& ctx);

/// Throws usage_error if there are neither inputs nor a source, or both, or if an input does not exist; io_error if it
/// cannot be accessed.
void require_documents(const corpus_input& input);

/// What a task reads of documents: words of texts, or bytes.
enum class corpus_content { texts, any_bytes };

/// How to cut the documents of `input`, within the budget. Throws usage_error for an unknown input format, and for
/// `binary` if the task takes only texts.
io::corpus_options corpus_options_for(const corpus_input& input, const context& ctx,
                                      corpus_content content = corpus_content::texts);

/// Opens the inputs or the source. Throws as corpus_options_for and io::open_corpus do.
std::unique_ptr<io::corpus_reader> open_documents(const corpus_input& input,
                                                  const io::corpus_options& options, const context& ctx);

/// The names of the inputs, or of the source, for messages; at least one.
std::vector<std::filesystem::path> names_of(const corpus_input& input);

/// Throws usage_error if one of a store and an input is within the other. Only folders contain others: an input that is
/// a file or a pipe cannot contain a store.
void refuse_overlap(const std::filesystem::path& store, const std::filesystem::path& input);

/// The record of what a task has read of its inputs so far, in order.
struct reading_record {
    reading_counts counts;
    std::vector<input_issue> issues;        ///< the first 100
    std::vector<input_issue> lost;          ///< the first ten of those rejected or truncated
    std::optional<input_issue> incomplete;  ///< the first incomplete input
    std::uint64_t repeated_ids = 0;         ///< number of rejected documents
    io::named_members named;                ///< which of the named fields the records have

    void take(io::parsed_unit& unit);  ///< adds its counts and issues
    /// For a document that was parsed and counted, and is refused now.
    void reject(const document& d, std::string reason);
    /// The same for an id that an earlier document of its file has: `reason` names both.
    void reject_repeated(const document& d, std::string reason);

    /// Throws invalid_input: there are no documents, and the reason, if a rule excluded some.
    [[noreturn]] void refuse_empty(const corpus_input& input) const;
    /// Throws too_much_lost, naming the first, if more were rejected or truncated than input.max_errors allows, or if an
    /// input is incomplete and that is not accepted; before, invalid_input if no record has one of the fields that the
    /// input names.
    void refuse_too_many(const corpus_input& input) const;
    /// The same before the end of the input: a share is known only at the end.
    void refuse_early(const corpus_input& input) const;

  private:
    void note(input_issue issue);
    [[noreturn]] void refuse(const corpus_input& input, std::string why) const;
};

}  // namespace quern
