// SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string_view>
#include <system_error>
#include <thread>

#include "quern/base/lost_pages.hpp"

namespace quern::cli {
namespace {

std::atomic<int> signal_seen{0};
std::atomic<std::int64_t> first_signal_at{0};                   // milliseconds; 0: none came
static_assert(std::atomic<std::int64_t>::is_always_lock_free);  // or a handler must not touch it
sem_t watchdog_wakes;  // sem_post is safe in a handler, a condition variable is not
bool watchdog_is_present = true;

/// Safe in a handler.
std::int64_t milliseconds_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void on_signal(int signal) {
    constexpr std::int64_t at_once = 200;
    std::int64_t never = 0;
    first_signal_at.compare_exchange_strong(never, milliseconds_now());
    int first = 0;
    if (!signal_seen.compare_exchange_strong(first, signal)) {
        if (first == signal && milliseconds_now() - first_signal_at.load() < at_once) return;
        _exit(128 + signal);
    }
    if (watchdog_is_present) {
        sem_post(&watchdog_wakes);
    } else {
        alarm(2);
    }
}

/// Safe in a handler.
void end_at_once() {
    constexpr std::string_view message = "quern: interrupted; the next run removes temporary files\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
    _exit(128 + signal_seen.load());
}

void watch() {
    while (sem_wait(&watchdog_wakes) != 0) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    end_at_once();
}

/// False if the system refuses a thread for it.
bool start_watchdog() {
    try {
        std::thread(watch).detach();
    } catch (const std::system_error&) {
        return false;
    }
    return true;
}

/// A mapped file lost a page that was accessed. A file unknown to the library is a temporary file of this run.
void on_lost_page(int signal_number, siginfo_t* info, void* /*context*/) {
    const int errno_before = errno;
    if (put_zeros_for_lost_page(info->si_addr)) {
        errno = errno_before;
        return;
    }
    if (info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR) {
        constexpr std::string_view message =
            "quern: a temporary file lost data (its disk is full or failing); the next run removes temporary "
            "files\n";
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
        _exit(4);
    }
    signal(signal_number, SIG_DFL);  // not caused by a file: the instruction will raise it again
}

}  // namespace

void catch_signals() {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sem_init(&watchdog_wakes, 0, 0);

    // The watchdog starts with the signals blocked, so that they interrupt the threads that wait for input.
    sigset_t caught;
    sigset_t before;
    sigemptyset(&caught);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&caught, number);
    pthread_sigmask(SIG_BLOCK, &caught, &before);
    watchdog_is_present = start_watchdog();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);

    struct sigaction action {};
    action.sa_handler = [](int) {
        end_at_once();
    };  // instead of the watchdog: a timer, which a disk can delay
    if (!watchdog_is_present) sigaction(SIGALRM, &action, nullptr);
    action.sa_handler = on_signal;  // without SA_RESTART: a blocked read returns
    for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
    struct sigaction lost {};
    lost.sa_sigaction = on_lost_page;
    lost.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &lost, nullptr);
    struct sigaction old {};
    sigaction(SIGHUP, nullptr, &old);
    if (old.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // keep ignoring it under nohup
}

const std::atomic<int>& stop_signal() {
    return signal_seen;
}

}  // namespace quern::cli
