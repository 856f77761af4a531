import LiveState

/// Whether what screens show is as the server has it: what a machine's sign covers besides the machine itself.
public struct ScreenCompleteness: Equatable, Sendable {
    /// All lists and details on the screens are.
    public var isComplete = true
    /// Some of it could not be fetched.
    public var hasFailed = false
    /// Some of it is being fetched.
    public var isLoading = false

    /// All of it is as the server has it.
    public init() {}
}

/// What shows things of a machine: ``LiveScreens`` are. The machine follows it (``LiveArea/onScreen``).
public protocol ShownThings: Sendable {
    /// How it is now.
    var lastCompleteness: ScreenCompleteness { get async }

    /// The same, and each that follows; for one reader, the machine.
    var completeness: AsyncStream<ScreenCompleteness> { get async }

    /// Somebody pulls the screen: what waits to be tried again is tried now.
    func retryNow() async
}

extension LiveScreens: ShownThings {
    /// Whether all lists and details on the screens are as the server has them, and each change of that; for one reader, the machine
    /// (``LiveArea/onScreen``).
    public var completeness: AsyncStream<ScreenCompleteness> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ScreenCompleteness.self, bufferingPolicy: .bufferingNewest(1))
        completenessFollower?.finish()
        completenessFollower = continuation
        continuation.yield(lastCompleteness)
        if isClosed { continuation.finish() }
        return stream
    }

    func tellCompleteness() {
        guard completenessFollower != nil else { return }
        var now = ScreenCompleteness()
        for shown in details.values where shown.absence == nil {
            if queue.knowledge(of: shown.thing, isWhole: true) != .known { now.isComplete = false }
            if shown.failure != nil { now.hasFailed = true }
        }
        for list in lists.values where list.isShown {
            let view = list.machine.view
            let isOld = view.items.contains {
                queue.knowledge(of: Thing(entity: list.entity, id: $0.id)) == .knownStale
            }
            if view.knowledge != .known || isOld { now.isComplete = false }
            if view.failures > 0 { now.hasFailed = true }
            if view.isLoading { now.isLoading = true }
        }
        if !queue.view.running.isEmpty { now.isLoading = true }
        guard now != lastCompleteness else { return }
        lastCompleteness = now
        completenessFollower?.yield(now)
    }
}
