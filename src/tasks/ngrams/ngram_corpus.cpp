// SPDX-License-Identifier: Apache-2.0
// A pipeline over units of the corpus:
//   cut (in order) → parse (parallel) → admit: ids (in order) → analyse and number within the unit (parallel)
//       → number globally (in order; distinct words only) → renumber (parallel) → append (in order).
// Ids by bytes are known only when all words are: then the numbers are rewritten in a second pass. A dictionary is
// queried once for each distinct word, in its own order. After a job, documents are only admitted, and the numbers come from its
// tasks.
#include "tasks/ngrams/ngram_corpus.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "base/ascii.hpp"
#include "base/release.hpp"
#include "device/cpu/parallel.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/paced_checks.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/corpus/document_cuts.hpp"
#include "tasks/corpus/document_words.hpp"
#include "tasks/corpus/sentence_words.hpp"
#include "tasks/ngrams/part_words.hpp"
#include "tasks/ngrams/word_numbers.hpp"
#include "tasks/ngrams/word_ranks.hpp"
#include "tasks/words/number_stream.hpp"

namespace quern {
namespace {

constexpr std::uint32_t no_rank = std::numeric_limits<std::uint32_t>::max();

struct unit_in_work : document_unit {
    word_count_table distinct;
    std::vector<std::uint32_t> numbers, number_of_distinct;
    std::vector<std::uint64_t> lengths, name_lengths;
    std::vector<std::uint32_t> sentence_lengths;  ///< with marks
    std::uint64_t skipped_marks = 0;
    std::vector<char> names;
    std::uint64_t first_document = 0;         ///< of a part, as the next
    std::vector<words_in_document> segments;  ///< by numbers of the whole input
    bool is_long = false;                     ///< a document is read by all threads, in order
};

/// A piece of a long document.
struct document_piece : unit_in_work {
    document part;
};

/// The steps' state; only one in-order step uses each member.
class corpus_reading {
  public:
    corpus_reading(const ngrams_options& options, const text_options& text, const word_dictionary* known,
                   scratch_folder& scratch, table_share& share, const context& ctx, const ngram_part* part)
        : known_(known),
          part_(part),
          job_(known == nullptr && part == nullptr ? options.counts_of_job : std::filesystem::path()),
          tokenized_(options.tokenized),
          marks_(options.sentences),
          has_titles_(options.titles),
          rule_(text.tokens),
          scratch_(scratch),
          share_(share),
          ctx_(ctx),
          ranks_(scratch, ctx.memory_limit() / 4),
          numbers_(scratch, "word_ids", ctx.memory_limit() / 4),
          names_(scratch, "document_names", ctx.memory_limit() / 16),
          sentences_(scratch, "sentence_lengths", ctx.memory_limit() / 16),
          corpus_(options, {.a_byte = marks_ ? 4u : 2u, .a_word = marks_ ? 40u : 12u, .a_distinct_word = 100},
                  text, ctx),
          words_(text, options.titles ? title_words::in_front : title_words::excluded) {}

    ngram_corpus read() {
        pipeline<unit_in_work> line(units_at_once(ctx_));
        corpus_.begin(line);
        line.in_order([this](unit_in_work& unit) {
            unit.first_document = admitted_;
            admitted_ += unit.parsed.documents.size();
        });
        line.in_parallel([this](unit_in_work& unit) {
            unit.is_long =
                std::ranges::any_of(unit.parsed.documents, [this](const document& d) { return is_long(d); });
            if (!unit.is_long) analyse(unit);
        });
        line.in_order([this](unit_in_work& unit) {
            if (unit.is_long)
                read_long(unit);
            else
                ranks_.add(unit.distinct, unit.number_of_distinct);
        });
        line.in_parallel([](unit_in_work& unit) {
            if (!unit.is_long) renumber_globally(unit);
        });
        line.in_order([this](unit_in_work& unit) { append(unit); });
        if (part_ == nullptr)
            corpus_.run(line);
        else  // the run that reads the whole corpus refuses what is too much
            run_parallel(with_threads_that_read(ctx_), [&] { line.run(); });
        if (!job_.empty()) take_words_of_job();
        made_.input_bytes = corpus_.consumed_bytes();
        made_.record = std::move(corpus_.record());
        made_.spilled_bytes = ranks_.spilled_bytes() + names_.spilled_bytes() + sentences_.spilled_bytes();
        if (made_.skipped_marks != 0 && part_ == nullptr)
            ctx_.log(
                log_level::warning,
                fmt::format("{} word{} of the texts {} excluded: <s>, </s> and <unk> are the model's own, "
                            "and it cannot hold white space in a word",
                            made_.skipped_marks, made_.skipped_marks == 1 ? "" : "s",
                            made_.skipped_marks == 1 ? "was" : "were"));

        const withheld_share for_what_was_read(share_, memory_beyond_half());
        ::malloc_trim(0);  // the tables come on top of what the threads' heaps still hold of the units
        keep_names();
        keep_sentences();
        const scratch_table<std::uint32_t> rank_of = rank();
        ::malloc_trim(0);
        renumber(rank_of);
        for (const std::uint64_t bytes :
             {std::max(numbers_.spilled_bytes(), made_.words.spilled_bytes()), made_.letters.spilled_bytes(),
              made_.word_ends.spilled_bytes(), made_.sentence_starts.spilled_bytes(),
              made_.names.spilled_bytes(), rank_of.spilled_bytes()})
            made_.spilled_bytes += bytes;
        return std::move(made_);
    }

