// SPDX-License-Identifier: Apache-2.0
// A plain main for a fuzz target, for compilers without libFuzzer: runs every file of the folders and every
// file named on the command line, each also truncated and with bytes changed at positions from a fixed sequence of
// random numbers. No coverage guidance: it covers earlier findings of the fuzzers, and similar inputs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

constexpr int damages_per_seed = 48;
constexpr std::size_t largest_damaged = 1 << 20;  // large seeds run once, unchanged

void run(const std::string& bytes) {
    // A copy of exact size on the heap, so that the address sanitizer sees a read past the end.
    const std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

std::string damage(std::string bytes, std::mt19937_64& random) {
    const std::size_t position = random() % bytes.size();
    switch (random() % 4) {
        case 0:
            bytes.resize(position);
            break;
        case 1:
            bytes[position] = static_cast<char>(random());
            break;
        case 2:
            bytes[position] = static_cast<char>(bytes[position] ^ (1 << (random() % 8)));
            break;
        default:
            bytes.erase(position, random() % 16 + 1);
            break;
    }
    return bytes;
}

void replay(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    const std::string seed{std::istreambuf_iterator<char>(in), {}};
    run(seed);
    if (seed.empty() || seed.size() > largest_damaged) return;
    std::mt19937_64 random(seed.size());
    for (int i = 0; i < damages_per_seed; ++i) run(damage(seed, random));
}

}  // namespace

int main(int count, char** arguments) {
    std::vector<fs::path> files;
    for (int i = 1; i < count; ++i) {
        if (fs::is_directory(arguments[i])) {
            for (const auto& entry : fs::directory_iterator(arguments[i])) files.push_back(entry.path());
        } else {
            files.emplace_back(arguments[i]);
        }
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) {
        std::fprintf(stderr, "no seeds\n");
        return 1;
    }
    run("");
    for (const auto& file : files) {
        std::fprintf(stderr, "%s\n", file.filename().c_str());
        replay(file);
    }
    std::fprintf(stderr, "%zu seeds replayed\n", files.size());
    return 0;
}
