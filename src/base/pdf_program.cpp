// SPDX-License-Identifier: Apache-2.0
#include "quern/base/pdf_program.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <system_error>
#include <utility>

namespace quern {
namespace {

struct setting {
    std::mutex mutex;
    pdf_program used{{}, "install poppler-utils to read them"};
};

setting& the_setting() {
    static setting only;
    return only;
}

}  // namespace

void use_pdf_program(std::filesystem::path program, std::string why_none) {
    setting& here = the_setting();
    const std::lock_guard lock(here.mutex);
    here.used = {std::move(program), std::move(why_none)};
}

pdf_program used_pdf_program() {
    setting& here = the_setting();
    const std::lock_guard lock(here.mutex);
    return here.used;
}

std::filesystem::path find_program(std::string_view name, std::string_view search_path) {
    while (!search_path.empty()) {
        const std::size_t end = std::min(search_path.find(':'), search_path.size());
        const std::string_view folder = search_path.substr(0, end);
        search_path.remove_prefix(std::min(end + 1, search_path.size()));
        if (!folder.starts_with('/')) continue;
        std::filesystem::path found = std::filesystem::path(folder) / name;
        std::error_code failed;
        if (std::filesystem::is_regular_file(found, failed) && access(found.c_str(), X_OK) == 0) return found;
    }
    return {};
}

}  // namespace quern
