// SPDX-License-Identifier: Apache-2.0
// The finished parts of a run that writes a folder of kept documents, next to that folder while it is hidden:
//
//   request.json                 which run it is
//   NNNNNN.json, NNNNNN.*.section  a batch of documents that was read: whole files of the corpus
//   choice.json, choice.section    which of all documents go, and for which others
//   finished                     a line for each output that is complete
//
// A part counts once its JSON is there. What is taken over is checked first; a damaged part counts as not done, and so do
// the batches after it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/files/file_writer.hpp"
#include "io/corpus/corpus.hpp"
#include "io/store/section.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/ops/near_kept.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/duplicate_store.hpp"
#include "tasks/dedup/kept_rows.hpp"

namespace quern {

/// A file of the corpus that has documents.
struct source_file {
    std::string path;
    std::uint32_t name_at = 0;
    std::uint32_t scope = 0;
    std::size_t first = 0;  ///< document of the corpus
    bool is_document = false;
    bool has_lines = false;
    bool has_rows = false;  ///< Parquet: the record of a document is the number of its row
    document::record_form form =
        document::record_form::json;  ///< of lines; not kept for a run that is resumed
    file_state state;
    std::shared_ptr<const std::string> heading;
};

/// The records of the documents of a batch, in order. Files that are documents have none.
struct batch_records {
    std::size_t first = 0;  ///< document of the corpus
    io::section_view records;
};

/// A batch while it is written.
class batch_writer {
  public:
    batch_writer(const std::filesystem::path& notes, std::uint32_t number, std::size_t first);

    /// The record of the next document.
    void append(std::string_view record);
    std::uint64_t size() const { return records_.size(); }
    /// Ends the records.
    batch_records finish();

  private:
    friend class kept_journal;
    std::filesystem::path notes_;
    std::uint32_t number_;
    std::size_t first_;
    io::section_writer records_;
    std::optional<store_section> written_;
};

/// A batch of an earlier run.
struct read_batch {
    std::vector<source_file> files;
    std::vector<std::uint64_t> record_ends;  ///< within the batch
    batch_records records;
    io::section_view texts, text_ends, ids;
    std::filesystem::path texts_file;
    std::uint64_t documents = 0, text_bytes = 0;
    reading_record record;  ///< of this batch and all before it
    /// Where the corpus goes on; nothing if it ended.
    std::optional<io::corpus_place> next;
};

/// The choice among all documents.
struct kept_choice {
    std::optional<std::uint64_t> pair_count;
    std::map<std::string, std::uint64_t> counts;  ///< for statistics
    std::vector<duplicate_group> groups;
    std::vector<removed_duplicate> removed;
};

class kept_journal {
  public:
    explicit kept_journal(std::filesystem::path notes) : notes_(std::move(notes)) {}

    /// Adds a batch. `texts` are finished already.
    void add_batch(batch_writer& batch, shard_writer& texts, std::span<const source_file> files,
                   std::span<const std::uint64_t> record_ends, const reading_record& record,
                   const std::optional<io::corpus_place>& next);
    /// Batch `number`, every byte of it checked. Nothing if it is missing or damaged; then it and all later ones are given
    /// up.
    std::optional<read_batch> batch(std::uint32_t number, std::size_t first, const context& ctx) const;

    void add_choice(const kept_choice& choice);
    std::optional<kept_choice> choice() const;

    /// Adds an output that is complete.
    void add_output(const nlohmann::json& entry);
    /// The outputs of an earlier run, by name.
    std::map<std::string, nlohmann::json> take_outputs();

  private:
    std::filesystem::path notes_;
    std::unique_ptr<file_writer> finished_;
};

}  // namespace quern
