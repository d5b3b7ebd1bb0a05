// SPDX-License-Identifier: Apache-2.0
// A dump of any bytes: no crash, counts that agree, and the same documents whatever the unit size.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "io/corpus/wikipedia.hpp"

namespace {

class fuzz_source final : public quern::io::byte_source {
  public:
    explicit fuzz_source(std::string bytes) : bytes_(std::move(bytes)) {}
    std::size_t read(std::span<char> out) override {
        const std::size_t now = std::min(out.size(), bytes_.size() - at_);
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), now, out.begin());
        at_ += now;
        return now;
    }
    std::uint64_t consumed() const override { return at_; }
    std::uint64_t size() const override { return bytes_.size(); }
    const std::string& name() const override { return name_; }

  private:
    std::string bytes_;
    std::string name_ = "dump";
    std::size_t at_ = 0;
};

std::string read_all(const std::string& bytes, std::uint64_t unit_bytes) {
    quern::io::corpus_options options;
    options.unit_bytes = unit_bytes;
    options.max_document_bytes = 4096;
    const auto reader =
        quern::io::read_wikipedia(std::make_unique<fuzz_source>(bytes), options, quern::context());
    std::string all;
    while (const auto unit = reader->next()) {
        const auto part = unit->parse();
        if (part.counts.documents != part.documents.size()) std::abort();
        if (part.counts.redirects != part.redirects.size()) std::abort();
        if (part.counts.rejected + part.counts.damaged != part.issues.size()) std::abort();
        for (const auto& d : part.documents) {
            if (d.id.empty()) std::abort();
            all += d.id + '\0' + d.title + '\0' + d.text + '\0' + std::to_string(d.line);
            for (const auto& link : d.links) all += '\0' + link;
        }
    }
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    if (read_all(bytes, 1) != read_all(bytes, 1 << 20)) std::abort();
    return 0;
}
