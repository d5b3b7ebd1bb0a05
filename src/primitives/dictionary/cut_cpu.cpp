// SPDX-License-Identifier: Apache-2.0
// Two passes over pieces of the text: the words that begin in each are counted, and once every piece knows how many
// words (and documents) lie before it, written. A word belongs to the piece in which it begins, and is followed beyond
// its end.
#include <algorithm>
#include <cstring>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "primitives/dictionary/dictionary.hpp"
#include "primitives/dictionary/letters.hpp"
#include "primitives/doors.hpp"
#include "primitives/segments.hpp"

namespace quern::primitives {
namespace {

constexpr std::size_t least_piece = std::size_t{1} << 17;

struct found {
    std::uint64_t words = 0, documents = 0;
};

/// count(begin, end) for every piece, then write(begin, end, found before), with room made between.
template <class Count, class Room, class Write>
void in_two_passes(cpu_place& place, std::size_t bytes, const Count& count, const Room& room,
                   const Write& write) {
    const std::size_t pieces = pieces_for(place, bytes, least_piece);
    std::vector<found> before(pieces + 1);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.run().check_stop();
        const auto [begin, end] = piece_of(bytes, pieces, p);
        before[p + 1] = count(begin, end);
    });
    for (std::size_t p = 0; p < pieces; ++p) {
        before[p + 1].words += before[p].words;
        before[p + 1].documents += before[p].documents;
    }
    room(before.back());
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.run().check_stop();
        const auto [begin, end] = piece_of(bytes, pieces, p);
        write(begin, end, before[p]);
    });
}

void make_room(cpu_place& place, cut_text<cpu_place>& out, std::uint64_t words, std::uint64_t documents) {
    out.begins = make_array<std::uint32_t>(place, words, "the words of a text");
    out.ends = make_array<std::uint32_t>(place, words, "the words of a text");
    out.document_offsets = make_array<std::uint64_t>(place, documents + 1, "the documents of a text");
    out.document_offsets.span().back() = words;
}

/// Calls take(begin) for every line with a word that begins in [begin, end).
template <class Take>
void for_each_line(std::span<const std::uint8_t> text, std::size_t begin, std::size_t end, const Take& take) {
    const auto next_line = [&](std::size_t at) {
        const void* const feed =
            at < text.size() ? std::memchr(text.data() + at, '\n', text.size() - at) : nullptr;
        return feed == nullptr
                   ? text.size()
                   : static_cast<std::size_t>(static_cast<const std::uint8_t*>(feed) - text.data()) + 1;
    };
    std::size_t line = begin == 0 || text[begin - 1] == '\n' ? begin : next_line(begin);
    for (; line < end; line = next_line(line)) {
        if (!text_bytes::line_ends(text.data(), text.size(), line)) take(line);
    }
}

std::size_t end_of_line(std::span<const std::uint8_t> text, std::size_t word) {
    const void* const feed = std::memchr(text.data() + word, '\n', text.size() - word);
    const std::size_t end =
        feed == nullptr ? text.size()
                        : static_cast<std::size_t>(static_cast<const std::uint8_t*>(feed) - text.data());
    return text[end - 1] == '\r' ? end - 1 : end;  // a word has a byte: there is one before the end
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

    /// Calls visit(document, begin, end) for the parts in [begin, end) of documents: those that begin there, the empty
    /// ones too, and the one that went on into it.
    template <class Visit>
    void for_each_part(std::size_t begin, std::size_t end, const Visit& visit) const {
        const auto after = std::ranges::upper_bound(documents_, begin);
        auto d = static_cast<std::size_t>(after - documents_.begin()) - 1;
        while (d > 0 && documents_[d - 1] == begin) --d;  // empty documents that begin here as well
        for (; d + 1 < documents_.size() && documents_[d] < end; ++d) {
            visit(d, std::max<std::size_t>(begin, documents_[d]),
                  std::min<std::size_t>(end, documents_[d + 1]));
        }
    }

    /// A word begins where a byte is of a word and the one before is not, or is another document's.
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

cut_text<cpu_place> cut_lines(cpu_place& place, std::span<const std::uint8_t> text) {
    check_32_bits("cut_lines", text.size(), "bytes", "positions");
    cut_text<cpu_place> out;
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

cut_text<cpu_place> cut_runs(cpu_place& place, std::span<const std::uint8_t> text,
                             std::span<const std::uint64_t> documents, run_of what) {
    check_32_bits("cut_runs", text.size(), "bytes", "positions");
    check_offsets(place, documents, text.size());
    cut_text<cpu_place> out;
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
