// SPDX-License-Identifier: Apache-2.0
// The kept documents of a corpus as a folder: an output file for each file of the corpus, in its form and under its name,
// its path within the input that has it. Lines of JSON lines and TSV, and rows of tables under their heading, byte for
// byte; a file that is one document is copied as it is, or is missing if the document was removed. Forms without
// lines (wikipedia, trec, wikiextractor, lines, arrow) become JSON lines, NAME.jsonl. A Parquet file becomes one with the kept
// rows and all columns. Names that end in .gz or .zst are
// compressed; those of other compressions lose that ending. manifest.json lists the files. The folder appears whole or not
// at all.
//
// What the run finishes is kept next to the hidden folder until then (kept_journal.hpp), so that a later run with
// `resume` goes on from there: batches of whole files that were read, the choice of documents, complete outputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "io/corpus/folder.hpp"
#include "io/corpus/folder_walk.hpp"
#include "io/files/atomic_folder.hpp"
#include "io/files/name_lock.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/document_fields.hpp"
#include "quern/tasks/dedup.hpp"
#include "tasks/corpus/document_id_table.hpp"
#include "tasks/dedup/document_table.hpp"
#include "tasks/dedup/kept_journal.hpp"
#include "tasks/dedup/kept_output.hpp"
#include "tasks/dedup/kept_request.hpp"

namespace quern {

/// Which folder, of which corpus.
struct kept_target {
    std::filesystem::path folder;
    const corpus_input& input;
    kept_request request;
    bool resume = false;
};

class kept_folder {
  public:
    /// Throws usage_error if an input is neither a file nor a folder, if two files have the same name, if the folder exists
    /// and is not empty, if it overlaps with an input, if another run writes there, or if `resume` finds a run with another
    /// request; io_error if it cannot be created. Cost: one walk over the inputs, 40 bytes of memory for each file.
    kept_folder(const kept_target& target, const context& ctx);

    // Documents are read in batches of whole files, in order; the journal has the finished ones of an earlier run.

    /// Adds the documents of the finished batches to `table`, calling `take` for each, with its path alone. Returns where
    /// the corpus goes on; nothing if all of it was read. `record`: of these batches.
    std::optional<io::corpus_place> take_batches(document_table& table, reading_record& record,
                                                 const std::function<void(const document&)>& take,
                                                 const context& ctx);
    bool has_read_all() const { return has_read_all_; }
    /// For the texts of the next batch.
    const std::filesystem::path& notes() const { return folder_.notes(); }
    std::uint32_t batch_number() const { return static_cast<std::uint32_t>(batches_.size()); }

    /// The next document of the corpus, with its record. Memory: 8 bytes, and 100 and its path for each file. Throws
    /// usage_error if the file needs another name, which another file has.
    void append(const document& d);
    /// Whether the last document is written as a row of its file, whatever its record is.
    bool copies_rows() const { return files_.back().has_rows; }
    /// Ends a batch. With `texts`, which are finished, it is kept for a later run.
    void end_batch(shard_writer* texts, const reading_record& record,
                   const std::optional<io::corpus_place>& next);

    void keep_choice(const kept_choice& choice);
    std::optional<kept_choice> take_choice() const { return journal_.choice(); }

    /// The text of a document instead of its own; nothing: as it is. Not of files and rows, nor in a run that is resumed.
    using new_text = std::function<std::optional<std::string>(std::size_t)>;
    /// Writes the documents for which wanted(i) is true, calls `before`, and publishes the folder; once. Throws
    /// invalid_input if a file to copy is not the one that was read.
    void publish(const std::function<bool(std::size_t)>& wanted, const std::function<void()>& before,
                 const context& ctx, const new_text& text_of = {});

    /// Whether the folder is there already, published by a run with the same request.
    static bool is_complete(const std::filesystem::path& folder, const kept_request& request);

  private:
    bool goes_on(const std::filesystem::path& folder, const std::filesystem::path& notes, const context& ctx);
    void take_name(const std::string& name, std::string_view path);
    void begin_file(const document& d);
    void add_file(source_file file);
    void write_file(const source_file& file, std::size_t end, const std::function<bool(std::size_t)>& wanted,
                    const context& ctx);
    bool is_finished(const std::string& name, const context& ctx);
    void add_entry(nlohmann::json entry, bool is_logged);
    written_file write_lines(const source_file& file, const std::string& name, std::size_t end,
                             const std::function<bool(std::size_t)>& wanted, const context& ctx);
    written_file write_rows(const source_file& file, const std::string& name, std::size_t end,
                            const std::function<bool(std::size_t)>& wanted, const context& ctx);
    written_file copy(const source_file& file, const std::string& name, const context& ctx);
    void write_empty(const context& ctx);
    void write_empty_file(const io::folder_file& file, const io::collection_head& head, const context& ctx);
    void write_manifest(std::uint64_t kept);
    std::filesystem::path created(const std::string& name) const;
    std::string_view record(std::size_t document) const;

    std::filesystem::path target_;
    document_fields fields_;  ///< that the documents are read with, as the next two
    std::optional<io::corpus_form> form_;
    bool follow_links_ = false;
    bool resume_ = false;
    kept_request request_;
    std::map<std::string, nlohmann::json> finished_;  ///< outputs of an earlier run, by name
    std::unique_ptr<io::name_lock> only_one_;         ///< before the folder: leftovers have no other owner
    io::resumable_folder folder_;
    kept_journal journal_;

    std::vector<std::filesystem::path> named_;  ///< files given as inputs that may hold many documents
    id_table listed_;                           ///< files as they were before any was read: version_of()
    std::vector<std::filesystem::path> folders_of_inputs_;
    std::unique_ptr<batch_writer> batch_;
    std::vector<batch_records> batches_;
    std::vector<std::uint64_t>
        ends_;  ///< of each document's record in its batch; nothing for a file that is a document
    std::vector<source_file> files_;
    std::size_t batch_files_ = 0;  ///< files before the batch
    id_table names_, folders_;     ///< of outputs
    bool has_read_all_ = false;
    new_text text_of_;
    nlohmann::json outputs_ = nlohmann::json::array();
};

}  // namespace quern
