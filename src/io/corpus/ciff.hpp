// SPDX-License-Identifier: Apache-2.0
// An index in the Common Index File Format (io/retrieval/ciff_reader.hpp) as a corpus: each document of the index is a
// document with its words and their counts (word_listing::counts), without their order.
#pragma once

#include <memory>

#include "io/byte_source.hpp"
#include "io/corpus/corpus.hpp"

namespace quern::io {

/// Documents in the order of their numbers, with the ids of their records. A text has the words in the order of the lists;
/// after them the length of the record, if that is not the number of the words. An index has a list for each word: so the
/// first call of next() reads the whole file, and writes the postings, about four bytes each, to scratch, by ranges of
/// documents. Words and ids stay in memory. next() throws invalid_input as ciff_reader does, and for two lists of one word;
/// out_of_memory if words and ids need more than a quarter of the memory.
std::unique_ptr<corpus_reader> read_ciff(std::unique_ptr<byte_source> source, const corpus_options& options,
                                         const context& ctx);

}  // namespace quern::io
