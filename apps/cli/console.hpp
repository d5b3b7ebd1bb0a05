// SPDX-License-Identifier: Apache-2.0
// Everything the program prints besides its results, on standard error: messages and progress.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "quern/base/context.hpp"

namespace quern::cli {

enum class progress_mode { automatic, never, json };

/// Columns of the terminal that a descriptor refers to; 0 if it is not a terminal.
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
    /// A requested figure that is not part of standard output: also printed with --quiet.
    void result(std::string_view message);
    void warning(std::string_view message);
    void error(std::string_view message);
    /// A line that belongs to the message above it.
    void line_below(std::string_view text);
    /// Shown at most ten times a second on a terminal, every ten seconds elsewhere, twice a second as JSON,
    /// which also includes the first and the last report of each stage. A stage without new reports is shown
    /// again after a while, with its time. After a comma, `unit` may contain the change of an iteration's last
    /// step: "iterations, change 3e-06".
    void progress(const quern::progress& now);
    /// Results go to the terminal from now on: no progress line is shown between them.
    void give_way();
    /// Ends the progress display; later messages begin on a new line.
    void finish();

  private:
    using clock = std::chrono::steady_clock;
    struct snapshot {
        std::string stage, unit, change;
        std::uint64_t done = 0, total = 0;
    };
    void say(std::string_view kind, std::string_view message);
    void show();
    std::chrono::milliseconds pause() const;
    void begin_beating();
    void beat();
    void stop_beating();
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
    bool line_open_ = false, is_over_ = false, gives_way_ = false;
    std::condition_variable over_;
    std::thread heart_;  ///< repeats the last report
};

}  // namespace quern::cli
