// SPDX-License-Identifier: Apache-2.0
// What a broker and the server of a shard tell each other about a query: steps and their answers as values, and as bytes. A
// query takes two to five steps. The server answers each from its request alone, and keeps nothing between them:
//
//   words     in how many documents of the shard each word of the query is, and how often
//   counts    the same of its phrases, prefixes and the like, with the sums of the words over all shards
//   bounds    the least and largest scores of words that stand for others, with the sums of all counts
//   ranking   the best documents, with the bounds of all shards
//   hits      ids, titles and snippets of the documents that are shown
//
// The bytes are JSON: [form, message, version of Quern], where a message is a list of the members below, in this order. Texts are bytes, of which those above 127 are sent as the
// characters U+0080 to U+00FF; numbers keep their bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/search/part_bounds.hpp"
#include "quern/ops/search.hpp"
#include "quern/tasks/search.hpp"
#include "tasks/search/field_order.hpp"
#include "tasks/search/suggestions.hpp"
#include "tasks/search/whole_statistics.hpp"

namespace quern::shard_exchange {

/// Changes with the members below. Steps of two versions of Quern may not fit together for other reasons, too, so a message also
/// has the version of the program, which must be the same.
inline constexpr std::uint64_t version = 1;

enum class step { words, counts, bounds, ranking, hits, find, document };
inline constexpr std::size_t steps = 7;

struct request {
    step kind = step::words;
    std::uint64_t checksum = 0;  ///< of the shard's manifest, as the sharded store has it
    std::string query;           ///< of find: the id
    search_options options;
    whole_counts collection;      ///< documents and words of all shards
    query_vocabulary vocabulary;  ///< of words: those that are asked for; later of all shards together
    std::vector<whole_counts> counts;
    std::vector<search_detail::shard_bounds> bounds;
    std::vector<scored_document> shown;  ///< of hits, by the shard's numbers
    std::vector<std::uint32_t> ranks;    ///< of these
    std::uint32_t document = 0;          ///< of document
};

struct answer {
    query_vocabulary vocabulary;
    std::vector<whole_counts> counts;
    std::vector<search_detail::shard_bounds> bounds;
    std::vector<scored_document> ranking;
    std::vector<std::vector<field_value>> keys;  ///< of the ranking, if it is in the order of fields
    std::vector<facet_counts> facets;
    std::optional<std::uint64_t> total;
    std::vector<found_variants> variants;
    std::vector<std::string> variant_words;
    std::vector<std::vector<suggestion>> suggestions;  ///< of each unknown word
    std::vector<search_hit> hits;                      ///< without ids and titles
    std::vector<std::string> names;                    ///< of each hit its id, then its title
    std::optional<std::uint32_t> found;
    std::optional<stored_document> document;
};

std::string text_of(const request& of);
std::string text_of(const answer& of);
/// Throw std::exception for bytes that are not such a message, other_version for one of another version of Quern. Messages without
/// a version are taken.
request request_from(std::string_view text);
answer answer_from(std::string_view text);

}  // namespace quern::shard_exchange
