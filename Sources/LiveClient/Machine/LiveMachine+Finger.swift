import LiveState
import Locks

/// What the area is told of the finger: in order, and before anything that is asked with it. Views would not do: whoever reads
/// them slowly misses that one finger took the place of another.
extension LiveMachine {
    /// Notes what an input has done to the finger.
    func noteFinger(_ effects: [UpdateMachine.Effect], _ state: UpdateMachine.State) {
        for effect in effects {
            switch effect {
            case .requestFinger: noteFinger(isHeld: false)
            // A fresh one has come. What was asked with the one before is not as this one says.
            case .requestSnapshot:
                noteFinger(isHeld: false)
                noteFinger(isHeld: true)
            default: break
            }
        }
        switch state {
        case .stale, .registerFailed: noteFinger(isHeld: false)
        case .live, .pollFailed, .idle: noteFinger(isHeld: true)
        case .notLoaded, .registering: break
        }
    }

    private func noteFinger(isHeld: Bool) {
        guard isHeld != isFingerHeld else { return }
        isFingerHeld = isHeld
        fingerNews.append(.held(isHeld))
        // It alternates: of what was not told yet, a pair in front of another changes nothing.
        let held = fingerNews.indices.filter { fingerNews[$0] != .restore }
        if held.count > 2 { for index in [held[1], held[0]] { fingerNews.remove(at: index) } }
        reportFinger()
    }

    /// The store was read: its lists are shown, as good as the finger that is held then.
    func restoreLists() {
        guard area.lists != nil else { return }
        fingerNews.append(.restore)
        reportFinger()
    }

    private func reportFinger() {
        guard fingerTelling == nil else { return }
        let telling = Telling()
        fingerTelling = telling
        Task { [weak self, area] in
            while let news = await self?.nextFingerNews() {
                switch news {
                case .held(let isHeld): await area.fingerChanged(isHeld: isHeld)
                case .restore: await area.lists?.restore()
                }
            }
            telling.end()
        }
    }

    private func nextFingerNews() -> FingerNews? {
        guard !fingerNews.isEmpty else {
            fingerTelling = nil
            return nil
        }
        return fingerNews.removeFirst()
    }
}

/// That an area is being told something. Whoever has to wait for its end can be cancelled: an app's function may never return.
final class Telling: Sendable {
    private struct State {
        var isOver = false
        var lastWaiting = 0
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
    }

    private let state = Lock(State())

    /// Waits until all is told.
    ///
    /// - Throws: `CancellationError`, at once, where the task is cancelled.
    func wait() async throws {
        let number = state.withLock { state in
            state.lastWaiting += 1
            return state.lastWaiting
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    if !state.isOver && !Task.isCancelled { state.waiting[number] = continuation }
                    return state.isOver || Task.isCancelled
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(throwing: CancellationError())
        }
        try Task.checkCancellation()
    }

    /// All is told.
    func end() {
        let waiting = state.withLock { state in
            defer { state = State(isOver: true) }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// What an area is told, in order.
enum FingerNews: Equatable {
    case held(Bool)
    /// Show what was kept of lists.
    case restore
}
