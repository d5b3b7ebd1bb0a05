// SPDX-License-Identifier: Apache-2.0
#include "ops/search/phrases.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "ops/search/document_bits.hpp"
#include "ops/search/kept_reader.hpp"
#include "ops/search/postings.hpp"
#include "ops/search/probabilistic_scorers.hpp"
#include "ops/search/search_impl.hpp"
#include "ops/search/token_code.hpp"
#include "quern/base/error.hpp"

namespace quern::search_detail {
namespace {

/// A word of the phrase, and its first position in the coded phrase.
template <typename Word>
struct placed_word {
    const Word* word;
    anchor_word code;
};

std::uint32_t holders_of(const phrase_word& word) {
    return word.list.document_frequency;
}
std::uint32_t holders_of(const kept_phrase_word& word) {
    return word.list->size;
}

/// The distinct words of the phrase, the rarest first.
template <typename Word>
std::vector<placed_word<Word>> rarest_first(std::span<const Word> phrase, const token_code& code,
                                            std::string& coded) {
    std::vector<placed_word<Word>> words;
    words.reserve(phrase.size());
    for (const Word& word : phrase) {
        const codeword own = code.of(word.word);
        words.push_back({&word, {static_cast<std::uint32_t>(coded.size()), own.size, 0}});
        coded += own.text();
    }
    const auto order = [](const placed_word<Word>& w) {
        return std::tuple(holders_of(*w.word), w.word->word, w.code.begin);
    };
    std::ranges::sort(words, std::less<>(), order);
    const auto id = [](const placed_word<Word>& w) { return w.word->word; };
    const auto repeated = std::ranges::unique(words, std::equal_to<>(), id);
    words.erase(repeated.begin(), repeated.end());
    return words;
}

/// Documents that may contain the phrase: those of a block of the leading list, reduced by every other list.
struct candidates {
    struct candidate {
        std::uint32_t document;
        std::uint32_t frequency;  ///< of the document's rarest word of the phrase
        std::uint32_t word;       ///< that word
        std::uint32_t at;         ///< its place in the kept list of the word whose places are known
    };
    std::array<candidate, block_size> documents{};
    std::size_t size = 0;

    void take_those_of(const postings_cursor& cursor, document_range range) {
        size = 0;
        for (std::size_t i = 0; i < cursor.documents().size(); ++i) {
            const std::uint32_t document = cursor.documents()[i];
            if (document >= range.first && document < range.last)
                documents[size++] = {document, cursor.frequencies()[i], 0, 0};
        }
    }

    /// Takes up to a block of a list's documents from `at` on, which moves: a place in the list, or in the collection if it is
    /// dense. False at the end.
    bool take_those_of(const kept_list& list, std::size_t& at) {
        size = 0;
        if (list.form == kept_form::dense) {
            while (size < documents.size() && at < list.parts.size()) {
                const std::uint64_t rest = list.bits[at / 64] >> at % 64;
                at = rest == 0 ? (at / 64 + 1) * 64 : at + static_cast<std::size_t>(std::countr_zero(rest));
                if (rest == 0) continue;
                const auto document = static_cast<std::uint32_t>(at++);
                documents[size++] = {document, kept_reader::unknown_frequency, 0, document};
            }
            return size != 0;
        }
        for (; size < documents.size() && at < list.documents.size(); ++at, ++size) {
            const bool counted = !list.frequencies.empty() && list.frequencies[at] != kept_reader::saturated;
            documents[size] = {list.documents[at],
                               counted ? list.frequencies[at] : kept_reader::unknown_frequency, 0,
                               static_cast<std::uint32_t>(at)};
        }
        return size != 0;
    }

    /// `anchors`: whether the places of this list's word are known.
    void keep_those_of(kept_reader& list, std::uint32_t word, bool anchors) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size; ++i) {
            candidate own = documents[i];
            if (!list.contains(own.document)) continue;
            if (const std::uint32_t frequency = list.frequency(); frequency < own.frequency) {
                own.frequency = frequency;
                own.word = word;
            }
            if (anchors) own.at = list.place(own.document);
            documents[kept++] = own;
        }
        size = kept;
    }

