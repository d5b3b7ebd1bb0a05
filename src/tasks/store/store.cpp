// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/store.hpp"

#include <algorithm>
#include <fstream>

#include "device/cpu/pipeline.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/stop_words_file.hpp"

namespace quern {

bool is_store(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path / store_layout::manifest, ignored);
}

store_info read_store_info(const std::filesystem::path& store) {
    if (!is_store(store)) {
        std::error_code unseen;
        throw usage_error(store.string() +
                          (std::filesystem::exists(store, unseen) ? ": is no store" : ": no such store"));
    }
    return store_layout::parse_manifest(store, io::mapped_file(store / store_layout::manifest).text());
}

std::uint64_t verify_store(const std::filesystem::path& store, const context& run) {
    constexpr std::uint64_t piece = 8 << 20;
    const store_info info = read_store_info(store);
    std::uint64_t bytes = check_stop_words(info.text, store);
    for (const store_section& listed : info.sections) {
        const io::section_view section = store_layout::open_section(store, info, listed.name);
        for_each_index(run, section.size() / piece + 1, [&](std::uint64_t i) {
            run.check_stop();
            section.bytes(i * piece, std::min(piece, section.size() - i * piece));
        });
        bytes += listed.bytes;
        run.report({"verify", bytes, 0, "bytes"});
    }
    return bytes;
}

}  // namespace quern
