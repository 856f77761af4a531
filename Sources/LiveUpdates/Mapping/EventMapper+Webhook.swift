// PagerDuty's webhooks, version 3: what changed is often not the resource itself but a note, a task or a role of it.

extension EventMapper {
    /// A ping is about the friendly test resource and about no account's things.
    func locateWebhook(in root: JSONReader.Node) {
        if case .text("pagey.ping") = text(at: Mark.eventType, of: root) { placement.ignored = .ping }
    }

    /// `data.id` where the data are the resource; else the resource is a member of the data, or of their first role
    /// assignment. Other ids in there are those of other things.
    func resourceIdentifier() -> Found {
        guard let root = placement.root else { return .nothing }
        let resource = text(at: Mark.resourceType, of: root)
        guard case .text(let resourceType) = resource else { return resource }
        switch value.resolve(Mark.data, from: root) {
        case .absent: return .nothing
        case .ambiguous: return .ambiguous
        case .value(let data):
            let kind = text(at: Mark.type, of: data)
            guard case .text(let type) = kind, type.isBytewiseEqual(to: resourceType) else {
                return kind.doubt == .none ? relatedIdentifier(of: resourceType, in: data) : kind
            }
            return text(at: Mark.id, of: data)
        }
    }

    private func relatedIdentifier(of resourceType: String, in data: JSONReader.Node) -> Found {
        guard resourceType.utf8.count <= EventMapping.maximumNameBytes else { return .nothing }
        let name = Array(resourceType.utf8)
        let direct = identifier(under: name, of: data)
        guard case .nothing = direct else { return direct }
        switch value.member(name + Array("_role_assignments".utf8), of: data) {
        case .absent: return .nothing
        case .ambiguous: return .ambiguous
        case .value(let assignments):
            guard case .value(let first) = value.resolve(Mark.first, from: assignments) else { return .nothing }
            return identifier(under: name, of: first)
        }
    }

    private func identifier(under name: [UInt8], of node: JSONReader.Node) -> Found {
        switch value.member(name, of: node) {
        case .absent: .nothing
        case .ambiguous: .ambiguous
        case .value(let resource): text(at: Mark.id, of: resource)
        }
    }
}

private enum Mark {
    static let eventType = JSONPointer(members: "event", "event_type")
    static let resourceType = JSONPointer(members: "event", "resource_type")
    static let data = JSONPointer(members: "event", "data")
    static let type = JSONPointer(members: "type")
    static let id = JSONPointer(members: "id")
    static let first = JSONPointer(members: "0")
}
