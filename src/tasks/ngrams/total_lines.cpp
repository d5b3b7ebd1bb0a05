// SPDX-License-Identifier: Apache-2.0
#include "tasks/ngrams/total_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "device/cpu/pipeline.hpp"
#include "report/tsv.hpp"
#include "tasks/ngrams/ngram_words.hpp"
#include "tasks/ngrams/row_text.hpp"
#include "tasks/ngrams/short_texts.hpp"

namespace quern {
namespace {

/// The words of an n-gram with a space after each, but a tab after the last.
class line_of_words {
  public:
    line_of_words(const ngram_corpus& corpus, unsigned n)
        : corpus_(corpus), end_(corpus.letters.span().data() + corpus.letters.size()), ids_(n), ends_(n) {}

    void set(const std::uint32_t* ids) {
        std::size_t i = 0;
        if (!text_.empty())
            while (i < ids_.size() && ids[i] == ids_[i]) ++i;
        std::size_t at = i == 0 ? 0 : ends_[i - 1];
        for (; i < ids_.size(); ++i) {
            const std::string_view word = corpus_.word(ids[i]);
            const std::size_t most = at + word.size() + 1 + padding;
            if (text_.size() < most) text_.resize(2 * most);
            copy(text_.data() + at, word, ids[i] != corpus_.vocabulary);
            at += word.size();
            text_[at++] = i + 1 < ids_.size() ? ' ' : '\t';
            ids_[i] = ids[i];
            ends_[i] = at;
        }
    }
    std::size_t size() const { return ends_.back(); }
    /// Writes up to size() + padding bytes.
    char* put(char* to) const {
        std::memcpy(to, text_.data(), padding);
        if (size() > padding) std::memcpy(to + padding, text_.data() + padding, size() - padding);
        return to + size();
    }

    static constexpr std::size_t padding = 32;

  private:
    /// Most words are short: of these, with what follows them, a fixed number of bytes.
    void copy(char* to, std::string_view word, bool is_known) const {
        constexpr std::size_t usual = 16;
        static_assert(usual <= padding);
        if (is_known && word.size() <= usual && static_cast<std::size_t>(end_ - word.data()) >= usual)
            std::memcpy(to, word.data(), usual);
        else
            std::memcpy(to, word.data(), word.size());
    }

    const ngram_corpus& corpus_;
    const char* end_;  ///< of the letters of all words
    std::vector<std::uint32_t> ids_;
    std::vector<std::size_t> ends_;
    std::vector<char> text_;
};

}  // namespace

total_lines::total_lines(const ngram_corpus& corpus, const context& ctx)
    : corpus_(corpus), ctx_(ctx), words_are_plain_(are_plain_words(corpus)) {}

template <class Words_of>
void total_lines::append(std::string& out, std::span<const counted_ngram> ngrams, unsigned n,
                         const Words_of& words_of) const {
    constexpr std::size_t ahead = 16;
    const std::uint64_t* const ends = corpus_.word_ends.span().data();
    const auto fetch = [&](std::size_t i) {
        if (i < ngrams.size()) {
            __builtin_prefetch(words_of(i));
            __builtin_prefetch(words_of(i) + n - 1);
        }
        if (i < ahead / 2 || i - ahead / 2 >= ngrams.size()) return;
        const std::uint32_t* const ids = words_of(i - ahead / 2);  // their words were fetched before
        for (unsigned w = 0; w < n; ++w) __builtin_prefetch(ends + ids[w]);
    };
    line_of_words line(corpus_, n);
    short_texts lines(out);
    std::string words, field;
    for (std::size_t i = 0; i < ahead; ++i) fetch(i);
    for (std::size_t i = 0; i < ngrams.size(); ++i) {
        fetch(i + ahead);
        if (words_are_plain_) {
            line.set(words_of(i));
            lines.append_with(line.size() + line_of_words::padding + count_digits + 1, [&](char* to) {
                to = put_count(line.put(to), ngrams[i].count);
                *to++ = '\n';
                return to;
            });
            continue;
        }
        words.clear();
        field.clear();
        append_words(words, corpus_, std::span(words_of(i), n));
        report::append_tsv_field(field, words);
        lines.append(field).append("\t").append(std::to_string(ngrams[i].count)).append("\n");
    }
    lines.flush();
}

void total_lines::write_mapped(number_stream<counted_ngram>& ngrams, unsigned n,
                               const std::function<void(std::string_view, std::uint64_t)>& take) {
    text_batches batches(ctx_);
    cpu_place place(with_threads_that_sort(ctx_));
    ngram_words words(corpus_, n, ctx_);
    const std::size_t at_once = ngram_words::block_within(ctx_.memory_limit() / 16, n);
    number_stream<counted_ngram>::reader from(ngrams);
    std::vector<counted_ngram> some, read;
    const auto take_next = [&] {
        some.clear();
        while (some.size() < at_once) {
            const auto next = from.next(std::min(at_once - some.size(), ngram_words::block_of_thread), read);
            if (next.empty()) break;
            some.insert(some.end(), next.begin(), next.end());
        }
        return !some.empty();
    };
    while (take_next()) {
        words.take(place, some.size(), [&](std::size_t i) { return some[i].position; });
        batches.write(
            some.size(),
            [&](std::string& out, std::uint64_t begin, std::uint64_t end) {
                append(out, std::span(some).subspan(begin, end - begin), n,
                       [&](std::size_t i) { return words[begin + i]; });
            },
            [&](std::string_view text) { take(text, 0); });
        take({}, some.size());
    }
}

void total_lines::write(number_stream<counted_ngram>& ngrams, unsigned n,
                        const std::function<void(std::string_view, std::uint64_t)>& take) {
    constexpr std::size_t batch = 4096;
    struct part {
        std::span<const counted_ngram> ngrams;
        std::vector<counted_ngram> read;
        std::string text;
    };
    if (corpus_.words.spilled_bytes() != 0) {
        write_mapped(ngrams, n, take);
        return;
    }
    number_stream<counted_ngram>::reader from(ngrams);
    pipeline<part> line(std::size_t{ctx_.thread_count()} + 2);
    line.from([&](part& p) {
        ctx_.check_stop();
        p.ngrams = from.next(batch, p.read);
        return !p.ngrams.empty();
    });
    line.in_parallel([&](part& p) {
        p.text = free_texts_.take();
        const std::uint32_t* const words = corpus_.words.span().data();
        append(p.text, p.ngrams, n, [&](std::size_t i) { return words + p.ngrams[i].position; });
    });
    line.in_order([&](part& p) {
        take(p.text, p.ngrams.size());
        free_texts_.give_back(std::move(p.text));
    });
    run_in_arena(ctx_, [&] { line.run(); });
}

}  // namespace quern
