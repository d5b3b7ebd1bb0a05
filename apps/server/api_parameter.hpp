// SPDX-License-Identifier: Apache-2.0
// The parameters of an address of the API: rows of the tables of options, with what their description adds.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "quern/base/option.hpp"

namespace quern::server {

struct api_parameter {
    option_description about;
    option_value initial;      ///< the default
    std::string_view example;  ///< as in a URL
    bool required = false;
    bool in_path = false;  ///< part of the address, not read by `parameters`
};

/// A row of a table, with the default that `defaults` has.
template <class Options>
api_parameter parameter_of(const option<Options>& row, const Options& defaults, std::string_view example) {
    return {row, row.get(defaults), example};
}
template <class Options>
api_parameter parameter_of(option_name<std::type_identity_t<Options>> name, const Options& defaults,
                           std::string_view example) {
    return parameter_of(name.row, defaults, example);
}

/// Requests need the parameter.
inline api_parameter required(api_parameter parameter) {
    parameter.required = true;
    return parameter;
}
/// The server refuses larger numbers than the library does.
inline api_parameter at_most(std::uint64_t max, api_parameter parameter) {
    parameter.about.whole.max = max;
    return parameter;
}

/// The parameter of this name, which must be in the list.
const api_parameter& parameter_named(const std::vector<api_parameter>& all, std::string_view name);

class json_writer;

/// The help of the command line in the words of the API: parameters instead of options, the parameter's name instead of
/// the letter that stands for its value.
std::string description_of(const api_parameter& parameter, const std::vector<api_parameter>& all);

enum class flag_form { text, boolean };  ///< "0" and "1" as in addresses, or as in JSON
/// The members of a parameter's JSON Schema: its type, bounds, names and default.
void write_schema_members(json_writer& json, const api_parameter& parameter, flag_form flags);

/// The store to read: a parameter of every address of a store.
const api_parameter& store_parameter();

/// The parameters of /api/search, /api/documents, /api/documents/{id}, /api/words, /api/complete, /api/statistics,
/// /api/duplicates, /api/dedup, and of addresses that take only `store`, in the order of their description.
const std::vector<api_parameter>& search_parameters();
const std::vector<api_parameter>& document_parameters();
const std::vector<api_parameter>& document_path_parameters();
const std::vector<api_parameter>& words_parameters();
const std::vector<api_parameter>& completion_parameters();
const std::vector<api_parameter>& statistics_parameters();
const std::vector<api_parameter>& duplicates_parameters();
const std::vector<api_parameter>& dedup_parameters();
const std::vector<api_parameter>& store_parameters();
const std::vector<api_parameter>& file_parameters();

/// web/openapi.json with these parameters in their places. `stores`: the names of the server's stores.
std::string openapi_document(std::string_view file, std::span<const std::string_view> stores);

}  // namespace quern::server
