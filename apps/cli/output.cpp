// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/base/lost_pages.hpp"
#include "quern/base/terminal_text.hpp"
#include "signals.hpp"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t buffer_bytes = std::size_t{1} << 16;

}  // namespace

void check_destination(const destination& to, bool replace) {
    const fs::path& path = to.path;
    if (path.empty() || path == "-") return;
    if (to.is_folder) {
        check_output_folder(path);
        return;
    }
    std::error_code failure;
    const bool is_device = path.native().starts_with("/dev/");  // also /dev/stderr, whatever file it is
    if (!replace && !is_device && fs::is_regular_file(path, failure))
        throw usage_error(fmt::format("{} exists; --force replaces it", path.string()));
    check_output(path, {.replace = replace, .form = to.form, .written = to.written});
}

output::output() : is_terminal_(isatty(STDOUT_FILENO) != 0) {}

output::output(const destination& to, bool replace, const context& ctx) : output() {
    if (to.path.empty() || to.path == "-") return;
    check_destination(to, replace);
    file_.emplace(to.path, output_options{.replace = replace, .form = to.form, .written = to.written}, ctx);
}

void output::write(std::string_view bytes) {
    if (!file_ && is_terminal_) return write_shown(for_terminal(bytes, terminal_lines::many));
    write_shown(bytes);
}

void output::write_shown(std::string_view text) {
    if (file_) {
        file_->write(text);
        return;
    }
    buffer_ += text;
    if (buffer_.size() >= buffer_bytes) flush();
}

void output::flush() {
    if (file_) {
        file_->flush();
        return;
    }
    check_mapped_files();
    if (before_terminal_ && !buffer_.empty()) std::exchange(before_terminal_, {})();
    std::string_view rest = buffer_;
    while (!rest.empty()) {
        const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
        if (written >= 0) {
            rest.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EPIPE) {
            throw closed_pipe{};
        } else if (errno != EINTR) {
            throw io_error("standard output", "cannot write", errno);
        } else if (const int signal = stop_signal().load(); signal != 0) {
            throw interrupted(signal);  // the reader may never continue
        }
    }
    buffer_.clear();
}

void output::before_terminal(std::function<void()> call) {
    if (to_standard_output() && isatty(STDOUT_FILENO) != 0) before_terminal_ = std::move(call);
}

void output::commit() {
    output* const alone[] = {this};
    commit_together(alone);
}

void output::commit_together(std::span<output* const> outputs) {
    std::vector<output_file*> files;
    for (output* const to : outputs) {
        if (to == nullptr) continue;
        to->flush();
        if (to->file_) files.push_back(&*to->file_);
    }
    // Standard output alone was checked when it was written; a server answers to its address from then on.
    if (!files.empty()) output_file::commit_together(files);
}

}  // namespace quern::cli
