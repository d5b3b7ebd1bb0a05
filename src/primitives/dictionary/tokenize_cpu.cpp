// SPDX-License-Identifier: Apache-2.0
// Two passes over pieces of the text: the first counts the words that begin in each; once every piece knows how many words
// (and documents) come before it, the second writes. A word belongs to the piece where it begins, and is followed past the
// piece's end.
#include <algorithm>
#include <cstring>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "primitives/argument_checks.hpp"
#include "primitives/dictionary/byte_classes.hpp"
#include "primitives/dictionary/text_to_ids.hpp"
#include "primitives/segments.hpp"

namespace quern::primitives {
namespace {

constexpr std::size_t min_piece = std::size_t{1} << 17;

struct found {
    std::uint64_t words = 0, documents = 0;
};

/// count(begin, end) for every piece, then write(begin, end, found before), with allocation in between.
template <class Count, class Capacity, class Write>
void in_two_passes(cpu_place& place, std::size_t bytes, const Count& count, const Capacity& capacity,
                   const Write& write) {
    const std::size_t pieces = pieces_for(place, bytes, min_piece);
    std::vector<found> before(pieces + 1);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(bytes, pieces, p);
        before[p + 1] = count(begin, end);
    });
    for (std::size_t p = 0; p < pieces; ++p) {
        before[p + 1].words += before[p].words;
        before[p + 1].documents += before[p].documents;
    }
    capacity(before.back());
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(bytes, pieces, p);
        write(begin, end, before[p]);
    });
}

void make_room(cpu_place& place, tokenized_text<cpu_place>& out, std::uint64_t words,
               std::uint64_t documents) {
    out.begins = make_array<std::uint32_t>(place, words, "the words of a text");
    out.ends = make_array<std::uint32_t>(place, words, "the words of a text");
    out.document_offsets = make_array<std::uint64_t>(place, documents + 1, "the documents of a text");
    out.document_offsets.span().back() = words;
}

/// Calls sink(begin) for every line with a word that begins in [begin, end).
template <class Sink>
void for_each_line(std::span<const std::uint8_t> text, std::size_t begin, std::size_t end, const Sink& sink) {
    const auto next_line = [&](std::size_t at) {
        const void* const feed =
            at < text.size() ? std::memchr(text.data() + at, '\n', text.size() - at) : nullptr;
        return feed == nullptr
                   ? text.size()
                   : static_cast<std::size_t>(static_cast<const std::uint8_t*>(feed) - text.data()) + 1;
    };
    std::size_t line = begin == 0 || text[begin - 1] == '\n' ? begin : next_line(begin);
    for (; line < end; line = next_line(line)) {
        if (!text_bytes::line_ends(text.data(), text.size(), line)) sink(line);
    }
}

std::size_t end_of_line(std::span<const std::uint8_t> text, std::size_t word) {
    const void* const feed = std::memchr(text.data() + word, '\n', text.size() - word);
    const std::size_t end =
        feed == nullptr ? text.size()
                        : static_cast<std::size_t>(static_cast<const std::uint8_t*>(feed) - text.data());
    return text[end - 1] == '\r' ? end - 1 : end;  // a word has a byte, so one precedes the end
}

class runs {
  public:
    runs(std::span<const std::uint8_t> text, std::span<const std::uint64_t> documents, run_of what)
        : text_(text), documents_(documents) {
        for (unsigned byte = 0; byte < 256; ++byte) {
            inside_[byte] =
                text_bytes::in_run(static_cast<std::uint8_t>(byte), what == run_of::letters_and_digits);
        }
    }

    bool in(std::size_t at) const { return inside_[text_[at]]; }

    /// Calls visit(document, begin, end) for the parts of documents in [begin, end): those that begin there, including
    /// empty ones, and the one that continues into it.
    template <class Visit>
    void for_each_part(std::size_t begin, std::size_t end, const Visit& visit) const {
        const auto after = std::ranges::upper_bound(documents_, begin);
        auto d = static_cast<std::size_t>(after - documents_.begin()) - 1;
        while (d > 0 && documents_[d - 1] == begin) --d;  // includes empty documents that begin here
        for (; d + 1 < documents_.size() && documents_[d] < end; ++d) {
            visit(d, std::max<std::size_t>(begin, documents_[d]),
                  std::min<std::size_t>(end, documents_[d + 1]));
        }
    }

