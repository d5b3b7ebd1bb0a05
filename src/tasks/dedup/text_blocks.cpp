// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/text_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "device/files/file_writer.hpp"
#include "device/files/scratch_folder.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

template <class Value>
void append_numbers(task_results& to, std::span<const Value> values) {
    to.append({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}
template <class Value>
void append_number(task_results& to, const Value& value) {
    append_numbers(to, std::span<const Value>(&value, 1));
}

/// Numbers from the front of a file.
class number_reader {
  public:
    explicit number_reader(const io::mapped_file& file) : file_(file), rest_(file.text()) {}
    template <class Value>
    std::vector<Value> take(std::uint64_t count) {
        if (count > rest_.size() / sizeof(Value))
            throw damaged_store(file_.path().string(), "results", "ends early");
        std::vector<Value> values(count);
        if (count != 0) std::memcpy(values.data(), rest_.data(), count * sizeof(Value));
        rest_.remove_prefix(count * sizeof(Value));
        return values;
    }
    std::string_view rest() const { return rest_; }

  private:
    const io::mapped_file& file_;
    std::string_view rest_;
};

/// Fills in first_equal, by comparing texts of equal hashes. Returns the texts that are the first of their equals, by length, then
/// position.
std::vector<std::uint32_t> distinct_texts(const text_list& texts, std::vector<text_sketch>& sketches,
                                          const context& ctx) {
    std::vector<std::uint32_t> order(texts.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto key = [&](std::uint32_t i) { return std::tuple(sketches[i].length, sketches[i].hash, i); };
    std::ranges::sort(order, {}, key);
    std::vector<std::uint32_t> distinct, alike;  // of the same length and hash
    for (std::size_t at = 0; at < order.size(); ++at) {
        ctx.check_stop();
        const std::uint32_t text = order[at];
        text_sketch& sketch = sketches[text];
        const bool is_another = at == 0 || sketch.length != sketches[order[at - 1]].length ||
                                sketch.hash != sketches[order[at - 1]].hash;
        if (is_another) alike.clear();
        const auto equal =
            std::ranges::find_if(alike, [&](std::uint32_t other) { return texts[other] == texts[text]; });
        sketch.first_equal = equal == alike.end() ? text : *equal;
        if (equal != alike.end()) continue;
        alike.push_back(text);
        distinct.push_back(text);
    }
    std::ranges::sort(distinct, {}, [&](std::uint32_t i) { return std::pair(sketches[i].length, i); });
    return distinct;
}

/// Whether the difference of the lengths alone makes a rate of `threshold` or more: (b - a) / (a + b) for a <= b.
bool is_too_long(std::uint64_t a, std::uint64_t b, const decimal& threshold) {
    return a<b&& static_cast<double>(b - a)> 1.000001 * threshold.value() * static_cast<double>(a + b);
}

}  // namespace

std::string name_of_block(std::uint64_t number) {
    return fmt::format("block-{:04}", number);
}

void write_text_blocks(const text_list& texts, edit_unit unit, std::uint64_t blocks, task_results& results,
                       const context& ctx) {
    std::vector<text_sketch> sketches = sketch_texts(texts, 0, unit, ctx);
    const std::vector<std::uint32_t> distinct = distinct_texts(texts, sketches, ctx);
    results.begin("texts");
    for (const text_sketch& sketch : sketches) {
        append_number(results, sketch.length);
        append_number(results, sketch.first_equal);
    }
    for (std::uint64_t block = 0; block < blocks; ++block) {
        const std::size_t begin = distinct.size() * block / blocks,
                          end = distinct.size() * (block + 1) / blocks;
        const auto mine = std::span(distinct).subspan(begin, end - begin);
        results.begin(name_of_block(block));
        append_number(results, std::uint64_t{mine.size()});
        append_numbers(results, mine);
        for (const std::uint32_t text : mine) append_number(results, sketches[text].length);
        std::uint64_t bytes = 0;
        for (const std::uint32_t text : mine) append_number(results, bytes += texts.length(text));
        for (const std::uint32_t text : mine) {
            ctx.check_stop();
            ctx.report({"write blocks", begin, distinct.size(), "documents"});
            results.append(texts[text]);
        }
    }
}

text_block::text_block(const std::filesystem::path& file) : file_(file, io::mapped_file::access::sequential) {
    number_reader numbers(file_);
    const std::uint64_t count = numbers.take<std::uint64_t>(1).front();
    positions_ = numbers.take<std::uint32_t>(count);
    lengths_ = numbers.take<std::uint32_t>(count);
    ends_ = numbers.take<std::uint64_t>(count);
    bytes_ = numbers.rest();
    if (bytes_.size() != (ends_.empty() ? 0 : ends_.back()) || !std::ranges::is_sorted(ends_))
        throw damaged_store(file.string(), "results", "has texts of other lengths than it lists");
}

std::vector<duplicate_pair> compare_blocks(const std::filesystem::path& first,
                                           const std::filesystem::path& second,
                                           const duplicate_options& options, const context& ctx) {
    const text_block a(first);
    std::optional<text_block> other;
    if (second != first) other.emplace(second);
    if (a.size() == 0 || (other && other->size() == 0)) return {};
    if (other && (is_too_long(a.longest(), other->shortest(), options.threshold) ||
                  is_too_long(other->longest(), a.shortest(), options.threshold)))
        return {};
    std::vector<std::uint64_t> offsets{0};
    offsets.insert(offsets.end(), a.ends().begin(), a.ends().end());
    std::vector<std::uint32_t> positions(a.positions().begin(), a.positions().end());
    duplicate_scope scope;
    text_list texts{a.bytes(), {}};
    // The texts of two blocks one after the other, in a file, so that they are mapped.
    std::optional<scratch_folder> scratch;
    io::mapped_file joined;
    if (other) {
        const std::uint64_t before = offsets.back();
        for (const std::uint64_t end : other->ends()) offsets.push_back(before + end);
        positions.insert(positions.end(), other->positions().begin(), other->positions().end());
        scope = {.first_new = static_cast<std::uint32_t>(a.size()), .within_new = false};
        scratch.emplace(ctx);
        scratch->take(a.bytes().size() + other->bytes().size());
        file_writer writer(scratch->file("texts"));
        writer.append(a.bytes());
        writer.append(other->bytes());
        writer.close();
        joined = io::mapped_file(scratch->file("texts"));
        texts.bytes = joined.text();
    }
    texts.offsets = offsets;
    std::vector<duplicate_pair> pairs = near_duplicates(texts, options, scope, ctx).pairs;
    for (duplicate_pair& pair : pairs) {
        pair.a = positions[pair.a];
        pair.b = positions[pair.b];
        if (pair.a > pair.b) std::swap(pair.a, pair.b);
    }
    return pairs;
}

compared_texts read_compared(const std::filesystem::path& job) {
    compared_texts found;
    const job_plan plan = read_plan(job);
    for (std::uint32_t i = 0; i < plan.tasks.size(); ++i) {
        const bool is_reading = plan.tasks[i].kind == "read";
        const io::mapped_file file(file_of_result(job, i, is_reading ? "texts" : "pairs"));
        number_reader numbers(file);
        if (is_reading) {
            const auto values = numbers.take<std::uint32_t>(file.size() / sizeof(std::uint32_t));
            found.sketches.resize(values.size() / 2);
            for (std::size_t text = 0; text < found.sketches.size(); ++text) {
                found.sketches[text].length = values[2 * text];
                found.sketches[text].first_equal = values[2 * text + 1];
            }
        } else {
            const auto pairs = numbers.take<duplicate_pair>(file.size() / sizeof(duplicate_pair));
            found.pairs.insert(found.pairs.end(), pairs.begin(), pairs.end());
        }
    }
    for (const duplicate_pair& pair : found.pairs)
        if (pair.b >= found.sketches.size())
            throw damaged_store(job.string(), "results", "has pairs of documents that it does not have");
    std::ranges::sort(found.pairs, {}, [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
    return found;
}

}  // namespace quern
