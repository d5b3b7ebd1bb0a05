// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/encoding.hpp"

#include <simdjson.h>
#include <unicode/ucnv.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/utf8.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// The characters of Windows-1252 at 0x80 to 0x9F; its five gaps keep the control characters of Latin-1.
constexpr std::array<char16_t, 32> windows_1252 = {
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};

std::string from_windows_1252(std::string_view bytes) {
    std::string out;
    const auto beyond_ascii = static_cast<std::size_t>(
        std::ranges::count_if(bytes, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }));
    out.reserve(bytes.size() + 2 * beyond_ascii);
    for (const char byte : bytes) {
        const auto c = static_cast<unsigned char>(byte);
        append_utf8(c >= 0x80 && c < 0xA0 ? windows_1252[c - 0x80] : char32_t{c}, out);
    }
    return out;
}

std::size_t unit_of(byte_order order) {
    return order == byte_order::utf16le || order == byte_order::utf16be ? 2 : 4;
}

std::uint32_t wide_unit(const char* at, byte_order order) {
    const auto byte = [at](int i) { return std::uint32_t{static_cast<unsigned char>(at[i])}; };
    switch (order) {
        case byte_order::utf16le:
            return byte(0) | byte(1) << 8;
        case byte_order::utf16be:
            return byte(1) | byte(0) << 8;
        case byte_order::utf32le:
            return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
        default:
            return byte(3) | byte(2) << 8 | byte(1) << 16 | byte(0) << 24;
    }
}

/// Appends the characters of `bytes`; returns how many bytes were consumed: an incomplete character at the end remains,
/// unless this is the `last` piece.
std::size_t append_wide(std::string_view bytes, byte_order order, bool last, std::string& out,
                        std::size_t& bad_units) {
    const std::size_t step = unit_of(order);
    std::size_t at = 0;
    const auto bad = [&] {
        out += replacement;
        ++bad_units;
    };
    while (bytes.size() - at >= step) {
        const std::uint32_t unit = wide_unit(bytes.data() + at, order);
        if (step == 2 && unit >= 0xD800 && unit < 0xDC00) {
            if (bytes.size() - at < 4 && !last) return at;
            const std::uint32_t second = bytes.size() - at < 4 ? 0 : wide_unit(bytes.data() + at + 2, order);
            if (second >= 0xDC00 && second < 0xE000) {
                append_utf8(0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00), out);
                at += 4;
                continue;
            }
            bad();
        } else if ((unit >= 0xD800 && unit < 0xE000) || unit > 0x10FFFF) {
            bad();
        } else {
            append_utf8(unit, out);
        }
        at += step;
    }
    if (last && at != bytes.size()) {
        bad();
        at = bytes.size();
    }
    return at;
}

class wide_source final : public byte_source {
  public:
    wide_source(std::unique_ptr<byte_source> source, byte_order order)
        : source_(std::move(source)), order_(order) {}

    std::size_t read(std::span<char> out) override {
        std::size_t done = 0;
        while (done < out.size()) {
            if (at_ == ready_.size() && !refill()) break;
            const std::size_t take = std::min(out.size() - done, ready_.size() - at_);
            std::memcpy(out.data() + done, ready_.data() + at_, take);
            done += take;
            at_ += take;
        }
        if (done == 0 && damage_) std::rethrow_exception(damage_);
        return done;
    }
    std::uint64_t consumed() const override { return source_->consumed(); }
    std::uint64_t size() const override { return source_->size(); }
    const std::string& name() const override { return source_->name(); }

  private:
    bool refill() {
        ready_.clear();
        at_ = 0;
        while (ready_.empty() && !ended_) {
            const std::size_t held = raw_.size();
            raw_.resize(held + (64 << 10));
            std::size_t got = 0;
            try {
                got = source_->read(std::span(raw_).subspan(held));
            } catch (const error&) {
                damage_ = std::current_exception();
            }
            raw_.resize(held + got);
            ended_ = got == 0;
            if (!started_ && (raw_.size() >= 4 || ended_)) {
                raw_.erase(0, mark_bytes(order_, raw_));
                started_ = true;
            }
            if (!started_) continue;
            std::size_t bad_units = 0;
            raw_.erase(0, append_wide(raw_, order_, ended_, ready_, bad_units));
        }
        return !ready_.empty();
    }

    std::unique_ptr<byte_source> source_;
    byte_order order_;
    std::string raw_, ready_;
    std::size_t at_ = 0;
    bool started_ = false, ended_ = false;
    std::exception_ptr damage_;
};

}  // namespace

