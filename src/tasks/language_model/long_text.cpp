// SPDX-License-Identifier: Apache-2.0
#include "tasks/language_model/long_text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "device/cpu/pipeline.hpp"
#include "tasks/corpus/document_cuts.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/corpus/sentence_words.hpp"

namespace quern {

struct document_scorer::long_text::piece {
    std::string_view text;
    bool goes_on = false;        ///< it begins within a sentence
    bool ends_sentence = false;  ///< and a sentence ends where it ends
    // Of the sentence that goes on: its first words, which the joiner scores, and what follows.
    std::vector<std::string> head;
    bool ends_in_head = false, ends_later = false;
    std::vector<double> logarithms;
    std::vector<text_score> scores;  ///< of what ends here; the first is that of `logarithms` if `ends_later`
    text_score unfinished;
    std::vector<std::string> last;  ///< the last words of the unfinished sentence that stand in the piece
    std::vector<double> probabilities;
};

/// Receives the words and the sentence ends of a piece.
class document_scorer::long_text::piece_scorer {
  public:
    piece_scorer(const model_mixture& models, piece& of, std::size_t history, bool keeps_probabilities)
        : of_(of), last_(history), scorer_(models), is_first_(of.goes_on) {
        if (keeps_probabilities)
            scorer_.on_word = [&of](std::span<const double> p) {
                of.probabilities.insert(of.probabilities.end(), p.begin(), p.end());
            };
        if (!is_first_) scorer_.begin();
    }

    void add(std::string_view word) {
        last_[words_++ % last_.size()] = word;
        if (is_first_ && words_ <= last_.size()) {
            of_.head.emplace_back(word);
            if (words_ == last_.size()) end_head();
            return;
        }
        scorer_.add(word);
    }

    void end() {
        if (is_first_) {
            of_.ends_in_head = words_ < last_.size();
            of_.ends_later = !of_.ends_in_head;
        }
        if (is_first_ ? of_.ends_later : words_ != 0) scorer_.end();
        scorer_.begin();
        is_first_ = false;
        words_ = 0;
    }

    void finish() {
        of_.scores = scorer_.finish();
        of_.unfinished = scorer_.unfinished();
        const std::size_t kept = std::min(words_, last_.size());
        for (std::size_t i = words_ - kept; i < words_; ++i) of_.last.emplace_back(last_[i % last_.size()]);
    }

  private:
    /// The words that follow have all of their history here.
    void end_head() {
        scorer_.begin();
        for (const std::string& word : of_.head) scorer_.add(word);
        scorer_.forget_scores();
        scorer_.keep_logarithms(of_.logarithms);
    }

    piece& of_;
    std::vector<std::string_view> last_;  ///< the last words of the sentence: word i at i % size
    text_scorer scorer_;
    bool is_first_;          ///< the sentence goes on from the piece before
    std::size_t words_ = 0;  ///< of the sentence that stand here
};

/// Takes the pieces in order.
class document_scorer::long_text::joiner {
  public:
    joiner(const document_scorer& of, std::size_t history, const score_sink& sink, const word_sink& on_word)
        : of_(of), history_(history), sink_(sink), on_word_(on_word), scorer_(of.models_, nullptr) {
        scorer_.on_word = on_word;
    }

    void take(piece& p) {
        std::size_t ended = 0;
        if (p.goes_on) {
            score_head(p);
            pass_on(p.probabilities);
            if (!p.ends_in_head) add(p.ends_later ? p.scores[ended++] : p.unfinished, p.logarithms);
            if (p.ends_in_head || p.ends_later) end();
        } else {
            pass_on(p.probabilities);
        }
        const bool is_same = p.goes_on && !p.ends_in_head && !p.ends_later;
        for (; ended < p.scores.size(); ++ended) give(p.scores[ended]);
        if (!is_same) {
            score_ = p.unfinished;
            last_.clear();
        }
        std::ranges::move(p.last, std::back_inserter(last_));
        if (last_.size() > history_)
            last_.erase(last_.begin(), last_.end() - static_cast<std::ptrdiff_t>(history_));
    }

    void finish() {
        if (!of_.splits()) give(score_);
        if (!of_.sentences_) sink_(whole_);
    }

  private:
    void score_head(const piece& p) {
        const bool ends = p.ends_in_head && (score_.words != 0 || !p.head.empty());
        if (p.head.empty() && !ends) return;
        scorer_.begin();
        for (const std::string& word : last_) scorer_.add(word);
        scorer_.forget_scores();
        std::vector<double> logarithms;
        scorer_.keep_logarithms(logarithms);
        for (const std::string& word : p.head) scorer_.add(word);
        if (ends) scorer_.end();
        const std::vector<text_score> ended = scorer_.finish();
        add(ends ? ended.front() : scorer_.unfinished(), logarithms);
    }

