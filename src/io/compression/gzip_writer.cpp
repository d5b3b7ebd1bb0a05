// SPDX-License-Identifier: Apache-2.0
// As pigz does: the input is cut at multiples of 256 KiB, and each piece is deflated separately, with the preceding 32
// KiB as its dictionary, and ends at a byte boundary, so that the concatenated pieces are one stream. The cuts depend
// only on the input, not on the threads. Uses zlib rather than ISA-L, whose output depends on the machine's instruction
// set.
#include "io/compression/gzip_writer.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <vector>

#include "device/cpu/parallel.hpp"

namespace quern::io {
namespace {

constexpr std::size_t piece_bytes = std::size_t{256} << 10;
constexpr std::size_t window_bytes = std::size_t{32} << 10;

struct piece {
    std::string bytes;
    std::uint32_t checksum = 0, size = 0;
};

/// One raw deflate stream, freed in any case.
class deflater {
  public:
    deflater() {
        constexpr int raw_window = -15, memory_level = 8;
        if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, raw_window, memory_level,
                         Z_DEFAULT_STRATEGY) != Z_OK) {
            throw std::bad_alloc();
        }
    }
    deflater(const deflater&) = delete;  // zlib's state points back to the stream
    deflater& operator=(const deflater&) = delete;
    ~deflater() { deflateEnd(&stream_); }

    std::string compress(std::string_view window, std::string_view input, bool last) {
        if (!window.empty()) {
            deflateSetDictionary(&stream_, as_bytes(window), static_cast<uInt>(window.size()));
        }
        // In addition to the bound for the data, space for the empty block that ends a piece at a byte boundary.
        std::string out(deflateBound(&stream_, static_cast<uLong>(input.size())) + 16, '\0');
        stream_.next_in = const_cast<Bytef*>(as_bytes(input));  // zlib only reads it
        stream_.avail_in = static_cast<uInt>(input.size());
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<uInt>(out.size());
        const int result = deflate(&stream_, last ? Z_FINISH : Z_SYNC_FLUSH);
        if (result != (last ? Z_STREAM_END : Z_OK) || stream_.avail_in != 0 || stream_.avail_out == 0) {
            throw std::logic_error("deflate broke its promise of room");
        }
        out.erase(out.size() - stream_.avail_out);
        return out;
    }
    static const Bytef* as_bytes(std::string_view text) {
        return reinterpret_cast<const Bytef*>(text.data());
    }

  private:
    z_stream stream_{};
};

piece compress_piece(std::string_view window, std::string_view input, bool last) {
    piece made;
    made.bytes = deflater().compress(window, input, last);
    made.size = static_cast<std::uint32_t>(input.size());
    made.checksum = static_cast<std::uint32_t>(crc32(0, deflater::as_bytes(input), made.size));
    return made;
}

void append_little_endian(std::string& out, std::uint32_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xff);
}

}  // namespace

gzip_writer::gzip_writer(std::function<void(std::string_view)> out, const context& ctx)
    : out_(std::move(out)),
      ctx_(ctx),
      max_waiting_(std::min<std::size_t>(
          2 * std::size_t{ctx.thread_count()},
          std::max<std::size_t>(1, static_cast<std::size_t>(ctx.memory_limit() / 4 / piece_bytes)))) {
    max_waiting_ *= piece_bytes;
    // Deflate; no name, no time; unspecified level and system.
    out_(std::string_view("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10));
}

void gzip_writer::append(std::string_view bytes) {
    while (!bytes.empty()) {
        // A piece that may be the last waits: only finish() knows whether another follows.
        if (waiting_.size() - window_ == max_waiting_) write_pieces(false);
        const std::size_t taken = std::min(bytes.size(), max_waiting_ - (waiting_.size() - window_));
        waiting_.append(bytes.substr(0, taken));
        bytes.remove_prefix(taken);
    }
}

void gzip_writer::finish() {
    write_pieces(true);
    std::string end;
    append_little_endian(end, checksum_);
    append_little_endian(end, size_);
    out_(end);
}

void gzip_writer::write_pieces(bool last) {
    ctx_.check_stop();
    const std::string_view all(waiting_);
    const std::size_t size = all.size() - window_;
    const std::size_t count = std::max<std::size_t>(1, (size + piece_bytes - 1) / piece_bytes);
    std::vector<piece> pieces(count);
    cpu_place place(ctx_);
    for_each_piece(place, count, [&](std::size_t p) {
        const std::size_t begin = window_ + p * piece_bytes;
        const std::size_t before = std::min(begin, window_bytes);
        pieces[p] = compress_piece(all.substr(begin - before, before), all.substr(begin, piece_bytes),
                                   last && p + 1 == count);
    });
    for (const piece& made : pieces) {
        out_(made.bytes);
        checksum_ = static_cast<std::uint32_t>(
            crc32_combine(checksum_, made.checksum, static_cast<z_off_t>(made.size)));
        size_ += made.size;
    }
    window_ = std::min(waiting_.size(), window_bytes);
    waiting_.erase(0, waiting_.size() - window_);
}

}  // namespace quern::io
