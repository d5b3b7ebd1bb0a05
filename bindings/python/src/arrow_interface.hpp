// SPDX-License-Identifier: Apache-2.0
// The structures of Arrow's C data and C stream interfaces, whose layout is fixed by their specification
// (arrow.apache.org, "The Arrow C data interface").
#pragma once

#include <cstdint>

extern "C" {

struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
    int (*get_next)(ArrowArrayStream*, ArrowArray* out);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};

}  // extern "C"

namespace quern::python {

constexpr std::int64_t arrow_nullable = 2;  ///< ARROW_FLAG_NULLABLE
constexpr const char* arrow_stream_capsule = "arrow_array_stream";

}  // namespace quern::python
