// Launches a kernel that was compiled at run time, as an XLA FFI handler: what XLA's own call for PTX does, with the same
// attributes, on the public API alone. Built at first use by a C++ compiler of the host (ffi.py). No header of CUDA is included:
// the driver's functions are those of the libcuda that the process has loaded, and none where there is no driver.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

#define DRIVER __attribute__((weak)) int
extern "C" {
DRIVER cuGetErrorName(int status, const char** name);
DRIVER cuDeviceGetCount(int* count);
DRIVER cuDeviceGet(int* device, int ordinal);
DRIVER cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active);
DRIVER cuDevicePrimaryCtxRetain(void** context, int device);
DRIVER cuCtxPushCurrent_v2(void* context);
DRIVER cuCtxPopCurrent_v2(void** context);
DRIVER cuCtxGetCurrent(void** context);
DRIVER cuModuleLoadData(void** module, const void* image);
DRIVER cuModuleGetFunction(void** function, void* module, const char* name);
DRIVER cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                      unsigned block_z, unsigned shared_bytes, void* stream, void** parameters, void** extra);
}

static ffi::Error Told(int status, const char* call) {
  const char* name = nullptr;
  if (status) cuGetErrorName(status, &name);
  return status ? ffi::Error::Internal(std::string(call) + ": " + (name ? name : "unknown error")) : ffi::Error::Success();
}

static std::string_view Text(const ffi::Dictionary& attributes, const char* name) {
  return attributes.get<std::string_view>(name).value();
}

// The kernel in the current context; loaded once, as long as the process lives.
static ffi::Error Function(const ffi::Dictionary& attributes, void** function) {
  static std::mutex one_at_a_time;
  static std::map<void*, std::map<std::string, void*, std::less<>>> functions;  // by context and code
  void *context = nullptr, *module = nullptr;
  if (ffi::Error error = Told(cuCtxGetCurrent(&context), "cuCtxGetCurrent"); error.failure()) return error;
  const std::lock_guard<std::mutex> guard(one_at_a_time);
  auto& loaded = functions[context];
  const std::string_view code = Text(attributes, "kernel_data");
  if (const auto found = loaded.find(code); found != loaded.end()) {
    *function = found->second;
    return ffi::Error::Success();
  }
  const std::string image(code), name(Text(attributes, "name"));
  if (ffi::Error error = Told(cuModuleLoadData(&module, image.c_str()), "cuModuleLoadData"); error.failure()) return error;
  ffi::Error error = Told(cuModuleGetFunction(function, module, name.c_str()), "cuModuleGetFunction");
  if (error.success()) loaded.emplace(image, *function);
  return error;
}

// When a program is made: loads its kernels on every GPU that is in use, since loading at the first call could wait for a peer's
// kernel that waits for this one. What fails here, or runs on a GPU that is not there yet, is tried again by the call.
static ffi::Error Load(ffi::Dictionary attributes) {
  int count = 0;
  if (!cuDeviceGetCount || cuDeviceGetCount(&count)) return ffi::Error::Success();
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0, active = 0;
    unsigned flags = 0;
    void *context = nullptr, *function = nullptr;
    if (cuDeviceGet(&device, ordinal) || cuDevicePrimaryCtxGetState(device, &flags, &active) || !active) continue;
    if (cuDevicePrimaryCtxRetain(&context, device) || cuCtxPushCurrent_v2(context)) continue;
    (void)Function(attributes, &function);
    cuCtxPopCurrent_v2(&context);
  }
  return ffi::Error::Success();
}

static ffi::Error Launch(void* stream, ffi::RemainingArgs operands, ffi::RemainingRets results, ffi::Dictionary attributes) {
  void* function = nullptr;
  if (!cuLaunchKernel) return ffi::Error::Internal("no CUDA driver");
  if (ffi::Error error = Function(attributes, &function); error.failure()) return error;
  std::vector<void*> addresses, parameters;
  for (size_t i = 0; i < operands.size(); ++i) addresses.push_back(operands.get<ffi::AnyBuffer>(i)->untyped_data());
  for (size_t i = 0; i < results.size(); ++i) addresses.push_back((*results.get<ffi::AnyBuffer>(i))->untyped_data());
  for (void*& address : addresses) parameters.push_back(&address);
  const auto of = [&](const char* name) { return static_cast<unsigned>(attributes.get<int32_t>(name).value()); };
  return Told(cuLaunchKernel(function, of("grid_x"), of("grid_y"), of("grid_z"), of("block_x"), of("block_y"), of("block_z"),
                             of("shared_mem_bytes"), stream, parameters.data(), nullptr),
              "cuLaunchKernel");
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(instantiate, Load, ffi::Ffi::BindInstantiate().Attrs());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    execute, Launch, ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().RemainingArgs().RemainingRets().Attrs(),
    {ffi::Traits::kCmdBufferCompatible});
