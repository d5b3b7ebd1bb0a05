// SPDX-License-Identifier: Apache-2.0
// The main task: corpus in, store out, stage by stage. Everything is written to a folder under a temporary name, which
// gets the final name at the very end. A journal records the finished stages, so that a killed build can be resumed.
#include "quern/tasks/build.hpp"

#include <memory>
#include <utility>

#include "io/files/atomic_folder.hpp"
#include "io/files/name_lock.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/store_build/build_description.hpp"
#include "tasks/store_build/build_run.hpp"
#include "tasks/store_build/checked_options.hpp"
#include "tasks/store_build/store_to_update.hpp"

namespace quern {
namespace {

/// A GPU that was asked for and does not work is refused before anything is made.
void check_device(const context& requested) {
    if (requested.device.where != device_choice::kind::cuda) return;
    context quiet = requested;
    quiet.on_log = nullptr;
    static_cast<void>(choose_device(quiet, "build", offered_places::several_gpus));
}

build_result nothing_to_do(const build_options& options, store_changes changes) {
    build_result result = result_of(read_store_info(options.store));
    result.changes = std::move(changes);
    return result;
}

void note(store_changes& changes, store_to_update::dropped_documents dropped) {
    changes.removed += dropped.documents + dropped.copies;
    changes.unknown_ids = dropped.unknown_ids;
    changes.some_unknown_ids = std::move(dropped.unknown);
}

}  // namespace

text_options recorded_text_options(const text_options& text) {
    return as_recorded(text);
}

build_result build(const build_options& request, const context& requested) {
    check_device(requested);
    context ctx = requested;
    ctx.memory_bytes = requested.memory_limit();  // otherwise the system would be queried for every document
    // A refused request leaves no trace; the existing folder is checked again once no other process builds it.
    const io::name_lock only_one(checked_options(request, ctx).store);
    const build_options options = checked_options(request, ctx);
    store_changes changes;
    std::optional<described_content> described;
    if (is_repeatable(options)) described = describe_build(options, ctx);
    if (options.sync && described && is_up_to_date(options.store, described->text)) {
        io::remove_leftovers(options.store);  // of one that was killed after its commit
        changes.up_to_date = true;
        return nothing_to_do(options, std::move(changes));
    }
    std::unique_ptr<store_to_update> old;
    if (options.update) {
        old = std::make_unique<store_to_update>(options.store);
        note(changes, old->drop(options.deleted_ids));
        const bool no_input = options.inputs.empty() && options.source == nullptr;
        if (no_input && changes.removed == 0) return nothing_to_do(options, std::move(changes));
        if (no_input && old->documents() == 0)
            throw usage_error("these are all documents of " + options.store.string() +
                              "; a store has at least one (remove its folder instead)");
    }
    try {
        return build_run(options, std::move(described), std::move(old), std::move(changes), ctx).run();
    } catch (const invalid_input& e) {
        if (const auto reason = with_own_option(e.reason(), request.indexed_fields))
            throw invalid_input(e.path(), e.line(), *reason);
        throw;
    }
}

}  // namespace quern
