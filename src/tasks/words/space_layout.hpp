// SPDX-License-Identifier: Apache-2.0
// The files of a word space and the manifest that lists and verifies them. docs/words.md describes the format for
// readers in other languages.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "io/store/section.hpp"
#include "quern/base/text_options.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/store/manifest.hpp"

namespace quern::space_layout {

inline constexpr std::string_view manifest = "space.json";
inline constexpr std::string_view statistics = "stats.json";
inline constexpr std::string_view matrix_file = "similarities.npy";

// Sections. N words by falling frequency (a word's id is its rank), R relations, E entries, M neighbours, D dimensions.
inline constexpr std::string_view words = "words";              // string column, N
inline constexpr std::string_view word_order = "word_order";    // u32[N]: ids by the bytes of their words
inline constexpr std::string_view frequencies = "frequencies";  // u64[N]
inline constexpr std::string_view relations = "relations";  // string column, R: the user's, with triples only
inline constexpr std::string_view context_ends = "context_ends";  // u64[N + 1]: entries before each word
inline constexpr std::string_view contexts = "contexts";          // u32[E]: relation · N + word
inline constexpr std::string_view context_weights = "context_weights";  // f32[E]
inline constexpr std::string_view context_counts =
    "context_counts";  // u64[R · N]: co-occurrences per context
inline constexpr std::string_view neighbour_ends = "neighbour_ends";      // u64[N + 1]
inline constexpr std::string_view neighbours = "neighbours";              // u32[M]
inline constexpr std::string_view neighbour_scores = "neighbour_scores";  // f64[M]
inline constexpr std::string_view vectors = "vectors";                    // f32[N · D], by words
inline constexpr std::string_view singular_values = "singular_values";    // f64[D]

using manifests::file_of;

/// Text options and parameters by the names of the command line's options; and back. The latter throw
/// std::runtime_error if a value is missing or invalid.
std::map<std::string, std::string> requested_of(const text_options& text, const space_params& params);
text_options text_of(const std::map<std::string, std::string>& requested);
space_params params_of(const std::map<std::string, std::string>& requested);

/// The manifest's bytes (tasks/store/manifest.hpp).
std::string manifest_text(const word_space_info& info, std::uint64_t matrix_checksum);
struct parsed_manifest {
    word_space_info info;
    std::uint64_t matrix_checksum = 0;
};
/// Throws usage_error if there is no space, io_error, damaged_store (section "manifest").
parsed_manifest read_manifest(const std::filesystem::path& space);

/// Opens one section as the manifest describes it. Throws damaged_store.
io::section_view open_section(const std::filesystem::path& space, const word_space_info& info,
                              std::string_view name);

}  // namespace quern::space_layout
