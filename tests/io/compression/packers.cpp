// SPDX-License-Identifier: Apache-2.0
#include "io/compression/packers.hpp"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <memory>
#include <stdexcept>

namespace quern::io::test {
namespace {

void check(bool fine, const char* what) {
    if (!fine) throw std::runtime_error(what);
}

std::uint64_t next_random(std::uint64_t& state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

}  // namespace

std::string pack_bzip2(std::string_view plain, int level) {
    std::string packed(plain.size() + plain.size() / 50 + 1000, '\0');
    auto size = static_cast<unsigned>(packed.size());
    check(BZ2_bzBuffToBuffCompress(packed.data(), &size, const_cast<char*>(plain.data()),
                                   static_cast<unsigned>(plain.size()), level, 0, 0) == BZ_OK,
          "bzip2");
    packed.resize(size);
    return packed;
}

std::string pack_gzip(std::string_view plain, int level) {
    z_stream stream{};
    check(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "gzip");
    std::string packed(deflateBound(&stream, plain.size()) + 64, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    check(deflate(&stream, Z_FINISH) == Z_STREAM_END, "gzip");
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

std::string pack_zstd(std::string_view plain, int level) {
    std::string packed(ZSTD_compressBound(plain.size()), '\0');
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    const std::size_t size =
        ZSTD_compress2(context, packed.data(), packed.size(), plain.data(), plain.size());
    ZSTD_freeCCtx(context);
    check(!ZSTD_isError(size), "zstd");
    packed.resize(size);
    return packed;
}

std::string pack_zstd_long(std::string_view plain, int window_log) {
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
    check(ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, window_log)) == 0, "zstd");
    std::string packed(ZSTD_compressBound(plain.size()) + 64, '\0');
    ZSTD_outBuffer out{packed.data(), packed.size(), 0};
    ZSTD_inBuffer in{plain.data(), plain.size(), 0};
    // It learns of the end only after the first flush, so that it cannot write the length into the header.
    for (const auto directive : {ZSTD_e_flush, ZSTD_e_end}) {
        check(ZSTD_compressStream2(context.get(), &out, &in, directive) == 0, "zstd");
    }
    packed.resize(out.pos);
    return packed;
}

std::string pack_xz_wide(std::string_view plain) {
    std::string packed(lzma_stream_buffer_bound(plain.size()), '\0');
    std::size_t size = 0;
    const auto result = lzma_easy_buffer_encode(
        9, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(plain.data()), plain.size(),
        reinterpret_cast<std::uint8_t*>(packed.data()), &size, packed.size());
    check(result == LZMA_OK, "xz");
    packed.resize(size);
    return packed;
}

std::string pack_xz(std::string_view plain, std::size_t block_bytes) {
    lzma_mt options{};
    options.threads = 1;
    options.preset = 1;
    options.check = LZMA_CHECK_CRC64;
    options.block_size = block_bytes;
    lzma_stream stream = LZMA_STREAM_INIT;
    check(lzma_stream_encoder_mt(&stream, &options) == LZMA_OK, "xz");
    std::string packed(plain.size() + plain.size() / 8 + 4096, '\0');
    stream.next_in = reinterpret_cast<const std::uint8_t*>(plain.data());
    stream.avail_in = plain.size();
    stream.next_out = reinterpret_cast<std::uint8_t*>(packed.data());
    stream.avail_out = packed.size();
    lzma_ret result = LZMA_OK;
    while (result == LZMA_OK) result = lzma_code(&stream, LZMA_FINISH);
    check(result == LZMA_STREAM_END, "xz");
    packed.resize(stream.total_out);
    lzma_end(&stream);
    return packed;
}

const std::vector<format>& formats() {
    static const std::vector<format> all{
        {"gzip", [](std::string_view plain) { return pack_gzip(plain); }},
        {"bzip2", [](std::string_view plain) { return pack_bzip2(plain); }},
        {"zstd", [](std::string_view plain) { return pack_zstd(plain); }},
        {"xz", [](std::string_view plain) { return pack_xz(plain); }},
    };
    return all;
}

std::string unpack_bzip2(std::string_view packed, bool& sound) {
    std::string plain;
    std::string piece(std::size_t{1} << 16, '\0');
    sound = true;
    while (sound && !packed.empty()) {
        bz_stream stream{};
        check(BZ2_bzDecompressInit(&stream, 0, 0) == BZ_OK, "bzip2");
        stream.next_in = const_cast<char*>(packed.data());
        stream.avail_in = static_cast<unsigned>(packed.size());
        int code = BZ_OK;
        while (code == BZ_OK) {
            stream.next_out = piece.data();
            stream.avail_out = static_cast<unsigned>(piece.size());
            code = BZ2_bzDecompress(&stream);
            const std::size_t count = piece.size() - stream.avail_out;
            plain.append(piece, 0, count);
            if (code == BZ_OK && count == 0 && stream.avail_in == 0) break;
        }
        sound = code == BZ_STREAM_END;
        packed.remove_prefix(packed.size() - stream.avail_in);
        BZ2_bzDecompressEnd(&stream);
    }
    return plain;
}

std::string random_bytes(std::size_t bytes, unsigned letters, std::uint64_t seed) {
    std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
    std::string text(bytes, '\0');
    for (char& letter : text) letter = static_cast<char>((next_random(state) >> 33) % letters);
    return text;
}

std::string words(std::size_t bytes, std::uint64_t seed) {
    std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
    std::vector<std::string> vocabulary;
    for (int i = 0; i < 4000; ++i) {
        std::string word;
        for (std::uint64_t n = 1 + next_random(state) % 9; n != 0; --n) {
            word += static_cast<char>('a' + (next_random(state) >> 20) % 26);
        }
        vocabulary.push_back(word);
    }
    std::string text;
    while (text.size() < bytes) {
        // 4000^u for uniform u: rank r with probability about 1/r.
        std::size_t range = 1;
        while (range < vocabulary.size() && next_random(state) % 4 != 0) range *= 2;
        text += vocabulary[(next_random(state) >> 20) % std::min(range, vocabulary.size())];
        text += next_random(state) % 12 == 0 ? '\n' : ' ';
    }
    text.resize(bytes);
    return text;
}

}  // namespace quern::io::test
