// SPDX-License-Identifier: Apache-2.0
// A corpus given instead of a store: its store is built once and cached.
#pragma once

#include <filesystem>
#include <string>

#include "quern/tasks/build.hpp"
#include "session.hpp"

namespace quern::cli {

/// The help text of the argument STORE|CORPUS.
inline constexpr const char* store_or_corpus_help =
    "A store, or a corpus as for quern build: its store is built once and cached in $QUERN_CACHE, else "
    "$XDG_CACHE_HOME/quern, else ~/.cache/quern, as long as the files do not change.";

/// Whether this is a store, or a sharded one.
bool holds_store(const std::filesystem::path& path);

/// The path itself if it is one of these; otherwise the cached store of that corpus, built and logged if it does not
/// exist yet. Throws as cached_store does.
std::filesystem::path store_for(const std::filesystem::path& path, build_options corpus,
                                const text_choice& text, session& job);

}  // namespace quern::cli
