// SPDX-License-Identifier: Apache-2.0
// Stores that are searched together as one, without being merged: a sharded store is a folder that names them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

struct shards_options {
    std::vector<std::filesystem::path> stores;  ///< at least one; their documents in this order
    std::filesystem::path store;                ///< the folder to write
    bool force = false;                         ///< replace an existing sharded store, atomically
};

struct shard_info {
    std::filesystem::path store;  ///< as found from the folder of the sharded store
    std::uint64_t documents = 0, words = 0;
    std::uint64_t checksum = 0;  ///< XXH3 of its manifest, which has the checksums of all its sections
};

struct shards_info {
    std::uint64_t documents = 0;   ///< of all shards
    std::uint64_t words = 0;       ///< occurrences
    std::uint64_t vocabulary = 0;  ///< distinct words
    std::vector<shard_info> shards;
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
