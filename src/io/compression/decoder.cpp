// SPDX-License-Identifier: Apache-2.0
#include "io/compression/decoder.hpp"

#include <algorithm>
#include <cstring>

#include "quern/base/error.hpp"

namespace quern::io {
namespace {

class plain_decoder final : public decoder {
  public:
    explicit plain_decoder(raw_input& input) : input_(input) {}
    std::size_t decode(std::span<char> out) override { return input_.read(out); }

  private:
    raw_input& input_;
};

}  // namespace

std::unique_ptr<decoder> make_plain_decoder(raw_input& input) {
    return std::make_unique<plain_decoder>(input);
}

std::span<const std::uint8_t> input_window::fill() {
    if (position_ == end_) {
        // The last bytes are kept before the new ones, for give_back().
        std::memmove(buffer_.data(), buffer_.data() + end_ - look_back, look_back);
        base_ += end_ - look_back;
        position_ = look_back;
        end_ = look_back + input_.read({reinterpret_cast<char*>(buffer_.data()) + look_back, piece_bytes});
    }
    return {buffer_.data() + position_, end_ - position_};
}

void throw_damaged(const raw_input& input, std::string_view format, std::uint64_t offset,
                   std::string_view problem, after_damage after) {
    const bool all_came = after == after_damage::nothing;
    throw invalid_input(
        input.name(), 0,
        std::string(format) + " data are damaged at byte " + std::to_string(offset) + ": " +
            std::string(problem) +
            (all_came ? "; everything was read, but parts are wrong" : "; the rest is not read"));
}

void throw_cut_off(const raw_input& input, std::string_view format, std::uint64_t offset) {
    throw invalid_input(
        input.name(), 0,
        std::string(format) + " data are truncated at byte " + std::to_string(offset) + "; the rest is lost");
}

void throw_trailing(const raw_input& input, std::string_view format, std::uint64_t offset) {
    throw invalid_input(input.name(), 0,
                        "other data follow the " + std::string(format) + " data at byte " +
                            std::to_string(offset) + "; they are not read");
}

}  // namespace quern::io
