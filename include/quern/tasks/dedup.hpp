// SPDX-License-Identifier: Apache-2.0
// Near-duplicates of a corpus: which documents are almost the same, which of them to keep, and the corpus without the
// others; in one go, against what was read before, or one document at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/statistics.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

struct dedup_options {
    std::vector<std::filesystem::path> inputs;  ///< "-" is standard input
    std::string input_format;                   ///< empty: told from the content; else a corpus form's name
    error_limit max_errors;
    text_options text;  ///< how texts become words, for the methods of words
    duplicate_options duplicates;
    keep_policy keep = keep_policy::first;  ///< lengths in bytes

    /// Documents of earlier runs: the new ones are compared with them and with each other, and added. Made where it is
    /// missing. Not with simhash and i-match, whose pairs depend on the whole collection.
    std::filesystem::path store;
    /// Corpora, and stores of `build` or of an earlier `store`: only pairs of one of their documents and a new one. Each
    /// is a set of its own, which holds documents, and whose ids may be those of another.
    std::vector<std::filesystem::path> against;

    bool keep_records = false;  ///< needed for write_kept
    /// false: pairs() are only so many that they connect the same documents, which is enough for groups() and
    /// write_kept(): a million equal documents make 5 · 10^11 pairs.
    bool list_pairs = true;
    std::uint64_t shard_bytes = std::uint64_t{1} << 30;  ///< with `store`: input between two commits
};

/// What was found. Documents are named by position: earlier ones first, then the corpus in its order.
class dedup_result {
  public:
    using sink = std::function<void(std::string_view)>;

    /// Rising by (a, b). With `store`: all pairs whose later document is of the corpus given, those found by a run
    /// before included, so that the same call gives the same answer again.
    std::span<const duplicate_pair> pairs() const;
    std::uint64_t pair_count() const;  ///< of all, listed or not
    /// In order of their first members. A group with earlier documents keeps one of those.
    std::span<const duplicate_group> groups() const;

    std::uint32_t documents() const;  ///< of the corpus
    std::uint32_t earlier() const;    ///< documents of `store` or `against` that are not of the corpus
    std::uint32_t dropped() const;    ///< documents of the corpus that are in a group and not kept
    std::string_view id(std::uint32_t position) const;
    std::string_view text(std::uint32_t position) const;

    /// The documents that are kept, in the order of the corpus: lines of JSON lines and TSV byte for byte, others as
    /// JSON lines. Throws io_error.
    void write_kept(const sink& out) const;
    /// One HTML page: counts, rates, the largest groups with their differences side by side. Needs pairs to be listed.
    void write_report(const sink& out) const;

    reading_counts counts;            ///< of the corpus
    std::vector<input_issue> issues;  ///< the first 100
    run_statistics statistics;        ///< where it ran included

    dedup_result(dedup_result&&) noexcept;
    dedup_result& operator=(dedup_result&&) noexcept;
    ~dedup_result();

    struct state;
    explicit dedup_result(std::unique_ptr<state> found);

  private:
    std::unique_ptr<state> state_;
};

/// Reads the inputs and finds the near-duplicates. Ids must differ within the corpus; those of `against` may be the
/// same. A document that is in the `store` already, with the same text, is known and not added again. Interrupted, a run with
/// `store` keeps what it has committed, and goes on from there when called again.
/// Throws usage_error (missing inputs, options out of range, a store of other options), invalid_input (too much
/// rejected, no documents), damaged_store, io_error, out_of_memory, device_error, interrupted.
/// Texts of a store are read, and checked, only where their sketches leave a candidate.
/// Cost: one pass over the input, the texts (and, with keep_records, the records) in `run.scratch`; memory 60 bytes a
/// document beside its id and what near_duplicates() takes.
dedup_result dedup(const dedup_options& options, const context& run);

/// Whether `path` is a store that dedup() made (of any version, damaged or not).
bool is_duplicate_store(const std::filesystem::path& path);

struct duplicate_store_info {
    unsigned format_version = 0;
    std::map<std::string, std::string> asked;  ///< the options that its pairs depend on
    std::uint64_t shards = 0, documents = 0, text_bytes = 0, pairs = 0;
    std::vector<store_section> sections;
};
/// Reads the manifest only. Throws usage_error where there is no store, damaged_store.
duplicate_store_info read_duplicate_store_info(const std::filesystem::path& store);
/// Reads every byte and checks every checksum; returns the bytes read. Throws damaged_store naming the section.
std::uint64_t verify_duplicate_store(const std::filesystem::path& store, const context& run);

/// One document at a time: each is compared with those before it as it arrives, on the CPU.
class duplicate_stream {
  public:
    /// Takes `store` or `against`, and `duplicates` with a method of the edit rate; `inputs` are not read. With
    /// `against`, arriving documents are not compared with each other. Throws as dedup() does.
    duplicate_stream(const dedup_options& options, const context& run);
    ~duplicate_stream();
    duplicate_stream(duplicate_stream&&) noexcept;
    duplicate_stream& operator=(duplicate_stream&&) noexcept;

    struct answer {
        bool is_document =
            false;  ///< false: the line is none, and `why` says why; empty: it is an empty line
        std::string id, why;
        std::vector<duplicate_pair> duplicates;  ///< b is this document; by rate, equal rates by position
    };
    /// Answers one JSON line. An id that was there before makes it no document, but for one of the store with the same
    /// text: that is compared with those before it again, and not added twice. Throws invalid_input as soon as more
    /// lines are no documents than a number in `max_errors` allows.
    /// Cost: 64 bytes read for each document of about its length, then the texts that those leave.
    answer next(std::string_view line);
    /// Adds what arrived since the last time to the store; done by itself for every `shard_bytes` of text.
    void commit();
    /// commit(), and throws invalid_input where too large a share was no documents.
    void finish();

    std::string_view id(std::uint32_t position) const;  ///< of a document of a pair
    const reading_counts& counts() const;               ///< of the lines so far
    const run_statistics& statistics() const;           ///< the device
    std::uint32_t earlier() const;  ///< documents of `store` or `against` at the beginning
    /// What the documents take in memory now; their texts are on disk.
    std::uint64_t memory_bytes() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern
