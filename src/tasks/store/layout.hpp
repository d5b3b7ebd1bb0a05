// SPDX-License-Identifier: Apache-2.0
// The files of a store and the manifest that lists and verifies them. docs/formats.md describes the format for readers
// in other languages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "io/store/section.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/manifest.hpp"

namespace quern::store_layout {

inline constexpr std::string_view manifest = "store.json";
inline constexpr std::string_view statistics = "stats.json";
inline constexpr std::string_view thesaurus = "thesaurus";  // a folder, as quern words writes it

// Sections. N documents, V words in byte order (a word's id is its rank), B blocks of texts.
inline constexpr std::string_view ids = "ids";                            // string column, N
inline constexpr std::string_view titles = "titles";                      // string column, N
inline constexpr std::string_view document_lengths = "document_lengths";  // u32[N], in words
inline constexpr std::string_view text_ends = "text_ends";  // u64[N]: bytes of text up to each document's end
inline constexpr std::string_view text_blocks = "text_blocks";  // text_block[B]
inline constexpr std::string_view texts = "texts";              // B zstd frames
inline constexpr std::string_view tokens =
    "tokens";  // ops/search/token_code.hpp: every document's words in order
inline constexpr std::string_view token_ends =
    "token_ends";  // u64[N]: bytes of tokens up to each document's end
inline constexpr std::string_view token_words = "token_words";  // u32: the words of one and of two bytes
inline constexpr std::string_view link_ends = "link_ends";      // u64[N]: links up to each document's end
inline constexpr std::string_view links = "links";              // u32: the targets, in order
// Present if the build kept fields of records: per document a JSON object or nothing, in blocks as the texts are; then
// a column for each field of store_info::fields, by its number (field_section).
inline constexpr std::string_view fields = "fields";              // zstd frames
inline constexpr std::string_view field_blocks = "field_blocks";  // text_block
inline constexpr std::string_view field_ends = "field_ends";      // u64[N]
// Link data for an update; present if not empty:
inline constexpr std::string_view open_links = "open_links";  // open_link, rising
inline constexpr std::string_view redirects = "redirects";    // named_redirect, in order
// Present if the build found M near-duplicates:
inline constexpr std::string_view duplicates_of = "copies_of";  // u32[M], the kept documents, rising
inline constexpr std::string_view copy_ids = "copy_ids";        // string column, M
inline constexpr std::string_view copy_titles = "copy_titles";  // string column, M
inline constexpr std::string_view copy_distances =
    "copy_distances";                                         // u32[M], edits in bytes to the kept document
inline constexpr std::string_view link_ranks = "link_ranks";  // u64[N], in units of 1/link_rank_units
inline constexpr std::string_view document_vectors = "document_vectors";  // i16[N · D]: store_info::vectors
inline constexpr std::string_view user_vectors = "user_vectors";          // f32[N · D]; if the user gave any
inline constexpr double link_rank_units = 0x1p62;

/// The sections that lead from a word to its documents: of all words of the documents, including titles, and of the
/// words in titles only.
struct word_index_names {
    std::string_view dictionary;              // text/dictionary.hpp
    std::string_view document_frequencies;    // u32[V]
    std::string_view collection_frequencies;  // u64[V]
    std::string_view posting_ends;            // u64[V]: bytes of postings up to each word's end
    std::string_view postings;                // ops/search/postings.hpp
};
inline constexpr word_index_names all_words = {"dictionary", "document_frequencies", "collection_frequencies",
                                               "posting_ends", "postings"};
inline constexpr word_index_names title_words = {"title_dictionary", "title_document_frequencies",
                                                 "title_collection_frequencies", "title_posting_ends",
                                                 "title_postings"};
/// Of pairs of words (tasks/store/ngram_index.hpp); present if the build made them.
inline constexpr word_index_names pairs = {"pair_dictionary", "pair_document_frequencies",
                                           "pair_collection_frequencies", "pair_posting_ends",
                                           "pair_postings"};

/// The same of an indexed field, by its number: of its words alone.
inline constexpr std::size_t max_indexed_fields = 16;
const word_index_names& field_words(std::size_t number);

/// A link that did not lead to a document by its id. A later document may have that id.
struct open_link {
    std::uint32_t document = 0;
    std::uint32_t position =
        0;  ///< 2 · (links of the document before it, including these) + (1 if a redirect led somewhere)
    hash128_value name;
};
struct named_redirect {
    hash128_value from, to;
};

/// Texts and fields are compressed in blocks: whole documents, closed at 16 KiB, so that a block is a function of the
/// collection alone. A result needs one of them: blocks of 64 KiB save 3 to 5 % of the bytes, and take two to three times as
/// long.
inline constexpr std::uint64_t text_block_bytes = 16 << 10;
struct text_block {
    std::uint64_t frame_end;       ///< in `texts`
    std::uint64_t first_document;  ///< of the block
};

/// The sections of a column. Values by type: text and json a string column; integer i64; number f64; boolean u8; date i64,
/// microseconds since 1970; a list the strings of all documents as one string column. A document without the field has
/// zero or nothing there.
enum class field_part {
    values,
    present,  ///< a bit for each document, the lowest first; only if some document lacks the field
    ends,     ///< of lists: u64[N], the strings up to each document's end
};
std::string field_section(std::size_t column, field_part part);

using manifests::file_of;

/// The manifest's bytes (tasks/store/manifest.hpp).
std::string manifest_text(const store_info& info);
/// Throws io_error, damaged_store (section "manifest").
store_info read_manifest(const std::filesystem::path& store);

/// Whether the store has it; some are optional.
bool lists_section(const store_info& info, std::string_view name);
/// Opens one section as the manifest describes it. Throws damaged_store.
io::section_view open_section(const std::filesystem::path& store, const std::vector<store_section>& sections,
                              std::string_view name);
inline io::section_view open_section(const std::filesystem::path& store, const store_info& info,
                                     std::string_view name) {
    return open_section(store, info.sections, name);
}

}  // namespace quern::store_layout
