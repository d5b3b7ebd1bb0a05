// SPDX-License-Identifier: Apache-2.0
// One warp, one pair: the strips of banded_blocks_cpu.cpp, 1,024 rows high. A lane is a word of 32 rows, a column after the lane
// above it; one exchange passes down the unit of its column and the step along the row above. The rows of a unit are the
// conjunction of small tables, one for each four bits of a unit, one word per lane: without bank conflicts, and strings of
// any units need 2 KB for each four bits.
#pragma once

#include <cstdint>

#include "device/cuda/portable.cuh"

namespace quern::primitives::edit_distance_detail {

constexpr unsigned full_warp = 0xffffffff;
constexpr unsigned warp_size = 32;
constexpr long long block_rows = 1024;
constexpr unsigned no_distance = 0xffffffff;  // beyond_bound

template <class Unit>
constexpr unsigned max_digits = 2 * sizeof(Unit);  // of four bits

/// A warp's shared memory.
template <class Unit>
struct warp_memory {
    unsigned tables[max_digits<Unit> * 16 * warp_size];  ///< of digit d and value v, the word of each lane
    unsigned feed[warp_size];  ///< of the next columns, for the first lane: steps, one byte each
    unsigned units[sizeof(Unit) == 1 ? 1 : warp_size];  ///< and larger units
};

/// The steps along the row above the next strip: one bit per column, in a ring of words (a power of two). A range that
/// begins at a multiple of 32 columns is at the words of its column numbers.
struct step_ring {
    unsigned *up, *down;
    unsigned mask;
};

/// All calls by all lanes of a warp, with the same arguments.
template <class Unit>
class warp_aligner {
  public:
    __device__ warp_aligner(warp_memory<Unit>& memory, step_ring ring)
        : memory_(memory), ring_(ring), lane_(threadIdx.x % warp_size) {}

    /// The distance of a (rows) and b (columns) or no_distance if it is beyond the bound; at_row is then the number of rows
    /// of a that were needed to know.
    __device__ unsigned distance(const Unit* a, long long rows, const Unit* b, long long columns,
                                 long long bound, long long& at_row) {
        const long long difference = columns - rows;
        a_ = a, b_ = b, columns_ = columns, difference_ = difference, bound_ = bound;
        at_row = 0;
        if (difference > bound || -difference > bound) return no_distance;
        row_ = -((block_rows - rows % block_rows) % block_rows);
        value_ = -row_, begin_ = 0, end_ = 0;
        last_diagonal_ = (bound + difference) >> 1;
        while (true) {
            const long long fallen = row_ < 0 ? -row_ : 0;
            sweep();
            value_ += block_rows - 2 * fallen;
            row_ += block_rows;
            at_row = row_;
            if (row_ == rows) break;
            if (!narrow()) return no_distance;
        }
        const long long value = value_at_end();
        return value > bound ? no_distance : static_cast<unsigned>(value);
    }

  private:
    /// Sets the tables for the rows of the strip below row_; those before a's first hold nothing. A lane reads and writes
    /// only its own words.
    __device__ void set_rows() {
        const long long first = row_ + 32 * lane_;
        unsigned seen = 0;
        if constexpr (sizeof(Unit) == 1) {
            digits_ = 2;
        } else {
            for (unsigned i = 0; i < 32; ++i)
                if (first + i >= 0) seen |= a_[first + i];
            seen = cuda::union_of_warp(seen);
            digits_ = seen == 0 ? 1 : (35u - static_cast<unsigned>(__clz(static_cast<int>(seen)))) / 4;
            foreign_ = digits_ == 8 ? 0 : ~0u << 4 * digits_;
        }
        for (unsigned t = 0; t < digits_ * 16; ++t) memory_.tables[t * warp_size + lane_] = 0;
        for (unsigned i = 0; i < 32; ++i) {
            if (first + i < 0) continue;
            const unsigned unit = a_[first + i];
            for (unsigned d = 0; d < digits_; ++d)
                memory_.tables[(d * 16 + (unit >> 4 * d & 15)) * warp_size + lane_] |= 1u << i;
        }
    }

    /// A byte and its two steps as one word: the digits are placed so that they are offsets into the tables.
    static __device__ unsigned packed(unsigned byte, unsigned up, unsigned down) {
        return (byte & 15) << 5 | (byte >> 4) << 9 | up << 1 | down;
    }
    __device__ unsigned rows_with(unsigned in, unsigned unit) const {
        if constexpr (sizeof(Unit) == 1) {
            return memory_.tables[(in & 0x1e0) + lane_] & memory_.tables[512 + (in >> 4 & 0x1e0) + lane_];
        } else {
            unsigned rows = unit & foreign_ ? 0 : ~0u;
            for (unsigned d = 0; d < digits_; ++d)
                rows &= memory_.tables[(d * 16 + (unit >> 4 * d & 15)) * warp_size + lane_];
            return rows;
        }
    }

    struct lane_state {
        unsigned rises, falls;  ///< the rows of the lane's column
        unsigned out = 0;       ///< packed: the next input of the lane below
        unsigned unit = 0;
        unsigned up = 0, down = 0;  ///< steps along the lane's last row, the newest in the top bit
    };

