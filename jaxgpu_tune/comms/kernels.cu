// All-reduce over NVLink for messages that are bound by latency: each rank writes what the others need straight into their
// memory ("push") and reads nothing but its own. Compiled at run time (NVRTC), once for each shape; no header is included.
//
// Defined by the options: ELEMENT_BF16, ELEMENT_F16 or ELEMENT_F32; WORLD (ranks); GRID and THREADS (of each launch);
// REGION (16-byte vectors that one rank may write into another's slot); TIMEOUT_NS; FENCE or not; and for each kernel its shape.
//
// Memory of a rank ("staging"):   control, then 3 slots; a slot holds WORLD regions, region q is written by rank q alone.
// Control:                        CONTROL words for each block of the grid, read and written by that block alone.
//
// How a rank knows that a value has arrived: every word of a region holds EMPTY until then. EMPTY is a NaN in each of the
// three types, and a value that equals it is sent as another NaN, so data never looks like EMPTY, and -0.0 and NaN arrive.
// Words of 4 bytes are never seen torn, which is all that is asked of the 16-byte loads and stores.
//
// Why a slot can be used again (explored, and each point left out once, by tests/comms/test_protocol.py). Call number e, the same
// on all ranks, uses slot e % 3 and empties slot (e - 1) % 3.
//  1. A rank ends call e only with the data of every rank for call e in hand, and each rank sends data of call e only in call e.
//  2. So while rank r is in call e, every other rank is in e - 1, e or e + 1: none has ended e + 1, for which r sent nothing.
//     In e - 1 nothing can still be on the way to r, since r has seen every word of e - 1 before it ended that call.
//     What arrives at r meanwhile belongs to slots e % 3 and (e + 1) % 3; r may empty the third, (e - 1) % 3 = (e + 2) % 3.
//  3. Rank q writes to that slot again in call e + 2, after it read r's data of call e + 1, which r sent after the kernel that
//     emptied the slot had ended. Kernels of one stream do not overlap, and the end of one has its stores in memory before the
//     next begins: r's emptying is in r's own L2, where every access to r's memory is served, also one that comes over NVLink,
//     before r sends anything of call e + 1. q has what it read in hand when that kernel ends, and writes in the next one. So
//     the emptying comes first. All these stores and loads are relaxed ones of system scope, so none of them races.
//     What this rests on beyond the PTX memory model is that kernels' ends order stores for peers as they do for the device
//     itself. With FENCE (AllReduce's fence=True) the model gives the order: each thread has a fence.acq_rel.sys before its first
//     push and one after its last arrival. r's emptying comes before r's first fence of call e + 1 (the stream's order), and its
//     pushes after it; q saw one of them before its own second fence, and call e + 2 comes after that (the stream's order again):
//     a release and an acquire of system scope between the emptying and q's write. Not the default: a fence before each push cost
//     2.8 us of 5.4 on two H200, and a million calls under stress came out right with and without it.
//  4. Calls are the same in the same order on all ranks: XLA's schedule of one program, and one stream a device, give that.
//     It is why command buffers that run concurrently are refused (choice.py).
//
// A peer that never comes: after TIMEOUT_NS the kernel traps, which JAX raises as an error; no number is returned.
//
// What the time goes to, and so what the order of statements is about: each step of the chain addresses -> control -> push ->
// arrival takes the better part of a microsecond where the caches are cold, and so does whatever else is loaded only when it is
// needed. So all loads are issued before the first is waited for, emptying fills the time in which data is on its way, and the
// code is short: in a step that streams weights, a kernel finds neither data nor code in the caches.

typedef unsigned int u32;
typedef unsigned long long u64;

#define EMPTY 0xFFFFFFF1u
#define NAN_INSTEAD 0xFFFFFFF0u
#define SLOTS 3
#define CONTROL 4  // words of a block's control: slot of the next call, then the vectors written in each slot
#define SPINS_BETWEEN_LOOKS 512

#if defined(FENCE)
#define ORDERED asm volatile("fence.acq_rel.sys;" ::: "memory")
#else
#define ORDERED
#endif

struct __align__(16) Vector { u32 word[4]; };

