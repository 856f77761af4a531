import LiveState
import Locks

/// Reports to the area whether a cursor is held: in order, and before any request with that cursor. A stream of views would not
/// be enough: a slow reader would miss that one cursor replaced another.
extension LiveMachine {
    /// Notes how an input changed the cursor held.
    func noteFinger(_ effects: [UpdateMachine.Effect], _ state: UpdateMachine.State) {
        for effect in effects {
            switch effect {
            case .requestFinger: noteFinger(isHeld: false)
            // A fresh cursor has arrived. Results of requests under the cursor before do not belong to it.
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
        // Held and lost alternate: of the news not reported yet, a pair before another news item changes nothing.
        let held = fingerNews.indices.filter { fingerNews[$0] != .restore }
        if held.count > 2 { for index in [held[1], held[0]] { fingerNews.remove(at: index) } }
        reportFinger()
    }

    /// The store was read: shows its lists, as current or old according to the cursor held at that moment.
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

/// A running report to an area. A task that waits for its end can be cancelled, because an app's function may never return.
final class Telling: Sendable {
    private struct State {
        var isOver = false
        var lastWaiting = 0
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
    }

    private let state = Lock(State())

    /// Waits until all news is reported.
    ///
    /// - Throws: `CancellationError`, at once, if the task is cancelled.
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

    /// All news is reported.
    func end() {
        let waiting = state.withLock { state in
            defer { state = State(isOver: true) }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// The news for an area, in order.
enum FingerNews: Equatable {
    case held(Bool)
    /// Show the stored lists.
    case restore
}
