// SPDX-License-Identifier: Apache-2.0
// Detects the format by the first bytes and wraps the decoder as a byte_source.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "io/byte_source.hpp"
#include "io/compression/decoder.hpp"

namespace quern::io {
namespace {

/// Decodes on a separate thread, a bounded distance ahead of the reader.
class read_ahead final : public decoder {
  public:
    read_ahead(std::unique_ptr<decoder> inner, raw_input& input) : inner_(std::move(inner)), input_(input) {
        for (auto& each : slots_) each.bytes.resize(slot_bytes);
    }
    /// False if the system creates no thread for it; then the decoder below works alone.
    bool start() {
        try {
            thread_ = std::thread([this] { work(); });
        } catch (const std::system_error&) {
            return false;
        }
        return true;
    }
    std::unique_ptr<decoder> take_inner() { return std::move(inner_); }
    ~read_ahead() override {
        if (!thread_.joinable()) return;
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        input_.cancel();
        changed_.notify_all();
        thread_.join();
    }
    read_ahead(const read_ahead&) = delete;  // its thread points to it
    read_ahead& operator=(const read_ahead&) = delete;

    std::size_t decode(std::span<char> out) override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return taken_ != filled_ || ended_; });
        if (taken_ == filled_) {
            if (failure_) std::rethrow_exception(failure_);
            return 0;
        }
        slot& from = slots_[taken_ % slots_.size()];
        lock.unlock();
        const std::size_t count = std::min(out.size(), from.size - position_);
        std::memcpy(out.data(), from.bytes.data() + position_, count);
        position_ += count;
        if (position_ == from.size) {
            position_ = 0;
            lock.lock();
            ++taken_;
            changed_.notify_all();
        }
        return count;
    }

    std::optional<resume_point> resume() override {
        if (!failure_ || taken_ != filled_) return std::nullopt;
        thread_.join();
        const auto found = inner_->resume();
        if (!found) return std::nullopt;
        const std::exception_ptr before = std::exchange(failure_, nullptr);
        ended_ = false;
        if (start()) return found;
        failure_ = before;
        ended_ = true;
        return std::nullopt;
    }

  private:
    static constexpr std::size_t slot_bytes = std::size_t{1} << 18;
    struct slot {
        std::vector<char> bytes;
        std::size_t size = 0;
    };

    void work() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [&] { return stopped_ || filled_ - taken_ < slots_.size(); });
            if (stopped_) return;
            slot& to = slots_[filled_ % slots_.size()];
            lock.unlock();
            to.size = 0;
            std::exception_ptr failure;
            std::size_t count = 1;
            try {
                while (count != 0 && to.size < slot_bytes) {
                    input_.ctx().check_stop();
                    to.size += count = inner_->decode(std::span(to.bytes).subspan(to.size));
                }
            } catch (...) {
                failure = std::current_exception();
            }
            lock.lock();
            filled_ += to.size != 0;
            ended_ = failure || count == 0;
            failure_ = failure;
            changed_.notify_all();
            if (ended_) return;
        }
    }

    std::unique_ptr<decoder> inner_;
    raw_input& input_;
    std::array<slot, 4> slots_;  ///< a ring: the thread owns the free ones, the reader the filled ones
    std::size_t position_ = 0;   ///< in the slot being read

    std::mutex mutex_;  ///< guards everything below
    std::condition_variable changed_;
    std::uint64_t filled_ = 0;
    std::uint64_t taken_ = 0;
    bool ended_ = false;
    bool stopped_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

/// The same bytes and exceptions as `inner`'s, at the same positions. Cancels `input` if the result is destroyed before
/// its end, so that waiting for a pipe ends too.
std::unique_ptr<decoder> make_read_ahead(std::unique_ptr<decoder> inner, raw_input& input) {
    auto result = std::make_unique<read_ahead>(std::move(inner), input);
    if (!result->start()) return result->take_inner();
    return result;
}

using make_decoder = std::unique_ptr<decoder> (*)(raw_input&);

make_decoder maker_for(std::string_view first) {
    using namespace std::string_view_literals;
    if (first.starts_with("\x1f\x8b"sv)) return make_gzip_decoder;
    if (first.starts_with("BZh"sv) && first.size() >= 4 && first[3] >= '1' && first[3] <= '9') {
        return make_bzip2_decoder;
    }
    if (first.starts_with("\x28\xb5\x2f\xfd"sv)) return make_zstd_decoder;
    const bool skippable =
        first.size() >= 4 && (first[0] & 0xf0) == 0x50 && first.substr(1, 3) == "\x2a\x4d\x18"sv;
    if (skippable) return make_zstd_decoder;
    if (first.starts_with("\xfd\x37zXZ\0"sv)) return make_xz_decoder;
    return make_plain_decoder;
}

class decoded_source final : public byte_source {
  public:
    explicit decoded_source(std::unique_ptr<raw_input> input) : decoded_source(std::move(input), nullptr) {}
    /// `make`: null for the decoder of the format that the first bytes show.
    decoded_source(std::unique_ptr<raw_input> input, make_decoder make) : input_(std::move(input)) {
        if (make == nullptr) make = maker_for(input_->peek(6));
        decoder_ = make(*input_);
        // bzip2 has its own threads; the kernel reads plain bytes ahead.
        const bool alone = make == make_plain_decoder || make == make_bzip2_decoder;
        if (!alone && input_->ctx().thread_count() > 1)
            decoder_ = make_read_ahead(std::move(decoder_), *input_);
    }

    std::size_t read(std::span<char> out) override {
        if (failure_) std::rethrow_exception(failure_);
        std::size_t filled = 0;
        try {
            while (filled < out.size() && !ended_) {
                const std::size_t count = decoder_->decode(out.subspan(filled));
                ended_ = count == 0;
                filled += count;
            }
        } catch (...) {
            failure_ = std::current_exception();
            if (filled == 0) throw;
        }
        return filled;
    }
    std::optional<resume_point> resume() override {
        if (!failure_) return std::nullopt;
        const auto found = decoder_->resume();
        if (found) {
            failure_ = nullptr;
            ended_ = false;
        }
        return found;
    }
    std::uint64_t consumed() const override { return input_->consumed(); }
    std::uint64_t size() const override { return input_->size(); }
    const std::string& name() const override { return input_->name(); }

  private:
    std::unique_ptr<raw_input> input_;
    std::unique_ptr<decoder> decoder_;  ///< after input_: its threads end first
    std::exception_ptr failure_;
    bool ended_ = false;
};

}  // namespace

std::unique_ptr<byte_source> open_bytes(const std::filesystem::path& path, const context& ctx) {
    return std::make_unique<decoded_source>(std::make_unique<raw_input>(path, ctx));
}

std::unique_ptr<byte_source> open_raw_bytes(const std::filesystem::path& path, const context& ctx) {
    return std::make_unique<decoded_source>(std::make_unique<raw_input>(path, ctx), make_plain_decoder);
}

std::unique_ptr<byte_source> open_bytes_memory(std::string_view bytes, std::string name, const context& ctx) {
    return std::make_unique<decoded_source>(std::make_unique<raw_input>(bytes, std::move(name), ctx));
}

bool is_compressed(std::string_view first_bytes) {
    return maker_for(first_bytes) != make_plain_decoder;
}

}  // namespace quern::io