  private:
    void take_words_of_job() {
        const words_of_job::taking take = [this](words_block& block) {
            sentences_.append(std::move(block.sentence_lengths));
            numbers_.append(std::move(block.numbers));
            for (const std::uint64_t words : block.lengths)
                made_.documents.push_back(made_.documents.back() + words);
        };
        made_.skipped_marks =
            words_of_job({job_, admitted_, marks_, ranks_, scratch_, share_, ctx_}, take).read();
    }

    void analyse(unit_in_work& unit) {
        if (!job_.empty()) return release(unit.parsed.documents);
        std::uint64_t letters = 0;
        for (const document& d : unit.parsed.documents) letters += d.text.size();
        unit.numbers.reserve(letters / letters_a_word / (part_ == nullptr ? 1 : part_->parts));
        std::uint64_t number = unit.first_document;
        for (const document& d : unit.parsed.documents) {
            ctx_.check_stop();
            const std::size_t before = unit.numbers.size();
            if (part_ != nullptr)
                add_part(d, number++, unit);
            else
                add_document(d, unit);
            add_lengths(d, before, unit);
        }
        release(unit.parsed.documents);
    }

    void add_document(const document& d, unit_in_work& unit) {
        if (marks_)
            add_sentences(d, unit);
        else
            add_words(d, unit);
    }
    static void add_lengths(const document& d, std::size_t before, unit_in_work& unit) {
        unit.lengths.push_back(unit.numbers.size() - before);
        unit.names.insert(unit.names.end(), d.id.begin(), d.id.end());
        unit.name_lengths.push_back(d.id.size());
    }
    static void renumber_globally(unit_in_work& unit) {
        for (std::uint32_t& n : unit.numbers) n = unit.number_of_distinct[n];
    }

    /// Whether all threads read it, in pieces: between sentences with marks, else between words.
    bool is_long(const document& d) const {
        constexpr std::size_t pieces = 16;
        return d.text.size() > pieces * piece_bytes_of_document && part_ == nullptr && job_.empty() &&
               (!marks_ || (!d.verbatim && !has_titles_));
    }

    /// Leaves the words of the unit with their final numbers.
    void read_long(unit_in_work& unit) {
        for (const document& d : unit.parsed.documents) {
            const std::size_t before = unit.numbers.size();
            add_in_pieces(d, unit);
            add_lengths(d, before, unit);
        }
        release(unit.parsed.documents);
    }

    void add_in_pieces(const document& d, unit_in_work& unit) {
        unit.numbers.reserve(unit.numbers.size() + d.text.size() / letters_a_word);
        const bool is_cut = is_long(d);
        bool has_begun = false;  // a text may be empty, and its title not
        std::size_t at = 0;
        pipeline<document_piece> line(units_at_once(ctx_));
        line.from([&](document_piece& p) {
            ctx_.check_stop();
            if (has_begun && at == d.text.size()) return false;
            std::size_t end = d.text.size();
            if (is_cut && marks_)
                end = cut_lines(d.text, at, piece_bytes_of_document);
            else if (is_cut)
                end = cut_document(d, at, piece_bytes_of_document, tokenized_, rule_).at;
            if (!has_begun) p.part.title = d.title;
            has_begun = true;
            p.part.text = d.text.substr(at, end - at);
            p.part.verbatim = d.verbatim;
            at = end;
            return true;
        });
        line.in_parallel([this](document_piece& p) {
            add_document(p.part, p);
            release(p.part.text);
        });
        line.in_order([this](document_piece& p) { ranks_.add(p.distinct, p.number_of_distinct); });
        line.in_parallel([](document_piece& p) { renumber_globally(p); });
        line.in_order([&unit](document_piece& p) {
            unit.numbers.insert(unit.numbers.end(), p.numbers.begin(), p.numbers.end());
            unit.sentence_lengths.insert(unit.sentence_lengths.end(), p.sentence_lengths.begin(),
                                         p.sentence_lengths.end());
            unit.skipped_marks += p.skipped_marks;
        });
        line.run();
    }

