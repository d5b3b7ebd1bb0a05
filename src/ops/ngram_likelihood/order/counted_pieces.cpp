// SPDX-License-Identifier: Apache-2.0
// Sorted runs on disk would take three times the space of the words. Instead, the words are read in order several times. Each time
// gathers and sorts the n-grams whose beginnings are in one range. Beginnings are first counted exactly, by cells: a cell is a range
// of first words, or a frequent first word with a range of second words. So each n-gram can be written to its cell at once, and
// one thread sorts a cell, all threads a large one. Where nothing follows a frequent word (the end of each sentence), it is only
// counted.
#include "ops/ngram_likelihood/order/counted_pieces.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/ngram_likelihood/order/ngram_numbers.hpp"
#include "ops/ngram_likelihood/rows/collection_blocks.hpp"

namespace quern::ngram_detail {
namespace {

/// The words of a collection in chunks for threads, each of which is read in order.
struct word_chunks {
    std::span<const std::uint32_t> words;
    std::span<const std::uint64_t> ends;  ///< of documents
    std::size_t count;
    std::vector<std::size_t> first_ends = {};  ///< of each chunk: where its first document ends

    /// Looked up once: each look-up maps pages all over the ends, if these are mapped.
    void find_first_ends(const context& ctx) {
        for (std::size_t chunk = 0; chunk < count; ++chunk) {
            ctx.check_stop();
            const auto found = std::upper_bound(ends.begin(), ends.end(), (*this)[chunk].begin);
            first_ends.push_back(static_cast<std::size_t>(found - ends.begin()));
        }
    }
    item_range operator[](std::size_t chunk) const { return piece_of(words.size(), count, chunk); }
    /// The end of the document of a position of a chunk; positions may only rise.
    class document_ends {
      public:
        document_ends(const word_chunks& of, std::size_t chunk)
            : next_(of.ends.begin() + static_cast<std::ptrdiff_t>(of.first_ends[chunk])) {}
        std::uint64_t of(std::uint64_t position) {
            while (*next_ <= position) ++next_;
            return *next_;
        }

      private:
        std::span<const std::uint64_t>::iterator next_;
    };
};

/// A frequent word, with a cell for where it stands alone (it ends a document, or all n-grams are words), and others for second words.
struct split_word {
    std::uint32_t word, first_cell, cells;
    unsigned shift;  ///< of second words
    std::uint64_t count;
    std::uint64_t alone = 0;
    std::uint32_t first_taken = 0;  ///< the first cell that is not empty
};

/// The cells, in the order of n-grams, and how many positions of each chunk they have.
class beginning_cells {
  public:
    /// `max_bytes`: for the counts of cells; `most`: how many positions a cell should have at most.
    beginning_cells(cpu_place& place, const ngram_collection& collection, unsigned order,
                    std::uint64_t max_bytes, std::uint64_t most)
        : place_(place),
          cuts_words_(order > 1),
          chunks_{collection.words, collection.documents.subspan(1), 1},
          words_(place, std::size_t{collection.vocabulary} + 1, "n-grams by their first words") {
        // Some cells have few positions, and a frequent word has at most four times as many as its share.
        constexpr std::uint64_t min_positions = 1 << 12, cells_beyond = 5;
        chunks_.count = std::max<std::size_t>(1, pieces_for(place, collection.words.size(), 1 << 16));
        chunks_.find_first_ends(place.ctx());
        const std::uint64_t max_cells = std::clamp<std::uint64_t>(
            max_bytes / sizeof(std::uint64_t) / chunks_.count / cells_beyond, 64, std::uint64_t{1} << 16);
        const std::uint64_t share = std::max(min_positions, collection.words.size() / max_cells);
        make_cells(std::max<std::uint64_t>(1, std::min(most, share)));
        counts_ = {place, chunks_.count * cells(), "n-grams by their first words"};
        count_cells();
    }

