// SPDX-License-Identifier: Apache-2.0
// The metadata of a store, and its verification.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/text_options.hpp"
#include "quern/tasks/build.hpp"

namespace quern {

/// The version of the store format this program writes and reads.
inline constexpr unsigned store_format_version = 4;

struct store_section {
    std::string name;
    std::uint64_t bytes = 0;     ///< of the file, including its checksums
    std::uint64_t checksum = 0;  ///< XXH3 of its blocks' checksums
};

/// The representation of document vectors: rows of length 1, each component as the nearest multiple of 1/unit.
struct vector_form {
    std::uint32_t dimensions = 0;  ///< 0: no vectors
    std::uint32_t unit = 0;
    friend bool operator==(const vector_form&, const vector_form&) = default;
};

/// The type of a kept field: the narrowest one that all its values have; null counts as absent.
enum class field_type {
    text,     ///< strings; numbers and booleans among them are texts, as they are written
    integer,  ///< of 64 bits
    number,   ///< integers and fractions, as doubles
    boolean,
    date,  ///< strings, all of them dates of ISO 8601: "2024-05-01", "2024-05-01T12:30:00Z"
    list,  ///< arrays of strings; a string alone is a list of one
    json,  ///< objects, other arrays, numbers beyond a double: the JSON of every value
};
inline constexpr std::string_view field_type_names[] = {"text", "integer", "number", "boolean",
                                                        "date", "list",    "json"};

struct field_info {
    std::string name;
    field_type type = field_type::text;
    std::uint64_t documents = 0;  ///< that have it
    std::uint64_t values = 0;     ///< the same, but of lists the strings
    friend bool operator==(const field_info&, const field_info&) = default;
};

struct store_info {
    unsigned format_version = 0;
    std::string unicode_version;  ///< of the data used to make the words
    text_options text;
    bool verbatim = false;  ///< made from word lines: words are unchanged, `text` was not applied
    /// Made from lists of words: there are no positions of words and no texts, and `text` applies to queries only.
    word_listing listed = word_listing::none;
    /// Of word_listing::weights: a frequency in a posting list is a weight in units of 2^weight_exponent.
    int weight_exponent = 0;
    float max_weight = 0;  ///< of these, the largest
    std::uint64_t documents = 0, words = 0, vocabulary = 0, postings = 0, links = 0;
    std::uint64_t duplicates = 0;  ///< excluded near-duplicates
    std::set<build_stage> stages;  ///< that ran, besides the index
    std::vector<store_section> sections;
    /// The word space in the folder `thesaurus`: bytes of all its sections, XXH3 of its manifest.
    std::optional<store_section> thesaurus;
    vector_form vectors;
    /// As document_fields::kept; empty: no fields.
    std::vector<std::string> kept_fields;
    /// In the order in which the documents first have them, or of kept_fields.
    std::vector<field_info> fields;
    std::vector<std::string> indexed_fields;  ///< as build_options::indexed_fields
};

/// The metadata as rows of property and value, as `quern info` writes them. Two stores with the same rows contain the
/// same bytes.
using store_property = std::pair<std::string, std::variant<std::string, std::uint64_t>>;
std::vector<store_property> properties_of(const store_info& info);

/// Whether `path` is a store folder (of any version, damaged or not).
bool is_store(const std::filesystem::path& path);

/// Reads only the manifest. Throws usage_error if there is no store, damaged_store otherwise.
store_info read_store_info(const std::filesystem::path& store);

/// Reads every byte, checks every checksum, including those of the thesaurus, and that postings, lengths and
/// the token stream agree; returns the bytes read. Throws damaged_store with the section.
std::uint64_t verify_store(const std::filesystem::path& store, const context& ctx);

}  // namespace quern
