// SPDX-License-Identifier: Apache-2.0
// quern man
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "commands.hpp"
#include "man_page.hpp"
#include "nearest_name.hpp"
#include "quern/base/error.hpp"
#include "session.hpp"

namespace quern::cli {
namespace {

/// The day of $SOURCE_DATE_EPOCH, seconds since 1970, as YYYY-MM-DD; empty without it: a page never depends on the day
/// it is made.
std::string source_date() {
    const char* const value = std::getenv("SOURCE_DATE_EPOCH");
    if (value == nullptr || *value == '\0') return {};
    const std::string_view text(value);
    constexpr std::int64_t last = 253'402'300'799;  // the end of 9999
    std::int64_t seconds = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (failure != std::errc{} || end != text.data() + text.size() || seconds < 0 || seconds > last) {
        throw usage_error(fmt::format("SOURCE_DATE_EPOCH: invalid value '{}' (expected seconds since 1970)",
                                      text.substr(0, 64)));
    }
    using namespace std::chrono;
    const year_month_day day(floor<days>(sys_seconds(std::chrono::seconds(seconds))));
    return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                       static_cast<unsigned>(day.day()));
}

const command& named(const std::string& name) {
    std::vector<std::string> names;
    for (const command& c : all_commands()) {
        if (name == c.name) return c;
        names.emplace_back(c.name);
    }
    const std::string near = nearest_name(name, names);
    throw usage_error(fmt::format(
        "unknown command '{}'{}", name,
        near.empty() ? "; quern --help lists the commands" : fmt::format("; did you mean {}?", near)));
}

}  // namespace

int run_man(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    std::vector<std::string> names;
    command_line line(
        self, "[COMMAND] [OPTION]...",
        "Writes the manual page of a command, in the format that man reads, made from the "
        "declarations of its options; without a COMMAND that of the program, quern(1). An "
        "installed package has all of them: man quern-search. The page bears the day of "
        "$SOURCE_DATE_EPOCH (seconds since 1970), or no day, and is the same on every machine.");
    line.arguments("COMMAND", "A command of quern. At most one.", names, false);
    std::vector<std::string> commands;
    for (const command& c : all_commands()) commands.emplace_back(c.name);
    line.offer("COMMAND", commands);
    declare_common(line, common, {.rows = false, .scratch = false});
    line.example("quern man search | man -l -", "Show the page of quern search.");
    line.example("quern man search -o ~/.local/share/man/man1/quern-search.1",
                 "Write it where man finds it.");
    line.parse(arguments);
    if (names.size() > 1) throw usage_error(fmt::format("unexpected argument '{}'", names[1]));

    const std::string date = source_date();
    std::string text;
    if (names.empty()) {
        std::vector<std::string> others;
        for (const std::string& name : commands) others.push_back("quern-" + name);
        text = to_roff(program_page(), date, others);
    } else {
        const std::string program[] = {"quern"};
        text = to_roff(page_of(named(names[0])), date, program);
    }
    session job(self, common);
    output to = job.open_output(common.output, {});
    job.stage("write", [&] { to.write(text); });
    to.commit();
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
