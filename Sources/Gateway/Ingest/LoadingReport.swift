import Kafka
import Logging

/// Tells how far the window is loaded: a line now and then, and the words of `/readyz`.
struct LoadingReport {
    /// An operator who watches a start wants to see it move.
    static let lineIntervalMilliseconds: UInt64 = 2_000

    private let logger: Logger
    private var nextLine: UInt64 = 0
    /// What is missing, in one sentence.
    private(set) var text = "the window is not loaded yet"

    init(logger: Logger) { self.logger = logger }

    /// Takes what the consumer says; true when all is loaded. `now` is monotonic, in milliseconds.
    mutating func take(_ progress: LoadingProgress, now: UInt64) -> Bool {
        guard !progress.isLoaded else { return true }
        let seconds = progress.secondsLeft.map { ", \($0) seconds" } ?? ""
        text = "loading the window: \(progress.offsetsLeft) records\(seconds) left"
        if now >= nextLine {
            nextLine = now + Self.lineIntervalMilliseconds
            logger.notice(
                "loading the window",
                [
                    .records: .number(Int(progress.offsetsRead)), .left: .number(Int(progress.offsetsLeft)),
                    .seconds: progress.secondsLeft.map { .number(Int($0)) } ?? .absent,
                ])
        }
        return false
    }
}
