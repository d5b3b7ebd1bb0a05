// SPDX-License-Identifier: Apache-2.0
// A language model, opened once, for texts of a program: their scores, and texts by chance.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/perplexity.hpp"

namespace quern {

/// The version of the format of compact models that this program writes and reads.
inline constexpr unsigned language_model_format_version = 2;

struct compact_model_options {
    std::filesystem::path file;
    /// Bits of a probability and of a back-off weight of n-grams of two words or more; 0: all values are exact.
    unsigned quantize = 0;
    bool force = false;  ///< replace an existing file, atomically
};

/// The metadata of a compact model.
struct language_model_info {
    unsigned format_version = 0;
    std::uint32_t words = 0;
    std::vector<std::uint64_t> ngrams;  ///< of each length; those that only end longer ones included
    unsigned quantized_bits = 0;        ///< 0: exact
    bool ends_sentences = false;        ///< </s> has a probability above 10^-90
    std::uint64_t ngram_bytes = 0, file_bytes = 0;
    std::uint64_t checksum = 0;  ///< of everything but the checksums
};

/// Writes a model in the ARPA format as a compact one, which is mapped and needs no reading. Scores are the same to the bit,
/// unless it is quantized. The same file gives the same bytes. Throws usage_error (no model, an existing file without
/// `force`), invalid_input, out_of_memory as perplexity() does, io_error.
language_model_info make_compact_model(const std::filesystem::path& from,
                                       const compact_model_options& options, const context& ctx);
/// Whether `path` is a compact model (of any version, damaged or not).
bool is_compact_model(const std::filesystem::path& path);
/// Throws usage_error if there is no such file, damaged_store.
language_model_info read_compact_model_info(const std::filesystem::path& path);
/// Reads every byte and checks every checksum; returns the bytes read. Throws damaged_store.
std::uint64_t verify_compact_model(const std::filesystem::path& path, const context& ctx);

struct generate_options {
    std::uint64_t count = 0;        ///< texts
    std::uint64_t seed = 0;         ///< the same seed and model give the same texts
    std::uint64_t max_words = 100;  ///< of a text, if </s> does not end it earlier
    std::string begin;              ///< words, separated by blanks, with which each text begins
};

/// One model, or several interpolated. Const functions are thread-safe.
class language_model {
  public:
    /// The model, those to interpolate, the weights and how texts become words; the rest of the options is not used. Throws
    /// as perplexity() does.
    static language_model open(const perplexity_options& options, const context& ctx);
    language_model(language_model&&) noexcept;
    language_model& operator=(language_model&&) noexcept;
    ~language_model();

    unsigned order() const;                   ///< of the first model
    std::uint64_t ngrams(unsigned n) const;   ///< of the first model; n from 1
    std::uint64_t memory_bytes() const;       ///< of all models
    bool has_marks() const;                   ///< <s> and </s> stand around each sentence
    std::span<const double> weights() const;  ///< their sum is 1

    /// The row that perplexity() makes of a document with this text, or with `sentences` one for each sentence; the id is
    /// empty.
    std::vector<perplexity_row> score(std::string_view text, bool sentences = false) const;

    /// A row for each text, in their order, by all threads. Throws interrupted.
    std::vector<perplexity_row> score(std::span<const std::string_view> texts, const context& ctx) const;

    /// Texts by chance: each word by its probability after the words before it, but <s> and <unk>; words separated by blanks.
    /// Text i depends on the seed and i alone. Exact: every word of the vocabulary is scored, which costs about 0.1 µs each.
    /// Throws usage_error if several models are interpolated or a word of `begin` is unknown; interrupted.
    std::vector<std::string> generate(const generate_options& options, const context& ctx) const;

  private:
    struct state;
    explicit language_model(std::unique_ptr<state> made);
    std::unique_ptr<state> state_;
};

}  // namespace quern
