// SPDX-License-Identifier: Apache-2.0
// SpreadsheetML (ECMA-376, part 1, 18): sheets in their order, each with its name and its rows, cells separated by tabs.
// Numbers have at most 15 digits, as Excel shows them; days and times are ISO 8601. Formulas show the result that the
// program stored.
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "io/corpus/documents/office_package.hpp"
#include "io/corpus/documents/text_writer.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

constexpr std::size_t max_items = 1 << 20;  ///< of sheets, styles

std::size_t index_of(std::string_view digits) {
    std::size_t value = SIZE_MAX;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

/// The texts that cells refer to by number, one after the other.
class shared_strings final : public skipping_handler {
  public:
    explicit shared_strings(const reading_budget& budget) : budget_(budget) {}
    std::string_view string_at(std::size_t number) const {
        if (number >= ends_.size()) return {};
        const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
        return std::string_view(all_).substr(begin, ends_[number] - begin);
    }

  protected:
    bool enter(std::string_view name, const xml_attributes&) override {
        if (name == "rPh" || name == "rPr") return false;
        in_text_ = name == "t";
        return true;
    }
    void leave(std::string_view name) override {
        in_text_ = false;
        if (name != "si") return;
        ends_.push_back(all_.size());
        check();
    }
    void add(std::string_view text) override {
        if (!in_text_) return;
        all_.append(text);
        check();
    }

  private:
    void check() const {
        // Each grows by doubling, the old copy next to it.
        require_budget(budget_, 3 * (all_.size() + ends_.size() * sizeof(std::size_t)),
                       "the texts of a workbook");
    }
    const reading_budget& budget_;
    std::string all_;
    std::vector<std::size_t> ends_;
    bool in_text_ = false;
};

enum class number_format : std::uint8_t { number, date, time, date_and_time };

/// By the placeholders of a format code; parts in quotes, in brackets (colours, languages) and escaped characters do
/// not count.
number_format format_of(std::string_view code) {
    bool date = false, time = false;
    for (std::size_t i = 0; i < code.size(); ++i) {
        const char c = static_cast<char>(code[i] >= 'A' && code[i] <= 'Z' ? code[i] + 32 : code[i]);
        if (c == '\\' || c == '_' || c == '*') {
            ++i;
        } else if (c == '"') {
            i = std::min(code.find('"', i + 1), code.size());
        } else if (c == '[') {
            const std::size_t end = std::min(code.find(']', i), code.size());
            const std::string inside = lower(code.substr(i + 1, end - i - 1));
            if (!inside.empty() && inside.find_first_not_of("hms") == std::string::npos)
                return number_format::number;
            i = end;
        } else if (c == 'y' || c == 'd') {
            date = true;
        } else if (c == 'h' || c == 's') {
            time = true;
        } else if (c == ';') {
            break;
        } else if (c == 'm' && !time) {
            date = date || code.find(':') == std::string_view::npos;
        }
    }
    if (date) return time ? number_format::date_and_time : number_format::date;
    return time ? number_format::time : number_format::number;
}

/// The formats that are numbered, not written.
number_format built_in_format(std::size_t id) {
    if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || (id >= 50 && id <= 58) || id == 36)
        return number_format::date;
    if (id == 22) return number_format::date_and_time;
    if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35) || id == 45 || id == 47) return number_format::time;
    return number_format::number;
}

class style_formats final : public xml_handler {
  public:
    void start(std::string_view name, const xml_attributes& attributes) override {
        if (name == "numFmt" && codes_.size() < max_items)
            codes_.emplace(index_of(attributes.value("numFmtId")), format_of(attributes.value("formatCode")));
        if (name == "cellXfs") in_cells_ = true;
        if (name == "xf" && in_cells_ && of_style_.size() < max_items) {
            const std::size_t id = index_of(attributes.value("numFmtId"));
            const auto own = codes_.find(id);
            of_style_.push_back(own == codes_.end() ? built_in_format(id) : own->second);
        }
    }
    void end(std::string_view name) override {
        if (name == "cellXfs") in_cells_ = false;
    }
    void text(std::string_view) override {}
    number_format operator[](std::size_t style) const {
        return style < of_style_.size() ? of_style_[style] : number_format::number;
    }

  private:
    std::map<std::size_t, number_format> codes_;
    std::vector<number_format> of_style_;
    bool in_cells_ = false;
};

