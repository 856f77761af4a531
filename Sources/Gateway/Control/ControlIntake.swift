import HTTP
import Kafka
import KafkaLogs
import LiveUpdates
import Logging
import Reactor
import Tokens

/// Handles what the control topic holds: records that revoke or erase, and losses, which count for all tokens
/// (<doc:LostRevocations>). It asks no broker, and knows no loop; confined to that of its ``ControlSource``.
final class ControlIntake {
    /// Stands for all partitions, where the topic was recreated.
    private static let wholeTopic: Int32 = -1

    private let revocations: NodeRevocations
    /// How long after its time a record may be read again.
    private let retentionMilliseconds: Int64
    private let logger: Logger
    private let limiter = RateLimiter()
    /// Called for each record that erases; whether it is to be logged.
    private let erased: (Erasure, _ isNews: Bool) -> Void
    /// The topic was read as far as it counts at the start; later records are news.
    var isLoaded = false
    /// Something was revoked and the loops were not notified yet.
    private var owesNotice = false
    private var losses = ControlLosses()

    init(
        revocations: NodeRevocations, retentionMilliseconds: Int64, logger: Logger,
        erased: @escaping (Erasure, _ isNews: Bool) -> Void
    ) {
        self.revocations = revocations
        self.retentionMilliseconds = retentionMilliseconds
        self.logger = logger
        self.erased = erased
    }

    /// Whether something was revoked since it was asked last.
    func takeNotice() -> Bool { exchange(&owesNotice, with: false) }

    // MARK: - Records

    func take(_ record: borrowing Record, now: UInt64) {
        if !losses.isEmpty {
            let present = revocations.present
            revokeAllTokens(losses.end(record.partition, timestamp: record.timestamp, present: present))
        }
        do throws(ControlRecord.Problem) {
            switch try read(record) {
            case .revoke(let revocation):
                revoke(revocation, partition: record.partition, offset: record.offset, now: now)
            case .erase(let account, let moment):
                let erasure = Erasure(
                    account, stamped: moment, now: WallClock.milliseconds, retentionMilliseconds: retentionMilliseconds)
                erased(erasure, isLoaded)
            }
        } catch {
            revocations.countRejected()
            guard let passed = limiter.pass("\(error)", now: now) else { return }
            logger.warning(
                "a control record is ignored",
                [
                    .topic: .text(record.topic), .partition: .number(Int(record.partition)),
                    .offset: .number(Int(record.offset)), .reason: .text("\(error)"),
                    .advice: "write a valid record, or use livegate revoke and livegate erase",
                    .suppressed: passed.suppressed,
                ])
        }
    }

    private func read(_ record: borrowing Record) throws(ControlRecord.Problem) -> ControlRecord {
        // Kafka lets a record have 2 GiB: of one that is too large nothing is copied.
        guard record.valueByteCount <= ControlRecord.maximumBytes else { throw .tooLarge }
        var value: [UInt8]?
        _ = record.readValue { bytes in value = bytes.indices.map { bytes[$0] } }
        return try ControlRecord.read(value, timestamp: record.timestamp)
    }

    private func revoke(_ revocation: Revocation, partition: Int32, offset: Int64, now: UInt64) {
        guard revocations.add(revocation) else { return }
        owesNotice = true
        reportRoom(now)
        // A line for each account and person, but not for each token: those are many where all are revoked that sign out.
        let (cause, account, subject): (String, LogValue, LogValue) =
            switch revocation.target {
            case .account(let account): ("account \(account)", .text(account.text), .absent)
            case .subject(let account, let subject):
                ("subject \(subject.text) of \(account)", .text(account.text), .text(subject.text))
            case .token: ("token", .absent, .absent)
            }
        guard isLoaded, let passed = limiter.pass(cause, now: now) else { return }
        logger.notice(
            "revoked: connections with tokens from before it are closed",
            [
                .kind: .text(revocation.target.kind.rawValue), .account: account, .subject: subject,
                .partition: .number(partition), .offset: .number(offset), .suppressed: passed.suppressed,
            ])
    }

    private func reportRoom(_ now: UInt64) {
        switch revocations.room {
        case .enough: break
        case .nearlyNone:
            guard let passed = limiter.pass("nearly full", now: now) else { return }
            logger.warning(
                "over three quarters of the revocations that a node can remember are used; beyond it the oldest apply to all older tokens",
                [
                    .count: .number(revocations.count), .limit: .number(revocations.maximumEntries),
                    .advice: "revoke accounts instead of single tokens", .suppressed: passed.suppressed,
                ])
        case .none:
            guard let passed = limiter.pass("overfull", now: now) else { return }
            logger.error(
                "more revocations than a node can remember: the oldest apply to all older tokens",
                [
                    .limit: .number(revocations.maximumEntries),
                    .advice: "refused clients fetch a new token; revoke accounts instead of single tokens",
                    .suppressed: passed.suppressed,
                ])
        }
    }

    // MARK: - Losses

    /// What has become of the topic.
    func take(_ change: LogChange, of tracker: LogTracker, now: UInt64) {
        switch change {
        case .recordsLost(let partition, let loss):
            revocations.countRejected()
            losses.add(partition.number, now: now)
            let sentence: StaticString =
                switch loss {
                case .retention: "control records deleted by retention before they were read"
                case .unreadable: "unreadable control records"
                case .passedOver: "control records skipped"
                }
            logger.error(
                sentence,
                [
                    .advice: "repeat the latest revocations and erasures",
                    .topic: .text(tracker.topicName(Int(partition.topic))),
                    .partition: .number(Int(partition.number)),
                ])
        // What the earlier topic revoked stays revoked. Its last records may be unread.
        case .recreated(let topic):
            revocations.countRejected()
            losses.add(Self.wholeTopic, now: now)
            logger.error(
                "control topic recreated; new nodes lack earlier revocations",
                [
                    .advice: "repeat all revocations and erasures that must still apply",
                    .topic: .text(tracker.topicName(Int(topic))),
                ])
        case .facts, .found, .vanished, .identified: break
        }
    }

    /// Ends losses after which no record has come: all of them before any client is admitted, else those that were waited for.
    func endOverdueLosses(now: UInt64) {
        guard !losses.isEmpty else { return }
        revokeAllTokens(losses.endOverdue(now, all: !isLoaded, present: revocations.present))
    }

    /// Something may have been revoked that can no longer be read: nobody knows who was meant, so it counts for all tokens.
    ///
    /// - Parameter before: seconds since 1970; nil: nothing was lost.
    private func revokeAllTokens(_ before: Int64?) {
        guard let before else { return }
        guard revocations.lose(before: before) else {
            logger.notice("lost control records are older than control.retention; ignoring them")
            return
        }
        owesNotice = true
        logger.error(
            "control records lost; rejecting all earlier tokens and closing their connections one after the other",
            [
                .before: .text(InternetDate.text(secondsSince1970: before)),
                .advice: "clients fetch new tokens by themselves; see the runbook for tokens without iat",
            ])
    }
}

@available(*, unavailable)
extension ControlIntake: Sendable {}
