// SPDX-License-Identifier: Apache-2.0
// One file of a known kind to a title, a text and links. The table in converter.cpp has every kind, with its extensions
// and its converter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "io/corpus/documents/stored_bytes.hpp"
#include "quern/base/context.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

/// The kind of a file that is one document. `unknown`: by its name, no document.
enum class file_kind : std::uint8_t {
    unknown,
    text,
    markdown,
    html,
    source,
    manual,        ///< a manual page in man or mdoc
    restructured,  ///< reStructuredText
    latex,
    notebook,   ///< of Jupyter
    subtitles,  ///< SubRip or WebVTT
    rich_text,  ///< RTF
    office,     ///< OOXML, OpenDocument, EPUB, and what they replaced
    pdf,
};

/// The input of a converter.
struct convertible {
    std::string_view
        path;  ///< relative to the folder; links are resolved against it, and its extension counts
    std::string_view bytes;                ///< the whole file; empty if the converter reads `stored`
    const stored_bytes* stored = nullptr;  ///< the file, for kinds that are read in parts
    reading_budget budget;
    std::uint64_t max_text = UINT64_MAX;  ///< of the text, in bytes: a longer one is rejected
    const context& ctx;
};

struct converted {
    std::string title;  ///< empty: the file's name
    std::string text;   ///< UTF-8
    std::vector<std::string> links;
    std::string repaired;  ///< the repair of damage; empty if there was none
    /// What the file says of itself besides, by name, each value in JSON.
    std::vector<std::pair<std::string, std::string>> fields = {};
};

/// A file has no text that can be read. `category` is a short reason for the summary ("encrypted"), what() a sentence.
class not_convertible : public error {
  public:
    not_convertible(std::string category, const std::string& reason)
        : error(reason), category_(std::move(category)) {}
    const std::string& category() const noexcept { return category_; }

  private:
    std::string category_;
};

/// By extension, in any case, after removing a compression's extension. No extension: text. A section of the manual ("1",
/// "3pm") is no extension of a kind: old logs end so too.
file_kind kind_of(std::string_view path);

/// The kind to convert a file as. Its first bytes decide about office, PDF and RTF files, whose extensions are often wrong;
/// and about files with an unknown extension: pages of the web and of the manual, too.
file_kind kind_to_convert(std::string_view path, std::string_view head);

/// Whether files of this kind are read in parts, and may be larger than a document's bytes may be.
bool is_read_in_parts(file_kind kind);

/// Throws not_convertible; out_of_memory if it needs more than the budget; interrupted according to the context;
/// io_error. Pure but for `pdf`, whose text depends on the program set by use_pdf_program().
converted convert(file_kind kind, const convertible& file);

/// Refuses text beyond file.max_text, or beyond the budget: called while the text grows.
void require_text_room(const convertible& file, std::uint64_t bytes);

// The converters, each in a file named after its kind.

converted convert_text(const convertible& file);
converted convert_html(const convertible& file);
converted convert_markdown(const convertible& file);
converted convert_manual(const convertible& file);
converted convert_restructured(const convertible& file);
converted convert_latex(const convertible& file);
converted convert_notebook(const convertible& file);
converted convert_subtitles(const convertible& file);
converted convert_rich_text(const convertible& file);
converted convert_office(const convertible& file);
converted convert_pdf(const convertible& file);

}  // namespace quern::io
