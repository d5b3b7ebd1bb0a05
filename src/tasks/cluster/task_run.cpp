// SPDX-License-Identifier: Apache-2.0
// One task: inputs, lock, results, and the list that makes them count.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "base/ascii.hpp"
#include "device/devices.hpp"
#include "device/files/file_writer.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/cluster.hpp"
#include "tasks/cluster/job_checksum.hpp"
#include "tasks/cluster/job_files.hpp"
#include "tasks/store/manifest.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

manifests::kind kind_of_results(std::string_view name) {
    return {name, "quern results", 1, "is not a list of results of quern",
            "is not the JSON of a list of results"};
}

/// Names come from files, too: none leads out of the folder.
bool is_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    });
}

/// A lock on the whole file that ends with the open file: of this process, and not of its children.
struct flock whole_file_lock() {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
}

fs::path lock_file(const fs::path& job, std::uint32_t number) {
    return job / job_files::states / (job_files::number_text(number) + ".running");
}

std::string text_of_file(const fs::path& file) {
    try {
        std::string text(io::mapped_file(file).text());
        while (text.ends_with('\n')) text.pop_back();
        return text;
    } catch (const io_error& failed) {
        if (failed.code() == ENOENT) return {};  // removed meanwhile
        throw;
    }
}

/// The list that makes results count.
void write_list(const task_file& task, json files, json ran) {
    const fs::path path = job_files::result_list(task.job, task.number);
    io::atomic_file list(path, io::existing::replace);
    list.append(
        manifests::text_of(kind_of_results(path.filename().native()),
                           {{"task", task.checksum}, {"files", std::move(files)}, {"ran", std::move(ran)}}));
    list.commit();
}

std::string host_name() {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return host.data();
}

/// Of all threads of this process.
double processor_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The GPUs of a device such as "cuda:0,1", each by its name and its UUID, which is the same in every process.
json gpus_of(std::string_view device) {
    json gpus = json::array();
    constexpr std::string_view cuda = "cuda:";
    if (!device.starts_with(cuda)) return gpus;
    std::string why_none;
    const auto found = device::cuda_devices(why_none);
    for (std::string_view rest = device.substr(cuda.size()); !rest.empty();) {
        std::size_t ordinal = found.size();
        std::from_chars(rest.data(), rest.data() + rest.size(), ordinal);
        if (ordinal < found.size())
            gpus.push_back({{"name", found[ordinal].name}, {"uuid", found[ordinal].uuid}});
        rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
    }
    return gpus;
}

/// "node-7, cuda:0 (NVIDIA H200, GPU-8fc1…), 3.25 s"
std::string text_of_ran(const json& ran) {
    std::string gpus;
    for (const json& gpu : ran.at("gpus"))
        gpus += fmt::format("{}{}, {}", gpus.empty() ? "" : "; ", gpu.at("name").get<std::string>(),
                            gpu.at("uuid").get<std::string>());
    const std::string device = ran.at("device");
    const auto seconds = ran.at("seconds").get<double>();
    const std::string written =
        seconds < 100 ? fmt::format("{:.3g}", seconds) : fmt::format("{:.0f}", seconds);
    return fmt::format("{}{}{}{}, {} s", ran.at("host").get<std::string>(), device.empty() ? "" : ", ",
                       device, gpus.empty() ? "" : " (" + gpus + ")", written);
}

void note_failure(const task_file& file, std::string_view why) noexcept {
    try {
        replace_file(job_files::failure(file.job, file.number), fmt::format("{}\n", why));
    } catch (...) {  // the folder cannot be written: the exit code says that the task failed
        return;
    }
}

}  // namespace

