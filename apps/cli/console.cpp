// SPDX-License-Identifier: Apache-2.0
#include "console.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>

#include "values.hpp"

namespace quern::cli {
namespace {

/// A message is one line whatever a file's name or content holds, and nothing in it commands the terminal.
std::string one_line(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
    }
    return out;
}

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
void console::answer(std::string_view message) {
    say("", message);
}
void console::warning(std::string_view message) {
    say("warning: ", message);
}
void console::error(std::string_view message) {
    say("", message);
}

void console::say(std::string_view kind, std::string_view message) {
    const std::lock_guard lock(mutex_);
    clear_line();
    write(fmt::format("{}: {}{}\n", speaker_, kind, one_line(message)));
}

void console::progress(const quern::progress& now) {
    if (mode_ == progress_mode::never || (quiet_ && mode_ == progress_mode::automatic)) return;
    const std::lock_guard lock(mutex_);
    const auto time = clock::now();
    if (now.stage != now_.stage) {
        if (mode_ == progress_mode::json && !now_.stage.empty() && shown_done_ != now_.done) show();
        stage_began_ = time;
        // Elsewhere than on a terminal, a run of less than ten seconds says nothing.
        if (mode_ == progress_mode::json || last_shown_ == clock::time_point{}) last_shown_ = time;
        now_ = {std::string(now.stage), std::string(now.unit), now.done, now.total};
        if (mode_ == progress_mode::json) show();
        return;
    }
    now_.done = now.done;
    now_.total = now.total;
    const auto pause = mode_ == progress_mode::json ? std::chrono::milliseconds(500)
                       : width_ != 0                ? std::chrono::milliseconds(100)
                                                    : std::chrono::milliseconds(10000);
    if (time - last_shown_ >= pause) show();
}

void console::finish() {
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
    if (mode_ == progress_mode::json) {
        write(json(seconds) + '\n');
    } else if (width_ == 0) {
        write(fmt::format("{}: {}\n", speaker_, sentence(seconds)));
    } else {
        write(fmt::format("\r{:.{}}\x1b[K", sentence(seconds), width_ - 1));
        line_open_ = true;
    }
}

std::string console::sentence(double seconds) const {
    const bool bytes = now_.unit == "bytes";
    const auto amount = [&](double value) {
        return bytes ? in_bytes(value) : grouped(static_cast<std::uint64_t>(value));
    };
    std::string text = now_.stage + "  ";
    const double done = static_cast<double>(now_.done);
    if (now_.total != 0) {
        text += fmt::format("{:3.0f}%  {} of {}", 100 * done / static_cast<double>(now_.total), amount(done),
                            amount(static_cast<double>(now_.total)));
    } else {
        text += amount(done);
    }
    if (!bytes) text += ' ' + now_.unit;
    if (seconds > 0.2 && now_.done != 0) {
        const double rate = done / seconds;
        text += fmt::format("  {}/s", amount(rate));
        if (now_.total > now_.done) {
            text += "  ETA " + clock_time(static_cast<double>(now_.total - now_.done) / rate);
        }
    }
    return text;
}

std::string console::json(double seconds) const {
    // Stages and units are names of ours: letters only.
    std::string text =
        fmt::format(R"({{"stage":"{}","done":{},"total":{},"unit":"{}","seconds":{:.3f})", now_.stage,
                    now_.done, now_.total == 0 ? "null" : std::to_string(now_.total), now_.unit, seconds);
    const double rate = seconds > 0 ? static_cast<double>(now_.done) / seconds : 0;
    if (rate > 0) text += fmt::format(R"(,"rate":{:.1f})", rate);
    if (rate > 0 && now_.total >= now_.done) {
        text += fmt::format(R"(,"eta":{:.1f})", static_cast<double>(now_.total - now_.done) / rate);
    }
    return text + '}';
}

void console::clear_line() {
    if (line_open_) write("\r\x1b[K");
    line_open_ = false;
}

void console::write(std::string_view text) {
    // One call a line, so that lines of several programs do not mix; nobody is told when stderr itself fails.
    while (!text.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace quern::cli
