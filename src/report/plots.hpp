// SPDX-License-Identifier: Apache-2.0
// Plots of a page, as inline SVG, and bars as table rows. They take their colours from the page and show each number on
// hover; their text is as large on a phone as elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace quern::report {

/// One bar. Texts may be any bytes; the plot escapes them.
struct bar {
    std::string name;
    double value = 0;   ///< >= 0, but in signed_plot; the longest bar fills the width
    std::string label;  ///< the number as displayed
    std::string hint;   ///< shown on hover; empty: name and label
};
/// Horizontal bars, one below the other, with names and labels on the left. `title` is for readers who do not see the
/// plot.
std::string bar_plot(std::string_view title, std::span<const bar> bars);
/// Vertical bars, with labels above and names below: a histogram.
std::string column_plot(std::string_view title, std::span<const bar> bars, std::string_view x_axis);

/// Thin bars without names, above and below a line at 0, in order: a value for each of many things. Labels are unused.
std::string signed_plot(std::string_view title, std::span<const bar> bars);

struct plot_point {
    double x, y;  ///< >= 1
    std::string hint;
};
/// Points joined in order, on two logarithmic axes from 1 to the next power of ten.
std::string log_plot(std::string_view title, std::span<const plot_point> points, std::string_view x_axis,
                     std::string_view y_axis);

struct shown_stage {
    std::string name;
    double seconds;
    std::uint64_t bytes;  ///< 0: not counted
};
/// Under the heading "Time": the duration of each stage and the total.
void write_stages(std::span<const shown_stage> stages, const std::function<void(std::string_view)>& out);

/// Style rules for pages that have plots.
inline constexpr std::string_view plot_style =
    R"(.plot { overflow-x: auto } svg { display: block; width: 100%; min-width: 38rem; max-width: 52rem; height: auto; margin: .5rem 0 1rem }
.bars { width: 100%; max-width: 52rem } .bars th { font-weight: 400; max-width: 45vw }
.bars .bar { width: 100% } .bars tr > * { padding-top: 0; padding-bottom: 0 }
svg text { fill: currentColor; font: 12px system-ui, sans-serif } svg .mark { fill: var(--bar) }
svg .grid { stroke: var(--line); fill: none } svg .curve { stroke: var(--bar); stroke-width: 2; fill: none }
)";

}  // namespace quern::report
