import Kafka
import KafkaLogs
import LiveUpdates
import Logging
import Options
import Reactor

/// Whether the node is ready, whether answers flow, whether librdkafka has given up, as refreshes and records show it. Changes
/// are reported to those that need them.
///
/// Confined to the ingest loop.
final class SourceStatus {
    /// The sentence, with the reason that the log has.
    static func unreachable(_ reason: String?) -> String {
        "no Kafka broker can be reached" + (reason.map { ": \($0.printable)" } ?? "")
    }

    private let consumer: Consumer
    private let ingest: Ingest
    private let readiness: NodeReadiness
    private let logger: Logger
    /// Called once, when every partition has answered and the window is loaded.
    private let ready: () -> Void
    /// Called once, when librdkafka has given up for good.
    private let failed: (String) -> Void
    private(set) var hasFailed = false
    /// False while records wait because a loop owes too much: that stalls nothing.
    var isReading = true
    private var loading: LoadingReport
    private var reportedState: LiveUpdates.SourceState?

    init(
        _ consumer: Consumer, ingest: Ingest, readiness: NodeReadiness, logger: Logger, ready: @escaping () -> Void,
        failed: @escaping (String) -> Void
    ) {
        self.consumer = consumer
        self.ingest = ingest
        self.readiness = readiness
        self.logger = logger
        self.ready = ready
        self.failed = failed
        loading = LoadingReport(logger: logger)
    }

    /// To be called every half a second or so. `now` is monotonic, in milliseconds.
    func check(now: UInt64) {
        if readiness.hasBeenReady { return reportState() }
        // A partition whose records wait because of us is not stalled.
        if !isReading { _ = consumer.sourceState(isReading: false) }
        update(now: now)
    }

    /// Records may be what the node waited for.
    func recordsCame(now: UInt64) {
        if !readiness.hasBeenReady, consumer.tracker.isLoaded { update(now: now) }
    }

    /// A metadata refresh is over, whatever it reported.
    func refreshEnded(now: UInt64) {
        update(now: now)
    }

    private func update(now: UInt64) {
        if let reason = consumer.fatalError {
            guard !hasFailed else { return }
            hasFailed = true
            return failed(reason)
        }
        readiness.noteBroker(isReached: consumer.unreachableSince == nil)
        let state = consumer.tracker.readiness
        guard let missing = consumer.missing(state) else {
            if consumer.unreachableSince != nil {
                readiness.lose(Self.unreachable(consumer.unreachableReason), now: now)
            } else if !isLoaded(now: now) {
                readiness.wait(for: loading.text)
            } else if readiness.becomeReady() {
                logger.notice("ready", [.partitions: .number(consumer.tracker.partitionCount)])
                ready()
            }
            return
        }
        // What is unknown does not count as missing while no broker answers.
        let why = consumer.unreachableSince == nil ? missing : Self.unreachable(consumer.unreachableReason)
        if readiness.hasBeenReady { readiness.lose(why, now: now) } else { readiness.wait(for: why) }
    }

    private func isLoaded(now: UInt64) -> Bool {
        if readiness.hasBeenReady { return true }
        return loading.update(consumer.tracker.loading(wall: WallClock.milliseconds), now: now)
    }

    private func reportState() {
        let state: LiveUpdates.SourceState =
            switch consumer.sourceState(isReading: isReading) {
            case .live(let since): .live(since: since)
            case .stalled(let since): .stalled(since: since)
            }
        readiness.warn(.broker, state.isStalled ? stalledPartitions : nil)
        // Clients are notified that the source is live only after a notice that it is stalled.
        guard state != reportedState, reportedState != nil || state.isStalled else { return }
        reportedState = state
        if state.isStalled {
            let stalled = consumer.stalledPartitions
            logger.warning(
                "a partition does not answer or does not advance: clients are notified that the source is stalled",
                [
                    .topic: .text(stalled?.topic ?? ""), .partition: .number(Int(stalled?.partition ?? -1)),
                    .partitions: .number(stalled?.count ?? 0),
                    .reason: stalled?.isHeld == true
                        ? "an open transaction blocks the records after it" : .absent,
                    .advice: "/admin/kafka lists the partitions and their leaders; the Kafka team has to act",
                ])
        } else {
            logger.notice("all partitions answer again: clients are notified that the source is live")
        }
        ingest.notify(state)
    }

    private var stalledPartitions: String {
        guard let (topic, partition, count, isHeld) = consumer.stalledPartitions else {
            return "a partition does not advance"
        }
        let others = count > 1 ? " (and \(count - 1) more)" : ""
        if isHeld {
            return
                "partition \(partition) of the topic \(topic)\(others) does not advance: an open transaction blocks the "
                + "records after it"
        }
        return "partition \(partition) of the topic \(topic)\(others) does not answer or does not advance"
    }
}

@available(*, unavailable)
extension SourceStatus: Sendable {}

extension Consumer {
    /// What is missing besides the window's records, in one sentence; nil when nothing is.
    func missing(_ state: KafkaLogs.Readiness) -> String? {
        if let topic = state.topicsForbidden.first { return "no right to read the topic \(topic)" }
        if let topic = state.topicsMissing.first { return "the topic \(topic) does not exist or is not known yet" }
        if let partition = state.partitionUnanswered {
            let topic = tracker.topicName(Int(partition.topic))
            return "partition \(partition.number) of the topic \(topic) has not answered a fetch"
        }
        return nil
    }
}

/// How far the window is loaded: a line now and then, and the words of `/readyz`.
private struct LoadingReport {
    /// An operator who watches a start wants to see progress.
    static let lineIntervalMilliseconds: UInt64 = 2_000

    private let logger: Logger
    private var nextLine: UInt64 = 0
    /// What is missing, in one sentence.
    private(set) var text = "the window is not loaded yet"

    init(logger: Logger) { self.logger = logger }

    /// True when all is loaded. `now` is monotonic, in milliseconds.
    mutating func update(_ progress: LoadingProgress, now: UInt64) -> Bool {
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
