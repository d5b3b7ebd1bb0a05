// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/folder_walk.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include "base/failure_kinds.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

namespace fs = std::filesystem;

std::pair<std::uint64_t, std::uint64_t> identity(const struct stat& status) {
    return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

/// Times before 1884 and after 2255 become these years: both clocks of the standard library can express them.
std::int64_t nanoseconds_of(const timespec& time) {
    constexpr std::int64_t earliest = -2'700'000'000, latest = 9'000'000'000;
    return std::clamp<std::int64_t>(time.tv_sec, earliest, latest) * 1'000'000'000 + time.tv_nsec;
}

file_state state_of(const struct stat& status) {
    return {static_cast<std::uint64_t>(status.st_size), static_cast<std::uint64_t>(status.st_ino),
            nanoseconds_of(status.st_mtim), nanoseconds_of(status.st_ctim)};
}

bool lies_in(const fs::path& path, const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

}  // namespace

std::optional<file_state> state_of(const fs::path& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) return {};
    return state_of(status);
}

bool is_kept_list(const fs::path& path) {
    if (path.filename() != kept_list_name) return false;
    std::string first(256, '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(first.data(), static_cast<std::streamsize>(first.size()));
    return first.find('"' + std::string(kept_list_format) + '"') != std::string::npos;
}

folder_walk::folder_walk(fs::path root, bool follow_links)
    : root_(std::move(root)), follow_links_(follow_links) {
    std::error_code failed;
    real_root_ = fs::canonical(root_, failed);
    if (failed) real_root_ = root_;
}

std::optional<folder_file> folder_walk::next(parsed_unit& notes) {
    if (!started_) {
        started_ = true;
        enter("", false, notes);
    }
    while (!levels_.empty()) {
        level& here = levels_.back();
        if (here.at == here.entries.size()) {
            levels_.pop_back();
            continue;
        }
        const entry found = std::move(here.entries[here.at++]);
        std::string relative = here.relative + found.name;
        fs::path path = root_ / relative;
        if (!takes(found, path, notes)) continue;
        if (found.file)
            return folder_file{std::move(relative), std::move(path), found.state.bytes, false, found.state};
        enter(std::move(relative), here.outside || found.link, notes);
    }
    return std::nullopt;
}

// Decided when the walk arrives here, not when the folder is listed: so "followed before" means earlier in document
// order, whatever order the file system lists.
bool folder_walk::takes(const entry& found, const fs::path& path, parsed_unit& notes) {
    const bool folder = found.name.ends_with('/');
    if (found.name.starts_with('.')) {
        ++notes.counts.skipped[folder ? "hidden folder" : "hidden file"];
        return false;
    }
    if (found.failed != 0) {
        // A broken link, or one that leads to itself, has no document.
        const int why = found.failed;
        if (found.link && (why == ENOENT || why == ENOTDIR || why == ELOOP)) {
            ++notes.counts.skipped["link that leads nowhere"];
        } else {
            reject(notes, path.native(), 0, "cannot be read: " + std::generic_category().message(why));
        }
        return false;
    }
    if (!folder && !found.file) {
        ++notes.counts.skipped["special file"];
        return false;
    }
    if (found.file && is_kept_list(path)) {
        ++notes.counts.skipped["list of kept documents"];
        return false;
    }
    return !found.link || takes_link(found, path, notes);
}

bool folder_walk::takes_link(const entry& found, const fs::path& path, parsed_unit& notes) {
    std::error_code failed;
    const fs::path target = fs::canonical(path, failed);
    if (failed || lies_in(target, real_root_) || lies_in(real_root_, target)) {
        ++notes.counts.skipped["link inside the folder"];
        return false;
    }
    if (!follow_links_) {
        ++notes.counts.skipped["link that leads out of the folder"];
        return false;
    }
    // Folders are recorded when they are entered.
    struct stat status {};
    if (found.file && stat(path.c_str(), &status) == 0 && !followed_.insert(identity(status)).second) {
        ++notes.counts.skipped["link followed before"];
        return false;
    }
    return true;
}

folder_walk::entry folder_walk::examine(const fs::path& path) {
    entry result;
    result.name = path.filename().native();
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) {
        result.failed = errno;
        return result;
    }
    result.link = S_ISLNK(status.st_mode);
    if (result.link && stat(path.c_str(), &status) != 0) {
        result.failed = errno;
        return result;
    }
    result.file = S_ISREG(status.st_mode);
    if (result.file) result.state = state_of(status);
    if (S_ISDIR(status.st_mode)) result.name += '/';
    return result;
}

void folder_walk::enter(std::string relative, bool outside, parsed_unit& notes) {
    const fs::path folder = root_ / relative;
    struct stat status {};
    if (outside && stat(folder.c_str(), &status) == 0 && !followed_.insert(identity(status)).second) {
        ++notes.counts.skipped["link followed before"];
        return;
    }
    level made{std::move(relative), {}, 0, outside};
    std::error_code failed;
    for (fs::directory_iterator each(folder, failed), end; !failed && each != end; each.increment(failed)) {
        made.entries.push_back(examine(each->path()));
    }
    if (failed && says_exhausted(failed.value()))
        throw io_error(folder.native(), "cannot list", failed.value());
    if (failed) reject(notes, folder.native(), 0, "cannot be listed: " + failed.message());
    std::sort(made.entries.begin(), made.entries.end(),
              [](const entry& a, const entry& b) { return a.name < b.name; });
    levels_.push_back(std::move(made));
}

std::uint64_t folder_bytes(const fs::path& root, bool follow_links) {
    constexpr std::size_t worth_counting = 200'000;
    folder_walk walk(root, follow_links);
    parsed_unit ignored;
    std::uint64_t sum = 0;
    for (std::size_t files = 0; const auto file = walk.next(ignored); ++files) {
        if (files == worth_counting) return 0;
        sum += file->bytes;
        ignored = {};
    }
    return sum;
}

}  // namespace quern::io
