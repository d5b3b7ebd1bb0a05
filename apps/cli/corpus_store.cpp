// SPDX-License-Identifier: Apache-2.0
#include "corpus_store.hpp"

#include <cstdlib>

#include "quern/base/error.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/shards.hpp"
#include "quern/tasks/store.hpp"
#include "source_permissions.hpp"

namespace quern::cli {
namespace {

/// The program reads the environment here; the library never does.
std::filesystem::path cache_folder() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::filesystem::path(value == nullptr ? "" : value);
    };
    if (auto own = variable("QUERN_CACHE"); !own.empty()) return own;
    // The XDG specification requires ignoring a relative path.
    if (auto shared = variable("XDG_CACHE_HOME"); shared.is_absolute()) return shared / "quern";
    if (auto home = variable("HOME"); !home.empty()) return home / ".cache" / "quern";
    throw usage_error(
        "no cache folder for the store of the corpus (QUERN_CACHE, XDG_CACHE_HOME and HOME are not set); set "
        "QUERN_CACHE or run quern build");
}

}  // namespace

bool holds_store(const std::filesystem::path& path) {
    return is_store(path) || is_sharded_store(path);
}

std::filesystem::path store_for(const std::filesystem::path& path, build_options corpus,
                                const text_choice& text, session& job) {
    if (holds_store(path)) {
        if (corpus.fields.any_chosen())
            throw usage_error(path.string() +
                              " is a store; --id-field, --text-field, --title-field and --link-field name "
                              "fields of a corpus");
        return path;
    }
    corpus.inputs = inputs_of({path.string()}, corpus);
    corpus.text = text.over({});
    const private_files alone;  // a cache belongs to its user, whatever the permissions of the files
    auto store = job.stage("corpus", [&] { return cached_store(corpus, cache_folder(), job.ctx); });
    job.messages.finish();
    return store;
}

}  // namespace quern::cli
