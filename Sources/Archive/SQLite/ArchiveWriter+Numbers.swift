import LiveUpdates
import SQLite

/// The numbers of what is stored once: accounts, streams, types and things.
extension ArchiveWriter {
    func number(of account: Account) throws -> Int64 {
        let name = BytewiseKey(text: account.text)
        if let known = accounts[name] { return known }
        let number =
            try first("SELECT id FROM accounts WHERE name = ?", [.text(account.text)])
            ?? inserted("INSERT INTO accounts (name) VALUES (?)", [.text(account.text)])
        accounts[name] = number
        return number
    }

    func stream(of entity: String, in account: Int64) throws -> Int64 {
        let word = Word(account: account, text: BytewiseKey(text: entity))
        if let known = streams[word] { return known }
        let values: [SQLValue] = [.integer(account), .text(entity)]
        let number =
            try first(ArchiveQuery.stream, values)
            ?? inserted("INSERT INTO streams (account, entity) VALUES (?, ?)", values)
        streams[word] = number
        return number
    }

    /// Types are counted in each account, so that most need one byte.
    func type(_ name: String, in account: Int64) throws -> Int64 {
        let word = Word(account: account, text: BytewiseKey(text: name))
        if let known = types[word] { return known }
        let values: [SQLValue] = [.integer(account), .text(name)]
        var number = try first("SELECT number FROM types WHERE account = ? AND name = ?", values)
        if number == nil {
            let last = try first("SELECT max(number) FROM types WHERE account = ?", [.integer(account)]) ?? 0
            try database.run(
                "INSERT INTO types (account, number, name) VALUES (?, ?, ?)",
                [.integer(account), .integer(last + 1), .text(name)])
            number = last + 1
        }
        types[word] = number
        return number ?? 0
    }

    func thing(
        _ name: ThingName, _ account: Int64, _ event: ThinEvent, _ key: EventKey, _ type: Int64
    ) throws -> Thing {
        if let known = things[name], known.last > EventKey(keptFrom: horizon) { return known }
        var found: Thing?
        try database.each(
            "SELECT id, last, type FROM things WHERE stream = ? AND name = ?", [.integer(name.stream), .text(event.id)]
        ) { statement in
            found = Thing(
                number: statement.integer(0), last: EventKey(stored: statement.blob(1)), type: statement.integer(2))
            return false
        }
        let thing: Thing
        if let found {
            if found.last > EventKey(keptFrom: horizon) {
                thing = found
            } else {
                // The thing was no longer kept, nor its marks; only its rows are left. From now on it exists again, so that its
                // next event deletes no marks.
                try database.run("DELETE FROM marks WHERE thing = ?", [.integer(found.number)])
                try takeWaitingMarks(of: event, account, thing: found.number)
                thing = Thing(number: found.number, last: key, type: type)
                try database.run(
                    "UPDATE things SET last = ?, type = ? WHERE id = ?",
                    [.blob(key.bytes), .integer(type), .integer(found.number)])
            }
        } else {
            let number = try inserted(
                "INSERT INTO things (stream, name, last, type) VALUES (?, ?, ?, ?)",
                [.integer(name.stream), .text(event.id), .blob(key.bytes), .integer(type)])
            thing = Thing(number: number, last: key, type: type)
            try takeWaitingMarks(of: event, account, thing: number)
        }
        things[name] = thing
        return thing
    }

    /// Moves marks of people who had read a thing before its first event arrived in this store.
    private func takeWaitingMarks(of event: ThinEvent, _ account: Int64, thing: Int64) throws {
        let values: [SQLValue] = [.integer(account), .text(event.entity), .text(event.id)]
        try database.run(
            """
            INSERT OR REPLACE INTO marks SELECT person, ?4, key, since FROM waiting
            WHERE account = ?1 AND entity = ?2 AND name = ?3
            """, values + [.integer(thing)])
        guard database.changes > 0 else { return }
        try database.run("DELETE FROM waiting WHERE account = ? AND entity = ? AND name = ?", values)
    }

    /// The number in the first row; nil where there is none or null.
    func first(_ sql: String, _ values: [SQLValue]) throws -> Int64? {
        var number: Int64?
        try database.each(sql, values) { statement in
            number = statement.isNull(0) ? nil : statement.integer(0)
            return false
        }
        return number
    }

    func inserted(_ sql: String, _ values: [SQLValue]) throws -> Int64 {
        try database.run(sql, values)
        return database.lastRow
    }
}
