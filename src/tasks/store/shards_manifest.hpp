// SPDX-License-Identifier: Apache-2.0
// The file of a sharded store, and whether its shards are still those that it describes (docs/formats.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "quern/tasks/shards.hpp"
#include "quern/tasks/store.hpp"

namespace quern {

inline constexpr std::string_view shards_file = "shards.json";

/// The bytes of the file; names of shards are absolute, or relative to its folder. Throws usage_error for a name that is not
/// UTF-8.
std::string shards_text(const shards_info& info);
/// shard_info::checksum of a store.
std::uint64_t checksum_of_manifest(const store_info& info);

/// Throws usage_error, with what to do, if the shard of `store` is not there.
void require_present(const std::filesystem::path& store, const shard_info& shard);
/// The same if it is not the one described. `info`: of the shard as it was opened.
void require_unchanged(const std::filesystem::path& store, const shard_info& shard, const store_info& info);

}  // namespace quern
