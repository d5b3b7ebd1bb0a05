// SPDX-License-Identifier: Apache-2.0
#include "device/choice_ahead.hpp"

#include <utility>

namespace quern {

choice_ahead::choice_ahead(device::machine here, const context& ctx, std::string_view job,
                           offered_places offered, std::function<void(const context&)> warm_up)
    : ctx_(ctx) {
    context quiet = ctx;
    quiet.on_log = nullptr;
    quiet.on_progress = nullptr;
    const bool tries_gpus =
        here.has_cuda && offered != offered_places::cpu_only && ctx.device.where != device_choice::kind::cpu;
    if (!tries_gpus) {
        chosen_ = device::choose_on(here, ctx, job, offered);
        return;
    }
    choosing_.start([this, here = std::move(here), quiet = std::move(quiet), job = std::string(job), offered,
                     warm_up = std::move(warm_up)] {
        context logging = quiet;
        logging.on_log = [this](log_level level, std::string_view message) {
            messages_.emplace_back(level, message);
        };
        try {
            chosen_ = device::choose_on(here, logging, job, offered);
        } catch (...) {
            failed_ = true;
            throw;
        }
        if (!chosen_.cuda || !warm_up) return;
        try {
            warm_up(pinned_to(chosen_, quiet));
        } catch (...) {  // the job meets the same failure, and reports it
        }
    });
}

void choice_ahead::check() {
    if (failed_) wait();
}

chosen_device choice_ahead::wait() {
    const auto pass_on_messages = [&] {
        for (const auto& [level, message] : std::exchange(messages_, {})) ctx_.log(level, message);
    };
    try {
        choosing_.wait();
    } catch (...) {
        pass_on_messages();
        throw;
    }
    pass_on_messages();
    return chosen_;
}

device::machine choice_ahead::this_machine() {
    return {has_cuda, [](std::string& why_none) { return device::cuda_devices(why_none); },
            [](int ordinal) { return device::check_cuda_runtime(ordinal); }};
}

}  // namespace quern
