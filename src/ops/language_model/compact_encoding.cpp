// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "ops/language_model/compact_layout.hpp"
#include "ops/language_model/compact_model.hpp"

namespace quern {
namespace {

using namespace compact_layout;

class byte_writer {
  public:
    template <class Value>
    void value(const Value& v) {
        append(&v, sizeof v);
    }
    template <class Value>
    void values(std::span<const Value> all) {
        append(all.data(), all.size_bytes());
        pad();
    }
    std::vector<char> bytes;

  private:
    void append(const void* data, std::size_t size) {
        const auto* const from = static_cast<const char*>(data);
        bytes.insert(bytes.end(), from, from + size);
    }
    void pad() { bytes.resize((bytes.size() + 7) / 8 * 8); }
};

/// Bits, with 8 bytes after them.
class bit_writer {
  public:
    explicit bit_writer(std::uint64_t bits) : words_(words_of_bits(bits)) {}
    void put(std::uint64_t value, unsigned count) {
        if (count == 0) return;
        words_[at_ / 64] |= value << (at_ % 64);
        if (at_ % 64 + count > 64) words_[at_ / 64 + 1] |= value >> (64 - at_ % 64);
        at_ += count;
    }
    void skip(std::uint64_t count) { at_ += count; }
    std::uint64_t at() const { return at_; }
    std::span<const std::uint64_t> words() const { return words_; }

  private:
    std::vector<std::uint64_t> words_;
    std::uint64_t at_ = 0;
};

bool is_less(float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}

/// How the values of one length are coded.
class coded_values {
  public:
    /// `is_negative`: no value is above 0.
    coded_values(std::span<const float> values, unsigned quantised, bool is_negative) {
        std::vector<float> sorted(values.begin(), values.end());
        std::ranges::sort(sorted, is_less);
        if (quantised != 0) {
            quantise(sorted, quantised);
            return;
        }
        std::vector<float> distinct;
        for (const float v : sorted)
            if (distinct.empty() || is_less(distinct.back(), v)) distinct.push_back(v);
        const auto code_bits =
            static_cast<unsigned>(std::bit_width(distinct.empty() ? 0 : distinct.size() - 1));
        const unsigned own_bits = is_negative ? 31 : 32;
        bits = own_bits;
        if (values.empty() || code_bits * sorted.size() + 32 * distinct.size() < own_bits * sorted.size()) {
            bits = code_bits;
            table = std::move(distinct);
            is_table = true;
        }
    }

    std::uint64_t code(float value) const {
        if (!is_table) return std::bit_cast<std::uint32_t>(value) & ((std::uint64_t{1} << bits) - 1);
        if (bounds_.empty())
            return static_cast<std::uint64_t>(std::ranges::lower_bound(table, value, is_less) -
                                              table.begin());
        // Quantised: the last part that begins at or before the value; what is exact has a part of its own.
        const auto after = std::ranges::upper_bound(bounds_, value, is_less);
        return static_cast<std::uint64_t>(after - bounds_.begin()) - 1;
    }

    unsigned bits = 0;
    bool is_table = false;
    std::vector<float> table;

  private:
    static bool is_exact(float v) { return v == 0 || std::isnan(v); }

    /// Equally many values in each part, as far as equal values stay together.
    void quantise(const std::vector<float>& sorted, unsigned quantised) {
        is_table = true;
        bits = quantised;
        std::uint64_t exact = 0, inexact = 0;
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            if (!is_exact(sorted[i]))
                ++inexact;
            else if (i == 0 || is_less(sorted[i - 1], sorted[i]))
                ++exact;
        }
        // Between exact values lie parts of their own.
        const std::uint64_t codes = std::uint64_t{1} << quantised, taken = 2 * exact + 1;
        const std::uint64_t parts = codes > taken ? codes - taken : 1;
        const std::uint64_t in_part = std::max<std::uint64_t>(1, (inexact + parts - 1) / parts);
        for (std::size_t begin = 0; begin < sorted.size();) {
            std::size_t end = begin + 1;
            double sum = sorted[begin];
            const auto is_same = [&] { return !is_less(sorted[end - 1], sorted[end]); };
            while (end < sorted.size() && (is_same() || (!is_exact(sorted[begin]) && !is_exact(sorted[end]) &&
                                                         end - begin < in_part)))
                sum += sorted[end++];
            bounds_.push_back(sorted[begin]);
            table.push_back(is_exact(sorted[begin])
                                ? sorted[begin]
                                : static_cast<float>(sum / static_cast<double>(end - begin)));
            begin = end;
        }
        bits = std::max(bits, static_cast<unsigned>(std::bit_width(table.empty() ? 0 : table.size() - 1)));
    }

