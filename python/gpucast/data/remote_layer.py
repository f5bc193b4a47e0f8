"""Facts of the layer of remote GPUs.

Made by scripts/generate_remote_layer.py; do not edit.
"""

from __future__ import annotations

from enum import StrEnum


class TransportName(StrEnum):
    """What a client can be asked for (``GPUCAST_REMOTE_TRANSPORT``)."""

    auto = "auto"
    socket = "socket"
    shared_memory = "shared-memory"


TRANSPORTS = {
    "tls": "TLS",
    "plain": "plain",
    "shm": "shared memory",
}
"""What carries calls, by its word in records."""

INLINE_BYTES = 49152
"""The largest copy within its message, on hosts of ``CORES`` or more."""
MOST_INLINE_BYTES = 1048576
CORES = 8
MOST_UNDER_WAY = 4194304
"""Bytes that a connection has under way before who sends has to wait."""
SPIN = 2000e-6
"""s for which either side looks for the next message before it sleeps."""

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
"""Calls of the CUDA runtime that are done; the others return an error."""
