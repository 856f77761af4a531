import LiveState
import Locks

/// One gate for all requests to an API. While the API has trouble, the callers wait here (``APIGate`` decides).
///
/// A client has one, ``LiveClient/gate``. Its machines use it by themselves; screens and actions receive it:
///
///     let screens = LiveScreens(api, gate: client.gate)
public final class LiveGate: Sendable {
    private struct State {
        var machine: APIGate
        var last = 0
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
        var timer: Task<Void, Never>?
        var lastError: AppFailure?
    }

    private let state: Lock<State>
    private let now: @Sendable () -> Milliseconds
    private let sleep: @Sendable (Milliseconds) async throws -> Void
    private let onError: OnError?

    /// Makes an open gate, for another API than that of a client.
    ///
    /// - Parameter onError: receives what the app's functions throw behind this gate. If nil, the gate prints a line once for
    ///   each function and error, unless the error is one of an API's answers.
    public convenience init(onError: (@Sendable (AppFailure) -> Void)? = nil) {
        let clock = ContinuousClock()
        let start = clock.now
        self.init(
            now: { Milliseconds((clock.now - start) / .milliseconds(1)) },
            sleep: { try await clock.sleep(for: .milliseconds($0)) }, onError: onError)
    }

    init(
        seed: UInt32 = .random(in: 0 ... .max), now: @escaping @Sendable () -> Milliseconds,
        sleep: @escaping @Sendable (Milliseconds) async throws -> Void, onError: OnError? = nil
    ) {
        var settings = APIGate.Settings()
        settings.seed = seed
        state = Lock(State(machine: APIGate(settings)))
        self.now = now
        self.sleep = sleep
        self.onError = onError
    }

    deinit { state.withLock { $0.timer?.cancel() } }

    /// Whether the gate lets requests pass.
    public var view: APIGate.View { state.withLock { $0.machine.view } }

    /// The last error of an app's function behind this gate; nil if there was none.
    public var lastError: AppFailure? { state.withLock { $0.lastError } }

    /// A person wants to see everything again: one request tries the API now, even if the API asked the client to wait.
    public func refresh() { handle(.refresh) }

    /// The network is available again: requests that waited for it need not wait any more.
    public func networkIsBack() { handle(.network) }

    /// Makes a request when the gate lets it pass, and reports its result to the gate.
    ///
    /// - Parameters:
    ///   - call: which function of the app is called, and for what. If only this call fails, other callers do not wait for it.
    ///   - trouble: the API's trouble that the answer shows; nil if nothing is wrong.
    /// - Throws: what `request` throws; `CancellationError` if the task is cancelled while it waits.
    func run<Value: Sendable>(
        _ app: AppFailure.Call? = nil, trouble: @Sendable (Value) -> RequestError? = { _ in nil },
        _ request: @Sendable () async throws -> Value
    ) async throws -> Value {
        let number = try await enter(app?.subject)
        let call = GatedCall { self.handle(.left(number: number)) }
        do {
            let value = try await GatedCall.$current.withValue(call) { try await request() }
            report(number, trouble(value))
            return value
        } catch let error as CancellationError {
            handle(.left(number: number))
            throw error
        } catch {
            if !call.isGivenBack { note(app, error) }
            report(number, error)
            throw error
        }
    }

    private func note(_ app: AppFailure.Call?, _ error: any Error) {
        guard let app, let failure = AppFailure(app, error) else { return }
        state.withLock { $0.lastError = failure }
        failure.report(to: onError)
    }

    private func report(_ number: Int, _ error: (any Error)?) {
        if let error, case .retry(let after) = RequestFailure(error) {
            handle(.failed(number: number, after: after))
        } else {
            handle(.answered(number: number))
        }
    }

    /// Waits until a request may be made, and returns its number.
    private func enter(_ subject: String?) async throws -> Int {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { $0.waiting[number] = continuation }
                handle(.ask(number: number, subject: subject))
                // The task was cancelled before it waited.
                if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            leave(number)
        }
        return number
    }

    /// Ends the wait of a request. One that the gate let pass meanwhile finds its task cancelled.
    private func leave(_ number: Int) {
        guard let waiting = state.withLock({ $0.waiting.removeValue(forKey: number) }) else { return }
        handle(.left(number: number))
        waiting.resume(throwing: CancellationError())
    }

    private func handle(_ input: APIGate.Input) {
        var begun: [CheckedContinuation<Void, any Error>] = []
        var refused: [CheckedContinuation<Void, any Error>] = []
        state.withLock { state in
            for effect in state.machine.handle(input, at: now()) {
                switch effect {
                case .begin(let number):
                    if let waiting = state.waiting.removeValue(forKey: number) { begun.append(waiting) }
                case .refuse(let number):
                    if let waiting = state.waiting.removeValue(forKey: number) { refused.append(waiting) }
                }
            }
            state.timer?.cancel()
            state.timer = state.machine.wakeAt.map { due in wake(in: max(due - now(), 0)) }
        }
        for waiting in refused { waiting.resume(throwing: RequestError(status: nil)) }
        for waiting in begun { waiting.resume() }
    }

    private func wake(in wait: Milliseconds) -> Task<Void, Never> {
        Task { [weak self, sleep] in
            guard (try? await sleep(wait)) != nil, !Task.isCancelled else { return }
            self?.handle(.wake)
        }
    }
}

/// A request that has passed a gate. If it then asks through another queue that uses the gate too, it gives its turn back.
final class GatedCall: Sendable {
    /// The call that this task belongs to.
    @TaskLocal static var current: GatedCall?

    private let leave: @Sendable () -> Void
    private let hasLeft = Lock(false)

    init(_ leave: @escaping @Sendable () -> Void) { self.leave = leave }

    /// Whether the turn was given back. The result of the request then shows nothing about the API.
    var isGivenBack: Bool { hasLeft.withLock { $0 } }

    /// Gives the turn back, once.
    func giveBack() {
        let isFirst = hasLeft.withLock { hasLeft in
            defer { hasLeft = true }
            return !hasLeft
        }
        if isFirst { leave() }
    }
}
