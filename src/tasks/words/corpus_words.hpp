// SPDX-License-Identifier: Apache-2.0
// The first half of the task: the corpus goes once through the mill and becomes words as provisional numbers, with the
// ends of passages between them. Numbers go by first appearance, so they do not depend on threads.
#pragma once

#include <cstdint>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/words/number_stream.hpp"
#include "tasks/words/word_tally.hpp"

namespace quern {

struct corpus_words {
    corpus_words(scratch_folder& scratch, std::uint64_t memory_bytes)
        : numbers(scratch, "words", memory_bytes) {}

    word_tally distinct;
    /// Words by their numbers in `distinct`; unknown_word for a place that stays empty; passage_end behind every
    /// passage, and behind every document.
    number_stream<std::uint32_t> numbers;
    std::vector<std::uint32_t> document_lengths;  ///< in `numbers`; only where asked for
    std::uint64_t occurrences = 0;                ///< of words
    std::uint64_t input_bytes = 0;
    bool verbatim = false;  ///< the corpus is word lines
    reading_record record;
};

/// Words of the corpus that the options name. `text`: as the words are to be made. Throws as words() does.
void read_words(const words_options& options, const text_options& text, bool keep_lengths, corpus_words& into,
                const context& run);

/// Words of a store's texts, in parallel over its blocks. The same numbers as from its corpus, but that what wikiextractor
/// wrote has the paragraphs of its empty lines here. Throws damaged_store, out_of_memory, interrupted.
void read_words(const opened_store& store, const space_question& question, const text_options& text,
                bool keep_lengths, corpus_words& into, const context& run);

}  // namespace quern
