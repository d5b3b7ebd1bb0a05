// SPDX-License-Identifier: Apache-2.0
// Reads a back-off language model in the ARPA format, as SRILM, KenLM and `quern ngrams --arpa` write it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "io/lines/node_id_table.hpp"
#include "ops/language_model/back_off_model.hpp"
#include "quern/base/context.hpp"

namespace quern {

/// A model and its words.
struct word_model {
    back_off_model ngrams;
    io::word_table words;  ///< their numbers are those of the model

    static constexpr std::uint32_t none = back_off_model::no_word;
    std::uint32_t unknown = none;            ///< the word <unk>
    std::uint32_t begin = none, end = none;  ///< <s>, </s>
    bool ends_sentences = false;             ///< </s> has a probability above 10^-90

    /// The number of a word; `none` if the model lacks it. Thread-safe.
    std::uint32_t number_of(std::string_view word) const;
};

/// Reads a file, plain or compressed. Throws usage_error (no such file), invalid_input (not in the format, with the
/// line), out_of_memory, before the n-grams are read, if they exceed the budget.
word_model read_arpa(const std::filesystem::path& path, const context& ctx);

}  // namespace quern
