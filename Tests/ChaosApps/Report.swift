/// An incident as a screen shows it.
struct Row: Codable, Equatable, Sendable {
    let id: String
    let mark: String
    let version: Int64
}

/// What the screens of an app show, and what its user did.
struct Report: Codable, Sendable {
    struct List: Codable, Sendable {
        /// From the beginning on, as far as nothing is missing.
        let rows: [Row]
        /// False: it may be old, and says so.
        let isKnown: Bool
    }

    struct Details: Codable, Sendable {
        let id: String
        /// Nil: it is gone.
        let row: Row?
        let isKnown: Bool
    }

    /// A mark that was given; no other one has the same value.
    struct Taken: Codable, Sendable {
        let id: String
        let value: String
        /// Its app was ended before anybody knew what became of it: nobody need have been told.
        var isUntold = false
    }

    struct Told: Codable, Sendable {
        let value: String
        let status: Int
    }

    let name: String
    let account: String
    /// Nobody does anything any more.
    let isCalm: Bool
    let list: List?
    let details: Details?
    let stored: [Row]
    /// The values that the server is not known to have.
    let pending: [String]
    let taken: [Taken]
    let told: [Told]
    /// Words for whoever looks for a fault.
    let state: String
}
