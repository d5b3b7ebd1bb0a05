// SPDX-License-Identifier: Apache-2.0
// Everything the program says beside its results, on standard error: messages, and how far it is.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include "quern/base/context.hpp"

namespace quern::cli {

enum class progress_mode { automatic, never, json };

/// Columns of the terminal a descriptor leads to; 0 where it leads to none.
unsigned terminal_width(int descriptor);

/// Any thread may call it. A message and the progress line never share a line of the terminal.
class console {
  public:
    /// `speaker` begins each message: "quern build". Quiet: warnings and errors only.
    console(std::string speaker, bool quiet, progress_mode mode);
    ~console();
    console(const console&) = delete;  // there is one standard error
    console& operator=(const console&) = delete;

    void info(std::string_view message);
    /// What an option asked for and standard output does not hold: said to a quiet user, too.
    void answer(std::string_view message);
    void warning(std::string_view message);
    void error(std::string_view message);
    /// Shown at most ten times a second on a terminal, every ten seconds elsewhere, twice a second as JSON,
    /// where the first and the last of each stage are shown too.
    void progress(const quern::progress& now);
    /// Ends the progress display; later messages begin on a line of their own.
    void finish();

  private:
    using clock = std::chrono::steady_clock;
    struct snapshot {
        std::string stage, unit;
        std::uint64_t done = 0, total = 0;
    };
    void say(std::string_view kind, std::string_view message);
    void show();
    void write(std::string_view text);
    void clear_line();
    std::string sentence(double seconds) const;
    std::string json(double seconds) const;

    const std::string speaker_;
    const bool quiet_;
    const progress_mode mode_;
    const unsigned width_;
    std::mutex mutex_;
    snapshot now_;
    clock::time_point stage_began_, last_shown_;
    std::uint64_t shown_done_ = 0;
    bool line_open_ = false;
};

}  // namespace quern::cli
