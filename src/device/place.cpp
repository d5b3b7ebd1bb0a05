// SPDX-License-Identifier: Apache-2.0
#include "device/place.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/devices.hpp"
#include "device/own_threads.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

using device::machine;

chosen_device on_cpu(std::string reason) {
    return {false, 0, "cpu", std::move(reason)};
}

chosen_device on_gpu(const device::cuda_device_info& gpu, std::string reason) {
    return {true, gpu.ordinal, "cuda:" + std::to_string(gpu.ordinal), std::move(reason)};
}

/// The GPU's name, and why it cannot be used; empty: it can.
std::string failure_of(const machine& here, const device::cuda_device_info& gpu) {
    const auto report = here.check(gpu.ordinal);
    if (report.works) return {};
    return "cuda:" + std::to_string(gpu.ordinal) + " (" + gpu.name + ") fails: " + report.note;
}

/// The first GPU that works, or nothing and the reason.
std::optional<chosen_device> first_gpu(const machine& here, std::string& why_none) {
    const auto gpus = here.gpus(why_none);
    for (const auto& gpu : gpus) {
        const std::string failure = failure_of(here, gpu);
        if (failure.empty()) return on_gpu(gpu, why_none + gpu.name + ", which works");
        why_none += failure + "; ";
    }
    if (why_none.ends_with("; ")) why_none.resize(why_none.size() - 2);
    return {};
}

/// The requested GPU, the first of several. Throws device_error if it cannot be used.
chosen_device requested_gpu(const machine& here, int ordinal) {
    if (!here.has_cuda) throw device_error("CUDA was requested, but this program was built without it");
    std::string why_none;
    if (ordinal < 0) {
        if (auto chosen = first_gpu(here, why_none))
            return chosen_device{true, chosen->ordinal, chosen->name, "requested"};
        throw device_error("CUDA was requested, but " + why_none);
    }
    const auto gpus = here.gpus(why_none);
    if (gpus.empty()) throw device_error("CUDA was requested, but " + why_none);
    const auto index = static_cast<std::size_t>(ordinal);
    if (index >= gpus.size()) {
        throw device_error("cuda:" + std::to_string(ordinal) +
                           " was requested, but the last GPU is cuda:" + std::to_string(gpus.size() - 1));
    }
    if (const std::string failure = failure_of(here, gpus[index]); !failure.empty())
        throw device_error(failure);
    return on_gpu(gpus[index], "requested");
}

/// Several requested GPUs are checked at once, since the context of each takes some tenths of a second: the same machine, with
/// what the checks found.
machine with_checks_at_once(const machine& here, const device_choice& requested) {
    std::vector<int> wanted;
    std::string why_none;
    if (!here.has_cuda) return here;
    for (const auto& gpu : here.gpus(why_none)) {
        const bool named = gpu.ordinal == requested.ordinal ||
                           std::ranges::find(requested.more, gpu.ordinal) != requested.more.end();
        if (named || requested.ordinal == device_choice::all_ordinals) wanted.push_back(gpu.ordinal);
    }
    if (wanted.size() < 2) return here;
    std::vector<device::cuda_runtime_report> reports(wanted.size());
    on_threads_of_their_own(wanted.size(), [&](std::size_t i) { reports[i] = here.check(wanted[i]); });
    machine checked = here;
    checked.check = [wanted = std::move(wanted), reports = std::move(reports),
                     check = here.check](int ordinal) {
        const auto at = std::ranges::find(wanted, ordinal);
        return at == wanted.end() ? check(ordinal) : reports[static_cast<std::size_t>(at - wanted.begin())];
    };
    return checked;
}

/// Adds the other requested GPUs. Of cuda:all, one that fails is excluded and logged.
void add_further_gpus(const machine& here, const context& ctx, chosen_device& chosen) {
    if (ctx.device.ordinal == device_choice::all_ordinals) {
        std::string why_none;
        for (const auto& gpu : here.gpus(why_none)) {
            if (gpu.ordinal == chosen.ordinal) continue;
            const std::string failure = failure_of(here, gpu);
            if (failure.empty())
                chosen.more.push_back(gpu.ordinal);
            else
                ctx.log(log_level::warning, "not used: " + failure);
        }
    }
    for (const int ordinal : ctx.device.more) chosen.more.push_back(requested_gpu(here, ordinal).ordinal);
    for (const int ordinal : chosen.more) chosen.name += "," + std::to_string(ordinal);
}

chosen_device best_device(const machine& here) {
    if (!here.has_cuda) return on_cpu("this program was built without CUDA");
    std::string why_none;
    if (auto chosen = first_gpu(here, why_none)) return *chosen;
    return on_cpu(why_none);
}

std::string cpu_only(std::string_view operation) {
    return std::string(operation) + " runs on cpu only";
}

}  // namespace

void require_cpu(const context& ctx, std::string_view operation) {
    if (ctx.device.where == device_choice::kind::cuda) throw usage_error(cpu_only(operation));
}

chosen_device device::choose_on(const machine& here, const context& ctx, std::string_view operation,
                                offered_places offered) {
    using kind = device_choice::kind;
    const device_choice& requested = ctx.device;
    if (requested.where == kind::cuda) {
        if (requested.ordinal < device_choice::all_ordinals)
            throw usage_error("there is no GPU cuda:" + std::to_string(requested.ordinal));
        for (const int ordinal : requested.more)
            if (ordinal < 0) throw usage_error("there is no GPU cuda:" + std::to_string(ordinal));
    }
    if (offered == offered_places::cpu_only) require_cpu(ctx, operation);
    if (requested.where == kind::cpu) return on_cpu("requested");
    if (requested.where == kind::cuda) {
        if (offered == offered_places::several_gpus) {
            const machine checked = with_checks_at_once(here, requested);
            chosen_device chosen = requested_gpu(checked, requested.ordinal);
            add_further_gpus(checked, ctx, chosen);
            return chosen;
        }
        chosen_device chosen = requested_gpu(here, requested.ordinal);
        if (requested.ordinal == device_choice::all_ordinals || !requested.more.empty())
            ctx.log(log_level::info, std::string(operation) + " uses one GPU, " + chosen.name);
        return chosen;
    }
    if (offered == offered_places::cpu_only) return on_cpu(cpu_only(operation));
    chosen_device chosen = best_device(here);
    // Without CUDA there was no choice to report.
    if (here.has_cuda) ctx.log(log_level::info, "device " + chosen.name + ": " + chosen.reason);
    return chosen;
}

chosen_device choose_device(const context& ctx, std::string_view operation, offered_places offered) {
    static const machine this_machine{has_cuda,
                                      [](std::string& why_none) { return device::cuda_devices(why_none); },
                                      [](int ordinal) { return device::check_cuda_runtime(ordinal); }};
    return device::choose_on(this_machine, ctx, operation, offered);
}

device_choice choice_of(const chosen_device& chosen) {
    if (!chosen.cuda) return {device_choice::kind::cpu};
    return {device_choice::kind::cuda, chosen.ordinal, chosen.more};
}

std::string name_and_reason(const chosen_device& chosen) {
    return chosen.name + ": " + chosen.reason;
}

context pinned_to(const chosen_device& chosen, context ctx) {
    ctx.device = choice_of(chosen);
    return ctx;
}

any_place open_place(const context& ctx, std::string_view operation) {
    return any_place(ctx, choose_device(ctx, operation));
}

}  // namespace quern
