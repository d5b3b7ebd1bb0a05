// SPDX-License-Identifier: Apache-2.0
// CLI11 reads TOML too, but in time quadratic in the length of a list, without line numbers, and it finds
// comments inside strings. Options need little of TOML: strings, lists of strings, and bare words.
#include "config_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <string_view>

#include "quern/base/error.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

constexpr std::size_t max_bytes = std::size_t{1} << 20;  // hand-written options take a few KiB
constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(max_bytes + 1, '\0');
    if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad() || !file.is_open() || (file.fail() && !file.eof()))
        throw usage_error(fmt::format("--config: {}: cannot read the file", path));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > max_bytes) {
        throw usage_error(
            fmt::format("--config: {}: the file is too large (expected options of at most 1 MiB)", path));
    }
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
    return text;
}

class config_reader {
  public:
    explicit config_reader(const std::string& path) : path_(path), text_(text_of(path)) {}

    std::vector<config_setting> read() {
        for (const char c : text_) {
            if (c == '\n') ++line_;
            const auto byte = static_cast<unsigned char>(c);
            if ((byte < 0x20 && c != '\t' && c != '\r' && c != '\n') || byte == 0x7F)
                fail("control character (expected TOML)");
        }
        for (line_ = 1; at_ < text_.size();) read_line();
        return std::move(settings_);
    }

  private:
    [[noreturn]] void fail(std::string_view reason) const {
        throw usage_error(fmt::format("{}:{}: {}", path_, line_, reason));
    }

    char here() const { return at_ < text_.size() ? text_[at_] : '\n'; }

    void pass_blanks() {
        while (at_ < text_.size() && blanks.find(text_[at_]) != std::string_view::npos) ++at_;
    }

    /// The rest of the line without a comment that follows a blank; stops at the line's end.
    std::string_view take_rest() {
        const std::size_t begin = at_;
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        at_ = end;
        std::string_view rest = std::string_view(text_).substr(begin, end - begin);
        for (std::size_t i = rest.find('#'); i != std::string_view::npos; i = rest.find('#', i + 1)) {
            if (i == 0 || blanks.find(rest[i - 1]) != std::string_view::npos) {
                rest = rest.substr(0, i);
                break;
            }
        }
        return trimmed(rest);
    }

    /// The end of a line after a value: only a comment is allowed.
    void take_end() {
        const std::string_view rest = take_rest();
        if (!rest.empty()) fail(fmt::format("unexpected '{}' after the value", shown(rest)));
    }

    void read_line() {
        pass_blanks();
        if (here() == '#' || here() == ';') at_ = std::min(text_.find('\n', at_), text_.size());
        if (here() == '[') {
            read_heading();
        } else if (here() != '\n') {
            read_setting();
        }
        ++at_;  // the line's end
        ++line_;
    }

    void read_heading() {
        const std::string_view heading = take_rest();
        if (!heading.ends_with(']')) fail(fmt::format("'{}' lacks the closing ]", shown(heading)));
        section_ = trimmed(heading.substr(1, heading.size() - 2));
        if (section_.empty() || section_.starts_with('['))
            fail("invalid heading (expected the name of one command, such as [search])");
    }

    void read_setting() {
        config_setting setting{.section = section_, .name = take_key(), .values = {}, .line = line_};
        const auto [before, is_new] = lines_.emplace(std::pair(section_, setting.name), line_);
        if (!is_new) fail(fmt::format("'{}' is already set in line {}", shown(setting.name), before->second));
        if (here() == '=') {
            ++at_;
            pass_blanks();
            take_value(setting.values);
        } else {
            setting.values.emplace_back("true");
            take_end();
        }
        settings_.push_back(std::move(setting));
    }

    std::string take_key() {
        if (here() == '"' || here() == '\'') {
            std::string key = take_string();
            pass_blanks();
            return key;
        }
        const std::size_t begin = at_;
        at_ = std::min(text_.find_first_of("=#\n", at_), text_.size());
        return std::string(trimmed(std::string_view(text_).substr(begin, at_ - begin)));
    }

    void take_value(std::vector<std::string>& values) {
        if (here() == '[') {
            take_list(values);
        } else if (here() == '"' || here() == '\'') {
            values.push_back(take_string());
        } else if (here() == '{') {
            fail("a table in braces is not allowed (expected a string, a list or a bare word)");
        } else {
            values.emplace_back(take_rest());
            return;
        }
        take_end();
    }

    void take_list(std::vector<std::string>& values) {
        const std::uint64_t begin = line_;
        for (++at_;;) {
            pass_blanks();
            if (at_ >= text_.size()) {
                line_ = begin;
                fail("the list lacks the closing ]");
            }
            const char c = text_[at_];
            if (c == ']') break;
            if (c == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (c == '\n') {
                ++line_;
                ++at_;
            } else if (c == ',') {
                fail("a comma without a preceding value");
            } else {
                take_item(values);
            }
        }
        ++at_;
    }

    void take_item(std::vector<std::string>& values) {
        if (here() == '[') fail("a list in a list is not allowed (expected a string or a bare word)");
        if (here() == '"' || here() == '\'') {
            values.push_back(take_string());
        } else {
            const std::size_t begin = at_;
            at_ = std::min(text_.find_first_of(",]#\n", at_), text_.size());
            values.emplace_back(trimmed(std::string_view(text_).substr(begin, at_ - begin)));
        }
        for (;;) {  // a comma or the end may follow on a later line
            pass_blanks();
            if (here() == '#') at_ = std::min(text_.find('\n', at_), text_.size());
            if (at_ >= text_.size() || here() != '\n') break;
            ++line_;
            ++at_;
        }
        if (here() == ',') {
            ++at_;
        } else if (at_ < text_.size() && here() != ']') {
            fail("missing comma between two values of a list");
        }
    }

    std::string take_string() {
        const char quote = text_[at_];
        if (std::string_view(text_).substr(at_).starts_with(std::string(3, quote)))
            fail("a multi-line string is not allowed (expected a string on one line)");
        std::string value;
        for (++at_; here() != quote; ++at_) {
            if (here() == '\n') fail(fmt::format("the string lacks the closing {}", quote));
            if (quote == '"' && here() == '\\') {
                ++at_;
                value += unescaped(here());
            } else {
                value += here();
            }
        }
        ++at_;
        return value;
    }

    char unescaped(char c) const {
        switch (c) {
            case 't':
                return '\t';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case '"':
            case '\\':
                return c;
            default:
                fail(fmt::format("unknown escape \\{} in a string (write \\\\ for a backslash)",
                                 c == '\n' ? ' ' : c));
        }
    }

    const std::string& path_;
    const std::string text_;
    std::size_t at_ = 0;
    std::uint64_t line_ = 1;
    std::string section_;
    std::map<std::pair<std::string, std::string>, std::uint64_t> lines_;  ///< of each key
    std::vector<config_setting> settings_;
};

}  // namespace

std::vector<config_setting> read_config(const std::string& path) {
    return config_reader(path).read();
}

}  // namespace quern::cli
