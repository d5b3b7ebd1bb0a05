// SPDX-License-Identifier: Apache-2.0
// Text made of many short pieces: they are collected in a small buffer that stays in the cache, and appended to a
// string in batches, because a string's append costs more than the few bytes appended.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace quern {

constexpr std::size_t count_digits = 20;  ///< at most
/// Writes the digits of a count, most of which have one, at `to`; returns their end.
inline char* put_count(char* to, std::uint64_t count) {
    if (count >= 10) return std::to_chars(to, to + count_digits, count).ptr;
    *to = static_cast<char>('0' + count);
    return to + 1;
}

class short_texts {
  public:
    explicit short_texts(std::string& out) : out_(out) {}
    short_texts(const short_texts&) = delete;  // one writes to the string

    short_texts& append(std::string_view piece) {
        append_with(piece.size(), [&](char* to) { return std::copy(piece.begin(), piece.end(), to); });
        return *this;
    }
    /// write(to) may write up to `max` bytes at `to`, and returns the end of the valid ones.
    template <class Write>
    void append_with(std::size_t max, const Write& write) {
        if (max > buffer_.size() - used_) {
            flush();
            if (max > buffer_.size()) {
                std::string large(max, '\0');
                out_.append(large.data(), write(large.data()));
                return;
            }
        }
        char* const to = buffer_.data() + used_;
        used_ += static_cast<std::size_t>(write(to) - to);
    }
    /// Call it last: buffered bytes are not in the string yet.
    void flush() {
        out_.append(buffer_.data(), used_);
        used_ = 0;
    }

  private:
    std::string& out_;
    std::size_t used_ = 0;
    std::array<char, std::size_t{1} << 14> buffer_ = {};
};

/// A text, usually short, that is copied to many places: padded, so that a fixed number of bytes can be copied.
class padded_text {
  public:
    /// make_text(text) appends to the empty text.
    template <class MakeText>
    void make(const MakeText& make_text) {
        text_.clear();
        make_text(text_);
        size_ = text_.size();
        text_.append(short_size, '\0');
    }
    /// The maximum number of bytes that put() writes.
    std::size_t capacity() const { return size_ + short_size; }
    char* put(char* to) const {
        std::memcpy(to, text_.data(), short_size);
        if (size_ > short_size) std::memcpy(to + short_size, text_.data() + short_size, size_ - short_size);
        return to + size_;
    }

  private:
    static constexpr std::size_t short_size = 32;
    std::string text_;
    std::size_t size_ = 0;
};

}  // namespace quern
