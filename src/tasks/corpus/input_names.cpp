// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/input_names.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "device/files/descriptor.hpp"
#include "io/corpus/folder_walk.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view any_folders = "**";

bool has_pattern(std::string_view name) {
    return name.find_first_of("*?[") != std::string_view::npos;
}

/// Everything that one pattern matches.
class matches {
  public:
    explicit matches(const fs::path& pattern) {
        for (const fs::path& part : pattern.relative_path()) {
            if (!part.empty()) parts_.push_back(part.native());
        }
        needs_folder_ = !pattern.has_filename();
        take(pattern.root_path(), 0);
        std::ranges::sort(found_, {},
                          [](const fs::path& path) -> const std::string& { return path.native(); });
        const auto repeated = std::ranges::unique(found_);
        found_.erase(repeated.begin(), repeated.end());
    }
    std::vector<fs::path>& found() { return found_; }

  private:
    /// What the parts from `at` on match below `folder`.
    void take(const fs::path& folder, std::size_t at) {
        if (at == parts_.size()) {
            std::error_code failed;
            if (!needs_folder_ || fs::is_directory(folder, failed)) found_.push_back(folder);
            return;
        }
        const std::string& part = parts_[at];
        if (part == any_folders) return take_below(folder, at);
        if (!has_pattern(part)) {
            std::error_code failed;
            if (fs::exists(fs::symlink_status(folder / part, failed))) take(folder / part, at + 1);
            return;
        }
        for (const fs::path& name : names_in(folder)) {
            if (::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0 && leads_on(folder / name, at))
                take(folder / name, at + 1);
        }
    }

    /// `**`: the folder and all folders below it; as the last part, the files there.
    void take_below(const fs::path& folder, std::size_t at) {
        const bool is_last = at + 1 == parts_.size();
        if (!is_last) take(folder, at + 1);
        for (const fs::path& name : names_in(folder)) {
            if (name.native().starts_with('.')) continue;
            const fs::path path = folder / name;
            std::error_code failed;
            const fs::file_status status = fs::symlink_status(path, failed);
            if (fs::is_directory(status)) {
                take_below(path, at);
            } else if (is_last && fs::is_regular_file(path, failed)) {
                found_.push_back(path);
            }
        }
    }

    bool leads_on(const fs::path& path, std::size_t at) const {
        std::error_code failed;
        return at + 1 == parts_.size() || fs::is_directory(path, failed);
    }

    static std::vector<fs::path> names_in(const fs::path& folder) {
        std::vector<fs::path> names;
        std::error_code failed;
        const fs::path listed = folder.empty() ? fs::path(".") : folder;
        fs::directory_iterator entry(listed, failed), end;
        for (; !failed && entry != end; entry.increment(failed)) names.push_back(entry->path().filename());
        const bool is_none =
            failed == std::errc::no_such_file_or_directory || failed == std::errc::not_a_directory;
        if (failed && !is_none) throw io_error(listed.string(), "cannot list", failed.value());
        return names;
    }

    std::vector<std::string> parts_;
    bool needs_folder_ = false;
    std::vector<fs::path> found_;
};

std::string bytes_of_list(const fs::path& file) {
    constexpr std::size_t piece_bytes = 1 << 16, max_bytes = std::size_t{1} << 30;
    const bool is_standard = file == "-";
    const std::string name = is_standard ? "standard input" : file.string();
    const descriptor opened =
        is_standard ? descriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) : open_file(file, O_RDONLY);
    if (opened.number() < 0) throw io_error(name, "cannot open", errno);
    std::string bytes;
    while (true) {
        const std::size_t had = bytes.size();
        bytes.resize(had + piece_bytes);
        const std::size_t got = read_some(opened.number(), std::span(bytes).subspan(had), name);
        bytes.resize(had + got);
        if (got == 0) return bytes;
        if (bytes.size() > max_bytes)
            throw usage_error(name + " has more than 1 GiB (expected the names of inputs, one on each line)");
    }
}

}  // namespace

std::vector<fs::path> expand_inputs(std::span<const fs::path> names) {
    std::vector<fs::path> paths;
    for (const fs::path& name : names) {
        std::error_code failed;
        if (name == "-" || !has_pattern(name.native()) || fs::exists(fs::symlink_status(name, failed))) {
            paths.push_back(name);
            continue;
        }
        matches of_name(name);
        std::vector<fs::path>& found = of_name.found();
        std::erase_if(found, io::is_kept_list);
        if (found.empty()) {
            throw usage_error(fmt::format(
                "no file matches {} (expected a file, a folder, or a pattern such as 'shards/*.jsonl')",
                name.string()));
        }
        std::ranges::move(found, std::back_inserter(paths));
    }
    return paths;
}

std::vector<fs::path> read_input_list(const fs::path& file) {
    const std::string bytes = bytes_of_list(file);
    const char end_of_name = bytes.find('\0') == std::string::npos ? '\n' : '\0';
    std::vector<fs::path> names;
    for (std::size_t begin = 0; begin < bytes.size();) {
        const std::size_t end = std::min(bytes.find(end_of_name, begin), bytes.size());
        std::string_view name = std::string_view(bytes).substr(begin, end - begin);
        if (end_of_name == '\n' && name.ends_with('\r')) name.remove_suffix(1);
        if (name == "-")
            throw usage_error(file.string() +
                              " lists -, which is standard input (expected files and folders)");
        if (!name.empty()) names.emplace_back(name);
        begin = end + 1;
    }
    if (names.empty()) throw usage_error(file.string() + " lists no inputs (expected one path on each line)");
    return expand_inputs(names);
}

}  // namespace quern
