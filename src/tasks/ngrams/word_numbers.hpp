// SPDX-License-Identifier: Apache-2.0
// The words of a corpus, numbered as they arrive, and renumbered once all are known: in memory up to a budget, beyond it in a scratch
// file, where they are replaced.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/release.hpp"
#include "device/cpu/parallel.hpp"
#include "device/files/file_at.hpp"
#include "device/files/scratch_folder.hpp"
#include "device/paced_checks.hpp"
#include "tasks/ngrams/scratch_table.hpp"

namespace quern {

/// One thread at a time.
class word_numbers {
  public:
    /// `name`: of the scratch file; must be unique.
    word_numbers(scratch_folder& scratch, std::string name, std::uint64_t memory_bytes)
        : scratch_(scratch), path_(scratch.file(name)), name_(std::move(name)), budget_(memory_bytes) {}

    /// Throws io_error if the scratch folder is full.
    void append(std::vector<std::uint32_t> numbers) {
        const std::uint64_t begin = std::exchange(size_, size_ + numbers.size());
        if (numbers.capacity() - numbers.size() > numbers.size() / 8) numbers.shrink_to_fit();  // a copy
        const std::uint64_t held = numbers.capacity() * sizeof(std::uint32_t);
        if (!file_.is_open() && held_ + held <= budget_) {
            held_ += held;
            in_memory_ = size_;
            pieces_.push_back(std::move(numbers));
            return;
        }
        if (!file_.is_open()) file_ = open_file(path_, O_RDWR | O_CREAT | O_EXCL, 0600);
        scratch_.take(numbers.size() * sizeof(std::uint32_t));
        spilled_ += numbers.size() * sizeof(std::uint32_t);
        write(begin, numbers);
    }

    std::uint64_t memory_bytes() const { return held_; }
    std::uint64_t spilled_bytes() const { return spilled_; }

    /// All numbers in order, once: renumber(in place) is called for parts of them, by all threads. Nothing may be appended
    /// afterwards. The table is in memory if the share has room.
    template <class Renumber>
    scratch_table<std::uint32_t> take(cpu_place& place, table_share& share, const Renumber& renumber) {
        const bool is_table = file_.is_open() && !share.has(size_ * sizeof(std::uint32_t));
        scratch_table<std::uint32_t> made;
        if (is_table) {  // the first numbers go where the file has a hole
            scratch_.take(in_memory_ * sizeof(std::uint32_t));
            spilled_ += in_memory_ * sizeof(std::uint32_t);
        } else {
            made = {share, scratch_, name_, size_};
        }
        // read(from, to) gives the numbers from `from` on.
        const auto renumber_all = [&](std::uint64_t first, std::uint64_t count, const auto& read) {
            const std::size_t pieces = pieces_for(place, count, 1 << 14);
            for_each_piece(place, pieces, [&](std::size_t p) {
                const auto [begin, end] = piece_of(count, pieces, p);
                std::vector<std::uint32_t> part;
                in_checked_parts(place.ctx(), first + begin, first + end, neighbouring_values,
                                 [&](std::uint64_t from, std::uint64_t to) {
                                     if (is_table) part.resize(to - from);
                                     const std::span<std::uint32_t> numbers =
                                         is_table ? std::span(part) : made.span().subspan(from, to - from);
                                     read(from, numbers);
                                     renumber(numbers);
                                     if (is_table) write(from, numbers);
                                 });
            });
        };
        std::uint64_t first = 0;
        for (std::vector<std::uint32_t>& piece : pieces_) {
            renumber_all(first, piece.size(), [&](std::uint64_t from, std::span<std::uint32_t> to) {
                std::copy_n(piece.data() + (from - first), to.size(), to.data());
            });
            first += piece.size();
            release(piece);
        }
        pieces_.clear();
        renumber_all(first, size_ - first, [&](std::uint64_t from, std::span<std::uint32_t> to) {
            read_at(file_, from * sizeof(std::uint32_t),
                    {reinterpret_cast<char*>(to.data()), to.size_bytes()}, path_);
        });
        if (is_table) return {path_, size_};
        if (file_.is_open()) {
            std::filesystem::remove(path_);
            scratch_.give_back(spilled_);
        }
        return made;
    }

  private:
    void write(std::uint64_t begin, std::span<const std::uint32_t> numbers) const {
        write_at(file_, begin * sizeof(std::uint32_t),
                 {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()}, path_);
    }

    scratch_folder& scratch_;
    std::filesystem::path path_;
    std::string name_;
    std::uint64_t budget_, held_ = 0, spilled_ = 0, size_ = 0;
    std::uint64_t in_memory_ = 0;  ///< numbers in the pieces, which are the first
    std::vector<std::vector<std::uint32_t>> pieces_;
    descriptor file_;  ///< open once the budget is exceeded; each number has its place there
};

}  // namespace quern
