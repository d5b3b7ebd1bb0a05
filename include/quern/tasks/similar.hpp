// SPDX-License-Identifier: Apache-2.0
// Asking a space of words: neighbours, scores of pairs, contexts; and what other tools read of it.
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

/// Where the space of `path` lies: itself, or the thesaurus of a store. Throws usage_error for a store without one,
/// damaged_store.
std::filesystem::path space_of(const std::filesystem::path& path);

struct neighbour {
    std::uint32_t word;
    double score;
    friend bool operator==(const neighbour&, const neighbour&) = default;
};

/// Words to look near to, and words to stay away from.
struct word_combination {
    std::vector<std::uint32_t> plus, minus;
};

/// A context of one word, or of two; `second` is 0 where one was asked for.
struct shared_context {
    std::uint32_t relation, word;
    float first, second;
};

/// A space opened for questions: mapped, its bytes checked where they are touched. Safe to ask from many threads.
/// Members throw damaged_store naming the section where bytes are damaged.
class word_space {
  public:
    using sink = std::function<void(std::string_view)>;

    /// Throws usage_error where there is no space, damaged_store, also for another version; warns through
    /// `run.on_log` where the space was made with another version of the Unicode data.
    static word_space open(const std::filesystem::path& space, const context& run);
    ~word_space();
    word_space(word_space&&) noexcept;
    word_space& operator=(word_space&&) noexcept;

    const word_space_info& info() const;
    const space_question& question() const;
    std::uint32_t size() const;  ///< words, by falling frequency
    std::string_view word(std::uint32_t id) const;
    std::uint64_t frequency(std::uint32_t id) const;
    /// As in a TSV: "*" for the only one, "-2" and "+1" for positions, the user's own for triples.
    std::string relation(std::uint32_t r) const;

    /// A word as the space spells it: lower-cased, stemmed and so on by the text options of the corpus. Throws
    /// usage_error where the text is not one word, or one that the options drop.
    std::string spelling(std::string_view typed) const;
    std::optional<std::uint32_t> find(std::string_view spelling) const;
    /// Words of the space few edits away, in code points: by distance, then by frequency; at most `most`.
    std::vector<std::uint32_t> near_spellings(std::string_view spelling, const context& run,
                                              std::size_t most = 5) const;

    /// The `top` words with the highest score to a combination: the sum of the scores with the words of `plus`, minus
    /// the sum of those with the words of `minus`, each in rising order of ids; ties by id; never a word of the
    /// combination. With one word of `plus` alone, its neighbours. Scores of 0 and below only with vectors.
    /// `within`: these words only.
    std::vector<neighbour> similar(const word_combination& asked, std::uint32_t top, const context& run,
                                   std::optional<std::span<const std::uint32_t>> within = {}) const;
    /// The scores of pairs of words.
    std::vector<double> scores(std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs,
                               const context& run) const;

    /// A word's contexts, heaviest first, equal ones by relation and word; at most `top`.
    std::vector<shared_context> contexts(std::uint32_t word, std::size_t top) const;
    /// Those of both words, by what they add to the score of the pair: the sum of the weights, with cosine the product.
    std::vector<shared_context> contexts(std::uint32_t first, std::uint32_t second, std::size_t top) const;

    /// Calls `take` for each neighbour that is stored: words by id, their neighbours by falling score.
    void each_neighbour(const std::function<void(std::uint32_t, const neighbour&)>& take,
                        const context& run) const;
    bool has_vectors() const;
    std::span<const float> vector(std::uint32_t word) const;

    // What other tools read. Throw usage_error for vectors that the space does not have.
    void write_vectors_npy(const sink& out) const;                    ///< float32, words × dimensions
    void write_vectors_text(const sink& out) const;                   ///< word2vec's text form
    void write_graph_tsv(const sink& out, const context& run) const;  ///< word, neighbour, score
    void write_graphml(const sink& out, const context& run) const;
    void write_words(const sink& out) const;  ///< word, frequency

  private:
    struct state;
    explicit word_space(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

}  // namespace quern
