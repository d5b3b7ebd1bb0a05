// SPDX-License-Identifier: Apache-2.0
// The operation compares new texts with old ones if the old ones come first. Texts are put into this order in a mapped
// scratch file, the old ones only when their sketches leave them as candidates: few are read.
#include "tasks/store_build/duplicates_log.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/function_ref.hpp"
#include "base/hash.hpp"
#include "device/cpu/cpu_place.hpp"
#include "device/cpu/parallel.hpp"
#include "device/files/scratch_array.hpp"
#include "device/files/scratch_folder.hpp"
#include "io/store/section.hpp"
#include "ops/near_duplicates/links/disjoint_sets.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/text_sketches.hpp"
#include "tasks/corpus/document_id_table.hpp"
#include "tasks/shared/remaining_memory.hpp"

namespace quern {
namespace {

constexpr std::uint64_t log_bytes_a_text = 300;
constexpr std::uint32_t unknown_text = UINT32_MAX;

/// As it is in the log.
struct compared_text {
    hash128_value text;
    std::uint64_t hash = 0;
    std::uint32_t length = 0;
    std::uint32_t group = 0;  ///< number of the first text of its group
    std::array<std::uint8_t, 64> counts{};
};
static_assert(sizeof(compared_text) == 96 && std::has_unique_object_representations_v<compared_text>);

constexpr std::uint64_t log_key_bytes = sizeof(hash128_value);

/// An earlier log, if it is whole, has this key, and is not much larger than the log of `texts` texts.
class earlier_log {
  public:
    earlier_log(const std::filesystem::path& file, const hash128_value& key, std::size_t texts) {
        std::error_code missing;
        if (!std::filesystem::is_regular_file(file, missing)) return;
        try {
            section_.emplace(file, file.filename().string());
            if (section_->size() < log_key_bytes || section_->value<hash128_value>(0) != key) return;
            const std::uint64_t bytes = section_->size() - log_key_bytes;
            if (bytes % sizeof(compared_text) != 0 || bytes / sizeof(compared_text) > 2 * texts) return;
            texts_ = section_->values<compared_text>(log_key_bytes, bytes / sizeof(compared_text));
            for (const compared_text& text : texts_)
                if (text.group >= texts_.size()) section_->fail("has a group that does not exist");
            for (std::uint32_t i = 0; i < texts_.size(); ++i) numbers_.insert(texts_[i].text, i);
        } catch (const error&) {  // without it, all texts are compared
            texts_ = {};
        }
    }

    std::size_t size() const { return texts_.size(); }
    const compared_text& operator[](std::uint32_t i) const { return texts_[i]; }
    /// The number of the first text with this hash and length, or `unknown_text`.
    std::uint32_t find(const hash128_value& text, std::uint64_t length) const {
        if (texts_.empty()) return unknown_text;
        const auto found = numbers_.find(text);
        return found && texts_[*found].length == length ? *found : unknown_text;
    }

  private:
    std::optional<io::section_view> section_;
    std::span<const compared_text> texts_;
    id_table numbers_;
};

/// Texts in another order, old ones first.
class rearranged_texts {
  public:
    rearranged_texts(const text_list& texts, std::span<const std::uint32_t> order, std::uint32_t first_new,
                     const context& ctx)
        : texts_(texts),
          order_(order),
          offsets_(offsets_of(texts, order)),
          folder_(ctx),
          bytes_(folder_, "compared_texts", offsets_.back()),
          is_here_(std::make_unique<std::atomic<bool>[]>(first_new)) {
        for (auto i = first_new; i < order.size(); ++i) copy(i);
    }

    text_list list() const { return {bytes_.span(), offsets_}; }

    /// Makes the bytes of an old text readable. Thread-safe.
    void bring(std::uint32_t i) {
        if (is_here_[i].load(std::memory_order_acquire)) return;
        const std::scoped_lock lock(copying_);
        if (is_here_[i].load(std::memory_order_relaxed)) return;
        copy(i);
        is_here_[i].store(true, std::memory_order_release);
    }

  private:
    static std::vector<std::uint64_t> offsets_of(const text_list& texts,
                                                 std::span<const std::uint32_t> order) {
        std::vector<std::uint64_t> offsets{0};
        offsets.reserve(order.size() + 1);
        for (const std::uint32_t text : order) offsets.push_back(offsets.back() + texts.length(text));
        return offsets;
    }
    void copy(std::size_t i) {
        const std::string_view text = texts_[order_[i]];
        if (!text.empty()) std::memcpy(bytes_.span().data() + offsets_[i], text.data(), text.size());
    }

    text_list texts_;
    std::span<const std::uint32_t> order_;
    std::vector<std::uint64_t> offsets_;
    scratch_folder folder_;
    scratch_array<char> bytes_;
    std::unique_ptr<std::atomic<bool>[]> is_here_;
    std::mutex copying_;
};

void each_text(const text_list& texts, const context& ctx, function_ref<void(std::uint32_t)> work) {
    cpu_place place(ctx);
    const std::size_t pieces = texts.size() / 64 + 1;
    for_each_piece(place, pieces, [&](std::size_t p) {
        ctx.check_stop();
        const item_range mine = piece_of(texts.size(), pieces, p);
        for (std::size_t i = mine.begin; i < mine.end; ++i) work(static_cast<std::uint32_t>(i));
    });
}

text_sketch sketch_of(const compared_text& text) {
    return {text.hash, text.length, text_sketch::not_known, text.counts};
}

duplicate_pair link_between(std::uint32_t a, std::uint32_t b) {
    return {std::min(a, b), std::max(a, b), 0, 0};
}

/// The search of one call.
class search_with_log {
  public:
    search_with_log(const text_list& texts, const earlier_log& earlier, const context& ctx)
        : texts_(texts), earlier_(earlier), ctx_(ctx), compared_(texts.size()), known_as_(texts.size()) {
        each_text(texts, ctx, [&](std::uint32_t i) {
            const hash128_value hash = hash128(texts[i]);
            known_as_[i] = earlier.find(hash, texts.length(i));
            if (known_as_[i] != unknown_text) {
                compared_[i] = earlier[known_as_[i]];
                return;
            }
            const text_sketch sketch = sketch_text(texts[i], edit_unit::byte);
            compared_[i] = {hash, sketch.hash, sketch.length, 0, sketch.counts};
        });
        unchanged_ = texts.size() - static_cast<std::size_t>(std::ranges::count(known_as_, unknown_text));
    }

