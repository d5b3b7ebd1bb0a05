// SPDX-License-Identifier: Apache-2.0
// The first half of the task: reads the corpus once and turns it into words as provisional numbers, with the ends of
// passages between them. Numbers are assigned by first appearance, so that they do not depend on threads.
#pragma once

#include <cstdint>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/words/number_stream.hpp"
#include "tasks/words/numbered_words.hpp"

namespace quern {

struct corpus_words {
    /// Words and their numbers, each about `memory_bytes`.
    corpus_words(scratch_folder& scratch, std::uint64_t memory_bytes)
        : distinct(scratch, memory_bytes), numbers(scratch, "numbers", memory_bytes) {}

    numbered_words distinct;
    /// Of words numbered by their ids in a store, instead of `distinct`: how often each occurs.
    std::vector<std::uint64_t> counts_of_store;
    /// Words by their numbers in `distinct`, or their ids; unknown_word for an empty position; passage_end after every passage, and
    /// after every document.
    number_stream<std::uint32_t> numbers;
    std::vector<std::uint32_t> document_lengths;  ///< in `numbers`; only on request
    std::uint64_t occurrences = 0;                ///< of words
    std::uint64_t input_bytes = 0;
    bool verbatim = false;  ///< the corpus is word lines
    reading_record record;
};

/// Words of the corpus that the options name. `text`: the word rules. Throws as words() does.
void read_words(const words_options& options, const text_options& text, bool keep_lengths, corpus_words& into,
                const context& ctx);

/// Words of a store's texts, in parallel over its blocks. The same numbers as from its corpus, except that
/// wikiextractor's output has the paragraphs of its empty lines here. Throws damaged_store, out_of_memory, interrupted.
void read_words(const opened_store& store, const space_params& params, const text_options& text,
                bool keep_lengths, corpus_words& into, const context& ctx);

}  // namespace quern
