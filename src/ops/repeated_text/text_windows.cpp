// SPDX-License-Identifier: Apache-2.0
#include "ops/repeated_text/text_windows.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "device/progress_meter.hpp"
#include "ops/repeated_text/recent_hashes.hpp"
#include "ops/repeated_text/text_units.hpp"
#include "ops/repeated_text/window_hash.hpp"
#include "ops/repeated_text/window_prover.hpp"
#include "primitives/external_sort/external_sort.hpp"

namespace quern::repeated_text_detail {
namespace {

/// An anchor while the smallest is searched: its hash above its place in the fragment, so that of equal ones the first
/// is the smallest.
constexpr unsigned place_bits = 20, anchor_bits = 64 - place_bits;
constexpr std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;

std::size_t windows_of(std::size_t size, std::size_t beginning, std::size_t length) {
    return size < length ? 0 : std::min(beginning, size - length + 1);
}

bool is_ascii(std::string_view bytes) {
    unsigned char all = 0;
    for (const char byte : bytes) all |= static_cast<unsigned char>(byte);
    return all < 0x80;
}

}  // namespace

/// Of one thread.
struct text_windows::scratch {
    std::vector<std::uint32_t> values, starts;
    std::vector<std::uint64_t> grams, suffix_minima;
    std::vector<anchored_run> runs;
    anchor_cache anchors;
    window_cache windows;
};

struct text_windows::anchors_found {
    std::vector<std::uint64_t> keys;
    std::vector<std::uint64_t> numbers;  ///< within the piece
    std::vector<std::uint32_t> twice;    ///< numbers of those that are not sorted
    std::vector<std::uint64_t> firsts;   ///< of each anchor: its position, or one with the same hash
    std::uint32_t count = 0;
    std::uint64_t windows = 0;

    /// For the next piece, in the same memory.
    void clear() {
        keys.clear();
        numbers.clear();
        twice.clear();
        firsts.clear();
        count = 0;
        windows = 0;
    }
};

struct text_windows::windows_found {
    std::vector<std::uint64_t> hashes, positions;
    std::vector<byte_range> proved;
    bool all = false;  ///< nothing is left to be proved by the scan

