// SPDX-License-Identifier: Apache-2.0
// A byte source over a string, which may fail at its end like a damaged archive.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "io/byte_source.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

class memory_source final : public byte_source {
  public:
    explicit memory_source(std::string bytes, std::string damage = {})
        : bytes_(std::move(bytes)), damage_(std::move(damage)) {}
    std::size_t read(std::span<char> out) override {
        const std::size_t now = std::min(out.size(), bytes_.size() - at_);
        if (now == 0 && !damage_.empty()) throw invalid_input(name_, 0, damage_);
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), now, out.begin());
        at_ += now;
        return now;
    }
    std::uint64_t consumed() const override { return at_; }
    std::uint64_t size() const override { return bytes_.size(); }
    const std::string& name() const override { return name_; }

  private:
    std::string bytes_;
    std::string damage_;
    std::string name_ = "dump.xml";
    std::size_t at_ = 0;
};

}  // namespace quern::io
