// SPDX-License-Identifier: Apache-2.0
// The kept documents of a corpus as a folder: an output file for each file of the corpus, in its form and under its name,
// its path within the input that has it. Lines of JSON lines and TSV, and rows of tables under their heading, byte for
// byte; a file that is one document is copied as it is, or is missing if the document was removed. Forms without
// lines (wikipedia, trec, wikiextractor, lines) become JSON lines, NAME.jsonl. Names that end in .gz or .zst are
// compressed; those of other compressions lose that ending. The folder appears whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/spill_file.hpp"
#include "io/files/atomic_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "tasks/corpus/document_id_table.hpp"

namespace quern {

class kept_folder {
  public:
    /// Throws usage_error if an input is neither a file nor a folder, if two files have the same name, if `folder` exists
    /// and is not empty, or if it overlaps with an input; io_error if it cannot be created. Cost: one walk over the
    /// inputs, 20 bytes of memory for each file.
    kept_folder(const std::filesystem::path& folder, const corpus_input& input,
                const std::filesystem::path& scratch_file);

    /// The next document of the corpus, with its record. Memory: 8 bytes, and 100 and its path for each file. Throws
    /// usage_error if the file needs another name, which another file has.
    void append(const document& d);
    /// Writes the documents for which wanted(i) is true, and publishes the folder; once. Throws invalid_input if a file to
    /// copy is not the one that was read.
    void publish(const std::function<bool(std::size_t)>& wanted, const context& ctx);

  private:
    /// A version of a file on the disk.
    struct file_state {
        std::uint64_t device = 0, number = 0, bytes = 0;
        std::int64_t seconds = 0, nanoseconds = 0;
        friend bool operator==(const file_state&, const file_state&) = default;
    };
    struct source_file {
        std::string path;
        std::uint32_t name_at = 0;
        std::uint32_t scope = 0;
        std::size_t first = 0;  ///< document
        bool is_document = false;
        bool has_lines = false;
        file_state state;  ///< of a document
        std::shared_ptr<const std::string> heading;
    };

    void take_name(const std::string& name, std::string_view path);
    void begin_file(const document& d);
    void write_lines(const source_file& file, std::size_t end, const std::function<bool(std::size_t)>& wanted,
                     const context& ctx);
    void copy(const source_file& file, const context& ctx);
    void write_empty(const context& ctx);
    std::filesystem::path created(const std::string& name) const;
    static file_state state_of(const std::string& path);
    static std::string output_name(const source_file& file);

    std::vector<std::filesystem::path> named_;  ///< files given as inputs that may hold many documents
    std::unique_ptr<io::atomic_folder> folder_;
    spill_file records_;
    std::vector<std::uint64_t> ends_;  ///< of each document's record; nothing for a file that is a document
    std::vector<source_file> files_;
    id_table names_, folders_;  ///< of outputs
};

}  // namespace quern
