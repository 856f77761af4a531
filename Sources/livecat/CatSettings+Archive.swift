import HTTP
import LiveClientReactor
import LiveState
import Options

/// The document that livecat asks for.
enum CatDocument: Equatable {
    /// Pages of `/sync/v1`.
    case sync
    case archive
    case inbox
    case mark(EventID)
}

/// `--archive`, `--inbox`, `--mark-read` and the options that go with them.
extension CatSettings {
    mutating func setDocument(_ arguments: Arguments) throws(StartProblem) {
        let table = LivecatCommand.self
        let path: String
        if arguments[table.archive] {
            (document, path) = (.archive, "/archive/v1")
        } else if arguments[table.inbox] {
            (document, path) = (.inbox, "/inbox/v1")
        } else if let aid = arguments[table.markRead] {
            (document, path) = (.mark(aid), "/inbox/v1/read")
        } else {
            path = "/live/v1"
        }
        connection.url = connection.url.replacing(pathSuffix: "/live/v1", with: path)
        // The option determines the path, so the server alone is enough.
        if document != .sync { connection.url = connection.url.replacingBarePath(with: path) }
        let isPage = document == .archive || document == .inbox
        let given: [(name: String, isGiven: Bool, isRight: Bool, needs: String)] = [
            ("before", arguments[table.before] != nil, isPage, "--archive or --inbox"),
            ("limit", arguments[table.limit] != nil, isPage, "--archive or --inbox"),
            (
                "id", arguments[table.thing] != nil, document != .sync && document != .inbox,
                "--archive or --mark-read"
            ),
        ]
        if let wrong = given.first(where: { $0.isGiven && !$0.isRight }) {
            throw .wrongUse("option '--\(wrong.name)' has no meaning without \(wrong.needs)")
        }
    }

    /// The parameters for the address. Those of a mark are in its body.
    mutating func archiveParameters(_ arguments: Arguments) throws(StartProblem) -> [(name: String, value: String)] {
        let table = LivecatCommand.self
        let (entities, id) = (arguments[table.entities], arguments[table.thing])
        if id != nil, entities == nil { throw .wrongUse("--id needs --ent: an id is one of an entity's") }
        if case .mark(let aid) = document {
            if entities != nil, id == nil {
                throw .wrongUse("--ent needs --id: a mark is of one thing or of everything")
            }
            let thing = entities.flatMap { entity in id.map { Thing(entity: entity, id: $0) } }
            connection.jsonBody = ReadMark(of: thing, upTo: aid).body
            return []
        }
        if id != nil, entities?.utf8.contains(UInt8(ascii: ",")) == true {
            throw .wrongUse("--id needs one name in --ent, not several")
        }
        let words = [
            ("before", arguments[table.before]?.text), ("limit", arguments[table.limit].map(String.init)),
            ("ent", entities), ("id", id),
        ]
        return words.compactMap { name, value in value.map { (name, $0) } }
    }
}
