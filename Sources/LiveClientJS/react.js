// Hooks for React 18 and later. No other entry imports React, and an app brings its own.

import { useEffect, useMemo, useSyncExternalStore } from "react"

/** What a screen shows where an app says nothing else. */
const standardPlace = { from: { beginning: {} }, direction: "forward", count: 50 }
/** Counts screens of details: each hook has one of its own. */
let lastScreen = 0

/** What is shown of a machine, of screens, a list, details, actions or `client.connection`. */
export function useSnapshot({ subscribe, getSnapshot }) { return useSyncExternalStore(subscribe, getSnapshot, getSnapshot) }

export function useConnectionState(client) { return useSnapshot(client.connection) }

export function useMachine(machine) { return useSnapshot(machine) }

export function usePending(actions) { return useSnapshot(actions) }

/** Shows a list for as long as the component is there. */
export function useLiveList(list, place = standardPlace) {
    const text = JSON.stringify(place)
    // Two effects: another position is no reason to give up the page that is being fetched.
    useEffect(() => { list.show(JSON.parse(text)) }, [list, text])
    useEffect(() => () => { list.hide() }, [list])
    return useSnapshot(list)
}

/** Shows a thing's details for as long as the component is there. */
export function useThing(screens, { entity, id }) {
    const shown = useMemo(() => shownThing(screens, { entity, id }), [screens, entity, id])
    const state = useSnapshot(shown)
    return useMemo(() => ({ ...state, refresh: shown.refresh }), [state, shown])
}

/** Details that are shown while somebody is subscribed. Before and after that: what is known, or was known last. */
function shownThing(screens, thing) {
    const name = `livegate/react ${lastScreen += 1}`
    let details = null, last = screens.known(thing)
    return {
        refresh: () => { details?.refresh() },
        getSnapshot: () => details ? details.getSnapshot() : last,
        subscribe: listener => {
            const shown = details = screens.details(name, thing), leave = shown.subscribe(listener)
            return () => {
                leave()
                last = shown.getSnapshot()
                shown.hide()
                details = null
            }
        },
    }
}
