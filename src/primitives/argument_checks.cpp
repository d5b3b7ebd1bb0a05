// SPDX-License-Identifier: Apache-2.0
#include "primitives/argument_checks.hpp"

#include <limits>
#include <string>

#include "quern/base/error.hpp"

namespace quern::primitives {
namespace {

std::string entries_of(std::string_view function, std::string_view name, std::size_t size) {
    return std::string(function)
        .append(": ")
        .append(name)
        .append(" has ")
        .append(std::to_string(size))
        .append(" entries, but ");
}

}  // namespace

void check_same_size(std::string_view function, std::string_view name, std::size_t size,
                     std::string_view other_name, std::size_t other_size) {
    if (size == other_size) return;
    throw usage_error(entries_of(function, name, size)
                          .append(other_name)
                          .append(" has ")
                          .append(std::to_string(other_size)));
}

void check_capacity(std::string_view function, std::string_view name, std::size_t size,
                    std::uint64_t needed) {
    if (size >= needed) return;
    throw usage_error(entries_of(function, name, size).append(std::to_string(needed)).append(" are needed"));
}

void check_32_bits(std::string_view function, std::uint64_t count, std::string_view counted,
                   std::string_view numbers) {
    if (count <= std::numeric_limits<std::uint32_t>::max()) return;
    throw usage_error(std::string(function)
                          .append(": ")
                          .append(std::to_string(count))
                          .append(" ")
                          .append(counted)
                          .append(" need 64-bit ")
                          .append(numbers));
}

void check_one_per_segment(std::string_view function, std::string_view name, std::size_t size,
                           std::size_t segments) {
    if (size == segments) return;
    throw usage_error(entries_of(function, name, size)
                          .append("there are ")
                          .append(std::to_string(segments))
                          .append(" segments"));
}

void check_widening(std::string_view function, bool is_sum) {
    if (!is_sum) throw usage_error(std::string(function).append(": only sums allow a wider result type"));
}

}  // namespace quern::primitives
