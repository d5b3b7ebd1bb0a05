// SPDX-License-Identifier: Apache-2.0
// Near-duplicates of a corpus: finds them, chooses which to keep, and writes the corpus without the others; for
// a whole corpus, against earlier documents, or one document at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/ops/near_kept.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "quern/tasks/statistics.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

struct dedup_options : corpus_input {
    text_options text;  ///< how texts become words, for word-based methods
    duplicate_options duplicates;
    removal_rule rule = removal_rule::near_kept;
    /// Documents of these sources come first in the order of preference, in this order: inputs, and files or
    /// folders in them. Among documents of one source, and of none, `keep` decides.
    std::vector<std::filesystem::path> prefer;
    keep_policy keep = keep_policy::first;  ///< lengths in bytes; equal ones in the order of the corpus

    /// Documents of earlier runs: the new ones are compared with them and with each other, and added. Created
    /// if it is missing. Not with simhash and i-match, whose pairs depend on the whole collection. Earlier
    /// documents that stayed still stay, and come first in the order of preference; those that were removed
    /// remove nothing. Documents that no run finished with count as if it had kept the first.
    std::filesystem::path store;
    /// Corpora, and stores of `build` or of an earlier `store`: only pairs of one of their documents and a new
    /// one. Each is a separate, non-empty set; sets may share ids. All their documents stay.
    std::vector<std::filesystem::path> against;

    bool keep_records = false;  ///< needed for write_kept
    /// Needed for write_kept_rows: all inputs are Parquet files with the same schema.
    bool keep_rows = false;
    /// If not empty: for write_kept_folder, the folder to write, new or empty. Checked before the work. The inputs
    /// are files and folders; no two files may have the same path within their input.
    std::filesystem::path kept_folder;
    /// With `kept_folder`, not with `store`: continues a run with the same inputs and options that was killed or
    /// interrupted, if there is one, and keeps what is done if this run is interrupted or fails. Without it such a
    /// run is given up. Another request than that of the interrupted run is refused. The folder is the same, byte
    /// for byte. Documents that were read are not read again if there is no `against`, nor compared again if
    /// `list_pairs` is false; complete files are not written again.
    bool resume = false;
    /// false: pairs() are links that connect the same documents (duplicate_scope::links_only). That suffices
    /// for groups() and write_kept() and is faster: a million copies of a document make 5 · 10^11 pairs. A
    /// store still keeps the pairs of different texts.
    bool list_pairs = true;
    /// With `store`: input between two commits. With `kept_folder`: the same between two notes for `resume`, at most 64
    /// MiB.
    std::uint64_t shard_bytes = std::uint64_t{1} << 30;
};

/// The result. Documents are numbered by position: earlier ones first, then the corpus in its order.
class dedup_result {
  public:
    using sink = std::function<void(std::string_view)>;

    /// Ascending by (a, b). With `store`: all pairs whose later document is in the given corpus, including
    /// those found by an earlier run, so that the same call gives the same result again.
    std::span<const duplicate_pair> pairs() const;
    /// The number of all pairs. Unknown if method `automatic`, or `shingle` by the rule near_kept, lists none and there is no
    /// store: groups need only a few.
    std::optional<std::uint64_t> pair_count() const;
    /// In order of their first members. Rule near_kept: a document that stays and all that it removes.
    /// Connected: a group with earlier documents keeps one of those.
    std::span<const duplicate_group> groups() const;
    /// Rule near_kept: the removed documents of the corpus, ascending, each with one that stays; else none.
    std::span<const removed_duplicate> removed() const;

    std::uint32_t documents() const;  ///< of the corpus
    std::uint32_t earlier() const;    ///< documents of `store` or `against` that are not in the corpus
    std::uint32_t dropped() const;    ///< documents of the corpus that are not kept
    std::string_view id(std::uint32_t position) const;
    std::string_view text(std::uint32_t position) const;

    /// Writes the kept documents in the order of the corpus: lines of JSON lines and TSV byte for byte, others
    /// as JSON lines. Throws io_error.
    void write_kept(const sink& out) const;
    /// Writes a Parquet file with the rows of the kept documents, in the order of the corpus: the schema, the metadata and
    /// all columns of the inputs, values and nulls as they are. Throws io_error, interrupted, and invalid_input if an
    /// input was changed.
    void write_kept_rows(const sink& out, const context& ctx) const;
    /// Writes `kept_folder`, once: for each file of the corpus one with its kept documents, under its path within
    /// its input, and manifest.json. Lines of JSON lines, TSV and tables byte for byte; a file that is one document is
    /// copied, or missing; Parquet files as Parquet files; other forms as JSON lines, NAME.jsonl. Compressed if a name ends
    /// in .gz or .zst. The folder
    /// appears whole or not at all, after a call of `before`. Throws io_error, interrupted, and invalid_input if a file
    /// to copy was changed.
    void write_kept_folder(const context& ctx, const std::function<void()>& before = {}) const;
    /// Writes an HTML page: counts, rates, the largest groups with their differences side by side. Requires
    /// list_pairs.
    void write_report(const sink& out) const;

    reading_counts counts;            ///< of the corpus
    std::vector<input_issue> issues;  ///< the first 100
    run_statistics statistics;        ///< including the device