    std::vector<float> bounds_;  ///< the least value of each part
};

struct coded_children {
    std::vector<std::uint64_t> bits, samples, far;
};

/// `begins`: where the children of each node begin, and the end.
coded_children code_children(std::span<const std::uint32_t> begins) {
    const std::uint64_t nodes = begins.size() - 1;
    const auto start = [&](std::uint64_t node) {
        return node + begins[node];
    };  // bits before those of the node
    bit_writer bits(start(nodes));
    coded_children result;
    for (std::uint64_t node = 0; node < nodes; ++node) {
        bits.skip(begins[node + 1] - begins[node]);
        bits.put(1, 1);
    }
    for (std::uint64_t first = 0; first < nodes; first += sample_nodes) {
        const std::uint64_t last = std::min(first + sample_nodes, nodes);
        if (start(last) - start(first) <= far_bits) {
            result.samples.push_back(start(first));
            continue;
        }
        result.samples.push_back(is_far | result.far.size());
        for (std::uint64_t node = first; node <= first + sample_nodes; ++node)
            result.far.push_back(begins[std::min(node, nodes)]);
    }
    result.bits.assign(bits.words().begin(), bits.words().end());
    return result;
}

/// The nodes of the next length, parent after parent in the order `nodes`, by the keys of their words.
std::vector<std::uint32_t> children_by_key(std::span<const std::uint32_t> nodes,
                                           std::span<const std::uint32_t> begins,
                                           std::span<const std::uint32_t> words, unsigned word_bits) {
    std::vector<std::uint32_t> result;
    result.reserve(words.size());
    for (const std::uint32_t node : nodes) {
        const std::size_t first = result.size();
        for (std::uint32_t child = begins[node]; child < begins[node + 1]; ++child) result.push_back(child);
        std::ranges::sort(std::span(result).subspan(first), {},
                          [&](std::uint32_t child) { return key_of(words[child], word_bits); });
    }
    return result;
}

/// Where the children of each of the nodes begin, and the end.
std::vector<std::uint32_t> begins_of(std::span<const std::uint32_t> nodes,
                                     std::span<const std::uint32_t> begins) {
    std::vector<std::uint32_t> result{0};
    for (const std::uint32_t node : nodes) result.push_back(result.back() + begins[node + 1] - begins[node]);
    return result;
}

}  // namespace

std::vector<char> compact_model::encode(const back_off_model& model, unsigned quantised) {
    byte_writer out;
    out.value(model_head{model.order(), quantised});
    const auto word_bits =
        static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(model.size(1), 2) - 1));
    std::vector<std::uint32_t> nodes(model.size(1));  // of the model, in the order of the file
    std::iota(nodes.begin(), nodes.end(), std::uint32_t{0});
    for (unsigned n = 1; n <= model.order(); ++n) {
        const back_off_model::level_view from = model.level_of(n);
        const bool is_last = n == model.order();
        const coded_values probabilities(from.logarithms, n == 1 ? 0 : quantised, true);
        const coded_values back_offs(from.back_offs, n == 1 ? 0 : quantised, false);
        coded_children children;
        if (!is_last && n > 1) children = code_children(begins_of(nodes, from.children));
        level_head head{};
        head.size = from.logarithms.size();
        head.children = is_last ? 0 : from.children.back();
        head.word_bits = n == 1 ? 0 : word_bits;
        head.probability_bits = probabilities.bits;
        head.back_off_bits = is_last ? 0 : back_offs.bits;
        head.probability_values = probabilities.table.size();
        head.back_off_values = is_last ? 0 : back_offs.table.size();
        head.samples = children.samples.size();
        head.far = children.far.size();
        out.value(head);
        out.values(std::span<const float>(probabilities.table));
        if (!is_last) out.values(std::span<const float>(back_offs.table));
        bit_writer records(head.size * (head.word_bits + head.probability_bits + head.back_off_bits));
        for (const std::uint32_t i : nodes) {
            if (n > 1) records.put(key_of(from.words[i], word_bits), word_bits);
            records.put(probabilities.code(from.logarithms[i]), head.probability_bits);
            if (!is_last) records.put(back_offs.code(from.back_offs[i]), head.back_off_bits);
        }
        out.values(records.words());
        if (is_last) continue;
        if (n == 1) {
            out.values(std::span<const std::uint32_t>(from.children));
        } else {
            out.values(std::span<const std::uint64_t>(children.bits));
            out.values(std::span<const std::uint64_t>(children.samples));
            out.values(std::span<const std::uint64_t>(children.far));
        }
        nodes = children_by_key(nodes, from.children, model.level_of(n + 1).words, word_bits);
    }
    return std::move(out.bytes);
}

}  // namespace quern
