// All-reduce over NVLink for messages that are bound by latency: each rank writes what the others need straight into their
// memory ("push") and reads nothing but its own. Compiled at run time (NVRTC), once for each shape; no header is included.
//
// Defined by the options: ELEMENT_BF16, ELEMENT_F16 or ELEMENT_F32; WORLD (ranks); GRID and THREADS (of each launch);
// REGION (16-byte vectors that one rank may write into another's slot); TIMEOUT_NS; and for each kernel its shape.
//
// Memory of a rank ("staging"):   control, then 3 slots; a slot holds WORLD regions, region q is written by rank q alone.
// Control:                        CONTROL words for each block of the grid, read and written by that block alone.
//
// How a rank knows that a value has arrived: every word of a region holds EMPTY until then. EMPTY is a NaN in each of the
// three types, and a value that equals it is sent as another NaN, so data never looks like EMPTY, and -0.0 and NaN arrive.
// Words of 4 bytes are never seen torn, which is all that is asked of the 16-byte loads and stores.
//
// Why a slot can be used again. Call number e (the same on all ranks) uses slot e % 3, and empties slot (e - 1) % 3.
//  1. A rank ends call e only with the data of every rank for call e in hand, and each rank sends data of call e only in call e.
//  2. So while rank r is in call e, every other rank is in e - 1, e or e + 1: none has ended e + 1, for which r sent nothing.
//     In e - 1 nothing can still be on the way to r, since r has seen every word of e - 1 before it ended that call.
//     What arrives at r meanwhile belongs to slots e % 3 and (e + 1) % 3; r may empty the third, (e - 1) % 3 = (e + 2) % 3.
//  3. Rank q writes to that slot again in call e + 2, after it read r's data of call e + 1. r sent those in the kernel after the
//     one that emptied the slot. Kernels of one stream do not overlap, and each sender's fence.acq_rel.sys orders all that
//     came before, in this kernel and in those before it, before its data; a reader of that data that then ends its
//     kernel and starts the next one has it ordered before its own writes. So the emptying comes first.
//  4. Calls are the same in the same order on all ranks: XLA's schedule of one program, and one stream a device, give that.
//     It is why command buffers that run concurrently are refused (choice.py).
//
// A peer that never comes: after TIMEOUT_NS the kernel traps, which JAX raises as an error; no number is returned.

typedef unsigned int u32;
typedef unsigned long long u64;

#define EMPTY 0xFFFFFFF1u
#define NAN_INSTEAD 0xFFFFFFF0u
#define CONTROL 4  // words of a block's control: number of the call, then the vectors written in each slot
#define SPINS_BETWEEN_LOOKS 512

struct __align__(16) Vector { u32 word[4]; };

#if defined(ELEMENT_F32)
#define ELEMENTS 4
#else
#define ELEMENTS 8
#endif

struct Floats { float of[ELEMENTS]; };

__device__ __forceinline__ Floats widened(const Vector& v) {
  Floats f;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#if defined(ELEMENT_F32)
    f.of[i] = __uint_as_float(v.word[i]);
#elif defined(ELEMENT_BF16)
    f.of[2 * i] = __uint_as_float(v.word[i] << 16);
    f.of[2 * i + 1] = __uint_as_float(v.word[i] & 0xFFFF0000u);
#else
    asm("{.reg .f16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
        : "=f"(f.of[2 * i]), "=f"(f.of[2 * i + 1]) : "r"(v.word[i]));
#endif
  }
  return f;
}

__device__ __forceinline__ Vector rounded(const Floats& f) {
  Vector v;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#if defined(ELEMENT_F32)
    v.word[i] = __float_as_uint(f.of[i]);
#elif defined(ELEMENT_BF16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v.word[i]) : "f"(f.of[2 * i + 1]), "f"(f.of[2 * i]));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v.word[i]) : "f"(f.of[2 * i + 1]), "f"(f.of[2 * i]));
#endif
  }
  return v;
}

