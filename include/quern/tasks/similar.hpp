// SPDX-License-Identifier: Apache-2.0
// Queries of a word space: neighbours, scores of pairs, contexts; and exports for other tools.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/words.hpp"

namespace quern {

/// The path of the word space: `path` itself, or the thesaurus of a store. Throws usage_error for a store
/// without one, damaged_store.
std::filesystem::path space_of(const std::filesystem::path& path);

struct neighbour {
    std::uint32_t word;
    double score;
    friend bool operator==(const neighbour&, const neighbour&) = default;
};

/// Words to be close to, and words to be far from.
struct word_combination {
    std::vector<std::uint32_t> plus, minus;
};

/// A context of one word, or of two; `second` is 0 for one word.
struct shared_context {
    std::uint32_t relation, word;
    float first, second;
};

/// An open word space: memory-mapped, its bytes verified at first access. Thread-safe. Members throw
/// damaged_store with the section if bytes are damaged.
class word_space {
  public:
    using sink = std::function<void(std::string_view)>;

    /// Throws usage_error if there is no space, damaged_store (also for another version); warns through
    /// `ctx.on_log` if the space was made with another version of the Unicode data.
    static word_space open(const std::filesystem::path& space, const context& ctx);
    ~word_space();
    word_space(word_space&&) noexcept;
    word_space& operator=(word_space&&) noexcept;

    /// From now on words are compared by their stored neighbours instead of their contexts (second-order similarity, as
    /// DISCO2 of Kolb 2009): the measure lin over the lists, where a neighbour weighs its score. Only neighbours with a
    /// score above 0 count. Nothing stored changes. Not while other threads query. Throws usage_error if the space stores no
    /// neighbours.
    void compare_by_neighbours(const context& ctx);

    const word_space_info& info() const;
    const space_params& params() const;
    std::uint32_t size() const;  ///< number of words, by descending frequency
    std::string_view word(std::uint32_t id) const;
    std::uint64_t frequency(std::uint32_t id) const;
    /// As in TSV: "*" for the only relation, "-2" and "+1" for positions, the user's names for triples.
    std::string relation(std::uint32_t r) const;

    /// A word in the form of the space: lower-cased, stemmed and so on by the text options of the corpus.
    /// Throws usage_error if the text is not a single word, or if the options drop it.
    std::string spelling(std::string_view typed) const;
    std::optional<std::uint32_t> find(std::string_view spelling) const;
    /// Words of the space within a few edits, in code points: by distance, then by frequency; at most `max`.
    std::vector<std::uint32_t> near_spellings(std::string_view spelling, const context& ctx,
                                              std::size_t max = 5) const;

    /// The `top` words with the highest score for a combination: the sum of the scores with the words of
    /// `plus`, minus the sum of those with the words of `minus`, each in ascending order of ids; ties by id;
    /// never a word of the combination. With a single word in `plus`, its neighbours. Scores of 0 and below
    /// only with vectors. `within`: only these words.
    std::vector<neighbour> similar(const word_combination& requested, std::uint32_t top, const context& ctx,
                                   std::optional<std::span<const std::uint32_t>> within = {}) const;
    /// Whether a word is in the stop list of the corpus's language, which is named by the text options or
    /// detected from its words (docs/words.md). Thread-safe; the first call reads the lists.
    bool is_stop_word(std::uint32_t id) const;
    /// Neighbours without stop words: removes stop words from the first `top` of similar, or from the stored
    /// neighbours if these are more, and returns at most `top`. Cost: that of similar.
    std::vector<neighbour> similar_but_stop_words(const word_combination& requested, std::uint32_t top,
                                                  const context& ctx) const;
    /// The scores of pairs of words.
    std::vector<double> scores(std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs,
                               const context& ctx) const;

    /// A word's contexts by descending weight, equal ones by relation and word; at most `top`.
    std::vector<shared_context> contexts(std::uint32_t word, std::size_t top) const;
    /// The contexts of both words, by their contribution to the score of the pair: the sum of the weights, for
    /// cosine the product, for jaccard the lesser.
    std::vector<shared_context> contexts(std::uint32_t first, std::uint32_t second, std::size_t top) const;

    /// Calls `sink` for each stored neighbour: words by id, their neighbours by descending score.
    void each_neighbour(const std::function<void(std::uint32_t, const neighbour&)>& neighbour_sink,
                        const context& ctx) const;
    bool has_vectors() const;
    std::span<const float> vector(std::uint32_t word) const;

    // For other tools. Throw usage_error if the space has no vectors.
    void write_vectors_npy(const sink& out) const;                    ///< float32, words × dimensions
    void write_vectors_text(const sink& out) const;                   ///< word2vec's text format
    void write_graph_tsv(const sink& out, const context& ctx) const;  ///< word, neighbour, score
    void write_graphml(const sink& out, const context& ctx) const;
    void write_words(const sink& out) const;  ///< word, frequency

  private:
    struct state;
    explicit word_space(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

}  // namespace quern
