// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/http_response.hpp"

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <vector>

#include "base/ascii.hpp"

namespace quern::io {
namespace {

/// Bytes that are decoded piece by piece, up to a limit.
class limited_output {
  public:
    limited_output(std::string& out, std::uint64_t limit) : out_(out), limit_(limit) {}
    std::array<char, 64 << 10>& piece() { return piece_; }
    /// Adds the first `count` bytes of the piece; false if that exceeds the limit.
    bool add(std::size_t count) {
        if (count > limit_ - out_.size()) return false;
        out_.append(piece_.data(), count);
        return true;
    }

  private:
    std::string& out_;
    std::uint64_t limit_;
    std::array<char, 64 << 10> piece_{};
};

enum class result { whole, damaged, too_large };

/// `window_bits` as in zlib: 15 with a zlib header, 31 gzip, -15 none.
result inflate_all(std::string_view in, int window_bits, limited_output& out) {
    z_stream stream{};
    if (inflateInit2(&stream, window_bits) != Z_OK) throw std::bad_alloc();
    const std::unique_ptr<z_stream, decltype(&inflateEnd)> closing(&stream, &inflateEnd);
    constexpr std::size_t largest_step = 1U << 30;
    while (true) {
        if (stream.avail_in == 0) {
            const std::size_t step = std::min(in.size(), largest_step);
            stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));  // zlib only reads it
            stream.avail_in = static_cast<uInt>(step);
            in.remove_prefix(step);
        }
        stream.next_out = reinterpret_cast<Bytef*>(out.piece().data());
        stream.avail_out = static_cast<uInt>(out.piece().size());
        const int code = inflate(&stream, Z_NO_FLUSH);
        const std::size_t made = out.piece().size() - stream.avail_out;
        if (!out.add(made)) return result::too_large;
        const bool more_in = stream.avail_in != 0 || !in.empty();
        if (code == Z_STREAM_END) {
            // Another member of gzip; anything else after the data is padding.
            const bool member = window_bits == 31 && stream.avail_in > 1 && stream.next_in[0] == 0x1f &&
                                stream.next_in[1] == 0x8b;
            if (!member) return result::whole;
            if (inflateReset(&stream) != Z_OK) return result::damaged;
        } else if (code != Z_OK || (made == 0 && !more_in)) {
            return result::damaged;
        }
    }
}

result unbrotli(std::string_view in, limited_output& out) {
    const std::unique_ptr<BrotliDecoderState, decltype(&BrotliDecoderDestroyInstance)> state(
        BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), &BrotliDecoderDestroyInstance);
    if (!state) throw std::bad_alloc();
    const auto* next = reinterpret_cast<const std::uint8_t*>(in.data());
    std::size_t left = in.size();
    while (true) {
        auto* to = reinterpret_cast<std::uint8_t*>(out.piece().data());
        std::size_t room = out.piece().size();
        const BrotliDecoderResult code =
            BrotliDecoderDecompressStream(state.get(), &left, &next, &room, &to, nullptr);
        if (!out.add(out.piece().size() - room)) return result::too_large;
        if (code == BROTLI_DECODER_RESULT_SUCCESS) return result::whole;
        if (code != BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) return result::damaged;
    }
}

result unzstd(std::string_view in, limited_output& out) {
    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
    if (!context) throw std::bad_alloc();
    constexpr int largest_window = 23;  // RFC 9659
    ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, largest_window);
    ZSTD_inBuffer packed{in.data(), in.size(), 0};
    while (true) {
        ZSTD_outBuffer plain{out.piece().data(), out.piece().size(), 0};
        const std::size_t code = ZSTD_decompressStream(context.get(), &plain, &packed);
        if (ZSTD_isError(code)) return result::damaged;
        if (!out.add(plain.pos)) return result::too_large;
        const bool at_end = packed.pos == packed.size;
        if (code == 0 && at_end) return result::whole;
        if (at_end && plain.pos == 0) return result::damaged;
    }
}

bool begins_as(std::string_view coding, std::string_view bytes) {
    if (coding == "gzip") return bytes.starts_with("\x1f\x8b");
    if (coding == "zstd") return bytes.starts_with("\x28\xb5\x2f\xfd");
    return true;
}

/// With a zlib header, as the standard requires, or without, as some servers send it.
bool has_zlib_header(std::string_view bytes) {
    if (bytes.size() < 2) return false;
    const auto first = static_cast<unsigned char>(bytes[0]), second = static_cast<unsigned char>(bytes[1]);
    return (first & 0x0f) == 8 && (first * 256U + second) % 31 == 0;
}

/// Text in place of compressed data: markup or a plain word.
bool begins_as_text(std::string_view bytes) {
    const std::string_view head = bytes.substr(0, 64);
    return std::ranges::all_of(head, [](char c) { return is_space(c) || (c >= ' ' && c < 0x7f); });
}

