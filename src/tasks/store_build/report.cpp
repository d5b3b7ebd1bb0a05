// SPDX-License-Identifier: Apache-2.0
// The report of a build: the store's metadata, and the counts of the run.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <ctime>
#include <optional>
#include <span>
#include <tuple>

#include "base/canonical_math.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/similar.hpp"
#include "report/build_report.hpp"
#include "report/html_page.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/shared/highest.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store/store_summary.hpp"

namespace quern {
namespace {

namespace layout = store_layout;
using report::grouped;
using report::shown_bytes;

constexpr std::size_t words_shown = 100, pages_shown = 50, groups_shown = 20, max_duplicates_shown = 10;
constexpr std::uint32_t neighbours_shown = 8;

void add(report::build_report::summary& to, std::string_view name, std::uint64_t value) {
    if (value != 0) to.emplace_back(name, grouped(value));
}

void add_reading(report::build_report& page, const build_result& made) {
    const reading_counts& counts = made.counts;
    add(page.reading, "rejected", counts.rejected);
    add(page.reading, "truncated: the rest is lost", counts.truncated);
    add(page.reading, "mended", counts.damaged - counts.truncated);
    for (const auto& [reason, count] : counts.skipped) add(page.reading, "left out: " + reason, count);
    page.issues_count = counts.rejected + counts.damaged;
    for (const input_issue& issue : made.issues) {
        page.issues.push_back({issue.line == 0 ? issue.path : fmt::format("{}:{}", issue.path, issue.line),
                               issue.rejected    ? "rejected"
                               : issue.truncated ? "cut"
                                                 : "mended",
                               issue.reason});
    }
}

void add_cost(report::build_report& page, const run_statistics& cost) {
    for (const stage_statistics& s : cost.stages) {
        if (s.name.find('/') == std::string::npos) {
            page.stages.push_back({s.name, s.seconds, s.bytes});
        } else {
            page.steps.push_back({s.name, s.thread_seconds, s.bytes});
        }
    }
    add(page.resources, "threads", cost.threads);
    if (cost.peak_memory_bytes != 0)
        page.resources.emplace_back("peak memory", shown_bytes(cost.peak_memory_bytes));
    page.resources.emplace_back("device", cost.device);
}

void add_run(report::build_report& page, const build_options& options) {
    std::string inputs;
    for (const auto& input : names_of(options)) {
        const std::string name = input == "-" ? "standard input" : input.string();
        inputs.append(inputs.empty() ? "" : ", ").append(name);
    }
    page.run.emplace_back(options.update ? "added" : "made of", inputs);
    page.run.emplace_back("on", fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr))));
    page.run.emplace_back("by", "Quern " QUERN_VERSION);
}

void add_params(report::build_report& page, const store_info& info) {
    auto& summary = page.params;
    summary.emplace_back("format of the store", fmt::format("version {}", info.format_version));
    summary.emplace_back("Unicode data", info.unicode_version);
    if (info.verbatim) {
        summary.emplace_back("words", "verbatim, one per line");
        return;
    }
    summary.emplace_back("language", info.text.language);
    summary.emplace_back("tokens", token_rule_names[static_cast<std::size_t>(info.text.tokens)]);
    summary.emplace_back("minimum length of a word", std::to_string(info.text.min_length));
    summary.emplace_back("stop words", info.text.stop_words);
    summary.emplace_back("stems", stemmer_names[static_cast<std::size_t>(info.text.stem)]);
}

/// The purpose of a section, by the beginning of its name, longer ones first.
constexpr std::pair<std::string_view, std::string_view> kinds_of_sections[] = {
    {"collection_frequencies", "words"},
    {"copies_of", "near-duplicates"},
    {"copy_", "near-duplicates"},
    {"dictionary", "words"},
    {"document_frequencies", "words"},
    {"document_lengths", "documents"},
    {"document_vectors", "vectors"},
    {"ids", "documents"},
    {"link_ranks", "link ranks"},
    {"link", "links"},
    {"open_links", "links"},
    {"posting", "postings"},
    {"text_", "texts"},
    {"texts", "texts"},
    {"thesaurus", "thesaurus"},
    {"title_", "words of titles"},
    {"titles", "documents"},
    {"token", "words in order"}};

