// SPDX-License-Identifier: Apache-2.0
#include "kept_run.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "errors.hpp"

namespace nb = nanobind;

namespace quern::python {

turns::turn turns::take(std::string_view what) {
    if (whose_ == std::this_thread::get_id())
        refuse(std::string(what) + " is running on this thread (expected none from its progress listener)");
    std::unique_lock held(lock_, std::try_to_lock);
    while (!held.owns_lock()) {
        {
            const nb::gil_scoped_release released;
            if (held.try_lock_for(std::chrono::milliseconds(50))) break;
        }
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    return turn(*this, std::move(held));
}

context kept_run::for_object(const context& resources) {
    context ctx = resources;
    ctx.stop_signal = &stop_;
    ctx.on_log = [this](log_level level, std::string_view text) {
        if (current_ != nullptr) current_->log(level, text);
    };
    ctx.on_progress = [this](const progress& now) {
        if (current_ != nullptr) current_->report(now);
    };
    return ctx;
}

bool same_resources(const context& a, const context& b) {
    return a.device == b.device && a.threads == b.threads && a.memory_bytes == b.memory_bytes &&
           a.gpu_memory_bytes == b.gpu_memory_bytes;
}

}  // namespace quern::python
