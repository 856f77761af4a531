import LiveState

/// What the area is told of the finger: in order, and before anything that is asked with it. Views would not do: whoever reads
/// them slowly misses that one finger took the place of another.
extension LiveMachine {
    /// Notes what an input has done to the finger.
    func noteFinger(_ effects: [UpdateMachine.Effect], _ state: UpdateMachine.State) {
        for effect in effects {
            switch effect {
            case .requestFinger: noteFinger(isHeld: false)
            // A fresh one has come. What was asked with the one before is not as this one says.
            case .requestSnapshot:
                noteFinger(isHeld: false)
                noteFinger(isHeld: true)
            default: break
            }
        }
        switch state {
        case .stale, .registerFailed: noteFinger(isHeld: false)
        case .live, .pollFailed, .idle: noteFinger(isHeld: true)
        case .notLoaded, .registering: break
        }
    }

    private func noteFinger(isHeld: Bool) {
        guard isHeld != isFingerHeld else { return }
        isFingerHeld = isHeld
        fingerNews.append(isHeld)
        // It alternates: of what was not told yet, a pair in front of another changes nothing.
        if fingerNews.count > 2 { fingerNews.removeFirst(2) }
        guard fingerTask == nil else { return }
        fingerTask = Task { [weak self, area] in
            while let isHeld = await self?.nextFingerNews() { await area.fingerChanged(isHeld: isHeld) }
        }
    }

    private func nextFingerNews() -> Bool? {
        guard !fingerNews.isEmpty else {
            fingerTask = nil
            return nil
        }
        return fingerNews.removeFirst()
    }
}
