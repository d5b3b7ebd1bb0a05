// SPDX-License-Identifier: Apache-2.0
// A document as all corpus formats yield it, and reports about those that could not be read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/error.hpp"

namespace quern {

/// Documents that are lists of words instead of running text: a line of document::text has a word, a tab and a number.
enum class word_listing : std::uint8_t {
    none,
    counts,  ///< how often the document has the word; of an empty word: the document's length (corpus format `ciff`)
    weights,  ///< its weight, a positive float (corpus format `weights`)
};
inline constexpr std::string_view word_listing_names[] = {"none", "counts", "weights"};

struct document {
    std::string id;     ///< unique in its corpus; never empty
    std::string title;  ///< may be empty
    /// UTF-8; paragraphs end with an empty line. Of the corpus form `binary`: any bytes.
    std::string text;
    std::vector<std::string> links;  ///< ids of documents pointed to, in order of appearance, repeats kept
    /// The source file, for messages; not part of the collection.
    std::string path;
    std::uint64_t line = 0;  ///< the line where it begins, for messages; from 1, 0: unknown
    /// The number, from 1, of the file or folder of the corpus within which its id is unique; 0: none.
    std::uint32_t scope = 0;
    /// Start of the file's name in `path`: after the given folder.
    std::uint32_t name_at = 0;
    /// The original id, if another document has it and `id` is prefixed with the file.
    std::string given;
    bool is_numbered = false;  ///< it had no id: `id` is made from the file's name and the line
    bool verbatim = false;     ///< `text` has one word per line, to be used unchanged (corpus format `lines`)
    word_listing listed = word_listing::none;
    /// The members of its record that document_fields::kept asks for: a JSON object without white space between its parts,
    /// in the order of the record, or of
    /// the names asked for. Empty: none.
    std::string fields;
    bool line_paragraphs = false;  ///< each line of `text` is a paragraph (wikiextractor)
    /// The source line (for CSV, the lines) including its end, if requested and available.
    std::string record;
    /// `path`: the line is the path of a file that is the document.
    enum class record_form : std::uint8_t { json, tsv, table, path } record_kind = record_form::json;
    std::shared_ptr<const std::string> record_heading;  ///< the first line of a table, including its end
};

/// An alias of a document: links to `from` mean `to` (which may be redirected again).
struct redirect {
    std::string from;
    std::string to;
};

/// A fault in an input. A rejected document is dropped, a truncated one kept in part, a repaired one kept
/// completely.
struct input_issue {
    std::string path;
    std::uint64_t line = 0;  ///< from 1; 0 if the input has no lines
    std::string reason;
    bool rejected = true;
    bool truncated = false;  ///< kept in part because the rest is lost, not merely repaired
    /// The fault is in an input, not in a document: it ends early or contains invalid bytes, and the number of
    /// lost documents is unknown. Also marked as cut or rejected.
    bool incomplete = false;
};

/// Counts of a reader. `skipped` counts, by reason, what a rule excludes, which is not an error ("hidden file",
/// "page of another namespace", "file: .pdf", …).
struct reading_counts {
    std::uint64_t documents = 0;
    std::uint64_t redirects = 0;
    std::uint64_t rejected = 0;
    std::uint64_t damaged = 0;     ///< kept: repaired or truncated
    std::uint64_t truncated = 0;   ///< of these, the truncated ones
    std::uint64_t incomplete = 0;  ///< of these, inputs with an unknown loss
    std::map<std::string, std::uint64_t> skipped;

    reading_counts& operator+=(const reading_counts& other);
};

/// More of a corpus is rejected, truncated or missing than the run allows. As an invalid_input, it names the
/// first issue.
class too_much_lost : public invalid_input {
  public:
    /// `why`: text after the reason of the first issue.
    too_much_lost(const input_issue& first, std::string_view why, std::vector<input_issue> issues);
    const std::vector<input_issue>& issues() const noexcept { return issues_; }  ///< the first ten, in order

  private:
    std::vector<input_issue> issues_;
};

}  // namespace quern
