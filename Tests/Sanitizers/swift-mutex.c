// Tells the thread sanitizer what Swift's Mutex does.
//
// A Mutex that nobody else wants is locked and unlocked by atomics that the compiler puts into the program, and the
// sanitizer sees them. When two threads meet, the runtime library does it, which is not instrumented: the sanitizer then
// takes what the lock protects for a race. This library is loaded before it (LD_PRELOAD), makes the same calls and says
// what they mean. In a program without the sanitizer it does nothing.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT _Bool try_lock_slow(SELF) __asm__(TRY_LOCK_SLOW);
SWIFT void unlock_slow(SELF) __asm__(UNLOCK_SLOW);

SWIFT void lock_slow(uint32_t thread, SELF) {
    SWIFT void (*next)(uint32_t, SELF) = (SWIFT void (*)(uint32_t, SELF))dlsym(RTLD_NEXT, LOCK_SLOW);
    next(thread, self);
    if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT _Bool try_lock_slow(SELF) {
    SWIFT _Bool (*next)(SELF) = (SWIFT _Bool (*)(SELF))dlsym(RTLD_NEXT, TRY_LOCK_SLOW);
    _Bool locked = next(self);
    if (locked && __tsan_acquire) __tsan_acquire(self);
    return locked;
}

SWIFT void unlock_slow(SELF) {
    SWIFT void (*next)(SELF) = (SWIFT void (*)(SELF))dlsym(RTLD_NEXT, UNLOCK_SLOW);
    if (__tsan_release) __tsan_release(self);
    next(self);
}