// A 4-byte word of a message and the float32 numbers that it holds.
#if defined(ELEMENT_F32)
#define IN_WORD 1
__device__ __forceinline__ void widen(u32 word, float* to) { *to = __uint_as_float(word); }
__device__ __forceinline__ u32 rounded_word(const float* from) { return __float_as_uint(*from); }
#elif defined(ELEMENT_BF16)
#define IN_WORD 2
__device__ __forceinline__ void widen(u32 word, float* to) {
  to[0] = __uint_as_float(word << 16);
  to[1] = __uint_as_float(word & 0xFFFF0000u);
}
__device__ __forceinline__ u32 rounded_word(const float* from) {
  u32 word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(from[1]), "f"(from[0]));
  return word;
}
#else
#define IN_WORD 2
__device__ __forceinline__ void widen(u32 word, float* to) {
  asm("{.reg .f16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
      : "=f"(to[0]), "=f"(to[1]) : "r"(word));
}
__device__ __forceinline__ u32 rounded_word(const float* from) {
  u32 word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(from[1]), "f"(from[0]));
  return word;
}
#endif
#define ELEMENTS (4 * IN_WORD)

struct Floats { float of[ELEMENTS]; };

__device__ __forceinline__ Floats widened(const Vector& v) {
  Floats f;
#pragma unroll
  for (int i = 0; i < 4; ++i) widen(v.word[i], f.of + IN_WORD * i);
  return f;
}

__device__ __forceinline__ Vector rounded(const Floats& f) {
  Vector v;
#pragma unroll
  for (int i = 0; i < 4; ++i) v.word[i] = rounded_word(f.of + IN_WORD * i);
  return v;
}

__device__ __forceinline__ void add(Floats& sum, const Floats& more) {
#pragma unroll
  for (int i = 0; i < ELEMENTS; ++i) sum.of[i] += more.of[i];
}

// `v` with no word that looks like EMPTY. What a rank sends and what it adds itself are both this, so all ranks add the same bits.
__device__ __forceinline__ Vector sendable(Vector v) {
#pragma unroll
  for (int i = 0; i < 4; ++i) v.word[i] = v.word[i] == EMPTY ? NAN_INSTEAD : v.word[i];
  return v;
}

// A load that is issued where it is written, so that the loads of a call are on their way together before anything is waited for.
__device__ __forceinline__ Vector fetched(const Vector* from) {
  Vector v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "l"(from));
  return v;
}

__device__ __forceinline__ void store(Vector* to, const Vector& v) {
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.word[0]), "r"(v.word[1]),
               "r"(v.word[2]), "r"(v.word[3]) : "memory");
}

__device__ __forceinline__ u64 now() {
  u64 nanoseconds;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

__device__ __forceinline__ Vector look(const Vector* from) {
  Vector v;
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "l"(from) : "memory");
  return v;
}

__device__ __forceinline__ bool whole(const Vector& v) {
  return v.word[0] != EMPTY && v.word[1] != EMPTY && v.word[2] != EMPTY && v.word[3] != EMPTY;
}

// For how long to wait. Looks at the clock only now and then. Time that is up ends the kernel with an error, which JAX raises; in
// the probe (GIVE_UP), which compares the sums anyway, it only ends the waiting, since that error would be the process's last.
struct Patience {
  u32 spins = 0;
  u64 begin;

  __device__ __forceinline__ bool ends() {
    if (spins++ % SPINS_BETWEEN_LOOKS) return false;
    if (spins == 1) begin = now();
    else if (now() - begin > TIMEOUT_NS) {
#if defined(GIVE_UP)
      return true;
#else
      asm volatile("trap;");
#endif
    }
    return false;
  }
};

// One call, as a thread sees it: made before its first push, gone after its last arrival. `state`: addresses of the stagings, this
// rank's first and the others in the order of ranks after it, then this rank's number.
struct Call {
  u64 stagings[WORLD];
  u32 me, slot, before, used_before;
  u32* control;