result decode_coding(std::string_view coding, std::string_view in, limited_output& out) {
    if (coding == "gzip") return inflate_all(in, 31, out);
    if (coding == "deflate") return inflate_all(in, has_zlib_header(in) ? 15 : -15, out);
    if (coding == "br") return unbrotli(in, out);
    return unzstd(in, out);
}

/// The size of the chunk whose line begins at `at`, which moves after the line; nothing if it is no such line.
std::optional<std::uint64_t> chunk_size(std::string_view raw, std::size_t& at) {
    constexpr std::size_t longest_line = 4096;
    const std::string_view rest = raw.substr(at, longest_line);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = trimmed(rest.substr(0, std::min(rest.find(';'), end)));
    constexpr std::size_t max_digits = 15;
    if (line.empty() || line.size() > max_digits) return std::nullopt;
    std::uint64_t size = 0;
    for (const char c : line) {
        const char small = static_cast<char>(c | 32);
        const bool digit = c >= '0' && c <= '9', letter = small >= 'a' && small <= 'f';
        if (!digit && !letter) return std::nullopt;
        size = size * 16 + static_cast<std::uint64_t>(digit ? c - '0' : small - 'a' + 10);
    }
    at += end + 1;
    return size;
}

/// Joins the chunks; false if the body is not in chunks.
bool join_chunks(std::string_view raw, std::string& out, std::string& problem) {
    std::size_t at = 0;
    for (bool first = true;; first = false) {
        const auto size = chunk_size(raw, at);
        if (!size && first) return false;
        if (!size) {
            problem = "the chunks of the response are damaged";
            return true;
        }
        if (*size == 0) return true;
        const std::size_t held = std::min<std::uint64_t>(*size, raw.size() - at);
        out.append(raw.substr(at, held));
        at += held;
        if (held < *size) {
            problem = "a chunk of the response is longer than the record";
            return true;
        }
        if (raw.substr(at).starts_with("\r\n")) {
            at += 2;
        } else if (raw.substr(at).starts_with('\n')) {
            ++at;
        }
    }
}

std::vector<std::string> codings_of(const header_fields& fields, std::string_view name) {
    std::vector<std::string> out;
    std::string_view rest;
    const std::string value = lower(fields.value(name));
    for (rest = value; !rest.empty();) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        std::string each(trimmed(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (each.starts_with("x-")) each.erase(0, 2);
        if (!each.empty() && each != "identity" && each != "none") out.push_back(std::move(each));
    }
    return out;
}

}  // namespace

std::optional<http_head> read_http_head(std::string_view bytes) {
    if (!bytes.starts_with("HTTP/")) return std::nullopt;
    std::size_t end = header_block_end(bytes);
    if (end == 0) end = bytes.size();
    const std::string_view head = bytes.substr(0, end);
    const std::size_t line = std::min(head.find('\n'), head.size());
    unsigned status = 0;
    const std::string_view first = head.substr(0, line);
    std::size_t at = first.find(' ');
    at = at == std::string_view::npos ? first.size()
                                      : std::min(first.find_first_not_of(' ', at), first.size());
    for (const std::size_t stop = std::min(at + 3, first.size()); at < stop; ++at) {
        if (first[at] < '0' || first[at] > '9') break;
        status = status * 10 + static_cast<unsigned>(first[at] - '0');
    }
    return http_head{status, header_fields(head.substr(std::min(line + 1, head.size()))), end};
}

void decode_http_body(std::string_view raw, const header_fields& fields, std::uint64_t limit,
                      http_body& out) {
    out.bytes = raw;
    const auto transfer = codings_of(fields, "transfer-encoding");
    if (std::ranges::find(transfer, "chunked") != transfer.end()) {
        std::string joined;
        if (join_chunks(raw, joined, out.problem)) {
            out.held = std::move(joined);
            out.bytes = out.held;
        }
    }
    auto codings = codings_of(fields, "content-encoding");
    constexpr std::size_t max_codings = 4;
    if (codings.size() > max_codings) {
        out.unsupported = "more than four";
        out.bytes = {};
        return;
    }
    for (; !codings.empty() && !out.bytes.empty(); codings.pop_back()) {
        constexpr std::array<std::string_view, 4> known = {"gzip", "deflate", "br", "zstd"};
        const std::string& coding = codings.back();
        if (std::ranges::find(known, coding) == known.end()) {
            if (begins_as_text(out.bytes)) continue;  // "utf-8" and the like
            out.unsupported = "another";
            out.bytes = {};
            return;
        }
        if (!begins_as(coding, out.bytes)) continue;
        std::string decoded;
        limited_output to(decoded, limit);
        const result how = decode_coding(coding, out.bytes, to);
        if (how == result::too_large) {
            out.too_large = true;
            out.bytes = {};
            return;
        }
        if (how == result::damaged && decoded.empty() && begins_as_text(out.bytes)) continue;
        if (how == result::damaged) out.problem = "the " + coding + " data of the response are damaged";
        out.held = std::move(decoded);
        out.bytes = out.held;
    }
}

}  // namespace quern::io