    /// A word begins at a byte of a word whose previous byte is not one, or belongs to another document.
    std::uint64_t words_of(std::size_t document, std::size_t begin, std::size_t end) const {
        bool before = begin > documents_[document] && in(begin - 1);
        std::uint64_t words = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const bool now = in(i);
            words += static_cast<std::uint64_t>(now & !before);
            before = now;
        }
        return words;
    }

    std::uint64_t write_words(std::size_t document, std::size_t begin, std::size_t end, std::uint32_t* begins,
                              std::uint32_t* ends) const {
        const std::size_t last = documents_[document + 1];
        std::size_t i = begin;
        if (begin > documents_[document] && in(begin - 1)) {
            while (i < end && in(i)) ++i;
        }
        std::uint64_t words = 0;
        for (;; ++words) {
            while (i < end && !in(i)) ++i;
            if (i >= end) return words;
            begins[words] = static_cast<std::uint32_t>(i);
            while (i < last && in(i)) ++i;
            ends[words] = static_cast<std::uint32_t>(i);
        }
    }

  private:
    std::span<const std::uint8_t> text_;
    std::span<const std::uint64_t> documents_;
    bool inside_[256] = {};
};

}  // namespace

tokenized_text<cpu_place> tokenize_lines(cpu_place& place, std::span<const std::uint8_t> text) {
    check_32_bits("cut_lines", text.size(), "bytes", "positions");
    tokenized_text<cpu_place> out;
    in_two_passes(
        place, text.size(),
        [&](std::size_t begin, std::size_t end) {
            found here;
            for_each_line(text, begin, end, [&](std::size_t line) {
                ++here.words;
                here.documents += text_bytes::after_empty_line(text.data(), line) ? 1 : 0;
            });
            return here;
        },
        [&](const found& all) { make_room(place, out, all.words, all.documents); },
        [&](std::size_t begin, std::size_t end, found at) {
            for_each_line(text, begin, end, [&](std::size_t line) {
                if (text_bytes::after_empty_line(text.data(), line)) {
                    out.document_offsets.span()[at.documents++] = at.words;
                }
                out.begins.span()[at.words] = static_cast<std::uint32_t>(line);
                out.ends.span()[at.words++] = static_cast<std::uint32_t>(end_of_line(text, line));
            });
        });
    return out;
}

tokenized_text<cpu_place> tokenize_runs(cpu_place& place, std::span<const std::uint8_t> text,
                                        std::span<const std::uint64_t> documents, run_of what) {
    check_32_bits("cut_runs", text.size(), "bytes", "positions");
    check_offsets(place, documents, text.size());
    tokenized_text<cpu_place> out;
    out.letters = make_array<std::uint8_t>(place, text.size(), "a text in lower case");
    const std::size_t count = segments_in(documents.size());
    const runs all(text, documents, what);
    in_two_passes(
        place, text.size(),
        [&](std::size_t begin, std::size_t end) {
            found here;
            all.for_each_part(begin, end, [&](std::size_t d, std::size_t from, std::size_t to) {
                here.words += all.words_of(d, from, to);
            });
            return here;
        },
        [&](const found& made) {
            make_room(place, out, made.words, count);
            std::ranges::fill(out.document_offsets.span(), made.words);  // of documents at the very end
        },
        [&](std::size_t begin, std::size_t end, found at) {
            std::transform(text.begin() + static_cast<std::ptrdiff_t>(begin),
                           text.begin() + static_cast<std::ptrdiff_t>(end), out.letters.data() + begin,
                           text_bytes::lowered);
            all.for_each_part(begin, end, [&](std::size_t d, std::size_t from, std::size_t to) {
                if (documents[d] >= begin) out.document_offsets.span()[d] = at.words;
                at.words +=
                    all.write_words(d, from, to, out.begins.data() + at.words, out.ends.data() + at.words);
            });
        });
    return out;
}

}  // namespace quern::primitives
