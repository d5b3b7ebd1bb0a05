// SPDX-License-Identifier: Apache-2.0
// zstd by libzstd: frames are concatenated, skippable ones are skipped. A failing call returns no bytes at all. So
// input is fed in pieces that end with a block, without the header of the next, and only after all plain bytes of
// earlier blocks were taken out: a damaged file yields every block before the bad one, whatever the reader's buffer.
//
// A first skippable frame of type 13 with a dictionary, itself compressed or not, is that of all other frames, as WARC
// files have it (https://iipc.github.io/warc-specifications/specifications/warc-zstd/).
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>

#include "io/compression/decoder.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

struct free_context {
    void operator()(ZSTD_DCtx* c) const { ZSTD_freeDCtx(c); }
};

class zstd_decoder final : public decoder {
  public:
    explicit zstd_decoder(raw_input& input) : window_(input), context_(ZSTD_createDCtx()) {
        if (!context_) throw out_of_memory("zstd decompression", 1U << 18, 0);
        // Reads windows beyond the library's 128 MiB (zstd --long=31) if the budget holds them.
        const int largest = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;
        const int fitting = static_cast<int>(std::bit_width(input.ctx().memory_limit() / 4)) - 1;
        window_log_ = std::clamp(fitting, 20, largest);
        ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, window_log_);
    }

    std::size_t decode(std::span<char> out) override {
        if (!std::exchange(started_, true)) take_dictionary();
        ZSTD_outBuffer plain{out.data(), out.size(), 0};
        while (plain.pos == 0) {
            if (holds_more_) {
                ZSTD_inBuffer nothing{nullptr, 0, 0};
                const std::size_t result = ZSTD_decompressStream(context_.get(), &plain, &nothing);
                if (ZSTD_isError(result)) fail(result, false, window_.offset(), 0);
                wanted_ = result;
                frames_ += result == 0;
                holds_more_ = result != 0 && plain.pos == plain.size;
                continue;
            }
            const auto bytes = window_.fill();
            // Without input the library may still hold plain bytes: call it once more before the end is accepted. With
            // a block, the library requests the header that follows it.
            const std::size_t to_feed = wanted_ > block_header_bytes ? wanted_ - block_header_bytes
                                                                     : std::max<std::size_t>(wanted_, 1);
            ZSTD_inBuffer packed{bytes.data(), std::min(bytes.size(), to_feed), 0};
            if (bytes.empty() && wanted_ == 0) return 0;
            const bool between = wanted_ == 0;
            const std::uint64_t offset = window_.offset();
            if (between) header_.clear();
            header_.append(reinterpret_cast<const char*>(packed.src),
                           std::min(packed.size, header_bytes - header_.size()));
            const std::size_t result = ZSTD_decompressStream(context_.get(), &plain, &packed);
            if (ZSTD_isError(result)) fail(result, between || in_magic_, offset, packed.size);
            window_.take(packed.pos);
            in_magic_ = (between || in_magic_) && packed.pos + magic_taken_ < 4 && result != 0;
            magic_taken_ = in_magic_ ? magic_taken_ + packed.pos : 0;
            wanted_ = result;
            frames_ += result == 0;
            holds_more_ = result != 0 && plain.pos == plain.size;
            if (bytes.empty() && plain.pos == 0) throw_cut_off(window_.input(), "zstd", offset);
        }
        return plain.pos;
    }

  private:
    /// Uses the dictionary of a first frame that has one; any other first frame stays as it is.
    void take_dictionary() {
        constexpr std::size_t skippable_bytes = 8, magic_bytes = 4;
        constexpr std::string_view of_dictionary = "\x5d\x2a\x4d\x18", of_frame = "\x28\xb5\x2f\xfd",
                                   magic = "\x37\xa4\x30\xec";
        raw_input& input = window_.input();
        const std::string_view head = input.peek(skippable_bytes + magic_bytes);
        if (head.size() < skippable_bytes + magic_bytes || !head.starts_with(of_dictionary)) return;
        const std::string_view inner = head.substr(skippable_bytes);
        if (!inner.starts_with(of_frame) && !inner.starts_with(magic)) return;
        std::uint64_t length = 0;
        for (std::size_t i = 0; i < 4; ++i)
            length |= std::uint64_t{static_cast<unsigned char>(head[4 + i])} << (8 * i);
        const std::uint64_t fitting = input.ctx().memory_limit() / 8;
        if (length > fitting) throw out_of_memory("the zstd dictionary of " + input.name(), length, fitting);
        const std::string frame(input.peek(skippable_bytes + length));
        if (frame.size() < skippable_bytes + length) return;  // the decoder finds that it is cut
        std::string dictionary = frame.substr(skippable_bytes);
        if (dictionary.starts_with(of_frame)) dictionary = decompressed(dictionary, fitting);
        if (!dictionary.starts_with(magic)) return;
        const std::size_t result =
            ZSTD_DCtx_loadDictionary(context_.get(), dictionary.data(), dictionary.size());
        if (ZSTD_isError(result))
            throw_damaged(input, "zstd", 0, "the dictionary: " + std::string(ZSTD_getErrorName(result)));
    }

    /// A dictionary that is compressed itself.
    std::string decompressed(const std::string& frame, std::uint64_t fitting) {
        raw_input& input = window_.input();
        const std::unique_ptr<ZSTD_DCtx, free_context> context(ZSTD_createDCtx());
        if (!context) throw out_of_memory("zstd decompression", 1U << 18, 0);
        ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, window_log_);
        std::string out;
        ZSTD_inBuffer packed{frame.data(), frame.size(), 0};
        for (std::size_t left = 1; left != 0;) {
            const std::size_t before = out.size();
            out.resize(before + ZSTD_DStreamOutSize());
            ZSTD_outBuffer plain{out.data(), out.size(), before};
            left = ZSTD_decompressStream(context.get(), &plain, &packed);
            if (ZSTD_isError(left))
                throw_damaged(input, "zstd", 0, "the dictionary: " + std::string(ZSTD_getErrorName(left)));
            out.resize(plain.pos);
            if (out.size() > fitting)
                throw out_of_memory("the zstd dictionary of " + input.name(), out.size(), fitting);
            if (left != 0 && packed.pos == packed.size && plain.pos == before)
                throw_damaged(input, "zstd", 0, "the dictionary is cut");
        }
        return out;
    }

    /// The memory that a reader of the frame needs, by the format's specification (RFC 8878, 3.1.1.1).
    std::uint64_t window_bytes() const {
        const auto byte = [this](std::size_t i) {
            return i < header_.size() ? static_cast<unsigned char>(header_[i]) : std::uint64_t{0};
        };
        const std::uint64_t descriptor = byte(4);
        const bool single_segment = (descriptor >> 5 & 1) != 0;
        if (!single_segment) {
            const std::uint64_t base = std::uint64_t{1} << (10 + (byte(5) >> 3));
            return base + base / 8 * (byte(5) & 7);
        }
        // Without a window the whole content is one; its length follows the dictionary's number.
        constexpr std::size_t number_bytes[] = {0, 1, 2, 4}, length_bytes[] = {1, 2, 4, 8};
        const std::size_t begin = 5 + number_bytes[descriptor & 3], count = length_bytes[descriptor >> 6];
        std::uint64_t length = count == 2 ? 256 : 0;
        for (std::size_t i = 0; i < count; ++i) length += byte(begin + i) << (8 * i);
        return length;
    }

    [[noreturn]] void fail(std::size_t result, bool at_frame_start, std::uint64_t offset,
                           std::size_t packed_bytes) {
        if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge) {
            throw out_of_memory("the zstd window of " + window_.input().name(), window_bytes(),
                                std::uint64_t{1} << window_log_);
        }
        if (at_frame_start && frames_ != 0) throw_trailing(window_.input(), "zstd", offset - magic_taken_);
        // The library requests only the checksum, so that any further bytes, already read or still to come, follow the
        // frame.
        auto after = after_damage::unread;
        if (ZSTD_getErrorCode(result) == ZSTD_error_checksum_wrong) {
            window_.take(packed_bytes);
            if (window_.fill().empty()) after = after_damage::nothing;
        }
        throw_damaged(window_.input(), "zstd", offset, ZSTD_getErrorName(result), after);
    }

    input_window window_;
    std::unique_ptr<ZSTD_DCtx, free_context> context_;
    std::size_t wanted_ = 0;  ///< bytes that the library requests next; 0 between frames
    bool started_ = false;
    bool holds_more_ = false;      ///< the library may hold plain bytes of the last block
    bool in_magic_ = false;        ///< inside the first four bytes of a frame
    std::size_t magic_taken_ = 0;  ///< how many of them were taken
    std::uint64_t frames_ = 0;
    static constexpr std::size_t block_header_bytes = 3;
    static constexpr std::size_t header_bytes = 18;  ///< the longest frame header
    std::string header_;                             ///< the first bytes of the frame
    int window_log_ = 0;
};

}  // namespace

std::unique_ptr<decoder> make_zstd_decoder(raw_input& input) {
    return std::make_unique<zstd_decoder>(input);
}

}  // namespace quern::io
