// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/text_passages.hpp"

#include <algorithm>

#include "device/cpu/pipeline.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"
#include "tasks/corpus/document_words.hpp"
#include "tasks/store/stop_words_file.hpp"

namespace quern {
namespace {

/// The words of one piece.
struct words_of_piece {
    std::size_t piece = 0;
    std::uint32_t first = 0;  ///< its first document
    std::vector<std::uint32_t> numbers, document_lengths;
    std::vector<std::uint32_t> others;  ///< words outside of texts
    std::uint64_t text_words = 0;
};

bool fits(const text_passages::document& known, std::size_t words) {
    return std::uint64_t{known.title_words} + known.text_words <= words &&
           std::ranges::is_sorted(known.paragraph_ends) &&
           (known.paragraph_ends.empty() || known.paragraph_ends.back() <= known.text_words);
}

}  // namespace

void text_passages::add(std::string& piece, std::uint32_t title_words, std::uint32_t text_words,
                        bool is_known, std::span<const std::uint32_t> paragraph_ends) {
    append_varint(piece, title_words);
    append_varint(piece, text_words);
    append_varint(piece, is_known ? paragraph_ends.size() + 1 : 0);
    std::uint32_t before = 0;
    for (const std::uint32_t end : paragraph_ends) append_varint(piece, end - std::exchange(before, end));
}

void text_passages::read(const char*& at, document& into) {
    into.title_words = static_cast<std::uint32_t>(read_varint(at));
    into.text_words = static_cast<std::uint32_t>(read_varint(at));
    const std::uint64_t ends = read_varint(at);
    into.is_known = ends != 0;
    into.paragraph_ends.resize(into.is_known ? ends - 1 : 0);
    std::uint32_t before = 0;
    for (std::uint32_t& end : into.paragraph_ends) {
        before += static_cast<std::uint32_t>(read_varint(at));
        end = before;
    }
}

void read_words_in_order(const opened_store& store, text_passages& passages, corpus_words& into,
                         const context& ctx) {
    const search_detail::token_stream tokens = store.tokens();
    const auto frequencies = store.words().collection_frequencies();
    into.counts_of_store.assign(frequencies.begin(), frequencies.end());
    document_words words_of_texts(with_stop_words_of(store.info().text, store.path()));
    passages.flush();
    std::size_t next = 0;
    std::uint32_t next_document = 0;
    pipeline<words_of_piece> line(ctx.thread_count() + std::size_t{2});
    line.from([&](words_of_piece& unit) {
        ctx.check_stop();
        ctx.report({"read words", next, passages.pieces(), "blocks"});
        if (next == passages.pieces()) return false;
        unit.piece = next;
        unit.first = next_document;
        next_document += passages.documents_of(next++);
        return true;
    });
    line.in_parallel([&](words_of_piece& unit) {
        const std::string piece = passages.take(unit.piece);
        const char* at = piece.data();
        text_passages::document known;
        std::vector<std::uint32_t> words;
        for (std::uint32_t i = 0; i < passages.documents_of(unit.piece); ++i) {
            ctx.check_stop();
            text_passages::read(at, known);
            if (!known.is_known) {
                document d;
                const std::string text = store.text(unit.first + i);
                d.text = text;
                known.paragraph_ends = words_of_texts.of(d, text::boundaries::paragraphs).paragraph_ends;
            }
            words.clear();
            tokens.code->decode(tokens.words_of(unit.first + i), words);
            if (!fits(known, words.size()))
                throw damaged_store("the store", "tokens", "paragraphs end beyond the words of a text");
            const auto text_begin = words.begin() + known.title_words,
                       text_end = text_begin + known.text_words;
            unit.others.insert(unit.others.end(), words.begin(), text_begin);
            unit.others.insert(unit.others.end(), text_end, words.end());
            const std::size_t before = unit.numbers.size();
            std::uint32_t from = 0;
            for (const std::uint32_t end : known.paragraph_ends) {
                unit.numbers.insert(unit.numbers.end(), text_begin + from, text_begin + end);
                unit.numbers.push_back(passage_end);
                from = end;
            }
            unit.document_lengths.push_back(static_cast<std::uint32_t>(unit.numbers.size() - before));
            unit.text_words += known.text_words;
        }
    });
    line.in_order([&](words_of_piece& unit) {
        for (const std::uint32_t word : unit.others) --into.counts_of_store[word];
        into.record.counts.documents += unit.document_lengths.size();
        into.occurrences += unit.text_words;
        into.document_lengths.insert(into.document_lengths.end(), unit.document_lengths.begin(),
                                     unit.document_lengths.end());
        into.input_bytes += unit.numbers.size() * sizeof(std::uint32_t);
        into.numbers.append(std::move(unit.numbers));
    });
    run_parallel(ctx, [&] { line.run(); });
}

}  // namespace quern
