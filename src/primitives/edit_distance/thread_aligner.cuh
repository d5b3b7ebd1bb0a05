// SPDX-License-Identifier: Apache-2.0
// One thread, one short pair: all rows in one, two or four words of 64 (Myers 1999; Hyyrö 2003). The rows of a unit are the
// conjunction of tables, one for each four bits of a unit (see warp_aligner.cuh), in the thread's own column of shared
// memory.
#pragma once

#include <cstdint>

#include "primitives/edit_distance/warp_aligner.cuh"

namespace quern::primitives::edit_distance_detail {

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
