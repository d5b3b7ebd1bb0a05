// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/manual_macros.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

namespace quern::io {

namespace {
using namespace std::string_view_literals;
}  // namespace

std::vector<std::string_view> macro_arguments(std::string_view rest, std::vector<std::string>& unquoted) {
    std::vector<std::string_view> out;
    unquoted.clear();
    unquoted.reserve(rest.size() / 2 + 1);
    for (std::size_t at = 0; at < rest.size();) {
        at = std::min(rest.find_first_not_of(" \t", at), rest.size());
        if (at == rest.size() || rest.substr(at).starts_with("\\\"")) break;
        if (rest[at] == '"') {
            std::string text;
            for (++at; at < rest.size(); ++at) {
                if (rest[at] == '"' && at + 1 < rest.size() && rest[at + 1] == '"') {
                    ++at;
                } else if (rest[at] == '"') {
                    ++at;
                    break;
                }
                text += rest[at];
            }
            unquoted.push_back(std::move(text));
            out.emplace_back(unquoted.back());
            continue;
        }
        const std::size_t begin = at;
        while (at < rest.size() && rest[at] != ' ' && rest[at] != '\t') at += rest[at] == '\\' ? 2 : 1;
        at = std::min(at, rest.size());
        out.push_back(rest.substr(begin, at - begin));
    }
    return out;
}

const mdoc_enclosure* mdoc_enclosure_of(std::string_view macro) {
    static constexpr mdoc_enclosure all[] = {{"Op", "[", "]"},
                                             {"Oo", "[", ""},
                                             {"Oc", "", "]"},
                                             {"Dq", "\u201C", "\u201D"},
                                             {"Do", "\u201C", ""},
                                             {"Dc", "", "\u201D"},
                                             {"Sq", "\u2018", "\u2019"},
                                             {"So", "\u2018", ""},
                                             {"Sc", "", "\u2019"},
                                             {"Ql", "\u2018", "\u2019"},
                                             {"Qq", "\"", "\""},
                                             {"Qo", "\"", ""},
                                             {"Qc", "", "\""},
                                             {"Pq", "(", ")"},
                                             {"Po", "(", ""},
                                             {"Pc", "", ")"},
                                             {"Bq", "[", "]"},
                                             {"Bo", "[", ""},
                                             {"Bc", "", "]"},
                                             {"Brq", "{", "}"},
                                             {"Bro", "{", ""},
                                             {"Brc", "", "}"},
                                             {"Aq", "<", ">"},
                                             {"Ao", "<", ""},
                                             {"Ac", "", ">"}};
    const auto* const found = std::ranges::find(all, macro, &mdoc_enclosure::macro);
    return found == std::end(all) ? nullptr : found;
}

bool is_mdoc_macro(std::string_view macro) {
    constexpr std::array names = {"Ad"sv, "An"sv, "Ar"sv, "Cd"sv, "Cm"sv, "Dv"sv, "Em"sv, "Er"sv, "Ev"sv,
                                  "Fa"sv, "Fl"sv, "Fn"sv, "Ft"sv, "Ic"sv, "Li"sv, "Lk"sv, "Ms"sv, "Mt"sv,
                                  "Nm"sv, "No"sv, "Ns"sv, "Pa"sv, "Sx"sv, "Sy"sv, "Tn"sv, "Va"sv, "Vt"sv,
                                  "Xr"sv, "Xo"sv, "Xc"sv, "Lb"sv, "Ap"sv, "In"sv, "Nx"sv, "Ox"sv, "Fx"sv,
                                  "Bx"sv, "Ux"sv, "St"sv, "At"sv, "Ta"sv, "Bk"sv, "Ek"sv};
    return std::ranges::find(names, macro) != names.end();
}

bool closes_in_mdoc(std::string_view word) {
    return word.size() == 1 && ".,:;)]?!"sv.find(word[0]) != std::string_view::npos;
}

}  // namespace quern::io
