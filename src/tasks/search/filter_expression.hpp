// SPDX-License-Identifier: Apache-2.0
// A filter as typed: `lang = de AND (price < 10 OR NOT tag IN (a, b))`. docs/search.md has the grammar. Without a store:
// names and values are texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

inline constexpr std::size_t max_filter_bytes = std::size_t{1} << 20;
inline constexpr std::size_t max_filter_depth = 100;  ///< parentheses in each other

struct filter_value {
    std::string text;  ///< without quotes and escapes
    std::size_t position = 0;
    bool quoted = false;
};

struct filter_comparison {
    enum class kind { equal, less, less_equal, greater, greater_equal, one_of, between, exists, starts_with };
    kind what = kind::equal;
    bool negated = false;  ///< !=, NOT IN, …: every document that the comparison itself does not match
    filter_value field;
    std::vector<filter_value> values;  ///< none of exists, two of between, one or more of one_of, else one
    std::size_t position = 0;          ///< of the operator
};

/// A step of evaluation with a stack of sets of documents.
struct filter_step {
    enum class kind {
        comparison,  ///< pushes its documents
        both,        ///< replaces the last two sets by their intersection
        either,      ///< by their union
        negation,    ///< replaces the last set by all other documents
    };
    kind what = kind::comparison;
    std::size_t comparison = 0;
};

struct filter_expression {
    std::vector<filter_comparison> comparisons;  ///< in the order of the text; at least one
    std::vector<filter_step> steps;              ///< they leave one set
};

/// Throws filter_error for text outside the grammar. Cost: one pass.
filter_expression parse_filter(std::string_view filter);

/// Names separated by commas, each in quotes or not, and with `signs` perhaps a - before it, as in `price,-"my date"`.
struct named_field {
    filter_value name;
    bool descending = false;
};
/// `option` is for messages: "sort". Throws usage_error for an empty or repeated name.
std::vector<named_field> parse_field_names(std::string_view list, std::string_view option, bool signs);

}  // namespace quern
