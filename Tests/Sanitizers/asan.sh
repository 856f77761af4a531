# shellcheck shell=bash
# Sourced by Tests/run: unit tests and the built programs under the address sanitizer.

# Leaks are left out: the Swift runtime keeps what it has made for its types until the process ends.
asan_options="detect_leaks=0 exitcode=67"

if built 'for the address sanitizer' --build-tests "${asan[@]}"; then
    sanitized=$(swift build "${asan[@]}" --show-bin-path)
    export ASAN_OPTIONS=$asan_options
    # What needs Apache Kafka goes through the same code as what needs the embedded broker, and waits for minutes.
    # So many simulated histories go through all of the code; all of them, and mutants of the rules, are judged by the unit
    # tests.
    export LIVEGATE_SIMULATION_HISTORIES=5000 LIVEGATE_SIMULATION_DEPTH=4 LIVEGATE_ARCHIVE_HISTORIES=200
    # The sanitizer brings an allocator of its own, in which allocations are not counted.
    swift_tests asan-unit "${asan[@]}" \
        --skip '^TidyTests\.|AgainstApacheKafka|^SimulationTests\..*Mutants|^LiveUpdatesTests\.RecordCostTests|^ArchiveTests\.ArchiveCostTests|'"$sdk"
    # shellcheck disable=SC2154
    swift_tests asan-unit-sdk "${asan[@]}" --filter "$sdk"
    unset LIVEGATE_SIMULATION_HISTORIES LIVEGATE_SIMULATION_DEPTH LIVEGATE_ARCHIVE_HISTORIES
    export ASAN_OPTIONS="$asan_options log_path=$results/asan-report"
    sanitized_tests address asan "$sanitized"
    unset ASAN_OPTIONS
    no_reports 'address sanitizer' "$results"/asan-report.*
fi
