// SPDX-License-Identifier: Apache-2.0
// Which place a run gets. Effects of a GPU depend on the machine: each test states the expected result with and without
// one.
#include "device/place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "device/choice_ahead.hpp"
#include "device/devices.hpp"
#include "quern/base/error.hpp"

namespace quern::place_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// The GPUs that this program can use here; tests of the choice must not determine that by choosing.
bool gpu_works(std::size_t ordinal = 0) {
    std::string why_none;
    return device::cuda_devices(why_none).size() > ordinal &&
           device::check_cuda_runtime(static_cast<int>(ordinal)).works;
}

struct logging_context {
    context ctx;
    std::vector<std::string> logged;
    explicit logging_context(device_choice wanted) {
        ctx.device = wanted;
        ctx.on_log = [this](log_level, std::string_view message) { logged.emplace_back(message); };
    }
    logging_context(const logging_context&) = delete;  // its context points to it
};

template <class Error>
std::string refusal(const context& ctx, offered_places offered = offered_places::all) {
    try {
        const chosen_device chosen = choose_device(ctx, "sorting", offered);
        return "chose " + chosen.name;
    } catch (const Error& e) {
        return e.what();
    }
}

TEST(choose_device, takes_the_requested_cpu_and_says_nothing) {
    for (const auto offered : {offered_places::all, offered_places::cpu_only}) {
        logging_context requested({device_choice::kind::cpu});
        const auto chosen = choose_device(requested.ctx, "sorting", offered);
        EXPECT_FALSE(chosen.cuda);
        EXPECT_EQ(chosen.name, "cpu");
        EXPECT_EQ(chosen.reason, "requested");
        EXPECT_THAT(requested.logged, IsEmpty());
    }
}

TEST(choose_device, logs_what_it_chose_where_there_was_a_choice) {
    logging_context automatic({});
    const auto chosen = choose_device(automatic.ctx, "sorting");
    EXPECT_EQ(chosen.cuda, gpu_works());
    if (has_cuda) {
        EXPECT_THAT(automatic.logged, ElementsAre("device " + chosen.name + ": " + chosen.reason));
    } else {
        EXPECT_THAT(automatic.logged, IsEmpty());
    }
    if (chosen.cuda) {
        EXPECT_EQ(chosen.name, "cuda:0");
        EXPECT_THAT(chosen.reason, HasSubstr("which works"));
    } else {
        EXPECT_EQ(chosen.name, "cpu");
        EXPECT_THAT(chosen.reason, ::testing::AnyOf(HasSubstr("built without CUDA"), HasSubstr("driver")));
    }
}

TEST(choose_device, keeps_what_runs_on_the_cpu_only) {
    logging_context automatic({});
    const auto chosen = choose_device(automatic.ctx, "sorting", offered_places::cpu_only);
    EXPECT_EQ(chosen.name, "cpu");
    EXPECT_EQ(chosen.reason, "sorting runs on cpu only");
    EXPECT_THAT(automatic.logged, IsEmpty());
    for (const int ordinal : {device_choice::any_ordinal, device_choice::all_ordinals, 0, 7}) {
        EXPECT_EQ(refusal<usage_error>(context::cuda(ordinal), offered_places::cpu_only),
                  "sorting runs on cpu only");
        EXPECT_THROW(require_cpu(context::cuda(ordinal), "sorting"), usage_error);
    }
    EXPECT_NO_THROW(require_cpu(context::cpu(), "sorting"));
    EXPECT_NO_THROW(require_cpu({}, "sorting"));
}

TEST(choose_device, takes_the_requested_gpu_or_refuses) {
    for (const int ordinal : {device_choice::any_ordinal, device_choice::all_ordinals, 0}) {
        logging_context requested({device_choice::kind::cuda, ordinal});
        if (gpu_works()) {
            const auto chosen = choose_device(requested.ctx, "sorting");
            EXPECT_TRUE(chosen.cuda);
            EXPECT_EQ(chosen.name, "cuda:0");
            EXPECT_EQ(chosen.reason, "requested");
        } else {
            EXPECT_THAT(refusal<device_error>(requested.ctx), StartsWith("CUDA was requested, but "));
        }
        const bool one_of_all = gpu_works() && ordinal == device_choice::all_ordinals;
        EXPECT_EQ(requested.logged.size(), one_of_all ? 1U : 0U);
    }
}

