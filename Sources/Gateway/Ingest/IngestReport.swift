import Kafka
import KafkaLogs
import LiveUpdates

/// What ingest counts and holds at one moment, for metrics and administration.
struct IngestReport: Sendable {
    /// In the order of their numbers.
    let topics: [String]
    let counters: IngestCounters
    let epochChanges: UInt64
    var recordsBelow = RecordsBelow()
    /// Accounts with a connection or a wait.
    let accounts: Int
    let size: HistorySize
    let evictions: HistoryEvictions
    let partitions: Int
    /// Nil until the cluster is known.
    let cluster: String?
    let epoch: UInt32?
    /// `host:port`, in the order of their ids.
    let brokers: [String]
    let reachesBroker: Bool
}

/// An account and how many follow it.
struct AccountConnections: Sendable {
    let account: Account
    let connections: Int
}

/// Questions of the administration. The time of an answer does not depend on how much a node holds: a caller that wants all of
/// something asks for one slice after the other.
extension IngestRequests {
    /// Partitions, or slots of accounts, of one slice: less than a millisecond.
    static let reportSlice = 1_024

    /// Nil before ingest is open, and after it was closed.
    var report: IngestReport? {
        guard let ingest, let source else { return nil }
        let consumer = source.consumer
        return IngestReport(
            topics: consumer.topics, counters: ingest.counters, epochChanges: ingest.epochChanges,
            recordsBelow: consumer.tracker.recordsBelow,
            accounts: ingest.subscriptions.accounts, size: ingest.history.size, evictions: ingest.history.evictions,
            partitions: consumer.tracker.partitionCount, cluster: consumer.tracker.clusterID,
            epoch: ingest.history.epoch?.number,
            brokers: consumer.tracker.brokers.sorted { $0.key < $1.key }.map(\.value),
            reachesBroker: consumer.unreachableSince == nil)
    }

    /// A slice of the partitions, from the one with this number in their order on; empty behind the last. The order rises with
    /// each answer, so that a caller with two questions at once knows the newer answer.
    func partitions(from first: Int) -> (states: [PartitionState], order: UInt64) {
        slices += 1
        return (source?.consumer.tracker.partitionStates(first..<(first + Self.reportSlice)) ?? [], slices)
    }

    /// A slice of the accounts with followers, and where the next one begins; nil when there is none.
    func accounts(fromSlot first: Int) -> (accounts: [AccountConnections], next: Int?) {
        guard let ingest else { return ([], nil) }
        let end = min(first + Self.reportSlice, ingest.subscriptions.slots)
        var found: [AccountConnections] = []
        for slot in first..<max(first, end) {
            guard let entry = ingest.subscriptions[slot] else { continue }
            found.append(AccountConnections(account: entry.account, connections: entry.connections))
        }
        return (found, end < ingest.subscriptions.slots ? end : nil)
    }

    /// What is known of one account; nil where it has no follower and nothing is kept.
    func account(_ account: Account) -> (connections: Int, summary: AccountSummary)? {
        guard let ingest, let summary = ingest.history.summary(of: account) else { return nil }
        let connections = ingest.history.number(of: account).flatMap { ingest.subscriptions[$0]?.connections } ?? 0
        guard connections > 0 || summary.events > 0 else { return nil }
        return (connections, summary)
    }
}
