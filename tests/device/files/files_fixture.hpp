// SPDX-License-Identifier: Apache-2.0
// A scratch folder for each test of files, and a process that dies in it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "device/files/scratch_folder.hpp"
#include "quern/base/context.hpp"

namespace quern {

inline std::string content(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void put(const std::filesystem::path& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
}

class files : public ::testing::Test {
  protected:
    void SetUp() override {
        context ctx;
        ctx.scratch = std::filesystem::path(::testing::TempDir()) / "quern-files-test";
        place_ = std::make_unique<scratch_folder>(ctx);
    }
    std::filesystem::path at(std::string_view name) const { return place_->file(name); }
    std::set<std::string> names() const {
        std::set<std::string> all;
        for (const auto& entry : std::filesystem::directory_iterator(place_->path()))
            all.insert(entry.path().filename());
        return all;
    }
    std::unique_ptr<scratch_folder> place_;
};

/// Runs `work` in a child that then dies as by kill -9: no destructor runs.
template <class Work>
void in_killed_process(Work work) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        try {
            work();
        } catch (...) {
            ::_exit(9);
        }
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
}

}  // namespace quern
