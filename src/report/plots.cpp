// SPDX-License-Identifier: Apache-2.0
#include "report/plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "report/html_page.hpp"

namespace quern::report {
namespace {

constexpr double width = 800;

std::string opened(double height, std::string_view title) {
    return fmt::format(
        "<div class=\"plot\"><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", width,
        height, escaped(title));
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                       escaped(text));
}

std::string mark(double x, double y, double across, double down, const bar& of) {
    const std::string hint = of.hint.empty() ? of.name + ": " + of.label : of.hint;
    return fmt::format(
        "<rect class=\"mark\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"><title>{}</title></rect>\n",
        x, y, across, down, escaped(hint));
}

double largest(std::span<const bar> bars) {
    double max = 0;
    for (const bar& b : bars) max = std::max(max, b.value);
    return max > 0 ? max : 1;
}

/// The exponent of the first power of ten not below `value`; at least 1, so that an axis has a length.
int decades(double value) {
    int exponent = 1;
    double power = 10;
    while (power < value) {
        power *= 10;
        ++exponent;
    }
    return exponent;
}

std::string power_of_ten(int exponent) {
    static constexpr std::string_view suffixes[] = {"", "K", "M", "G", "T", "P"};
    const auto at = static_cast<std::size_t>(exponent / 3);
    if (at >= std::size(suffixes)) return fmt::format("1e{}", exponent);
    return fmt::format("1{:0<{}}{}", "", exponent % 3, suffixes[at]);
}

}  // namespace

std::string bar_plot(std::string_view title, std::span<const bar> bars) {
    const double max = largest(bars);
    std::string out = fmt::format("<table class=\"bars\" aria-label=\"{}\">\n", escaped(title));
    for (const bar& b : bars) {
        const std::string hint = b.hint.empty() ? "" : fmt::format(" title=\"{}\"", escaped(b.hint));
        out += fmt::format(
            "<tr{}><th>{}</th><td class=\"n\">{}</td><td class=\"bar\"><div "
            "style=\"width:{:.1f}%\"></div></td></tr>\n",
            hint, escaped(b.name), escaped(b.label), 100 * b.value / max);
    }
    return out + "</table>\n";
}

std::string column_plot(std::string_view title, std::span<const bar> bars, std::string_view x_axis) {
    constexpr double top = 20, body = 180, bottom = 44;
    const double max = largest(bars);
    std::string out = opened(top + body + bottom, title);
    const double each = width / static_cast<double>(std::max<std::size_t>(bars.size(), 8));
    double x = 0;
    for (const bar& b : bars) {
        const double height = body * b.value / max;
        if (b.value > 0) {
            out += mark(x + 2, top + body - height, each - 4, std::max(height, .5), b);
            out += text_at(x + each / 2, top + body - height - 4, "middle", b.label);
        }
        out += text_at(x + each / 2, top + body + 16, "middle", b.name);
        x += each;
    }
    out += fmt::format("<path class=\"grid\" d=\"M0 {0:.1f}H{1:.1f}\"/>\n", top + body, x);
    return out + text_at(x / 2, top + body + 36, "middle", x_axis) + "</svg></div>\n";
}

std::string signed_plot(std::string_view title, std::span<const bar> bars) {
    constexpr double left = 60, right = 10, top = 10, body = 200, bottom = 10;
    double highest = 0, lowest = 0;
    for (const bar& b : bars) {
        highest = std::max(highest, b.value);
        lowest = std::min(lowest, b.value);
    }
    const double range = highest > lowest ? highest - lowest : 1;
    const auto y_of = [&](double value) { return top + body * (highest - value) / range; };
    std::string out = opened(top + body + bottom, title);
    for (const double value : {highest, 0.0, lowest}) {
        out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left, y_of(value),
                           width - right);
        // Labels must not overlap the one of the line at 0.
        if (value == 0 || std::fabs(y_of(value) - y_of(0)) > 14)
            out += text_at(left - 6, y_of(value) + 4, "end", fmt::format("{:.3g}", value));
    }
    const double each = (width - left - right) / static_cast<double>(std::max<std::size_t>(bars.size(), 8));
    double x = left;
    for (const bar& b : bars) {
        const double from = y_of(std::max(b.value, 0.0)), to = y_of(std::min(b.value, 0.0));
        out += mark(x + each * .1, from, each * .8, std::max(to - from, .5), b);
        x += each;
    }
    return out + "</svg></div>\n";
}

std::string log_plot(std::string_view title, std::span<const plot_point> points, std::string_view x_axis,
                     std::string_view y_axis) {
    constexpr double left = 60, right = 20, top = 24, body = 280, bottom = 44;
    double max_x = 1, max_y = 1;
    for (const plot_point& p : points) {
        max_x = std::max(max_x, p.x);
        max_y = std::max(max_y, p.y);
    }
    const int across = decades(max_x), up = decades(max_y);
    const auto x_of = [&](double log) { return left + (width - left - right) * log / across; };
    const auto y_of = [&](double log) { return top + body - body * log / up; };

    std::string out = opened(top + body + bottom, title);
    for (int i = 0; i <= across; ++i) {
        out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", x_of(i), top, top + body);
        out += text_at(x_of(i), top + body + 16, "middle", power_of_ten(i));
    }
    for (int i = 0; i <= up; ++i) {
        out +=
            fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", left, y_of(i), width - right);
        out += text_at(left - 6, y_of(i) + 4, "end", power_of_ten(i));
    }
    std::string curve, dots;
    for (const plot_point& p : points) {
        const double x = x_of(std::log10(p.x)), y = y_of(std::log10(p.y));
        curve += fmt::format("{}{:.1f} {:.1f}", curve.empty() ? "M" : "L", x, y);
        dots += fmt::format(
            "<circle class=\"mark\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{}</title></circle>\n", x, y,
            escaped(p.hint));
    }
    if (!curve.empty()) out += fmt::format("<path class=\"curve\" d=\"{}\"/>\n", curve) + dots;
    return out + text_at((left + width - right) / 2, top + body + 36, "middle", x_axis) +
           text_at(left, top - 10, "middle", y_axis) + "</svg></div>\n";
}

void write_stages(std::span<const shown_stage> stages, const std::function<void(std::string_view)>& out) {
    double all = 0;
    std::vector<bar> bars;
    for (const shown_stage& s : stages) {
        all += s.seconds;
        const std::string label = fmt::format("{:.2f} s", s.seconds);
        std::string hint = s.name + ": " + label;
        if (s.bytes != 0) hint += fmt::format(", {:.1f} MB", static_cast<double>(s.bytes) / 1e6);
        bars.push_back({s.name, s.seconds, label, std::move(hint)});
    }
    out("<h2>Time</h2>\n");
    if (!bars.empty()) out(bar_plot("Seconds of each stage", bars));
    out(fmt::format("<p>{:.2f} seconds in all.</p>\n", all));
}

}  // namespace quern::report