    /// For the next piece, in the same memory.
    void clear() {
        hashes.clear();
        positions.clear();
        proved.clear();
    }
};

text_windows::text_windows(cpu_place& place, const text_list& texts, std::uint32_t length,
                           const tuning& tuned, repeated_text_counts& counts)
    : place_(place),
      texts_(texts),
      length_(length),
      anchor_length_(std::min(length, std::clamp(length / 2 + length % 2, 8U, 64U))),
      tuned_(tuned),
      counts_(counts),
      piece_bytes_(piece_bytes_for(place, tuned, std::uint64_t{4} * length)),
      pieces_((texts.bytes.size() + piece_bytes_ - 1) / piece_bytes_),
      first_anchors_(1),
      flags_(place.memory(), "a bit for each anchor"),
      firsts_(place.memory(), "positions of anchors"),
      has_firsts_(tuned.has_firsts) {
    for (std::uint32_t i = 0; i < length; ++i) leaving_factor_ = product(leaving_factor_, hash_base);
}
text_windows::~text_windows() = default;

/// Calls work(units) for every text's code points that begin in the piece, and those after them that belong to windows
/// which begin in it.
template <class Work>
void text_windows::for_each_fragment(std::uint64_t piece, scratch& own, const Work& work) const {
    const char* const bytes = texts_.bytes.data();
    const std::uint64_t begin = piece * piece_bytes_;
    const std::uint64_t end = std::min<std::uint64_t>(texts_.bytes.size(), begin + piece_bytes_);
    std::uint32_t text = repeated_text_detail::text_at(texts_, begin);
    for (std::uint64_t at = begin; at < end; ++text) {
        const std::uint64_t text_begin = texts_.offsets[text];
        const std::uint64_t text_end = texts_.offsets[text + std::size_t{1}], to = std::min(end, text_end);
        std::uint64_t from = at;
        at = to;
        while (from != text_begin && from < to && continues(bytes[from])) ++from;
        if (from >= to || text_end - from < length_) continue;
        const std::uint64_t limit = std::min(text_end, to + length_ - 1);
        const std::uint64_t seen = std::min(text_end, limit + 1) - from;
        if (is_ascii({bytes + from, seen})) {
            const std::size_t size = limit - from;
            const narrow_units units{bytes + from, from, size, windows_of(size, to - from, length_)};
            if (units.windows != 0) work(units);
            continue;
        }
        own.values.clear();
        own.starts.clear();
        std::size_t beginning = 0;  // code points that begin before `to`
        std::uint64_t position = from;
        while (position < text_end && (position < to || own.values.size() < beginning + length_ - 1)) {
            beginning += position < to ? 1 : 0;
            own.starts.push_back(static_cast<std::uint32_t>(position - from));
            std::uint32_t value = static_cast<unsigned char>(bytes[position]);
            for (++position; position < text_end && continues(bytes[position]); ++position)
                value = std::rotl(value, 8) ^ static_cast<unsigned char>(bytes[position]);
            own.values.push_back(value);
        }
        own.starts.push_back(static_cast<std::uint32_t>(position - from));
        const std::size_t size = own.values.size();
        const wide_units units{own.values.data(), own.starts.data(), from, size,
                               windows_of(size, beginning, length_)};
        if (units.windows != 0) work(units);
    }
}

/// Calls work(window, anchor) for every window. The smallest of each w consecutive hashes is that of a suffix of one
/// block of w hashes, or of a prefix of the next one.
template <class Units, class Work>
void text_windows::for_each_anchor(const Units& units, scratch& own, const Work& work) const {
    const std::size_t k = anchor_length_, w = length_ - k + 1, count = units.windows + w - 1;
    own.grams.resize(count);
    own.suffix_minima.resize(w);
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i + 1 < k; ++i) hash = std::rotl(hash, 1) ^ gram_value(units.value(i));
    const int turned = static_cast<int>(k % 64);
    for (std::size_t i = 0; i < count; ++i) {
        hash = std::rotl(hash, 1) ^ gram_value(units.value(i + k - 1));
        own.grams[i] = (hash * mix_factor & ~place_mask) | i;
        hash ^= std::rotl(gram_value(units.value(i)), turned - 1);
    }
    const std::uint64_t* const grams = own.grams.data();
    std::uint64_t* const suffix = own.suffix_minima.data();
    for (std::size_t block = 0; block < units.windows; block += w) {
        std::uint64_t smallest = grams[block + w - 1];
        for (std::size_t i = w; i-- > 0;) suffix[i] = smallest = std::min(smallest, grams[block + i]);
        work(block, smallest);
        smallest = ~std::uint64_t{0};
        const std::size_t end = std::min(w, units.windows - block);
        for (std::size_t i = 1; i < end; ++i) {
            smallest = std::min(smallest, grams[block + w + i - 1]);
            work(block + i, std::min(smallest, suffix[i]));
        }
    }
}

template <class Units>
void text_windows::find_anchors(const Units& units, scratch& own, std::uint32_t& anchors,
                                anchors_found& out) const {
    std::uint64_t last = ~std::uint64_t{0};
    for_each_anchor(units, own, [&](std::size_t, std::uint64_t anchor) {
        if (anchor == last) return;
        last = anchor;
        const std::uint64_t key = anchor >> place_bits;
        const std::uint64_t position = units.position + units.start(anchor & place_mask);
        const std::uint32_t number = anchors++;
        const std::uint64_t other = own.anchors.exchange(key, position);
        out.firsts.push_back(std::min(other, position));
        if (other == anchor_cache::none) {
            out.keys.push_back(key);
            out.numbers.push_back(number);
        } else {
            out.twice.push_back(number);
        }
    });
    out.windows += units.windows;
}

