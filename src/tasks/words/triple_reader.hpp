// SPDX-License-Identifier: Apache-2.0
// A parser's triples, one per line: `word TAB relation TAB other word [TAB count]`.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/ops/word_similarity.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/words/number_stream.hpp"
#include "tasks/words/word_counts.hpp"

namespace quern {

// One line of a parser's triples.

/// A line's fields, views into it; or the problem.
struct triple_line {
    std::string_view word, relation, other;
    std::uint64_t count = 1;
    const char* fault = nullptr;  ///< "has an empty field"; null for a triple
};

/// `word TAB relation TAB other word [TAB count]`, without the line's end. Accepts any bytes; a triple is UTF-8.
triple_line parse_triple(std::string_view line);

struct read_triples_result {
    read_triples_result(scratch_folder& scratch, std::uint64_t memory_bytes)
        : triples(scratch, "triples", memory_bytes) {}

    word_count_table distinct;   ///< words on either side, each with the counts of its triples
    word_count_table relations;  ///< by first appearance
    number_stream<word_triple> triples;
    std::uint64_t occurrences = 0;  ///< the sum of all counts
    std::uint64_t input_bytes = 0;
    reading_record record;  ///< "documents" are lines
};

/// Skips empty lines. Throws as words() does; an invalid line counts as rejected.
void read_triples(const words_options& options, read_triples_result& into, const context& ctx);

}  // namespace quern
