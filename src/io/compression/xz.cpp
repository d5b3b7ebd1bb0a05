// SPDX-License-Identifier: Apache-2.0
// xz by liblzma: concatenated streams, with padding. Several threads decode the blocks if the file has several, with
// their sizes in the headers.
#include <lzma.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "io/compression/decoder.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// The memory that the first block needs for decoding, for a file that begins with `head`; 0 if unknown. The
/// multi-threaded decoder does not report it: it counts nothing for a block that it refuses.
std::uint64_t first_block_memory(std::string_view head) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(head.data());
    lzma_stream_flags flags;
    if (head.size() <= LZMA_STREAM_HEADER_SIZE || lzma_stream_header_decode(&flags, bytes) != LZMA_OK)
        return 0;
    bytes += LZMA_STREAM_HEADER_SIZE;
    lzma_filter filters[LZMA_FILTERS_MAX + 1];
    lzma_block block{};
    block.version = 1;
    block.check = flags.check;
    block.filters = filters;
    block.header_size = lzma_block_header_size_decode(*bytes);
    if (*bytes == 0 || LZMA_STREAM_HEADER_SIZE + block.header_size > head.size()) return 0;
    if (lzma_block_header_decode(&block, nullptr, bytes) != LZMA_OK) return 0;
    const std::uint64_t needed = lzma_raw_decoder_memusage(filters);
    lzma_filters_free(filters, nullptr);
    return needed == UINT64_MAX ? 0 : needed;
}

class xz_decoder final : public decoder {
  public:
    explicit xz_decoder(raw_input& input) : window_(input) {
        first_block_memory_ =
            first_block_memory(input.peek(LZMA_STREAM_HEADER_SIZE + LZMA_BLOCK_HEADER_SIZE_MAX));
        lzma_mt options{};
        options.flags = LZMA_CONCATENATED;
        options.threads = std::min(input.ctx().thread_count(), 64U);
        options.memlimit_threading = input.ctx().memory_limit() / 8;
        options.memlimit_stop = input.ctx().memory_limit() / 4;
        if (lzma_stream_decoder_mt(&stream_, &options) != LZMA_OK) {
            throw out_of_memory("xz decompression", std::uint64_t{1} << 20, 0);
        }
    }
    ~xz_decoder() override { lzma_end(&stream_); }
    xz_decoder(const xz_decoder&) = delete;  // lzma_stream has one owner
    xz_decoder& operator=(const xz_decoder&) = delete;

    std::size_t decode(std::span<char> out) override {
        if (ended_) return 0;
        stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
        stream_.avail_out = out.size();
        while (stream_.avail_out == out.size()) {
            if (failure_ != LZMA_OK) fail();
            const auto bytes = window_.fill();
            stream_.next_in = bytes.data();
            stream_.avail_in = bytes.size();
            const lzma_ret result = lzma_code(&stream_, bytes.empty() ? LZMA_FINISH : LZMA_RUN);
            window_.take(bytes.size() - stream_.avail_in);
            ended_ = result == LZMA_STREAM_END;
            if (ended_) break;
            failure_ = result;
        }
        return out.size() - stream_.avail_out;
    }

  private:
    [[noreturn]] void fail() {
        const auto offset = window_.offset();
        switch (failure_) {
            case LZMA_BUF_ERROR:
                throw_cut_off(window_.input(), "xz", offset);
            case LZMA_MEM_ERROR:
                throw out_of_memory("xz decompression", lzma_memusage(&stream_), 0);
            case LZMA_MEMLIMIT_ERROR: {
                // A later block may need more than the first: then it needs more than is available.
                const std::uint64_t limit = lzma_memlimit_get(&stream_);
                throw out_of_memory("the xz dictionary of " + window_.input().name(),
                                    std::max(first_block_memory_, limit + 1), limit);
            }
            case LZMA_OPTIONS_ERROR:
                throw_damaged(window_.input(), "xz", offset, "options unknown to this version");
            case LZMA_FORMAT_ERROR:
                throw_trailing(window_.input(), "xz", offset);
            default:
                throw_damaged(window_.input(), "xz", offset,
                              "checksum mismatch, invalid code, or not xz data");
        }
    }

    input_window window_;
    lzma_stream stream_ = LZMA_STREAM_INIT;
    std::uint64_t first_block_memory_ = 0;
    lzma_ret failure_ = LZMA_OK;
    bool ended_ = false;
};

}  // namespace

std::unique_ptr<decoder> make_xz_decoder(raw_input& input) {
    return std::make_unique<xz_decoder>(input);
}

}  // namespace quern::io
