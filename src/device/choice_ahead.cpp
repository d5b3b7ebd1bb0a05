// SPDX-License-Identifier: Apache-2.0
#include "device/choice_ahead.hpp"

namespace quern {

choice_ahead::choice_ahead(device::machine here, const context& ctx, std::string_view job,
                           offered_places offered, std::function<void(const context&)> warm_up)
    : ctx_(ctx) {
    context quiet = ctx;
    quiet.on_log = nullptr;
    quiet.on_progress = nullptr;
    const device::machine untried{here.has_cuda, here.gpus, [](int) {
                                      return device::cuda_runtime_report{true, {}, 0, 0};
                                  }};
    if (!device::choose_on(untried, quiet, job, offered).cuda) {
        chosen_ = device::choose_on(here, ctx, job, offered);
        return;
    }
    choosing_.start([this, here = std::move(here), quiet = std::move(quiet), job = std::string(job), offered,
                     warm_up = std::move(warm_up)] {
        context logging = quiet;
        logging.on_log = [this](log_level level, std::string_view message) {
            messages_.emplace_back(level, message);
        };
        chosen_ = device::choose_on(here, logging, job, offered);
        if (!chosen_.cuda || !warm_up) return;
        try {
            warm_up(pinned_to(chosen_, quiet));
        } catch (...) {  // the job meets the same failure, and reports it
        }
    });
}

chosen_device choice_ahead::wait() {
    choosing_.wait();
    for (const auto& [level, message] : messages_) ctx_.log(level, message);
    return chosen_;
}

device::machine choice_ahead::this_machine() {
    return {has_cuda, [](std::string& why_none) { return device::cuda_devices(why_none); },
            [](int ordinal) { return device::check_cuda_runtime(ordinal); }};
}

}  // namespace quern