__device__ __forceinline__ void add(Floats& sum, const Floats& more) {
#pragma unroll
  for (int i = 0; i < ELEMENTS; ++i) sum.of[i] += more.of[i];
}

__device__ __forceinline__ void push(Vector* to, Vector v) {
#pragma unroll
  for (int i = 0; i < 4; ++i) v.word[i] = v.word[i] == EMPTY ? NAN_INSTEAD : v.word[i];
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.word[0]), "r"(v.word[1]),
               "r"(v.word[2]), "r"(v.word[3]) : "memory");
}

__device__ __forceinline__ u64 now() {
  u64 nanoseconds;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

__device__ __forceinline__ bool arrived(const Vector* from, Vector& v) {
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "l"(from) : "memory");
  return v.word[0] != EMPTY && v.word[1] != EMPTY && v.word[2] != EMPTY && v.word[3] != EMPTY;
}

__device__ __forceinline__ Vector awaited(const Vector* from) {
  Vector v;
  if (arrived(from, v)) return v;
  const u64 begin = now();
  for (;;) {
    for (int spin = 0; spin < SPINS_BETWEEN_LOOKS; ++spin)
      if (arrived(from, v)) return v;
    if (now() - begin > TIMEOUT_NS) asm volatile("trap;");
  }
}

// One call, as a thread sees it. `state`: addresses of the stagings, this rank's first and the others in the order of ranks
// after it, then this rank's number.
struct Call {
  u64 stagings[WORLD];
  u32 me, number, slot, used_before;
  u32* control;

  __device__ __forceinline__ Call(const u64* state) {
#pragma unroll
    for (int i = 0; i < WORLD; ++i) stagings[i] = state[i];
    me = (u32)state[8];
    control = (u32*)stagings[0] + CONTROL * blockIdx.x;
    const Vector mine = *(const Vector*)control;
    number = mine.word[0];
    slot = number % 3;
    used_before = slot == 0 ? mine.word[3] : slot == 1 ? mine.word[1] : mine.word[2];
    asm volatile("fence.acq_rel.sys;" ::: "memory");
  }

  // Where rank `source` writes into the staging of the rank that comes `after` this one.
  __device__ __forceinline__ Vector* region(int after, u32 in_slot, u32 source) const {
    return (Vector*)(stagings[after] + 4ull * CONTROL * GRID) + (u64)(in_slot * WORLD + source) * REGION;
  }
  __device__ __forceinline__ Vector* outgoing(int after) const { return region(after, slot, me); }
  __device__ __forceinline__ const Vector* incoming(u32 source) const { return region(0, slot, source); }

  // Empties what the call before was sent, and makes this call the one before. `extent`: vectors that this one writes to a region.
  __device__ __forceinline__ void pass_on(u32 extent) const {
    const u32 before = (number + 2) % 3;
    const Vector empty = {{EMPTY, EMPTY, EMPTY, EMPTY}};
#pragma unroll
    for (int source = 0; source < WORLD; ++source)
      if (source != me)
        for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < used_before; i += GRID * THREADS) region(0, before, source)[i] = empty;
    __syncthreads();  // all threads have read their control
    if (threadIdx.x == 0) {
      control[1 + slot] = extent;
      control[0] = number + 1;
    }
  }

  // The sum of one vector over all ranks, in their order, so that every rank computes the same bits.
  __device__ __forceinline__ Floats sum(const Vector& mine, u32 at) const {
    Floats total;
#pragma unroll
    for (int source = 0; source < WORLD; ++source) {
      const Floats part = widened(source == me ? mine : awaited(incoming(source) + at));
      if (source == 0) total = part; else add(total, part);
    }
    return total;
  }
};

#if defined(ONE_SHOT)  // VECTORS: of the message
extern "C" __global__ void __launch_bounds__(THREADS) jaxgpu_tune_all_reduce(const Vector* x, const u64* state, Vector* out) {
  const Call call(state);
  const u32 first = blockIdx.x * THREADS + threadIdx.x;
  for (int after = 1; after < WORLD; ++after)
    for (u32 i = first; i < VECTORS; i += GRID * THREADS) push(call.outgoing(after) + i, x[i]);
  call.pass_on(VECTORS);
  for (u32 i = first; i < VECTORS; i += GRID * THREADS) out[i] = rounded(call.sum(x[i], i));
}
#endif

