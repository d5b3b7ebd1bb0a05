// SPDX-License-Identifier: Apache-2.0
// Reads a back-off language model in the ARPA format, as SRILM, KenLM and `quern ngrams --arpa` write it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "io/lines/node_id_table.hpp"
#include "ops/language_model/back_off_model.hpp"
#include "quern/base/context.hpp"
#include "tasks/language_model/model_file.hpp"

namespace quern {

/// A model and its words: read from an ARPA file, or mapped.
struct word_model {
    back_off_model ngrams;
    io::word_table words;                    ///< their numbers are those of the model
    std::shared_ptr<const model_file> file;  ///< instead of both

    static constexpr std::uint32_t none = back_off_model::no_word;
    std::uint32_t unknown = none;            ///< the word <unk>
    std::uint32_t begin = none, end = none;  ///< <s>, </s>
    bool ends_sentences = false;             ///< </s> has a probability above 10^-90

    using history = back_off_model::history;
    /// The number of a word; `none` if the model lacks it. Thread-safe, as all const functions.
    std::uint32_t number_of(std::string_view word) const {
        return file ? file->find(word) : words.find(word);
    }
    /// Those of any number of words, faster than one after the other.
    void numbers_of(std::span<const std::string_view> of, std::uint32_t* numbers) const {
        constexpr std::size_t at_once = std::min(model_file::at_once, io::word_table::at_once);
        for (std::size_t first = 0; first < of.size(); first += at_once) {
            const auto part = of.subspan(first, std::min(at_once, of.size() - first));
            file ? file->find(part, numbers + first) : words.find(part, numbers + first);
        }
    }
    std::string_view word(std::uint32_t number) const { return file ? file->word(number) : words.at(number); }
    double score(std::uint32_t word, history& before) const {
        return file ? file->ngrams.score(word, before) : ngrams.score(word, before);
    }
    history after(std::uint32_t word) const { return file ? file->ngrams.after(word) : ngrams.after(word); }
    unsigned order() const { return file ? file->ngrams.order() : ngrams.order(); }
    std::uint64_t size(unsigned n) const { return file ? file->ngrams.size(n) : ngrams.size(n); }
    /// A mapped file takes none: its pages are the system's.
    std::uint64_t memory_bytes() const { return file ? 0 : ngrams.memory_bytes() + words.bytes_held(); }
};

/// Reads an ARPA file, or opens a compact model. Throws as read_arpa and model_file do.
word_model read_model(const std::filesystem::path& path, const context& ctx);

/// Reads a file, plain or compressed. Throws usage_error (no such file), invalid_input (not in the format, with the
/// line), out_of_memory, before the n-grams are read, if they exceed the budget.
word_model read_arpa(const std::filesystem::path& path, const context& ctx);

}  // namespace quern
