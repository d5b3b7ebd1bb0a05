// SPDX-License-Identifier: Apache-2.0
// The small files of retrieval experiments: topics, judgements, runs. Errors name file, line and reason.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "device/memory_budget.hpp"
#include "io/byte_source.hpp"
#include "quern/base/context.hpp"
#include "quern/base/retrieval.hpp"

namespace quern::io {

struct topic {
    std::string id;
    std::string query;
    std::string weights = {};  ///< of a topic with a vector: "word^weight", separated by tabs
};

/// Fields of TREC topics; a query is the texts of those taken, in this order.
struct topic_fields {
    bool title = true, description = false, narrative = false;
    bool operator==(const topic_fields&) const = default;
};

// Each reader throws invalid_input for: a wrong number of fields, an invalid number, a repeated topic or document, a
// line beyond 1 MiB. Lines end with LF or CR LF; empty lines and a byte-order mark are skipped.

/// Reads one of these, detected by the first character that is not white space, with any compression:
/// - `id TAB text` lines (a heading of such names is skipped);
/// - JSON lines with an id and a text (as BEIR's queries.jsonl), or a vector {"word": weight}, or both;
/// - TREC topics (<top>, <num>, <title>, closing tags optional): uses `fields`, without the words ("Number:",
///   "Topic:", "Description:", "Narrative:") that label them, white space collapsed to single blanks, the five entities of XML decoded.
///
/// Ids are trimmed and contain no white space. Of other forms than TREC topics, only the default fields.
std::vector<topic> read_topics(const std::filesystem::path& path, const context& ctx,
                               topic_fields fields = {});
std::vector<topic> read_topics(byte_source& source, topic_fields fields = {});

/// `topic 0 document grade`, separated by white space; under a heading (`query-id corpus-id score`) the columns that it
/// names.
relevance_judgements read_judgements(const std::filesystem::path& path, const context& ctx);
relevance_judgements read_judgements(byte_source& source);
/// The same, counted against a budget. Throws out_of_memory with about the bytes of all judgements.
relevance_judgements read_judgements(const std::filesystem::path& path, const context& ctx,
                                     memory_budget& memory);
relevance_judgements read_judgements(byte_source& source, memory_budget& memory);

/// A whole run. Throws invalid_input as indexed_run does.
retrieval_run read_run(byte_source& source);

}  // namespace quern::io
