// SPDX-License-Identifier: Apache-2.0
// Three methods, by the number of bins:
//   few (four copies of the counters fit the second-level cache): each thread has four tables and counts neighbouring
//     samples in different ones. A counter that is incremented again before the last store is done waits for it: equal
//     samples would be four times slower than different ones;
//   middling (one copy fits): one table per thread;
//   many (a vocabulary): increments would miss every cache. Samples are first partitioned by the bins' high bits,
//     through one line of buffer per partition (Balkesen and others, ICDE 2013); then one thread counts each partition
//     in the cache. If a few bins have most of the samples, each thread counts these bins in a small table first, and
//     only the other samples are partitioned.
// Samples without a bin are detected by the maximum of a few thousand, before they are counted.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "device/fault.hpp"
#include "primitives/chained_scan.hpp"
#include "primitives/first_position.hpp"
#include "primitives/histogram/histogram.hpp"
#include "primitives/scan/scan_kernels.hpp"

namespace quern::primitives {
namespace {

constexpr std::size_t few_bins = 1 << 15, middling_bins = 1 << 18;
constexpr std::size_t piece_size = 1 << 15;               // samples that are checked and counted at a time
constexpr std::size_t round_size = std::size_t{1} << 26;  // samples that are partitioned at a time
constexpr std::size_t line = 16;                          // entries per buffer: 64 bytes
constexpr std::size_t max_probes = 4096;  // samples that are looked at to find the frequent bins

/// The first sample without a bin, over all threads.
class range_check {
  public:
    explicit range_check(std::size_t bins) : bins_(bins) {}

    /// Whether all have one; records the first that has not.
    template <class Sample>
    bool pass(const Sample* samples, std::size_t begin, std::size_t size) {
        if (bins_ > std::numeric_limits<Sample>::max()) return true;
        using scan_detail::value_types;
        scan_detail::chunk_scan how;
        how.maximum = true;
        how.types = sizeof(Sample) == 1   ? value_types::bytes_to_64
                    : sizeof(Sample) == 4 ? value_types::words32
                                          : value_types::words64;
        if (scan_detail::fold_values(how, samples + begin, size) < bins_) return true;
        std::size_t at = begin;
        while (samples[at] < bins_) ++at;
        first_.note(at);
        return false;
    }
    void throw_if_failed() const { first_.throw_if_any(fault::sample_out_of_range); }

  private:
    std::size_t bins_;
    first_position first_;
};

/// count(slot, begin, end) for pieces of [begin, end) on several threads; each slot below `slots` belongs to one thread.
template <class Count>
void share_pieces(cpu_place& place, std::size_t begin, std::size_t end, std::size_t slots,
                  const Count& count) {
    std::atomic<std::size_t> taken{begin};
    for_each_piece(place, slots, [&](std::size_t slot) {
        for (std::size_t from; (from = taken.fetch_add(piece_size)) < end;) {
            place.ctx().check_stop();
            count(slot, from, std::min(from + piece_size, end));
        }
    });
}

/// Few or middling bins: `Ways` tables per thread, added up at the end.
template <std::size_t Ways, class Sample>
void count_in_tables(cpu_place& place, std::span<const Sample> samples, std::span<std::uint64_t> counts,
                     range_check& check) {
    using counter = std::uint32_t;
    // A round is small enough for the counters.
    constexpr std::size_t max = std::numeric_limits<counter>::max() / piece_size * piece_size;
    const std::size_t bins = counts.size();
    for (std::size_t begin = 0; begin < samples.size(); begin += max) {
        const std::size_t end = std::min(samples.size(), begin + max);
        const std::size_t slots = threads_for(place, pieces_of(end - begin, piece_size));
        const auto tables = make_array<counter>(place, slots * Ways * bins, "counters of threads");
        std::fill_n(tables.data(), slots * Ways * bins, counter{0});
        share_pieces(place, begin, end, slots, [&](std::size_t slot, std::size_t from, std::size_t to) {
            if (!check.pass(samples.data(), from, to - from)) return;
            counter* const table = tables.data() + slot * Ways * bins;
            std::size_t i = from;
            for (; i + Ways <= to; i += Ways)
                for (std::size_t way = 0; way < Ways; ++way) ++table[way * bins + samples[i + way]];
            for (; i < to; ++i) ++table[samples[i]];
        });
        for (std::size_t t = 0; t < slots * Ways; ++t)
            for (std::size_t b = 0; b < bins; ++b) counts[b] += tables.data()[t * bins + b];
    }
}

/// The bins that many samples have, in a table by a hash of the bin, and one thread's counts of them: four counters a
/// bin, for neighbouring samples.
class frequent_bins {
  public:
    /// By at most `max_probes` of the samples. A bin of the table had at least three of them.
    template <class Sample>
    explicit frequent_bins(std::span<const Sample> samples) : bins_(slots), counts_(ways * slots) {
        const std::size_t probes = std::min(max_probes, samples.size() / 256);
        std::vector<std::uint32_t> probed(probes);
        std::uint64_t random = 0;  // positions that no period of the samples fits
        for (std::size_t i = 0; i < probes; ++i) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            const std::size_t stride = samples.size() / probes;
            probed[i] = static_cast<std::uint32_t>(samples[i * stride + (random >> 33) % stride]);
        }
        std::sort(probed.begin(), probed.end());
        std::vector<std::uint32_t> found(slots);
        for (std::size_t begin = 0, end = 0; begin < probes; begin = end) {
            while (end < probes && probed[end] == probed[begin]) ++end;
            const std::size_t slot = slot_of(probed[begin]), size = end - begin;
            if (size < 3 || size <= found[slot]) continue;
            found[slot] = static_cast<std::uint32_t>(size);
            bins_[slot] = probed[begin];
        }
        // No sample may be taken for one of an empty slot: bin 0 is not there, or in its own slot.
        const auto held = std::accumulate(found.begin(), found.end(), std::size_t{0});
        for (std::size_t slot = 0; slot < slots; ++slot)
            if (found[slot] == 0) bins_[slot] = slot == slot_of(0) ? 1 : 0;
        pays_ = probes != 0 && held * 2 >= probes;
    }
    /// Whether they have at least half of the samples looked at.
    bool pays() const { return pays_; }

