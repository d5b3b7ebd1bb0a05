// SPDX-License-Identifier: Apache-2.0
// Every corpus form as one stream of units. Cutting the input into units is serial and cheap; turning a unit into
// documents (parsing, cleaning) is the costly part and a pure function, so that many threads can do it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/document_list.hpp"
#include "io/pooled_bytes.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/document_fields.hpp"

namespace quern::io {

/// `binary`, never detected: each file is a document, its bytes as they are.
enum class corpus_form {
    wikipedia,
    folder,
    jsonl,
    tsv,
    csv,
    trec,
    wikiextractor,
    lines,
    text_lines,
    text_paragraphs,
    binary,
    parquet,
    arrow,
    warc,
    mail,
    ciff,
    weights
};

/// Whether its documents are lists of words (document::listed).
constexpr bool is_listed(corpus_form form) {
    return form == corpus_form::ciff || form == corpus_form::weights;
}

/// "jsonl" and so on, as on the command line.
std::string_view name_of(corpus_form form);
std::optional<corpus_form> corpus_form_named(std::string_view name);

/// Which of the named fields (quern::named_fields) the records of a unit have, so that a misspelled name is noticed. A
/// reader of records sets it for each record; others leave it as it is.
struct named_members {
    static constexpr std::size_t max_found = 8;

    bool any_record = false;
    std::vector<std::uint8_t> seen;  ///< by the position in named_fields(); missing ones are 0
    std::vector<std::string> found;  ///< names that the first record has, at most max_found

    void saw(std::size_t name) {
        if (seen.size() <= name) seen.resize(name + 1);
        seen[name] = 1;
    }
    /// Adds those of the next unit.
    void add(const named_members& more);
};

/// The contents of a unit. Issues are in input order; `counts` includes them.
struct parsed_unit {
    document_list documents;  ///< in input order
    std::vector<redirect> redirects;
    std::vector<input_issue> issues;
    reading_counts counts;
    named_members named;
};

/// The memory limit for turning one document into text, including its raw bytes and its text.
struct reading_budget {
    std::uint64_t bytes = UINT64_MAX;
    bool is_last = true;  ///< the maximum: a document that needs more is rejected
};

/// Consecutive documents, raw.
class corpus_unit {
  public:
    virtual ~corpus_unit() = default;
    /// Adds its documents to `out`, which is empty at first; from any thread. Returns false if a document needs more
    /// than `budget` and that is not the last: then it is called once more, with the last room and the same `out`. Do not
    /// call it after that.
    virtual bool parse_within(const reading_budget& budget, parsed_unit& out) = 0;
    parsed_unit parse() {
        parsed_unit out;
        parse_within({}, out);
        return out;
    }
    /// Its size in bytes before parsing.
    virtual std::uint64_t raw_bytes() const = 0;
};

/// Where a file with records begins in a corpus; a corpus can be read from there on.
struct corpus_place {
    std::size_t input = 0;  ///< its number, from 0
    std::string within;     ///< a file of that folder, with records; empty: the whole input
};

/// Cuts one input into units, in order.
class corpus_reader {
  public:
    virtual ~corpus_reader() = default;
    /// The next unit, or null at the end. Damage that ends the input early (truncated compression, malformed XML beyond
    /// repair) is not thrown but becomes an issue of the last unit. Throws only io_error.
    virtual std::unique_ptr<corpus_unit> next() = 0;
    /// The place where the last unit begins, if that is an input or a file with records of a folder.
    virtual std::optional<corpus_place> begun() const { return {}; }
    virtual std::uint64_t consumed_bytes() const = 0;  ///< of the files themselves, for progress
    virtual std::uint64_t total_bytes() const = 0;     ///< 0 if unknown
};

/// The source of document ids, an input or a file of a folder: document::scope and document::name_at.
struct input_name {
    std::uint32_t scope = 0;
    std::uint32_t name_at = 0;

    /// For a file that is itself an input: its name begins after the last slash.
    static input_name alone(std::uint32_t scope, std::string_view path) {
        return {scope, static_cast<std::uint32_t>(path.rfind('/') + 1)};
    }
    void give(document_list& documents, std::size_t first = 0) const {
        for (std::size_t i = first; i < documents.size(); ++i) {
            documents[i].scope = scope;
            documents[i].name_at = name_at;
        }
    }
};

struct corpus_options {
    std::optional<corpus_form> form;     ///< empty: detected from the decompressed content
    document_fields fields;              ///< for forms of records
    std::uint64_t unit_bytes = 4 << 20;  ///< target size of a unit's raw bytes; a larger document is one unit
    std::uint64_t max_document_bytes = 1 << 30;  ///< a larger one is rejected, and its position reported
    /// Memory limit for reading one document: one that needs more is rejected too.
    std::uint64_t document_memory = UINT64_MAX;
    double budget_for_a_byte = 0;  ///< of it: the budget of the run, for messages; 0: unknown
    bool take_lists = false;    ///< also read forms whose documents are lists of words; else they are refused
    bool keep_records = false;  ///< fill document::record
    bool follow_links = false;  ///< also read targets of symbolic links outside the folder
    input_name name = {};       ///< of the opened input; set by open_corpus
    corpus_place start = {};    ///< from begun(): reads from there on; scopes count from 1 there
    std::shared_ptr<buffer_pool> lists = {};  ///< for parsed_unit::documents; set by open_corpus
};

/// Whether a regular file has lists of words, by its first bytes. Throws as open_bytes.
bool is_list_file(const std::filesystem::path& path, const context& ctx);

/// Opens files and folders, read one after the other; "-" is standard input, of the form of `options` (`folder`: one
/// document), else JSON lines. The same bytes give the same
/// documents whatever the unit size. Throws usage_error for a missing path, invalid_input if the form cannot be
/// detected (listing the forms tried).
std::unique_ptr<corpus_reader> open_corpus(const std::vector<std::filesystem::path>& inputs,
                                           const corpus_options& options, const context& ctx);

}  // namespace quern::io
