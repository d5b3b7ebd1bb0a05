// SPDX-License-Identifier: Apache-2.0
// Decontamination of training data: finds the training documents that contain items of evaluation sets, by word n-grams,
// and passes on the others.
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
#include "quern/base/text_options.hpp"
#include "quern/ops/contamination.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

struct decontaminate_options : corpus_input {
    /// The evaluation sets: each input is one, and every document of it is an item. Ids are unique among all of them,
    /// by its rule for ids, and may equal those of training documents.
    corpus_input against;
    text_options text;  ///< how texts become words, on both sides
    contamination_options contamination;

    using sink = std::function<void(std::string_view)>;
    /// Gets the documents that are not contaminated, in their order: lines of JSON lines and TSV byte for byte, others
    /// as JSON lines. Called while the corpus is read, by one thread at a time but not always the same, and for lines of
    /// TSV and CSV at the end. What it throws ends the run. Empty: they are not wanted.
    sink kept;
    /// `kept` gets a Parquet file, as dedup_result::write_kept_rows() writes: all inputs are Parquet files with the same
    /// schema. Called at the end.
    bool keep_rows = false;
    /// Instead of `kept`, for write_kept_folder: the folder to write, new or empty. Checked before the work.
    std::filesystem::path kept_folder;
    /// With `kept_folder`: continues a run with the same inputs and options that was killed or interrupted, if there is one, and
    /// keeps what is done if this run is interrupted or fails. The evaluation sets are files; they are read again. Whole files
    /// of the training data that were read are not read again, unless `keep_examples`. Complete outputs are not written again.
    /// Another request than that of the interrupted run is refused. The folder is the same, byte for byte.
    bool resume = false;
    /// With `kept_folder`: input between two notes for `resume`.
    std::uint64_t part_bytes = 64 << 20;
    bool keep_examples = false;  ///< needed for write_report
    /// The folder of a job whose tasks have found the items in the documents (quern/tasks/decontaminate_tasks.hpp). Not with `resume`.
    std::filesystem::path matches_of_job;
};

struct evaluation_item {
    std::string_view id;
    std::uint32_t set = 0;    ///< position of its input in `against.inputs`
    std::uint64_t words = 0;  ///< 0: it can be found nowhere
};

struct contaminated_document {
    std::string_view id;
    std::uint32_t position = 0;  ///< in the training corpus, from 0
};

struct contamination_counts {
    std::uint32_t documents = 0;         ///< of the training corpus
    std::uint32_t contaminated = 0;      ///< of these
    std::uint32_t items = 0;             ///< of all evaluation sets
    std::uint32_t empty_items = 0;       ///< of these, without a word
    std::uint32_t short_items = 0;       ///< of these, shorter than an n-gram, but with words
    std::uint32_t found_items = 0;       ///< of these, found in a training document
    std::uint64_t evaluation_bytes = 0;  ///< memory of the evaluation sets
};

class decontaminate_result {
  public:
    using sink = decontaminate_options::sink;

    /// Every item and training document that contains at least the share `overlap` of it, ascending by item, then by
    /// document. `document` is a number among the contaminated documents. Empty items are in none.
    std::span<const contamination> matches() const;
    evaluation_item item(std::uint32_t item) const;  ///< numbered in the order of the sets
    /// Numbered from 0 in the order of the training corpus.
    contaminated_document contaminated(std::uint32_t document) const;

    /// Writes `kept_folder`, once: for each file of the training data one with its documents that are not contaminated, in its
    /// form, and manifest.json, as dedup_result::write_kept_folder() does. The folder appears whole or not at all, after a call
    /// of `before`. Throws io_error, interrupted, and invalid_input if a file to copy was changed.
    void write_kept_folder(const context& ctx, const std::function<void()>& before = {}) const;
    /// Writes an HTML page: counts, what leaked of each set, the largest leaks with their texts side by side. Requires
    /// keep_examples.
    void write_report(const sink& out) const;

    contamination_counts found;
    reading_counts counts;            ///< of the training corpus
    reading_counts against_counts;    ///< of the evaluation sets
    std::vector<input_issue> issues;  ///< the first 100 of both, those of the evaluation sets first
    run_statistics statistics;

    decontaminate_result(decontaminate_result&&) noexcept;
    decontaminate_result& operator=(decontaminate_result&&) noexcept;
    ~decontaminate_result();

    struct state;
    explicit decontaminate_result(std::unique_ptr<state> made);

  private:
    std::unique_ptr<state> state_;
};

/// Reads the evaluation sets into memory, then the training corpus once. On the CPU. Titles are not compared. Throws
/// usage_error (missing inputs, options out of range, a store as an input), invalid_input (too much rejected, no
/// documents), out_of_memory (the evaluation sets take more than half of the budget), io_error, interrupted. Contract
/// class: exact. Cost: the segmentation of words, and a few look-ups for each; memory of up to 45 bytes for each word
/// of the evaluation sets; the matches in `ctx.scratch`.
decontaminate_result decontaminate(const decontaminate_options& options, const context& ctx);

/// Whether `options.kept_folder` is there already, written by a run with the same inputs and options, so that nothing is
/// left to resume. Removes what a run that was killed in its last step left next to it.
bool is_kept_folder_complete(const decontaminate_options& options);

}  // namespace quern
