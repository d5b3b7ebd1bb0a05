// SPDX-License-Identifier: Apache-2.0
// Many lines of text, formed by all threads and written in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cpu/pipeline.hpp"
#include "quern/base/context.hpp"

namespace quern {

/// Texts whose memory is used again. Thread-safe.
class reused_texts {
  public:
    /// An empty one.
    std::string take() {
        const std::lock_guard hold(mutex_);
        if (texts_.empty()) return {};
        std::string text = std::move(texts_.back());
        texts_.pop_back();
        return text;
    }
    void give_back(std::string text) {
        text.clear();
        const std::lock_guard hold(mutex_);
        texts_.push_back(std::move(text));
    }

  private:
    std::mutex mutex_;
    std::vector<std::string> texts_;
};

/// Forms text with the threads of a run.
class text_batches {
  public:
    explicit text_batches(const context& ctx) : ctx_(ctx) {}

    /// Calls form(text, begin, end) for batches of `items` items, on several threads, and write(text) with each result, in
    /// order, one at a time.
    template <class Form, class Write>
    void write(std::uint64_t items, const Form& form, const Write& write);

  private:
    const context& ctx_;
};

template <class Form, class Write>
void text_batches::write(std::uint64_t items, const Form& form, const Write& write) {
    constexpr std::uint64_t batch = 4096;
    struct work {
        std::uint64_t begin = 0, end = 0;
        std::string text;
    };
    std::uint64_t given_out = 0;
    reused_texts free_texts;
    pipeline<work> line(std::size_t{ctx_.thread_count()} + 2);
    line.from([&](work& w) {
        if (given_out == items) return false;
        ctx_.check_stop();
        w.begin = given_out;
        given_out = w.end = std::min(items, given_out + batch);
        return true;
    });
    line.in_parallel([&](work& w) {
        w.text = free_texts.take();
        form(w.text, w.begin, w.end);
    });
    line.in_order([&](work& w) {
        write(std::string_view(w.text));
        free_texts.give_back(std::move(w.text));
    });
    run_in_arena(ctx_, [&] { line.run(); });
}

}  // namespace quern
