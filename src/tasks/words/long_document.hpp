// SPDX-License-Identifier: Apache-2.0
// The words of a long document by all threads: it is cut where a passage ends or else between two words of one, and a step in
// order joins the passages that were cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/corpus/document_cuts.hpp"
#include "tasks/corpus/document_words.hpp"
#include "tasks/words/numbered_words.hpp"

namespace quern {

/// The ends of the passages that no window crosses.
const std::vector<std::uint32_t>& ends_of(const text::token_list& words, window_limit limit);
text::boundaries boundaries_of(const document& d, window_limit limit);

/// From the numbers within a part of the input to those of the whole.
void renumber(std::vector<std::uint32_t>& numbers, std::span<const std::uint32_t> number_of_distinct);

class long_document_words {
  public:
    /// All must outlive it. `into` is used by one thread at a time.
    long_document_words(const space_params& params, token_rule rule, document_words& words,
                        numbered_words& into, const context& ctx,
                        std::size_t piece_bytes = piece_bytes_of_document)
        : params_(params), rule_(rule), words_(words), into_(into), ctx_(ctx), piece_bytes_(piece_bytes) {}

    static bool is_long(const document& d) {
        constexpr std::size_t pieces = 16;
        return d.text.size() > pieces * piece_bytes_of_document;
    }

    /// Appends the numbers of the words in `into`, as corpus_words::numbers has them. Returns how many words occur. Runs within
    /// run_parallel().
    std::uint64_t add(const document& d, std::vector<std::uint32_t>& numbers) const;

  private:
    struct piece;
    struct cut {
        std::size_t at;
        bool ends_passage;  ///< otherwise it goes on with the next word, which a stop list may drop
    };

    cut cut_after(const document& d, std::size_t from) const;
    void analyse(piece& p) const;

    const space_params& params_;
    const token_rule rule_;
    document_words& words_;
    numbered_words& into_;
    const context& ctx_;
    const std::size_t piece_bytes_;
};

}  // namespace quern
