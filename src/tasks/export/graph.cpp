// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <vector>

#include "io/graph/edge_lines.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/export.hpp"
#include "tasks/export/form.hpp"
#include "tasks/links/input_graph.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {
namespace {

/// The ids of a store, each validated on first use.
class edge_names {
  public:
    explicit edge_names(const opened_store& store) : store_(store), fits_(store.info().documents) {}

    std::string_view of(std::uint32_t document) {
        const std::string_view id = store_.id(document);
        if (!fits_[document] && !io::fits_edge_line(id)) {
            throw invalid_input(store_.path().string(), 0,
                                fmt::format("has the id '{}', which a line of two ids cannot represent", id));
        }
        fits_[document] = true;
        return id;
    }

  private:
    const opened_store& store_;
    std::vector<bool> fits_;
};

graph_counts write(const opened_store& store, const context& ctx,
                   const std::function<void(std::string_view)>& out) {
    constexpr std::size_t at_once = std::size_t{1} << 16;
    graph_counts counts;
    edge_names names(store);
    std::string lines;
    for_each_link(store, [&](link of) {
        lines += names.of(of.from);
        lines += '\t';
        lines += names.of(of.to);
        if (counts.links == 0 && io::is_edge_heading(lines)) lines.insert(0, "# a link, no heading:\n");
        lines += '\n';
        ++counts.links;
        if (lines.size() < at_once) return;
        ctx.check_stop();
        ctx.report({"export", counts.links, store.info().links, "links"});
        out(lines);
        lines.clear();
    });
    out(lines);
    return counts;
}

}  // namespace

graph_counts export_graph(const std::filesystem::path& path, const std::function<void(std::string_view)>& out,
                          const export_options& options, const context& ctx) {
    require_cpu(ctx, "export");
    const opened_store store = open_store(path);
    return write_in_form(out, options, ctx, [&](const std::function<void(std::string_view)>& sink) {
        return write(store, ctx, sink);
    });
}

}  // namespace quern
