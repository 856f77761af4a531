/// Milliseconds of the caller's clock. The caller chooses its zero; the clock never goes back.
public typealias Milliseconds = Int64

extension Milliseconds {
    /// The longest time that a setting can mean: 100 years. A caller that wants "never" passes `.max`, and no sum overflows.
    static let longestSetting: Milliseconds = 100 * 365 * 86_400_000

    /// The setting as it is used: a value below `least` counts as `least`.
    package func limited(least: Milliseconds = 0) -> Milliseconds {
        Swift.min(Swift.max(self, least), Self.longestSetting)
    }
}

/// The part of the SDK that decides: a value that receives inputs and the time, and returns what is to be done.
///
/// It does no I/O and reads no clock, and it draws its random numbers from ``Jitter``. So a scenario (Tests/Scenarios) has the
/// same outcome here and in the JavaScript module. The machines of that module have the same inputs, effects and views. Their
/// JSON form is the one that the compiler makes: `{"case":{"label":value}}`.
///
/// Its owner carries out the effects of an input in order, and passes their results back as inputs. It wakes the machine at
/// ``wakeAt``. An input that no longer applies, because another input came first, changes nothing.
public protocol StateMachine: Sendable {
    /// What is fixed for its life. Every member has a default.
    associatedtype Settings: Codable & Sendable
    /// What happens.
    associatedtype Input: Codable & Equatable & Sendable
    /// What the owner is to do, in order.
    associatedtype Effect: Codable & Equatable & Sendable
    /// What is visible from outside between two inputs.
    associatedtype View: Codable & Equatable & Sendable

    /// A machine at its beginning, before any input.
    init(_ settings: Settings)

    /// What is visible from outside now.
    var view: View { get }

    /// When the input `wake` is due at the latest. Nil: nothing changes until something happens.
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

    /// Compares bytes: two ids that a person reads alike may belong to two things.
    public static func == (a: Self, b: Self) -> Bool {
        Exact(a.id) == Exact(b.id) && Exact(a.entity) == Exact(b.entity)
    }

    /// By bytes, as ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(Exact(entity))
        hasher.combine(Exact(id))
    }
}

/// A text that is compared by its bytes, as servers, stores and JavaScript do. To Swift's `String`, an accented "e" is equal in
/// its composed and its decomposed form.
package struct Exact: Hashable, Sendable {
    /// The text.
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (a: Self, b: Self) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
        // Two texts hashed one after the other must differ from the same bytes split at another index.
        hasher.combine(UInt8(0xFF))
    }
}
