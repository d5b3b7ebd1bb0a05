// SPDX-License-Identifier: Apache-2.0
#include "refused_memory.hpp"

#include <unicode/uclean.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string_view>

namespace quern::cli {
namespace {

thread_local bool refused = false;

[[noreturn]] void on_refusal() {
    refused = true;
    throw std::bad_alloc();
}

// ICU 72 does not end (UnicodeSet::applyFilter), or gives another result, where some of its allocations fail.
void* allocate_for_icu(const void* /*context*/, std::size_t bytes) {
    void* const made = std::malloc(bytes);
    if (made == nullptr) end_without_memory();
    return made;
}

void* reallocate_for_icu(const void* /*context*/, void* at, std::size_t bytes) {
    void* const made = std::realloc(at, bytes);
    if (made == nullptr) end_without_memory();
    return made;
}

void free_for_icu(const void* /*context*/, void* at) {
    std::free(at);
}

}  // namespace

void watch_for_refused_memory() {
    std::set_new_handler(on_refusal);
    UErrorCode ignored = U_ZERO_ERROR;
    u_setMemoryFunctions(nullptr, allocate_for_icu, reallocate_for_icu, free_for_icu, &ignored);
}

bool memory_was_refused() noexcept {
    return refused;
}

void end_without_memory() noexcept {
    constexpr std::string_view message =
        "quern: out of memory; reduce --memory to spill to disk earlier; the next run removes temporary "
        "files\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
    _exit(4);
}

}  // namespace quern::cli