void add_sections(report::build_report& page, const store_info& info) {
    struct kind {
        std::string_view name;
        std::uint64_t bytes = 0;
        std::string sections;
    };
    std::vector<store_section> sections = info.sections;
    if (info.thesaurus) sections.push_back(*info.thesaurus);
    std::vector<kind> kinds;
    for (const store_section& s : sections) {
        const auto of = std::ranges::find_if(
            kinds_of_sections, [&](const auto& known) { return s.name.starts_with(known.first); });
        const std::string_view name =
            of == std::end(kinds_of_sections) ? std::string_view(s.name) : of->second;
        auto at = std::ranges::find(kinds, name, &kind::name);
        if (at == kinds.end()) at = kinds.insert(at, {name, 0, {}});
        at->bytes += s.bytes;
        at->sections +=
            fmt::format("{}{} {}", at->sections.empty() ? "" : " · ", s.name, shown_bytes(s.bytes));
    }
    std::ranges::sort(kinds, [](const kind& a, const kind& b) {
        return std::tie(b.bytes, a.name) < std::tie(a.bytes, b.name);
    });
    for (kind& k : kinds)
        page.sections.push_back(
            {std::string(k.name), static_cast<double>(k.bytes), shown_bytes(k.bytes), std::move(k.sections)});
}

void add_document_lengths(report::build_report& page, std::span<const std::uint32_t> lengths) {
    const std::vector<std::uint64_t> counts = counts_by_doubling(lengths);
    const auto first = std::ranges::find_if(counts, [](std::uint64_t n) { return n != 0; }) - counts.begin();
    for (auto i = static_cast<std::size_t>(first); i < counts.size(); ++i) {
        const std::uint64_t from = length_from(i), to = i == 0 ? 0 : 2 * from - 1;
        const std::string range = from == to ? grouped(from) : grouped(from) + " to " + grouped(to);
        page.document_lengths.push_back({from < 4096 ? std::to_string(from) : fmt::format("{}K", from >> 10),
                                         static_cast<double>(counts[i]), grouped(counts[i]),
                                         fmt::format("{} documents of {} words", grouped(counts[i]), range)});
    }
}

/// The curve of frequency over rank, at frequencies of four steps per doubling: the number of words with at least that
/// frequency is the rank of the last one. Needs no sorting, and no memory that grows with the vocabulary.
void add_word_frequencies(report::build_report& page, std::span<const std::uint64_t> frequencies) {
    const auto step_of = [](std::uint64_t frequency) {
        const auto bits = static_cast<std::size_t>(std::bit_width(frequency));
        return bits <= 2 ? frequency : 4 * (bits - 2) + ((frequency >> (bits - 3)) & 3);
    };
    std::vector<std::uint64_t> least(256, ~std::uint64_t{0}), words(256);
    for (const std::uint64_t f : frequencies) {
        const std::size_t step = step_of(f);
        least[step] = std::min(least[step], f);
        ++words[step];
    }
    std::uint64_t rank = 0;
    for (std::size_t step = words.size(); step-- > 0;) {
        if (words[step] == 0) continue;
        rank += words[step];
        page.word_frequencies.push_back(
            {static_cast<double>(rank), static_cast<double>(least[step]),
             fmt::format("{} words occur {} times or more", grouped(rank), grouped(least[step]))});
    }
}

/// The documents with most near-duplicates; equal ones in order.
void add_groups(report::build_report& page, const opened_store& store) {
    const document_duplicates& duplicates = store.duplicates();
    if (duplicates.size() == 0) return;
    const std::vector<duplicate_group> groups = groups_of(duplicates);
    page.groups_count = groups.size();
    page.duplicates_count = duplicates.size();
    for (const std::uint32_t g :
         highest(groups.size(), groups_shown, [&](std::uint32_t i) { return groups[i].count; })) {
        const std::uint32_t document = groups[g].document;
        auto& group = page.groups.emplace_back(std::string(store.id(document)),
                                               std::string(store.title(document)), groups[g].count);
        for (const document_duplicates::copy& c : duplicates.of(document)) {
            if (group.duplicates.size() == max_duplicates_shown) break;
            group.duplicates.push_back({std::string(c.id), std::string(c.title), c.distance});
        }
    }
}

