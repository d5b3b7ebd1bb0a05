// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/shared_pages.hpp"

#include <unistd.h>

#include <iterator>

namespace quern::cuda {

std::uintptr_t page_bytes() {
    static const auto bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

shared_pages& shared_pages::of_process() {
    static auto& pages = *new shared_pages;  // arrays may end after what is static
    return pages;
}

std::map<std::uintptr_t, shared_pages::range>::iterator shared_pages::first_after(std::uintptr_t begin) {
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second.end > begin) --at;
    return at;
}

bool shared_pages::overlap(const void* host, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(host);
    const auto at = first_after(begin);
    return at != ranges_.end() && at->first < begin + bytes;
}

}  // namespace quern::cuda