    /// More of the unfinished sentence.
    void add(const text_score& more, const std::vector<double>& logarithms) {
        score_.words += more.words;
        score_.unknown += more.unknown;
        score_.scored += more.scored;
        for (const double logarithm : logarithms) score_.logarithm += logarithm;
    }

    void end() {
        if (score_.words != 0) give(score_);
        score_ = {};
    }

    void give(text_score of) {
        if (of_.splits()) of.sentences = 1;
        if (of_.sentences_)
            sink_(of);
        else
            whole_.add(of);
    }

    void pass_on(const std::vector<double>& probabilities) {
        const std::size_t models = of_.models_.models.size();
        for (std::size_t at = 0; at < probabilities.size(); at += models)
            on_word_(std::span(probabilities).subspan(at, models));
    }

    const document_scorer& of_;
    const std::size_t history_;
    const score_sink& sink_;
    const word_sink& on_word_;
    text_scorer scorer_;
    text_score score_;               ///< of the unfinished sentence
    std::vector<std::string> last_;  ///< its last words
    text_score whole_;
};

std::size_t document_scorer::long_text::long_bytes(const context& ctx) {
    constexpr std::uint64_t pieces = 16;
    return std::min<std::uint64_t>(pieces * piece_bytes_of_document, reading_memory_of(ctx).ordinary_unit);
}

std::size_t document_scorer::long_text::history_words() const {
    unsigned order = 2;
    for (const word_model& model : of_.models_.models) order = std::max(order, model.order());
    return order - 1;
}

text::text_cut document_scorer::long_text::cut_after(const document& d, std::size_t from) const {
    return cut_document(d, from, piece_bytes_, of_.tokenized_, of_.rule_);
}

std::size_t document_scorer::long_text::largest_piece(const document& d) const {
    std::size_t largest = 0;
    for (std::size_t from = 0; from < d.text.size();) {
        const std::size_t end = cut_after(d, from).at;
        largest = std::max(largest, end - from);
        from = end;
    }
    return largest;
}

void document_scorer::long_text::score_piece(const document& d, piece& p, bool keeps_probabilities) const {
    const bool splits = of_.splits();
    piece_scorer scorer(of_.models_, p, history_words(), keeps_probabilities);
    if (of_.tokenized_ && !d.verbatim) {
        for (std::size_t at = 0; at < p.text.size();) {
            const std::size_t line_end = std::min(p.text.find('\n', at), p.text.size());
            for_each_line_word(
                p.text.substr(at, line_end - at), empty_lines::do_not_count,
                [&](std::string_view word) { scorer.add(word); }, [] {});
            if (splits && line_end != p.text.size()) scorer.end();
            at = line_end + 1;
        }
    } else {
        using text::boundaries, text::dropped_words;
        document part;
        part.text = p.text;
        part.verbatim = d.verbatim;
        const text::token_list& list = of_.words_.of(
            part, splits ? boundaries::sentences_and_paragraphs : boundaries::none,
            splits ? dropped_words::keep_place : dropped_words::excluded);  // no sentence is empty
        std::size_t sentence = 0;
        for (std::size_t i = 0; i < list.tokens.size(); ++i) {
            if (sentence != list.sentence_ends.size() && list.sentence_ends[sentence] == i) {
                scorer.end();
                ++sentence;
            }
            if (const std::string_view word = list.word(list.tokens[i]); !word.empty()) scorer.add(word);
        }
    }
    if (splits && p.ends_sentence) scorer.end();
    scorer.finish();
}

void document_scorer::long_text::score(const document& d, const score_sink& sink, const word_sink& on_word) {
    joiner together(of_, history_words(), sink, on_word);
    std::size_t at = 0;
    bool goes_on = false;
    pipeline<piece> line(units_at_once(ctx_));
    line.from([&](piece& p) {
        ctx_.check_stop();
        if (at == d.text.size()) return false;
        const text::text_cut found = cut_after(d, at);
        p.text = std::string_view(d.text).substr(at, found.at - at);
        p.goes_on = goes_on;
        p.ends_sentence = found.ends_sentence;
        at = found.at;
        goes_on = !of_.splits() || !found.ends_sentence;
        return true;
    });
    line.in_parallel([&](piece& p) { score_piece(d, p, on_word != nullptr); });
    line.in_order([&](piece& p) { together.take(p); });
    line.run();
    together.finish();
}

}  // namespace quern
