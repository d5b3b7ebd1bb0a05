// SPDX-License-Identifier: Apache-2.0
// Tables of a known size with random access: in memory while the share lasts, mapped from a scratch file beyond.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "device/cpu/huge_pages.hpp"
#include "device/files/room_for_memory.hpp"
#include "device/files/scratch_array.hpp"

namespace quern {

/// The memory that tables may take together.
class table_share {
  public:
    explicit table_share(std::uint64_t bytes) : left_(bytes) {}
    bool has(std::uint64_t bytes) const { return bytes <= left_; }
    bool takes(std::uint64_t bytes) {
        if (!has(bytes)) return false;
        left_ -= bytes;
        taken_ += bytes;
        return true;
    }
    void give_back(std::uint64_t bytes) {
        left_ += bytes;
        taken_ -= bytes;
    }
    std::uint64_t taken() const { return taken_; }
    std::uint64_t left() const { return left_; }

  private:
    std::uint64_t left_, taken_ = 0;
};

/// A part of a share, at most all that is left, that no table takes while this object lives.
class withheld_share {
  public:
    withheld_share(table_share& share, std::uint64_t bytes)
        : share_(share), bytes_(std::min(bytes, share.left())) {
        share_.takes(bytes_);
    }
    withheld_share(const withheld_share&) = delete;  // given back once
    withheld_share& operator=(const withheld_share&) = delete;
    ~withheld_share() { share_.give_back(bytes_); }

  private:
    table_share& share_;
    std::uint64_t bytes_;
};

/// Not initialised.
template <class T>
class scratch_table {
  public:
    scratch_table() = default;
    /// `name`: of the scratch file; must be unique.
    scratch_table(table_share& share, scratch_folder& folder, std::string_view name, std::uint64_t size)
        : size_(size) {
        if (share.takes(size * sizeof(T))) {
            make_room_for(size * sizeof(T));
            memory_ = std::make_unique_for_overwrite<T[]>(size);
            wish_for_huge_pages(memory_.get(), size * sizeof(T));
            data_ = memory_.get();
            share_ = &share;
        } else {
            file_ = std::make_unique<scratch_array<T>>(folder, name, size);
            data_ = file_->span().data();
        }
    }
    /// Mapped from a scratch file that has been written, and counted as spilled.
    scratch_table(const std::filesystem::path& file, std::uint64_t size)
        : size_(size), file_(std::make_unique<scratch_array<T>>(file, size)) {
        data_ = file_->span().data();
    }
    scratch_table(scratch_table&& other) noexcept { swap(other); }
    scratch_table& operator=(scratch_table&& other) noexcept {
        scratch_table(std::move(other)).swap(*this);
        return *this;
    }
    scratch_table(const scratch_table&) = delete;  // its share is taken once
    scratch_table& operator=(const scratch_table&) = delete;
    ~scratch_table() {
        if (share_ != nullptr) share_->give_back(size_ * sizeof(T));
    }

    std::span<T> span() const { return {data_, size_}; }
    /// Copies the elements from `first` on, without mapping pages.
    void read(std::uint64_t first, std::span<T> out) const {
        if (file_)
            file_->read(first, out);
        else
            std::copy_n(data_ + first, out.size(), out.data());
    }
    std::uint64_t size() const { return size_; }
    T& operator[](std::uint64_t i) const { return data_[i]; }
    std::uint64_t spilled_bytes() const { return file_ ? size_ * sizeof(T) : 0; }

  private:
    void swap(scratch_table& other) noexcept {
        std::swap(size_, other.size_);
        std::swap(data_, other.data_);
        std::swap(share_, other.share_);
        memory_.swap(other.memory_);
        file_.swap(other.file_);
    }

    std::uint64_t size_ = 0;
    T* data_ = nullptr;
    table_share* share_ = nullptr;
    std::unique_ptr<T[]> memory_;
    std::unique_ptr<scratch_array<T>> file_;
};

}  // namespace quern
