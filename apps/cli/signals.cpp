// SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <thread>

namespace quern::cli {
namespace {

std::atomic<int> signal_seen{0};
static_assert(std::atomic<int>::is_always_lock_free);  // or a handler must not touch it
sem_t watchdog_wakes;  // sem_post is safe in a handler, a condition variable is not

void on_signal(int signal) {
    int none = 0;
    if (!signal_seen.compare_exchange_strong(none, signal)) _exit(128 + signal);
    sem_post(&watchdog_wakes);
}

void watch() {
    while (sem_wait(&watchdog_wakes) != 0) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    constexpr std::string_view message = "quern: interrupted; temporary files are removed by the next run\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
    _exit(128 + signal_seen.load());
}

}  // namespace

void catch_signals() {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sem_init(&watchdog_wakes, 0, 0);

    // The watchdog is born with the signals blocked, so that they interrupt the threads that wait for input.
    sigset_t caught;
    sigset_t before;
    sigemptyset(&caught);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&caught, number);
    pthread_sigmask(SIG_BLOCK, &caught, &before);
    std::thread(watch).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);

    struct sigaction action {};
    action.sa_handler = on_signal;  // without SA_RESTART: a blocked read returns
    for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
    struct sigaction old {};
    sigaction(SIGHUP, nullptr, &old);
    if (old.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // under nohup, stay
}

const std::atomic<int>& stop_signal() {
    return signal_seen;
}

}  // namespace quern::cli
