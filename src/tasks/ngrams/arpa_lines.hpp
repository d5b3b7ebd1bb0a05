// SPDX-License-Identifier: Apache-2.0
// Lines of an ARPA file, from the levels of a model: the words of a node are written once for all its children.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "tasks/ngrams/model_levels.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"
#include "tasks/ngrams/ngram_words.hpp"

namespace quern {

/// A 1-gram that is not a node.
struct arpa_word {
    std::string_view word;
    double probability;
};

class arpa_lines {
  public:
    arpa_lines(const ngram_corpus& corpus, unsigned order, const context& ctx,
               const std::function<void(std::string_view)>& sink)
        : corpus_(corpus), order_(order), ctx_(ctx), sink_(sink) {}

    /// `sizes[i]`: how many n-grams of i + 1 words will be written.
    void write_head(std::span<const std::uint64_t> sizes) const;
    /// The n-grams of one length but those excluded; `parents`: the preceding level. `more`: the first lines.
    void write_level(unsigned n, const model_level& parents, const model_level& of,
                     std::span<const arpa_word> more = {}) const;
    void write_end() const { sink_("\n\\end\\\n"); }

  private:
    /// Copied words of some parents, the first of which is node `first`, if the text is mapped.
    struct words_of_parents {
        const ngram_words& copied;
        std::uint64_t first;
    };
    static std::uint64_t parent_of(const model_level& parents, std::uint64_t node);
    void write_nodes(unsigned n, const model_level& parents, const model_level& of,
                     const words_of_parents& words, std::uint64_t begin, std::uint64_t end,
                     std::string& out) const;

    const ngram_corpus& corpus_;
    unsigned order_;
    const context& ctx_;
    const std::function<void(std::string_view)>& sink_;
};

}  // namespace quern