    const word_chunks& chunks() const { return chunks_; }
    std::size_t cells() const { return first_words_.size() - 1; }
    std::uint64_t size(std::size_t cell) const { return sizes_[cell]; }
    /// Whether it has a frequent word alone: then it holds only the first position of each chunk.
    bool is_alone(std::size_t cell) const {
        const split_word* const of = split(cell);
        return of != nullptr && of->first_cell == cell;
    }
    /// Whether the cell of a position may be such a one.
    bool may_be_alone(std::uint64_t position, std::uint64_t end) const {
        return position + 1 == end || !cuts_words_;
    }
    /// Positions of a cell in a chunk.
    std::uint64_t& count(std::size_t chunk, std::size_t cell) const {
        return counts_.data()[chunk * cells() + cell];
    }
    std::uint32_t first_word(std::size_t cell) const { return first_words_[cell]; }
    std::uint32_t last_word(std::size_t cell) const {
        return std::max(first_words_[cell] + 1, first_words_[cell + 1]) - 1;
    }
    /// The word that the cell is a part of; null for one of whole words.
    const split_word* split(std::size_t cell) const {
        const std::uint32_t of = words_.data()[first_words_[cell]];
        return (of & is_split) != 0 ? &splits_[of & ~is_split] : nullptr;
    }

    std::size_t cell(std::uint64_t position, std::uint64_t end) const {
        const std::uint32_t of = words_.data()[chunks_.words[position]];
        return (of & is_split) == 0 ? of : second_cell(splits_[of & ~is_split], position, end);
    }

  private:
    static constexpr std::uint32_t is_split = std::uint32_t{1} << 31;

    std::size_t second_cell(const split_word& of, std::uint64_t position, std::uint64_t end) const {
        if (may_be_alone(position, end)) return of.first_cell;
        return of.first_cell + std::size_t{1} + (chunks_.words[position + 1] >> of.shift);
    }

    /// work(begin, end, chunk) for parts of each chunk.
    template <class Work>
    void for_each_part(std::size_t chunks, const Work& work) const {
        for_each_piece(place_, chunks, [&](std::size_t c) {
            const auto [first, last] = piece_of(chunks_.words.size(), chunks, c);
            in_checked_parts(place_.ctx(), first, last, neighbouring_values,
                             [&](std::uint64_t begin, std::uint64_t end) { work(begin, end, c); });
        });
    }

    cpu_array<std::uint64_t> counts_of_words() {
        const std::uint64_t words = words_.size();
        const std::uint64_t fit = place_.memory().left() / 8 / (words * sizeof(std::uint64_t));
        const auto tables =
            std::clamp<std::uint64_t>(fit, 1, std::min<std::uint64_t>(place_.threads(), chunks_.count));
        cpu_array<std::uint64_t> counts(place_, words * tables, "n-grams by their first words");
        std::fill_n(counts.data(), counts.size(), 0);
        for_each_part(tables, [&](std::uint64_t begin, std::uint64_t end, std::size_t table) {
            std::uint64_t* const of_table = counts.data() + table * words;
            for (std::uint64_t i = begin; i < end; ++i) ++of_table[chunks_.words[i]];
        });
        for (std::uint64_t t = 1; t < tables; ++t)
            for (std::uint64_t w = 0; w < words; ++w) counts.data()[w] += counts.data()[t * words + w];
        return counts;
    }

    /// Cells of about `share` positions.
    void make_cells(std::uint64_t share) {
        const cpu_array<std::uint64_t> counts = counts_of_words();
        std::uint64_t held = 0;
        bool is_open = false;
        for (std::uint32_t word = 0; word < words_.size(); ++word) {
            const std::uint64_t count = counts.data()[word];
            if (count > share) {
                split(word, count, 2 * count / share);
                is_open = false;
                continue;
            }
            if (!is_open || held + count > share) {
                first_words_.push_back(word);
                held = 0;
                is_open = true;
            }
            held += count;
            words_.data()[word] = static_cast<std::uint32_t>(first_words_.size() - 1);
        }
        first_words_.push_back(static_cast<std::uint32_t>(words_.size()));
    }
    void split(std::uint32_t word, std::uint64_t count, std::uint64_t parts) {
        const std::uint64_t last = words_.size() - 1;
        unsigned shift = 0;
        while ((last >> shift) >= parts) ++shift;
        const auto cells = cuts_words_ ? static_cast<std::uint32_t>((last >> shift) + 2) : 1;
        words_.data()[word] = is_split | static_cast<std::uint32_t>(splits_.size());
        splits_.push_back({word, static_cast<std::uint32_t>(first_words_.size()), cells, shift, count});
        first_words_.insert(first_words_.end(), cells, word);
    }

