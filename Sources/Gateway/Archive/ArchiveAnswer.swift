import Archive
import HTTP
import LiveUpdates

/// The bodies of the archive's answers, made on the thread that has read the store.
enum ArchiveAnswer {
    /// - Parameter positions: of the page's snapshot; nil where the page cannot have the newest event.
    static func body(_ page: EventPage, at positions: [PartitionPosition]?) -> ArchiveBody {
        var bytes = Array("{\"events\":[".utf8)
        bytes.reserveCapacity(64 + 192 * page.events.count)
        for (index, event) in page.events.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(event, to: &bytes)
            bytes.append(UInt8(ascii: "}"))
        }
        bytes.append(contentsOf: "],\"more\":\(page.more)".utf8)
        let gaps = page.gaps.map { gap in
            "{\"from\":\(gap.from)" + (gap.to.map { ",\"to\":\($0)" } ?? "") + "}"
        }
        let end = Array(",\"gaps\":[\(gaps.joined(separator: ","))]}".utf8)
        return ArchiveBody(start: bytes, end: end, positions: positions)
    }

    static func body(_ page: InboxPage, at positions: [PartitionPosition]) -> ArchiveBody {
        var bytes = Array("{\"things\":[".utf8)
        bytes.reserveCapacity(64 + 208 * page.things.count)
        for (index, thing) in page.things.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(thing.last, to: &bytes)
            bytes.append(contentsOf: ",\"unread\":\(thing.unread)}".utf8)
        }
        bytes.append(contentsOf: "],\"unread_things\":\(page.unreadThings),\"more\":\(page.more)".utf8)
        return ArchiveBody(start: bytes, end: [UInt8(ascii: "}")], positions: positions)
    }

    /// Everything except the closing brace.
    private static func append(_ event: PagedEvent, to bytes: inout [UInt8]) {
        WireMessage.append(event.event, at: nil, ts: event.id.stamp, aid: event.id, to: &bytes)
        bytes.removeLast()
    }

    /// The whole body.
    static func bytes(_ body: ArchiveBody, at cursor: CursorText? = nil) -> [UInt8] {
        guard let cursor else { return body.start + body.end }
        var bytes = body.start
        bytes.append(contentsOf: ",\"at\":\"".utf8)
        bytes.append(contentsOf: cursor.bytes)
        bytes.append(UInt8(ascii: "\""))
        return bytes + body.end
    }

    /// A 204, which no cache may keep.
    static func empty(date: String?, keepsAlive: Bool, fields: CrossOrigin.Fields) -> [UInt8] {
        var text = "HTTP/1.1 204 No Content\r\n"
        if let date { text += "Date: \(date)\r\n" }
        text += "Cache-Control: no-store\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        if !keepsAlive { text += "Connection: close\r\n" }
        return Array((text + "\r\n").utf8)
    }
}