    /// Counts the samples of these bins and copies the others to `others`, which has place for all; returns how many.
    template <class Sample>
    std::size_t count(const Sample* samples, std::size_t size, std::uint32_t* others) {
        std::size_t kept = 0, i = 0;
        const auto one = [&](std::size_t way) {
            const auto bin = static_cast<std::uint32_t>(samples[i + way]);
            const std::size_t slot = slot_of(bin);
            const bool here = bins_[slot] == bin;
            counts_[way * slots + slot] += here;
            others[kept] = bin;
            kept += !here;
        };
        for (; i + ways <= size; i += ways)
            for (std::size_t way = 0; way < ways; ++way) one(way);
        for (; i < size; ++i) one(0);
        return kept;
    }
    void add_to(std::span<std::uint64_t> counts) {
        for (std::size_t slot = 0; slot < slots; ++slot)
            for (std::size_t way = 0; way < ways; ++way) {
                const std::uint32_t count = std::exchange(counts_[way * slots + slot], 0);
                if (count != 0) counts[bins_[slot]] += count;
            }
    }

  private:
    static constexpr std::size_t slots = 1024, ways = 4;

    static std::size_t slot_of(std::uint32_t bin) { return bin * 0x9e3779b1U >> 22; }

    std::vector<std::uint32_t> bins_, counts_;
    bool pays_ = false;
};

/// The samples of one thread's share of a round, ordered by partition.
class partitioner {
  public:
    partitioner(unsigned shift, std::size_t partitions)
        : shift_(shift), ends_(partitions), begins_(partitions + 1), buffers_(partitions * line) {}

    /// `to` must hold size + 16 entries per partition.
    template <class Sample>
    void partition(const Sample* samples, std::size_t size, std::uint32_t* to) {
        std::fill(ends_.begin(), ends_.end(), 0);
        for (std::size_t i = 0; i < size; ++i) ++ends_[samples[i] >> shift_];
        std::size_t at = 0;
        for (std::size_t p = 0; p < ends_.size(); ++p) {  // every partition starts a line
            begins_[p] = at;
            at += (ends_[p] + line - 1) / line * line;
            ends_[p] = begins_[p];
        }
        const std::uint64_t low = (std::uint64_t{1} << shift_) - 1;
        for (std::size_t i = 0; i < size; ++i) {
            const std::size_t p = static_cast<std::size_t>(samples[i] >> shift_), end = ends_[p]++;
            buffers_[p * line + end % line] = static_cast<std::uint32_t>(samples[i] & low);
            if (end % line == line - 1)
                std::memcpy(to + (end - (line - 1)), buffers_.data() + p * line,
                            line * sizeof(std::uint32_t));
        }
        for (std::size_t p = 0; p < ends_.size(); ++p)
            std::copy_n(buffers_.data() + p * line, ends_[p] % line, to + ends_[p] / line * line);
    }
    std::size_t begin(std::size_t partition) const { return begins_[partition]; }
    std::size_t end(std::size_t partition) const { return ends_[partition]; }

