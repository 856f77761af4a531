import HTTP
import LiveUpdates

/// The answers of `/sync/v1`. No cache on the path may store them.
///
/// In each, `keepsAlive` means that the client would send another request on the connection; without it the answer announces that
/// the connection ends.
enum SyncAnswer {
    /// Whether the connection goes on after an answer that leaves it open. A client of HTTP/1.0 would need a field of its own for
    /// that (RFC 9112 §9.3, appendix C.2.2): it gets the end that it expects.
    static func keepsAlive(_ head: RequestHead) -> Bool { head.version == .http11 && head.keepsAlive }

    /// The head of an answer with this body, which is written behind it: it may have some MB, and is not copied.
    static func head(
        of body: [UInt8], date: String?, keepsAlive: Bool, fields: CrossOrigin.Fields = []
    ) -> [UInt8] {
        Response(
            status: 200, contentType: "application/json", fields: [("Cache-Control", "no-store")] + fields, body: body,
            keepsConnection: keepsAlive
        ).serialized(date: date, withoutBody: true)
    }

    /// The refusal of a cursor: 400 for an invalid one, else 410 with a fresh one to go on with.
    static func refusal(of why: ResyncReason, fresh at: [UInt8]) -> Refusal {
        if why == .invalid { return Refusal(.badCursor) }
        return Refusal(
            .resync, detail(why),
            members: [.init("why", why.rawValue), .init("at", String(decoding: at, as: UTF8.self))])
    }

    static func refused(
        _ refusal: Refusal, date: String?, withoutBody: Bool = false, keepsAlive: Bool, fields: CrossOrigin.Fields = []
    ) -> [UInt8] {
        refusal.serialized(
            date: date, withoutBody: withoutBody, isStorable: false, keepsAlive: keepsAlive, fields: fields)
    }

    private static func detail(_ why: ResyncReason) -> String? {
        switch why {
        case .invalid: nil
        case .epoch: "Cursors from before have lost their meaning; fetch from the API and go on with this one."
        case .expired: "What came after the cursor is no longer kept; fetch from the API and go on with this one."
        case .ahead: "The cursor is ahead of what there is; fetch from the API and go on with this one."
        }
    }
}
