// SPDX-License-Identifier: Apache-2.0
// xapian_index CORPUS.jsonl INDEX: builds a Xapian index, prints JSON. Timed: from documents held in
// memory to the end of commit. As close to Quern's index as Xapian allows: lower-cased words without stems,
// frequencies without positions; ids, titles and texts stored. Compiled by bench/run-build if libxapian-dev is installed.
#include <xapian.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

std::uint64_t peak_memory_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
    }
    return 0;
}

struct record {
    std::string id, title, text;
};

std::vector<record> read_documents(const char* path) {
    std::vector<record> documents;
    std::ifstream lines(path);
    for (std::string line; std::getline(lines, line);) {
        auto object = nlohmann::json::parse(line);
        documents.push_back(
            {object["id"], object["title"], std::move(object["text"].get_ref<std::string&>())});
    }
    return documents;
}

}  // namespace

int main(int, char** arguments) {
    const std::vector<record> documents = read_documents(arguments[1]);
    const std::string folder = arguments[2];
    const std::uint64_t before = peak_memory_bytes();
    const std::clock_t cpu_begin = std::clock();
    const auto begin = std::chrono::steady_clock::now();
    {
        Xapian::WritableDatabase index(folder, Xapian::DB_CREATE_OR_OVERWRITE | Xapian::DB_BACKEND_GLASS);
        Xapian::TermGenerator words;
        for (const record& d : documents) {
            Xapian::Document document;
            words.set_document(document);
            words.index_text_without_positions(d.title);
            words.index_text_without_positions(d.text);
            document.add_value(0, d.id);
            document.add_value(1, d.title);
            document.set_data(d.text);
            index.add_document(document);
        }
        index.commit();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const double cpu_seconds = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
    std::uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder)) bytes += file.file_size();
    std::printf(
        "{\"seconds\":%.6f,\"cpu_seconds\":%.6f,\"memory_bytes\":%llu,\"index_bytes\":%llu,\"documents\":%zu}"
        "\n",
        seconds.count(), cpu_seconds, static_cast<unsigned long long>(peak_memory_bytes() - before),
        static_cast<unsigned long long>(bytes), documents.size());
}
