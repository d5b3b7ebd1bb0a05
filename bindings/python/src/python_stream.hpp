// SPDX-License-Identifier: Apache-2.0
// A ranked list that is pulled from an iterator of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "errors.hpp"
#include "held_list.hpp"
#include "parameters.hpp"
#include "quern/ops/rank_aggregation.hpp"

namespace quern::python {

/// An iterator of Python: of pairs (id, score), or of pairs of arrays. It is asked on the calling thread.
class python_stream final : public ranked_stream {
  public:
    python_stream(nanobind::handle iterator, std::size_t list)
        : iterator_(iterator), name_(name_of_list(list)) {}
    void set_thread(calling_thread& thread) { thread_ = &thread; }

    std::size_t read(std::span<std::uint32_t> ids, std::span<double> scores) override {
        std::size_t size = 0;
        thread_->call([&] { size = read_here(ids, scores); });
        return size;
    }

  private:
    std::size_t read_here(std::span<std::uint32_t> ids, std::span<double> scores) {
        std::size_t size = 0;
        while (size < ids.size()) {
            if (at_ == held_ids_.size() && !pull()) break;
            const std::size_t count = std::min(ids.size() - size, held_ids_.size() - at_);
            for (std::size_t i = 0; i < count; ++i, ++at_, ++size) {
                ids[size] = held_ids_[at_];
                scores[size] = held_scores_[at_];
            }
        }
        return size;
    }

    /// The next entry or entries; false at the end.
    bool pull() {
        held_ids_.clear();
        held_scores_.clear();
        at_ = 0;
        while (held_ids_.empty()) {
            const nanobind::object next = nanobind::steal(PyIter_Next(iterator_.ptr()));
            if (!next.is_valid()) {
                if (PyErr_Occurred() != nullptr) throw nanobind::python_error();
                return false;
            }
            take(next);
        }
        return true;
    }

    void take(const nanobind::object& entry) {
        const bool is_pair =
            (nanobind::isinstance<nanobind::tuple>(entry) || nanobind::isinstance<nanobind::list>(entry)) &&
            nanobind::len(entry) == 2;
        if (!is_pair)
            refuse_type(name_, "its iterator to yield (id, score)",
                        nanobind::cast<std::string>(nanobind::repr(entry)));
        const nanobind::object ids = entry[0], scores = entry[1];
        if (PyIndex_Check(ids.ptr()) != 0 && !nanobind::hasattr(ids, "__len__")) {
            held_ids_.push_back(static_cast<std::uint32_t>(
                whole_of(name_ + " id", ids, 0, std::numeric_limits<std::uint32_t>::max())));
            const double score = PyFloat_AsDouble(scores.ptr());
            if (score == -1 && PyErr_Occurred() != nullptr) throw nanobind::python_error();
            held_scores_.push_back(score);
            return;
        }
        held_list list;
        const nanobind::object pair = nanobind::make_tuple(ids, scores);
        read_list(list, pair, 0);
        if (!list.texts.empty()) refuse_type(name_, "its iterator to yield whole numbers as ids", "texts");
        for (const std::uint64_t id : list.wide)
            held_ids_.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(id, 0xffffffff)));
        held_ids_.insert(held_ids_.end(), list.narrow.begin(), list.narrow.end());
        if (list.score_array.type == number_type::f64) {
            const auto values = numbers_of<double>(list.score_array, name_);
            held_scores_.assign(values.begin(), values.end());
        } else {
            const auto values = numbers_of<float>(list.score_array, name_);
            held_scores_.assign(values.begin(), values.end());
        }
    }

    nanobind::handle iterator_;
    std::string name_;
    calling_thread* thread_ = nullptr;
    std::vector<std::uint32_t> held_ids_;
    std::vector<double> held_scores_;
    std::size_t at_ = 0;
};

}  // namespace quern::python
