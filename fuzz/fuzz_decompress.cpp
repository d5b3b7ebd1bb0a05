// SPDX-License-Identifier: Apache-2.0
// Any bytes as a compressed file: no crash, no hang, and the same plain bytes and the same error with one thread and with
// several.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "io/byte_source.hpp"
#include "quern/base/error.hpp"

namespace {

constexpr std::size_t enough = std::size_t{1} << 22;  // small inputs may expand a thousandfold

std::string unpack(std::string_view packed, unsigned threads) {
    quern::context ctx;
    ctx.threads = threads;
    ctx.memory_bytes = std::uint64_t{1} << 28;
    std::string plain;
    std::string piece(threads == 1 ? 1 << 16 : 999, '\0');
    try {
        const auto source = quern::io::open_bytes_memory(packed, "input", ctx);
        while (plain.size() < enough) {
            const std::size_t count = source->read(piece);
            if (count == 0) return plain;
            plain.append(piece, 0, count);
        }
        plain.resize(enough);
    } catch (const quern::error& problem) {
        plain.resize(std::min(plain.size(), enough));
        plain += problem.what();
    }
    return plain;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view packed(reinterpret_cast<const char*>(data), size);
    const std::string alone = unpack(packed, 1);
    // liblzma's decoder with threads may notice damage later in the file than the one without.
    const bool xz = packed.starts_with("\xfd\x37");
    if (unpack(packed, 3) != alone && !xz) std::abort();
    return 0;
}