    void keep_those_of(postings_cursor& cursor, std::uint32_t word) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size;) {
            cursor.seek_block(documents[i].document);
            if (cursor.done()) break;
            cursor.decode();
            for (; i < size && documents[i].document <= cursor.last(); ++i) {
                candidate own = documents[i];
                const std::size_t at = place_in(cursor.documents(), own.document);
                const std::uint32_t frequency = cursor.frequencies()[at];
                const bool fewer = frequency < own.frequency;
                own.frequency = fewer ? frequency : own.frequency;
                own.word = fewer ? word : own.word;
                documents[kept] = own;
                kept += cursor.documents()[at] == own.document ? 1 : 0;
            }
        }
        size = kept;
    }

  private:
    /// The first that is not below `document`; one exists. Branch-free, so that one search can start before the previous
    /// one ends.
    static std::size_t place_in(std::span<const std::uint32_t> rising, std::uint32_t document) {
        const std::uint32_t* begin = rising.data();
        for (std::size_t left = rising.size(); left > 1;) {
            const std::size_t half = left / 2;
            begin += half & (std::size_t{0} - static_cast<std::size_t>(begin[half - 1] < document));
            left -= half;
        }
        return static_cast<std::size_t>(begin - rising.data());
    }
};

/// Whether to search for this word alone: one that is in more than every 16th vector has too many matches, and all bytes of
/// the phrase together are more selective.
bool is_rare(std::uint32_t frequency, std::size_t bytes) {
    return frequency * std::uint64_t{1024} <= bytes;
}

/// Searches candidates for a phrase.
class phrase_search {
  public:
    template <typename Word>
    phrase_search(const token_stream& tokens, std::string coded, const std::vector<placed_word<Word>>& placed)
        : tokens_(tokens), coded_(std::move(coded)) {
        for (const auto& word : placed) codes_.push_back(word.code);
        const std::size_t bytes = std::min(coded_.size(), sizeof first_);
        std::memcpy(&first_, coded_.data(), bytes);
        std::memset(&mask_, 0xFF, bytes);
    }

    void search(const candidates& block) {
        // Documents are far apart: the first bytes of all are prefetched together, so that their latencies overlap.
        for (std::size_t i = 0; i < block.size; ++i) {
            words_of_[i] = tokens_.words_of(block.documents[i].document);
            for (const std::size_t line : {0, 64}) __builtin_prefetch(words_of_[i].data() + line);
        }
        for (std::size_t i = 0; i < block.size; ++i) {
            const auto& [document, frequency, word, at] = block.documents[i];
            const occurrence_counts counts = count(words_of_[i], frequency, word);
            if (counts.all != 0) found_.push_back({document, counts.all, counts.followed});
        }
    }
    /// The same where the places of a word are known: the one with this number.
    void search(const candidates& block, const word_places& places, std::size_t anchor) {
        const std::uint32_t before = codes_[anchor].begin;
        const auto begin_of = [&](std::uint32_t at) { return at == 0 ? 0 : places.ends[at - 1]; };
        for (std::size_t i = 0; i < block.size; ++i) {
            words_of_[i] = tokens_.words_of(block.documents[i].document);
            __builtin_prefetch(words_of_[i].data() + places.bytes[begin_of(block.documents[i].at)]);
        }
        for (std::size_t i = 0; i < block.size; ++i) {
            const candidates::candidate& of = block.documents[i];
            occurrence_counts counts;
            for (std::uint32_t p = begin_of(of.at); p < places.ends[of.at]; ++p)
                count_at(words_of_[i], places.bytes[p], before, counts);
            if (counts.all != 0) found_.push_back({of.document, counts.all, counts.followed});
        }
    }
    std::vector<phrase_posting> found() { return std::move(found_); }

