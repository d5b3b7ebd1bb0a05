// SPDX-License-Identifier: Apache-2.0
#include "ops/language_model/compact_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/language_model/block_scorer.hpp"
#include "ops/language_model/compact_layout.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

using namespace compact_layout;

constexpr std::uint64_t few = 8;  ///< children that are looked at one after the other

/// Up to 57 bits at any bit.
std::uint64_t bits_at(const std::uint64_t* from, std::uint64_t bit, unsigned count) {
    std::uint64_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(from) + bit / 8, sizeof word);
    return word >> (bit % 8) & ((std::uint64_t{1} << count) - 1);
}

class byte_reader {
  public:
    explicit byte_reader(std::string_view bytes) : bytes_(bytes) {}
    template <class Value>
    Value value() {
        Value result{};
        std::memcpy(&result, take(sizeof result, 1), sizeof result);
        return result;
    }
    template <class Value>
    const Value* values(std::uint64_t count) {
        return reinterpret_cast<const Value*>(take(count, sizeof(Value)));
    }
    bool at_end() const { return bytes_.empty(); }

  private:
    const char* take(std::uint64_t count, std::uint64_t size) {
        if (count > bytes_.size() / size) throw invalid_value("a language model ends early", 0);
        const std::uint64_t padded = std::min<std::uint64_t>((count * size + 7) / 8 * 8, bytes_.size());
        const char* const at = bytes_.data();
        bytes_.remove_prefix(padded);
        return at;
    }
    std::string_view bytes_;
};

}  // namespace

compact_model::compact_model(std::string_view bytes) : bytes_(bytes.size()) {
    const auto refuse = [] { throw invalid_value("a language model has parts that do not fit", 0); };
    byte_reader from(bytes);
    const auto head = from.value<model_head>();
    if (head.order < 1 || head.order > back_off_model::max_order) refuse();
    quantised_bits_ = head.quantised_bits;
    for (unsigned n = 1; n <= head.order; ++n) {
        const auto of = from.value<level_head>();
        const bool is_last = n == head.order;
        level& made = levels_.emplace_back();
        if (of.size >= UINT32_MAX || of.word_bits > 32 || of.probability_bits > 32 || of.back_off_bits > 32 ||
            (n == 1) != (of.word_bits == 0))
            refuse();
        made.size = of.size;
        made.word_bits = of.word_bits;
        made.record_bits = of.word_bits + of.probability_bits + of.back_off_bits;
        const auto codes = [&](unsigned bits, std::uint64_t values) {
            return value_codes{bits, from.values<float>(values), values};
        };
        made.probabilities = codes(of.probability_bits, of.probability_values);
        if (!is_last) made.back_offs = codes(of.back_off_bits, of.back_off_values);
        made.records = from.values<std::uint64_t>(words_of_bits(of.size * made.record_bits));
        if (is_last) continue;
        if (n == 1) {
            made.first_children = from.values<std::uint32_t>(of.size + 1);
        } else {
            made.child_bits = from.values<std::uint64_t>(words_of_bits(of.size + of.children));
            made.child_samples = from.values<std::uint64_t>(of.samples);
            made.far_children = from.values<std::uint64_t>(of.far);
            made.samples = of.samples;
            made.far = of.far;
            if (of.samples != (of.size + sample_nodes - 1) / sample_nodes) refuse();
        }
    }
    if (!from.at_end() || levels_[0].size == 0) refuse();
    for (unsigned n = 1; n < head.order; ++n)
        if (!children_fit(n)) refuse();
}

