// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "io/corpus/corpus.hpp"

namespace quern::io {
namespace {

constexpr std::array<std::pair<corpus_form, std::string_view>, 8> forms = {{
    {corpus_form::wikipedia, "wikipedia"},
    {corpus_form::folder, "folder"},
    {corpus_form::jsonl, "jsonl"},
    {corpus_form::tsv, "tsv"},
    {corpus_form::csv, "csv"},
    {corpus_form::trec, "trec"},
    {corpus_form::wikiextractor, "wikiextractor"},
    {corpus_form::lines, "lines"},
}};

}  // namespace

std::string_view name_of(corpus_form form) {
    for (const auto& [value, name] : forms) {
        if (value == form) return name;
    }
    return "";
}

std::optional<corpus_form> corpus_form_named(std::string_view wanted) {
    for (const auto& [value, name] : forms) {
        if (name == wanted) return value;
    }
    return std::nullopt;
}

}  // namespace quern::io
