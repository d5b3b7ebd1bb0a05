// SPDX-License-Identifier: Apache-2.0
// While one lives, the process can open no further file (EMFILE).
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace quern::testing {

class no_more_files {
  public:
    no_more_files() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::close(next);
        rlimit now = before_;
        now.rlim_cur = static_cast<rlim_t>(next);
        setrlimit(RLIMIT_NOFILE, &now);
    }
    no_more_files(const no_more_files&) = delete;
    no_more_files& operator=(const no_more_files&) = delete;
    ~no_more_files() { setrlimit(RLIMIT_NOFILE, &before_); }

  private:
    rlimit before_{};
};

}  // namespace quern::testing