    void count_cells() {
        std::fill_n(counts_.data(), counts_.size(), 0);
        for_each_piece(place_, chunks_.count, [&](std::size_t c) {
            const auto [first, last] = chunks_[c];
            word_chunks::document_ends ends(chunks_, c);
            in_checked_parts(place_.ctx(), first, last, neighbouring_values,
                             [&](std::uint64_t begin, std::uint64_t end) {
                                 for (std::uint64_t i = begin; i < end; ++i) {
                                     const std::uint32_t of = words_.data()[chunks_.words[i]];
                                     ++count(c, (of & is_split) == 0
                                                    ? of
                                                    : second_cell(splits_[of & ~is_split], i, ends.of(i)));
                                 }
                             });
        });
        for (split_word& of : splits_) {
            for (std::size_t chunk = 0; chunk < chunks_.count; ++chunk) {
                std::uint64_t& alone = count(chunk, of.first_cell);
                of.alone += alone;
                alone = std::min<std::uint64_t>(alone, 1);
            }
        }
        sizes_.assign(cells(), 0);
        for (std::size_t chunk = 0; chunk < chunks_.count; ++chunk)
            for (std::size_t cell = 0; cell < cells(); ++cell) sizes_[cell] += count(chunk, cell);
        for (split_word& of : splits_) {
            of.first_taken = of.first_cell;
            while (sizes_[of.first_taken] == 0) ++of.first_taken;
        }
    }

    cpu_place& place_;
    bool cuts_words_;
    word_chunks chunks_;
    cpu_array<std::uint32_t> words_;          ///< the cell of each word, or is_split | number in splits_
    std::vector<std::uint32_t> first_words_;  ///< of each cell, and one more
    std::vector<split_word> splits_;
    cpu_array<std::uint64_t> counts_;
    std::vector<std::uint64_t> sizes_;
};

/// The cells from each begin on up to the next fit together; empty if a cell alone does not.
std::vector<std::size_t> pieces_of(const beginning_cells& cells, std::uint64_t max_positions) {
    std::vector<std::size_t> begins{0};
    std::uint64_t held = 0;
    for (std::size_t cell = 0; cell < cells.cells(); ++cell) {
        if (cells.size(cell) > max_positions) return {};
        if (held + cells.size(cell) > max_positions) {
            begins.push_back(cell);
            held = 0;
        }
        held += cells.size(cell);
    }
    begins.push_back(cells.cells());
    return begins;
}

template <unsigned Parts>
class piece_counter {
  public:
    static constexpr std::uint64_t bytes_of_position = sizeof(ngram_number<Parts>) + 1;

    /// `max_positions`: of a piece.
    piece_counter(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                  const number_fields& fields, const beginning_cells& cells, std::uint64_t max_positions)
        : place_(place),
          options_(options),
          words_(collection.words.size()),
          fields_(fields),
          cells_(cells),
          numbers_(place, max_positions, "n-grams"),
          shared_(place, max_positions, "n-grams") {}

    /// Of the cells [first, last).
    std::vector<ngram_totals> count(std::size_t first, std::size_t last, const collection_sink& sink) {
        place_begins(first, last);
        for_each_piece(place_, cells_.chunks().count, [&](std::size_t c) { gather(c, first, last); });
        return make(first, sink);
    }

  private:
    /// Counts become the places of the first number of each chunk.
    void place_begins(std::size_t first, std::size_t last) {
        begins_.clear();
        std::uint64_t at = 0;
        for (std::size_t cell = first; cell < last; ++cell) {
            begins_.push_back(at);
            for (std::size_t chunk = 0; chunk < cells_.chunks().count; ++chunk) {
                const std::uint64_t count = std::exchange(cells_.count(chunk, cell), at);
                at += count;
            }
        }
        begins_.push_back(at);
    }

