// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as topics, judgements and a run; accepted input is evaluated.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "io/retrieval/trec_files.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/evaluate.hpp"

namespace {

class memory_source final : public quern::io::byte_source {
  public:
    explicit memory_source(std::span<const char> bytes) : bytes_(bytes) {}
    std::size_t read(std::span<char> out) override {
        const std::size_t size = std::min(out.size(), bytes_.size() - at_);
        std::copy_n(bytes_.data() + at_, size, out.data());
        at_ += size;
        return size;
    }
    std::uint64_t consumed() const override { return at_; }
    std::uint64_t size() const override { return bytes_.size(); }
    const std::string& name() const override { return name_; }

  private:
    std::span<const char> bytes_;
    std::size_t at_ = 0;
    std::string name_ = "input";
};

template <typename Read>
auto read_or_empty(std::span<const char> bytes, Read read) {
    memory_source source(bytes);
    try {
        return read(source);
    } catch (const quern::invalid_input& refused) {
        if (refused.line() == 0) std::abort();
        return decltype(read(source)){};
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace quern;
    const std::span<const char> bytes(reinterpret_cast<const char*>(data), size);
    for (const auto& topic : read_or_empty(bytes, [](auto& source) { return io::read_topics(source); }))
        if (topic.id.empty() || topic.id.find_first_of(" \t\r\n") != std::string::npos) std::abort();
    // One file with both: judgements up to the first NUL, then the run.
    const auto split = std::find(bytes.begin(), bytes.end(), '\0');
    const auto first = bytes.first(static_cast<std::size_t>(split - bytes.begin()));
    const auto judgements = read_or_empty(first, [](auto& source) { return io::read_judgements(source); });
    const auto run = read_or_empty(bytes.subspan(first.size() + (split != bytes.end())),
                                   [](auto& source) { return io::read_run(source); });
    const auto result = evaluate(judgements, run);
    for (const double value : {result.mean.map, result.mean.ndcg_cut_10, result.mean.P_10,
                               result.mean.recall_1000, result.mean.recip_rank})
        if (!(value >= 0 && value <= 1 + 1e-9)) std::abort();
    return 0;
}
