// SPDX-License-Identifier: Apache-2.0
// A store with a changed section whose checksums are right, as a stranger could make it: whatever is read from it is an
// answer or an error with its reason. Input: a byte that selects the section, a byte of what is added to its size or taken
// from it, then changes of three bytes each: a position (little-endian) and the new value.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "io/store/section.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/ngram_likelihood.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/export.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/similar.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/manifest.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace quern;
namespace fs = std::filesystem;

/// Documents with near-duplicates, links and fields of every type, and with words often enough for a thesaurus and vectors.
std::string corpus() {
    constexpr const char* who[] = {"the miller", "a baker", "the old mason", "her sister", "a potter"};
    constexpr const char* does[] = {"grinds", "carries", "weighs", "sells"};
    constexpr const char* what[] = {"grain", "flour", "bread", "stone", "salt", "malt", "rye"};
    std::string lines;
    for (unsigned i = 0; i < 24; ++i) {
        std::string text;
        const unsigned like = i % 8 == 7 ? i - 1 : i;  // i % 8 == 7: a near-duplicate of the one before
        for (unsigned n = 0, at = like * 7919 + 3; n < 5; ++n, at = at * 1103515245 + 12345) {
            text += fmt::format("{} {} {} and {}. ", who[(at >> 8) % 5], does[(at >> 12) % 4],
                                what[(at >> 16) % 7], what[(at >> 20) % 7]);
        }
        lines += fmt::format(
            R"({{"id":"d{0}","title":"Mill {0}","text":"{1} Zürich. The old mill {2}","links":["d0","d{3}"],)"
            R"("price":{0}.5,"year":{0},"date":"2024-05-{4:02}","tags":["a{5}","b"],"open":{6},"more":{{"x":{0}}}}})"
            "\n",
            i, text, i == like ? "" : "again", (i + 5) % 24, i + 1, i % 3, i % 2 == 0);
    }
    return lines;
}

/// The sections of a store and of its thesaurus, and what is read from them.
struct tested_store {
    quern::testing::temporary_folder folder;
    fs::path store = folder / "store";
    struct section {
        fs::path file;
        std::string name, payload;
    };
    std::vector<section> sections;
    context ctx = context::cpu(1);

    tested_store() {
        quern::testing::write_file(folder / "corpus.jsonl", corpus());
        build_options options;
        options.inputs = {folder / "corpus.jsonl"};
        options.store = store;
        options.ngrams = true;
        options.fields.kept = {"*"};
        ctx.scratch = folder.path();
        build(options, ctx);
        for (const fs::path& where : {store, store / store_layout::thesaurus}) {
            for (const auto& entry : fs::directory_iterator(where)) {
                if (entry.path().extension() != manifests::section_extension) continue;
                const io::section_view view(entry.path(), entry.path().stem().string());
                sections.push_back({entry.path(), view.name(), std::string(view.all())});
            }
        }
        std::ranges::sort(sections, {}, &section::file);
    }

    /// Writes a section with its checksums, and what the manifest of its folder says of it.
    static void write(const section& changed, std::string_view payload) {
        fs::remove(changed.file);
        io::section_writer writer(changed.file);
        writer.append(payload);
        const auto [bytes, checksum] = writer.finish();
        fs::path manifest = changed.file.parent_path() / store_layout::manifest;
        if (!fs::exists(manifest)) manifest = changed.file.parent_path() / "space.json";
        auto members = nlohmann::json::parse(quern::testing::read_file(manifest));
        members["sections"][changed.name] = {{"bytes", bytes}, {"checksum", manifests::hex(checksum)}};
        members.erase("checksum");
        const std::string format = members["format"];
        const manifests::kind of{"", format, members["version"], "", ""};
        quern::testing::write_file(manifest, manifests::text_of(of, members));
    }

    void read_everything() const {
        const auto nowhere = [](std::string_view) {};
        const std::vector<std::function<void()>> readers = {
            [&] { verify_store(store, ctx); },
            [&] { search_for_words(); },
            [&] { search_by_fields(); },
            [&] { export_ciff(store, nowhere, {}, ctx); },
            [&] { export_arpa(store, nowhere, {.order = 2}, {}, ctx); },
            [&] { export_graph(store, nowhere, {}, ctx); },
            [&] { export_vectors(store, nowhere, {}, ctx); },
            [&] { export_documents(store, nowhere, {}, ctx); },
            [&] { read_thesaurus(); },
        };
        for (const auto& reader : readers) {
            try {
                reader();
            } catch (const damaged_store&) {
            } catch (const usage_error&) {    // a filter that does not fit what the fields have become
            } catch (const invalid_input&) {  // an id that no line can hold
            } catch (const out_of_memory&) {  // a size beyond all memory
            }
        }
    }
    void search_for_words() const {
        const search_engine engine = search_engine::open(store, ctx);
        for (const char* const query :
             {"mill grain", "\"old mill\"~2 -horse", "ho* +cart", "title:mill OR bread", "zurich"}) {
            for (const ranking_model model : {ranking_model::bm25, ranking_model::dirichlet}) {
                search_options options;
                options.ranking.model = model;
                options.syntax = query_syntax::operators;
                options.typos = typo_tolerance::automatic;
                options.fold = folding::accents;
                options.total = true;
                search(engine, query, options);
            }
        }
        search_options likely;
        likely.ranking.model = ranking_model::ql;
        likely.order = 2;
        search(engine, "old mill", likely);
        search_options related;
        related.prior = 1;
        related.expand = 2;
        related.like = 3;
        search(engine, "mill", related);
        engine.complete("mi", {}, ctx);
        engine.find("d3");
        engine.near_id("mill 4");
        engine.summary(5, 5, ctx);
        engine.duplicated(0, 5, 3, ctx);
        for (std::uint32_t d = 0; d < engine.documents(); ++d) engine.document(d);
    }
    void search_by_fields() const {
        const search_engine engine = search_engine::open(store, ctx);
        for (const char* const filter : {"price < 10 AND year >= 2", "tags IN (a1, b) OR NOT open = true",
                                         "date > 2024-05-03", "id = d4"}) {
            search_options options;
            options.filter = filter;
            options.sort = "price";
            options.facets = "tags, year, date, open";
            search(engine, "mill horse", options);
        }
    }
    void search(const search_engine& engine, std::string_view query, const search_options& options) const {
        const search_result found = engine.search(query, options, ctx);
        if (found.hits.size() > engine.documents()) std::abort();
    }
    void read_thesaurus() const {
        const word_space space = word_space::open(store / store_layout::thesaurus, ctx);
        space.near_spellings("mil", ctx);
        for (std::uint32_t w = 0; w < space.size(); ++w) {
            space.similar({.plus = {w}, .minus = {}}, 5, ctx);
            space.contexts(w, 5);
        }
        space.each_neighbour([](std::uint32_t, const neighbour&) {}, ctx);
        space.write_words([](std::string_view) {});
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static tested_store tested;
    if (size < 2) return 0;
    const auto& section = tested.sections[data[0] % tested.sections.size()];
    std::string payload = section.payload;
    const int added = static_cast<std::int8_t>(data[1]);
    payload.resize(static_cast<std::size_t>(std::max(0, static_cast<int>(payload.size()) + added)));
    for (std::size_t at = 2; at + 2 < size && !payload.empty(); at += 3)
        payload[(data[at] | data[at + 1] << 8) % payload.size()] = static_cast<char>(data[at + 2]);
    tested_store::write(section, payload);
    tested.read_everything();
    tested_store::write(section, section.payload);
    return 0;
}