/// Two GPUs; the first ones fail.
device::machine machine_with_gpus(int failing = 0) {
    return {true,
            [](std::string&) {
                std::vector<device::cuda_device_info> gpus(2);
                gpus[0].name = "Fake One";
                gpus[1] = gpus[0];
                gpus[1].ordinal = 1;
                return gpus;
            },
            [failing](int ordinal) {
                return device::cuda_runtime_report{ordinal >= failing, "fails", 0, 0};
            }};
}

TEST(choose_device, says_that_one_gpu_is_used_where_all_are_requested) {
    for (const int failing : {0, 1}) {
        const std::string name = "cuda:" + std::to_string(failing);
        logging_context all({device_choice::kind::cuda, device_choice::all_ordinals});
        EXPECT_EQ(choose_on(machine_with_gpus(failing), all.ctx, "sorting", offered_places::all).name, name);
        EXPECT_THAT(all.logged, ::testing::ElementsAre("sorting uses one GPU, " + name));
    }
    for (const auto& [ordinal, offered] :
         {std::pair{device_choice::all_ordinals, offered_places::several_gpus},
          std::pair{device_choice::any_ordinal, offered_places::all}, std::pair{1, offered_places::all}}) {
        logging_context requested({device_choice::kind::cuda, ordinal});
        const auto chosen = choose_on(machine_with_gpus(), requested.ctx, "sorting", offered);
        EXPECT_EQ(chosen.ordinal, std::max(ordinal, 0));
        EXPECT_THAT(requested.logged, IsEmpty());
    }
}

TEST(choose_device, names_several_gpus) {
    using kind = device_choice::kind;
    const auto several = [](device_choice requested, int failing, std::vector<std::string>& logged) {
        logging_context run(requested);
        const auto chosen =
            choose_on(machine_with_gpus(failing), run.ctx, "sorting", offered_places::several_gpus);
        logged = run.logged;
        return chosen;
    };
    std::vector<std::string> logged;
    for (const device_choice& requested :
         {device_choice{kind::cuda, device_choice::all_ordinals}, device_choice{kind::cuda, 0, {1}}}) {
        const chosen_device both = several(requested, 0, logged);
        EXPECT_EQ(both.name, "cuda:0,1");
        EXPECT_THAT(both.more, ::testing::ElementsAre(1));
        EXPECT_THAT(logged, IsEmpty());
        EXPECT_EQ(choice_of(both), (device_choice{kind::cuda, 0, {1}}));
    }
    EXPECT_EQ(several({kind::cuda, 1, {0}}, 0, logged).name, "cuda:1,0");
    EXPECT_EQ(several({kind::cuda, device_choice::all_ordinals}, 1, logged).name, "cuda:1");
    EXPECT_THAT(logged, ::testing::ElementsAre("not used: cuda:0 (Fake One) fails: fails"));
    logging_context broken({kind::cuda, 1, {0}});
    EXPECT_THROW(choose_on(machine_with_gpus(1), broken.ctx, "sorting", offered_places::several_gpus),
                 device_error);
    logging_context one({kind::cuda, 1, {0}});
    EXPECT_EQ(choose_on(machine_with_gpus(), one.ctx, "sorting", offered_places::all).name, "cuda:1");
    EXPECT_THAT(one.logged, ::testing::ElementsAre("sorting uses one GPU, cuda:1"));
}

TEST(choose_device, checks_several_gpus_at_once) {
    std::latch begun(2);
    device::machine here = machine_with_gpus();
    here.check = [&](int) {
        begun.count_down();
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!begun.try_wait() && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return device::cuda_runtime_report{begun.try_wait(), "was checked alone", 0, 0};
    };
    logging_context all({device_choice::kind::cuda, device_choice::all_ordinals});
    EXPECT_EQ(choose_on(here, all.ctx, "sorting", offered_places::several_gpus).name, "cuda:0,1");
    EXPECT_THAT(all.logged, IsEmpty());
}

TEST(choose_device, says_why_it_refuses) {
    const std::string said = refusal<device_error>(context::cuda(1000));
    if (!has_cuda) {
        EXPECT_EQ(said, "CUDA was requested, but this program was built without it");
    } else if (gpu_works()) {
        EXPECT_THAT(said, StartsWith("cuda:1000 was requested, but the last GPU is cuda:"));
    } else {
        EXPECT_THAT(said, AllOf(StartsWith("CUDA was requested, but "), HasSubstr("driver")));
    }
    EXPECT_EQ(refusal<usage_error>(context::cuda(-3)), "there is no GPU cuda:-3");
}

