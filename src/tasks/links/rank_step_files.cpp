// SPDX-License-Identifier: Apache-2.0
#include "tasks/links/rank_step_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include "quern/base/error.hpp"

namespace quern::rank_tasks_detail {
namespace {

enum head_of_block : std::size_t {
    all_nodes_at,
    block_nodes_at,
    block_links_at,
    block_weighted_at,
    block_personalised_at,
    alpha_at,
    tolerance_at,
    max_iterations_at,
    digits_at,
    block_rule_at,
    teleport_each_at,
    head_size
};
constexpr std::size_t control_size = 16, totals_size = 4;

std::array<std::uint64_t, control_size> numbers_of(const step_control& c) {
    return {c.nodes,
            c.weighted,
            c.now.wide,
            c.now.shift,
            c.next.wide,
            c.next.shift,
            c.stays_wide,
            c.ended,
            c.converged,
            c.iterations,
            c.wide_steps,
            c.change,
            c.before,
            c.before_that,
            static_cast<std::uint64_t>(c.even.kept),
            0};
}
step_control control_of(std::span<const std::uint64_t> from) {
    step_control c;
    c.nodes = static_cast<std::uint32_t>(from[0]);
    c.weighted = from[1] != 0;
    c.now = {from[2] != 0, static_cast<unsigned>(from[3])};
    c.next = {from[4] != 0, static_cast<unsigned>(from[5])};
    c.stays_wide = from[6] != 0;
    c.ended = from[7] != 0;
    c.converged = from[8] != 0;
    c.iterations = static_cast<std::uint32_t>(from[9]);
    c.wide_steps = static_cast<std::uint32_t>(from[10]);
    c.change = from[11];
    c.before = from[12];
    c.before_that = from[13];
    c.even.kept = static_cast<std::int64_t>(from[14]);
    return c;
}

pass_totals read_totals(const fs::path& file) {
    value_reader reader(file);
    const auto from = reader.take<std::uint64_t>(totals_size);
    return {from[0], from[1], from[2], static_cast<std::int64_t>(from[3])};
}

}  // namespace

std::string name_of_part(std::string_view what, std::uint64_t block) {
    return fmt::format("{}-{:04}", what, block);
}

void write_totals(task_results& results, std::string_view name, const pass_totals& all) {
    const std::array<std::uint64_t, totals_size> numbers{all.change, all.greatest, all.residual_mass,
                                                         static_cast<std::uint64_t>(all.dangling_mass)};
    results.begin(name);
    append_values(results, std::span<const std::uint64_t>(numbers));
}

stored_block::stored_block(const fs::path& job, std::uint64_t number)
    : file_(file_of_result(job, 0, name_of_part("links", number))) {
    const auto head = file_.take<std::uint64_t>(head_size);
    all_nodes_ = head[all_nodes_at];
    weighted_ = head[block_weighted_at] != 0;
    const std::uint64_t nodes = head[block_nodes_at], links = head[block_links_at];
    if (all_nodes_ > UINT32_MAX || nodes > all_nodes_) file_.refuse("has a block of too many nodes");
    fixed_page_rank_params& params = block_.params;
    params.alpha = head[alpha_at];
    params.tolerance = head[tolerance_at];
    params.max_iterations = static_cast<std::uint32_t>(head[max_iterations_at]);
    params.contribution_digits = static_cast<unsigned>(head[digits_at]);
    params.dangling = static_cast<dangling_rule>(head[block_rule_at]);
    params.teleport_each = static_cast<std::int64_t>(head[teleport_each_at]);
    link_graph_view& view = block_.links;
    view.nodes = static_cast<std::uint32_t>(nodes);
    view.offsets = file_.take<std::uint64_t>(nodes + 1);
    view.out_degrees = file_.take<std::uint64_t>(nodes);
    if (head[block_personalised_at] != 0) {
        params.teleport = file_.take<std::int64_t>(nodes);
        params.preference = file_.take<std::uint64_t>(nodes);
    }
    if (weighted_) params.link_weights = file_.take<std::uint64_t>(links);
    view.sources = file_.take<std::uint32_t>(links);
    file_.require_end();
    if (view.offsets.front() != 0 || view.offsets.back() != links || !std::ranges::is_sorted(view.offsets))
        file_.refuse("has links out of order");
    if (!view.sources.empty() && *std::ranges::max_element(view.sources) >= all_nodes_)
        file_.refuse("has a link from a missing node");
}

void write_block(task_results& results, std::uint64_t number, std::uint64_t all_nodes, bool weighted,
                 const rank_block& block) {
    const fixed_page_rank_params& params = block.params;
    const std::array<std::uint64_t, head_size> head{all_nodes,
                                                    block.links.nodes,
                                                    block.links.sources.size(),
                                                    weighted,
                                                    params.teleport.empty() ? 0u : 1u,
                                                    params.alpha,
                                                    params.tolerance,
                                                    params.max_iterations,
                                                    params.contribution_digits,
                                                    static_cast<std::uint64_t>(params.dangling),
                                                    static_cast<std::uint64_t>(params.teleport_each)};
    results.begin(name_of_part("links", number));
    append_values(results, std::span<const std::uint64_t>(head));
    append_values(results, block.links.offsets);
    append_values(results, block.links.out_degrees);
    append_values(results, params.teleport);
    append_values(results, params.preference);
    append_values(results, params.link_weights);
    append_values(results, block.links.sources);
}

fs::path step_files::file(std::uint64_t step, std::uint64_t block, const std::string& name) const {
    fs::path path = file_of_result(job, task(step, block), step == 0 ? "begin-" + name : name);
    if (!fs::exists(path))
        throw usage_error(
            fmt::format("{} was removed after its use, but is needed again, as later results were "
                        "damaged; run the command again with another folder",
                        path.string()));
    return path;
}

iteration_state state_after(const step_files& files, std::uint64_t step, const stored_block& any) {
    iteration_state now;
    if (step == 0) {
        now.control.nodes = static_cast<std::uint32_t>(any.all_nodes());
        now.control.weighted = any.weighted();
        now.control.ended = now.control.converged = any.all_nodes() == 0;
        now.dangling_mass = read_totals(files.file(0, 0, "totals")).dangling_mass;
        return now;
    }
    value_reader reader(files.file(step, 0, "control"));
    now.control = control_of(reader.take<std::uint64_t>(control_size));
    if (now.control.nodes != any.all_nodes()) reader.refuse("belongs to another graph");
    if (now.control.ended) return now;
    pass_totals all;
    for (std::uint64_t block = 0; block < files.blocks; ++block)
        add_totals(all, read_totals(files.file(step, block, "totals")));
    now.dangling_mass = all.dangling_mass;
    now.control.end_step(any.block().params, all);
    return now;
}

void write_control(task_results& results, const step_control& control) {
    results.begin("control");
    append_values(results, std::span<const std::uint64_t>(numbers_of(control)));
}

sent_array::sent_array(cpu_place& place, std::uint64_t nodes, bool is_wide) {
    if (is_wide)
        wide = cpu_array<std::int64_t>(place, nodes, "what nodes send");
    else
        narrow = cpu_array<std::int32_t>(place, nodes, "what nodes send");
}
void sent_array::append_to(task_results& results) const {
    append_values(results, std::span<const std::int32_t>(narrow.span()));
    append_values(results, std::span<const std::int64_t>(wide.span()));
}
void sent_array::read(const step_files& files, std::uint64_t step) {
    std::uint64_t node = 0;
    for (std::uint64_t block = 0; block < (step == 0 ? 1 : files.blocks); ++block) {
        value_reader reader(files.file(step, block, "sent"));
        const auto copy = [&](auto& to) {
            using value = std::remove_pointer_t<decltype(to.data())>;
            const std::uint64_t count = reader.rest().size() / sizeof(value);
            if (count > to.size() - node) reader.refuse("is of more nodes than the graph has");
            std::ranges::copy(reader.template take<value>(count), to.data() + node);
            node += count;
        };
        if (wide.size() != 0)
            copy(wide);
        else if (narrow.size() != 0)
            copy(narrow);
        reader.require_end();
    }
    if (node != std::max(narrow.size(), wide.size()))
        throw damaged_store(files.job.string(), "results", "has less than all nodes send");
}

void read_state(const fs::path& file, std::span<std::int64_t> ranks, std::span<std::int64_t> residuals) {
    value_reader reader(file);
    std::ranges::copy(reader.take<std::int64_t>(ranks.size()), ranks.begin());
    std::ranges::copy(reader.take<std::int64_t>(residuals.size()), residuals.begin());
    reader.require_end();
}
void write_state(task_results& results, const std::string& name, std::span<const std::int64_t> ranks,
                 std::span<const std::int64_t> residuals) {
    results.begin(name);
    append_values(results, ranks);
    append_values(results, residuals);
}

}  // namespace quern::rank_tasks_detail