void text_windows::filter() {
    using primitives::external_sorter;
    const std::uint64_t memory = std::min(place_.memory().left() / 2, max_sort_bytes);
    external_sorter<cpu_place, std::uint64_t, std::uint64_t> sorter(
        place_, memory, {.key_bits = anchor_bits}, std::min(memory, primitives::external_sort_min_memory));
    progress_meter done(place_.ctx(), "filter", texts_.bytes.size(), "bytes");
    std::vector<anchors_found> found(std::min<std::uint64_t>(pieces_at_once(place_), pieces_));
    for (std::uint64_t piece = 0; piece < pieces_; piece += found.size()) {
        found.resize(std::min<std::uint64_t>(found.size(), pieces_ - piece));
        for_each_piece(place_, found.size(), [&](std::size_t p) {
            std::unique_ptr<scratch>& own = own_.local();
            if (!own) own = std::make_unique<scratch>();
            anchors_found& out = found[p];
            out.clear();
            for_each_fragment(piece + p, *own,
                              [&](const auto& units) { find_anchors(units, *own, out.count, out); });
            done.add(std::min<std::uint64_t>(piece_bytes_, texts_.bytes.size() - (piece + p) * piece_bytes_));
        });
        for (anchors_found& out : found) {
            const std::uint64_t first = first_anchors_.back();
            first_anchors_.push_back(first + out.count);
            flags_.grow((first_anchors_.back() + 63) / 64);
            remember_firsts(out.firsts);
            for (std::uint64_t& number : out.numbers) number += first;
            sorter.push(out.keys, out.numbers);
            for (const std::uint32_t number : out.twice) flag(first + number);
            counts_.compared += out.windows;
        }
    }
    std::uint64_t key = ~std::uint64_t{0}, first = 0;
    sorter.finish([&](std::span<const std::uint64_t> keys, std::span<const std::uint64_t> numbers) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (keys[i] != key) {
                key = keys[i];
                first = numbers[i];
                continue;
            }
            flag(first);
            flag(numbers[i]);
            if (has_firsts_) firsts_[numbers[i]] = firsts_[first];
        }
    });
    counts_.spilled += sorter.record().bytes_written;
}

/// They only save work: a small budget goes without.
void text_windows::remember_firsts(std::span<const std::uint64_t> firsts) {
    const std::uint64_t before = firsts_.size();
    const std::uint64_t bytes = (before + firsts.size()) * sizeof(std::uint64_t);
    if (has_firsts_ && bytes > place_.memory().limit() / 8 * 3) {
        has_firsts_ = false;
        firsts_ = {};
    }
    if (!has_firsts_) return;
    firsts_.grow(before + firsts.size());
    std::ranges::copy(firsts, firsts_.data() + before);
}

bool text_windows::any_flagged(std::uint64_t begin, std::uint64_t end) const {
    for (; begin < end && begin % 64 != 0; ++begin)
        if (is_flagged(begin)) return true;
    for (; begin + 64 <= end; begin += 64)
        if (flags_[begin / 64] != 0) return true;
    for (; begin < end; ++begin)
        if (is_flagged(begin)) return true;
    return false;
}

template <class Units>
void text_windows::find_runs(const Units& units, scratch& own, std::uint64_t& number) const {
    own.runs.clear();
    std::uint64_t last = ~std::uint64_t{0};
    bool flagged = false;
    for_each_anchor(units, own, [&](std::size_t window, std::uint64_t anchor) {
        if (anchor == last) return;
        last = anchor;
        if (flagged) own.runs.back().end = window;
        flagged = is_flagged(number);
        const std::uint64_t position = units.position + units.start(anchor & place_mask);
        if (flagged)
            own.runs.push_back({window, units.windows, position, has_firsts_ ? firsts_[number] : position});
        ++number;
    });
}

/// Passes on the windows of own.runs with their hashes, but for those that are proved repeated, like the window before
/// them. A first occurrence equals no earlier one, so it is passed on.
template <class Units>
void text_windows::hash_windows(const Units& units, scratch& own, windows_found& out) const {
    std::uint64_t hash = 0;
    std::size_t hashed = std::numeric_limits<std::size_t>::max();  // the window whose hash it is
    const auto hash_of = [&](std::size_t window) {
        if (hashed > window || window - hashed > length_) {
            hash = 0;
            for (std::size_t i = 0; i < length_; ++i) hash = appended(hash, units.value(window + i));
            hashed = window;
        }
        for (; hashed < window; ++hashed)
            hash = rolled(hash, units.value(hashed), leaving_factor_, units.value(hashed + length_));
        return hash_of_bits(final_hash(hash), tuned_.hash_bits);
    };
    window_prover<Units> earlier(texts_, length_, units);
    byte_range open;
    std::size_t open_windows = 0, last_end = 0;
    const auto close = [&] {
        if (open_windows > 1) out.proved.push_back(open);
        open_windows = 0;
    };
    for (const anchored_run& run : own.runs) {
        if (run.begin != last_end) {
            close();
            earlier.forget();
        }
        last_end = run.end;
        earlier.begin_run(run);
        for (std::size_t i = run.begin; i < run.end; ++i) {
            const std::uint64_t position = units.position + units.start(i);
            bool proved = !out.all && earlier.proves(i);
            std::uint64_t key = 0;
            if (!proved || open_windows == 0) {
                key = hash_of(i);
                if (!has_firsts_) {
                    const std::uint64_t recent = own.windows.exchange(key, position);
                    proved = proved || (!out.all && earlier.proves_by(i, recent));
                }
            }
            if (!proved) close();
            if (proved) {
                if (open_windows++ == 0) open.begin = position;
                open.end = units.position + units.start(i + length_);
                if (open_windows > 1) continue;
            }
            out.hashes.push_back(key);
            out.positions.push_back(position);
        }
    }
    close();
}