    std::uint64_t unchanged() const { return unchanged_; }

    duplicate_result links() {
        if (unchanged_ * 2 < texts_.size()) {  // hardly less work
            unchanged_ = 0;
            std::ranges::fill(known_as_, unknown_text);
        }
        duplicate_result found = unchanged_ == 0 ? compare_all() : compare_new();
        link_known(found.pairs);
        std::ranges::sort(found.pairs, {}, [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
        return found;
    }

    /// With the groups that the links make.
    void write(const std::filesystem::path& file, const hash128_value& key,
               std::span<const duplicate_pair> links) {
        near_duplicates_detail::disjoint_sets sets(texts_.size());
        for (const duplicate_pair& link : links) sets.unite(link.a, link.b);
        std::vector<std::uint32_t> first(texts_.size(), unknown_text);
        for (std::uint32_t i = 0; i < texts_.size(); ++i) {
            std::uint32_t& of_group = first[sets.find(i)];
            if (of_group == unknown_text) of_group = i;
            compared_[i].group = of_group;
        }
        io::section_writer out(file);
        out.append_value(key);
        out.append_values(std::span<const compared_text>(compared_));
        out.finish();
    }

  private:
    static constexpr duplicate_scope scope_from(std::uint32_t first_new) {
        duplicate_scope scope;
        scope.first_new = first_new;
        scope.links_only = true;
        return scope;
    }

    duplicate_result compare_all() const {
        std::vector<text_sketch> sketches;
        sketches.reserve(texts_.size());
        for (const compared_text& text : compared_) sketches.push_back(sketch_of(text));
        duplicate_result found = near_duplicates(texts_, {{sketches}, {}}, {}, scope_from(0), ctx_);
        for (duplicate_pair& pair : found.pairs) pair = link_between(pair.a, pair.b);
        return found;
    }

    duplicate_result compare_new() const {
        std::vector<std::uint32_t> order;
        order.reserve(texts_.size());
        for (const bool is_new : {false, true})
            for (std::uint32_t i = 0; i < texts_.size(); ++i)
                if ((known_as_[i] == unknown_text) == is_new) order.push_back(i);
        const auto first_new = static_cast<std::uint32_t>(unchanged_);
        if (first_new == order.size()) return {};

        std::vector<text_sketch> sketches;
        sketches.reserve(order.size());
        std::vector<std::uint32_t> first_equal(earlier_.size(), unknown_text);  // of each text of the log
        for (std::uint32_t i = 0; i < order.size(); ++i) {
            text_sketch& sketch = sketches.emplace_back(sketch_of(compared_[order[i]]));
            if (i >= first_new) continue;
            std::uint32_t& first = first_equal[known_as_[order[i]]];
            if (first == unknown_text) first = i;
            sketch.first_equal = first;
        }
        std::optional<rearranged_texts> rearranged;
        try {
            rearranged.emplace(texts_, order, first_new, ctx_);
        } catch (const io_error&) {  // no room for them
            return compare_all();
        }
        const text_sketches known{{sketches}, [&](std::uint32_t text) { rearranged->bring(text); }};
        duplicate_result found = near_duplicates(rearranged->list(), known, {}, scope_from(first_new), ctx_);
        for (duplicate_pair& pair : found.pairs) pair = link_between(order[pair.a], order[pair.b]);
        return found;
    }

    /// Appends links of the known texts that were of one group.
    void link_known(std::vector<duplicate_pair>& links) const {
        std::vector<std::uint32_t> first(earlier_.size(), unknown_text);  // of each group
        for (std::uint32_t i = 0; i < texts_.size(); ++i) {
            if (known_as_[i] == unknown_text) continue;
            std::uint32_t& of_group = first[earlier_[known_as_[i]].group];
            if (of_group == unknown_text)
                of_group = i;
            else
                links.push_back(link_between(of_group, i));
        }
    }

    const text_list& texts_;
    const earlier_log& earlier_;
    const context& ctx_;
    std::vector<compared_text> compared_;
    std::vector<std::uint32_t> known_as_;  ///< number in the earlier log, or unknown_text
    std::uint64_t unchanged_ = 0;
};

}  // namespace

duplicate_result duplicates_log::links(const text_list& texts, const context& ctx) {
    const std::uint64_t held = log_bytes_a_text * texts.size();
    if (held > ctx.memory_limit() / 4) {
        duplicate_scope scope;
        scope.links_only = true;
        return near_duplicates(texts, {}, scope, ctx);
    }
    const context left = with_remaining_memory(ctx, held, "what is known of texts");
    const hash128_value key = hash128(key_);
    const earlier_log earlier(earlier_, key, texts.size());
    search_with_log search(texts, earlier, left);
    duplicate_result found = search.links();
    unchanged_ = search.unchanged();
    search.write(made_, key, found.pairs);
    return found;
}

}  // namespace quern