    /// One column further. In the first batch (First) lanes whose columns have not begun do not change.
    template <bool First>
    __device__ void step(lane_state& s, unsigned at) const {
        unsigned in = __shfl_up_sync(full_warp, s.out, 1);
        if (lane_ == 0) in = memory_.feed[at];
        if constexpr (sizeof(Unit) != 1) {
            const unsigned unit = __shfl_up_sync(full_warp, s.unit, 1);
            s.unit = lane_ == 0 ? memory_.units[at] : unit;
        }
        const unsigned up_in = in >> 1 & 1, down_in = in & 1;
        const unsigned equal = rows_with(in, s.unit);
        const unsigned vertical = equal | s.falls, matches = equal | down_in;
        const unsigned horizontal = (((matches & s.rises) + s.rises) ^ s.rises) | matches;
        unsigned up = s.falls | ~(horizontal | s.rises), down = s.rises & horizontal;
        s.out = (in & ~3u) | (up >> 31) << 1 | down >> 31;
        s.up = s.up >> 1 | (up & 0x80000000), s.down = s.down >> 1 | (down & 0x80000000);
        up = up << 1 | up_in, down = down << 1 | down_in;
        if (!First || at >= lane_) s.rises = down | ~(vertical | up), s.falls = up & vertical;
    }

    /// 32 columns of the first lane. The last lane is 31 after: at step 30 a word of its columns is full.
    template <bool First>
    __device__ void run_batch(lane_state& s, long long column) {
        const unsigned word = static_cast<unsigned>(column / 32);
        const bool known = column < known_end_;
        const unsigned ups = known ? ring_.up[word & ring_.mask] : ~0u;
        const unsigned downs = known ? ring_.down[word & ring_.mask] : 0;
        const unsigned unit = column + lane_ < columns_ ? b_[column + lane_] : 0;
        const unsigned up = ups >> lane_ & 1, down = downs >> lane_ & 1;
        __syncwarp();
        if constexpr (sizeof(Unit) == 1) {
            memory_.feed[lane_] = packed(unit, up, down);
        } else {
            memory_.feed[lane_] = up << 1 | down;
            memory_.units[lane_] = unit;
        }
        __syncwarp();
#pragma unroll 8
        for (unsigned at = 0; at < 31; ++at) step<First>(s, at);
        if (!First && lane_ == warp_size - 1) {
            ring_.up[(word - 1) & ring_.mask] = s.up;
            ring_.down[(word - 1) & ring_.mask] = s.down;
        }
        step<First>(s, 31);
    }

    /// The strip below row_: from begin_, a multiple of 32, to the last diagonal, in whole words.
    __device__ void sweep() {
        set_rows();
        known_end_ = end_;
        const long long reached = row_ + block_rows + last_diagonal_;
        end_ = begin_ + ((reached < columns_ ? reached : columns_) - begin_ + 31) / 32 * 32;
        const long long falling = -row_ - 32 * static_cast<long long>(lane_);
        lane_state s;
        s.falls = falling <= 0 ? 0 : falling >= 32 ? ~0u : (1u << falling) - 1;
        s.rises = ~s.falls;
        run_batch<true>(s, begin_);
        for (long long column = begin_ + 32; column <= end_; column += 32) run_batch<false>(s, column);
        __syncwarp();  // all see the last lane's words
    }

    /// Continues from the first word of columns that a path within the bound can cross; false if there is none. A word's
    /// cells are those of its 32 columns and of the previous one. As on the CPU, but for whole words.
    __device__ bool narrow() {
        const long long words = (end_ - begin_) / 32;
        long long value = value_, first_value = 0, first = -1, furthest = -(1ll << 40);
        for (long long base = 0; base < words; base += warp_size) {
            const long long w = base + lane_, before = begin_ + 32 * w;
            const bool valid = w < words && before < columns_;
            const unsigned slot = static_cast<unsigned>(before / 32) & ring_.mask;
            const int ups = valid ? __popc(ring_.up[slot]) : 0, downs = valid ? __popc(ring_.down[slot]) : 0;
            int sum = ups - downs;
            for (unsigned by = 1; by < warp_size; by *= 2) {
                const int other = __shfl_up_sync(full_warp, sum, by);
                if (lane_ >= by) sum += other;
            }
            const long long here = value + sum - (ups - downs), least = here - downs;
            const long long k = before - row_, last_k = k + 32;
            const long long aside = difference_ > last_k ? difference_ - last_k
                                    : k > difference_    ? k - difference_
                                                         : 0;
            const bool active = valid && least + aside <= bound_;
            const long long reach = (bound_ - least + last_k + difference_) >> 1;
            if (active && reach > furthest) furthest = reach;
            const unsigned actives = __ballot_sync(full_warp, active);
            if (first < 0 && actives != 0) {
                const int from = __ffs(static_cast<int>(actives)) - 1;
                first = base + from;
                first_value = __shfl_sync(full_warp, here, from);
            }
            value += __shfl_sync(full_warp, sum, warp_size - 1);
        }
        for (unsigned by = 1; by < warp_size; by *= 2) {
            const long long other = __shfl_xor_sync(full_warp, furthest, static_cast<int>(by));
            if (other > furthest) furthest = other;
        }
        if (first < 0) return false;
        begin_ += 32 * first, value_ = first_value;
        if (furthest < last_diagonal_) last_diagonal_ = furthest;
        return true;
    }

