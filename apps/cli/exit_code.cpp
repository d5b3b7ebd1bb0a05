// SPDX-License-Identifier: Apache-2.0
#include "exit_code.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "cluster.hpp"
#include "console.hpp"
#include "output.hpp"
#include "quern/base/document.hpp"
#include "quern/base/error.hpp"
#include "quern/base/lost_pages.hpp"
#include "quern/tasks/cluster.hpp"
#include "quern/tasks/search.hpp"
#include "refused_memory.hpp"
#include "session.hpp"

namespace quern::cli {
namespace {

constexpr const char* no_thread =
    "cannot start a thread: Resource temporarily unavailable (limited by ulimit -u, ulimit -v or the "
    "container); --threads 1 needs the fewest";

/// What to do about a full disk.
std::string with_room(const io_error& failed) {
    std::string text = failed.what();
    if (failed.code() != ENOSPC && failed.code() != EDQUOT) return text;
    const bool is_scratch = text.find("/.quern-scratch-") != std::string::npos;
    return text + (is_scratch ? "; make room there, or choose another folder for temporary files with --tmp"
                              : "; make room there, or choose another output");
}

ending internal(const std::exception& failure) {
    return {70, std::string("internal error: ") + failure.what() + "; please report it"};
}

}  // namespace

ending ending_for(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const closed_pipe&) {
        return {0, {}};
    } catch (const query_error& e) {
        return {2, e.what(), {}, {e.excerpt(), e.caret()}};
    } catch (const task_failed& e) {
        return {e.exit_code(), e.what()};
    } catch (const usage_error& e) {
        return {2, e.what()};
    } catch (const too_much_lost& e) {
        std::vector<std::string> others;
        for (const input_issue& issue : e.issues()) others.push_back(in_words(issue));
        if (others.size() == 1) others.clear();  // the message contains it
        return {3, with_memory_of_workers(e.what()), std::move(others)};
    } catch (const invalid_input& e) {
        return {3, e.what()};
    } catch (const invalid_value& e) {
        return {3, e.what()};
    } catch (const io_error& e) {
        if (e.code() == EPIPE) return {0, {}};  // --output is a FIFO whose reader has closed it
        return {4, with_room(e)};
    } catch (const shard_failed& e) {
        return {4, e.what()};
    } catch (const out_of_memory& e) {
        return {4, e.what()};
    } catch (const device_error& e) {
        return {4, e.what()};
    } catch (const damaged_store& e) {
        return {5, e.what()};
    } catch (const interrupted& e) {
        return {128 + e.signal(), "interrupted; nothing half-written is left"};
    } catch (const std::bad_alloc&) {
        return {4, "out of memory; reduce --memory to spill to disk earlier"};
    } catch (const std::filesystem::filesystem_error& e) {
        return {4, e.what()};
    } catch (const std::system_error& e) {  // the system refuses a thread
        return {4, e.code() == std::errc::resource_unavailable_try_again ? no_thread : e.what()};
    } catch (const std::runtime_error& e) {
        // oneTBB and asio have no separate type for this error.
        const std::string_view text = e.what();
        if (text.starts_with("pthread_create ") || text.starts_with("thread: ")) return {4, no_thread};
        return internal(e);
    } catch (const std::exception& e) {
        return internal(e);
    }
}

std::exception_ptr cause_of(std::exception_ptr failure) noexcept {
    try {
        std::rethrow_exception(failure);
    } catch (const interrupted&) {
    } catch (const closed_pipe&) {
    } catch (...) {
        try {
            check_mapped_files();
        } catch (...) {
            return std::current_exception();
        }
    }
    return failure;
}

void end_for_uncaught() noexcept {
    if (const auto failure = std::current_exception()) {
        try {
            const ending end = ending_for(failure);
            if (end.code == 4) {
                console("quern", false, progress_mode::never)
                    .error(end.message + "; the next run removes temporary files");
                _exit(end.code);
            }
        } catch (...) {  // even the message failed
        }
    }
    if (memory_was_refused()) end_without_memory();
    std::abort();
}

}  // namespace quern::cli
