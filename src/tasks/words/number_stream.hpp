// SPDX-License-Identifier: Apache-2.0
// Values written once and read once, in order: in memory up to a budget, in a scratch file beyond.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/release.hpp"
#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"

namespace quern {

/// One thread at a time.
template <class Value>
    requires std::is_trivially_copyable_v<Value>
class number_stream {
  public:
    number_stream(scratch_folder& scratch, std::string name, std::uint64_t memory_bytes)
        : scratch_(scratch), name_(std::move(name)), budget_(memory_bytes) {}

    /// Throws io_error where the scratch folder has no room.
    void append(std::vector<Value> values) {
        size_ += values.size();
        const std::uint64_t bytes = values.size() * sizeof(Value);
        if (values.capacity() - values.size() > values.size() / 8) values.shrink_to_fit();  // a copy
        const std::uint64_t held = values.capacity() * sizeof(Value);
        if (spill_ == nullptr && held_ + held <= budget_) {
            held_ += held;
            pieces_.push_back(std::move(values));
            return;
        }
        if (spill_ == nullptr) spill_ = std::make_unique<spill_file>(scratch_.file(name_));
        scratch_.take(bytes);
        spilled_ += bytes;
        spill_->append({reinterpret_cast<const char*>(values.data()), bytes});
    }

    /// Calls take(span) for stretches of all values in order; nothing is appended after.
    template <class Take>
    void for_each(const Take& take) {
        for (std::vector<Value>& piece : pieces_) take(std::span<Value>(piece));
        for_each_spilled(take);
    }

    /// The same, once. What was handed over is gone.
    template <class Take>
    void drain(const Take& take) {
        for (std::vector<Value>& piece : pieces_) {
            take(std::span<Value>(piece));
            held_ -= piece.capacity() * sizeof(Value);
            release(piece);
        }
        pieces_.clear();
        for_each_spilled(take);
        if (spill_ == nullptr) return;
        spill_.reset();
        scratch_.give_back(spilled_);
    }

    std::uint64_t size() const { return size_; }  ///< values, in all
    std::uint64_t memory_bytes() const { return held_; }
    std::uint64_t spilled_bytes() const { return spilled_; }

  private:
    template <class Take>
    void for_each_spilled(const Take& take) {
        if (spill_ == nullptr) return;
        spill_->flush();
        constexpr std::uint64_t most = (std::uint64_t{4} << 20) / sizeof(Value) * sizeof(Value);
        std::vector<Value> piece;
        for (std::uint64_t at = 0; at < spilled_; at += most) {
            const std::uint64_t bytes = std::min(most, spilled_ - at);
            piece.resize(bytes / sizeof(Value));
            spill_->read_at(at, {reinterpret_cast<char*>(piece.data()), bytes});
            take(std::span<Value>(piece));
        }
    }

    scratch_folder& scratch_;
    std::string name_;
    std::uint64_t budget_, held_ = 0, spilled_ = 0, size_ = 0;
    std::vector<std::vector<Value>> pieces_;
    std::unique_ptr<spill_file> spill_;
};

}  // namespace quern
