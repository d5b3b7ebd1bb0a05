// SPDX-License-Identifier: Apache-2.0
#include "io/parquet/page_codec.hpp"

#include <brotli/decode.h>
#include <isa-l/igzip_lib.h>
#include <lz4.h>
#include <snappy.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "io/compression/gzip_writer.hpp"
#include "io/compression/snappy_block.hpp"
#include "io/compression/zstd_frame.hpp"
#include "io/parquet/byte_cursor.hpp"
#include "quern/base/error.hpp"

namespace quern::io::parquet {
namespace {

[[noreturn]] void throw_damaged(std::string_view format) {
    throw fault("the " + std::string(format) +
                " data of a page are damaged, or of another length than its header says");
}

/// gzip, of one or several members; some writers make zlib's format instead.
void gunzip(std::string_view packed, std::span<char> plain) {
    static thread_local const auto state = std::make_unique<inflate_state>();
    std::size_t made = 0;
    do {
        isal_inflate_init(state.get());
        const bool is_zlib = !packed.empty() && (packed.front() & 15) == 8;
        state->crc_flag = is_zlib ? ISAL_ZLIB : ISAL_GZIP;
        state->next_in =
            reinterpret_cast<std::uint8_t*>(const_cast<char*>(packed.data()));  // it only reads it
        state->avail_in = static_cast<std::uint32_t>(packed.size());
        state->next_out = reinterpret_cast<std::uint8_t*>(plain.data() + made);
        state->avail_out = static_cast<std::uint32_t>(plain.size() - made);
        const int failure = isal_inflate(state.get());
        if (failure != ISAL_DECOMP_OK || state->block_state != ISAL_BLOCK_FINISH) throw_damaged("gzip");
        made = plain.size() - state->avail_out;
        const std::size_t left = state->avail_in + static_cast<std::size_t>(state->read_in_length / 8);
        packed.remove_prefix(packed.size() - std::min(packed.size(), left));
    } while (made < plain.size() && !packed.empty());
    if (made != plain.size()) throw_damaged("gzip");
}

bool unbrotli(std::string_view packed, std::span<char> plain) {
    std::size_t made = plain.size();
    const BrotliDecoderResult code =
        BrotliDecoderDecompress(packed.size(), reinterpret_cast<const std::uint8_t*>(packed.data()), &made,
                                reinterpret_cast<std::uint8_t*>(plain.data()));
    return code == BROTLI_DECODER_RESULT_SUCCESS && made == plain.size();
}

bool unlz4(std::string_view packed, std::span<char> plain) {
    const int result = LZ4_decompress_safe(packed.data(), plain.data(), static_cast<int>(packed.size()),
                                           static_cast<int>(plain.size()));
    return result >= 0 && static_cast<std::size_t>(result) == plain.size();
}

/// Blocks as Hadoop writes them: the lengths of both forms, big-endian, then one compressed block of them.
bool unlz4_framed(std::string_view packed, std::span<char> plain) {
    const auto length = [&packed](std::size_t at) {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(packed[at + i]);
        return value;
    };
    while (packed.size() >= 8) {
        const std::uint32_t of_plain = length(0), of_packed = length(4);
        packed.remove_prefix(8);
        if (of_packed > packed.size() || of_plain > plain.size() ||
            !unlz4(packed.substr(0, of_packed), plain.first(of_plain)))
            return false;
        packed.remove_prefix(of_packed);
        plain = plain.subspan(of_plain);
    }
    return packed.empty() && plain.empty();
}

}  // namespace

bool is_supported(codec which) {
    return which <= codec::lz4_raw && which != codec::lzo;
}

void decompress(codec which, std::string_view packed, std::span<char> plain) {
    switch (which) {
        case codec::none:
            if (packed.size() != plain.size()) throw fault("a page has another length than its header says");
            if (!packed.empty()) std::memcpy(plain.data(), packed.data(), packed.size());
            return;
        case codec::snappy:
            if (!decompress_snappy(packed, plain)) throw_damaged("snappy");
            return;
        case codec::gzip:
            return gunzip(packed, plain);
        case codec::brotli:
            if (!unbrotli(packed, plain)) throw_damaged("brotli");
            return;
        case codec::zstd:
            if (!decompress_zstd(packed, plain)) throw_damaged("zstd");
            return;
        case codec::lz4_framed:  // some writers omitted the framing
            if (!unlz4_framed(packed, plain) && !unlz4(packed, plain)) throw_damaged("LZ4");
            return;
        case codec::lz4_raw:
            if (!unlz4(packed, plain)) throw_damaged("LZ4");
            return;
        case codec::lzo:
            break;
    }
    throw fault("pages compressed by " + name_of(which) + " are not read");
}

std::string compress(codec which, std::string_view plain, const context& ctx) {
    constexpr std::size_t max_bytes = std::size_t{1} << 31U;
    if (plain.size() >= max_bytes) throw usage_error("a page of a Parquet file has at most 2 GiB");
    std::string packed;
    switch (which) {
        case codec::none:
            return std::string(plain);
        case codec::snappy:
            snappy::Compress(plain.data(), plain.size(), &packed);
            return packed;
        case codec::gzip: {
            gzip_writer writer([&packed](std::string_view bytes) { packed += bytes; }, ctx);
            writer.append(plain);
            writer.finish();
            return packed;
        }
        case codec::zstd: {
            packed.resize(ZSTD_compressBound(plain.size()));
            const std::size_t size =
                ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), ZSTD_CLEVEL_DEFAULT);
            if (ZSTD_isError(size) != 0) throw out_of_memory("zstd compression", packed.size(), 0);
            packed.resize(size);
            return packed;
        }
        case codec::lz4_raw: {
            const auto count = static_cast<int>(plain.size());
            packed.resize(static_cast<std::size_t>(LZ4_compressBound(count)));
            const int size =
                LZ4_compress_default(plain.data(), packed.data(), count, static_cast<int>(packed.size()));
            packed.resize(static_cast<std::size_t>(size));
            return packed;
        }
        case codec::lz4_framed:
        case codec::lzo:
        case codec::brotli:
            break;
    }
    throw usage_error("pages compressed by " + name_of(which) + " are not written");
}

}  // namespace quern::io::parquet
