// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/stages.hpp"

namespace quern {

void add_outcome(store_info& info, const stage_outcome& outcome) {
    for (const store_section& section : outcome.sections) {
        std::erase_if(info.sections, [&](const store_section& old) { return old.name == section.name; });
        info.sections.push_back(section);
    }
    if (outcome.thesaurus) info.thesaurus = outcome.thesaurus;
    if (outcome.vectors.dimensions != 0) info.vectors = outcome.vectors;
}

}  // namespace quern
