// SPDX-License-Identifier: Apache-2.0
#include "tasks/shared/device_ahead.hpp"

#include <utility>

#include "device/choice_ahead.hpp"
#include "tasks/shared/pinned_to_device.hpp"

namespace quern {

device_ahead::device_ahead(const context& ctx, std::string_view job, offered_places offered,
                           std::function<void(const context&)> warm_up)
    : ctx_(ctx) {
    ctx_.memory_bytes = ctx.memory_limit();  // otherwise the system would be queried for every document
    choice_ = std::make_shared<choice_ahead>(ctx_, job, offered, std::move(warm_up));
    reading_ = ctx_;
    reading_.device = context::cpu().device;
    reading_.on_progress = [choice = choice_, report = ctx_.on_progress](const progress& now) {
        choice->check();
        if (report) report(now);
    };
}

context device_ahead::pinned(run_statistics& statistics) {
    return pinned_to_device(choice_->wait(), ctx_, statistics);
}

}  // namespace quern
