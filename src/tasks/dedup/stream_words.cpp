// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/stream_words.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "device/cpu/parallel.hpp"
#include "device/progress_meter.hpp"

namespace quern {

using namespace near_duplicates_detail;

stream_words::stream_words(const duplicate_options& options, const text_options& text,
                           const std::filesystem::path& scratch_file)
    : rule_{options.shingle},
      bound_{options.similarity.numerator, options.similarity.denominator},
      table_(text, scratch_file, options.of_shingles) {}

text_sketch stream_words::sketch(std::string_view text) const {
    word_table::piece piece;
    table_.analyse(text, false, piece);
    std::vector<std::uint64_t> hashes;
    for (std::uint32_t word = 0; word < piece.distinct.size(); ++word)
        hashes.push_back(hash64(piece.distinct.word(word)));
    shingle_set set(rule_, nullptr);
    set.make(piece.words);
    text_sketch result;
    result.length = static_cast<std::uint32_t>(set.size());
    const std::size_t width = std::min<std::size_t>(piece.words.size(), rule_.width);
    for (const shingle& s : set.shared()) {
        std::uint64_t sum = 0;
        for (std::size_t i = s.at; i < s.at + width; ++i) sum = sum * shingle_base + hashes[piece.words[i]];
        std::uint8_t& count = result.counts[shingle_mixed(sum) % result.counts.size()];
        if (count != 255) ++count;
    }
    return result;
}

std::vector<text_sketch> stream_words::sketches(const document_table& documents, const context& ctx) const {
    cpu_place place(ctx);
    std::vector<text_sketch> result(documents.size());
    const std::size_t pieces = pieces_for(place, result.size(), 16, 16);
    progress_meter meter(ctx, "index", result.size(), "documents");
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(result.size(), pieces, p);
        for (std::size_t d = begin; d < end; ++d) {
            result[d] = sketch(documents.text(static_cast<std::uint32_t>(d)));
            meter.add(1);
        }
    });
    meter.finish();
    return result;
}

stream_words::comparison::comparison(const stream_words& words, std::string_view text)
    : words_(words), own_(words.rule_, nullptr), other_(words.rule_, nullptr) {
    words_.table_.analyse(text, false, piece_);
    own_words_ = piece_.words;
    own_.make(own_words_);
}

std::optional<duplicate_pair> stream_words::comparison::with(std::string_view other) {
    piece_.words.clear();
    piece_.ends.clear();
    words_.table_.analyse(other, false, piece_);
    other_.make(piece_.words);
    const std::uint64_t together = own_.size() + other_.size(), required = words_.bound_.required(together);
    const std::uint64_t shared = shingle_set::common(own_, other_, required);
    if (shared < required) return std::nullopt;
    return duplicate_pair{0, 0, together - 2 * shared, together - shared};
}

}  // namespace quern
