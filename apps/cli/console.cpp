// SPDX-License-Identifier: Apache-2.0
#include "console.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <system_error>

#include "quern/base/terminal_text.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

std::string clock_time(double seconds) {
    const auto whole = std::llround(seconds);
    return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                        : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

unsigned terminal_width(int descriptor) {
    if (isatty(descriptor) == 0) return 0;
    winsize size{};
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : 80;
}

console::console(std::string speaker, bool quiet, progress_mode mode)
    : speaker_(std::move(speaker)), quiet_(quiet), mode_(mode), width_(terminal_width(STDERR_FILENO)) {}

console::~console() {
    finish();
}

void console::info(std::string_view message) {
    if (!quiet_) say("", message);
}
void console::result(std::string_view message) {
    say("", message);
}
void console::warning(std::string_view message) {
    say("warning: ", message);
}
void console::error(std::string_view message) {
    say("", message);
}

void console::line_below(std::string_view text) {
    const std::lock_guard lock(mutex_);
    clear_line();
    write(fmt::format("  {}\n", for_terminal(text)));
}

void console::say(std::string_view kind, std::string_view message) {
    const std::lock_guard lock(mutex_);
    clear_line();
    // Always one line, whatever is in a file's name or content.
    write(fmt::format("{}: {}{}\n", for_terminal(speaker_), kind, for_terminal(message)));
}

void console::progress(const quern::progress& now) {
    if (mode_ == progress_mode::never || (quiet_ && mode_ == progress_mode::automatic)) return;
    const std::lock_guard lock(mutex_);
    const auto time = clock::now();
    const std::size_t comma = now.unit.find(", change ");
    const std::string_view unit = now.unit.substr(0, comma);
    const std::string_view change =
        comma == std::string_view::npos ? std::string_view() : now.unit.substr(comma + 9);
    if (now.stage != now_.stage) {
        if (mode_ == progress_mode::json && !now_.stage.empty() && shown_done_ != now_.done) show();
        stage_began_ = time;
        // Except on a terminal, a run of less than ten seconds prints nothing.
        if (mode_ == progress_mode::json || last_shown_ == clock::time_point{}) last_shown_ = time;
        now_ = {std::string(now.stage), std::string(unit), std::string(change), now.done, now.total};
        if (mode_ == progress_mode::json) show();
        begin_beating();
        return;
    }
    now_ = {std::move(now_.stage), std::string(unit), std::string(change), now.done, now.total};
    if (time - last_shown_ >= pause()) show();
}

std::chrono::milliseconds console::pause() const {
    return mode_ == progress_mode::json ? std::chrono::milliseconds(500)
           : width_ != 0                ? std::chrono::milliseconds(100)
                                        : std::chrono::milliseconds(10000);
}

/// Keeps the display going while a loop, a product on a GPU or a waiting disk reports nothing.
void console::begin_beating() {
    if (heart_.joinable()) return;
    is_over_ = false;
    // Signals must reach the threads that wait for input.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    try {
        heart_ = std::thread([this] { beat(); });
    } catch (const std::system_error&) {  // no thread available: show only what is reported
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void console::beat() {
    const auto longest = std::max<std::chrono::milliseconds>(pause(), std::chrono::milliseconds(1000));
    std::unique_lock lock(mutex_);
    while (!is_over_) {
        const auto due = last_shown_ + longest;
        if (clock::now() < due) {
            over_.wait_until(lock, due);
        } else {
            show();
        }
    }
}

void console::stop_beating() {
    {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
    }
    over_.notify_all();
    if (heart_.joinable()) heart_.join();
}

void console::give_way() {
    const std::lock_guard lock(mutex_);
    clear_line();
    gives_way_ = width_ != 0 && mode_ != progress_mode::json;
}

void console::finish() {
    stop_beating();
    const std::lock_guard lock(mutex_);
    if (mode_ == progress_mode::json && !now_.stage.empty() && shown_done_ != now_.done) show();
    clear_line();
    now_ = {};
}

void console::show() {
    const auto time = clock::now();
    const double seconds = std::chrono::duration<double>(time - stage_began_).count();
    last_shown_ = time;
    shown_done_ = now_.done;
    if (gives_way_) return;
    if (mode_ == progress_mode::json) {
        write(json(seconds) + '\n');
    } else if (width_ == 0) {
        write(fmt::format("{}: {}\n", speaker_, for_terminal(sentence(seconds))));
    } else {
        write(fmt::format("\r{:.{}}\x1b[K", for_terminal(sentence(seconds)), width_ - 1));
        line_open_ = true;
    }
}

std::string console::sentence(double seconds) const {
    const bool bytes = now_.unit == "bytes";
    const auto amount = [&](double value) {
        return bytes ? in_bytes(value) : grouped(static_cast<std::uint64_t>(value));
    };
    std::string text = now_.stage;
    const double done = static_cast<double>(now_.done);
    const bool is_counted = now_.total != 0 || now_.done != 0;
    if (now_.total != 0) {
        text += fmt::format("  {:3.0f}%  {} of {}", 100 * done / static_cast<double>(now_.total),
                            amount(done), amount(static_cast<double>(now_.total)));
    } else if (is_counted) {
        text += "  " + amount(done);
    }
    if (is_counted && !bytes) text += ' ' + now_.unit;
    if (!now_.change.empty()) text += "  change " + now_.change;
    if (seconds > 0.2 && now_.done != 0) {
        const double rate = done / seconds;
        text += fmt::format("  {}/s", bytes || rate >= 10 ? amount(rate) : fmt::format("{:.1f}", rate));
        if (now_.total > now_.done) {
            text += "  ETA " + clock_time(static_cast<double>(now_.total - now_.done) / rate);
        }
    }
    // Without an ETA, how long it has taken.
    if (now_.total <= now_.done && seconds >= 1) text += "  " + clock_time(seconds);
    return text;
}

std::string console::json(double seconds) const {
    // Stages and units are our own names: letters only.
    std::string text =
        fmt::format(R"({{"stage":"{}","done":{},"total":{},"unit":"{}","seconds":{:.3f})", now_.stage,
                    now_.done, now_.total == 0 ? "null" : std::to_string(now_.total), now_.unit, seconds);
    // The first moments do not predict the rate.
    const double rate = seconds > 0.01 ? static_cast<double>(now_.done) / seconds : 0;
    if (rate > 0) text += fmt::format(R"(,"rate":{:.1f})", rate);
    if (rate > 0 && now_.total >= now_.done) {
        text += fmt::format(R"(,"eta":{:.1f})", static_cast<double>(now_.total - now_.done) / rate);
    }
    if (!now_.change.empty()) text += fmt::format(R"(,"change":{})", now_.change);
    return text + '}';
}

void console::clear_line() {
    if (line_open_) write("\r\x1b[K");
    line_open_ = false;
}

void console::write(std::string_view text) {
    // One call per line, so that lines of several programs do not mix; a failure of stderr itself is ignored.
    while (!text.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace quern::cli
