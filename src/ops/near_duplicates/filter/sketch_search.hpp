// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on devices. The host makes classes and counts units, because it reads the texts for their hashes anyway.
// The places make the bitmaps of grams and compare them (rows_join.hpp), then decide by the bounded edit distance. Another
// filter is not needed: a warp abandons an unrelated pair early.
//
// Old texts with sketches are not read for that: few new texts match them on the host (old_texts.hpp), and only these go
// through the join. With many new texts there are more pairs than old bytes; then the devices compare all sketches.
//
// Each place decides the candidates of its units. Where links are enough, it does so in waves, those first that would connect
// the most texts (link_search.hpp); all places share the links. The choice does not change what is connected.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "device/own_threads.hpp"
#include "device/place_set.hpp"
#include "ops/near_duplicates/filter/candidate_scan.hpp"
#include "ops/near_duplicates/filter/rows_join.hpp"
#include "ops/near_duplicates/filter/second_filter.hpp"
#include "ops/near_duplicates/filter/step_clock.hpp"
#include "ops/near_duplicates/links/link_search.hpp"
#include "ops/near_duplicates/texts/old_texts.hpp"

namespace quern::near_duplicates_detail {

/// A single place, used as a place_set.
template <class Place>
struct one_place {
    Place& place;
    cpu_place& host;

    std::size_t size() const { return 1; }
    one_place& operator[](std::size_t) { return *this; }
    template <class Work>
    void visit(const Work& work) {
        work(place, host);
    }
    template <class Work>
    void run(const Work& work) {
        work(place, host);
    }
    template <class Work>
    void on_each(const Work& work) {
        work(place, host, 0);
    }
};

/// The first of several places, used as a place_set.
struct first_place {
    place_set& places;

    std::size_t size() const { return 1; }
    any_place& operator[](std::size_t) { return places[0]; }
    template <class Work>
    void on_each(const Work& work) {
        places[0].run([&](auto& place, cpu_place& host) { work(place, host, 0); });
    }
};

/// The copies of the texts, one for each place.
template <class Unit>
using place_copies = std::vector<std::unique_ptr<copied_texts<Unit>>>;

/// Each place copies a part from the host, and passes it to the others; where they cannot, each copies all.
template <class Unit, class Places>
place_copies<Unit> copy_texts(Places& places, const std::optional<unit_list<Unit>>& texts) {
    place_copies<Unit> copies(places.size());
    places.on_each(
        [&](auto& place, cpu_place&, std::size_t index) { copies[index] = room_for_texts(place, texts); });
    bool pass_on = copies.size() > 1;
    for (const auto& to : copies)
        for (const auto& from : copies) pass_on = pass_on && (to == from || to->opens_to(*from));
    places.on_each([&](auto&, cpu_place&, std::size_t index) {
        pass_on ? copies[index]->bring_part(index, copies) : copies[index]->bring_all();
    });
    return copies;
}

/// Copies bytes without old texts to all places while the host does its part, if there are many. Nothing else uses the places
/// until wait().
template <class Unit, class Places>
class early_copies {
  public:
    early_copies(Places& places, const text_list& list, const duplicate_scope& scope,
                 const join_sharing& sharing) {
        if constexpr (sizeof(Unit) == 1) {
            if (scope.first_new != 0 || list.bytes.size() < sharing.early) return;
            copying_.start([this, &places, texts = std::optional(as_bytes(list))] {
                copies_ = copy_texts(places, texts);
            });
        }
    }
    /// None if they were not copied.
    place_copies<Unit> wait() {
        copying_.wait();
        return std::move(copies_);
    }

  private:
    place_copies<Unit> copies_;
    alongside copying_;
};

/// One search: the host's part when constructed, then that of the places.
template <class Unit>
class sketch_search {
  public:
    sketch_search(cpu_place& host, const text_list& list, const text_sketches& known,
                  const duplicate_options& options, const duplicate_scope& scope, duplicate_counts& counts)
        : host_(host),
          list_(list),
          threshold_(options.threshold),
          scope_(scope),
          counts_(counts),
          sketches_(host, list, known, unit_of<Unit>, scope.first_new),
          texts_(host, list, sketches_),
          fresh_(host, sketches_, scope.first_new, sketches_.size(), true),
          to_compare_(about_pairs_with_old(host, sketches_, fresh_, threshold_)) {
        if (wants_links(scope)) links_.emplace(host, sketches_.size());
        if (scope.within_new) to_compare_ += pairs_in_windows(host, fresh_, threshold_);
        clock_.end("hashes");
    }

