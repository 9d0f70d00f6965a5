/* A stand-in for NVIDIA's driver library on machines without a GPU: the functions that Legato's models call, over kernels that the tests
   lower to the CPU (standin.py).

   cuModuleLoadDataEx finds the kernels by the digest of the PTX or cubin: $STANDIN_KERNELS/<digest>.so. Streams are queues, whose work is done when
   somebody waits for it ($STANDIN_EAGER: at once). The device's memory is at addresses that the host cannot touch; kernels and copies
   reach it by another mapping. The threads of a block are coroutines: at a barrier or shuffle the next one goes on. Fresh memory holds
   NaNs. $STANDIN_DEVICES, $STANDIN_CHIP (80), $STANDIN_MEMORY (bytes): how many devices, of which chip, how large. $STANDIN_THREADS (1024):
   the most in a block. $STANDIN_PTX (90): the last version of PTX that is read, times ten. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#if defined(STANDIN_CUDA_H) /* NVIDIA's own declarations, where they are: the compiler then compares the types */
#include STANDIN_CUDA_H
#undef cuEventElapsedTime /* the driver has it beside a second version, which later headers name */
#else
typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef int CUstreamCaptureStatus, CUdevice_attribute, CUfunction_attribute, CUjit_option;
#include "standin/graph_types.h"
typedef struct { uint64_t words[16]; } CUtensorMap;
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef int CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill;
#endif

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
       INVALID_PTX = 218, UNSUPPORTED_PTX = 222, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, MISALIGNED_ADDRESS = 716, CAPTURE_UNSUPPORTED = 900, LAUNCH_FAILED = 719 };
#define ROOM (1ull << 35) /* addresses of a device */
#define MOST 4            /* devices */
#define GAP 4096
#define PARAMETER 128     /* bytes of the largest one: a tensor map */
#define STACK (256 << 10)
#define API __attribute__((visibility("default")))

static pthread_mutex_t lock;
static char *fake, *real; /* the same memory, as the host and as kernels have it */

#include "standin/counting.h"
#include "standin/devices.h"
#include "standin/memory.h"
#include "standin/threads.h"
#include "standin/accesses.h"
#include "standin/copies.h"
#include "standin/matrices.h"
#include "standin/warpgroups.h"
#include "standin/blocks.h"
#include "standin/streams.h"
#include "standin/launches.h"
#include "standin/graphs.h"
#include "standin/modules.h"
