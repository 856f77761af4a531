import Archive
import HTTP
import LiveUpdates

/// The body of `POST /inbox/v1/read`: up to which event, of one thing or of all things.
struct MarkBody: Equatable, Sendable {
    static let maximumBytes = 4096
    /// The depth allows more members of a client's own than any client needs.
    private static let limits = JSONLimits(maximumBytes: maximumBytes, maximumDepth: 32)

    let thing: ReadMark.Thing?
    let upTo: ArchiveID

    /// Reads a body. Unknown members are ignored, as everywhere; a duplicate member is refused.
    static func read(_ bytes: [UInt8]) throws(Refusal) -> MarkBody {
        let root: LiveUpdates.JSONValue
        do throws(JSONError) {
            root = try JSONDocument(bytes, limits: limits, tapedDepth: 1).root
        } catch {
            throw Refusal(.badRequest, "The body is \(error).")
        }
        guard root.kind == .object else { throw Refusal(.badRequest, "The body is no JSON object.") }
        guard let aid = try text("aid", of: root), let id = ArchiveID(aid) else {
            throw Refusal(.badRequest, "The body's aid is not an event's aid.")
        }
        let entity = try text("ent", of: root, maximumBytes: ThinEvent.maximumEntityBytes)
        let name = try text("id", of: root, maximumBytes: ThinEvent.maximumIdentifierBytes)
        switch (entity, name) {
        case (let entity?, let name?): return MarkBody(thing: ReadMark.Thing(entity: entity, id: name), upTo: id)
        case (nil, nil): return MarkBody(thing: nil, upTo: id)
        default: throw Refusal(.badRequest, "The body has only one of ent and id.")
        }
    }

    private static func text(
        _ name: String, of root: LiveUpdates.JSONValue, maximumBytes: Int = maximumBytes
    ) throws(Refusal) -> String? {
        let member: LiveUpdates.JSONValue?
        do throws(JSONError) {
            member = try root.member(name)
        } catch {
            throw Refusal(.badRequest, "Duplicate member \(name) in the body.")
        }
        guard let member else { return nil }
        guard let text = member.string, (1...maximumBytes).contains(text.utf8.count) else {
            throw Refusal(.badRequest, "The body's \(name) is not a text of 1 to \(maximumBytes) bytes.")
        }
        return text
    }

    static func == (left: MarkBody, right: MarkBody) -> Bool {
        guard left.upTo == right.upTo else { return false }
        switch (left.thing, right.thing) {
        case (nil, nil): return true
        case (let left?, let right?):
            return left.entity.isBytewiseEqual(to: right.entity) && left.id.isBytewiseEqual(to: right.id)
        default: return false
        }
    }

    // MARK: - The request around it

    /// Refuses what cannot be a mark before its body is read.
    static func check(_ head: RequestHead) throws(Refusal) {
        guard isJSON(head.headers) else { throw Refusal(.badRequest, "Content-Type is not application/json.") }
        switch head.body {
        case .none, .length(0), .untilClose: throw Refusal(.badRequest, "A body is missing.")
        case .length(let count) where count > maximumBytes:
            throw Refusal(.badRequest, "The body is over \(maximumBytes) bytes.")
        case .length, .chunked: break
        }
    }

    /// RFC 9110 §8.3.1: a type in any case, and perhaps parameters.
    private static func isJSON(_ headers: HeaderFields) -> Bool {
        guard let value = headers.only("content-type") else { return false }
        let type = String(decoding: value.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self).lowercased()
        let words = type.split { $0 == " " || $0 == "\t" }
        return words.count == 1 && words[0] == "application/json"
    }
}

/// Reads the body of a mark as it arrives; the bytes after it belong to the next request.
struct MarkReader {
    private var reader: BodyReader

    init(_ framing: BodyFraming) { reader = BodyReader(framing, maximumBytes: MarkBody.maximumBytes) }

    /// Removes the bytes that it uses from the front.
    ///
    /// - Returns: the body once it is whole; nil: more has to come.
    mutating func read(_ early: inout EarlyBytes) throws(Refusal) -> [UInt8]? {
        var used = 0
        do throws(ResponseFault) {
            used = try early.consume { (bytes) throws(ResponseFault) -> Int in
                var used = 0
                // Byte by byte, because the reader does not report where it ended; a body is short.
                while !reader.isDone, used < bytes.count {
                    try reader.consume(bytes.extracting(used..<used + 1))
                    used += 1
                }
                return used
            }
        } catch {
            throw Refusal(.badRequest, "The body is not in a valid chunked encoding.")
        }
        early.drop(used)
        guard !reader.isTruncated else {
            throw Refusal(.badRequest, "The body is over \(MarkBody.maximumBytes) bytes.")
        }
        return reader.isDone ? reader.take() : nil
    }
}
