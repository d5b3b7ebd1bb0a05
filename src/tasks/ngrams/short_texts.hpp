// SPDX-License-Identifier: Apache-2.0
// Text made of many short pieces: they are put together in a small buffer that stays in the cache, and go to a string many at a
// time, because a string's append costs more than the few bytes that it is given.
#pragma once

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

    void append(std::string_view piece) {
        if (piece.size() > buffer_.size() - used_) {
            flush();
            if (piece.size() > buffer_.size()) {
                out_.append(piece);
                return;
            }
        }
        if (!piece.empty()) std::memcpy(buffer_.data() + used_, piece.data(), piece.size());
        used_ += piece.size();
    }
    void append(char letter) { append(std::string_view(&letter, 1)); }
    /// write(to) puts at most `most` bytes at `to`, no more than a kilobyte, and returns their end.
    template <class Write>
    void append_with(std::size_t most, const Write& write) {
        if (most > buffer_.size() - used_) flush();
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
    std::array<char, std::size_t{1} << 14> buffer_;
};

}  // namespace quern