/// A number as the program displays it; text other than numbers, and invalid dates, are returned unchanged.
std::string shown_number(std::string_view stored, number_format format, bool from_1904) {
    double value = 0;
    const auto parsed = std::from_chars(stored.data(), stored.data() + stored.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != stored.data() + stored.size() || !std::isfinite(value))
        return std::string(stored);
    constexpr double last_day = 2958466;  // 1 January 10000
    char buffer[64];
    if (format == number_format::number || value < 0 || value >= last_day) {
        constexpr int digits = 15;
        const auto made =
            std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, digits);
        return {buffer, made.ptr};
    }
    using namespace std::chrono;
    auto seconds_of = static_cast<long long>(std::llround(value * 86'400));
    const long long days = seconds_of / 86'400;
    seconds_of %= 86'400;
    std::string out;
    if (format != number_format::time) {
        // Day 60 of 1900 is 29 February, which that year did not have.
        const long long day = from_1904 ? days + 1462 : days < 60 ? days + 1 : days;
        const year_month_day date(sys_days(year(1899) / December / 30) + std::chrono::days(day));
        std::snprintf(buffer, sizeof buffer, "%04d-%02u-%02u", static_cast<int>(date.year()),
                      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
        out = buffer;
    }
    if (format == number_format::date) return out;
    std::snprintf(buffer, sizeof buffer, "%02lld:%02lld", seconds_of / 3600, seconds_of / 60 % 60);
    if (!out.empty()) out += 'T';
    out += buffer;
    if (seconds_of % 60 != 0) {
        std::snprintf(buffer, sizeof buffer, ":%02lld", seconds_of % 60);
        out += buffer;
    }
    return out;
}

struct sheet {
    std::string name, id;
};

class workbook_handler final : public xml_handler {
  public:
    void start(std::string_view name, const xml_attributes& attributes) override {
        if (name == "workbookPr")
            from_1904 = attributes.value("date1904") == "1" || attributes.value("date1904") == "true";
        if (name == "sheet" && sheets.size() < max_items)
            sheets.push_back({std::string(attributes.value("name")),
                              std::string(attributes.value("relationships", "id"))});
    }
    void end(std::string_view) override {}
    void text(std::string_view) override {}
    std::vector<sheet> sheets;
    bool from_1904 = false;
};

class sheet_handler final : public skipping_handler {
  public:
    sheet_handler(text_writer& out, const shared_strings& strings, const style_formats& formats,
                  bool from_1904)
        : out_(out), strings_(strings), formats_(formats), from_1904_(from_1904) {}

  protected:
    bool enter(std::string_view name, const xml_attributes& attributes) override {
        if (name == "rPh" || name == "rPr" || name == "f" || name == "headerFooter") return false;
        if (name == "row") {
            out_.want(html_text::line);
        } else if (name == "c") {
            out_.want(html_text::tab);
            type_ = attributes.value("t");
            format_ = formats_[index_of(attributes.value("s"))];
            value_.clear();
        } else if (name == "v" || name == "t") {
            in_value_ = true;
        }
        return true;
    }
    void leave(std::string_view name) override {
        if (name == "v" || name == "t") in_value_ = false;
        if (name == "c") write_cell();
    }
    void add(std::string_view text) override {
        constexpr std::size_t longest = 1 << 20;  // a cell of Excel has 32,767 characters
        if (in_value_ && value_.size() < longest) value_.append(text);
    }

  private:
    void write_cell() {
        if (type_ == "s") {
            out_.add(strings_.string_at(index_of(value_)));
        } else if (type_ == "b") {
            out_.add(value_ == "0" ? "FALSE" : "TRUE");
        } else if (type_.empty() || type_ == "n") {
            if (!value_.empty()) out_.add(shown_number(value_, format_, from_1904_));
        } else {
            out_.add(value_);
        }
    }

    text_writer& out_;
    const shared_strings& strings_;
    const style_formats& formats_;
    bool from_1904_, in_value_ = false;
    number_format format_ = number_format::number;
    std::string type_, value_;
};

}  // namespace

converted read_workbook(const office_package& package, const std::string& main) {
    workbook_handler book;
    if (!package.read_part(main, book)) throw not_convertible("damaged", "damaged: without the part " + main);
    const auto relations = package.relations(main);
    shared_strings strings(package.file().budget);
    package.read_part(office_package::first_of_type(relations, "sharedStrings"), strings);
    style_formats formats;
    package.read_part(office_package::first_of_type(relations, "styles"), formats);
    text_writer out(package.file());
    for (const sheet& each : book.sheets) {
        out.want(html_text::paragraph);
        out.add(each.name);
        out.want(html_text::line);
        const auto found = relations.find(each.id);
        if (found == relations.end()) continue;
        sheet_handler handler(out, strings, formats, book.from_1904);
        package.read_part(found->second.target, handler);
    }
    converted result;
    result.title =
        package.first_text(office_package::first_of_type(package.relations(""), "core-properties"), "title");
    result.text = out.take();
    return result;
}

}  // namespace quern::io
