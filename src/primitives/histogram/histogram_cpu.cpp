// SPDX-License-Identifier: Apache-2.0
// Three methods, by the number of bins:
//   few (four copies of the counters fit the second-level cache): each thread has four tables and counts neighbouring
//     samples in different ones. A counter that is incremented again before the last store is done waits for it: equal
//     samples would be four times slower than different ones;
//   middling (one copy fits): one table per thread;
//   many (a vocabulary): increments would miss every cache. Samples are first partitioned by the bins' high bits,
//     through one line of buffer per partition (Balkesen and others, ICDE 2013); then one thread counts each partition
//     in the cache.
// Samples without a bin are detected by the maximum of a few thousand, before they are counted.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
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

/// The samples of one thread's share of a round, ordered by partition.
template <class Sample>
class partitioner {
  public:
    partitioner(unsigned shift, std::size_t partitions)
        : shift_(shift), ends_(partitions), begins_(partitions + 1), buffers_(partitions * line) {}

    /// `to` must hold size + 16 entries per partition.
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
    const std::size_t max = std::min(samples.size(), round_size);
    const std::size_t slots = threads_for(place, pieces_of(max, piece_size));
    const std::size_t share = max / slots + 1, capacity = share + line * partitions;
    const auto ordered =
        make_array<std::uint32_t>(place, slots * capacity, "samples in order of their partitions");
    std::vector<partitioner<Sample>> shares(slots, partitioner<Sample>(shift, partitions));
    for (std::size_t begin = 0; begin < samples.size(); begin += max) {
        const std::size_t size = std::min(max, samples.size() - begin);
        std::atomic<bool> passed{true};
        for_each_piece(place, slots, [&](std::size_t slot) {
            const auto [from, to] = piece_of(size, slots, slot);
            for (std::size_t i = from; i < to; i += piece_size) {
                place.ctx().check_stop();
                if (!check.pass(samples.data(), begin + i, std::min(piece_size, to - i))) passed = false;
            }
            if (passed)
                shares[slot].partition(samples.data() + begin + from, to - from,
                                       ordered.data() + slot * capacity);
        });
        if (!passed) return;
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
