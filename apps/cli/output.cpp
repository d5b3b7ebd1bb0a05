// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "quern/base/error.hpp"
#include "signals.hpp"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t buffer_bytes = std::size_t{1} << 16;

void refuse_overwrite(const std::string& path, bool force, const std::vector<fs::path>& inputs) {
    std::error_code failure;
    const auto status = fs::status(path, failure);
    if (!fs::is_regular_file(status)) return;
    for (const fs::path& input : inputs) {
        if (input != "-" && fs::equivalent(path, input, failure) && !failure) {
            throw usage_error(fmt::format("{} is an input and would be overwritten", path));
        }
    }
    if (!force) throw usage_error(fmt::format("{} exists; --force replaces it", path));
}

}  // namespace

output::output(const std::string& path, bool force, const std::vector<fs::path>& inputs) {
    if (path.empty() || path == "-") return;
    refuse_overwrite(path, force, inputs);
    file_.emplace(path, force);
}

void output::write(std::string_view bytes) {
    if (file_) {
        file_->write(bytes);
        return;
    }
    buffer_ += bytes;
    if (buffer_.size() >= buffer_bytes) flush();
}

void output::flush() {
    if (file_) {
        file_->flush();
        return;
    }
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
            throw interrupted(signal);  // the reader may never read on
        }
    }
    buffer_.clear();
}

void output::commit() {
    flush();
    if (file_) file_->commit();
}

}  // namespace quern::cli
