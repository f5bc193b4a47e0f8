"""Facts of the layer of remote GPUs.

Made by scripts/generate_remote_layer.py; do not edit.
"""

from __future__ import annotations

from enum import StrEnum


class TransportName(StrEnum):
    """Transports that a client can request (``GPUCAST_REMOTE_TRANSPORT``)."""

    auto = "auto"
    socket = "socket"
    shared_memory = "shared-memory"


TRANSPORTS = {
    "tls": "TLS",
    "plain": "plain",
    "shm": "shared memory",
}
"""Transports of calls, by their words in records."""

INLINE_BYTES = 49152
"""Bytes of the largest copy within its message, with ``CORES`` or more cores."""
MOST_INLINE_BYTES = 1048576
CORES = 8
MOST_UNDER_WAY = 4194304
"""Bytes that a connection can have under way before its sender waits."""
SPIN = 2000e-6
"""Seconds for which either side polls for the next message before it sleeps."""

_CALLS = """
    cudaCreateChannelDesc cudaDeviceCanAccessPeer cudaDeviceGetAttribute cudaDeviceGetByPCIBusId
    cudaDeviceGetCacheConfig cudaDeviceGetDefaultMemPool cudaDeviceGetLimit cudaDeviceGetMemPool
    cudaDeviceGetP2PAttribute cudaDeviceGetPCIBusId cudaDeviceGetStreamPriorityRange cudaDeviceReset
    cudaDeviceSetCacheConfig cudaDeviceSetLimit cudaDeviceSetMemPool cudaDeviceSynchronize
    cudaDriverGetVersion cudaEventCreate cudaEventCreateWithFlags cudaEventDestroy
    cudaEventElapsedTime cudaEventQuery cudaEventRecord cudaEventRecordWithFlags
    cudaEventSynchronize cudaFree cudaFreeAsync cudaFreeHost cudaFuncGetAttributes cudaFuncGetName
    cudaFuncGetParamInfo cudaFuncSetAttribute cudaFuncSetCacheConfig cudaGetDevice
    cudaGetDeviceCount cudaGetDeviceFlags cudaGetDeviceProperties cudaGetErrorName
    cudaGetErrorString cudaGetKernel cudaGetLastError cudaGetSymbolAddress cudaGetSymbolSize
    cudaGraphAddDependencies cudaGraphAddEmptyNode cudaGraphAddKernelNode cudaGraphAddMemcpyNode
    cudaGraphAddMemcpyNode1D cudaGraphAddMemsetNode cudaGraphClone cudaGraphCreate cudaGraphDestroy
    cudaGraphDestroyNode cudaGraphExecDestroy cudaGraphExecGetFlags cudaGraphExecKernelNodeSetParams
    cudaGraphExecMemcpyNodeSetParams cudaGraphExecMemcpyNodeSetParams1D
    cudaGraphExecMemsetNodeSetParams cudaGraphExecUpdate cudaGraphGetEdges cudaGraphGetNodes
    cudaGraphGetRootNodes cudaGraphInstantiate cudaGraphInstantiateWithFlags
    cudaGraphInstantiateWithParams cudaGraphKernelNodeGetParams cudaGraphKernelNodeSetParams
    cudaGraphLaunch cudaGraphMemcpyNodeSetParams cudaGraphMemcpyNodeSetParams1D
    cudaGraphMemsetNodeGetParams cudaGraphMemsetNodeSetParams cudaGraphNodeGetDependencies
    cudaGraphNodeGetType cudaGraphRemoveDependencies cudaGraphUpload cudaHostAlloc cudaHostGetFlags
    cudaHostRegister cudaHostUnregister cudaInitDevice cudaLaunchCooperativeKernel
    cudaLaunchHostFunc cudaLaunchKernel cudaLaunchKernelExC cudaMalloc cudaMallocAsync
    cudaMallocFromPoolAsync cudaMallocHost cudaMallocPitch cudaMemGetDefaultMemPool cudaMemGetInfo
    cudaMemGetMemPool cudaMemPoolCreate cudaMemPoolDestroy cudaMemPoolGetAccess
    cudaMemPoolGetAttribute cudaMemPoolSetAccess cudaMemPoolSetAttribute cudaMemPoolTrimTo
    cudaMemSetMemPool cudaMemcpy cudaMemcpy2D cudaMemcpy2DAsync cudaMemcpyAsync cudaMemcpyFromSymbol
    cudaMemcpyFromSymbolAsync cudaMemcpyPeer cudaMemcpyPeerAsync cudaMemcpyToSymbol
    cudaMemcpyToSymbolAsync cudaMemset cudaMemset2D cudaMemset2DAsync cudaMemsetAsync
    cudaOccupancyMaxActiveBlocksPerMultiprocessor
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cudaPeekAtLastError
    cudaPointerGetAttributes cudaProfilerStart cudaProfilerStop cudaRuntimeGetVersion cudaSetDevice
    cudaSetDeviceFlags cudaStreamAddCallback cudaStreamBeginCapture cudaStreamBeginCaptureToGraph
    cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority cudaStreamDestroy
    cudaStreamEndCapture cudaStreamGetCaptureInfo cudaStreamGetDevice cudaStreamGetFlags
    cudaStreamGetId cudaStreamGetPriority cudaStreamIsCapturing cudaStreamQuery
    cudaStreamSynchronize cudaStreamUpdateCaptureDependencies cudaStreamWaitEvent
    cudaThreadExchangeStreamCaptureMode
"""
SUPPORTED = frozenset(_CALLS.split())
"""Calls of the CUDA runtime that are supported; the others return an error."""
