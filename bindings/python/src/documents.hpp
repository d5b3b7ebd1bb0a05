// SPDX-License-Identifier: Apache-2.0
// The documents of a call: files and folders, or objects in memory.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>

#include "parameters.hpp"
#include "quern/tasks/corpus_input.hpp"

namespace quern::python {

/// The parameters of every function that reads a corpus.
struct corpus_call : call {
    std::string format;
    std::optional<error_limit> max_errors;
    id_rule ids = id_rule::scoped;
    bool follow_links = false;
    document_fields fields;
};

/// The values of max_errors and ids. They throw usage_error.
error_limit error_limit_of(nanobind::handle given);
id_rule id_rule_of(nanobind::handle given);
/// A list of names, or one text with commas between names, as on the command line.
std::vector<std::string> field_list_of(std::string_view name, nanobind::handle given);

template <class Request>
parameters<Request>& add_corpus(parameters<Request>& to) {
    using setter = typename parameters<Request>::setter;
    const auto add = [&to](const char* name, const char* type, const char* value, const char* help,
                           setter set) {
        to.add({name, type, value, help}, std::move(set));
    };
    add("text_field", "str | Sequence[str] | None", "None",
        "The member or column that has the text; several are joined in their order, with an empty line "
        "between "
        "them. In files a dotted name leads into objects (meta.text). Default: the first of text, contents, "
        "content, body, document, passage, segment, abstract, raw_content.",
        [](Request& r, nanobind::handle given) { r.fields.text = field_list_of("text_field", given); });
    add("id_field", "str | None", "None",
        "The member or column with the id. Default: the first of id, _id, pid, docid, doc_id, docno; without "
        "one, documents are numbered.",
        [](Request& r, nanobind::handle given) { r.fields.id = text_of("id_field", given); });
    add("title_field", "str | None", "None",
        "The member or column with the title. Default: title, if it is there.",
        [](Request& r, nanobind::handle given) { r.fields.title = text_of("title_field", given); });
    add("link_field", "str | None", "None",
        "The member or column with the list of ids that the document links to. Default: links, if it is "
        "there.",
        [](Request& r, nanobind::handle given) { r.fields.links = text_of("link_field", given); });
    add("format", "str | None", "None",
        "Files: wikipedia, folder, jsonl, tsv, csv, parquet, arrow, trec, wikiextractor, warc, mail, "
        "text-lines, text-paragraphs, lines, ciff and weights (for build), or binary. Default: detected from "
        "the content.",
        [](Request& r, nanobind::handle given) { r.format = text_of("format", given); });
    add("max_errors", "int | str | None", "None",
        "Files: the maximum number of rejected documents, or their share (\"1%\", the default); beyond it "
        "the run fails.",
        [](Request& r, nanobind::handle given) { r.max_errors = error_limit_of(given); });
    add("ids", "Literal['scoped', 'global', 'generate']", "'scoped'",
        "How to treat an id that an earlier file already has: scoped (prefix it with the path of its "
        "file), global (an "
        "error), or generate (make ids from names and lines).",
        [](Request& r, nanobind::handle given) { r.ids = id_rule_of(given); });
    add("follow_links", "bool", "False", "Files: follow symbolic links that lead out of a folder.",
        [](Request& r, nanobind::handle given) { r.follow_links = bool_of("follow_links", given); });
    return to;
}
/// Documents of one argument. Made and destroyed with the interpreter's lock.
///
/// Files: a str or a path (also with *, ? and [), a list of path objects. In memory, in their order: a list, generator or
/// other iterable of texts, of pairs (id, text), or of mappings; a mapping of columns; whatever has __arrow_c_stream__ or
/// __arrow_c_array__ (pyarrow, polars, pandas, DuckDB), read without a copy of its buffers; a Dataset of Hugging Face.
class document_argument {
  public:
    /// Throws usage_error for what is none of these, and for files with options of documents in memory and vice versa.
    document_argument(nanobind::handle given, const corpus_call& call);
    ~document_argument();
    document_argument(const document_argument&) = delete;
    document_argument& operator=(const document_argument&) = delete;

    /// Sets `inputs` or `source`, and the rules; for one run, on its thread. This object must outlive the run.
    void read_into(corpus_input& input, calling_thread& caller);
    /// For tests: where the text of a document in memory is, as the library reads it. Reads the documents before it.
    const char* text_address(std::uint64_t row);
    /// Documents read so far from memory; nothing for files.
    std::optional<std::uint64_t> rows() const;

    class memory_source;

  private:
    std::vector<std::filesystem::path> files_;
    std::unique_ptr<memory_source> source_;
    const corpus_call& call_;
};

}  // namespace quern::python
