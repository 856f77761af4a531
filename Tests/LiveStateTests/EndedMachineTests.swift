// Tests: UpdateMachine+Following.swift
import LiveState
import Testing

/// A machine whose connection ends for good, in each of its states.
struct EndedMachineTests {
    private typealias Input = UpdateMachine.Input

    /// What brings a machine there, and where it then stands without a connection.
    private static let before: [(name: String, inputs: [Input], state: UpdateMachine.State)] = {
        let loaded: [Input] = [.start, .loaded(stored: nil)]
        let stored: [Input] = [.start, .loaded(stored: UpdateMetadata(finger: "F", lastSuccess: 0))]
        let snapshot = loaded + [.finger(number: 1, at: "F")]
        return [
            ("the store is being read", [.start], .notLoaded),
            ("a finger is asked for", loaded, .stale),
            ("a snapshot is under way", snapshot, .stale),
            ("a snapshot is being stored", snapshot + [.snapshot(number: 2)], .registering),
            (
                "a stream is open", stored + [.live(number: 1, at: "G")],
                .pollFailed(retryAt: 1_000, failures: 0, cause: .notAsked)
            ),
            (
                "a token is asked for", loaded + [.fingerFailed(number: 1, failure: .unauthorized), .tokenFailed],
                .stale
            ),
            ("it is in the background", stored + [.background], .idle(nextPoll: nil)),
        ]
    }()

    /// Whether the effect asks a server or the app's API for something.
    private static func asks(_ effect: UpdateMachine.Effect) -> Bool {
        switch effect {
        case .requestFinger, .requestSnapshot, .follow, .poll, .reload, .requestToken: true
        case .load, .cancel, .unfollow, .dropReloads, .commit: false
        }
    }

    @Test(arguments: before.indices)
    func `says why, asks for nothing any more, and has nothing to wait for but its age`(_ index: Int) {
        let (name, inputs, state) = Self.before[index]
        var settings = UpdateMachine.Settings()
        settings.pollInterval = 60_000
        var machine = UpdateMachine(settings)
        for input in inputs { _ = machine.handle(input, at: 0) }
        #expect(machine.view.end == nil)
        var effects = machine.handle(.ended(error: .revoked), at: 1_000)
        #expect(machine.view.end == .revoked && machine.view.state == state, "\(name)")
        #expect(machine.view.freshness == .refused(status: nil, code: nil), "\(name)")
        // What was under way ends, and what happens around it changes nothing.
        for input: Input in [
            .finger(number: 1, at: "F"), .snapshot(number: 2), .committed(number: 3), .committed(number: 2),
            .lost(number: 1, after: nil), .background, .wake, .foreground, .network(isSatisfied: false),
            .network(isSatisfied: true), .token(isValid: false), .token(isValid: true), .tokenFailed, .refresh,
            .loaded(stored: UpdateMetadata(finger: "F", lastSuccess: 0)),
        ] { effects += machine.handle(input, at: 2_000) }
        for minute in 1...60 { effects += machine.handle(.wake, at: Milliseconds(minute) * 60_000) }
        #expect(!effects.contains(where: Self.asks), "\(name): \(effects)")
        let expires: Milliseconds? = machine.view.metadata.finger == nil ? nil : settings.retention
        #expect(machine.wakeAt == nil || machine.wakeAt == expires, "\(name)")
        // The first word counts.
        _ = machine.handle(.ended(error: .stopped), at: 4_000_000)
        #expect(machine.view.end == .revoked)
    }
}
