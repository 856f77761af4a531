// One connection for all tabs of a browser: `connect({ share: allTabs, … })`.

export { TabMachine } from "./core/tabs.js"
export { allTabs } from "./shell/tabs.js"
