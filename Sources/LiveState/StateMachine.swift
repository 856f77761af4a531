/// Milliseconds of the caller's clock. Where it begins is the caller's choice; it never goes back.
public typealias Milliseconds = Int64

extension Milliseconds {
    /// The longest time that a setting can mean, 100 years: whoever wants "never" gives `.max`, and no sum with it overflows.
    static let longestSetting: Milliseconds = 100 * 365 * 86_400_000

    /// A setting as it is used: what is less than `least` counts as that.
    package func limited(least: Milliseconds = 0) -> Milliseconds {
        Swift.min(Swift.max(self, least), Self.longestSetting)
    }
}

/// What decides in the SDK: a value that is given what happens and the time, and answers what is to be done.
///
/// It does no I/O, knows no clock, and draws its random numbers from ``Jitter``, so that a scenario (Tests/Scenarios) has one
/// outcome, here and in the JavaScript module, whose machines have the same inputs, effects and views. Their JSON form is the
/// one that the compiler makes: `{"case":{"label":value}}`.
///
/// Whoever owns one carries out the effects of an input in their order, hands what comes of them back as inputs, and wakes it
/// at ``wakeAt``. An input that fits no more, because something else came before it, changes nothing.
public protocol StateMachine: Sendable {
    /// What is fixed for its life. Every member has a default.
    associatedtype Settings: Codable & Sendable
    /// What happens.
    associatedtype Input: Codable & Equatable & Sendable
    /// What the owner is to do, in order.
    associatedtype Effect: Codable & Equatable & Sendable
    /// What can be seen of it between two inputs.
    associatedtype View: Codable & Equatable & Sendable

    /// A machine at its beginning, before any input.
    init(_ settings: Settings)

    /// What can be seen of it now.
    var view: View { get }

    /// When the input `wake` is due at the latest; nil: only something that happens changes anything.
    var wakeAt: Milliseconds? { get }

    /// Handles one input.
    mutating func handle(_ input: Input, at now: Milliseconds) -> [Effect]
}

/// What an event names and an app shows: an incident, a note. Its id is unique among those of its entity.
public struct Thing: Codable, Hashable, Sendable {
    /// What kind of thing: `incident`, `note`, or another word of the company's services.
    public var entity: String
    /// The id that the API knows it by.
    public var id: String

    /// A thing of an entity.
    public init(entity: String, id: String) {
        self.entity = entity
        self.id = id
    }

    /// By bytes: two ids that a person reads alike may be two things.
    public static func == (a: Self, b: Self) -> Bool {
        Exact(a.id) == Exact(b.id) && Exact(a.entity) == Exact(b.entity)
    }

    /// By bytes, as ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(Exact(entity))
        hasher.combine(Exact(id))
    }
}

/// A text that is compared by its bytes, as servers, stores and JavaScript compare: to Swift's `String` an "e" with an accent is
/// the same in its composed and its decomposed form.
package struct Exact: Hashable, Sendable {
    /// The text.
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (a: Self, b: Self) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
        // So that two texts one after the other are told from the same bytes, cut elsewhere.
        hasher.combine(UInt8(0xFF))
    }
}