    void gather(std::size_t chunk, std::size_t first_cell, std::size_t last_cell) {
        const word_chunks& text = cells_.chunks();
        const std::uint32_t first_word = cells_.first_word(first_cell),
                            others = cells_.last_word(last_cell - 1) - first_word;
        const auto [first, last] = text[chunk];
        word_chunks::document_ends ends(text, chunk);
        constexpr std::size_t at_once = 1024;
        std::uint32_t found[at_once];
        std::vector<bool> has_first(last_cell - first_cell);  // of the cells of a word alone
        in_checked_parts(
            place_.ctx(), first, last, neighbouring_values, [&](std::uint64_t begin, std::uint64_t end) {
                for (std::uint64_t from = begin; from < end; from += at_once) {
                    const auto size =
                        static_cast<std::uint32_t>(std::min<std::uint64_t>(at_once, end - from));
                    const std::uint32_t* const words = text.words.data() + from;
                    std::uint32_t count = 0;
                    for (std::uint32_t j = 0; j < size; ++j) {
                        found[count] = j;
                        count += words[j] - first_word <= others ? 1 : 0;
                    }
                    for (std::uint32_t j = 0; j < count; ++j) {
                        const std::uint64_t i = from + found[j], document_end = ends.of(i);
                        const std::size_t cell = cells_.cell(i, document_end);
                        if (cell < first_cell || cell >= last_cell) continue;
                        if (cells_.may_be_alone(i, document_end) && cells_.is_alone(cell)) {
                            if (has_first[cell - first_cell]) continue;
                            has_first[cell - first_cell] = true;
                        }
                        numbers_.data()[cells_.count(chunk, cell)++] = fields_.number<Parts>(
                            words + found[j], std::min<std::uint64_t>(document_end - i, options_.order), i);
                    }
                }
            });
    }

    /// For collection_maker.
    struct sorted_numbers {
        const ngram_number<Parts>* numbers;
        const std::uint8_t* of_shared;
        const number_fields& fields;

        const std::uint8_t* shared() const { return of_shared; }
        std::uint64_t position(std::size_t i) const { return fields.position(numbers[i]); }
        std::uint64_t words_left(std::size_t i) const { return fields.words_left(numbers[i]); }
    };

    std::vector<ngram_totals> make(std::size_t first_cell, const collection_sink& sink) {
        constexpr std::uint64_t positions_at_once = 1 << 14;
        sort_large();
        std::vector<std::size_t> parts{0};  // of the cells
        for (std::size_t cell = 1; cell < begins_.size(); ++cell)
            if (begins_[cell] - begins_[parts.back()] >= positions_at_once || cell + 1 == begins_.size())
                parts.push_back(cell);
        return blocks_of_pieces<collection_block>(
            place_, place_.threads(), parts.size() - 1, options_.only ? options_.order : 1, options_, sink,
            [&] {
                using maker = collection_maker<sorted_numbers>;
                return [&, made = maker(place_.ctx(), {numbers_.data(), shared_.data(), fields_}, options_)](
                           std::size_t p, piece_blocks<collection_block>& out, std::size_t max_held,
                           const std::function<void()>& relieve) mutable {
                    made.begin_piece(out, max_held, relieve);
                    for (std::size_t cell = parts[p]; cell < parts[p + 1]; ++cell) {
                        if (begins_[cell] == begins_[cell + 1]) continue;
                        sort(begins_[cell], begins_[cell + 1]);
                        add(made, first_cell + cell, begins_[cell], begins_[cell + 1]);
                    }
                };
            });
    }

    bool is_large(std::uint64_t begin, std::uint64_t end) const {
        return place_.threads() > 1 && end - begin > large;
    }
    void sort_large() {
        std::vector<item_range> cells, parts;
        for (std::size_t cell = 1; cell < begins_.size(); ++cell) {
            const item_range of{begins_[cell - 1], begins_[cell]};
            if (!is_large(of.begin, of.end)) continue;
            cells.push_back(of);
            shared_.data()[of.begin] = 0;
            for (std::size_t at = of.begin + 1; at < of.end; at += large)
                parts.push_back({at, std::min<std::size_t>(at + large, of.end)});
        }
        sort_ranges(place_, numbers_.span(), std::move(cells), large);
        for_each_piece(place_, parts.size(), [&](std::size_t p) {
            place_.ctx().check_stop();
            share(parts[p].begin, parts[p].end);
        });
    }
    void sort(std::uint64_t begin, std::uint64_t end) {
        if (is_large(begin, end)) return;
        sort_numbers(numbers_.span().subspan(begin, end - begin), place_.ctx());
        shared_.data()[begin] = 0;
        share(begin + 1, end);
    }
    /// Of each position the words that it shares with the one before.
    void share(std::uint64_t begin, std::uint64_t end) {
        const ngram_number<Parts>* const numbers = numbers_.data();
        for (std::uint64_t i = begin; i < end; ++i)
            shared_.data()[i] = static_cast<std::uint8_t>(fields_.shared(numbers[i - 1], numbers[i]));
    }

