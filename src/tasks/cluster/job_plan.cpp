// SPDX-License-Identifier: Apache-2.0
// Reads and writes plans and tasks. Whatever comes from a file is checked: a folder that many machines write may hold anything.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/failure_kinds.hpp"
#include "base/file_status.hpp"
#include "base/hash.hpp"
#include "device/files/file_writer.hpp"
#include "io/files/mapped_file.hpp"
#include "io/files/name_lock.hpp"
#include "quern/base/error.hpp"
#include "quern/base/parse.hpp"
#include "quern/tasks/cluster.hpp"
#include "tasks/cluster/job_checksum.hpp"
#include "tasks/cluster/job_files.hpp"
#include "tasks/dedup/kept_request.hpp"
#include "tasks/store/manifest.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view plan_format = "quern plan", task_format = "quern task";
constexpr unsigned job_version = 1;

manifests::kind kind_of_plan() {
    return {job_files::plan, plan_format, job_version, "is not a plan of quern", "is not the JSON of a plan"};
}
manifests::kind kind_of_task(std::string_view name) {
    return {name, task_format, job_version, "is not a task of quern", "is not the JSON of a task"};
}

json to_json(const job_request& request) {
    json arguments = json::array();
    for (const std::string& argument : request.arguments) arguments.push_back(json_of_bytes(argument));
    return {{"command", request.command},
            {"arguments", std::move(arguments)},
            {"folder", json_of_bytes(request.folder.native())},
            {"shards", request.shards}};
}

job_request request_of(const json& member) {
    job_request request;
    request.command = member.at("command");
    for (const json& argument : member.at("arguments")) request.arguments.push_back(bytes_of_json(argument));
    request.folder = bytes_of_json(member.at("folder"));
    if (!request.folder.is_absolute()) throw std::runtime_error("has a folder that is not absolute");
    request.shards = member.at("shards");
    return request;
}

json to_json(const job_task& task) {
    json inputs = json::array();
    for (const auto& [path, bytes, checksum] : task.inputs)
        inputs.push_back({{"path", json_of_bytes(path.native())},
                          {"bytes", bytes},
                          {"checksum", manifests::hex(checksum)}});
    return {{"phase", task.phase},           {"kind", task.kind},
            {"after", task.after},           {"inputs", std::move(inputs)},
            {"parameters", task.parameters}, {"if_needed", task.if_needed}};
}

/// `number`: of the task; it can only wait for earlier ones.
job_task task_of(const json& member, std::uint32_t number) {
    job_task task;
    task.phase = member.at("phase");
    task.kind = member.at("kind");
    for (const json& earlier : member.at("after")) {
        task.after.push_back(earlier);
        if (task.after.back() >= number) throw std::runtime_error("waits for a task that is not earlier");
    }
    for (const json& input : member.at("inputs"))
        task.inputs.push_back(
            {bytes_of_json(input.at("path")), input.at("bytes"), manifests::from_hex(input.at("checksum"))});
    for (const auto& [name, value] : member.at("parameters").items()) task.parameters[name] = value;
    task.if_needed = member.at("if_needed");
    return task;
}

void require_this_version(const fs::path& file, const json& members) {
    const std::string version = members.at("quern");
    if (version != QUERN_VERSION)
        throw usage_error(
            fmt::format("{} is of Quern {}, but this is Quern {} (expected the same version for "
                        "the plan and every task)",
                        file.string(), version, QUERN_VERSION));
}

/// As manifests::read(), but a usage_error stays one.
void read_checked(const fs::path& folder, const manifests::kind& kind,
                  const std::function<void(const json&)>& take) {
    json members;
    manifests::read(folder, kind, [&](const json& read) { members = read; });
    const fs::path file = folder / kind.file;
    try {
        require_this_version(file, members);
        take(members);
    } catch (const json::exception&) {
        throw damaged_store(file.string(), "manifest", kind.not_json);
    } catch (const usage_error&) {
        throw;
    } catch (const std::runtime_error& e) {
        throw damaged_store(file.string(), "manifest", e.what());
    }
}

std::string text_of_plan(const job_plan& plan) {
    json tasks = json::array();
    for (const job_task& task : plan.tasks) tasks.push_back(to_json(task));
    return manifests::text_of(
        kind_of_plan(),
        {{"quern", QUERN_VERSION}, {"request", to_json(plan.request)}, {"tasks", std::move(tasks)}});
}

std::string text_of_task(const job_request& request, const job_task& task, std::uint32_t number) {
    return manifests::text_of(kind_of_task(""), {{"quern", QUERN_VERSION},
                                                 {"number", number},
                                                 {"request", to_json(request)},
                                                 {"task", to_json(task)}});
}

/// Throws usage_error unless the folder has nothing but what an interrupted plan leaves.
void refuse_other_files(const fs::path& share) {
    constexpr std::string_view folders[] = {job_files::tasks, job_files::results, job_files::states,
                                            job_files::logs};
    for (const auto& entry : fs::directory_iterator(share)) {
        const std::string name = entry.path().filename();
        const bool is_ours = name.starts_with('.') || name.starts_with(job_files::plan) ||
                             std::ranges::find(folders, name) != std::end(folders);
        if (!is_ours)
            throw usage_error(fmt::format("{} has other files, such as {} (expected a new or empty folder)",
                                          share.string(), name));
    }
}

/// Why another plan is not the same.
std::string difference(const job_plan& before, const job_plan& now) {
    if (before.request != now.request)
        return fmt::format("has the plan of another command or other options (quern {} in {}, {} shards)",
                           before.request.command, before.request.folder.string(), before.request.shards);
    return "has a plan of the same command for other inputs: a file was changed";
}

}  // namespace

