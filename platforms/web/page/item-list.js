/**
 * The list of items, and which entries of the history it contains.
 *
 * Items are replaced, never changed, so that views detect changes by identity.
 */
import { insert, itemOf, withTool } from './items.js'

/** @typedef {import('../protocol.ts').WireEntry} WireEntry */
/** @typedef {import('./items.js').Item} Item */

/**
 * Two entries of the same millisecond may be stored in a different order than their ids. A new stream therefore starts a few
 * entries back, and known entries are skipped.
 */
const overlap = 20

export function createItemList() {
  /** @type {readonly Item[]} */
  let items = []
  /** Ids of shown entries. */
  const shown = new Set()
  /** The newest entries, the newest last. @type {string[]} */
  let latest = []

  return {
    all: () => items,
    /** The entry after which a new stream starts. */
    resumeId: () => latest[0],
    /** The first entry of the history. */
    oldestId() {
      for (const item of items) if (item.kind !== 'activity' && item.entryId !== undefined) return item.entryId
      return undefined
    },
    /** Returns false for an entry that is shown already. @param {string} id */
    markShown(id) {
      if (shown.has(id)) return false
      shown.add(id)
      latest = [...latest, id].slice(-overlap)
      return true
    },
    /** @param {Item} item */
    append(item) {
      items = [...items, item]
    },
    /** Replaces the item with the same key, or adds it. @param {Item} item @param {string} [beforeKey] */
    put(item, beforeKey) {
      const known = items.findIndex(({ key }) => key === item.key)
      items = known === -1 ? insert(items, item, beforeKey) : items.with(known, item)
    },
    /** @param {string} key @param {(item: Item) => Item} next */
    change(key, next) {
      items = items.map((item) => (item.key === key ? next(item) : item))
    },
    /** @param {import('../protocol.ts').ToolEvent} event @param {boolean} running the turn goes on */
    putTool(event, running) {
      items = withTool(items, event, running)
    },
    /** @param {string} turnId */
    endTurn(turnId) {
      items = items.map((item) =>
        item.kind === 'activity' && item.turnId === turnId ? { ...item, running: false } : item,
      )
    },
    /** The gateway has begun to handle the queued messages, or has no turn any more. */
    unqueue() {
      items = items.map((item) => (item.kind === 'user' && item.state === 'queued' ? { ...item, state: 'sent' } : item))
    },
    /** @param {string} key */
    remove(key) {
      items = items.filter((item) => item.key !== key)
    },
    /** @param {readonly WireEntry[]} entries oldest first */
    addOlder(entries) {
      /** @type {readonly Item[]} */
      let older = []
      for (const entry of entries) {
        if (shown.has(entry.id)) continue
        shown.add(entry.id)
        const item = itemOf(entry)
        // The result of a question replaces it, also when it is shown already.
        if (items.some(({ key }) => key === item.key)) continue
        const known = older.findIndex(({ key }) => key === item.key)
        older = known === -1 ? insert(older, item) : older.with(known, item)
      }
      items = [...older, ...items]
    },
  }
}
