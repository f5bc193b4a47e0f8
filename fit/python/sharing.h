// Part of gpucast._core, bound in a source of its own.
#pragma once

#include <nanobind/nanobind.h>

void bind_sharing(nanobind::module_& m);