namespace job_files {

std::string number_text(std::uint32_t number) {
    return fmt::format("{:04}", number);
}
fs::path result_list(const fs::path& job, std::uint32_t number) {
    return job / results / (number_text(number) + ".json");
}
fs::path failure(const fs::path& job, std::uint32_t number) {
    return job / states / (number_text(number) + ".failed");
}
fs::path ended(const fs::path& job, std::uint32_t number) {
    return job / states / (number_text(number) + ".ended");
}
fs::path log(const fs::path& job, std::uint32_t number) {
    return job / logs / (number_text(number) + ".log");
}

std::optional<listed_results> results_of(const fs::path& job, std::uint32_t number,
                                         const std::string& checksum) {
    const fs::path list = result_list(job, number);
    std::error_code failed;
    if (!fs::exists(list, failed)) return {};
    listed_results found;
    manifests::read(list.parent_path(), kind_of_results(list.filename().native()), [&](const json& members) {
        found.task = members.at("task");
        for (const auto& [name, each] : members.at("files").items()) {
            if (!is_name(name)) throw std::runtime_error(fmt::format("lists a file '{}'", name));
            found.files[name] = {file_of_result(job, number, name), each.at("bytes"),
                                 manifests::from_hex(each.at("checksum"))};
        }
        found.ran = members.at("ran").dump();
        found.where = text_of_ran(members.at("ran"));
    });
    if (found.task != checksum) return {};
    return found;
}

std::optional<file_fault> first_fault(std::span<const job_input> files, bool every_byte, const context& ctx) {
    std::vector<fs::path> paths;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const fs::path& path = paths.emplace_back(files[i].path);
        std::error_code failed;
        const std::uint64_t bytes = fs::file_size(path, failed);
        if (failed) return file_fault{i, fmt::format("{}: {}", path.string(), failed.message())};
        if (bytes != files[i].bytes)
            return file_fault{
                i, fmt::format("{} has {} bytes instead of {}", path.string(), bytes, files[i].bytes)};
    }
    if (!every_byte) return {};
    const std::vector<std::uint64_t> found = checksums_of_files(paths, ctx);
    for (std::size_t i = 0; i < files.size(); ++i)
        if (found[i] != files[i].checksum)
            return file_fault{i, paths[i].string() + " does not match its checksum"};
    return {};
}

std::string fault_of(const listed_results& listed, bool every_byte, const context& ctx) {
    std::vector<job_input> files;
    for (const auto& [name, file] : listed.files) files.push_back(file);
    const auto fault = first_fault(files, every_byte, ctx);
    return fault ? fault->why : std::string();
}

void remove_results(const fs::path& job, std::uint32_t number) {
    const task_file task = read_task(file_of_task(job, number));
    const auto listed = results_of(job, number, task.checksum);
    if (!listed || listed->files.empty()) return;
    write_list(task, json::object(), json::parse(listed->ran));
    std::error_code ignored;  // what stays is not listed
    for (const auto& [name, file] : listed->files) fs::remove(file.path, ignored);
}

task_lock::task_lock(const fs::path& job, std::uint32_t number)
    : file_(lock_file(job, number)), handle_(open_file(file_, O_RDWR | O_CREAT)) {
    struct flock lock = whole_file_lock();
    if (::fcntl(handle_.number(), F_OFD_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES)) {
        const std::string where = text_of_file(file_);
        file_.clear();
        throw usage_error(fmt::format("task {} is running{}{} (expected that it ends first)", number,
                                      where.empty() ? "" : " on ", where));
    }
    const std::string text = fmt::format("{}, process {}\n", host_name(), ::getpid());
    if (::ftruncate(handle_.number(), 0) != 0) throw io_error(file_.string(), "cannot write", errno);
    write_all(handle_, text, file_);
}

task_lock::~task_lock() {
    std::error_code ignored;
    if (!file_.empty()) fs::remove(file_, ignored);
}

