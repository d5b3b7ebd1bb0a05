// SPDX-License-Identifier: Apache-2.0
// Examines the machine as an operation would. No finding is an error: values that cannot be read are reported as
// unknown, because a failing diagnosis is worse than none.
#include "quern/tasks/doctor.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>

#include "device/devices.hpp"
#include "device/place.hpp"
#include "quern/base/error.hpp"
#include "quern/base/pdf_program.hpp"
#include "quern/base/threads_within.hpp"
#include "quern/tasks/store.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {
namespace {

std::string in_words(std::uint64_t bytes) {
    constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
    return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

/// The value of the first line `key : value` in /proc/cpuinfo; x86 and ARM use different keys.
std::string cpu_field(std::initializer_list<std::string_view> keys) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::string name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
        const auto value = line.find_first_not_of(" \t", colon + 1);
        if (value != std::string::npos && std::find(keys.begin(), keys.end(), name) != keys.end()) {
            return line.substr(value);
        }
    }
    return {};
}

void look_at_processor(std::vector<finding>& found, const context& ctx) {
    utsname system{};
    uname(&system);
    std::string model = cpu_field({"model name", "Model", "Hardware", "cpu"});
    found.push_back({"processor", model.empty() ? "unknown" : model, system.machine});

    const std::string all = ' ' + cpu_field({"flags", "Features"}) + ' ';
    std::string present;
    for (const std::string_view feature :
         {"sse4_2", "popcnt", "bmi2", "avx2", "fma", "avx512f", "avx512bw", "avx512vl", "avx512_vbmi2",
          "avx512_vnni", "amx_int8", "asimd", "sve"}) {
        if (all.find(fmt::format(" {} ", feature)) == std::string::npos) continue;
        if (!present.empty()) present += ' ';
        present += feature;
    }
    found.push_back({"processor features", present.empty() ? "none of the known ones" : present,
                     "available to vector code; results do not depend on them"});

    context every_core = ctx;
    every_core.threads = 0;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const unsigned usable = every_core.thread_count();
    found.push_back({"cores", std::to_string(usable),
                     online == static_cast<long>(usable)
                         ? "all that are online"
                         : fmt::format("of {} online; this process is bound to them", online)});
    found.push_back({"threads", std::to_string(ctx.thread_count()),
                     ctx.threads == 0 ? "one per core, the default"
                     : ctx.threads == max_threads_within(ctx.memory_limit())
                         ? "as many as the memory budget has room for"
                         : "set by --threads"});
}

void look_at_memory(std::vector<finding>& found, const context& ctx) {
    const auto physical = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
    const std::uint64_t seen = memory_limit_seen();
    found.push_back({"memory limit", in_words(seen),
                     seen < physical
                         ? fmt::format("set by the control group; the machine has {}", in_words(physical))
                         : "the machine's memory; no control group sets a lower one"});
    found.push_back({"memory budget", in_words(ctx.memory_limit()),
                     ctx.memory_bytes == 0 ? "three quarters of the limit, the default" : "set by --memory"});
    rlimit address_space{};
    if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
        found.push_back({"address space", in_words(address_space.rlim_cur),
                         "limited by ulimit -v; mapped stores count against it"});
    }
}

void look_at_scratch(std::vector<finding>& found, const context& ctx) {
    std::error_code failure;
    const std::filesystem::path folder = ctx.scratch_folder();
    std::string note = ctx.scratch.empty() ? "the default" : "set by --tmp or TMPDIR";
    if (!std::filesystem::is_directory(folder, failure)) {
        found.push_back({"scratch folder", folder.string(), "is not a folder; set another with --tmp"});
        return;
    }
    if (access(folder.c_str(), W_OK | X_OK) != 0) note += "; NOT writable";
    found.push_back({"scratch folder", folder.string(), note});
    const auto space = std::filesystem::space(folder, failure);
    found.push_back({"scratch space", failure ? "unknown" : in_words(space.available),
                     "for builds that exceed their memory budget"});
}