    __device__ long long value_at_end() const {
        long long sum = 0;
        for (long long before = begin_ + 32 * lane_; before < columns_; before += 32 * warp_size) {
            const unsigned slot = static_cast<unsigned>(before / 32) & ring_.mask;
            const unsigned mask = columns_ - before >= 32 ? ~0u : (1u << (columns_ - before)) - 1;
            sum += __popc(ring_.up[slot] & mask) - __popc(ring_.down[slot] & mask);
        }
        for (unsigned by = 1; by < warp_size; by *= 2)
            sum += __shfl_xor_sync(full_warp, sum, static_cast<int>(by));
        return value_ + sum;
    }

    warp_memory<Unit>& memory_;
    step_ring ring_;
    unsigned lane_;
    unsigned digits_ = 0, foreign_ = 0;  ///< of the strip's units: four bits each; bits that none has
    const Unit *a_ = nullptr, *b_ = nullptr;
    long long columns_ = 0, difference_ = 0, bound_ = 0;
    // The edge above the next strip: its row, its value in column begin_; steps are known up to column end_.
    long long row_ = 0, value_ = 0, begin_ = 0, end_ = 0, known_end_ = 0, last_diagonal_ = 0;
};

/// One thread, one short pair: all rows in one, two or four words of 64 (Myers 1999; Hyyrö 2003). The rows of a unit are the
/// conjunction of tables, one for each four bits of a unit (as in warp_aligner), in the thread's own column of shared
/// memory.
template <class Unit, unsigned Words>
class thread_aligner {
  public:
    static constexpr unsigned rows = 64 * Words;
    /// 64-bit words of shared memory per thread.
    static constexpr unsigned table_words = max_digits<Unit> * 16 * Words;

    /// Word i of the thread's table is table[i * threads].
    __device__ thread_aligner(unsigned long long* table, unsigned threads)
        : table_(table), threads_(threads) {}

    /// `used` <= rows. As warp_aligner::distance.
    __device__ unsigned distance(const Unit* a, unsigned used, const Unit* b, unsigned columns,
                                 unsigned bound) {
        // The words are padded with rows before a's, as in strips.
        const unsigned filled = rows - used;
        set_rows(a, used, filled);
        unsigned long long rises[Words], falls[Words];
#pragma unroll
        for (unsigned w = 0; w < Words; ++w) {
            const int falling = static_cast<int>(filled) - static_cast<int>(64 * w);
            falls[w] = falling <= 0 ? 0 : falling >= 64 ? ~0ull : (1ull << falling) - 1;
            rises[w] = ~falls[w];
        }
        long long value = used;
        for (unsigned j = 0; j < columns; ++j) {
            unsigned long long up_in = 1, down_in = 0;
            const unsigned unit = b[j];
#pragma unroll
            for (unsigned w = 0; w < Words; ++w) {
                const unsigned long long equal = rows_with(unit, w);
                const unsigned long long vertical = equal | falls[w], matches = equal | down_in;
                const unsigned long long horizontal =
                    (((matches & rises[w]) + rises[w]) ^ rises[w]) | matches;
                const unsigned long long up = falls[w] | ~(horizontal | rises[w]),
                                         down = rises[w] & horizontal;
                const unsigned long long up_here = up << 1 | up_in, down_here = down << 1 | down_in;
                up_in = up >> 63, down_in = down >> 63;
                rises[w] = down_here | ~(vertical | up_here), falls[w] = up_here & vertical;
            }
            value += static_cast<long long>(up_in) - static_cast<long long>(down_in);
            if (value - (columns - 1 - j) > bound)
                return no_distance;  // each remaining column lowers it by at most one
        }
        return value > bound ? no_distance : static_cast<unsigned>(value);
    }

  private:
    __device__ unsigned long long& word(unsigned digit, unsigned value, unsigned w) const {
        return table_[((digit * 16 + value) * Words + w) * threads_];
    }
    __device__ void set_rows(const Unit* a, unsigned used, unsigned filled) {
        for (unsigned i = 0; i < table_words; ++i) table_[i * threads_] = 0;
        for (unsigned i = 0; i < used; ++i) {
            const unsigned row = filled + i, unit = a[i];
            for (unsigned d = 0; d < max_digits<Unit>; ++d)
                word(d, unit >> 4 * d & 15, row / 64) |= 1ull << row % 64;
        }
    }
    __device__ unsigned long long rows_with(unsigned unit, unsigned w) const {
        unsigned long long rows = ~0ull;
#pragma unroll
        for (unsigned d = 0; d < max_digits<Unit>; ++d) rows &= word(d, unit >> 4 * d & 15, w);
        return rows;
    }

    unsigned long long* table_;
    unsigned threads_;
};

}  // namespace quern::primitives::edit_distance_detail