/// Whether the children of all nodes of n words are those of the next length, once and in order, so that no look-up can lead
/// outside.
bool compact_model::children_fit(unsigned n) const {
    const level& of = levels_[n - 1];
    const std::uint64_t below = levels_[n].size;
    if (n == 1)
        return of.first_children[0] == 0 && of.first_children[of.size] == below &&
               std::is_sorted(of.first_children, of.first_children + of.size + 1);
    std::uint64_t node = 0, far = 0;
    const auto begin_fits = [&](std::uint64_t begin) {  // of the children of `node`
        if (node % sample_nodes == 0 && node < of.size) {
            const std::uint64_t sample = of.child_samples[node / sample_nodes];
            if ((sample & is_far) == 0) return sample == node + begin;
            far = sample ^ is_far;
            if (far > of.far || of.far - far < sample_nodes + 1) return false;
        }
        const std::uint64_t sample = of.child_samples[std::min(node, of.size - 1) / sample_nodes];
        return (sample & is_far) == 0 ||
               of.far_children[far + node - std::min(node, of.size - 1) / sample_nodes * sample_nodes] ==
                   begin;
    };
    if (of.size == 0) return below == 0;
    if (!begin_fits(0)) return false;
    const std::uint64_t bits = of.size + below;
    for (std::uint64_t at = 0; at < words_of_bits(bits); ++at) {
        for (std::uint64_t word = of.child_bits[at]; word != 0; word &= word - 1) {
            const std::uint64_t bit = at * 64 + static_cast<std::uint64_t>(std::countr_zero(word));
            if (node == of.size || bit >= bits) return false;
            const std::uint64_t begin = bit - node;
            ++node;
            if (!begin_fits(begin)) return false;
        }
    }
    return node == of.size && (of.child_bits[(bits - 1) / 64] >> ((bits - 1) % 64) & 1) != 0;
}

float compact_model::probability(unsigned n, std::uint32_t node) const {
    const level& of = levels_[n - 1];
    return of.probabilities.value(
        bits_at(of.records, node * std::uint64_t{of.record_bits} + of.word_bits, of.probabilities.bits));
}
float compact_model::back_off(unsigned n, std::uint32_t node) const {
    const level& of = levels_[n - 1];
    return of.back_offs.value(
        bits_at(of.records, node * std::uint64_t{of.record_bits} + of.word_bits + of.probabilities.bits,
                of.back_offs.bits));
}

void compact_model::prefetch_children(unsigned n, std::uint32_t node) const {
    if (n == 1) return;
    const level& of = levels_[n - 1];
    const std::uint64_t sample = of.child_samples[node / sample_nodes];
    if ((sample & is_far) != 0)
        __builtin_prefetch(&of.far_children[(sample ^ is_far) + node % sample_nodes]);
    else
        __builtin_prefetch(&of.child_bits[sample / 64]);
}

/// By interpolation while there are many: the keys of a node's children are spread evenly; then by halves, should they not
/// be; the last few one after the other.
void compact_model::aim(const level& next, child_search& search) const {
    constexpr std::uint32_t interpolations = 6;
    const std::uint64_t size = search.end - search.begin;
    search.middle = search.begin;
    if (size > few) {
        std::uint64_t past = size / 2;
        if (search.steps++ < interpolations)
            past = static_cast<std::uint64_t>(static_cast<double>(search.key - search.below) *
                                              static_cast<double>(size) /
                                              static_cast<double>(search.above - search.below));
        search.middle += std::min(past, size - 1);
    }
    prefetch_record(next, search.middle);
}

compact_model::child_search compact_model::search_of(unsigned n, std::uint32_t node,
                                                     std::uint32_t word) const {
    const auto [begin, end] = levels_[n - 1].children(node);
    const level& next = levels_[n];
    child_search search{begin, end, 0, std::uint64_t{1} << next.word_bits, 0, key_of(word, next.word_bits),
                        0};
    aim(next, search);
    return search;
}

bool compact_model::advance(unsigned n, child_search& search, std::uint32_t& found) const {
    const level& next = levels_[n];
    const auto key_at = [&](std::uint64_t i) {
        return static_cast<std::uint32_t>(bits_at(next.records, i * next.record_bits, next.word_bits));
    };
    found = no_word;
    if (search.end - search.begin <= few) {
        for (std::uint64_t i = search.begin; i < search.end; ++i) {
            const std::uint32_t at = key_at(i);
            if (at < search.key) continue;
            if (at == search.key) found = static_cast<std::uint32_t>(i);
            break;
        }
        return true;
    }
    const std::uint32_t at = key_at(search.middle);
    if (at == search.key) {
        found = static_cast<std::uint32_t>(search.middle);
        return true;
    }
    if (at < search.key) {
        search.begin = search.middle + 1;
        search.below = std::uint64_t{at} + 1;
    } else {
        search.end = search.middle;
        search.above = at;
    }
    if (search.key < search.below || search.key >= search.above) return true;
    aim(next, search);
    return false;
}

double compact_model::score(std::uint32_t word, history& before) const {
    return score_word(*this, word, before);
}

compact_model::history compact_model::after(std::uint32_t word) const {
    history result;
    if (order() == 1) return result;
    result.size = result.known = 1;
    result.words[0] = result.nodes[0] = word;
    return result;
}

template class block_scorer<compact_model>;

}  // namespace quern