/// What --device selects for an operation that has code for every place, or why it would be refused.
finding device_taken(const context& ctx) {
    context quiet = ctx;
    quiet.on_log = nullptr;
    const char* then = "used by operations that run on both; the results are the same bits";
    try {
        const chosen_device chosen = choose_device(quiet, "an operation");
        return {"device", chosen.name, fmt::format("{}: {}", chosen.reason, then)};
    } catch (const error& e) {
        return {"device", "none",
                fmt::format("{}; an operation that runs on both would be refused", e.what())};
    }
}

void look_at_gpus(std::vector<finding>& found, const context& ctx) {
    std::string why_none;
    const auto gpus = device::cuda_devices(why_none);
    if (gpus.empty()) {
        found.push_back({"CUDA", "none", why_none});
    } else {
        found.push_back({"CUDA driver", device::cuda_version_text(gpus[0].driver_version),
                         "the newest CUDA version it supports"});
    }
    for (const auto& gpu : gpus) {
        const auto runtime = device::check_cuda_runtime(gpu.ordinal);
        found.push_back({fmt::format("GPU cuda:{}", gpu.ordinal),
                         fmt::format("{}, {}, compute capability {}.{}", gpu.name, in_words(gpu.memory_bytes),
                                     gpu.compute_major, gpu.compute_minor),
                         (runtime.works ? "usable: " : "not usable: ") + runtime.note});
        if (!runtime.works) continue;
        const bool requested = ctx.gpu_memory_bytes != 0;
        found.push_back(
            {fmt::format("GPU memory cuda:{}", gpu.ordinal),
             fmt::format("{} of {} free", in_words(runtime.free_bytes), in_words(runtime.total_bytes)),
             fmt::format("budget {}, {}",
                         in_words(requested ? ctx.gpu_memory_bytes : runtime.free_bytes / 10 * 9),
                         requested ? "set by --gpu-memory" : "nine tenths of what is free")});
        found.push_back(
            {fmt::format("GPU kernels cuda:{}", gpu.ordinal), runtime.kernels, runtime.about_kernels});
    }
    if constexpr (has_cuda)
        found.push_back({"GPU code", device::compiled_architectures(),
                         "the compute capabilities that this program was compiled for"});
    found.push_back(device_taken(ctx));
}

void look_at_pdf_program(std::vector<finding>& found) {
    const pdf_program pdf = used_pdf_program();
    if (pdf.path.empty()) {
        found.push_back({"PDF files", "skipped", pdf.why_none});
    } else {
        found.push_back({"PDF files", pdf.path.string(), "turns them into text; it was found on PATH"});
    }
}

void look_at_program(std::vector<finding>& found) {
    found.push_back({"compiler", __VERSION__, fmt::format("C++{}", __cplusplus / 100 % 100)});
    found.push_back({"Unicode", text::unicode_version(), "a store records it; another version warns"});
    found.push_back({"store format", std::to_string(store_format_version), "read and written"});
    // Every primitive has an overload for every place of the program: otherwise it does not compile.
    found.push_back(
        {"primitives", has_cuda ? "cpu, cuda" : "cpu",
         has_cuda ? "sort, scan, reduce, select, histogram, merge, top-k, sparse products: on the CPU and on "
                    "NVIDIA GPUs"
                  : "sort, scan, reduce, select, histogram, merge, top-k, sparse products: on the CPU; this "
                    "program was built without CUDA"});
    // Every operation of the program and its guarantee (docs/architecture.md, the results contract).
    for (const char* operation :
         {"build", "dedup", "words", "ngrams", "pagerank", "spmv", "nearest", "topk", "search of topics"}) {
        found.push_back({fmt::format("operation {}", operation), "exact",
                         has_cuda ? "runs on cpu and cuda; the same bits on both"
                                  : "runs on cpu; the same bits for every thread count and memory budget"});
    }
    for (const char* operation : {"search", "count", "evaluate", "similar", "dictionary", "fuse", "export"}) {
        found.push_back({fmt::format("operation {}", operation), "exact",
                         "runs on cpu; the same bits for every thread count and memory budget"});
    }
}

}  // namespace

std::vector<finding> doctor(const context& ctx) {
    std::vector<finding> found;
    look_at_processor(found, ctx);
    look_at_memory(found, ctx);
    look_at_scratch(found, ctx);
    look_at_gpus(found, ctx);
    look_at_pdf_program(found);
    look_at_program(found);
    return found;
}

}  // namespace quern
