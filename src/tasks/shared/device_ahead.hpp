// SPDX-License-Identifier: Apache-2.0
// As pinned_to_device.hpp, for a job that reads its input before it needs the device: the first context of CUDA and the first
// use of its kernels take some tenths of a second, in which the job reads.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "quern/base/choose_device.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

class choice_ahead;

class device_ahead {
  public:
    /// Begins to choose the device of `job`. Throws at once what choose_device throws on any machine. `warm_up` is called on
    /// another thread with the context of a chosen GPU; what it throws is ignored.
    device_ahead(const context& ctx, std::string_view job, offered_places offered = offered_places::all,
                 std::function<void(const context&)> warm_up = {});

    /// The context until then: on the CPU, with the memory fixed. Its progress callback throws what choosing has thrown
    /// meanwhile, so that the job need not go on.
    const context& reading() const { return reading_; }
    /// True if no device is requested: then short work need not wait for one.
    bool is_automatic() const { return ctx_.device.where == device_choice::kind::automatic; }
    /// Waits; returns the context with the chosen device and the memory fixed, and records the device and the reason in
    /// `statistics`. Throws as choose_device does. Call it once.
    context pinned(run_statistics& statistics);

  private:
    context ctx_;
    std::shared_ptr<choice_ahead>
        choice_;  ///< shared with the callback of `reading_`, of which there are copies
    context reading_;
};

}  // namespace quern