  private:
    unsigned shift_;
    std::vector<std::size_t> ends_, begins_;
    std::vector<std::uint32_t> buffers_;
};

template <class Sample>
void count_by_partition(cpu_place& place, std::span<const Sample> samples, std::span<std::uint64_t> counts,
                        range_check& check) {
    // Partitions of 2¹⁵ bins, whose counters take 256 KiB, or larger ones if there would be more than 1,024.
    const auto shift =
        static_cast<unsigned>(std::max(15, static_cast<int>(std::bit_width(counts.size() - 1)) - 10));
    const std::size_t partitions = ((counts.size() - 1) >> shift) + 1;
    const frequent_bins frequent(samples);
    const bool apart = frequent.pays() && counts.size() - 1 <= std::numeric_limits<std::uint32_t>::max();
    const std::size_t max =
        apart ? std::min(samples.size() / 2 + 1, round_size / 2) : std::min(samples.size(), round_size);
    const std::size_t slots = threads_for(place, pieces_of(max, piece_size));
    const std::size_t share = max / slots + 1, capacity = share + line * partitions;
    const auto ordered =
        make_array<std::uint32_t>(place, slots * capacity, "samples in order of their partitions");
    const auto rare = make_array<std::uint32_t>(place, apart ? slots * share : 0, "samples of rare bins");
    std::vector<frequent_bins> tables(apart ? slots : 0, frequent);
    std::vector<partitioner> shares(slots, partitioner(shift, partitions));
    for (std::size_t begin = 0; begin < samples.size(); begin += max) {
        const std::size_t size = std::min(max, samples.size() - begin);
        std::atomic<bool> passed{true};
        for_each_piece(place, slots, [&](std::size_t slot) {
            const auto [from, to] = piece_of(size, slots, slot);
            std::uint32_t* const others = apart ? rare.data() + slot * share : nullptr;
            std::size_t kept = 0;
            for (std::size_t i = from; i < to; i += piece_size) {
                place.ctx().check_stop();
                const std::size_t length = std::min(piece_size, to - i);
                if (!check.pass(samples.data(), begin + i, length))
                    passed = false;
                else if (apart)
                    kept += tables[slot].count(samples.data() + begin + i, length, others + kept);
            }
            std::uint32_t* const list = ordered.data() + slot * capacity;
            if (passed && apart)
                shares[slot].partition(others, kept, list);
            else if (passed)
                shares[slot].partition(samples.data() + begin + from, to - from, list);
        });
        if (!passed) return;
        for (frequent_bins& table : tables) table.add_to(counts);
        for_each_piece(place, partitions, [&](std::size_t p) {
            std::uint64_t* const table = counts.data() + (p << shift);
            for (std::size_t slot = 0; slot < slots; ++slot) {
                const std::uint32_t* const list = ordered.data() + slot * capacity;
                for (std::size_t i = shares[slot].begin(p); i < shares[slot].end(p); ++i) ++table[list[i]];
            }
        });
    }
}

}  // namespace

template <histogram_sample Sample>
void histogram(cpu_place& place, std::span<const Sample> samples, std::span<std::uint64_t> counts) {
    std::fill(counts.begin(), counts.end(), 0);
    range_check check(counts.size());
    const std::size_t bins = counts.size(), size = samples.size();
    // The setup cost must pay.
    if (bins <= few_bins && size >= 4 * bins) {
        count_in_tables<4>(place, samples, counts, check);
    } else if (bins <= middling_bins && size >= 4 * bins) {
        count_in_tables<1>(place, samples, counts, check);
    } else if (bins > middling_bins && size >= bins / 4) {
        count_by_partition(place, samples, counts, check);
    } else if (size != 0 && check.pass(samples.data(), 0, size)) {
        for (const Sample sample : samples) ++counts[sample];
    }
    check.throw_if_failed();
}

template void histogram(cpu_place&, std::span<const std::uint8_t>, std::span<std::uint64_t>);
template void histogram(cpu_place&, std::span<const std::uint32_t>, std::span<std::uint64_t>);
template void histogram(cpu_place&, std::span<const std::uint64_t>, std::span<std::uint64_t>);

}  // namespace quern::primitives
