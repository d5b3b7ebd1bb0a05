// SPDX-License-Identifier: Apache-2.0
#include "io/compression/decoder.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

raw_input::raw_input(const std::filesystem::path& path, const context& ctx)
    : ctx_(ctx), name_(path.string()) {
    struct stat status {};
    if (name_ == "-") {
        number_ = STDIN_FILENO;
    } else {
        try {
            file_ = open_file(path, O_RDONLY);
        } catch (const io_error& failure) {
            if (failure.code() != ENOENT && failure.code() != ENOTDIR) throw;
            throw usage_error(name_ + ": no such file");
        }
        number_ = file_.number();
    }
    if (::fstat(number_, &status) != 0) throw io_error(name_, "cannot open", errno);
    if (S_ISDIR(status.st_mode)) throw usage_error(name_ + " is a folder");
    may_block_ = !S_ISREG(status.st_mode);
    if (S_ISREG(status.st_mode)) {
        size_ = static_cast<std::uint64_t>(status.st_size);
        ::posix_fadvise(number_, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
}

raw_input::raw_input(std::string_view bytes, std::string name, const context& ctx)
    : ctx_(ctx), name_(std::move(name)), memory_(bytes), whole_(bytes), size_(bytes.size()) {}

std::size_t raw_input::read(std::span<char> out) {
    ctx_.check_stop();
    std::size_t got = std::min(out.size(), memory_.size());
    if (got != 0) {
        std::memcpy(out.data(), memory_.data(), got);
        memory_.remove_prefix(got);
    } else if (number_ >= 0) {
        got = read_file(out);
    }
    consumed_.fetch_add(got, std::memory_order_relaxed);
    return got;
}

std::string_view raw_input::peek(std::size_t count) {
    if (number_ >= 0 && memory_.size() < count) {
        std::string first(memory_);
        while (first.size() < count) {
            const std::size_t had = first.size();
            first.resize(count);
            const std::size_t got = read_file(std::span(first).subspan(had));
            first.resize(had + got);
            if (got == 0) break;
        }
        peeked_ = std::move(first);
        memory_ = peeked_;
    }
    return memory_.substr(0, count);
}

bool raw_input::go_back(std::uint64_t offset) {
    if (offset > consumed()) return false;
    if (number_ < 0) {
        memory_ = whole_.substr(offset);
    } else {
        if (may_block_ || ::lseek(number_, static_cast<off_t>(offset), SEEK_SET) < 0) return false;
        memory_ = {};
    }
    consumed_.store(offset, std::memory_order_relaxed);
    return true;
}

namespace {

constexpr std::size_t part_bytes = std::size_t{1} << 20;

/// read_some() of a file by several threads: many parse faster than one copies from the system's cache.
std::size_t read_in_parts(int number, std::span<char> out, const std::string& name, const context& ctx) {
    const off_t begin = ::lseek(number, 0, SEEK_CUR);
    if (begin < 0) return read_some(number, out, name);
    const std::size_t parts = out.size() / part_bytes;
    std::vector<std::size_t> got(parts);
    cpu_place place(ctx);
    for_each_piece(place, parts, [&](std::size_t p) {
        const item_range mine = piece_of(out.size(), parts, p);
        for (std::size_t at = mine.begin; at < mine.end; at = mine.begin + got[p]) {
            const ssize_t bytes =
                ::pread(number, out.data() + at, mine.end - at, begin + static_cast<off_t>(at));
            if (bytes < 0 && errno == EINTR) continue;
            if (bytes < 0) throw io_error(name, "cannot read", errno);
            if (bytes == 0) break;
            got[p] += static_cast<std::size_t>(bytes);
        }
    });
    std::size_t total = 0;
    for (std::size_t p = 0; p < parts && total == piece_of(out.size(), parts, p).begin; ++p) total += got[p];
    if (::lseek(number, begin + static_cast<off_t>(total), SEEK_SET) < 0)
        throw io_error(name, "cannot read", errno);
    return total;
}

}  // namespace

std::size_t raw_input::read_file(std::span<char> out) {
    if (out.empty() || (may_block_ && !wait_for_bytes())) return 0;
    if (!may_block_ && out.size() >= 2 * part_bytes && ctx_.thread_count() > 1)
        return read_in_parts(number_, out, name_, ctx_);
    return read_some(number_, out, name_);
}

bool raw_input::wait_for_bytes() const {
    constexpr int milliseconds = 100;
    pollfd waited{number_, POLLIN, 0};
    while (!cancelled_.load(std::memory_order_relaxed)) {
        ctx_.check_stop();
        const int ready = ::poll(&waited, 1, milliseconds);
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) throw io_error(name_, "cannot read", errno);
    }
    return false;
}

namespace {

class plain_decoder final : public decoder {
  public:
    explicit plain_decoder(raw_input& input) : input_(input) {}
    std::size_t decode(std::span<char> out) override { return input_.read(out); }

  private:
    raw_input& input_;
};

}  // namespace

std::unique_ptr<decoder> make_plain_decoder(raw_input& input) {
    return std::make_unique<plain_decoder>(input);
}

std::span<const std::uint8_t> input_window::fill() {
    if (position_ == end_) {
        // The last bytes are kept before the new ones, for give_back().
        std::memmove(buffer_.data(), buffer_.data() + end_ - look_back, look_back);
        base_ += end_ - look_back;
        position_ = look_back;
        end_ = look_back + input_.read({reinterpret_cast<char*>(buffer_.data()) + look_back, piece_bytes});
        std::fill_n(buffer_.begin() + static_cast<std::ptrdiff_t>(end_), read_ahead, std::uint8_t{0});
    }
    return {buffer_.data() + position_, end_ - position_};
}

bool input_window::go_back(std::uint64_t offset) {
    if (!input_.go_back(offset)) return false;
    base_ = offset;
    position_ = end_ = look_back;
    return true;
}

void throw_damaged(const raw_input& input, std::string_view format, std::uint64_t offset,
                   std::string_view problem, after_damage after) {
    const bool all_came = after == after_damage::nothing;
    throw invalid_input(
        input.name(), 0,
        std::string(format) + " data are damaged at byte " + std::to_string(offset) + ": " +
            std::string(problem) +
            (all_came ? "; everything was read, but parts are wrong" : "; the rest is not read"));
}

void throw_cut_off(const raw_input& input, std::string_view format, std::uint64_t offset) {
    throw invalid_input(
        input.name(), 0,
        std::string(format) + " data are truncated at byte " + std::to_string(offset) + "; the rest is lost");
}

void throw_trailing(const raw_input& input, std::string_view format, std::uint64_t offset) {
    throw invalid_input(input.name(), 0,
                        "other data follow the " + std::string(format) + " data at byte " +
                            std::to_string(offset) + "; they are not read");
}

}  // namespace quern::io
