// SPDX-License-Identifier: Apache-2.0
// Quality rules over a corpus: passes on the documents that pass all of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/decimal.hpp"
#include "quern/base/document.hpp"
#include "quern/ops/text_quality.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

/// What became of a document. Valid during the call.
struct filter_decision {
    std::string_view id;
    std::uint64_t position = 0;  ///< in the corpus, from 0
    bool is_kept = true;
    bool is_changed = false;  ///< kept with another text
    /// Of a removed one: the first rule that it does not pass ("c4.javascript"), its value and the limit. A limit is empty for
    /// a rule without one; for "language" both are codes.
    std::string_view rule, value, limit;
    std::string_view text;  ///< of a kept one, as it is written; with wants_texts only
};

/// What a language model's limits are compared with.
enum class perplexity_measure { perplexity, bits_per_byte };
inline constexpr std::string_view perplexity_measure_names[] = {"perplexity", "bits-per-byte"};

/// How a text becomes the words of a language model: one of token_rule, or tokenized (perplexity_options).
enum class model_words { unicode, ascii, letters, tokenized };
inline constexpr std::string_view model_words_names[] = {"unicode", "ascii", "letters", "tokenized"};

struct filter_options : corpus_input {
    rule_choice rules;
    word_split words = word_split::unicode;
    /// Codes as detectable_languages() names them: documents in other languages are removed, before the rules. Empty: all stay.
    std::vector<std::string> languages;
    decimal language_score{
        65, 100};  ///< the least share of the text that is in the language, in percent without fractions
    /// A language model (perplexity_options::model); after the rules, documents that it predicts too badly or too well are
    /// removed: those not below `below`, or not above `above`. Text without words is removed. Empty: none.
    std::filesystem::path perplexity;
    std::optional<double> below, above;
    /// Instead of limits: percentiles, 0 to 100, of the values of the documents of `reference`, by nearest rank. A document is
    /// kept at or below the one, above the other, so that parts of a corpus by the same percentiles are disjoint and complete.
    std::optional<double> below_percentile, above_percentile;
    std::vector<std::filesystem::path>
        reference;  ///< a corpus, scored as it is; the fields are those of the corpus
    perplexity_measure measure = perplexity_measure::perplexity;
    model_words words_of_model = model_words::unicode;
    bool mask_emails = false, mask_ips = false;
    std::uint32_t sample_removed =
        5;  ///< examples of each rule in the report, twice: the first ones, and some by hash

    using sink = std::function<void(std::string_view)>;
    /// Gets the kept documents, in their order: lines of JSON lines and TSV byte for byte, with another text if a rule or a mask
    /// changes it; others as JSON lines. Called while the corpus is read, by one thread at a time but not always the same, and
    /// for lines of TSV and CSV at the end. What it throws ends the run. Empty: they are not wanted.
    sink kept;
    /// `kept` gets a Parquet file, as dedup_result::write_kept_rows() writes: all inputs are Parquet files with the same
    /// schema, and no rule or mask may change a text. Called at the end.
    bool keep_rows = false;
    /// Instead of `kept`: a new folder with an output for each file of the corpus; empty: none.
    std::filesystem::path kept_folder;
    /// With `kept_folder`: continues a run with the same inputs and options that was killed or interrupted, if there is one, and
    /// keeps what is done if this run is interrupted or fails. Whole files that were read are not read again, unless
    /// `keep_examples` or `wants_texts`; `decided` is called for their documents too. Complete outputs are not written
    /// again. Another request than that of the interrupted run is refused. The folder is the same, byte for byte.
    bool resume = false;
    /// With `kept_folder`: input between two notes for `resume`.
    std::uint64_t part_bytes = 64 << 20;
    /// With `kept_folder`: called once every document is decided and all outputs are complete, before the folder appears.
    std::function<void()> before_folder;
    /// Called for each document, in their order, as `kept` is.
    std::function<void(const filter_decision&)> decided;
    /// The folder of a job (quern/tasks/cluster.hpp) whose tasks have judged the documents: their verdicts are taken. Empty: none.
    std::filesystem::path verdicts;
    bool wants_texts = false;    ///< filter_decision::text
    bool keep_examples = false;  ///< needed for write_report
};

/// The languages that filter_options::languages can name, sorted.
std::span<const std::string_view> detectable_languages();
/// The code that stands for a language: "he" for "iw". Throws usage_error for one that cannot be detected.
std::string detectable_language(std::string_view code);

/// The rules of a file in TOML (docs/filter.md). Throws usage_error "FILE:LINE: reason"; io_error.
rule_choice read_rules(const std::filesystem::path& file);

/// Documents that a rule removed.
struct removed_by_rule {
    std::string rule, limit;
    std::uint64_t documents = 0;
};

struct filter_counts {
    std::uint64_t documents = 0;
    std::uint64_t removed = 0;          ///< of these
    std::uint64_t changed = 0;          ///< of those kept, with another text
    std::uint64_t emails = 0, ips = 0;  ///< masked, in kept documents
};

class filter_result {
  public:
    using sink = filter_options::sink;

    /// Every rule that applied, in order, also those that removed nothing.
    std::span<const removed_by_rule> removed_by() const;
    /// Writes an HTML page: counts by rule, and examples. Requires keep_examples.
    void write_report(const sink& out) const;

    filter_counts found;
    reading_counts counts;
    std::vector<input_issue> issues;  ///< the first 100
    run_statistics statistics;

    filter_result(filter_result&&) noexcept;
    filter_result& operator=(filter_result&&) noexcept;
    ~filter_result();

    struct state;
    explicit filter_result(std::unique_ptr<state> made);

  private:
    std::unique_ptr<state> state_;
};

/// Reads the corpus once. On the CPU, except that a language model may score texts on a GPU, as for perplexity(). Titles are not
/// judged. Throws usage_error (missing inputs, options out of range, no rule, an unreadable list), invalid_input (too much rejected,
/// no documents), device_error, out_of_memory, io_error, interrupted. Contract class: exact; the language is that of CLD2, also in
/// integers. Cost: the segmentation of words, if a rule counts them, and one pass for each group of rules.
filter_result filter(const filter_options& options, const context& ctx);

/// Whether `options.kept_folder` is there already, written by a run with the same inputs and options, so that nothing is
/// left to resume. Removes what a run that was killed in its last step left next to it.
bool is_kept_folder_complete(const filter_options& options);

}  // namespace quern