  private:
    /// Whether the phrase is around a word at `place`, which begins so many bytes after the phrase's beginning.
    void count_at(std::string_view words, std::uint32_t place, std::uint32_t before,
                  occurrence_counts& counts) const {
        if (place < before) return;
        const std::string_view around = words.substr(place - before);
        if (!begins(around) || (place != before && !ends_a_word(words[place - before - 1]))) return;
        ++counts.all;
        counts.followed += around.size() != coded_.size() ? 1 : 0;
    }

    /// Whether `around` begins with the phrase; most are decided by their first eight bytes.
    bool begins(std::string_view around) const {
        if (around.size() < sizeof first_) return around.starts_with(coded_);
        std::uint64_t there = 0;
        std::memcpy(&there, around.data(), sizeof there);
        return ((there ^ first_) & mask_) == 0 &&
               (coded_.size() <= sizeof first_ || around.starts_with(coded_));
    }

    occurrence_counts count(std::string_view words, std::uint32_t frequency, std::uint32_t word) const {
        if (!is_rare(frequency, words.size())) return count_occurrences(words, coded_);
        anchor_word anchor = codes_[word];
        anchor.frequency = frequency;
        return count_occurrences(words, coded_, anchor);
    }

    const token_stream& tokens_;
    const std::string coded_;
    std::vector<anchor_word> codes_;
    std::uint64_t first_ = 0, mask_ = 0;  // the first bytes of the phrase
    std::array<std::string_view, block_size> words_of_;
    std::vector<phrase_posting> found_;
};

}  // namespace

std::vector<phrase_posting> find_phrase(const collection_view& collection, const token_stream& tokens,
                                        std::span<const phrase_word> phrase, document_range range) {
    const auto has_none = [](const phrase_word& word) { return word.list.document_frequency == 0; };
    if (phrase.empty() || std::ranges::any_of(phrase, has_none)) return {};
    std::string coded;
    const auto placed = rarest_first(phrase, *tokens.code, coded);
    phrase_search all(tokens, std::move(coded), placed);
    std::vector<postings_cursor> cursors;
    cursors.reserve(placed.size());
    for (const auto& word : placed) cursors.emplace_back(word.word->list, collection.document_lengths);
    postings_cursor& leader = cursors.front();
    candidates block;
    for (leader.seek_block(range.first); !leader.done() && leader.lowest() < range.last;
         leader.next_block()) {
        leader.decode();
        block.take_those_of(leader, range);
        for (std::uint32_t i = 1; i < cursors.size() && block.size != 0; ++i)
            block.keep_those_of(cursors[i], i);
        all.search(block);
    }
    return all.found();
}

std::vector<phrase_posting> find_phrase(const token_stream& tokens,
                                        std::span<const kept_phrase_word> phrase) {
    if (phrase.empty()) return {};
    std::string coded;
    const auto placed = rarest_first(phrase, *tokens.code, coded);
    const kept_list& leader = *placed.front().word->list;
    phrase_search all(tokens, std::move(coded), placed);
    std::vector<kept_reader> others;
    for (const auto& word : std::span(placed).subspan(1)) others.emplace_back(*word.word->list);
    const auto known =
        std::ranges::find_if(placed, [](const auto& of) { return of.word->places != nullptr; });
    const auto anchor = static_cast<std::size_t>(known - placed.begin());
    candidates block;
    for (std::size_t at = 0; block.take_those_of(leader, at);) {
        for (std::uint32_t i = 0; i < others.size() && block.size != 0; ++i)
            block.keep_those_of(others[i], i + 1, i + 1 == anchor);
        if (known != placed.end()) {
            all.search(block, *known->word->places, anchor);
        } else {
            all.search(block);
        }
    }
    return all.found();
}

