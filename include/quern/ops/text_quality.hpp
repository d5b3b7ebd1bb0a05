// SPDX-License-Identifier: Apache-2.0
// Quality rules for corpora of language models: which there are, and which of them a run applies. A rule compares a
// measure of a text with a limit, in integers: the result is the same on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/decimal.hpp"

namespace quern {

/// How a text is divided into words.
enum class word_split {
    /// Unicode's word boundaries (UAX #29). Every other character that is not white space is a symbol, a word of its own.
    unicode,
    whitespace,  ///< what is between white space
};
inline constexpr std::string_view word_split_names[] = {"unicode", "whitespace"};

enum class rule_kind : std::uint8_t {
    at_least,   ///< removes a document whose value is less than the limit
    at_most,    ///< removes a document whose value is more than the limit
    page,       ///< removes a document that has something; without a limit
    line,       ///< changes or drops lines; with a limit if it has a default
    parameter,  ///< a number that other rules of the group use
    words,      ///< a list of words: a built-in one by its language, or a file with one word per line
};
/// "at least", "at most", "page", "line", "parameter", "words"
std::string_view name_of(rule_kind kind);

/// A rule, or a parameter of one.
struct quality_rule {
    std::string_view group, name;
    rule_kind kind;
    std::optional<decimal> limit;  ///< the default
    bool has_default;              ///< on if the group is asked for without more
    std::string_view help;         ///< the measure
};

struct quality_group {
    std::string_view name;
    std::string_view source;           ///< the paper
    std::uint32_t first = 0, end = 0;  ///< its rules, in the order in which they are applied
};

std::span<const quality_group> quality_groups();
std::span<const quality_rule> quality_rules();
/// "gopher-quality.min-words"
std::string full_name(const quality_rule& rule);

/// A rule of a group, and its setting.
struct chosen_rule {
    bool is_on = false;
    decimal limit;
    std::string list;                ///< rule_kind::words: a language or a file
    std::vector<std::string> words;  ///< instead of `list`, if it has any
};
struct chosen_group {
    std::uint32_t group = 0;
    std::vector<chosen_rule> rules;  ///< all of the group, in its order
};

/// The rules of a run: groups in the order in which they are applied.
class rule_choice {
  public:
    /// Adds rules: names separated by commas. "gopher-quality" is a group with its defaults, "fineweb.max-short-lines" a
    /// rule, "fineweb.max-short-lines=0.8" one with another limit, "c4.javascript=off" a group without one rule. A name
    /// that was given before keeps its place. Throws usage_error.
    void add(std::string_view list);
    /// Whether a group or a rule ("c4.policy") of this name is chosen.
    bool has(std::string_view name) const;
    /// Sets a rule: a number, "on", "off", a language or file of words. Throws usage_error.
    void set(std::string_view full_name, std::string_view value);
    /// Sets a rule of words. Throws usage_error.
    void set(std::string_view full_name, std::vector<std::string> words);

    bool empty() const { return groups_.empty(); }
    const std::vector<chosen_group>& groups() const { return groups_; }
    std::vector<chosen_group>& groups() { return groups_; }
    /// The setting of a rule; a rule of a group that is not chosen is off.
    chosen_rule setting(std::uint32_t rule) const;
    /// The chosen rules in one line, with their limits; add() reads it back, but for lists of words.
    std::string text() const;

  private:
    chosen_group& group_of(std::uint32_t group, bool with_defaults);
    chosen_rule& rule_of(std::string_view full_name);

    std::vector<chosen_group> groups_;
};

}  // namespace quern
