// SPDX-License-Identifier: Apache-2.0
// Copies between arrays of two places of one type, and the order of the work of two places. A thread of each place enqueues
// its own part; the threads agree on who does what, when (two threads at a barrier: `set` before `await`).
//
//     open_for(here, there, table.span());                       // once
//     copy_across(here, block.span(), there, part_of_table);     // on here's stream, after what is enqueued there
//     sent.set();                                                // a place_mark of here
//     …a barrier of the threads…
//     sent.await(there);                                         // there's work from now on sees the copy
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "device/array.hpp"

namespace quern {

/// Lets `writer` copy into the arrays of `owner`, of which `array` is one, without the host in between where the two devices
/// can (NVLink, or PCIe). Elsewhere the copies work too, more slowly. Returns whether they are direct. For one thread at a
/// time.
bool open_for(cuda_place& writer, cuda_place& owner, const void* array);
template <class T>
bool open_for(cuda_place& writer, cuda_place& owner, device_span<T> array) {
    return open_for(writer, owner, static_cast<const void*>(array.data()));
}
template <class T>
bool open_for(cpu_place& /*writer*/, cpu_place& /*owner*/, std::span<T> /*array*/) {
    return true;
}

/// Enqueued on the stream of `from`; `to` may be busy. Throws usage_error if the sizes differ.
void copy_across(cuda_place& from, const void* values, const cuda_place& to, void* target, std::size_t bytes);
template <class T>
void copy_across(cuda_place& from, device_span<const T> values, const cuda_place& to,
                 std::type_identity_t<device_span<T>> target) {
    check_copy(values.size(), target.size());
    copy_across(from, values.data(), to, target.data(), values.size_bytes());
}
/// At once.
template <class T>
void copy_across(cpu_place& /*from*/, std::span<const T> values, const cpu_place& /*to*/,
                 std::type_identity_t<std::span<T>> target) {
    check_copy(values.size(), target.size());
    if (!values.empty()) std::memcpy(target.data(), values.data(), values.size_bytes());
}

/// A point in the work of a place, which another place can wait for.
template <class Place>
class place_mark;
template <>
class place_mark<cpu_place> {  // nothing is ever pending
  public:
    explicit place_mark(cpu_place& /*place*/) {}
    void set() {}
    void await(cpu_place& /*other*/) const {}
};
template <>
class place_mark<cuda_place> {
  public:
    explicit place_mark(cuda_place& place);
    place_mark(const place_mark&) = delete;  // owns an event
    place_mark& operator=(const place_mark&) = delete;
    ~place_mark();
    /// After everything enqueued so far.
    void set();
    /// What `other` enqueues from now on waits for the point last set; nothing if none was set.
    void await(cuda_place& other) const;

  private:
    cuda_place& place_;
    void* event_ = nullptr;
};

}  // namespace quern