std::uint64_t job_task::number(const std::string& name) const {
    const auto at = parameters.find(name);
    if (at == parameters.end()) throw usage_error(fmt::format("a task has no parameter {}", name));
    return parse_integer(at->second, 0, UINT64_MAX);
}

std::vector<job_input> describe_inputs(std::span<const fs::path> files, const context& ctx) {
    std::vector<job_input> inputs;
    for (const fs::path& file : files) {
        const fs::file_status status = file_status_of(file);
        if (!fs::exists(status)) throw usage_error(file.string() + ": no such file");
        if (!fs::is_regular_file(status))
            throw usage_error(file.string() +
                              ": not a file, so other processes cannot read it (expected files and folders)");
        std::error_code failed;
        const std::uint64_t bytes = fs::file_size(file, failed);
        if (failed) throw io_error(file.string(), "cannot open", failed.value());
        inputs.push_back({file, bytes, 0});
    }
    const std::vector<std::uint64_t> checksums = job_files::checksums_of_files(files, ctx);
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].checksum = checksums[i];
    return inputs;
}

void write_plan(const job_plan& plan, const fs::path& share) {
    std::error_code failed;
    if (fs::exists(share, failed) && !fs::is_directory(share, failed))
        throw usage_error(share.string() + " is not a folder (expected a folder that all workers see)");
    if (!fs::exists(share, failed)) {
        require_folder(parent_of(share));
        job_files::make_folder(share);
    }
    const io::name_lock lock(share / job_files::plan);
    const std::string text = text_of_plan(plan);
    if (fs::exists(share / job_files::plan, failed)) {
        if (io::mapped_file(share / job_files::plan).text() == text) return;
        throw usage_error(fmt::format("{} {} (expected another folder, or the same command again)",
                                      share.string(), difference(read_plan(share), plan)));
    }
    refuse_other_files(share);
    for (const std::string_view name :
         {job_files::tasks, job_files::results, job_files::states, job_files::logs})
        job_files::make_folder(share / name);
    for (std::uint32_t i = 0; i < plan.tasks.size(); ++i)
        replace_file(file_of_task(share, i), text_of_task(plan.request, plan.tasks[i], i));
    replace_file(share / job_files::plan, text);
}

job_plan read_plan(const fs::path& share) {
    std::error_code failed;
    if (!fs::exists(share / job_files::plan, failed))
        throw usage_error(
            fmt::format("{} has no plan.json (expected the folder that was given to quern plan as --share)",
                        share.string()));
    job_plan plan;
    read_checked(share, kind_of_plan(), [&](const json& members) {
        plan.request = request_of(members.at("request"));
        for (const json& task : members.at("tasks")) {
            plan.tasks.push_back(task_of(task, static_cast<std::uint32_t>(plan.tasks.size())));
            if (plan.tasks.size() > 1 && plan.tasks.back().phase < plan.tasks[plan.tasks.size() - 2].phase)
                throw std::runtime_error("has tasks whose phases decrease");
        }
    });
    return plan;
}

task_file read_task(const fs::path& file) {
    std::error_code failed;
    if (!fs::is_regular_file(file, failed))
        throw usage_error(file.string() + ": no such file (expected a task, DIR/tasks/NNNN.json)");
    const fs::path path = fs::absolute(file);
    const std::string name = path.filename();
    task_file read;
    read.job = path.parent_path().parent_path();
    read_checked(path.parent_path(), kind_of_task(name), [&](const json& members) {
        read.number = members.at("number");
        if (name != file_of_task({}, read.number).filename())
            throw std::runtime_error(fmt::format("is task {} under another name", read.number));
        read.request = request_of(members.at("request"));
        read.task = task_of(members.at("task"), read.number);
    });
    read.checksum = job_files::checksum_of(read.request, read.task);
    return read;
}

fs::path file_of_task(const fs::path& share, std::uint32_t number) {
    return share / job_files::tasks / (job_files::number_text(number) + ".json");
}

namespace job_files {

void make_folder(const fs::path& folder) {
    std::error_code failed;
    fs::create_directory(folder, failed);
    if (failed) throw io_error(folder.string(), "cannot create the folder", failed.value());
}

std::string checksum_of(const job_request& request, const job_task& task) {
    return manifests::hex(hash64(
        json{{"quern", QUERN_VERSION}, {"request", to_json(request)}, {"task", to_json(task)}}.dump()));
}

void check_inputs(std::span<const job_input> inputs, const context& ctx) {
    const auto refuse = [](const job_input& input) {
        throw usage_error(
            fmt::format("{} was changed since the plan (expected its {} bytes of then); make a plan in "
                        "another folder",
                        input.path.string(), input.bytes));
    };
    std::vector<fs::path> paths;
    for (const job_input& input : inputs) {
        const fs::path& path = paths.emplace_back(input.path);
        std::error_code failed;
        const std::uint64_t found = fs::file_size(path, failed);
        if (failed && !says_missing(failed.value()))
            throw io_error(path.string(), "cannot open", failed.value());
        if (failed)
            throw usage_error(
                fmt::format("{}: {}; the plan reads it (expected the same files on every machine)",
                            path.string(), failed.message()));
        if (found != input.bytes) refuse(input);
    }
    const std::vector<std::uint64_t> found = checksums_of_files(paths, ctx);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (found[i] != inputs[i].checksum) refuse(inputs[i]);
}

}  // namespace job_files
}  // namespace quern
