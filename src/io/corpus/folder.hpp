// SPDX-License-Identifier: Apache-2.0
// A folder of documents, or of files that each hold a collection. docs/corpora.md has the rules in full.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/byte_source.hpp"
#include "io/corpus/corpus.hpp"
#include "io/corpus/file_log.hpp"
#include "io/corpus/folder_walk.hpp"

namespace quern::io {

/// Opens one file as a collection of a given form. `name_at`: see input_name.
using open_collection = std::function<std::unique_ptr<corpus_reader>(const std::filesystem::path&,
                                                                     corpus_form, std::uint32_t name_at)>;

/// Where files that are documents are looked up and noted, as those of an input; null: nowhere.
struct folder_log {
    file_log* log = nullptr;
    std::uint32_t input = 0;
};

/// Reads every file of the folder that is not hidden. With an empty `form`, text, markdown, HTML and source files are
/// documents, and a file that begins with a record of a corpus form (a dump, JSON lines, wikiextractor's output …) is
/// read in that form. With the form `folder`, every file is a document unless it is binary, with `binary` every file;
/// with another form, every file is read in that form, except binary files in the forms of plain text.
std::unique_ptr<corpus_reader> read_folder(const std::filesystem::path& root, std::optional<corpus_form> form,
                                           const corpus_options& options, open_collection open,
                                           const context& ctx, folder_log log = {});

/// A collection, though perhaps without documents.
struct collection_head {
    corpus_form form;
    std::string heading;  ///< of a table: document::record_heading
};
/// What a file of a folder begins with; empty if it holds no collection, and if it cannot be read. `form` as for read_folder.
/// Throws interrupted, out_of_memory, and io_error where no other file could be read either.
std::optional<collection_head> read_collection_head(const folder_file& file, std::optional<corpus_form> form,
                                                    const document_fields& fields, const context& ctx);

/// One file as a document, like a folder with one file. Its id is the file's name. `opened`: its bytes, if it can be
/// read only once; else null.
std::unique_ptr<corpus_reader> read_single_document(const std::filesystem::path& path,
                                                    std::unique_ptr<byte_source> opened,
                                                    const corpus_options& options, const context& ctx);

}  // namespace quern::io