    void add_part(const document& d, std::uint64_t number, unit_in_work& unit) {
        const std::size_t before = unit.numbers.size();
        if (marks_ && part_->parts > 1 && d.text.size() >= ngram_part::shared_text_bytes) {
            add_own_sentences(d, number, unit);
            return;
        }
        if (number % part_->parts != part_->part) return;
        if (marks_)
            add_sentences(d, unit);
        else
            add_words(d, unit);
        if (unit.numbers.size() != before) unit.segments.push_back({number, 0, unit.numbers.size() - before});
    }

    /// Those of this part. The words of the others are only counted, since the place of a sentence depends on them.
    void add_own_sentences(const document& d, std::uint64_t number, unit_in_work& unit) {
        unit_in_work whole;
        add_sentences(d, whole);
        if (number % part_->parts == part_->part) unit.skipped_marks += whole.skipped_marks;
        std::vector<std::uint32_t> number_of;
        for (std::uint32_t i = 0; i < whole.distinct.size(); ++i)
            number_of.push_back(unit.distinct.add(whole.distinct.word(i)));
        std::uint64_t begin = 0;
        for (std::size_t i = 0; i < whole.sentence_lengths.size(); ++i) {
            const std::uint32_t length = whole.sentence_lengths[i];
            if ((number + i) % part_->parts == part_->part) {
                for (std::uint64_t w = begin; w < begin + length; ++w)
                    unit.numbers.push_back(number_of[whole.numbers[w]]);
                unit.sentence_lengths.push_back(length);
                unit.segments.push_back({number, begin, length});
            }
            begin += length;
        }
    }

    void add_words(const document& d, unit_in_work& unit) {
        const auto add = [&](std::string_view word) { unit.numbers.push_back(unit.distinct.add(word)); };
        if (tokenized_ && !d.verbatim) {
            for_each_line_word(d.text, empty_lines::do_not_count, add, [] {});
            return;
        }
        words_.for_each_piece(d, [&](const text::token_list& words) {
            for (const text::token& t : words.tokens) add(words.word(t));
        });
    }

    void add_sentences(const document& d, unit_in_work& unit) {
        std::size_t begin = unit.numbers.size();
        bool is_open = false;
        const auto open = [&] {
            if (std::exchange(is_open, true)) return;
            begin = unit.numbers.size();
            unit.numbers.push_back(unit.distinct.add(begin_mark_word));
        };
        const auto add = [&](std::string_view word) {
            open();
            if (is_writable(word))
                unit.numbers.push_back(unit.distinct.add(word));
            else
                ++unit.skipped_marks;
        };
        const auto end = [&] {
            open();
            is_open = false;
            unit.numbers.push_back(unit.distinct.add(end_mark_word));
            if (unit.numbers.size() - begin > UINT32_MAX)
                throw out_of_memory("the words of a sentence", unit.numbers.size() - begin, UINT32_MAX);
            unit.sentence_lengths.push_back(static_cast<std::uint32_t>(unit.numbers.size() - begin));
        };
        if (tokenized_ && !d.verbatim)
            for_each_line_word(d.text, empty_lines::count, add, end);
        else
            for_each_sentence_word(words_.of(d, text::boundaries::sentences_and_paragraphs), add, end);
    }
    /// Whether a model in the ARPA format can hold it as a word of a text.
    static bool is_writable(std::string_view word) {
        if (word.front() == '<' &&
            (word == begin_mark_word || word == end_mark_word || word == unknown_ngram_word))
            return false;
        return std::ranges::none_of(word, [](char c) { return is_space(c) || c == '\0'; });
    }

    void append(unit_in_work& unit) {
        made_.skipped_marks += unit.skipped_marks;
        sentences_.append(std::move(unit.sentence_lengths));
        numbers_.append(std::move(unit.numbers));
        names_.append(std::move(unit.names));
        made_.segments.insert(made_.segments.end(), unit.segments.begin(), unit.segments.end());
        for (const std::uint64_t words : unit.lengths)
            made_.documents.push_back(made_.documents.back() + words);
        for (const std::uint64_t letters : unit.name_lengths)
            made_.name_ends.push_back((made_.name_ends.empty() ? 0 : made_.name_ends.back()) + letters);
    }

