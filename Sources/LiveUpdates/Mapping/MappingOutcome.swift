/// The outcome of a record.
package enum MappingOutcome: Equatable, Sendable {
    case event(Account, ThinEvent)
    case skip(SkipReason, why: SkipCause)
}

/// The same with texts as bytes.
package enum RecordOutcome {
    case event(RecordedEvent)
    case skip(SkipReason, why: SkipCause)
}

/// Why a record yields no event. Where several reasons apply, the first in this order is given.
package enum SkipReason: String, CaseIterable, Sendable {
    /// The value is null, and what is outside it yields no event.
    case tombstone
    /// The value is not JSON, or not an object, or what is used of it has half a surrogate pair.
    case notJSON = "not_json"
    /// More than one member has a name on the path of a source.
    case ambiguous
    /// A kind that the preset leaves out.
    case ignored
    /// The entity is one that `drop` names.
    case dropped
    case noEntity = "no_entity"
    case noAccount = "no_account"
    case noIdentifier = "no_id"
    case noType = "no_type"
    /// Account or id over 255 bytes, entity or type over 64.
    case tooLong = "too_long"
}

/// What exactly was found, for people. Text is only created when `description` is read.
package enum SkipCause: Equatable, Sendable {
    case nullValue
    case json(JSONError)
    /// The same behind the five bytes of a schema registry.
    case notRegisteredJSON(JSONError)
    case notAnObject
    case halfPair(EventRow)
    case ambiguous(EventRow)
    case kind(IgnoredKind)
    case dropped(entity: String)
    case missing(EventRow, sources: String)
    /// The account of a row that was deleted.
    case missingInDeletion(sources: String)
    case long(EventRow, bytes: Int, limit: Int)
    /// A line for `map` that describes a record in an invalid form.
    case malformedLine(String)
}

/// The kinds of records that presets leave out.
package enum IgnoredKind: String, Equatable, Sendable {
    case snapshotRead = "a snapshot read"
    case truncation = "a truncation"
    case logicalMessage = "a logical message"
    case heartbeat = "a heartbeat"
    case transactionMarker = "a transaction marker"
    case ping = "a ping"
    case noCloudEvent = "no CloudEvent: neither a ce_specversion header nor a specversion in the value"
}

extension SkipCause: CustomStringConvertible {
    package var description: String {
        switch self {
        case .nullValue: "the value is null"
        case .json(let error): "\(error)"
        case .notRegisteredJSON(let error):
            "\(error); a schema registry's five bytes are before it: Avro and Protobuf are not read, have it written as JSON"
        case .notAnObject: "the value is JSON, but not an object"
        case .halfPair(let row): "the \(row.rawValue) has half a surrogate pair, which is no text"
        case .ambiguous(let row): "duplicate key on the path to the \(row.rawValue)"
        case .kind(let kind): kind.rawValue
        case .dropped(let entity): "events.drop names the entity \"\(entity)\""
        case .missing(let row, let sources): "no text at \(sources) for events.\(row.rawValue)"
        case .missingInDeletion(let sources):
            "no text at \(sources) for events.account: a deleted row has only its primary key unless its table has "
                + "REPLICA IDENTITY FULL (ALTER TABLE … REPLICA IDENTITY FULL)"
        case .long(let row, let bytes, let limit): "\(row.rawValue) too long: \(bytes) bytes, over \(limit)"
        case .malformedLine(let problem): problem
        }
    }
}

/// The four things that make an event, by their names in the settings; in the order in which they are missed.
package enum EventRow: String, CaseIterable, Sendable {
    case entity
    case account
    case id
    case type

    var maximumBytes: Int {
        switch self {
        case .entity: ThinEvent.maximumEntityBytes
        case .account: Account.maximumBytes
        case .id: ThinEvent.maximumIdentifierBytes
        case .type: ThinEvent.maximumTypeBytes
        }
    }

    var skipReason: SkipReason {
        switch self {
        case .entity: .noEntity
        case .account: .noAccount
        case .id: .noIdentifier
        case .type: .noType
        }
    }
}
