// SPDX-License-Identifier: Apache-2.0
// quern.Run: ranked documents for each topic, in memory.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "table.hpp"

namespace quern::python {

/// Rows of topic, document, rank and score; the rows of a topic are together. Immutable; copies share the rows.
class topic_run {
  public:
    struct part {
        std::string topic;
        std::size_t begin = 0, end = 0;  ///< rows
    };

    const std::vector<part>& topics() const { return topics_; }
    std::size_t rows() const { return rows_.rows(); }
    const table& rows_table() const { return rows_; }
    std::string_view document(std::size_t row) const { return documents_->at(row); }
    std::uint32_t rank(std::size_t row) const { return (*ranks_)[row]; }
    double score(std::size_t row) const { return (*scores_)[row]; }
    const part* find(std::string_view topic) const;

    /// Passes the lines of the TREC run, topic by topic. Throws usage_error for topics, and for documents of a topic, that
    /// look the same there, because white space becomes `_`, and for empty ids.
    void each_text(const std::function<void(std::string_view)>& sink) const;

  private:
    friend class run_builder;
    table rows_{"retrieved documents"};
    std::vector<part> topics_;
    std::shared_ptr<const text_column> documents_;
    std::shared_ptr<const number_column<std::uint32_t>> ranks_;
    std::shared_ptr<const number_column<double>> scores_;
};

/// Makes a run, topic by topic.
class run_builder {
  public:
    /// Rows of the topic follow.
    void begin(std::string_view topic);
    void add(std::string_view document, std::uint32_t rank, double score);
    topic_run take();

  private:
    std::vector<topic_run::part> topics_;
    text_column topic_column_, documents_;
    number_column<std::uint32_t> ranks_;
    number_column<double> scores_;
};

topic_run read_run(const std::filesystem::path& path, const context& ctx);

/// A Run, or what quern.Run(…) makes one of; nothing for a path.
std::shared_ptr<const topic_run> run_argument(nanobind::handle given);

/// Throws usage_error "topic 't1', document 'd1': it occurs twice".
[[noreturn]] void refuse_row(std::string_view topic, std::string_view document, std::string_view why);

}  // namespace quern::python
