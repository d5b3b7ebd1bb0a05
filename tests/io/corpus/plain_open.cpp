// SPDX-License-Identifier: Apache-2.0
// Plain files only, until the library's own open_bytes is there (weak: that one would win).
#include <cerrno>
#include <fstream>

#include "io/byte_source.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

class plain_source final : public byte_source {
  public:
    explicit plain_source(const std::filesystem::path& path)
        : name_(path.native()), file_(path, std::ios::binary) {
        if (!file_) throw io_error(name_, "cannot be opened", errno);
    }
    std::size_t read(std::span<char> out) override {
        file_.read(out.data(), static_cast<std::streamsize>(out.size()));
        return static_cast<std::size_t>(file_.gcount());
    }
    std::uint64_t consumed() const override { return 0; }
    std::uint64_t size() const override { return 0; }
    const std::string& name() const override { return name_; }

  private:
    std::string name_;
    std::ifstream file_;
};

}  // namespace

__attribute__((weak)) std::unique_ptr<byte_source> open_bytes(const std::filesystem::path& path,
                                                              const context&) {
    return std::make_unique<plain_source>(path);
}

}  // namespace quern::io
