// SPDX-License-Identifier: Apache-2.0
// Any bytes as a filter, and as fields to sort by and to count: documents or an error at a place in it, never a crash; as many
// documents are counted as are found, and NOT finds all others. Input: a byte that selects the use, then the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace quern;

void require(bool holds) {
    if (!holds) std::abort();
}

constexpr std::string_view corpus =
    R"({"id":"a","text":"grain mill","lang":"de","price":1.5,"n":-3,"day":"2024-05-01","new":true,"tag":["x","y"]}
{"id":"b","text":"grain","lang":"en","price":12,"day":"2024-05-01T12:30:00Z","tag":[],"any":{"a":1},"my field":"AND"}
{"id":"c","text":"stone mill","n":9223372036854775807,"day":"1969-12-31","new":false,"tag":"x","any":2}
{"id":"d","text":""}
)";
constexpr std::uint64_t documents = 4;

struct opened {
    quern::testing::temporary_folder folder;
    search_engine engine;
    opened() : engine(search_engine::open(store(), context::cpu(1))) {}

    std::filesystem::path store() {
        std::filesystem::path path = folder / "store";
        quern::testing::write_file(folder / "corpus.jsonl", std::string(corpus));
        build_options options;
        options.inputs = {folder / "corpus.jsonl"};
        options.store = path;
        options.skip = all_build_stages;
        options.fields.kept = {"*"};
        context ctx = context::cpu(1);
        ctx.scratch = folder.path();
        build(options, ctx);
        return path;
    }
};

std::uint64_t counted(const search_engine& engine, const std::string& filter) {
    search_options options;
    options.filter = filter;
    options.count = true;
    return engine.search("*", options).total.value();
}

void check_filter(const search_engine& engine, const std::string& filter) {
    search_options options;
    options.filter = filter;
    options.total = true;
    try {
        for (const std::string_view query : {"*", "grain mill", "+grain", "stone* -grain"}) {
            options.syntax = query_syntax::automatic;
            const search_result result = engine.search(query, options);
            require(result.total == result.hits.size());
        }
    } catch (const filter_error& e) {
        require(e.position() <= filter.size());
        require(e.caret().size() <= e.excerpt().size() + 1 && e.excerpt().size() < 4 * filter.size() + 16);
        return;
    }
    // A blank one is no filter; parentheses around it, or NOT before it, may be too many.
    if (filter.find_first_not_of(" \t\n\v\f\r") == std::string::npos) return;
    try {
        require(counted(engine, filter) + counted(engine, "NOT (" + filter + ")") == documents);
    } catch (const filter_error& e) {
        require(std::string_view(e.what()).find("too many parentheses") != std::string_view::npos ||
                std::string_view(e.what()).find("too long") != std::string_view::npos);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    static opened all;
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] % 4 < 2) {
        check_filter(all.engine, text);
        return 0;
    }
    search_options options;
    (data[0] % 4 == 2 ? options.sort : options.facets) = text;
    try {
        const search_result result = all.engine.search("*", options);
        require(result.hits.size() == documents);
        for (const search_facet& facet : result.facets)
            require(facet.documents <= documents && facet.values.size() == facet.distinct);
        require(facets_json(result.facets).ends_with('}'));
    } catch (const usage_error&) {
    }
    return 0;
}
