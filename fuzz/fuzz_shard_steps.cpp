// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a broker and the server of a shard send each other. An answer that is read and written is read as the same
// again. A step for a store is answered or refused, and never a fault of the server: it gets the store's checksum, so that it is
// for this store. Input: a byte that selects one of the two, then the message.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "tasks/search/shard_exchange.hpp"
#include "tasks/store/shards_manifest.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace quern;

void require(bool holds) {
    if (!holds) std::abort();
}

struct opened {
    quern::testing::temporary_folder folder;
    search_engine engine = search_engine::open(store(), context::cpu(1));
    std::uint64_t checksum = checksum_of_manifest(engine.store());

    std::filesystem::path store() const {
        std::string lines;
        for (int i = 0; i < 12; ++i)
            lines += fmt::format(
                R"({{"id":"d{0}","title":"Mill {0}","text":"{1} Zürich zurich {0}.","price":{0},"tags":["a","b{0}"]}})"
                "\n",
                i,
                i % 2 == 0 ? "A mill grinds grain. The red mill, the old mill, flour and bread."
                           : "A horse draws a cart. The old horse, the red cart, over a bridge.");
        quern::testing::write_file(folder / "corpus.jsonl", lines);
        build_options options;
        options.inputs = {folder / "corpus.jsonl"};
        options.store = folder / "store";
        options.fields.kept = {"*"};
        options.skip = all_build_stages;
        context ctx = context::cpu(1);
        ctx.scratch = folder.path();
        build(options, ctx);
        return folder / "store";
    }
};

void answer_step(const opened& store, std::string_view message) {
    std::string step;
    try {
        shard_exchange::request request = shard_exchange::request_from(message);
        request.checksum = store.checksum;
        step = shard_exchange::text_of(request);
    } catch (const std::exception&) {
        step = message;
    }
    try {
        const auto answer =
            store.engine.answer_step(step, {.results = 20, .query_bytes = 200}, context::cpu(1));
        if (answer) (void)shard_exchange::answer_from(*answer);
    } catch (const usage_error& e) {
        require(!std::string_view(e.what()).empty());
    }
}

void read_answer(std::string_view message) {
    std::string text;
    try {
        text = shard_exchange::text_of(shard_exchange::answer_from(message));
    } catch (const std::exception&) {
        return;
    }
    require(shard_exchange::text_of(shard_exchange::answer_from(text)) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const opened store;
    if (size == 0) return 0;
    const std::string_view message(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] % 2 == 0)
        answer_step(store, message);
    else
        read_answer(message);
    return 0;
}
