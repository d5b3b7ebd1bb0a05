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

    /// Throws io_error if the scratch folder is full.
    void append(std::vector<Value> values) {
        size_ += values.size();
        if (values.capacity() - values.size() > values.size() / 8) values.shrink_to_fit();  // a copy
        const std::uint64_t held = values.capacity() * sizeof(Value);
        if (spill_ == nullptr && held_ + held <= budget_) {
            held_ += held;
            pieces_.push_back(std::move(values));
            return;
        }
        if (spill_ == nullptr) spill_ = std::make_unique<spill_file>(scratch_.file(name_));
        spill(values);
    }
    /// The same, and empties `values`, whose memory stays with the caller if they go to the scratch file. For values that several
    /// threads append in turn: each would take fresh memory from its own heap.
    void append_from(std::vector<Value>& values) {
        if (spill_ == nullptr) {
            append(std::exchange(values, {}));
            return;
        }
        size_ += values.size();
        spill(values);
        values.clear();
    }

    /// Calls sink(span) for batches of all values in order; nothing may be appended afterwards.
    template <class Sink>
    void for_each(const Sink& sink) {
        for (std::vector<Value>& piece : pieces_) sink(std::span<Value>(piece));
        for_each_spilled(sink);
    }

    /// The same, once. Batches are released afterwards.
    template <class Sink>
    void drain(const Sink& sink) {
        for (std::vector<Value>& piece : pieces_) {
            sink(std::span<Value>(piece));
            held_ -= piece.capacity() * sizeof(Value);
            release(piece);
        }
        pieces_.clear();
        for_each_spilled(sink);
        if (spill_ == nullptr) return;
        spill_.reset();
        scratch_.give_back(spilled_);
    }

    /// Hands out all values in order, some at a time; nothing may be appended afterwards.
    class reader {
      public:
        explicit reader(number_stream& of) : of_(of) {
            if (of.spill_ != nullptr) of.spill_->flush();
        }
        /// The next ones, at most `max`; none at the end. `read` has those of the scratch file.
        std::span<const Value> next(std::size_t max, std::vector<Value>& read) {
            while (piece_ < of_.pieces_.size() && at_ == of_.pieces_[piece_].size()) {
                ++piece_;
                at_ = 0;
            }
            if (piece_ < of_.pieces_.size()) {
                const auto some = std::span<const Value>(of_.pieces_[piece_]).subspan(at_);
                const std::size_t count = std::min(max, some.size());
                at_ += count;
                return some.first(count);
            }
            const std::uint64_t bytes = std::min<std::uint64_t>(max * sizeof(Value), of_.spilled_ - in_file_);
            read.resize(bytes / sizeof(Value));
            if (bytes != 0) of_.spill_->read_at(in_file_, {reinterpret_cast<char*>(read.data()), bytes});
            in_file_ += bytes;
            return read;
        }

      private:
        number_stream& of_;
        std::size_t piece_ = 0, at_ = 0;
        std::uint64_t in_file_ = 0;
    };

    std::uint64_t size() const { return size_; }  ///< total number of values
    std::uint64_t memory_bytes() const { return held_; }
    std::uint64_t spilled_bytes() const { return spilled_; }

  private:
    void spill(std::span<const Value> values) {
        scratch_.take(values.size_bytes());
        spilled_ += values.size_bytes();
        spill_->append({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
    }

    template <class Sink>
    void for_each_spilled(const Sink& sink) {
        if (spill_ == nullptr) return;
        spill_->flush();
        constexpr std::uint64_t max = (std::uint64_t{4} << 20) / sizeof(Value) * sizeof(Value);
        std::vector<Value> piece;
        for (std::uint64_t at = 0; at < spilled_; at += max) {
            const std::uint64_t bytes = std::min(max, spilled_ - at);
            piece.resize(bytes / sizeof(Value));
            spill_->read_at(at, {reinterpret_cast<char*>(piece.data()), bytes});
            sink(std::span<Value>(piece));
        }
    }

    scratch_folder& scratch_;
    std::string name_;
    std::uint64_t budget_, held_ = 0, spilled_ = 0, size_ = 0;
    std::vector<std::vector<Value>> pieces_;
    std::unique_ptr<spill_file> spill_;
};

}  // namespace quern
