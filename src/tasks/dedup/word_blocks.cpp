// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/word_blocks.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "device/files/file_writer.hpp"
#include "device/files/scratch_folder.hpp"
#include "io/files/mapped_file.hpp"
#include "tasks/cluster/result_values.hpp"
#include "tasks/dedup/text_blocks.hpp"

namespace quern {
namespace {

class word_block {
  public:
    explicit word_block(const std::filesystem::path& file) : file_(file) {
        const auto head = file_.take<std::uint64_t>(3);
        if (head[1] > UINT32_MAX || head[0] > UINT32_MAX - head[1] || head[2] > UINT32_MAX)
            file_.refuse("has a block of too many documents");
        first_ = static_cast<std::uint32_t>(head[1]);
        vocabulary_ = static_cast<std::uint32_t>(head[2]);
        ends_ = file_.take<std::uint64_t>(head[0]);
        words_ = file_.take<std::uint32_t>(ends_.empty() ? 0 : ends_.back());
        file_.require_end();
        if (!std::ranges::is_sorted(ends_)) file_.refuse("has documents out of order");
    }
    std::uint32_t first() const { return first_; }  ///< position of the first document
    std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size()); }
    std::uint32_t vocabulary() const { return vocabulary_; }  ///< of all blocks
    std::span<const std::uint64_t> ends() const { return ends_; }
    std::span<const std::uint32_t> words() const { return words_; }

  private:
    value_reader file_;
    std::uint32_t first_ = 0, vocabulary_ = 0;
    std::span<const std::uint64_t> ends_;
    std::span<const std::uint32_t> words_;
};

}  // namespace

void write_word_blocks(const word_list& documents, std::uint32_t vocabulary, std::uint64_t blocks,
                       task_results& results, const context& ctx) {
    const std::size_t size = documents.size();
    const std::span<const std::uint64_t> offsets = documents.offsets;
    results.begin("texts");
    for (std::size_t d = 0; d < size; ++d) {
        const std::array<std::uint32_t, 2> numbers{static_cast<std::uint32_t>(offsets[d + 1] - offsets[d]),
                                                   static_cast<std::uint32_t>(d)};
        append_values(results, std::span<const std::uint32_t>(numbers));
    }
    std::size_t begin = 0;
    for (std::uint64_t block = 0; block < blocks; ++block) {
        ctx.check_stop();
        std::size_t end = size;
        if (block + 1 < blocks && size != 0) {
            const std::uint64_t wanted = offsets.back() / blocks * (block + 1);
            const auto at = std::ranges::lower_bound(offsets.subspan(begin), wanted);
            end = std::min<std::size_t>(static_cast<std::size_t>(at - offsets.begin()), size);
        }
        results.begin(name_of_block(block));
        const std::array<std::uint64_t, 3> head{end - begin, begin, vocabulary};
        append_values(results, std::span<const std::uint64_t>(head));
        std::vector<std::uint64_t> ends;
        for (std::size_t d = begin; d < end; ++d) ends.push_back(offsets[d + 1] - offsets[begin]);
        append_values(results, std::span<const std::uint64_t>(ends));
        if (begin < end)
            append_values(results, documents.words.subspan(offsets[begin], offsets[end] - offsets[begin]));
        begin = end;
    }
}

std::vector<duplicate_pair> compare_word_blocks(const std::filesystem::path& first,
                                                const std::filesystem::path& second,
                                                const duplicate_options& options, const context& ctx) {
    const word_block a(first);
    std::optional<word_block> other;
    if (second != first) other.emplace(second);
    if (a.size() == 0 || (other && other->size() == 0)) return {};
    std::vector<std::uint64_t> offsets{0};
    offsets.insert(offsets.end(), a.ends().begin(), a.ends().end());
    duplicate_scope scope;
    word_list documents{a.words(), {}, {}};
    // The words of two blocks one after the other, in a file, so that they are mapped.
    std::optional<scratch_folder> scratch;
    io::mapped_file joined;
    if (other) {
        const std::uint64_t before = offsets.back();
        for (const std::uint64_t end : other->ends()) offsets.push_back(before + end);
        scope = {.first_new = a.size(), .within_new = false};
        scratch.emplace(ctx);
        scratch->take(a.words().size_bytes() + other->words().size_bytes());
        file_writer writer(scratch->file("words"));
        writer.append_values(a.words());
        writer.append_values(other->words());
        writer.close();
        joined = io::mapped_file(scratch->file("words"));
        documents.words = {reinterpret_cast<const std::uint32_t*>(joined.bytes().data()), offsets.back()};
    }
    documents.offsets = offsets;
    std::vector<duplicate_pair> pairs = near_duplicates(documents, a.vocabulary(), options, scope, ctx).pairs;
    const auto position = [&](std::uint32_t d) {
        return d < a.size() ? a.first() + d : other->first() + (d - a.size());
    };
    for (duplicate_pair& pair : pairs) {
        pair.a = position(pair.a);
        pair.b = position(pair.b);
        if (pair.a > pair.b) std::swap(pair.a, pair.b);
    }
    return pairs;
}

}  // namespace quern
