// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "base/hash.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "text/analyzer.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

void describe(const fs::directory_entry& entry, std::string& out) {
    std::error_code ignored;
    const auto time = entry.last_write_time(ignored).time_since_epoch().count();
    const std::uint64_t size = entry.is_regular_file(ignored) ? entry.file_size(ignored) : 0;
    out += fmt::format("{}\t{}\t{}\n", entry.path().string(), size, time);
}

/// What a corpus's store depends on, in one text: names, sizes and times of all files, and every option.
std::string describe(const build_options& corpus) {
    const text_options text = as_recorded(corpus.text);
    std::string out = fmt::format("format {} unicode {} input {} text {} {} {} {} {} errors {} {} {}\n",
                                  store_format_version, text::unicode_version(), corpus.input_format,
                                  text.language, static_cast<int>(text.tokens), text.min_length,
                                  text.stop_words, static_cast<int>(text.stem), corpus.max_errors.is_share,
                                  corpus.max_errors.share, corpus.max_errors.count);
    for (const fs::path& input : corpus.inputs) {
        if (!fs::exists(input)) throw usage_error(input.string() + ": no such file or folder");
        const fs::directory_entry root(fs::canonical(input));
        describe(root, out);
        if (!root.is_directory()) continue;
        std::vector<fs::directory_entry> entries;
        for (const auto& entry :
             fs::recursive_directory_iterator(root, fs::directory_options::skip_permission_denied)) {
            entries.push_back(entry);
        }
        std::sort(entries.begin(), entries.end());
        for (const auto& entry : entries) describe(entry, out);
    }
    return out;
}

bool is_whole(const fs::path& store) {
    if (!is_store(store)) return false;
    try {
        const opened_store opened(store);
        return true;
    } catch (const damaged_store&) {
        return false;
    }
}

}  // namespace

fs::path cached_store(const build_options& corpus, const fs::path& cache, const context& run) {
    if (std::ranges::find(corpus.inputs, fs::path("-")) != corpus.inputs.end()) {
        throw usage_error("standard input cannot be searched directly; build a store from it");
    }
    const hash128_value key = hash128(describe(corpus));
    const fs::path store = cache / fmt::format("{:016x}{:016x}", key.high, key.low);
    if (is_whole(store)) {
        run.log(log_level::info, "using the store kept in " + store.string());
        return store;
    }
    fs::create_directories(cache);
    run.log(log_level::info, "building a store in " + store.string());
    build_options options = corpus;
    options.store = store;
    options.force = true;  // over a damaged one; of two searches that build it at once the last wins
    build(options, run);
    return store;
}

}  // namespace quern
