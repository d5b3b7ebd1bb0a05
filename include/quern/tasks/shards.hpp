// SPDX-License-Identifier: Apache-2.0
// Stores that are searched together as one, without being merged: a sharded store is a folder that names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

struct shards_options {
    std::vector<std::filesystem::path> stores;  ///< at least one; their documents in this order
    std::filesystem::path store;                ///< the folder to write
    /// For each store empty, or the address of the server that searches it: "http://host:7700". Such a store is read only
    /// while the sharded store is written. One at least has no address. Empty: none has one.
    std::vector<std::string> urls = {};
    bool force = false;  ///< replace an existing sharded store, atomically
};

struct shard_info {
    std::filesystem::path store;  ///< as found from the folder of the sharded store; empty with `url`
    std::string url;              ///< of the server that searches it; empty: it is on this machine
    std::uint64_t documents = 0, words = 0, postings = 0;
    std::uint64_t checksum = 0;      ///< XXH3 of its manifest, which has the checksums of all its sections
    std::vector<field_info> fields;  ///< its kept fields; with `url` only, as are postings
};

struct shards_info {
    std::uint64_t documents = 0;   ///< of all shards
    std::uint64_t words = 0;       ///< occurrences
    std::uint64_t vocabulary = 0;  ///< distinct words
    std::vector<shard_info> shards;
};

/// A step of a query for the server of a shard (POST /api/shard). The body is JSON, whose form changes with the version.
struct shard_request {
    std::string url, body;
};
/// Waits for the bodies of the answers, in the order of the requests. Throws shard_failed, usage_error with what a server
/// refuses, and `interrupted`.
using shard_answers = std::function<std::vector<std::string>()>;
/// Sends all requests at once. The context must outlive what is returned.
using ask_shards = std::function<shard_answers(std::span<const shard_request>, const context&)>;

/// The server of a shard cannot be reached, does not answer in time, or has another store.
class shard_failed : public error {
  public:
    shard_failed(const std::string& url, const std::string& reason) : error(url + ": " + reason) {}
};

/// A step of a query is from another version of Quern. `what()` names both.
class other_version : public usage_error {
  public:
    using usage_error::usage_error;
};

/// What a step of a query may cost at most.
struct step_limits {
    std::size_t results = 1000, query_bytes = 2048;
    std::size_t explained_terms = 20'000;  ///< of all results of a step with explanations
};

/// Whether `path` is the folder of a sharded store (of any version, damaged or not).
bool is_sharded_store(const std::filesystem::path& path);

/// Writes a sharded store: the names of the stores, relative to its folder unless they are given as absolute paths, their
/// checksums, and the counts of all together. search_engine::open takes it. Nothing of the stores is copied: they stay where
/// they are, and must not be changed. The folder appears complete or not at all.
/// Throws usage_error: a missing store, one given twice, a sharded store as a shard; stores with other text options, kept or
/// indexed fields, types of fields, kinds of documents, vectors or Unicode data; ids that two stores have; stores that
/// excluded near-duplicates; more than 2^32 - 2 documents; an existing folder without `force`, and one that is not a sharded
/// store. io_error, damaged_store, interrupted, out_of_memory.
/// Cost: reads the ids and dictionaries of the stores.
shards_info write_shards(const shards_options& options, const context& ctx);

/// Reads the folder, not the shards. Throws usage_error for a folder that is not a sharded store, damaged_store for a damaged one.
shards_info read_shards(const std::filesystem::path& store);

/// Throws usage_error if a shard is missing or was changed since the sharded store was written, with what to do.
void check_shards(const std::filesystem::path& store, const shards_info& info);

/// Checks the folder and every byte of each shard, as verify_store; returns the bytes read. Throws as these do.
std::uint64_t verify_shards(const std::filesystem::path& store, const context& ctx);

}  // namespace quern
