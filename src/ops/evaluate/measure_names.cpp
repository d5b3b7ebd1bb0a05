// SPDX-License-Identifier: Apache-2.0
// Reads the names of measures: a table of ir-measures' names with the parameters that each takes, and one of trec_eval's
// names, which stand for the former.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/measures.hpp"

namespace quern {
namespace {

/// Parameters of a measure, as a set.
enum parameter : unsigned {
    takes_nothing = 0,
    takes_cutoff = 1,
    needs_cutoff = 2,
    takes_rel = 4,
    takes_judged_only = 8,
    takes_dcg = 16,
    takes_gains = 32,
    takes_p = 64,
    takes_beta = 128,
    needs_recall = 256,
    takes_relative = 512,
};

struct known_measure {
    std::string_view name, alias;
    measure_kind kind;
    unsigned parameters;
    double preset = 0;      // of p, beta
    bool relative = false;  // SetRelP
    bool counts_relevant = false;
};

constexpr unsigned usual = takes_rel | takes_judged_only;
constexpr std::array known_measures{
    known_measure{"AP", "MAP", measure_kind::ap, takes_cutoff | usual},
    known_measure{"nDCG", "NDCG", measure_kind::ndcg,
                  takes_cutoff | takes_dcg | takes_gains | takes_judged_only},
    known_measure{"P", "Precision", measure_kind::precision, needs_cutoff | usual},
    known_measure{"R", "Recall", measure_kind::recall, needs_cutoff | usual},
    known_measure{"RR", "MRR", measure_kind::rr, takes_cutoff | usual},
    known_measure{"Rprec", "RPrec", measure_kind::rprec, usual},
    known_measure{"Bpref", "BPref", measure_kind::bpref, takes_rel},
    known_measure{"infAP", "", measure_kind::infap, takes_rel},
    known_measure{"IPrec", "", measure_kind::iprec, needs_recall | usual},
    known_measure{"SetP", "", measure_kind::set_p, usual | takes_relative},
    known_measure{"SetRelP", "", measure_kind::set_p, usual, 0, true},
    known_measure{"SetR", "", measure_kind::set_r, takes_rel},
    known_measure{"SetF", "", measure_kind::set_f, usual | takes_beta, 1},
    known_measure{"SetAP", "", measure_kind::set_ap, usual},
    known_measure{"Success", "", measure_kind::success, needs_cutoff | usual},
    known_measure{"RBP", "", measure_kind::rbp, takes_cutoff | takes_rel | takes_p, 0.8},
    known_measure{"ERR", "", measure_kind::err, takes_cutoff},
    known_measure{"Judged", "", measure_kind::judged, takes_cutoff},
    known_measure{"NumQ", "", measure_kind::num_q, takes_nothing},
    known_measure{"NumRet", "", measure_kind::num_ret, takes_rel},
    known_measure{"NumRelRet", "", measure_kind::num_ret, takes_rel, 0, false, true},
    known_measure{"NumRel", "", measure_kind::num_rel, takes_rel},
};

struct trec_measure {
    std::string_view name, of;
    std::string_view presets;  // its parameters if none is given
};
constexpr std::string_view usual_cutoffs = "5,10,15,20,30,100,200,500,1000";
constexpr std::array trec_measures{
    trec_measure{"map", "AP", ""},
    trec_measure{"map_cut", "AP", usual_cutoffs},
    trec_measure{"ndcg", "nDCG", ""},
    trec_measure{"ndcg_cut", "nDCG", usual_cutoffs},
    trec_measure{"P", "P", usual_cutoffs},
    trec_measure{"recall", "R", usual_cutoffs},
    trec_measure{"recip_rank", "RR", ""},
    trec_measure{"Rprec", "Rprec", ""},
    trec_measure{"bpref", "Bpref", ""},
    trec_measure{"infAP", "infAP", ""},
    trec_measure{"iprec_at_recall", "IPrec", "0.00,0.10,0.20,0.30,0.40,0.50,0.60,0.70,0.80,0.90,1.00"},
    trec_measure{"set_P", "SetP", ""},
    trec_measure{"set_relative_P", "SetRelP", ""},
    trec_measure{"set_recall", "SetR", ""},
    trec_measure{"set_F", "SetF", ""},
    trec_measure{"set_map", "SetAP", ""},
    trec_measure{"success", "Success", "1,5,10"},
    trec_measure{"num_q", "NumQ", ""},
    trec_measure{"num_ret", "NumRet", ""},
    trec_measure{"num_rel", "NumRel", ""},
    trec_measure{"num_rel_ret", "NumRelRet", ""},
};

[[noreturn]] void refuse(std::string_view measure, std::string_view reason) {
    throw usage_error("measure '" + std::string(measure) + "': " + std::string(reason));
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

const known_measure* known(std::string_view name) {
    const auto* const at = std::ranges::find_if(known_measures, [&](const known_measure& m) {
        return m.name == name || (!m.alias.empty() && m.alias == name);
    });
    return at == known_measures.end() ? nullptr : at;
}

/// One name with its parameters.
class measure_parser {
  public:
    explicit measure_parser(std::string_view text) : text_(text) {}

    measure parse() {
        const std::size_t end = std::min(text_.find_first_of("(@"), text_.size());
        const known_measure* const found = known(text_.substr(0, end));
        if (found == nullptr) refuse_unknown(text_.substr(0, end));
        known_ = found;
        made_.kind = found->kind;
        made_.parameter = found->preset;
        made_.relative = found->relative;
        made_.counts_relevant = found->counts_relevant;
        for (const char c : text_)
            if (!is_space(c)) made_.name += c;
        std::string_view rest = text_.substr(end);
        if (rest.starts_with('(')) rest = take_arguments(rest);
        if (rest.starts_with('@')) {
            take_at(trimmed(rest.substr(1)));
        } else if (!rest.empty()) {
            refuse(text_, "'" + std::string(rest) + "' after the measure (expected NAME(PARAMETER=VALUE)@K)");
        }
        check();
        return std::move(made_);
    }

    [[noreturn]] static void refuse_unknown(std::string_view name) {
        std::string names;
        for (const known_measure& m : known_measures) names.append(names.empty() ? "" : ", ").append(m.name);
        for (const known_measure& m : known_measures)
            if (lower(m.name) == lower(name) || (!m.alias.empty() && lower(m.alias) == lower(name)))
                refuse(name, "is not known; did you mean " + std::string(m.name) + "?");
        refuse(name,
               "is not known (expected " + names + ", or trec_eval's names, such as map and ndcg_cut_10)");
    }

  private:
    bool takes(unsigned parameter) const { return (known_->parameters & parameter) != 0; }

    /// `(a=1, b={1: 2})`; returns what follows.
    std::string_view take_arguments(std::string_view rest) {
        int depth = 0;
        std::size_t begin = 1;
        for (std::size_t i = 0; i < rest.size(); ++i) {
            const char c = rest[i];
            if (c == '(' || c == '{') ++depth;
            if (c == ')' || c == '}') --depth;
            if ((c == ',' && depth == 1) || depth == 0) {
                const std::string_view argument = trimmed(rest.substr(begin, i - begin));
                if (!argument.empty()) take_argument(argument);
                begin = i + 1;
            }
            if (depth == 0) return trimmed(rest.substr(i + 1));
        }
        refuse(text_, "a parenthesis is not closed");
    }

    void take_argument(std::string_view argument) {
        const std::size_t equals = argument.find('=');
        if (equals == std::string_view::npos)
            refuse(text_, "parameter '" + std::string(argument) + "' has no name (expected NAME=VALUE)");
        const std::string_view name = trimmed(argument.substr(0, equals)),
                               value = trimmed(argument.substr(equals + 1));
        if (name == "rel" && takes(takes_rel)) {
            made_.rel = whole(name, value, 0);
            made_.counts_relevant = made_.kind == measure_kind::num_ret;
        } else if (name == "cutoff" && takes(takes_cutoff | needs_cutoff)) {
            set_cutoff(value);
        } else if (name == "judged_only" && takes(takes_judged_only)) {
            made_.judged_only = truth(name, value);
        } else if (name == "relative" && takes(takes_relative)) {
            made_.relative = truth(name, value);
        } else if (name == "dcg" && takes(takes_dcg)) {
            take_dcg(value);
        } else if (name == "gains" && takes(takes_gains)) {
            take_gains(value);
        } else if (name == "p" && takes(takes_p)) {
            made_.parameter = real(name, value, 0, 1);
        } else if (name == "beta" && takes(takes_beta)) {
            made_.parameter = real(name, value, 0, 1e9);
        } else if (name == "recall" && takes(needs_recall)) {
            set_recall(value);
        } else {
            refuse(text_, "it has no parameter '" + std::string(name) + "'" + parameter_names());
        }
    }

    std::string parameter_names() const {
        constexpr std::pair<unsigned, std::string_view> names[] = {{takes_cutoff | needs_cutoff, "cutoff"},
                                                                   {takes_rel, "rel"},
                                                                   {takes_judged_only, "judged_only"},
                                                                   {takes_dcg, "dcg"},
                                                                   {takes_gains, "gains"},
                                                                   {takes_p, "p"},
                                                                   {takes_beta, "beta"},
                                                                   {needs_recall, "recall"},
                                                                   {takes_relative, "relative"}};
        std::string list;
        for (const auto& [flag, name] : names)
            if (takes(flag)) list.append(list.empty() ? "" : ", ").append(name);
        return list.empty() ? "" : " (expected " + list + ")";
    }

    void take_at(std::string_view value) {
        if (takes(needs_recall)) return set_recall(value);
        if (!takes(takes_cutoff | needs_cutoff)) refuse(text_, "it takes no cutoff (@)");
        set_cutoff(value);
    }
    void set_recall(std::string_view value) {
        made_.parameter = real("recall", value, 0, 1);
        has_recall_ = true;
    }
    void set_cutoff(std::string_view value) {
        const auto number = number_of<std::uint64_t>(value);
        if (!number || *number == 0)
            refuse(text_, "invalid cutoff '" + std::string(value) + "' (expected a whole number from 1)");
        made_.cutoff = *number;
    }
    void take_dcg(std::string_view value) {
        const std::string_view name = unquoted(value);
        if (name != "log2" && name != "exp-log2")
            refuse(text_, "invalid dcg " + std::string(value) + " (expected 'log2' or 'exp-log2')");
        made_.exponential = name == "exp-log2";
    }
    /// {0: 0, 1: 1, 2: 5}
    void take_gains(std::string_view value) {
        const auto invalid = [&]() {
            refuse(text_, "invalid gains " + std::string(value) + " (expected {GRADE:GAIN,...})");
        };
        if (!value.starts_with('{') || !value.ends_with('}')) invalid();
        std::string_view rest = value.substr(1, value.size() - 2);
        while (!trimmed(rest).empty()) {
            const std::size_t end = std::min(rest.find(','), rest.size()), colon = rest.find(':');
            if (colon >= end) invalid();
            const auto grade = number_of<int>(trimmed(rest.substr(0, colon)));
            const auto gain = number_of<int>(trimmed(rest.substr(colon + 1, end - colon - 1)));
            if (!grade || !gain) invalid();
            made_.gains[*grade] = *gain;
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }

    static std::string_view unquoted(std::string_view value) {
        const bool quotes = value.size() >= 2 && (value.front() == '\'' || value.front() == '"') &&
                            value.back() == value.front();
        return quotes ? value.substr(1, value.size() - 2) : value;
    }
    int whole(std::string_view name, std::string_view value, int min) const {
        const auto number = number_of<int>(value);
        if (!number || *number < min)
            refuse(text_, "invalid " + std::string(name) + " '" + std::string(value) +
                              "' (expected a whole number from " + std::to_string(min) + ")");
        return *number;
    }
    double real(std::string_view name, std::string_view value, double min, double max) const {
        const auto number = number_of<double>(value);
        if (!number || !(*number >= min && *number <= max))
            refuse(text_, "invalid " + std::string(name) + " '" + std::string(value) +
                              "' (expected a number" + (max == 1 ? " from 0 to 1)" : ", 0 or more)"));
        return *number;
    }
    bool truth(std::string_view name, std::string_view value) const {
        const std::string given = lower(value);
        if (given != "true" && given != "false")
            refuse(text_,
                   "invalid " + std::string(name) + " '" + std::string(value) + "' (expected True or False)");
        return given == "true";
    }

    void check() const {
        if (takes(needs_cutoff) && made_.cutoff == 0)
            refuse(text_, "it needs a cutoff, as in " + std::string(known_->name) + "@10");
        if (takes(needs_recall) && !has_recall_)
            refuse(text_, "it needs a recall, as in " + std::string(known_->name) + "@0.1");
    }

    std::string_view text_;
    const known_measure* known_ = nullptr;
    bool has_recall_ = false;
    measure made_;
};

/// The measures of a name of trec_eval, such as ndcg_cut_10 and P.5,10; none for other names.
std::vector<measure> trec_measures_of(std::string_view text) {
    const trec_measure* found = nullptr;
    std::string_view values;
    for (const trec_measure& m : trec_measures) {
        if (!text.starts_with(m.name)) continue;
        const std::string_view rest = text.substr(m.name.size());
        if (rest.empty()) {
            found = &m;
            values = m.presets;
            break;
        }
        const bool has_parameter = rest.size() > 1 && (rest[0] == '_' || rest[0] == '.') &&
                                   rest.find_first_not_of("0123456789.,", 1) == std::string_view::npos;
        if (!has_parameter) continue;
        found = &m;
        values = rest.substr(1);
    }
    if (found == nullptr) return {};
    const known_measure& of = *known(found->of);
    std::vector<measure> result;
    if (values.empty()) {
        result.push_back(measure_parser(found->of).parse());
        result.back().name = text;
        return result;
    }
    const bool is_beta = (of.parameters & takes_beta) != 0;
    if (!is_beta && (of.parameters & (takes_cutoff | needs_cutoff | needs_recall)) == 0)
        refuse(text, "it takes no parameter");
    while (!values.empty()) {
        const std::size_t end = std::min(values.find(','), values.size());
        const std::string value(values.substr(0, end));
        result.push_back(measure_parser(is_beta ? std::string(found->of) + "(beta=" + value + ")"
                                                : std::string(found->of) + "@" + value)
                             .parse());
        result.back().name = std::string(found->name) + "_" + value;
        values.remove_prefix(std::min(end + 1, values.size()));
    }
    return result;
}

bool is_parameter_of_trec(std::string_view token) {
    return !token.empty() && token.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// The names of a list: commas and blanks separate, not in parentheses.
std::vector<std::string> names_in(std::string_view list) {
    std::vector<std::string> names;
    std::string name;
    int depth = 0;
    const auto finish = [&] {
        // P.5,10: a number goes on with the parameters of the name before it.
        if (is_parameter_of_trec(name) && !names.empty()) {
            names.back() += "," + name;
        } else if (!name.empty()) {
            names.push_back(name);
        }
        name.clear();
    };
    for (const char c : list) {
        if (c == '(') ++depth;
        if (c == ')') --depth;
        if (depth == 0 && (c == ',' || is_space(c))) {
            finish();
        } else {
            name += c;
        }
    }
    finish();
    return names;
}

}  // namespace

std::vector<measure> parse_measures(std::string_view names) {
    std::vector<measure> all;
    for (const std::string& name : names_in(names)) {
        std::vector<measure> made = trec_measures_of(name);
        if (made.empty()) made.push_back(measure_parser(name).parse());
        std::ranges::move(made, std::back_inserter(all));
    }
    if (all.empty()) throw usage_error("no measure is named (expected names such as nDCG@10 and AP)");
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (all[i].name == all[j].name) refuse(all[i].name, "it is named twice");
    return all;
}

}  // namespace quern