bool is_utf8(std::string_view bytes) {
    return simdjson::validate_utf8(bytes.data(), bytes.size());
}

std::string repair_utf8(std::string& text) {
    if (is_utf8(text)) return {};
    std::size_t good = 0, bad = 0;
    for (std::size_t at = 0; at < text.size();) {
        const char32_t point = next_utf8(text, at);
        if (point == ill_formed) ++bad;
        if (point != ill_formed && point >= 0x80) ++good;
    }
    if (good < bad) {
        text = from_windows_1252(text);
        return "not UTF-8: read as Windows-1252";
    }
    std::string repaired;
    repaired.reserve(text.size() + 2 * bad);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const bool good_one = next_utf8(text, at) != ill_formed;
        repaired += good_one ? std::string_view(text).substr(begin, at - begin) : replacement;
    }
    text = std::move(repaired);
    return std::to_string(bad) + (bad == 1 ? " ill-formed UTF-8 sequence" : " ill-formed UTF-8 sequences") +
           " replaced";
}

byte_order byte_order_of(std::string_view head) {
    using namespace std::string_view_literals;
    if (head.starts_with("\xEF\xBB\xBF"sv)) return byte_order::utf8;
    if (head.starts_with("\xFF\xFE\0\0"sv)) return byte_order::utf32le;
    if (head.starts_with("\0\0\xFE\xFF"sv)) return byte_order::utf32be;
    if (head.starts_with("\xFF\xFE"sv)) return byte_order::utf16le;
    if (head.starts_with("\xFE\xFF"sv)) return byte_order::utf16be;
    if (head.starts_with("<\0"sv) || head.starts_with("{\0"sv)) return byte_order::utf16le;
    if (head.starts_with("\0<"sv) || head.starts_with("\0{"sv)) return byte_order::utf16be;
    return byte_order::none;
}

std::size_t mark_bytes(byte_order order, std::string_view head) {
    switch (order) {
        case byte_order::none:
            return 0;
        case byte_order::utf8:
            return 3;
        case byte_order::utf16le:
            return head.starts_with("\xFF\xFE") ? 2 : 0;
        case byte_order::utf16be:
            return head.starts_with("\xFE\xFF") ? 2 : 0;
        default:
            return 4;
    }
}

std::string from_wide(std::string_view bytes, byte_order order, std::size_t& bad_units) {
    std::string out;
    append_wide(bytes.substr(std::min(bytes.size(), mark_bytes(order, bytes))), order, true, out, bad_units);
    return out;
}

std::string decode_text(std::string_view bytes, std::string& done) {
    const byte_order order = byte_order_of(bytes);
    if (order == byte_order::none || order == byte_order::utf8) {
        std::string text(bytes.substr(mark_bytes(order, bytes)));
        done = repair_utf8(text);
        return text;
    }
    std::size_t bad_units = 0;
    std::string text = from_wide(bytes, order, bad_units);
    if (bad_units != 0) done = std::to_string(bad_units) + " ill-formed UTF-16 or UTF-32 units replaced";
    return text;
}

bool decode_named(std::string_view bytes, const std::string& name, std::string& out) {
    UErrorCode status = U_ZERO_ERROR;
    const std::unique_ptr<UConverter, decltype(&ucnv_close)> from(ucnv_open(name.c_str(), &status),
                                                                  &ucnv_close);
    if (U_FAILURE(status)) return false;
    const std::unique_ptr<UConverter, decltype(&ucnv_close)> to(ucnv_open("UTF-8", &status), &ucnv_close);
    if (U_FAILURE(status)) return false;
    out.clear();
    std::vector<char> piece(64 << 10);
    std::array<UChar, 4096> pivot{};
    UChar *pivot_source = pivot.data(), *pivot_target = pivot.data();
    const char* source = bytes.data();
    bool first = true;
    do {
        status = U_ZERO_ERROR;
        char* target = piece.data();
        ucnv_convertEx(to.get(), from.get(), &target, piece.data() + piece.size(), &source,
                       bytes.data() + bytes.size(), pivot.data(), &pivot_source, &pivot_target,
                       pivot.data() + pivot.size(), first, true, &status);
        out.append(piece.data(), target);
        first = false;
    } while (status == U_BUFFER_OVERFLOW_ERROR);
    return U_SUCCESS(status);
}

std::unique_ptr<byte_source> as_utf8(std::unique_ptr<byte_source> source, byte_order order) {
    return std::make_unique<wide_source>(std::move(source), order);
}

}  // namespace quern::io
