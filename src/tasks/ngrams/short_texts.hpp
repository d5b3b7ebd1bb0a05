// SPDX-License-Identifier: Apache-2.0
// Text made of many short pieces: they are put together in a small buffer that stays in the cache, and go to a string many at a
// time, because a string's append costs more than the few bytes that it is given.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace quern {

class short_texts {
  public:
    explicit short_texts(std::string& out) : out_(out) {}
    short_texts(const short_texts&) = delete;  // one writes to the string

    short_texts& append(std::string_view piece) {
        append_with(piece.size(), [&](char* to) { return std::copy(piece.begin(), piece.end(), to); });
        return *this;
    }
    /// write(to) may write to `most` bytes from `to` on, and returns the end of what counts.
    template <class Write>
    void append_with(std::size_t most, const Write& write) {
        if (most > buffer_.size() - used_) {
            flush();
            if (most > buffer_.size()) {
                std::string large(most, '\0');
                out_.append(large.data(), write(large.data()));
                return;
            }
        }
        char* const to = buffer_.data() + used_;
        used_ += static_cast<std::size_t>(write(to) - to);
    }
    /// Call it last: what is in the buffer is not in the string.
    void flush() {
        out_.append(buffer_.data(), used_);
        used_ = 0;
    }

  private:
    std::string& out_;
    std::size_t used_ = 0;
    std::array<char, std::size_t{1} << 14> buffer_ = {};
};

/// A text that is put to many places, mostly a short one: with bytes behind it, so that a fixed number of them can be copied.
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
    /// How many bytes put() may write.
    std::size_t room() const { return size_ + short_size; }
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