namespace {

/// The places of a code in coded words: by its last byte, which ends a word.
template <typename Visit>
void each_place(std::string_view words, std::string_view code, Visit visit) {
    const std::size_t before = code.size() - 1;
    for (std::size_t end = words.find(code.back(), before); end != std::string_view::npos;
         end = words.find(code.back(), end + 1)) {
        const std::size_t at = end - before;
        if (words.substr(at, code.size()) == code && (at == 0 || ends_a_word(words[at - 1]))) visit(at);
    }
}

}  // namespace

const kept_phrase_word& leading_word(std::span<const kept_phrase_word> phrase) {
    return *std::ranges::min_element(
        phrase, {}, [](const kept_phrase_word& word) { return std::tuple(holders_of(word), word.word); });
}

const kept_phrase_word& rarest_within(std::span<const kept_phrase_word> phrase) {
    const auto fewer = [](const kept_phrase_word& a, const kept_phrase_word& b) {
        const std::uint64_t in_a = a.occurrences * holders_of(b), in_b = b.occurrences * holders_of(a);
        return std::tuple(in_a, holders_of(a), a.word) < std::tuple(in_b, holders_of(b), b.word);
    };
    return *std::ranges::min_element(phrase, fewer);
}

word_places places_of(const token_stream& tokens, std::uint32_t word, const kept_list& list,
                      const context& ctx) {
    const codeword code = tokens.code->of(word);
    word_places places;
    const auto add = [&](std::uint32_t document) {
        ctx.check_stop();
        const std::string_view words = tokens.words_of(document);
        const std::size_t before = places.bytes.size();
        each_place(words, code.text(),
                   [&](std::size_t at) { places.bytes.push_back(static_cast<std::uint32_t>(at)); });
        if (places.bytes.size() == before)
            throw damaged_store("the store", "tokens", "does not match the postings");
    };
    const auto end = [&] { places.ends.push_back(static_cast<std::uint32_t>(places.bytes.size())); };
    if (list.form == kept_form::dense) {
        const bit_reader holders(list.bits);
        places.ends.reserve(list.parts.size());
        for (std::uint32_t d = 0; d < list.parts.size(); ++d, end())
            if (holders.contains(d)) add(d);
    } else {
        places.ends.reserve(list.documents.size());
        for (const std::uint32_t document : list.documents) {
            add(document);
            end();
        }
    }
    places.bytes.shrink_to_fit();
    return places;
}

std::vector<scored_document> rank_phrase(const collection_view& collection,
                                         std::span<const phrase_posting> found,
                                         const ranking_options& options, std::size_t k,
                                         std::span<const std::uint64_t> passing) {
    if (found.empty() || k == 0) return {};
    const bit_reader bits(passing);
    posting_list list;
    list.document_frequency = static_cast<std::uint32_t>(found.size());
    for (const phrase_posting& of : found) list.collection_frequency += of.frequency;
    best_documents best(k);
    with_scorer(options.model, [&]<typename Scorer>() {
        if (Scorer::length_model::used)
            throw std::logic_error("rank_phrase: the model has a part that depends on the length alone");
        const Scorer scorer(collection, list, options);
        alignas(64) std::array<std::uint32_t, block_size + kernel_padding> frequencies{}, lengths{};
        alignas(64) std::array<std::int64_t, block_size + kernel_padding> parts{};
        for (std::size_t begin = 0; begin < found.size(); begin += block_size) {
            const auto block = found.subspan(begin, std::min(block_size, found.size() - begin));
            for (std::size_t i = 0; i < block.size(); ++i) {
                frequencies[i] = block[i].frequency;
                lengths[i] = collection.document_lengths[block[i].document];
            }
            scorer.parts(frequencies.data(), lengths.data(), block.size(), parts.data());
            for (std::size_t i = 0; i < block.size(); ++i)
                if (passing.empty() || bits.contains(block[i].document))
                    best.add(block[i].document, scorer.background() + parts[i]);
            best.settle();
        }
    });
    return best.take();
}

}  // namespace quern::search_detail
