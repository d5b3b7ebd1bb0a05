// SPDX-License-Identifier: Apache-2.0
// The first half of the task: reads a corpus once and turns it into words as ids that are ranks by bytes, with tables
// of the strings.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/dictionary.hpp"
#include "quern/tasks/ngrams.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/ngrams/scratch_table.hpp"

namespace quern {

/// Which documents of a corpus are read, for tasks that share it: the words of those whose numbers, from 0, leave the remainder
/// `part`; the others are there, without words. Of a document of `shared_text_bytes` or more, with marks, every task has sentences
/// instead, chosen in the same way.
struct ngram_part {
    std::uint64_t part = 0, parts = 1;
    static constexpr std::uint64_t shared_text_bytes = std::uint64_t{1} << 20;
};
/// Words of a document that lie next to each other.
struct words_in_document {
    std::uint64_t document = 0, begin = 0, length = 0;
    friend bool operator==(const words_in_document&, const words_in_document&) = default;
};

/// Words that mark a sentence.
inline constexpr std::string_view begin_mark_word = "<s>", end_mark_word = "</s>";

struct ngram_corpus {
    scratch_table<std::uint32_t> words;
    std::vector<std::uint64_t> documents{0};  ///< the beginning of each among the words, and the end
    /// With marks the same of each sentence; `words` then has <s> before and </s> after the words of each.
    scratch_table<std::uint64_t> sentence_starts;
    std::uint64_t sentences = 0;   ///< with marks
    std::uint32_t vocabulary = 0;  ///< also the id of an unknown word
    static constexpr std::uint32_t no_mark = UINT32_MAX;
    std::uint32_t begin_mark = no_mark,
                  end_mark = no_mark;  ///< the ids of <s> and </s>, if there are sentences
    bool has_marks = false;

    scratch_table<char> letters;              ///< of the vocabulary
    scratch_table<std::uint64_t> word_ends;   ///< in `letters`
    scratch_table<char> names;                ///< ids of documents
    std::vector<std::uint64_t> name_ends;     ///< in `names`
    std::vector<words_in_document> segments;  ///< of a part: what `words` has, in order

    std::uint64_t distinct = 0, distinct_unknown = 0, unknown = 0;
    std::uint64_t skipped_marks = 0;  ///< words of the texts that a model with marks cannot hold
    std::uint64_t input_bytes = 0, spilled_bytes = 0;
    reading_record record;

    std::uint64_t document_count() const { return documents.size() - 1; }
    /// The units that no n-gram crosses: with marks sentences, else documents.
    std::span<const std::uint64_t> sequences() const {
        return has_marks ? sentence_starts.span() : std::span<const std::uint64_t>(documents);
    }
    /// Without marks.
    std::uint64_t word_count() const { return words.size() - 2 * sentences; }
    /// Of what is not in a table.
    std::uint64_t memory_bytes() const { return 8 * (documents.capacity() + name_ends.capacity()); }
    std::string_view word(std::uint32_t id) const {
        if (id == vocabulary) return unknown_ngram_word;
        return piece(letters, id == 0 ? 0 : word_ends[id - 1], word_ends[id]);
    }
    std::string_view name(std::uint32_t document) const {
        return piece(names, document == 0 ? 0 : name_ends[document - std::size_t{1}], name_ends[document]);
    }

  private:
    static std::string_view piece(const scratch_table<char>& of, std::uint64_t begin, std::uint64_t end) {
        return {of.span().data() + begin, end - begin};
    }
};

/// `text`: the word rules. `known`: a dictionary of the known words; null: all are known. Tables use memory of `share`,
/// and `scratch` beyond it. `part`: null for the whole corpus. With the counts of a job and without a dictionary the words come from its tasks
/// (part_words.hpp), and documents have no names.
ngram_corpus read_ngram_corpus(const ngrams_options& options, const text_options& text,
                               const word_dictionary* known, scratch_folder& scratch, table_share& share,
                               const context& ctx, const ngram_part* part = nullptr);

}  // namespace quern
