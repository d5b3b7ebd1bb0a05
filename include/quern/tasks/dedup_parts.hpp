// SPDX-License-Identifier: Apache-2.0
// Cuts out of the documents of a corpus what occurs earlier in it: lines, paragraphs, or substrings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/ops/repeated_text.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

/// What is compared: whole documents (dedup()), or parts of them.
enum class dedup_level { document, paragraph, line, substring };
inline constexpr std::string_view dedup_level_names[] = {"document", "paragraph", "line", "substring"};

struct dedup_parts_options : corpus_input {
    dedup_level level = dedup_level::document;  ///< dedup_parts() refuses `document`
    /// Code points of a part, at least: shorter ones are never cut.
    std::uint32_t min_length = 50;
    /// Level substring: a cut begins and ends where a word does (UAX #29); one that is shorter than min_length then
    /// is none.
    bool whole_words = false;
    /// Corpora, and stores of `build` or of dedup(): their documents come before the corpus, in this order, so that what
    /// occurs in them is cut, too. They may share ids. They are not changed and not written.
    std::vector<std::filesystem::path> against;
    bool keep_records = false;  ///< needed for write_kept
    /// If not empty: for write_kept_folder, the folder to write, new or empty. Checked before the work.
    std::filesystem::path kept_folder;
};

/// Bytes [begin, end) of a document's text, as the corpus reader returns it, that are cut.
struct text_cut {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t document = 0;  ///< position
    std::uint32_t first =
        0;  ///< position of the document that has the first occurrence: of the whole part; of
            ///< a substring, of its first min_length code points (before whole_words)
    friend bool operator==(const text_cut&, const text_cut&) = default;
};

/// The result. Documents are numbered by position: those of `against` first, then the corpus in its order.
class dedup_parts_result {
  public:
    using sink = std::function<void(std::string_view)>;

    /// By document, then by begin; those of one document are disjoint.
    std::span<const text_cut> cuts() const;
    std::uint32_t documents() const;  ///< of the corpus
    std::uint32_t earlier() const;    ///< of `against`
    std::uint32_t changed() const;    ///< documents of the corpus with a cut
    std::uint32_t dropped() const;    ///< of these, those of which only ASCII white space is left, or nothing
    std::uint64_t characters() const;  ///< code points of the corpus's texts
    std::uint64_t characters_cut()
        const;  ///< of these, those that are cut; dropped documents count what is cut
    std::string_view id(std::uint32_t position) const;
    std::string_view text(std::uint32_t position) const;  ///< before the cuts

    /// Writes the documents that are not dropped, in the order of the corpus, without what is cut. Unchanged lines of
    /// JSON lines, TSV and tables byte for byte; of changed ones only the text is replaced. Others as JSON lines. Throws
    /// io_error.
    void write_kept(const sink& out) const;
    /// Writes `kept_folder`, once: the same, for each file of the corpus in a file of its form, and manifest.json, as
    /// dedup_result::write_kept_folder() does. The folder appears whole or not at all, after a call of `before`. Throws io_error,
    /// interrupted, and invalid_input if a file to copy was changed.
    void write_kept_folder(const context& ctx, const std::function<void()>& before = {}) const;

    reading_counts counts;            ///< of the corpus
    std::vector<input_issue> issues;  ///< the first 100
    run_statistics statistics;

    dedup_parts_result(dedup_parts_result&&) noexcept;
    dedup_parts_result& operator=(dedup_parts_result&&) noexcept;
    ~dedup_parts_result();

    struct state;
    explicit dedup_parts_result(std::unique_ptr<state> found);

  private:
    std::unique_ptr<state> state_;
};

/// Reads the inputs and finds what to cut, as repeated_text() defines it, on the CPU. Everything is compared with the texts as
/// they are read, so that the first occurrence of a part is never changed by a later one. The same result for any number
/// of threads and any memory.
/// Throws usage_error (missing inputs, options out of range, the corpus form `lines`; with `kept_folder` a cut in a document
/// that is a file or a row of Parquet, which is copied there as it is), invalid_input (too much rejected, no
/// documents), damaged_store, io_error, out_of_memory, device_error (a GPU was asked for), interrupted.
/// Cost: one pass over the input; the texts (and, with keep_records, the records) in `ctx.scratch`; memory of 60 bytes plus the
/// id per document, and that of repeated_text().
dedup_parts_result dedup_parts(const dedup_parts_options& options, const context& ctx);

}  // namespace quern
