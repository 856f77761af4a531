/// What a screen shows.
public enum Interest: Codable, Equatable, Sendable {
    /// One thing with its details.
    case details(thing: Thing)
    /// Things of one entity. `takesNew`: whether newly created things belong to the list.
    case list(entity: String, ids: [String], takesNew: Bool)
}

/// A kind of screen. Rules can differ between kinds.
public enum InterestKind: String, Codable, Sendable {
    /// A screen of one thing.
    case details
    /// A screen of many.
    case list
}

/// What a screen does about an event.
public enum RelevanceAction: String, Codable, Sendable {
    /// No call.
    case ignore
    /// Fetched, if the screen shows the thing.
    case fetchIfThere
    /// Fetched by a list that accepts new things and does not show this one.
    case fetchUnlessThere
    /// Fetched by every screen of its entity. For a list that a thing can enter by a change.
    case fetch
    /// Removed from the list without a call. Detail screens ignore it.
    case remove
}

/// Which action an event has on a kind of screen. The first matching rule applies; the app's rules precede the standard ones.
public struct RelevanceRule: Codable, Equatable, Sendable {
    /// Nil: each entity.
    public var entity: String?
    /// Nil: each type of event.
    public var type: String?
    /// The kind of screen that it is for.
    public var screen: InterestKind
    /// What such an event does there.
    public var action: RelevanceAction

    /// A rule; without entity and type for every event.
    public init(entity: String? = nil, type: String? = nil, screen: InterestKind, action: RelevanceAction) {
        self.entity = entity
        self.type = type
        self.screen = screen
        self.action = action
    }

    /// The rules that apply where the app sets none.
    public static let standard = [
        RelevanceRule(type: "created", screen: .details, action: .ignore),
        // `deleted` too: the 404 is the answer.
        RelevanceRule(screen: .details, action: .fetchIfThere),
        RelevanceRule(type: "created", screen: .list, action: .fetchUnlessThere),
        RelevanceRule(type: "deleted", screen: .list, action: .remove),
        RelevanceRule(screen: .list, action: .fetchIfThere),
    ]

    func fits(_ thing: Thing, _ type: String, _ screen: InterestKind) -> Bool {
        self.screen == screen && (entity ?? thing.entity) == thing.entity && (self.type ?? type) == type
    }
}

/// A screen by its name, with what it shows.
public struct Screen: Codable, Equatable, Sendable {
    /// The name that the app gives it.
    public let name: String
    /// What it shows now.
    public internal(set) var interest: Interest
    /// The same ids, to be found at once.
    private(set) var ids: Set<Exact>
    /// The ids of a list that a person can see; nil: all of them.
    private let visible: Set<Exact>?

    init(name: String, interest: Interest, visible: [String]? = nil) {
        self.name = name
        self.interest = interest
        self.visible = visible.map { Set($0.map(Exact.init)) }
        ids = if case .list(_, let ids, _) = interest { Set(ids.map(Exact.init)) } else { [] }
    }

    enum CodingKeys: CodingKey { case name, interest }

    /// From its JSON form: a name and an interest.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            name: members.decode(String.self, forKey: .name),
            interest: members.decode(Interest.self, forKey: .interest))
    }

    func shows(_ thing: Thing) -> Bool {
        switch interest {
        case .details(let shown): shown == thing
        case .list(let entity, _, _): entity == thing.entity && ids.contains(Exact(thing.id))
        }
    }

    func isVisible(_ thing: Thing) -> Bool {
        guard shows(thing) else { return false }
        if case .details = interest { return true }
        return visible?.contains(Exact(thing.id)) ?? true
    }

    mutating func remove(_ id: String) {
        guard case .list(let entity, let all, let takesNew) = interest else { return }
        let gone = Exact(id)
        ids.remove(gone)
        interest = .list(entity: entity, ids: all.filter { Exact($0) != gone }, takesNew: takesNew)
    }

    /// Whether a screen must fetch a thing after these events, which are in their order.
    ///
    /// - Parameter removed: whether the last of these events removes the thing from the list.
    func needs(_ thing: Thing, _ types: [String], _ rules: [RelevanceRule]) -> (fetch: Bool, removed: Bool) {
        let (kind, entity, takesNew): (InterestKind, String, Bool) =
            switch interest {
            case .details(let shown): (.details, shown.entity, false)
            case .list(let entity, _, let takesNew): (.list, entity, takesNew)
            }
        guard entity == thing.entity else { return (false, false) }
        var (isThere, fetch, removed) = (shows(thing), false, false)
        for type in types {
            switch rules.first(where: { $0.fits(thing, type, kind) })?.action ?? .ignore {
            case .ignore: break
            case .fetchIfThere: fetch = fetch || isThere
            case .fetchUnlessThere: fetch = fetch || (takesNew && !isThere)
            case .fetch: fetch = true
            case .remove where kind == .details: break
            case .remove:
                removed = removed || isThere
                (isThere, fetch) = (false, false)
            }
        }
        return (fetch, removed)
    }
}
