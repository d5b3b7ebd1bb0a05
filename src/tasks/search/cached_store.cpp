// SPDX-License-Identifier: Apache-2.0
// Stores of corpora that are searched directly: CACHE/REQUEST/CONTENT. The first name stands for the inputs and
// options, the second for the state of the files, so that a change is detected and its store replaces the old one.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "base/file_status.hpp"
#include "base/hash.hpp"
#include "device/files/temporary.hpp"
#include "io/files/name_lock.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/corpus/described_corpus.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/store_build/build_description.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

std::string name_of(const std::string& description) {
    const hash128_value hash = hash128(description);
    return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

/// `.NAME.quern-…` belongs to NAME: the partial result of its build, or its lock.
std::string name_of_hidden(const std::string& hidden) {
    const std::size_t end = hidden.rfind(".quern-");
    return hidden.starts_with('.') && end != std::string::npos && end > 0 ? hidden.substr(1, end - 1)
                                                                          : std::string();
}

/// Removes what earlier content of the same inputs left: its store, and leftovers of killed builds. A search that has
/// such a store open keeps its mapped files; a running build keeps its folder.
void remove_others(const fs::path& folder, const fs::path& kept) {
    std::error_code ignored;
    std::set<std::string> names;
    for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
        const std::string name = entry->path().filename(), of_hidden = name_of_hidden(name);
        if (!of_hidden.empty() || is_store(entry->path())) names.insert(of_hidden.empty() ? name : of_hidden);
    }
    names.erase(kept.filename());
    for (const std::string& name : names) {
        try {
            const io::name_lock nobody_builds(folder / name);
            remove_stale_temporaries(folder, temporary_prefix(name));
            if (is_store(folder / name)) fs::remove_all(folder / name, ignored);
        } catch (const error&) {  // in use, or another user's
        }
    }
}

bool is_whole(const fs::path& store) {
    if (!is_store(store)) return false;
    try {
        const opened_store opened(store);
        check_stop_words(opened.info().text, store);
        return true;
    } catch (const damaged_store&) {
        return false;
    }
}

/// Only the owner may access the cache's folders, whatever the umask: their contents come from files of any
/// permissions. Folders above the last two are created normally.
void make_private_folder(const fs::path& folder) {
    const fs::path cache = folder.parent_path();
    std::error_code failed;
    if (cache.has_parent_path()) fs::create_directories(cache.parent_path(), failed);
    for (const fs::path& made : {cache, folder}) {
        if (failed || ::mkdir(made.c_str(), 0700) == 0) continue;
        const int reason = errno;
        if (!fs::is_directory(made, failed)) failed.assign(reason, std::generic_category());
    }
    if (failed) throw io_error(folder.string(), "cannot create", failed.value());
    // A folder made by an earlier version; another user's folder stays unchanged.
    fs::permissions(folder, fs::perms::group_all | fs::perms::others_all, fs::perm_options::remove, failed);
}

/// The name of the store of the corpus as it is now. A file that was changed a moment ago could change again without a trace:
/// until that is seen, no later call finds the name.
std::string name_of_content(const build_options& corpus, const context& ctx) {
    using namespace std::chrono;
    const auto end = steady_clock::now() + milliseconds(100);
    described_content content = describe_build(corpus, ctx);
    while (!content.shows_changes && steady_clock::now() < end) {
        ctx.check_stop();
        std::this_thread::sleep_for(milliseconds(10));
        content = describe_build(corpus, ctx);
    }
    if (!content.shows_changes)
        content.text += fmt::format("unsettled {}\n", system_clock::now().time_since_epoch().count());
    return name_of(content.text);
}

}  // namespace

fs::path cached_store(const build_options& corpus, const fs::path& cache, const context& ctx) {
    if (std::ranges::find(corpus.inputs, fs::path("-")) != corpus.inputs.end()) {
        throw usage_error("standard input cannot be searched directly; build a store from it");
    }
    for (const fs::path& input : corpus.inputs) {
        if (!fs::exists(file_status_of(input)))
            throw usage_error(input.string() + ": no such file or folder");
        refuse_own_output(input);
        if (lies_still(input)) continue;
        throw usage_error(input.string() + ": a pipe cannot be searched directly; build a store from it");
    }
    const fs::path folder = cache / name_of(describe_request(corpus));
    build_options options = corpus;
    fs::path store = folder / name_of_content(options, ctx);
    options.store = store;
    options.skip = all_build_stages;  // a first search must not wait for them
    options.force = true;             // replaces a damaged one
    for (bool waits = false;; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
        if (is_whole(store)) {
            ctx.log(log_level::info, "using the store kept in " + store.string());
            return store;
        }
        make_private_folder(folder);
        try {
            if (!waits) ctx.log(log_level::info, "building a store in " + store.string());
            build(options, ctx);
            remove_others(folder, store);
            return store;
        } catch (const io::name_in_use&) {
            if (!waits) ctx.log(log_level::info, "waiting for another search to build it");
            waits = true;
        }
        ctx.check_stop();
    }
}

}  // namespace quern