    void add(collection_maker<sorted_numbers>& made, std::size_t cell, std::uint64_t begin,
             std::uint64_t end) {
        const split_word* const word = cells_.split(cell);
        if (word == nullptr) {
            made.add_words(begin, end, words_);
            return;
        }
        if (cell == word->first_taken) made.add_word(begin, word->count, words_);
        if (cell != word->first_cell) made.add_after_word(begin, end, word->count, word->count - word->alone);
    }

    static constexpr std::size_t large = std::size_t{1} << 17;  ///< more positions: not for one thread

    cpu_place& place_;
    const ngram_options& options_;
    std::uint64_t words_;
    const number_fields& fields_;
    const beginning_cells& cells_;
    cpu_array<ngram_number<Parts>> numbers_;
    cpu_array<std::uint8_t> shared_;     ///< as in sorted_ngrams, of each cell
    std::vector<std::uint64_t> begins_;  ///< of the cells of the piece, and the end
};

template <unsigned Parts>
bool count_parts(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                 const number_fields& fields, const collection_sink& sink, ngram_record& record) {
    constexpr std::size_t max_pieces = 64;
    constexpr std::uint64_t max_positions = std::numeric_limits<std::uint32_t>::max();
    constexpr std::uint64_t little = std::uint64_t{64} << 20;
    // The rest is for rows that wait, and for what the allocators of many threads keep, which 64 MB beyond the budget cover if that is
    // small.
    const std::uint64_t left = place.memory().left(), memory = left < little ? left / 4 * 3 : left / 16 * 11,
                        words = collection.words.size();
    const std::uint64_t bytes_of_words = (std::uint64_t{collection.vocabulary} + 1) * 12;
    if (bytes_of_words > memory / 4) return false;
    const std::uint64_t of_counts = memory / 16;
    const std::uint64_t fit =
        std::min({max_positions, words,
                  (memory - bytes_of_words / 3 - of_counts) / piece_counter<Parts>::bytes_of_position});
    if (words / max_pieces > fit) return false;
    const beginning_cells cells(place, collection, options.order, of_counts, fit / 8);
    const std::vector<std::size_t> begins = pieces_of(cells, fit);
    if (begins.empty() || begins.size() - 1 > max_pieces) return false;
    piece_counter<Parts> counter(place, collection, options, fields, cells, fit);
    for (std::size_t piece = 1; piece < begins.size(); ++piece) {
        const std::vector<ngram_totals> totals = counter.count(begins[piece - 1], begins[piece], sink);
        if (piece == 1) record.totals = totals;
        for (std::size_t t = 0; piece != 1 && t < totals.size(); ++t)
            record.totals[t].distinct += totals[t].distinct;
    }
    for (ngram_totals& of_n : record.totals) of_n.rows = 0;  // no document contains one
    record.pieces = begins.size() - 1;
    return true;
}

}  // namespace

bool count_by_pieces(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                     const collection_sink& sink, ngram_record& record) {
    const number_fields fields(collection.vocabulary, options.order, collection.words.size());
    switch (fields.parts()) {
        case 1:
            return count_parts<1>(place, collection, options, fields, sink, record);
        case 2:
            return count_parts<2>(place, collection, options, fields, sink, record);
        case 3:
            return count_parts<3>(place, collection, options, fields, sink, record);
        case 4:
            return count_parts<4>(place, collection, options, fields, sink, record);
        default:
            return false;
    }
}

}  // namespace quern::ngram_detail
