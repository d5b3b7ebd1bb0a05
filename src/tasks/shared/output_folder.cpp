// SPDX-License-Identifier: Apache-2.0
#include "tasks/shared/output_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "quern/base/error.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/stop_words_file.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

bool is_section(const fs::path& name) {
    return name.extension() == manifests::section_extension;
}

bool is_written(const fs::path& name, const folder_kind& kind) {
    return is_section(name) || name == stop_words_file_name || name.extension() == ".log" ||
           std::ranges::find(kind.files, name.native()) != kind.files.end();
}

/// Without a section it is a user's folder with a file that happens to have a manifest's name.
void refuse_to_replace_other_things(const fs::path& folder, const folder_kind& kind) {
    bool sections = !kind.has_sections && kind.is_one(folder);
    if (kind.is_one(folder)) {
        for (const auto& entry : fs::directory_iterator(folder)) {
            const fs::path name = entry.path().filename();
            sections |= is_section(name);
            if (is_written(name, kind)) continue;
            throw usage_error(folder.string() + " also has " + name.string() + ", and is not replaced");
        }
    }
    if (!sections) {
        throw usage_error(fmt::format("{} is not a {}, and is not replaced", folder.string(), kind.name));
    }
}

}  // namespace

fs::path resolved_folder(const fs::path& folder) {
    const fs::path named = folder.has_filename() ? folder : folder.parent_path();
    std::error_code failure;
    fs::path path = fs::weakly_canonical(fs::absolute(named), failure);
    if (failure) throw io_error(folder.string(), "cannot be resolved", failure.value());
    return path;
}

void refuse_to_replace(const fs::path& folder, const folder_kind& kind, bool force) {
    std::error_code failed;
    const fs::file_status status = fs::status(folder, failed);
    if (status.type() == fs::file_type::none) {
        throw io_error(folder.string(), "cannot look there", failed.value());
    }
    if (!fs::exists(status)) return;
    if (!force && !kind.is_one(folder))
        throw usage_error(
            fmt::format("{} exists and is not a {} (expected a new name)", folder.string(), kind.name));
    if (!force) throw usage_error(folder.string() + " exists; --force replaces it");
    refuse_to_replace_other_things(folder, kind);
}

}  // namespace quern