TEST(open_place, opens_what_was_chosen) {
    any_place holder = open_place(context::cpu(3), "sorting");
    holder.visit([](auto& place) {
        EXPECT_TRUE((std::is_same_v<decltype(place), cpu_place&>));
        EXPECT_EQ(place.ctx().threads, 3u);
    });
    any_place best = open_place({}, "sorting");
    EXPECT_EQ(best.visit([](auto& place) { return std::is_same_v<decltype(place), cuda_place&>; }),
              gpu_works());
}

TEST(at_place, returns_what_the_work_returns) {
    EXPECT_EQ(at_place(context::cpu(2), "sorting", [](auto& place) { return place.ctx().threads + 1; }), 3u);
    bool called = false;
    at_place(context::cpu(), "sorting", [&](auto&) { called = true; });
    EXPECT_TRUE(called);
    EXPECT_THROW(at_place(context::cpu(), "sorting", [](auto&) { throw usage_error("no"); }), usage_error);
}

TEST(at_place, does_not_fall_back) {
    if (gpu_works()) GTEST_SKIP() << "there is a GPU";
    bool called = false;
    EXPECT_THROW(at_place(context::cuda(), "sorting", [&](auto&) { called = true; }), device_error);
    EXPECT_FALSE(called);
}

TEST(context, factories_name_the_device) {
    EXPECT_EQ(context::cpu(4).device.where, device_choice::kind::cpu);
    EXPECT_EQ(context::cpu(4).thread_count(), 4u);
    EXPECT_GE(context::cpu().thread_count(), 1u);
    EXPECT_EQ(context::cuda().device, (device_choice{device_choice::kind::cuda, device_choice::any_ordinal}));
    EXPECT_EQ(context::cuda(2).device, (device_choice{device_choice::kind::cuda, 2}));
    EXPECT_EQ(context::best().device, device_choice{});
}

/// A machine with one GPU, whose check calls check().
device::machine with_one_gpu(const std::function<bool()>& check) {
    return {true,
            [](std::string&) {
                return std::vector<device::cuda_device_info>{{.ordinal = 0, .name = "Test GPU"}};
            },
            [check](int) {
                return device::cuda_runtime_report{check(), "no answer", 0, 0};
            }};
}

TEST(choice_ahead, tries_the_gpu_meanwhile_and_logs_in_the_end) {
    logging_context automatic({});
    std::atomic<bool> may_answer = false;
    const auto check = [&] {
        may_answer.wait(false);
        return true;
    };
    device_choice warmed;
    choice_ahead ahead(with_one_gpu(check), automatic.ctx, "sorting", offered_places::all,
                       [&](const context& ctx) {
                           warmed = ctx.device;
                           throw device_error("does not matter");
                       });
    EXPECT_THAT(automatic.logged, IsEmpty());
    may_answer = true;
    may_answer.notify_all();
    EXPECT_EQ(ahead.wait().name, "cuda:0");
    EXPECT_THAT(automatic.logged, ElementsAre("device cuda:0: Test GPU, which works"));
    EXPECT_EQ(warmed, (device_choice{device_choice::kind::cuda, 0}));
}

TEST(choice_ahead, refuses_at_once_what_needs_no_trial) {
    const auto works = [] { return true; };
    const auto ahead = [&](const device::machine& here, const device_choice& wanted, offered_places offered) {
        context ctx;
        ctx.device = wanted;
        choice_ahead(here, ctx, "sorting", offered, {}).wait();
    };
    const device_choice gpu{device_choice::kind::cuda}, fifth{device_choice::kind::cuda, 4};
    EXPECT_THROW(ahead(with_one_gpu(works), gpu, offered_places::cpu_only), usage_error);
    EXPECT_THROW(ahead(with_one_gpu(works), fifth, offered_places::all), device_error);
    EXPECT_THROW(ahead({}, gpu, offered_places::all), device_error);
    context ctx;
    ctx.device = gpu;
    choice_ahead fails(with_one_gpu([] { return false; }), ctx, "sorting", offered_places::all, {});
    EXPECT_THROW(for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) fails.check(),
                 device_error);
}

}  // namespace
}  // namespace quern::place_test
