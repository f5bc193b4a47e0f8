// UCX of the system, opened when it is first needed: a program over remote GPUs is not linked with
// it, and one that does not ask for it has none of its threads and hooks.
#pragma once

#include <ucp/api/ucp.h>

#include <memory>
#include <string>
#include <utility>

#include "system_library.h"
#include "transport/connection.h"

namespace gpucast::remote {

struct UcxLibrary {
// NOLINTBEGIN(bugprone-macro-parentheses): a member's name stands in none
#define GPUCAST_UCX(name) \
  decltype(&ucp_##name) name = find_function<decltype(ucp_##name)>(library, "ucp_" #name)
  void* library = open_library("libucp.so.0");
  GPUCAST_UCX(am_data_release);
  GPUCAST_UCX(am_send_nbx);
  GPUCAST_UCX(ep_close_nbx);
  GPUCAST_UCX(ep_create);
  GPUCAST_UCX(config_modify);
  GPUCAST_UCX(config_read);
  GPUCAST_UCX(config_release);
  GPUCAST_UCX(init_version);
  GPUCAST_UCX(request_check_status);
  GPUCAST_UCX(request_free);
  GPUCAST_UCX(worker_arm);
  GPUCAST_UCX(worker_create);
  GPUCAST_UCX(worker_destroy);
  GPUCAST_UCX(worker_get_address);
  GPUCAST_UCX(worker_get_efd);
  GPUCAST_UCX(worker_progress);
  GPUCAST_UCX(worker_release_address);
  GPUCAST_UCX(worker_set_am_recv_handler);
  decltype(&ucs_status_string) status_string =
      find_function<decltype(ucs_status_string)>(library, "ucs_status_string");
#undef GPUCAST_UCX
  // NOLINTEND(bugprone-macro-parentheses)
};

inline const UcxLibrary& ucx() {
  static const UcxLibrary result;
  return result;
}

// For what ends: the library has been open since that began.
// NOLINTNEXTLINE(bugprone-exception-escape)
inline const UcxLibrary& opened_ucx() noexcept { return ucx(); }

inline void require_ucx(ucs_status_t status, const char* call) {
  if (status != UCS_OK)
    throw ConnectionLost(std::string("UCX: ") + call + ": " + ucx().status_string(status));
}

// Of the process, which keeps it: its end would be that of connections in other threads.
inline ucp_context_h ucx_context() {
  static ucp_context* const result = [] {
    ucp_params_t wanted{};
    wanted.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    wanted.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    wanted.mt_workers_shared = 1;  // by threads; each worker is used by one at a time
    ucp_config_t* read = nullptr;
    require_ucx(ucx().config_read(nullptr, nullptr, &read), "ucp_config_read");
    const std::unique_ptr<ucp_config_t, void (*)(ucp_config_t*)> config(read, ucx().config_release);
    // A copy may wait within UCX for a call that nobody makes any more.
    require_ucx(ucx().config_modify(read, "ZCOPY_THRESH", "0"), "ucp_config_modify");
    ucp_context_h made = nullptr;
    require_ucx(ucx().init_version(UCP_API_MAJOR, UCP_API_MINOR, &wanted, read, &made), "ucp_init");
    return made;
  }();
  return result;
}

struct EndUcxWorker {
  void operator()(ucp_worker_h worker) const { opened_ucx().worker_destroy(worker); }
};
using UcxWorker = std::unique_ptr<ucp_worker, EndUcxWorker>;

inline UcxWorker make_ucx_worker() {
  ucp_worker_params_t wanted{};
  wanted.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  wanted.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucp_worker_h made = nullptr;
  require_ucx(ucx().worker_create(ucx_context(), &wanted, &made), "ucp_worker_create");
  return UcxWorker(made);
}

// What UCX was asked for and may not have done yet. Under the lock of its worker.
class UcxRequest {
 public:
  UcxRequest() = default;
  explicit UcxRequest(ucs_status_ptr_t begun)
      : request_(UCS_PTR_IS_PTR(begun) ? begun : nullptr),
        status_(UCS_PTR_IS_PTR(begun) ? UCS_INPROGRESS : UCS_PTR_STATUS(begun)) {}
  ~UcxRequest() { free(); }
  UcxRequest(UcxRequest&& other) noexcept
      : request_(std::exchange(other.request_, nullptr)),
        status_(std::exchange(other.status_, UCS_OK)) {}
  UcxRequest& operator=(UcxRequest&& other) noexcept {
    std::swap(request_, other.request_);
    std::swap(status_, other.status_);
    return *this;
  }
  UcxRequest(const UcxRequest&) = delete;
  UcxRequest& operator=(const UcxRequest&) = delete;

  bool done() {
    if (request_ != nullptr) status_ = opened_ucx().request_check_status(request_);
    if (status_ != UCS_INPROGRESS) free();
    return status_ != UCS_INPROGRESS;
  }
  // Once it is done.
  ucs_status_t status() const { return status_; }

 private:
  void free() noexcept {
    if (request_ != nullptr) opened_ucx().request_free(std::exchange(request_, nullptr));
  }

  void* request_ = nullptr;
  ucs_status_t status_ = UCS_OK;
};

}  // namespace gpucast::remote