std::optional<std::string> task_lock::holder(const fs::path& job, std::uint32_t number) {
    const fs::path file = lock_file(job, number);
    const descriptor handle(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!handle.is_open()) return {};
    struct flock lock = whole_file_lock();
    lock.l_type = F_RDLCK;
    if (::fcntl(handle.number(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK) return {};
    return text_of_file(file);
}

}  // namespace job_files

fs::path file_of_result(const fs::path& share, std::uint32_t number, std::string_view name) {
    return share / job_files::results / fmt::format("{}.{}", job_files::number_text(number), name);
}

struct task_results::state {
    struct made {
        std::string name;
        io::atomic_file file;
        job_files::job_checksum checksum = {};
        std::uint64_t bytes = 0;

        made(std::string as, const fs::path& path) : name(std::move(as)), file(path, io::existing::replace) {}
    };
    const task_file& task;
    std::vector<std::unique_ptr<made>> files = {};
    bool ends_job = false;
    std::string device = "cpu";
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    double processor_begin = processor_seconds();
};

task_results::task_results(const task_file& task) : state_(std::make_unique<state>(state{task})) {}
task_results::~task_results() = default;

void task_results::begin(std::string_view name) {
    const task_file& task = state_->task;
    if (!is_name(name)) throw usage_error(fmt::format("'{}' cannot be the name of a result", name));
    state_->files.push_back(
        std::make_unique<state::made>(std::string(name), file_of_result(task.job, task.number, name)));
}

void task_results::append(std::string_view bytes) {
    state::made& last = *state_->files.back();
    last.file.append(bytes);
    last.checksum.add(bytes);
    last.bytes += bytes.size();
}

void task_results::ran_on(std::string device) {
    state_->device = std::move(device);
}

const std::string& task_results::device() const {
    return state_->device;
}

void task_results::end_job() {
    state_->ends_job = true;
}

void task_results::commit() {
    const task_file& task = state_->task;
    std::vector<io::atomic_file*> files;
    json listed = json::object();
    for (const auto& made : state_->files) {
        files.push_back(&made->file);
        listed[made->name] = {{"bytes", made->bytes}, {"checksum", manifests::hex(made->checksum.value())}};
    }
    io::atomic_file::commit_together(files);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - state_->begin;
    write_list(task, std::move(listed),
               {{"host", host_name()},
                {"device", state_->device},
                {"gpus", gpus_of(state_->device)},
                {"seconds", taken.count()},
                {"processor_seconds", processor_seconds() - state_->processor_begin}});
    if (state_->ends_job)
        replace_file(job_files::ended(task.job, task.number), fmt::format("{}\n", task.task.phase));
}

std::optional<unsigned> last_needed_phase(const fs::path& share) {
    std::optional<unsigned> last;
    std::error_code failed;  // a plan that is being made has no such folder
    for (const auto& entry : fs::directory_iterator(share / job_files::states, failed)) {
        if (entry.path().extension() != ".ended") continue;
        const std::string text = text_of_file(entry.path());
        unsigned phase = 0;
        const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), phase);
        if (fault != std::errc() || end != text.data() + text.size())
            throw damaged_store(entry.path().string(), "end of the job", "is not the number of a phase");
        last = std::min(last.value_or(phase), phase);
    }
    return last;
}

namespace {

bool is_unneeded(const job_task& task, std::optional<unsigned> last_phase) {
    return task.if_needed && last_phase && task.phase > *last_phase;
}

/// The results of earlier tasks are inputs, too: every byte of those that the task names, or of all.
void check_earlier(const task_file& file, const context& ctx) {
    const auto read = file.task.parameters.find(std::string(job_files::reads));
    std::vector<job_input> files;
    std::vector<std::uint32_t> of_task;
    for (const std::uint32_t number : file.task.after) {
        const task_file earlier = read_task(file_of_task(file.job, number));
        const auto results = job_files::results_of(file.job, number, earlier.checksum);
        if (!results)
            throw usage_error(
                fmt::format("task {} needs the results of task {}, which is not done", file.number, number));
        for (const auto& [name, each] : results->files) {
            if (read != file.task.parameters.end() &&
                (' ' + read->second + ' ').find(' ' + name + ' ') == std::string::npos)
                continue;
            files.push_back(each);
            of_task.push_back(number);
        }
    }
    if (const auto fault = job_files::first_fault(files, true, ctx))
        throw damaged_store(job_files::result_list(file.job, of_task[fault->file]).string(), "results",
                            fault->why);
}

bool is_done(const task_file& file, const context& ctx) {
    try {
        const auto results = job_files::results_of(file.job, file.number, file.checksum);
        return results && fault_of(*results, true, ctx).empty();
    } catch (const damaged_store&) {  // it is made again
        return false;
    }
}

/// The lock of a task; null if the process that had it has done the task. A process needs a moment to stop, so a task
/// that is restarted at once waits for it.
std::unique_ptr<job_files::task_lock> lock_of(const task_file& file, const context& ctx) {
    constexpr std::chrono::milliseconds patience{2000}, between_tries{20};
    const auto last = std::chrono::steady_clock::now() + patience;
    for (;;) {
        try {
            return std::make_unique<job_files::task_lock>(file.job, file.number);
        } catch (const usage_error&) {
            ctx.check_stop();
            if (is_done(file, ctx)) return nullptr;
            if (std::chrono::steady_clock::now() >= last) throw;
        }
        std::this_thread::sleep_for(between_tries);
    }
}

}  // namespace

