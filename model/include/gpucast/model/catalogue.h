// The catalogue: every term that there is, a line a term. The order is that of tables and of the
// search for a model; the first communication term of a schedule is its plain form.
#pragma once

#include <variant>

#include "gpucast/model/terms/affine.h"
#include "gpucast/model/terms/allgather.h"
#include "gpucast/model/terms/allgather_once.h"
#include "gpucast/model/terms/allgather_queue.h"
#include "gpucast/model/terms/bent.h"
#include "gpucast/model/terms/halo.h"
#include "gpucast/model/terms/linear.h"
#include "gpucast/model/terms/mpi.h"
#include "gpucast/model/terms/neighbours.h"
#include "gpucast/model/terms/none.h"
#include "gpucast/model/terms/occupancy.h"
#include "gpucast/model/terms/star_async.h"
#include "gpucast/model/terms/star_async_poll.h"
#include "gpucast/model/terms/star_async_queue.h"
#include "gpucast/model/terms/star_async_turns.h"
#include "gpucast/model/terms/star_serial.h"
#include "gpucast/model/terms/star_serial_hide.h"
#include "gpucast/model/terms/star_serial_poll.h"
#include "gpucast/model/terms/wave.h"
#include "gpucast/model/terms/work.h"

namespace gpucast::model {

// clang-format off
using GpuTerm = std::variant<
    Wave,
    Occupancy,
    Work,
    Neighbours>;

using CpuTerm = std::variant<
    Linear,
    Affine,
    Bent,
    None>;

using ComTerm = std::variant<
    StarSerial,
    StarAsync,
    Allgather,
    Mpi,
    StarSerialPoll,
    StarAsyncPoll,
    StarAsyncTurns,
    AllgatherQueue,
    Halo,
    StarSerialHide,
    StarAsyncQueue,
    AllgatherOnce>;
// clang-format on

}  // namespace gpucast::model
