// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "device/files/file_writer.hpp"
#include "tasks/build/stages.hpp"
#include "tasks/store/layout.hpp"

namespace quern {

void add_outcome(store_info& info, const stage_outcome& outcome) {
    for (const store_section& section : outcome.sections) {
        std::erase_if(info.sections, [&](const store_section& old) { return old.name == section.name; });
        info.sections.push_back(section);
    }
    if (outcome.thesaurus) info.thesaurus = outcome.thesaurus;
    if (outcome.vectors.dimensions != 0) info.vectors = outcome.vectors;
}

void add_outcome(const std::filesystem::path& store, const stage_outcome& outcome) {
    store_info info = store_layout::read_manifest(store);
    add_outcome(info, outcome);
    const std::filesystem::path manifest = store / store_layout::manifest;
    std::filesystem::path fresh = manifest;
    fresh += ".new";
    write_file(fresh, store_layout::manifest_text(info));
    std::filesystem::rename(fresh, manifest);
}

}  // namespace quern