    /// What was read stays while the tables are made, which may have half of the budget.
    std::uint64_t memory_beyond_half() const {
        const std::uint64_t held = numbers_.memory_bytes() + ranks_.memory_bytes() + names_.memory_bytes() +
                                   sentences_.memory_bytes() + made_.memory_bytes();
        const std::uint64_t half = ctx_.memory_limit() / 2;
        return held - std::min(held, half);
    }

    void keep_names() {
        made_.names = {share_, scratch_, "names", names_.size()};
        char* to = made_.names.span().data();
        names_.drain([&](std::span<const char> part) {
            ctx_.check_stop();  // of a mapped table, pages are released
            to = std::ranges::copy(part, to).out;
        });
    }

    void keep_sentences() {
        if (!marks_) return;
        made_.has_marks = true;
        made_.sentences = sentences_.size();
        made_.sentence_starts = {share_, scratch_, "sentences", sentences_.size() + 1};
        std::uint64_t* to = made_.sentence_starts.span().data();
        std::uint64_t at = *to++ = 0;
        sentences_.drain([&](std::span<const std::uint32_t> lengths) {
            in_checked_parts(ctx_, 0, lengths.size(), neighbouring_values,
                             [&](std::uint64_t begin, std::uint64_t end) {
                                 for (std::uint64_t i = begin; i < end; ++i) *to++ = at += lengths[i];
                             });
        });
    }

    /// The rank of each number; fills the vocabulary.
    scratch_table<std::uint32_t> rank() {
        scratch_table<std::uint32_t> rank_of(share_, scratch_, "ranks", ranks_.numbers());
        made_.letters = {share_, scratch_, "letters", ranks_.letters()};
        made_.word_ends = {share_, scratch_, "word_ends", ranks_.numbers()};
        std::uint64_t end = 0;
        paced_checks checks(ctx_, scattered_values);
        ranks_.for_each(ctx_, [&](std::string_view word, std::span<const std::uint32_t> numbers) {
            checks.after(numbers.size());
            std::uint32_t* const mark = mark_of(word);
            if (mark != nullptr)
                *mark = made_.vocabulary;
            else
                ++made_.distinct;
            const bool is_known = mark != nullptr || known_ == nullptr || known_->find(word).has_value();
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

    /// Where the id of a mark goes; null for other words.
    std::uint32_t* mark_of(std::string_view word) {
        if (!marks_ || !word.starts_with('<')) return nullptr;
        return word == begin_mark_word ? &made_.begin_mark
               : word == end_mark_word ? &made_.end_mark
                                       : nullptr;
    }

    void renumber(const scratch_table<std::uint32_t>& rank_of) {
        cpu_place place(ctx_);
        std::atomic<std::uint64_t> unknown{0};
        made_.words = numbers_.take(place, share_, [&](std::span<std::uint32_t> numbers) {
            std::uint64_t unknown_here = 0;
            for (std::uint32_t& number : numbers) {
                const std::uint32_t rank = rank_of[number];
                unknown_here += rank == no_rank ? 1 : 0;
                number = rank == no_rank ? made_.vocabulary : rank;
            }
            unknown += unknown_here;
        });
        made_.unknown += unknown;
    }

    static constexpr std::uint64_t letters_a_word = 6;  ///< of English, so that no capacity is wasted

    const word_dictionary* known_;
    const ngram_part* part_;           ///< null: the whole corpus
    const std::filesystem::path job_;  ///< its tasks have the words; empty: none
    std::uint64_t admitted_ = 0;
    bool tokenized_, marks_;
    const bool has_titles_;  ///< in front of the texts
    const token_rule rule_;
    scratch_folder& scratch_;
    table_share& share_;
    const context& ctx_;
    ngram_corpus made_;
    word_ranks ranks_;
    word_numbers numbers_;
    number_stream<char> names_;
    number_stream<std::uint32_t> sentences_;  ///< lengths
    admitted_corpus corpus_;
    document_words words_;
};

}  // namespace

ngram_corpus read_ngram_corpus(const ngrams_options& options, const text_options& text,
                               const word_dictionary* known, scratch_folder& scratch, table_share& share,
                               const context& ctx, const ngram_part* part) {
    return corpus_reading(options, text, known, scratch, share, ctx, part).read();
}

}  // namespace quern
