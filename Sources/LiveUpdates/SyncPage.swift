/// The body of an answer of `/sync/v1`, put together event by event.
package struct SyncPage: Sendable {
    private var bytes = Array("{\"events\":[".utf8)
    private var isEmpty = true

    package init() {}

    /// Every event of a page carries its cursor and its time stamp, whatever was asked for.
    package mutating func append(_ event: ThinEvent, at: [UInt8], ts: Int64) {
        if !isEmpty { bytes.append(UInt8(ascii: ",")) }
        isEmpty = false
        WireMessage.append(event, at: at, ts: ts, to: &bytes)
    }

    /// - Parameters:
    ///   - at: the cursor to ask with next.
    ///   - more: whether there is more already.
    package consuming func finished(at: [UInt8], more: Bool) -> [UInt8] {
        bytes.append(UInt8(ascii: "]"))
        WireMessage.appendCursor(at, to: &bytes)
        bytes.append(contentsOf: ",\"more\":\(more)}".utf8)
        return bytes
    }
}
