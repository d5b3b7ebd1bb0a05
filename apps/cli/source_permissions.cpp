// SPDX-License-Identifier: Apache-2.0
#include "source_permissions.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <system_error>
#include <utility>

namespace quern::cli {
namespace {

namespace fs = std::filesystem;

constexpr unsigned of_group = 070, of_others = 007;

/// The classes of users that may not read the files: of_group, of_others, both or neither.
class walk {
  public:
    explicit walk(bool follow_links) : follow_links_(follow_links) {}

    void look(const fs::path& path) {
        struct stat status {};
        const int failed_look = path == "-" ? fstat(STDIN_FILENO, &status) : stat(path.c_str(), &status);
        if (failed_look != 0) return;
        // A folder is open to users who may traverse it.
        const bool folder = S_ISDIR(status.st_mode);
        if (!folder && !S_ISREG(status.st_mode)) return;
        if ((status.st_mode & (folder ? 0010U : 0040U)) == 0) closed_to_ |= of_group;
        if ((status.st_mode & (folder ? 0001U : 0004U)) == 0) closed_to_ |= of_others;
        if (!folder || is_over() || !seen_.emplace(status.st_dev, status.st_ino).second) return;
        std::error_code failed;
        for (fs::directory_iterator entry(path, failed), end; !failed && entry != end;
             entry.increment(failed)) {
            if (is_over()) return;
            if (entry->path().filename().native().starts_with('.')) continue;  // not read
            std::error_code unknown;
            if (follow_links_ || !entry->is_symlink(unknown)) look(entry->path());
        }
    }
    bool is_over() const { return closed_to_ == (of_group | of_others); }
    unsigned closed_to() const { return closed_to_; }

  private:
    bool follow_links_;
    unsigned closed_to_ = 0;
    std::set<std::pair<dev_t, ino_t>> seen_;  // folders: links may form cycles
};

}  // namespace

void keep_private(std::span<const fs::path> inputs, bool follow_links) {
    walk all(follow_links);
    for (const fs::path& input : inputs) {
        if (all.is_over()) break;
        if (!input.empty()) all.look(input);
    }
    if (all.closed_to() != 0) umask(umask(0) | all.closed_to());
}

private_files::private_files() : before_(umask(of_group | of_others)) {}

private_files::~private_files() {
    umask(static_cast<mode_t>(before_));
}

}  // namespace quern::cli