  __device__ __forceinline__ Call(const u64* state) {
#pragma unroll
    for (int i = 0; i < WORLD; ++i) stagings[i] = state[i];
    me = (u32)state[8];
    control = (u32*)stagings[0] + CONTROL * blockIdx.x;
    const Vector mine = fetched((const Vector*)control);
    slot = mine.word[0];
    before = (slot + SLOTS - 1) % SLOTS;
    used_before = before == 0 ? mine.word[1] : before == 1 ? mine.word[2] : mine.word[3];
    if (threadIdx.x == 0) {  // both are read again in the next call, after weights have gone through the cache
      asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(state));
      asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(control));
    }
    ORDERED;
  }
  __device__ __forceinline__ ~Call() { ORDERED; }

  // Where rank `source` writes into the staging of the rank that comes `after` this one.
  __device__ __forceinline__ Vector* region(int after, u32 in_slot, u32 source) const {
    return (Vector*)(stagings[after] + 4ull * CONTROL * GRID) + (u64)(in_slot * WORLD + source) * REGION;
  }
  __device__ __forceinline__ Vector* outgoing(int after) const { return region(after, slot, me); }
  __device__ __forceinline__ const Vector* incoming(u32 source) const { return region(0, slot, source); }

  __device__ __forceinline__ void push(const Vector& v, u32 at) const {
    const Vector sent = sendable(v);
#pragma unroll
    for (int after = 1; after < WORLD; ++after) store(outgoing(after) + at, sent);
  }

  // Empties what the call before was sent, and makes this call the one before. `extent`: vectors that this one writes to a region.
  __device__ __forceinline__ void pass_on(u32 extent) const {
    const Vector empty = {{EMPTY, EMPTY, EMPTY, EMPTY}};
#pragma unroll 1  // one round or none, but for large messages
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < used_before; i += GRID * THREADS)
#pragma unroll
      for (int source = 0; source < WORLD; ++source)
        if (source != me) store(region(0, before, source) + i, empty);
    __syncthreads();  // all threads have read their control
    if (threadIdx.x == 0) {
      control[1 + slot] = extent;
      control[0] = (slot + 1) % SLOTS;
    }
  }

  // The sum of one vector over all ranks, in their order, so that every rank computes the same bits. `mine` is sendable.
  __device__ __forceinline__ Floats sum(const Vector& mine, u32 at) const {
    Vector part[WORLD];
    bool all;
    Patience patience;
#pragma unroll 1  // short code: a kernel that runs once in a while finds none of it in the caches
    do {
      all = true;
#pragma unroll
      for (int source = 0; source < WORLD; ++source) part[source] = source == me ? mine : look(incoming(source) + at);
#pragma unroll
      for (int source = 0; source < WORLD; ++source) all = all && whole(part[source]);
    } while (!all && !patience.ends());
    Floats total = widened(part[0]);
#pragma unroll
    for (int source = 1; source < WORLD; ++source) add(total, widened(part[source]));
    return total;
  }
};

#if defined(ONE_SHOT)  // VECTORS: of the message
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    jaxgpu_tune_all_reduce(const Vector* __restrict__ x, const u64* __restrict__ state, Vector* __restrict__ out) {
  const u32 first = blockIdx.x * THREADS + threadIdx.x;
  Vector mine = {};
  if (first < VECTORS) mine = fetched(x + first);
  const Call call(state);
#pragma unroll 1
  for (u32 i = first; i < VECTORS; i += GRID * THREADS) call.push(i == first ? mine : fetched(x + i), i);
  call.pass_on(VECTORS);
#pragma unroll 1
  for (u32 i = first; i < VECTORS; i += GRID * THREADS)
    out[i] = rounded(call.sum(sendable(i == first ? mine : fetched(x + i)), i));
}
#endif

#if defined(TWO_SHOT)  // VECTORS: of the message; rank r sums CHUNK of them for all, from r * CHUNK on, the last rank what is left
#define CHUNK ((VECTORS + WORLD - 1) / WORLD)
static_assert(VECTORS > CHUNK * (WORLD - 1), "every rank has something to sum");

__device__ __forceinline__ u32 chunk_of(u32 rank) { return min(CHUNK, VECTORS - rank * CHUNK); }

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    jaxgpu_tune_all_reduce(const Vector* __restrict__ x, const u64* __restrict__ state, Vector* __restrict__ out) {
  const Call call(state);
  const u32 first = blockIdx.x * THREADS + threadIdx.x;
#pragma unroll
  for (int after = 1; after < WORLD; ++after) {
    const u32 owner = (call.me + after) % WORLD;
#pragma unroll 1
    for (u32 i = first; i < chunk_of(owner); i += GRID * THREADS)
      store(call.outgoing(after) + i, sendable(fetched(x + owner * CHUNK + i)));
  }
  call.pass_on(2 * CHUNK);
#pragma unroll 1
  for (u32 i = first; i < chunk_of(call.me); i += GRID * THREADS) {
    const Vector total = sendable(rounded(call.sum(sendable(fetched(x + call.me * CHUNK + i)), i)));
    call.push(total, CHUNK + i);
    out[call.me * CHUNK + i] = total;
  }
#pragma unroll
  for (int after = 1; after < WORLD; ++after) {
    const u32 owner = (call.me + after) % WORLD;
#pragma unroll 1
    for (u32 i = first; i < chunk_of(owner); i += GRID * THREADS) {
      Vector total;
      Patience patience;
#pragma unroll 1
      while (!whole(total = look(call.incoming(owner) + CHUNK + i)) && !patience.ends()) {}
      out[owner * CHUNK + i] = total;
    }
  }
}
#endif