#if defined(TWO_SHOT)  // CHUNK: vectors of the message that each rank sums for all
extern "C" __global__ void __launch_bounds__(THREADS) jaxgpu_tune_all_reduce(const Vector* x, const u64* state, Vector* out) {
  const Call call(state);
  const u32 first = blockIdx.x * THREADS + threadIdx.x;
  for (int after = 1; after < WORLD; ++after) {
    const u32 owner = (call.me + after) % WORLD;
    for (u32 i = first; i < CHUNK; i += GRID * THREADS) push(call.outgoing(after) + i, x[owner * CHUNK + i]);
  }
  call.pass_on(2 * CHUNK);
  for (u32 i = first; i < CHUNK; i += GRID * THREADS) {
    const Vector total = rounded(call.sum(x[call.me * CHUNK + i], i));
    for (int after = 1; after < WORLD; ++after) push(call.outgoing(after) + CHUNK + i, total);
    out[call.me * CHUNK + i] = total;
  }
  for (int after = 1; after < WORLD; ++after) {
    const u32 owner = (call.me + after) % WORLD;
    for (u32 i = first; i < CHUNK; i += GRID * THREADS) out[owner * CHUNK + i] = awaited(call.incoming(owner) + CHUNK + i);
  }
}
#endif

#if defined(FUSED)  // ROWS; WIDTH: vectors of a row; EPS. A block does a row at a time, a thread every THREADS-th vector of it.
#define PARTS ((WIDTH + THREADS - 1) / THREADS)

__device__ __forceinline__ Floats scale_at(const void* gamma, u32 at) {
#if defined(GAMMA_F32)
  Floats f;
#pragma unroll
  for (int i = 0; i < ELEMENTS; ++i) f.of[i] = ((const float*)gamma)[at * ELEMENTS + i];
  return f;
#else
  return widened(((const Vector*)gamma)[at]);
#endif
}

__device__ __forceinline__ float over_block(float value) {
  __shared__ float of_warp[32];
#pragma unroll
  for (int offset = 16; offset; offset /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, offset);
  __syncthreads();  // the row before has been read
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
#pragma unroll
  for (int warp = 0; warp < THREADS / 32; ++warp) total += of_warp[warp];
  return total;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    jaxgpu_tune_add_rmsnorm(const Vector* x, const Vector* residual, const void* gamma, const u64* state, Vector* h, Vector* y) {
  const Call call(state);
  for (int after = 1; after < WORLD; ++after)
    for (u32 row = blockIdx.x; row < ROWS; row += GRID)
      for (u32 i = threadIdx.x; i < WIDTH; i += THREADS) push(call.outgoing(after) + row * WIDTH + i, x[row * WIDTH + i]);
  call.pass_on(ROWS * WIDTH);
  for (u32 row = blockIdx.x; row < ROWS; row += GRID) {
    Floats sums[PARTS];
    float squares = 0;
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      const u32 i = part * THREADS + threadIdx.x;
      if (i >= WIDTH) break;
      const u32 at = row * WIDTH + i;
      const Floats before = widened(residual[at]);
      sums[part] = call.sum(x[at], at);
      add(sums[part], before);
#pragma unroll
      for (int e = 0; e < ELEMENTS; ++e) squares += sums[part].of[e] * sums[part].of[e];
      h[at] = rounded(sums[part]);
    }
    const float scale = rsqrtf(over_block(squares) / (WIDTH * ELEMENTS) + EPS);
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      const u32 i = part * THREADS + threadIdx.x;
      if (i >= WIDTH) break;
      Floats normed = scale_at(gamma, i);
#pragma unroll
      for (int e = 0; e < ELEMENTS; ++e) normed.of[e] *= sums[part].of[e] * scale;
      y[row * WIDTH + i] = rounded(normed);
    }
  }
}
#endif
