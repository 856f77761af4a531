# shellcheck shell=bash
# Sourced by Tests/run: the built programs, driven end to end, under the thread sanitizer.
#
# In this toolchain a race on Dispatch queues inside a Swift Testing test goes unreported, so programs are driven, not
# unit tests; and the sanitizer has first to report a race that is planted in one of them.

# A client that librdkafka cannot destroy is let go of, with its thread: no race, and looked for elsewhere.
tsan_options="halt_on_error=0 exitcode=66 report_thread_leaks=0 suppressions=$root/Tests/Sanitizers/tsan.suppressions"

tsan_reports_planted_race() {
    local report status
    report=$("$1" 2>&1)
    status=$?
    [ $status = 66 ] && grep -Eq 'WARNING: ThreadSanitizer: .*race' <<<"$report" && return 0
    printf 'the planted race went unseen (status %d):\n%s\n' $status "$report"
    return 1
}
export -f tsan_reports_planted_race

# What the sanitizer would not see by itself. The compiler is the one beside swift: Debian's may be missing, and this one
# knows Swift's way of calling.
eye=$results/what-tsan-cannot-see.so
clang=$(dirname "$(readlink -f "$(command -v swift)")")/clang

if LIVEGATE_PLANTED_RACE=1 built 'for the thread sanitizer' "${tsan[@]}" &&
    check 'build what tells the thread sanitizer of threads and locks' \
        "$clang" -O1 -fPIC -shared -Wall -o "$eye" Tests/Sanitizers/swift-mutex.c Tests/Sanitizers/c11-threads.c -ldl; then
    sanitized=$(swift build "${tsan[@]}" --show-bin-path)
    export TSAN_OPTIONS=$tsan_options
    check 'the thread sanitizer sees a planted race' bash -c 'LD_PRELOAD=$2 tsan_reports_planted_race "$1"' - \
        "$sanitized/planted-race" "$eye"
    # Into files: programs of tests are often ended before they could tell by their status.
    export TSAN_OPTIONS="$tsan_options log_path=$results/tsan-report"
    LD_PRELOAD=$eye sanitized_tests thread tsan "$sanitized"
    unset TSAN_OPTIONS
    no_reports 'thread sanitizer' "$results"/tsan-report.*
fi
