// SPDX-License-Identifier: Apache-2.0
#include "device/place.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/devices.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

chosen_device on_cpu(std::string reason) {
    return {false, 0, "cpu", std::move(reason)};
}

chosen_device on_gpu(const device::cuda_device_info& gpu, std::string reason) {
    return {true, gpu.ordinal, "cuda:" + std::to_string(gpu.ordinal), std::move(reason)};
}

/// What a GPU is called, and why it cannot be used; empty: it can.
std::string failure_of(const device::cuda_device_info& gpu) {
    const auto report = device::check_cuda_runtime(gpu.ordinal);
    if (report.works) return {};
    return "cuda:" + std::to_string(gpu.ordinal) + " (" + gpu.name + ") fails: " + report.note;
}

/// The first GPU that works, or nothing and why.
std::optional<chosen_device> first_gpu(std::string& why_none) {
    const auto gpus = device::cuda_devices(why_none);
    for (const auto& gpu : gpus) {
        const std::string failure = failure_of(gpu);
        if (failure.empty()) return on_gpu(gpu, why_none + gpu.name + ", which works");
        why_none += failure + "; ";
    }
    if (why_none.ends_with("; ")) why_none.resize(why_none.size() - 2);
    return {};
}

/// The GPU that was asked for. Throws device_error where it cannot be had.
chosen_device asked_gpu(int ordinal) {
    if (!has_cuda) throw device_error("CUDA is asked for, but this program was built without it");
    std::string why_none;
    if (ordinal < 0) {
        if (auto chosen = first_gpu(why_none))
            return chosen_device{true, chosen->ordinal, chosen->name, "asked for"};
        throw device_error("CUDA is asked for, but " + why_none);
    }
    const auto gpus = device::cuda_devices(why_none);
    if (gpus.empty()) throw device_error("CUDA is asked for, but " + why_none);
    const auto index = static_cast<std::size_t>(ordinal);
    if (index >= gpus.size()) {
        throw device_error("cuda:" + std::to_string(ordinal) +
                           " is asked for, but the last GPU is cuda:" + std::to_string(gpus.size() - 1));
    }
    if (const std::string failure = failure_of(gpus[index]); !failure.empty()) throw device_error(failure);
    return on_gpu(gpus[index], "asked for");
}

chosen_device best_device() {
    if (!has_cuda) return on_cpu("this program was built without CUDA");
    std::string why_none;
    if (auto chosen = first_gpu(why_none)) return *chosen;
    return on_cpu(why_none);
}

template <class Holder>
Holder open(const context& run, const chosen_device& chosen) {
    if constexpr (has_cuda) {
        if (chosen.cuda) return Holder(std::in_place_type<cuda_place>, run, chosen.ordinal);
    }
    return Holder(std::in_place_type<cpu_place>, run);
}

std::string cpu_only(std::string_view operation) {
    return std::string(operation) + " runs on cpu only";
}

}  // namespace

void require_cpu(const context& run, std::string_view operation) {
    if (run.device.where == device_choice::kind::cuda) throw usage_error(cpu_only(operation));
}

chosen_device choose_device(const context& run, std::string_view operation, offered_places offered) {
    using kind = device_choice::kind;
    if (run.device.where == kind::cuda && run.device.ordinal < device_choice::all_ordinals) {
        throw usage_error("there is no GPU cuda:" + std::to_string(run.device.ordinal));
    }
    if (offered == offered_places::cpu_only) require_cpu(run, operation);
    if (run.device.where == kind::cpu) return on_cpu("asked for");
    if (run.device.where == kind::cuda) return asked_gpu(run.device.ordinal);
    if (offered == offered_places::cpu_only) return on_cpu(cpu_only(operation));
    chosen_device chosen = best_device();
    // Without CUDA there was no choice to tell of.
    if (has_cuda) run.log(log_level::info, "device " + chosen.name + ": " + chosen.reason);
    return chosen;
}

any_place open_place(const context& run, std::string_view operation) {
    return open<any_place>(run, choose_device(run, operation));
}

}  // namespace quern
