# shellcheck shell=bash
# Sourced by Tests/run: the built programs, driven end to end, under the thread sanitizer.
#
# In this toolchain a race on Dispatch queues inside a Swift Testing test goes unreported, so programs are driven, not
# unit tests; and the sanitizer has first to report a race that is planted in one of them.

tsan_build() { LIVEGATE_PLANTED_RACE=1 swift build --sanitize=thread --scratch-path .build-tsan "$@"; }
export -f tsan_build
tsan_options="halt_on_error=0 exitcode=66 suppressions=$root/Tests/Sanitizers/tsan.suppressions"

tsan_reports_planted_race() {
    local report status
    report=$("$1" 2>&1)
    status=$?
    [ $status = 66 ] && grep -Eq 'WARNING: ThreadSanitizer: .*race' <<<"$report" && return 0
    printf 'the planted race went unseen (status %d):\n%s\n' $status "$report"
    return 1
}
export -f tsan_reports_planted_race

# The compiler is the one beside swift: Debian's may be missing, and this one knows Swift's way of calling.
mutex_library=$results/libswiftmutex.so
mutex_build() {
    "$(dirname "$(readlink -f "$(command -v swift)")")/clang" -O1 -fPIC -shared -o "$1" "$2" -ldl
}
export -f mutex_build

if check 'build for the thread sanitizer' bash -c tsan_build &&
    check 'build what tells the thread sanitizer of locks' \
        bash -c 'mutex_build "$@"' - "$mutex_library" "$root/Tests/Sanitizers/swift-mutex.c"; then
    sanitized=$(tsan_build --show-bin-path)
    export TSAN_OPTIONS=$tsan_options
    check 'the thread sanitizer sees a planted race' bash -c 'tsan_reports_planted_race "$1"' - "$sanitized/planted-race"
    # Into files: programs of tests are often ended before they could tell by their status.
    export TSAN_OPTIONS="$tsan_options log_path=$results/tsan-report"
    LD_PRELOAD=$mutex_library LIVEGATE_SANITIZER=thread python_tests tsan "$sanitized" -m 'not slow and not unsanitized'
    unset TSAN_OPTIONS
    no_reports 'thread sanitizer' "$results"/tsan-report.*
fi