/// The documents of the highest ranks; equal ones in order.
void add_pages(report::build_report& page, const opened_store& store) {
    const auto ranks = store.link_ranks();
    if (!ranks) return;
    const auto best = highest(ranks->size(), pages_shown, [&](std::uint32_t d) { return (*ranks)[d]; });
    const auto views = store.links();
    std::vector<std::uint32_t> links(ranks->size());
    for (const std::uint32_t to : views.targets.values<std::uint32_t>(0, store.info().links)) {
        if (to >= links.size()) views.targets.fail("names a missing document");
        ++links[to];
    }
    for (const std::uint32_t d : best) {
        page.pages.push_back({std::string(store.id(d)), std::string(store.title(d)),
                              static_cast<double>((*ranks)[d]) / layout::link_rank_units, links[d]});
    }
}

void add_words(report::build_report& page, const opened_store& store,
               std::span<const std::uint64_t> frequencies, const context& ctx) {
    const store_info& info = store.info();
    const auto section = layout::open_section(store.path(), info, layout::all_words.document_frequencies);
    const auto documents = section.values<std::uint32_t>(0, info.vocabulary);
    std::optional<word_space> thesaurus;
    if (const auto folder = store.thesaurus()) thesaurus = word_space::open(*folder, ctx);
    page.has_thesaurus = thesaurus.has_value();
    // The sum of a word's weights in the documents, as vectors of tf · ln(N / df).
    const auto states = [&](std::uint32_t i) {
        const double rarity =
            canonical_log(static_cast<double>(info.documents) / std::max(documents[i], std::uint32_t{1}));
        return static_cast<double>(frequencies[i]) * rarity;
    };
    const std::vector<std::uint32_t> stop_words = stop_words_of(store, frequencies);
    const auto says_much = [&](std::uint32_t i) {
        return std::ranges::binary_search(stop_words, i) ? -1 : states(i);
    };
    for (const std::uint32_t w : highest(documents.size(), words_shown, says_much)) {
        if (std::ranges::binary_search(stop_words, w)) break;  // only these follow
        auto& entry =
            page.words.emplace_back(store.words().dictionary().word(w), documents[w], frequencies[w]);
        const auto known = thesaurus ? thesaurus->find(entry.word) : std::nullopt;
        if (!known) continue;
        const std::uint32_t top = std::min(neighbours_shown, thesaurus->params().top);
        for (const neighbour& n : thesaurus->similar_but_stop_words({{*known}, {}}, top, ctx)) {
            entry.neighbours.emplace_back(thesaurus->word(n.word), n.score);
        }
    }
}

}  // namespace

void write_build_report(const build_options& options, const build_result& made,
                        const std::function<void(std::string_view)>& out, const context& ctx) {
    const opened_store opened = open_store(options.store);
    const store_info& info = opened.info();
    report::build_report page;
    const auto path = std::filesystem::absolute(options.store).lexically_normal();
    page.store = (path.has_filename() ? path : path.parent_path()).filename().string();
    add_run(page, options);
    add(page.sizes, "documents", info.documents);
    add(page.sizes, "near-duplicates left out", made.duplicates);
    add(page.sizes, "words", info.words);
    add(page.sizes, "distinct words", info.vocabulary);
    add(page.sizes, "postings", info.postings);
    add(page.sizes, "links", info.links);
    add(page.sizes, "links to documents not here", made.dangling_links);
    add(page.sizes, "redirects", made.counts.redirects);
    page.sizes.emplace_back("on disk", shown_bytes(made.store_bytes));
    add_reading(page, made);
    add_cost(page, made.statistics);
    add_params(page, info);
    add_sections(page, info);
    ctx.check_stop();

    const auto in_all = layout::open_section(options.store, info, layout::all_words.collection_frequencies);
    const auto frequencies = in_all.values<std::uint64_t>(0, info.vocabulary);
    add_groups(page, opened);
    add_words(page, opened, frequencies, ctx);
    add_pages(page, opened);
    add_document_lengths(page, opened.collection().document_lengths);
    add_word_frequencies(page, frequencies);
    report::write_build_report(page, out);
}

}  // namespace quern
