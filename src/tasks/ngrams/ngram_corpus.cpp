// SPDX-License-Identifier: Apache-2.0
// A pipeline over units of the corpus:
//   cut (in order) → parse (parallel) → admit: ids (in order) → analyse and number within the unit (parallel)
//       → number globally (in order; distinct words only) → renumber (parallel) → append (in order).
// Ids by bytes are known only when all words are: then the numbers are rewritten in a second pass. A dictionary is
// queried once for each distinct word, in its own order.
#include "tasks/ngrams/ngram_corpus.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/release.hpp"
#include "device/cpu/parallel.hpp"
#include "device/cpu/pipeline.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/corpus/document_words.hpp"
#include "tasks/ngrams/word_ranks.hpp"
#include "tasks/words/number_stream.hpp"

namespace quern {
namespace {

constexpr std::uint32_t no_rank = std::numeric_limits<std::uint32_t>::max();

struct unit_in_work : document_unit {
    word_count_table distinct;
    std::vector<std::uint32_t> numbers, number_of_distinct;
    std::vector<std::uint64_t> lengths, name_lengths;
    std::vector<char> names;
};

/// The steps' state; only one in-order step uses each member.
class corpus_reading {
  public:
    corpus_reading(const ngrams_options& options, const text_options& text, const word_dictionary* known,
                   scratch_folder& scratch, table_share& share, const context& ctx)
        : known_(known),
          scratch_(scratch),
          share_(share),
          ctx_(ctx),
          ranks_(scratch, ctx.memory_limit() / 4),
          numbers_(scratch, "word_numbers", ctx.memory_limit() / 4),
          names_(scratch, "document_names", ctx.memory_limit() / 16),
          corpus_(options, {.a_word = 12, .a_distinct_word = 100}, text, ctx),
          words_(text, options.titles ? title_words::in_front : title_words::excluded) {}

    ngram_corpus read() {
        pipeline<unit_in_work> line(units_at_once(ctx_));
        corpus_.begin(line);
        line.in_parallel([this](unit_in_work& unit) { analyse(unit); });
        line.in_order([this](unit_in_work& unit) { ranks_.add(unit.distinct, unit.number_of_distinct); });
        line.in_parallel([](unit_in_work& unit) {
            for (std::uint32_t& n : unit.numbers) n = unit.number_of_distinct[n];
        });
        line.in_order([this](unit_in_work& unit) { append(unit); });
        corpus_.run(line);
        made_.input_bytes = corpus_.consumed_bytes();
        made_.record = std::move(corpus_.record());
        made_.spilled_bytes = ranks_.spilled_bytes() + numbers_.spilled_bytes() + names_.spilled_bytes();

        keep_names();
        const scratch_table<std::uint32_t> rank_of = rank();
        renumber(rank_of);
        for (const std::uint64_t bytes :
             {made_.words.spilled_bytes(), made_.letters.spilled_bytes(), made_.word_ends.spilled_bytes(),
              made_.names.spilled_bytes(), rank_of.spilled_bytes()})
            made_.spilled_bytes += bytes;
        return std::move(made_);
    }

  private:
    void analyse(unit_in_work& unit) {
        constexpr std::uint64_t letters_a_word = 6;  // of English, so that no capacity is wasted
        std::uint64_t letters = 0;
        for (const document& d : unit.parsed.documents) letters += d.text.size();
        unit.numbers.reserve(letters / letters_a_word);
        for (const document& d : unit.parsed.documents) {
            ctx_.check_stop();
            std::uint64_t length = 0;
            words_.for_each_piece(d, [&](const text::token_list& words) {
                for (const text::token& t : words.tokens)
                    unit.numbers.push_back(unit.distinct.add(words.word(t)));
                length += words.tokens.size();
            });
            unit.lengths.push_back(length);
            unit.names.insert(unit.names.end(), d.id.begin(), d.id.end());
            unit.name_lengths.push_back(d.id.size());
        }
        release(unit.parsed.documents);
    }

    void append(unit_in_work& unit) {
        numbers_.append(std::move(unit.numbers));
        names_.append(std::move(unit.names));
        for (const std::uint64_t words : unit.lengths)
            made_.documents.push_back(made_.documents.back() + words);
        for (const std::uint64_t letters : unit.name_lengths)
            made_.name_ends.push_back((made_.name_ends.empty() ? 0 : made_.name_ends.back()) + letters);
    }

    void keep_names() {
        made_.names = {share_, scratch_, "names", names_.size()};
        char* to = made_.names.span().data();
        names_.drain([&](std::span<const char> part) { to = std::ranges::copy(part, to).out; });
    }

    /// The rank of each number; fills the vocabulary.
    scratch_table<std::uint32_t> rank() {
        scratch_table<std::uint32_t> rank_of(share_, scratch_, "ranks", ranks_.numbers());
        made_.letters = {share_, scratch_, "letters", ranks_.letters()};
        made_.word_ends = {share_, scratch_, "word_ends", ranks_.numbers()};
        std::uint64_t end = 0;
        ranks_.for_each(ctx_, [&](std::string_view word, std::span<const std::uint32_t> numbers) {
            ++made_.distinct;
            const bool is_known = known_ == nullptr || known_->find(word).has_value();
            for (const std::uint32_t number : numbers)
                rank_of[number] = is_known ? made_.vocabulary : no_rank;
            if (!is_known) {
                ++made_.distinct_unknown;
                return;
            }
            std::ranges::copy(word, made_.letters.span().data() + end);
            end += word.size();
            made_.word_ends[made_.vocabulary++] = end;
        });
        return rank_of;
    }

    void renumber(const scratch_table<std::uint32_t>& rank_of) {
        made_.words = {share_, scratch_, "word_ids", numbers_.size()};
        cpu_place place(ctx_);
        std::uint32_t* to = made_.words.span().data();
        numbers_.drain([&](std::span<const std::uint32_t> numbers) {
            ctx_.check_stop();
            const std::size_t pieces = pieces_for(place, numbers.size(), 1 << 14);
            std::vector<std::uint64_t> unknown(pieces);
            for_each_piece(place, pieces, [&](std::size_t p) {
                place.ctx().check_stop();
                const auto [begin, end] = piece_of(numbers.size(), pieces, p);
                for (std::size_t i = begin; i < end; ++i) {
                    const std::uint32_t rank = rank_of[numbers[i]];
                    unknown[p] += rank == no_rank ? 1 : 0;
                    to[i] = rank == no_rank ? made_.vocabulary : rank;
                }
            });
            for (const std::uint64_t of_piece : unknown) made_.unknown += of_piece;
            to += numbers.size();
        });
    }

    const word_dictionary* known_;
    scratch_folder& scratch_;
    table_share& share_;
    const context& ctx_;
    ngram_corpus made_;
    word_ranks ranks_;
    number_stream<std::uint32_t> numbers_;
    number_stream<char> names_;
    admitted_corpus corpus_;
    document_words words_;
};

}  // namespace

ngram_corpus read_ngram_corpus(const ngrams_options& options, const text_options& text,
                               const word_dictionary* known, scratch_folder& scratch, table_share& share,
                               const context& ctx) {
    return corpus_reading(options, text, known, scratch, share, ctx).read();
}

}  // namespace quern