    /// Pairs that lengths allow.
    std::uint64_t to_compare() const { return to_compare_; }

    /// Call it once. `places`: a place_set, first_place or one_place. `early`: the copies that are being made.
    template <class Places, class Early>
    std::vector<duplicate_pair> find_on(Places& places, const join_sharing& sharing, Early& early) {
        const context* ctx = nullptr;  // its callbacks exclude those of the other places
        places[0].visit([&](auto& place, cpu_place&) { ctx = &place.ctx(); });
        progress_meter meter(*ctx, "compare", to_compare_, "pairs");
        if (scope_.first_new != 0 && !is_cheap_on_host()) {
            const text_classes classes(host_, sketches_, 0, sketches_.size(), true);
            const gram_rules rules = learn_rules(host_, texts_, classes);
            join(places, {host_, texts_, sketches_, classes, rules, {}, threshold_, scope_.within_new},
                 sharing, early, meter);
            append_copies(classes, equal_);
            return result();
        }
        const gram_rules rules = learn_rules(host_, texts_, fresh_);
        const search_cost cost =
            estimate_cost(texts_, sketches_, fresh_, rules, threshold_, to_compare_, wants_links(scope_));
        announce(cost, places.size());
        clock_.end("rules");
        if (scope_.first_new != 0) compare_with_old(places, rules, cost.cheaper(), meter);
        const std::vector<std::uint8_t> skipped = lead_to_old(fresh_, equal_);
        if (scope_.within_new)
            join(places, {host_, texts_, sketches_, fresh_, rules, skipped, threshold_, true}, sharing, early,
                 meter);
        return result();
    }

  private:
    static constexpr std::size_t decided_at_once = std::size_t{1} << 15;  ///< keeps a device busy

    /// Whether the host compares old texts with new ones: if that costs less than reading the old texts and counting their
    /// pairs of units. One comparison of 64 bytes takes as long as a few bytes of text.
    bool is_cheap_on_host() const {
        constexpr std::uint64_t bytes_a_pair = 8;
        const std::uint64_t old_bytes = list_.offsets[sketches_.first_new()] - list_.offsets[0];
        return pairs_with_old(host_, sketches_, fresh_, threshold_) * bytes_a_pair < old_bytes;
    }

    void announce(const search_cost& cost, std::size_t places) const {
        // Half of an H200's rate of products; a unit is copied to the device, and its grams go to the bitmaps.
        constexpr double bits_a_second = 1e15, seconds_a_unit = 1e-10;
        const std::uint64_t units =
            std::accumulate(fresh_.lengths().begin(), fresh_.lengths().end(), std::uint64_t{0});
        const double making = scope_.first_new != 0 ? cost.with_bitmaps / static_cast<double>(host_.threads())
                                                    : static_cast<double>(units) * seconds_a_unit;
        report_cost(host_.ctx(), to_compare_,
                    making + static_cast<double>(to_compare_) * cost.words * 64 / bits_a_second /
                                 static_cast<double>(places));
    }

    template <class Places>
    void compare_with_old(Places& places, const gram_rules& rules, second_filter filter,
                          progress_meter& meter) {
        const sketch_sizes sizes(host_, fresh_, threshold_, filter);
        const take_candidates take = [&](std::span<const candidate> candidates) {
            places[0].run(
                [&](auto& place, cpu_place& host) { decide(place, host, nullptr, candidates, {}); });
        };
        const tile_sizes tiles = tiles_within(host_.memory().left() / 2, sizes);
        for_each_tile(sizes, {0, fresh_.size()}, tiles.rows, [&](class_range range) {
            const sketched_classes rows = sketch_classes(host_, texts_, sketches_, rules, sizes, range);
            scan_old_texts(host_, texts_, sketches_, rules, rows, threshold_, take,
                           links_ ? &*links_ : nullptr, equal_, counts_, meter);
        });
    }

