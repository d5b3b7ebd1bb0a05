// SPDX-License-Identifier: Apache-2.0
// Chooses the device of a job while the job does something else, such as reading its input: the first context of CUDA and the
// first use of its kernels take some tenths of a second.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/devices.hpp"
#include "device/own_threads.hpp"
#include "device/place.hpp"

namespace quern {

class choice_ahead {
  public:
    /// Throws at once what choose_device throws on any machine: the program or the operation has no code for a GPU.
    /// `warm_up` is called on another thread with the context pinned to a chosen GPU, without callbacks; what it throws is
    /// ignored. `ctx` is copied.
    choice_ahead(const context& ctx, std::string_view job, offered_places offered,
                 std::function<void(const context&)> warm_up)
        : choice_ahead(this_machine(), ctx, job, offered, std::move(warm_up)) {}
    /// On another machine: for tests.
    choice_ahead(device::machine here, const context& ctx, std::string_view job, offered_places offered,
                 std::function<void(const context&)> warm_up);

    /// Throws what choose_device has thrown meanwhile, so that the job need not go on.
    void check();
    /// What choose_device returns; throws and logs what it does. Call it once.
    chosen_device wait();

  private:
    static device::machine this_machine();

    context ctx_;  ///< whose callbacks are the caller's
    std::vector<std::pair<log_level, std::string>> messages_;
    chosen_device chosen_;
    std::atomic<bool> failed_ = false;
    alongside choosing_;
};

}  // namespace quern
