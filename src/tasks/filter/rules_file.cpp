// SPDX-License-Identifier: Apache-2.0
// Rules as a file in TOML:
//
//     rules = ["gopher-quality", "fineweb.max-short-lines"]   # optional: which, and their order
//     [gopher-quality]
//     min-words = 20
//     stop-words = ["der", "die", "und"]
//
// toml++ is used as headers: no library is needed at run time.
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>

#include "base/ascii.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/filter.hpp"
#include "text/stop_words.hpp"

namespace quern {
namespace {

constexpr std::size_t max_bytes = std::size_t{1} << 20;

std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(max_bytes + 1, '\0');
    if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad() || !file.is_open() || (file.fail() && !file.eof()))
        throw usage_error(fmt::format("{}: cannot read the file of rules", path.string()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > max_bytes)
        throw usage_error(
            fmt::format("{}: the file is too large (expected rules of at most 1 MiB)", path.string()));
    return text;
}

class rules_reader {
  public:
    explicit rules_reader(const std::filesystem::path& path) : path_(path) {}

    rule_choice read() {
        const std::string bytes = bytes_of(path_);
        try {
            file_ = toml::parse(bytes);
        } catch (const toml::parse_error& wrong) {
            line_ = wrong.source().begin.line;
            fail(fmt::format("{} (expected TOML)", wrong.description()));
        }
        std::vector<std::pair<std::string_view, const toml::node*>> entries;
        for (const auto& [key, node] : file_) entries.emplace_back(key.str(), &node);
        std::ranges::sort(entries, {}, [](const auto& e) {
            return std::pair(e.second->source().begin.line, e.second->source().begin.column);
        });
        const bool has_list = file_.contains("rules");
        if (has_list) at(*file_.get("rules"), [&] { read_list(*file_.get("rules")); });
        for (const auto& [name, node] : entries) {
            if (name == "rules") continue;
            at(*node, [&] { read_group(name, *node, has_list); });
        }
        if (rules_.empty())
            throw usage_error(fmt::format("{}: there is no rule in the file", path_.string()));
        return std::move(rules_);
    }

  private:
    [[noreturn]] void fail(std::string_view reason) const {
        throw usage_error(fmt::format("{}:{}: {}", path_.string(), line_, reason));
    }

    /// Names the file and the line of the node in what `read` throws.
    template <class Read>
    void at(const toml::node& node, const Read& read) {
        if (node.source().begin.line != 0) line_ = node.source().begin.line;
        const auto mine = line_;
        try {
            read();
        } catch (const usage_error& wrong) {
            const std::string_view what = wrong.what();
            if (what.starts_with(path_.string() + ":")) throw;
            line_ = mine;
            fail(what);
        }
    }

    void read_list(const toml::node& node) {
        if (const auto one = node.value<std::string>(); node.is_string()) return add_names(*one);
        const toml::array* const list = node.as_array();
        if (list == nullptr) fail("rules: expected a list of names of rules");
        for (const toml::node& each : *list) {
            at(each, [&] {
                if (!each.is_string()) fail("rules: expected names of rules in quotes");
                add_names(*each.value<std::string>());
            });
        }
    }

    static bool has_defaults(std::string_view name) {
        const auto known = std::ranges::find(quality_groups(), name, &quality_group::name);
        return known == quality_groups().end() ||
               std::ranges::any_of(quality_rules().subspan(known->first, known->end - known->first),
                                   &quality_rule::has_default);
    }

    /// A group without defaults has its place here, and its rules in its table.
    void add_names(std::string_view list) {
        for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
            end = list.find(',', begin);
            const std::string_view name =
                trimmed(list.substr(begin, end == std::string_view::npos ? end : end - begin));
            if (const auto* const group = file_.get_as<toml::table>(name);
                group != nullptr && !has_defaults(name))
                at(*group, [&] { read_table(name, *group); });
            rules_.add(name);
        }
    }

    void read_table(std::string_view name, const toml::table& group) {
        for (const auto& [key, value] : group)
            at(value, [&] { read_rule(fmt::format("{}.{}", name, key.str()), value); });
    }

    void read_group(std::string_view name, const toml::node& node, bool has_list) {
        const toml::table* const group = node.as_table();
        if (group == nullptr)
            fail(fmt::format("{}: expected rules = [...], or a table of rules such as [gopher-quality]",
                             name));
        const auto known = std::ranges::find(quality_groups(), name, &quality_group::name);
        if (has_list && known != quality_groups().end() && !rules_.has(name))
            fail(
                fmt::format("[{}] is not among the rules of this file (expected it in rules = [...])", name));
        if (!has_list && (has_defaults(name) || group->empty())) rules_.add(name);
        read_table(name, *group);
    }

    void read_rule(const std::string& name, const toml::node& value) {
        if (const auto flag = value.as_boolean()) return rules_.set(name, flag->get() ? "on" : "off");
        if (const auto whole = value.as_integer()) return rules_.set(name, std::to_string(whole->get()));
        if (const auto number = value.as_floating_point()) return rules_.set(name, shortest(number->get()));
        if (const auto text = value.as_string()) {
            std::string list = text->get();
            const bool is_words = std::ranges::any_of(quality_rules(), [&](const quality_rule& rule) {
                return rule.kind == rule_kind::words && full_name(rule) == name;
            });
            const auto codes = text::builtin_stop_lists();
            if (is_words && std::ranges::count(codes, list) == 0 && list != "off" && !list.empty())
                list = (path_.parent_path() / list).string();
            return rules_.set(name, list);
        }
        const toml::array* const list = value.as_array();
        if (list == nullptr)
            fail(fmt::format("{}: expected a number, true, false, a text or a list of words", name));
        std::vector<std::string> words;
        for (const toml::node& each : *list) {
            if (!each.is_string()) at(each, [&] { fail(fmt::format("{}: expected words in quotes", name)); });
            words.push_back(*each.value<std::string>());
        }
        rules_.set(name, std::move(words));
    }

    std::filesystem::path path_;
    toml::table file_;
    toml::source_index line_ = 1;
    rule_choice rules_;
};

}  // namespace

rule_choice read_rules(const std::filesystem::path& file) {
    return rules_reader(file).read();
}

}  // namespace quern
