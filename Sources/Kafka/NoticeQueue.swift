import Synchronization

/// What librdkafka's threads report, until the consumer's queue collects it.
///
/// Any thread may post. Notices of one key are merged, because librdkafka repeats itself for every connection attempt.
final class NoticeQueue: Sendable {
    /// The maximum of different causes that wait at once. There is one for each broker and topic in trouble; more than this would
    /// add nothing new.
    static let maximumPending = 256
    /// The maximum of library lines that wait at once: `debug=all` causes thousands a second, and no reader waits for them.
    static let maximumLines = 256

    private struct Pending {
        var notices: [KafkaNotice] = []
        var lines: [KafkaNotice] = []
        var droppedLines = 0
        var allBrokersDown = false
    }

    private let pending = Mutex(Pending())

    func post(_ notice: KafkaNotice) {
        pending.withLock { pending in
            if let same = pending.notices.firstIndex(where: { $0.key == notice.key }) {
                pending.notices[same] = notice
            } else if pending.notices.count < Self.maximumPending {
                pending.notices.append(notice)
            }
        }
    }

    /// One cut connection already causes this report. The consumer waits before it believes it.
    func postAllBrokersDown() {
        pending.withLock { $0.allBrokersDown = true }
    }

    func post(line: KafkaNotice) {
        pending.withLock { pending in
            if pending.lines.count < Self.maximumLines {
                pending.lines.append(line)
            } else {
                pending.droppedLines += 1
            }
        }
    }

    /// All waiting notices, lines last, and whether librdkafka reported that all brokers are down.
    func take() -> (notices: [KafkaNotice], allBrokersDown: Bool) {
        var taken = Pending()
        pending.withLock { swap(&$0, &taken) }
        var notices = taken.notices + taken.lines
        if taken.droppedLines > 0 {
            notices.append(KafkaNotice(.linesDropped, [(.count, String(taken.droppedLines))]))
        }
        return (notices, taken.allBrokersDown)
    }
}