    dedup_result(dedup_result&&) noexcept;
    dedup_result& operator=(dedup_result&&) noexcept;
    ~dedup_result();

    struct state;
    explicit dedup_result(std::unique_ptr<state> found);

  private:
    std::unique_ptr<state> state_;
};

/// Reads the inputs and finds the near-duplicates. Ids must be unique within the corpus; `against` may repeat
/// them. A document that is already in the `store`, with the same text, is not added again. An interrupted run
/// with `store` keeps its committed documents, and the next call resumes after them.
/// Throws usage_error (missing inputs, options out of range, a store with other options), invalid_input (too
/// much rejected, no documents), damaged_store, io_error, out_of_memory, device_error, interrupted. Texts of a
/// store are read, and verified, only if their sketches leave a candidate.
/// Cost: one pass over the input; the texts (and, with keep_records, the records) in `ctx.scratch`; memory of
/// 60 bytes plus the id per document, and that of near_duplicates().
dedup_result dedup(const dedup_options& options, const context& ctx);

/// Whether `options.kept_folder` is there already, written by a run with the same inputs and options, so that nothing is
/// left to resume. Removes what a run that was killed in its last step left next to it.
bool is_kept_folder_complete(const dedup_options& options);

/// Whether `path` is a store that dedup() made (of any version, damaged or not).
bool is_duplicate_store(const std::filesystem::path& path);

struct duplicate_store_info {
    unsigned format_version = 0;
    std::map<std::string, std::string> requested;  ///< the options on which its pairs depend
    std::uint64_t shards = 0, documents = 0, text_bytes = 0, pairs = 0;
    std::vector<store_section> sections;
};
/// Reads only the manifest. Throws usage_error if there is no store, damaged_store.
duplicate_store_info read_duplicate_store_info(const std::filesystem::path& store);
/// Reads every byte and checks every checksum; returns the bytes read. Throws damaged_store naming the section.
std::uint64_t verify_duplicate_store(const std::filesystem::path& store, const context& ctx);

/// Documents as they arrive: compares each with the earlier ones, on the CPU (also for device_choice::automatic), or on a GPU
/// on request. There the texts of all documents stay in the memory of the GPU, and many documents at a time cost little more than one.
class duplicate_stream {
  public:
    /// Uses `store` or `against`, `rule`, `text`, `list_pairs`, and `duplicates` with an edit-rate method or shingle; ignores
    /// `inputs`, `keep` and `prefer`: the first document stays. With `against`, arriving documents are not compared with each other.
    /// Throws as dedup() does.
    duplicate_stream(const dedup_options& options, const context& ctx);
    ~duplicate_stream();
    duplicate_stream(duplicate_stream&&) noexcept;
    duplicate_stream& operator=(duplicate_stream&&) noexcept;

    struct stream_result {
        /// False if the line could not be parsed; `why` has the reason, or is empty for a blank line.
        bool is_document = false;
        std::string id, why;
        /// The pairs that remove it: b is this document; by rate, equal rates by position. Rule near_kept: with
        /// documents that stay. Connected: all.
        std::vector<duplicate_pair> duplicates;
        std::vector<duplicate_pair> pairs;  ///< all, in the same order; none without `list_pairs`
        /// Of the document, if it is among the stream's or the store's: it was added now, or known.
        std::optional<std::uint32_t> position;
    };
    /// Processes one JSON line. A repeated id is an error, unless the document is in the store with the same
    /// text: then it is compared with the earlier ones again, but not added twice. Throws invalid_input as soon
    /// as the number of invalid lines exceeds a count in `max_errors`. Cost: 64 bytes read for each document of
    /// similar length, then the texts of the remaining candidates; of equal documents only the first counts, and by the rule
    /// near_kept, without `list_pairs` and `store`, only those that stay.
    stream_result next(std::string_view line);
    using take_result = std::function<void(stream_result&&)>;
    /// The same for many lines, with the results in order, each as if the lines before it had come alone. An exception leaves
    /// the lines whose results were taken added; one of the comparison itself (out_of_memory with the missing bytes, device_error)
    /// none of its batch.
    void next(std::span<const std::string_view> lines, const take_result& take);
    /// What next() finds, but the document is not added, and its id does not matter (empty if it has none). May be
    /// called by several threads at once, but not during other calls. Throws as near_duplicates() does.
    stream_result ask(std::string_view line) const;
    void ask(std::span<const std::string_view> lines, const take_result& take) const;
    /// How many lines are worth collecting for one call: 1 on the CPU.
    std::size_t batch() const;
    /// Adds the documents since the last commit to the store; happens automatically after every `shard_bytes`
    /// of text.
    void commit();
    /// Calls commit(), and throws invalid_input if the share of invalid lines is too large.
    void finish();

    std::string_view id(std::uint32_t position) const;  ///< of a document of a pair
    const reading_counts& counts() const;               ///< of the lines so far
    const run_statistics& statistics() const;           ///< the device
    std::uint32_t earlier() const;      ///< documents of `store` or `against` at the beginning
    std::uint32_t documents() const;    ///< all, including the earlier ones
    std::uint32_t uncommitted() const;  ///< documents that await commit(); 0 without a store
    /// Current memory of the documents; their texts are on disk, or on the GPU.
    std::uint64_t memory_bytes() const;
    std::uint64_t device_bytes() const;  ///< memory of the GPU

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern
