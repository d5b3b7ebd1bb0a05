// SPDX-License-Identifier: Apache-2.0
// Sketches of classes in device memory. Their bitmaps are made there, from the texts: all texts if they fit, else those of
// some classes at a time. Where even these do not fit, the host makes the bitmaps. For nvcc and the host compiler.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "device/between_places.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/near_duplicates/filter/device_sketcher.hpp"
#include "ops/near_duplicates/filter/rows_join.hpp"
#include "ops/near_duplicates/filter/sketch_join.hpp"
#include "ops/near_duplicates/filter/sketched_classes.hpp"

namespace quern::near_duplicates_detail {

/// All texts of a call in device memory, if they fit a third of it.
template <class Unit>
class whole_texts final : public copied_texts<Unit> {
  public:
    whole_texts(cuda_place& place, const std::optional<unit_list<Unit>>& all) : place_(place) {
        if (!all || all->size() < 2) return;
        const std::uint64_t bytes = all->units.size_bytes() + all->offsets.size_bytes();
        if (bytes > place.memory().left() / 3) return;
        units_ = cuda_array<Unit>(place, all->units.size(), "texts to compare");
        offsets_ = array_from<cuda_place, std::uint64_t>(place, all->offsets, "texts to compare");
        on_device_ = {units_.span(), offsets_.span()};
        on_host_ = *all;
    }

    const device_texts<Unit>* on_device() const override { return has_room() ? &on_device_ : nullptr; }
    std::uint64_t begin(std::uint32_t text) const override { return on_host_.offsets[text]; }

    bool opens_to(copied_texts<Unit>& other) override {
        auto& writer = static_cast<whole_texts&>(other);
        return has_room() && writer.has_room() && open_for(writer.place_, place_, units_.span());
    }
    void bring_all() override {
        if (has_room()) copy_in<Unit>(place_, on_host_.units, units_.span());
    }
    void bring_part(std::size_t index, std::span<const std::unique_ptr<copied_texts<Unit>>> places) override {
        constexpr std::size_t at_once = (std::size_t{256} << 20) / sizeof(Unit);
        const item_range mine = piece_of(on_host_.units.size(), places.size(), index);
        for (std::size_t begin = mine.begin; begin < mine.end; begin += at_once) {
            const std::size_t count = std::min(at_once, mine.end - begin);
            const device_span<Unit> here = units_.span().subspan(begin, count);
            copy_in<Unit>(place_, on_host_.units.subspan(begin, count), here);
            for (const auto& each : places) {
                auto& other = static_cast<whole_texts&>(*each);
                if (&other == this) continue;
                copy_across(place_, device_span<const Unit>(here), other.place_,
                            other.units_.span().subspan(begin, count));
            }
        }
    }

  private:
    bool has_room() const { return !on_host_.offsets.empty(); }

    cuda_place& place_;
    cuda_array<Unit> units_;
    cuda_array<std::uint64_t> offsets_;
    unit_list<Unit> on_host_{};
    device_texts<Unit> on_device_{};
};

/// Sketches of consecutive classes on the device.
class uploaded_sketches {
  public:
    uploaded_sketches() = default;
    /// For ranges of at most so many classes and words.
    uploaded_sketches(cuda_place& place, std::size_t classes, std::size_t words)
        : units_(place, classes * unit_buckets, "sketches of texts"),
          bitmaps_(place, words, "sketches of texts"),
          begins_(place, classes, "sketches of texts"),
          populations_(place, classes * sketched_classes::max_scales, "sketches of texts") {}

    void begin(std::uint32_t first) {
        first_ = first;
        classes_ = words_ = 0;
    }
    /// Appends after so many classes and words from here on.
    void continue_after(std::size_t classes, std::size_t words) {
        classes_ = classes;
        words_ = words;
    }
    /// The next classes, made on the host.
    void append(cuda_place& place, sketched_classes& made) {
        for (std::uint64_t& at : made.begins.span()) at += words_;
        copy<std::uint8_t>(place, made.units.span(), units_, classes_ * unit_buckets);
        copy<std::uint64_t>(place, made.bitmaps.span(), bitmaps_, words_);
        copy<std::uint64_t>(place, made.begins.span(), begins_, classes_);
        copy<std::uint32_t>(place, made.populations.span(), populations_,
                            classes_ * sketched_classes::max_scales);
        classes_ += made.begins.size();
        words_ += made.bitmaps.size();
    }
    /// The next classes, made on the device. `begin_of(c)`: of the text of the class within `units`.
    template <class Unit, class BeginOf>
    void append(cuda_place& place, cpu_place& host, device_span<const Unit> units, const BeginOf& begin_of,
                const device_rules& rules, const sketch_list& sketches, const sketch_sizes& sizes,
                class_range range) {
        const std::size_t n = range.last - range.first;
        const cpu_array<std::uint8_t> counts(host, n * unit_buckets, "sketches of texts");
        std::vector<text_to_sketch> texts(n);
        std::vector<std::uint64_t> begins(n);
        for (std::size_t i = 0; i < n; ++i) {
            const auto c = range.first + static_cast<std::uint32_t>(i);
            begins[i] = words_ + sizes.words({range.first, c});
        }
        const std::size_t pieces = pieces_for(host, n, 4096);
        for_each_piece(host, pieces, [&](std::size_t p) {
            const item_range mine = piece_of(n, pieces, p);
            for (std::size_t i = mine.begin; i < mine.end; ++i) {
                const auto c = range.first + static_cast<std::uint32_t>(i);
                const text_sketch& sketch = sketches[sizes.classes().text(c)];
                std::ranges::copy(sketch.counts, counts.data() + i * unit_buckets);
                const scale_range scales = sizes.scales(c);
                texts[i] = {begin_of(c),
                            begins[i],
                            sketch.length,
                            static_cast<std::uint32_t>((classes_ + i) * sketched_classes::max_scales),
                            static_cast<std::uint8_t>(scales.first),
                            static_cast<std::uint8_t>(scales.last)};
            }
        });
        copy<std::uint8_t>(place, counts.span(), units_, classes_ * unit_buckets);
        copy<std::uint64_t>(place, begins, begins_, classes_);
        sketch_on_device<Unit>(place, units, rules, texts, bitmaps_.span(), populations_.span());
        classes_ += n;
        words_ += sizes.words(range);
    }
    device_sketches sketches() const {
        return {first_, units_.span(), bitmaps_.span(), begins_.span(), populations_.span()};
    }

  private:
    template <class T>
    static void copy(cuda_place& place, std::span<const T> from, cuda_array<T>& to, std::size_t at) {
        copy_in<T>(place, from, to.span().subspan(at, from.size()));
    }

    std::uint32_t first_ = 0;
    std::size_t classes_ = 0, words_ = 0;
    cuda_array<std::uint8_t> units_;
    cuda_array<std::uint64_t> bitmaps_, begins_;
    cuda_array<std::uint32_t> populations_;
};

/// Sketches classes tile by tile.
template <class Unit>
class sketch_uploader {
  public:
    sketch_uploader(cuda_place& place, cpu_place& host, const unit_texts<Unit>& texts,
                    const copied_texts<Unit>& copied, const sketch_list& sketches, const gram_rules& rules,
                    const sketch_sizes& sizes)
        : place_(place),
          host_(host),
          texts_(texts),
          copied_(copied),
          sketches_(sketches),
          rules_(rules),
          device_rules_(place, rules),
          sizes_(sizes) {}

    void upload(class_range range, uploaded_sketches& to) {
        to.begin(range.first);
        append(range, to);
    }
    /// The same for a part of a matrix that begins with class 0 and has room for all.
    void add(class_range range, uploaded_sketches& to) {
        to.continue_after(range.first, sizes_.words({0, range.first}));
        append(range, to);
    }

  private:
    static constexpr std::uint64_t max_in_transfer = std::uint64_t{1} << 28;  ///< bytes of sketches
    static constexpr std::uint64_t max_tables = std::uint64_t{8} << 20;       ///< of a long text

    void append(class_range range, uploaded_sketches& to) {
        const std::uint64_t fit = std::min(host_.memory().left() / 4, max_in_transfer);
        for_each_tile(sizes_, range, fit, [&](class_range part) {
            place_.ctx().check_stop();
            if (const device_texts<Unit>* const texts = copied_.on_device()) {
                const auto begin_of = [&](std::uint32_t c) {
                    return copied_.begin(sizes_.classes().text(c));
                };
                to.append<Unit>(place_, host_, texts->units, begin_of, device_rules_, sketches_, sizes_,
                                part);
            } else if (!append_packed(part, to)) {
                sketched_classes made = sketch_classes(host_, texts_, sketches_, rules_, sizes_, part);
                to.append(place_, made);
            }
        });
    }

    /// Copies the texts of the classes to the device, folded; false if they do not fit.
    bool append_packed(class_range part, uploaded_sketches& to) {
        const std::size_t n = part.last - part.first;
        std::vector<std::uint64_t> begins(n + 1);
        for (std::size_t i = 0; i < n; ++i)
            begins[i + 1] = begins[i] + sizes_.classes().length(part.first + static_cast<std::uint32_t>(i));
        const std::uint64_t bytes = begins.back();
        if (bytes + n * sizeof(text_to_sketch) + max_tables > place_.memory().left() / 2 ||
            bytes + n * unit_buckets > host_.memory().left() / 2)
            return false;
        const cpu_array<std::uint8_t> packed(host_, bytes, "texts to sketch");
        const std::size_t pieces = pieces_for(host_, n, 256);
        for_each_piece(host_, pieces, [&](std::size_t p) {
            const item_range mine = piece_of(n, pieces, p);
            std::vector<Unit> scratch;
            for (std::size_t i = mine.begin; i < mine.end; ++i) {
                const std::uint32_t text = sizes_.classes().text(part.first + static_cast<std::uint32_t>(i));
                std::uint8_t* at = packed.data() + begins[i];
                for (const Unit unit : texts_.read(text, scratch)) *at++ = folded(unit);
            }
        });
        const auto units = array_from<cuda_place, std::uint8_t>(place_, packed.span(), "texts to sketch");
        const auto begin_of = [&](std::uint32_t c) { return begins[c - part.first]; };
        to.append<std::uint8_t>(place_, host_, units.span(), begin_of, device_rules_, sketches_, sizes_,
                                part);
        return true;
    }

    cuda_place& place_;
    cpu_place& host_;
    const unit_texts<Unit>& texts_;
    const copied_texts<Unit>& copied_;
    const sketch_list& sketches_;
    const gram_rules& rules_;
    device_rules device_rules_;
    const sketch_sizes& sizes_;
};

}  // namespace quern::near_duplicates_detail
