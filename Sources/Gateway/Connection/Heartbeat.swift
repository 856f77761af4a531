import HTTP
import Reactor
import WebSocket

/// What keeps an open connection alive: pings and their answers on a WebSocket, comment lines in an event stream.
struct Heartbeat {
    /// Fires when the next ping or comment is due, or when the time for a pong is over.
    var timer: Timer?
    private(set) var awaitsPong = false
    /// When the last ping was sent: the low half of the monotonic time in ms, which lasts for 49 days.
    private var pingedAt: UInt32 = 0

    mutating func pingSent(now: UInt64) {
        awaitsPong = true
        pingedAt = UInt32(truncatingIfNeeded: now)
    }

    mutating func endWait() { awaitsPong = false }

    /// In milliseconds; only after a ping.
    func sincePing(now: UInt64) -> UInt64 { UInt64(UInt32(truncatingIfNeeded: now) &- pingedAt) }
}

extension Connection {
    /// Pings begin after a random part of the interval, so a fleet that reconnected at once is not pinged at once.
    func beginHeartbeat(_ open: OpenStream) {
        scheduleHeartbeat(open, after: UInt64.random(in: 0...loop.policy.pingIntervalMilliseconds, using: &loop.spread))
    }

    /// Up to a 32nd of the delay later, at an instant that others share: pings of many leave in one tick, and one wake of
    /// the loop serves them all.
    private func scheduleHeartbeat(_ open: OpenStream, after delay: UInt64) {
        cancel(&open.heartbeat.timer)
        let share = max(1, delay / 32)
        let grain = UInt64(1) << (63 - UInt64(share.leadingZeroBitCount))
        let due = (loop.eventLoop.now + delay + grain - 1) & ~(grain - 1)
        open.heartbeat.timer = loop.eventLoop.schedule(at: due, self, Alarm.heartbeat.rawValue)
    }

    func heartbeatIsDue(_ open: OpenStream) {
        let interval = loop.policy.pingIntervalMilliseconds
        guard let session = open.session else {
            if pendingBytes == 0 { write(EventStream.comment) }
            return scheduleHeartbeat(open, after: interval)
        }
        if pendingBytes > 0 {
            // Behind what the client does not read no ping arrives; max_lag is for it.
            open.heartbeat.endWait()
            scheduleHeartbeat(open, after: interval)
        } else if open.heartbeat.awaitsPong {
            let sincePing = open.heartbeat.sincePing(now: loop.eventLoop.now)
            let patience = loop.policy.pongTimeoutMilliseconds
            if sincePing >= patience { close(.noPong) } else { scheduleHeartbeat(open, after: patience - sincePing) }
        } else {
            ping(session, open)
        }
    }

    /// The pong that was awaited has come: the next ping is due an interval after the last one.
    func pongCame(_ open: OpenStream) {
        open.heartbeat.endWait()
        let interval = loop.policy.pingIntervalMilliseconds
        let pause = interval + UInt64.random(in: 0...interval / 10, using: &loop.spread)
        scheduleHeartbeat(open, after: pause - min(pause, open.heartbeat.sincePing(now: loop.eventLoop.now)))
    }

    private func ping(_ session: WebSocketSession, _ open: OpenStream) {
        let nothing: [UInt8] = []
        session.ping(nothing.span)
        send(session)
        open.heartbeat.pingSent(now: loop.eventLoop.now)
        scheduleHeartbeat(open, after: min(loop.policy.pongTimeoutMilliseconds, loop.policy.pingIntervalMilliseconds))
    }
}

extension WebSocketEvent {
    var isPong: Bool {
        if case .pong = self { true } else { false }
    }
}