task_outcome run_task(const task_file& file, const context& ctx,
                      const std::function<void(task_results&)>& work) {
    if (file.task.if_needed && is_unneeded(file.task, last_needed_phase(file.job)))
        return task_outcome::unneeded;
    if (is_done(file, ctx)) return task_outcome::was_done;
    std::error_code ignored;
    const std::unique_ptr<job_files::task_lock> lock = lock_of(file, ctx);
    if (!lock) return task_outcome::was_done;
    fs::remove(job_files::failure(file.job, file.number), ignored);
    try {
        task_results results(file);  // its clock begins
        job_files::check_inputs(file.task.inputs, ctx);
        check_earlier(file, ctx);
        work(results);
        results.commit();
    } catch (const interrupted&) {
        throw;
    } catch (const std::exception& e) {
        note_failure(file, e.what());
        throw;
    }
    return task_outcome::done;
}

std::uint64_t job_status::count(task_state state) const {
    return static_cast<std::uint64_t>(std::ranges::count(states, state));
}

job_status status_of(const fs::path& share) {
    const job_plan plan = read_plan(share);
    const context quiet;
    const std::optional<unsigned> last_phase = last_needed_phase(share);
    std::optional<unsigned> current_phase;  // the first with a task that is not done
    job_status status;
    for (std::uint32_t i = 0; i < plan.tasks.size(); ++i) {
        task_state& state = status.states.emplace_back(task_state::waiting);
        const std::string checksum = job_files::checksum_of(plan.request, plan.tasks[i]);
        try {
            const auto results = job_files::results_of(share, i, checksum);
            if (results && fault_of(*results, false, quiet).empty()) {
                state = task_state::done;
                status.notes[i] = results->where;
                continue;
            }
        } catch (const damaged_store& e) {
            status.notes[i] = e.what();
        }
        if (is_unneeded(plan.tasks[i], last_phase)) {
            state = task_state::unneeded;
            continue;
        }
        if (!current_phase) current_phase = plan.tasks[i].phase;
        if (plan.tasks[i].if_needed && plan.tasks[i].phase > *current_phase) state = task_state::possible;
        if (const auto holder = job_files::task_lock::holder(share, i)) {
            state = task_state::running;
            status.notes[i] = *holder;
        } else if (fs::exists(job_files::failure(share, i))) {
            state = task_state::failed;
            status.notes[i] = text_of_file(job_files::failure(share, i));
        }
    }
    return status;
}

void require_finished(const job_plan& plan, const fs::path& share, const context& ctx) {
    const std::optional<unsigned> last_phase = last_needed_phase(share);
    std::vector<std::uint32_t> missing, of_task;
    std::vector<job_input> files;
    for (std::uint32_t i = 0; i < plan.tasks.size(); ++i) {
        if (is_unneeded(plan.tasks[i], last_phase)) continue;
        const std::string checksum = job_files::checksum_of(plan.request, plan.tasks[i]);
        const auto results = job_files::results_of(share, i, checksum);
        if (!results) {
            missing.push_back(i);
            continue;
        }
        for (const auto& [name, each] : results->files) {
            files.push_back(each);
            of_task.push_back(i);
        }
    }
    if (!missing.empty())
        throw usage_error(
            fmt::format("{} of {} tasks are not done, the first of them task {}; quern resume {} runs them",
                        missing.size(), plan.tasks.size(), missing.front(), share.string()));
    if (const auto fault = job_files::first_fault(files, true, ctx))
        throw damaged_store(job_files::result_list(share, of_task[fault->file]).string(), "results",
                            fault->why + "; quern resume runs the task again");
    std::set<fs::path> checked;
    std::vector<job_input> inputs;
    for (const job_task& task : plan.tasks)
        for (const job_input& input : task.inputs)
            if (checked.insert(input.path).second) inputs.push_back(input);
    job_files::check_inputs(inputs, ctx);
}

}  // namespace quern
