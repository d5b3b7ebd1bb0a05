// SPDX-License-Identifier: Apache-2.0
#include "tasks/words/space_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <stdexcept>
#include <utility>

#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"

namespace quern::space_layout {
namespace {

constexpr manifests::kind of_a_space = {manifest, "quern words", space_format_version, "is not a word space",
                                        "is not the JSON of a word space"};
using recorded_params = std::map<std::string, std::string>;

template <typename Value>
Value number_of(const std::string& text) {
    Value value{};
    const char* const last = text.data() + text.size();
    const auto [end, code] = std::from_chars(text.data(), last, value);
    if (code != std::errc() || end != last) throw std::runtime_error("is not a number: " + text);
    return value;
}

const std::string& recorded_param(const recorded_params& requested, const char* name) {
    const auto at = requested.find(name);
    if (at == requested.end()) throw std::runtime_error(std::string("lacks ") + name);
    return at->second;
}

template <typename Choice>
std::string name_of(Choice value, std::span<const std::string_view> names) {
    return std::string(names[static_cast<std::size_t>(value)]);
}
template <typename Choice>
Choice named(const recorded_params& requested, const char* name, std::span<const std::string_view> names) {
    const std::string& value = recorded_param(requested, name);
    const auto at = std::ranges::find(names, value);
    if (at == names.end()) throw std::runtime_error(fmt::format("has an unknown {}: {}", name, value));
    return static_cast<Choice>(at - names.begin());
}

std::string yes_or_no(bool value, const char* yes, const char* no) {
    return value ? yes : no;
}

}  // namespace

recorded_params requested_of(const text_options& text, const space_params& q) {
    recorded_params requested = {
        {"language", text.language},
        {"tokens", name_of(text.tokens, token_rule_names)},
        {"min-length", std::to_string(text.min_length)},
        {"stop-words", text.stop_words},
        {"stem", name_of(stemmer_of(text), stemmer_names)},
        {"gaps", name_of(q.gaps, gap_policy_names)},
        {"window-end", name_of(q.window_end, window_limit_names)},
        {"window", std::to_string(q.counting.window)},
        {"relation", name_of(q.counting.relation, word_relation_names)},
        {"self", yes_or_no(q.counting.count_self, "count", "skip")},
        {"discount", to_text(q.pmi.discount)},
        {"information", name_of(q.pmi.information, pmi_kind_names)},
        {"min-weight", shortest(q.pmi.min_weight)},
        {"min-count", std::to_string(q.min_count)},
        {"vocabulary", std::to_string(q.vocabulary)},
        {"measure", name_of(q.measure, word_measure_names)},
        {"columns", q.columns == all_columns ? "all" : std::to_string(q.columns)},
        {"top", q.full_matrix ? "all" : std::to_string(q.top)},
        {"vectors", std::to_string(q.dimensions)},
        {"lsa-of", name_of(q.lsa_of, reduced_matrix_names)},
        {"lsa-words", q.lsa_words == all_words ? "all" : std::to_string(q.lsa_words)},
        {"lsa-measure", name_of(q.lsa_measure, vector_measure_names)},
        {"seed", std::to_string(q.seed)},
    };
    if (text.fold != folding::none) requested["fold"] = name_of(text.fold, folding_names);
    return requested;
}

text_options text_of(const recorded_params& requested) {
    text_options text;
    text.language = recorded_param(requested, "language");
    text.tokens = named<token_rule>(requested, "tokens", token_rule_names);
    text.min_length = number_of<unsigned>(recorded_param(requested, "min-length"));
    text.stop_words = recorded_param(requested, "stop-words");
    text.stem = named<stemmer>(requested, "stem", stemmer_names);
    if (requested.contains("fold")) text.fold = named<folding>(requested, "fold", folding_names);
    return text;
}

space_params params_of(const recorded_params& requested) {
    space_params q;
    q.gaps = named<gap_policy>(requested, "gaps", gap_policy_names);
    q.window_end = named<window_limit>(requested, "window-end", window_limit_names);
    q.counting.window = number_of<unsigned>(recorded_param(requested, "window"));
    q.counting.relation = named<word_relation>(requested, "relation", word_relation_names);
    q.counting.count_self = recorded_param(requested, "self") == "count";
    q.pmi.discount = parse_decimal(recorded_param(requested, "discount"));
    q.pmi.information = named<pmi_kind>(requested, "information", pmi_kind_names);
    q.pmi.min_weight = number_of<double>(recorded_param(requested, "min-weight"));
    q.min_count = number_of<std::uint64_t>(recorded_param(requested, "min-count"));
    q.vocabulary = number_of<std::uint32_t>(recorded_param(requested, "vocabulary"));
    q.measure = named<word_measure>(requested, "measure", word_measure_names);
    const std::string &columns = recorded_param(requested, "columns"),
                      &top = recorded_param(requested, "top");
    q.columns = columns == "all" ? all_columns : number_of<std::uint32_t>(columns);
    q.full_matrix = top == "all";
    if (!q.full_matrix) q.top = number_of<std::uint32_t>(top);
    q.dimensions = number_of<unsigned>(recorded_param(requested, "vectors"));
    q.lsa_of = named<reduced_matrix>(requested, "lsa-of", reduced_matrix_names);
    if (const auto at = requested.find("lsa-words"); at != requested.end() && at->second != "all") {
        q.lsa_words = number_of<std::uint32_t>(at->second);  // older spaces have none
    }
    q.lsa_measure = named<vector_measure>(requested, "lsa-measure", vector_measure_names);
    q.seed = number_of<std::uint64_t>(recorded_param(requested, "seed"));
    return q;
}

std::string manifest_text(const word_space_info& info, std::uint64_t matrix_checksum) {
    nlohmann::json json = {
        {"unicode", info.unicode_version}, {"asked", info.requested},
        {"verbatim", info.verbatim},       {"documents", info.documents},
        {"occurrences", info.occurrences}, {"distinct", info.distinct},
        {"vocabulary", info.vocabulary},   {"relations", info.relations},
        {"dimensions", info.dimensions},   {"meetings", info.cooccurrences},
        {"triples", info.triples},         {"entries", info.entries},
        {"neighbours", info.neighbours},   {"sections", manifests::to_json(info.sections)},
    };
    if (info.matrix_bytes != 0) {
        json["similarities"] = {{"bytes", info.matrix_bytes}, {"checksum", manifests::hex(matrix_checksum)}};
    }
    return manifests::text_of(of_a_space, std::move(json));
}

parsed_manifest read_manifest(const std::filesystem::path& space) {
    if (!is_word_space(space)) {
        std::error_code unseen;
        throw usage_error(space.string() + (std::filesystem::exists(space, unseen) ? ": not a word space"
                                                                                   : ": no such word space"));
    }
    parsed_manifest out;
    manifests::read(space, of_a_space, [&out](const nlohmann::json& json) {
        word_space_info& info = out.info;
        info.format_version = json.at("version");
        info.unicode_version = json.at("unicode");
        info.requested = json.at("asked").get<recorded_params>();
        info.verbatim = json.at("verbatim");
        info.documents = json.at("documents");
        info.occurrences = json.at("occurrences");
        info.distinct = json.at("distinct");
        info.vocabulary = json.at("vocabulary");
        info.relations = json.at("relations");
        info.dimensions = json.at("dimensions");
        info.cooccurrences = json.at("meetings");
        info.triples = json.at("triples");
        info.entries = json.at("entries");
        info.neighbours = json.at("neighbours");
        info.sections = manifests::sections_of(json.at("sections"));
        if (const auto at = json.find("similarities"); at != json.end()) {
            info.matrix_bytes = at->at("bytes");
            out.matrix_checksum = manifests::from_hex(at->at("checksum"));
        }
    });
    return out;
}

io::section_view open_section(const std::filesystem::path& space, const word_space_info& info,
                              std::string_view name) {
    return manifests::open_section(space, of_a_space, info.sections, name);
}

}  // namespace quern::space_layout
