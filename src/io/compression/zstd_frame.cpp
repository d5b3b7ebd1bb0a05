// SPDX-License-Identifier: Apache-2.0
#include "io/compression/zstd_frame.hpp"

#include <zstd.h>

#include <cstddef>
#include <memory>

#include "quern/base/error.hpp"

namespace quern::io {

bool decompress_zstd(std::string_view packed, std::span<char> plain) {
    struct free_context {
        void operator()(ZSTD_DCtx* c) const { ZSTD_freeDCtx(c); }
    };
    static thread_local const std::unique_ptr<ZSTD_DCtx, free_context> context(ZSTD_createDCtx());
    if (!context) throw out_of_memory("zstd decompression", 1U << 18, 0);
    const std::size_t made =
        ZSTD_decompressDCtx(context.get(), plain.data(), plain.size(), packed.data(), packed.size());
    return ZSTD_isError(made) == 0 && made == plain.size();
}

}  // namespace quern::io
