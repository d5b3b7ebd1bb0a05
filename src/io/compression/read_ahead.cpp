// SPDX-License-Identifier: Apache-2.0
#include "io/compression/read_ahead.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace quern::io {
namespace {

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

}  // namespace

std::unique_ptr<decoder> make_read_ahead(std::unique_ptr<decoder> inner, raw_input& input) {
    auto made = std::make_unique<read_ahead>(std::move(inner), input);
    if (!made->start()) return made->take_inner();
    return made;
}

}  // namespace quern::io