#if defined(FUSED)  // ROWS; WIDTH: vectors of a row; EPS. A block does a row at a time, a thread every THREADS-th vector of it.
#define PARTS ((WIDTH + THREADS - 1) / THREADS)
#if defined(GAMMA_F32)
#define SCALES (ELEMENTS / 4)  // vectors of gamma beside a vector of a row
#else
#define SCALES 1
#endif

struct Part { Vector of[PARTS]; };

__device__ __forceinline__ Part fetched_row(const Vector* row) {
  Part part = {};
#pragma unroll
  for (int p = 0; p < PARTS; ++p)
    if (p * THREADS + threadIdx.x < WIDTH) part.of[p] = fetched(row + p * THREADS + threadIdx.x);
  return part;
}

__device__ __forceinline__ Floats scale_of(const Vector* scale) {
#if defined(GAMMA_F32)
  Floats f;
#pragma unroll
  for (int i = 0; i < ELEMENTS; ++i) f.of[i] = __uint_as_float(scale[i / 4].word[i % 4]);
  return f;
#else
  return widened(*scale);
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

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    jaxgpu_tune_add_rmsnorm(const Vector* __restrict__ x, const Vector* __restrict__ residual, const Vector* __restrict__ gamma,
                            const u64* __restrict__ state, Vector* __restrict__ h, Vector* __restrict__ y) {
  Part mine = {}, before = {};
  Vector scale[PARTS * SCALES] = {};
  if (blockIdx.x < ROWS) {
    mine = fetched_row(x + blockIdx.x * WIDTH);
    before = fetched_row(residual + blockIdx.x * WIDTH);
#pragma unroll
    for (int s = 0; s < PARTS * SCALES; ++s) {
      const u32 i = (s / SCALES) * THREADS + threadIdx.x;
      if (i < WIDTH) scale[s] = fetched(gamma + i * SCALES + s % SCALES);
    }
  }
  const Call call(state);
#pragma unroll 1
  for (u32 row = blockIdx.x; row < ROWS; row += GRID) {
    const Part sent = row == blockIdx.x ? mine : fetched_row(x + row * WIDTH);
#pragma unroll
    for (int p = 0; p < PARTS; ++p)
      if (p * THREADS + threadIdx.x < WIDTH) call.push(sent.of[p], row * WIDTH + p * THREADS + threadIdx.x);
  }
  call.pass_on(ROWS * WIDTH);
#pragma unroll 1
  for (u32 row = blockIdx.x; row < ROWS; row += GRID) {
    if (row != blockIdx.x) {
      mine = fetched_row(x + row * WIDTH);
      before = fetched_row(residual + row * WIDTH);
    }
    Floats sums[PARTS];
    float squares = 0;
#pragma unroll
    for (int p = 0; p < PARTS; ++p) {
      const u32 i = p * THREADS + threadIdx.x;
      if (i >= WIDTH) break;
      sums[p] = call.sum(sendable(mine.of[p]), row * WIDTH + i);
      add(sums[p], widened(before.of[p]));
#pragma unroll
      for (int e = 0; e < ELEMENTS; ++e) squares += sums[p].of[e] * sums[p].of[e];
      h[row * WIDTH + i] = rounded(sums[p]);
    }
    const float factor = rsqrtf(over_block(squares) / (WIDTH * ELEMENTS) + EPS);
#pragma unroll
    for (int p = 0; p < PARTS; ++p) {
      const u32 i = p * THREADS + threadIdx.x;
      if (i >= WIDTH) break;
      Floats normed = scale_of(scale + p * SCALES);
#pragma unroll
      for (int e = 0; e < ELEMENTS; ++e) normed.of[e] *= sums[p].of[e] * factor;
      y[row * WIDTH + i] = rounded(normed);
    }
  }
}
#endif