    template <class Places, class Early>
    void join(Places& places, const join_input<Unit>& input, const join_sharing& sharing, Early& early,
              progress_meter& meter) {
        if (input.rows.empty() || input.classes.size() < 2) return;
        clock_.end("old texts and sizes");
        copies_ = early.wait();
        if (copies_.empty()) copies_ = copy_texts(places, texts_.whole());
        clock_.end("copies of texts");
        std::vector<std::unique_ptr<rows_join<Unit>>> joins(places.size());
        places.on_each([&](auto& place, cpu_place& host, std::size_t index) {
            joins[index] = make_rows_join(place, host, input, *copies_[index]);
        });
        std::optional<std::uint64_t> bytes;
        for (const auto& one : joins)
            if (const auto own = one->bytes_of_rows()) bytes = std::min(bytes.value_or(*own), *own);
        const std::vector<class_range> units = cut_units(input, places.size(), bytes, sharing);
        clock_.end("places for sketches");
        unit_shares shares(units.size(), places.size());
        std::vector<double> all_seconds(places.size()), deciding_seconds(places.size());
        places.on_each([&](auto& place, cpu_place& host, std::size_t index) {
            std::vector<candidate> waiting;
            std::uint64_t seen = 0;
            step_clock whole(counts_), step(counts_);
            const auto decide_all = [&] {
                step.next();
                duplicate_counts found;
                found.compared = seen;
                found.candidates = waiting.size();
                decide(place, host, copies_[index]->on_device(), waiting, found);
                deciding_seconds[index] += step.next();
                waiting.clear();
                seen = 0;
            };
            const auto take = [&](std::span<const candidate> candidates, std::uint64_t compared) {
                waiting.insert(waiting.end(), candidates.begin(), candidates.end());
                seen += compared;
                meter.add(compared);
                if (waiting.size() >= decided_at_once) decide_all();
            };
            try {
                while (const auto unit = shares.take(index)) joins[index]->join(units[*unit], take);
                decide_all();
            } catch (...) {
                shares.stop();
                throw;
            }
            joins[index].reset();
            all_seconds[index] = whole.next();
        });
        clock_.end("join");
        for (std::size_t index = 0; index < places.size(); ++index) {
            const std::string gpu = "gpu " + std::to_string(index);
            counts_.steps.emplace_back(gpu, all_seconds[index]);
            counts_.steps.emplace_back(gpu + "/decide", deciding_seconds[index]);
        }
    }

    /// Decides candidates at a place. `seen`: what found them. Any thread.
    template <class Place>
    void decide(Place& place, cpu_place& host, const device_texts<Unit>* there,
                std::span<const candidate> candidates, duplicate_counts seen) {
        std::vector<duplicate_pair> pairs;
        if (links_) {
            link_candidates(place, host, texts_, threshold_, candidates, links_->links, seen, there);
        } else {
            {
                const std::lock_guard lock(mutex_);
                texts_.require_room_for(found_.size());
                report_candidates(place.ctx(), counts_.candidates, seen.candidates, 0, 0);
            }
            texts_.append_pairs(place, host, threshold_, candidates, pairs, seen, there);
        }
        const std::lock_guard lock(mutex_);
        counts_.compared += seen.compared;
        counts_.candidates += seen.candidates;
        counts_.verified += seen.verified;
        found_.insert(found_.end(), pairs.begin(), pairs.end());
    }

    std::vector<duplicate_pair> result() {
        std::vector<duplicate_pair> pairs =
            links_ ? links_->found(host_, sketches_, scope_, std::move(equal_), counts_)
                   : pairs_of_texts(host_, sketches_, scope_, std::move(equal_), std::move(found_), counts_);
        clock_.end("result");
        return pairs;
    }

    cpu_place& host_;
    text_list list_;
    decimal threshold_;
    duplicate_scope scope_;
    duplicate_counts& counts_;
    step_clock clock_{counts_};
    sketch_list sketches_;
    unit_texts<Unit> texts_;
    text_classes fresh_;
    std::uint64_t to_compare_;
    std::optional<link_search> links_;
    std::vector<text_copy> equal_;
    place_copies<Unit> copies_;
    std::mutex mutex_;                   ///< of counts_ and found_, while places decide candidates
    std::vector<duplicate_pair> found_;  ///< in any order
};

}  // namespace quern::near_duplicates_detail