void text_windows::scan(const take_hashes& take) {
    progress_meter done(place_.ctx(), "scan", texts_.bytes.size(), "bytes");
    const bool again = !proved_.empty() || counts_.candidates != 0;
    std::vector<windows_found> found(std::min<std::uint64_t>(pieces_at_once(place_), pieces_));
    for (std::uint64_t piece = 0; piece < pieces_; piece += found.size()) {
        found.resize(std::min<std::uint64_t>(found.size(), pieces_ - piece));
        for_each_piece(place_, found.size(), [&](std::size_t p) {
            std::uint64_t anchor = first_anchors_[piece + p];
            windows_found& out = found[p];
            out.clear();
            out.all = again;
            if (any_flagged(anchor, first_anchors_[piece + p + 1])) {
                std::unique_ptr<scratch>& own = own_.local();
                if (!own) own = std::make_unique<scratch>();
                for_each_fragment(piece + p, *own, [&](const auto& units) {
                    find_runs(units, *own, anchor);
                    hash_windows(units, *own, out);
                });
            }
            done.add(std::min<std::uint64_t>(piece_bytes_, texts_.bytes.size() - (piece + p) * piece_bytes_));
        });
        for (const windows_found& out : found) {
            take(out.hashes, out.positions);
            if (!again) proved_.insert(proved_.end(), out.proved.begin(), out.proved.end());
        }
    }
}

void text_windows::compare(std::span<const std::uint64_t> positions, std::span<const std::uint64_t> firsts,
                           std::span<std::uint8_t> is_repeated) {
    const char* const bytes = texts_.bytes.data();
    const std::size_t pieces = pieces_for(place_, positions.size(), std::size_t{1} << 12);
    for_each_piece(place_, pieces, [&](std::size_t piece) {
        const auto [begin, end] = piece_of(positions.size(), pieces, piece);
        paced_checks checks(place_.ctx(), scattered_values);
        // The last window, and an equal one before it: the next window equals the one after that if their last code
        // points are equal.
        bool any = false, is_equal = false;
        std::uint64_t last = 0, last_end = 0, text_end = 0, witness = 0, witness_text_end = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint64_t p = positions[i];
            if (!any || p >= text_end) text_end = text_around(texts_, p).end;
            const std::uint64_t step = any ? unit_end(bytes, last, text_end) - last : 0;
            const bool follows = any && p < text_end && last + step == p && last_end < text_end;
            const std::uint64_t known_end = last_end;
            last_end =
                follows ? unit_end(bytes, last_end, text_end) : window_end(bytes, p, text_end, length_);
            if (follows && is_equal &&
                is_window(bytes, p, witness + step, known_end - p, last_end - p, witness_text_end)) {
                witness += step;
            } else {
                checks.after(1);
                witness = firsts[i];
                witness_text_end = text_around(texts_, witness).end;
                is_equal = is_window(bytes, p, witness, 0, last_end - p, witness_text_end);
            }
            is_repeated[i] = is_equal ? 1 : 0;
            any = true;
            last = p;
        }
    });
}

std::string_view text_windows::part_at(std::uint64_t position) const {
    const std::uint64_t text_end = text_around(texts_, position).end;
    const std::uint64_t end = window_end(texts_.bytes.data(), position, text_end, length_);
    return {texts_.bytes.data() + position, end - position};
}

std::uint64_t text_windows::hash_at(std::uint64_t position) const {
    const std::string_view window = part_at(position);
    std::uint64_t hash = 0;
    for (std::size_t at = 0; at < window.size();) {
        std::uint32_t value = static_cast<unsigned char>(window[at]);
        for (++at; at < window.size() && continues(window[at]); ++at)
            value = std::rotl(value, 8) ^ static_cast<unsigned char>(window[at]);
        hash = appended(hash, value);
    }
    return hash_of_bits(final_hash(hash), tuned_.hash_bits);
}

}  // namespace quern::repeated_text_detail
