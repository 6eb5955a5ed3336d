/**
 * The state of the chat: the items of the conversation, and what is in progress.
 */
import { createDrafts } from './drafts.js'
import { createItemList } from './item-list.js'
import { itemOf, shownFile, withPaths, withSendState } from './items.js'

/** @typedef {import('../protocol.ts').LiveEvent} LiveEvent */
/** @typedef {import('../protocol.ts').WireEntry} WireEntry */
/** @typedef {import('./items.js').SendState} SendState */

/** How long a `typing` event is valid, ms. The gateway repeats it every few seconds. */
export const typingMs = 8_000

/** @param {{ now: () => number, onChange: () => void, onReply: (entry: WireEntry) => void, onStored: (key: string) => void }} options */
export function createStore({ now, onChange, onReply, onStored }) {
  const items = createItemList()
  const drafts = createDrafts({ items, now })
  /** Running turns, with the time they were first seen. @type {Map<string, number>} */
  const turns = new Map()
  /** What was live before the stream broke and has not been confirmed. @type {Set<string>} */
  let doubtful = new Set()
  let ready = false
  let more = false
  let typingUntil = 0

  return {
    items: items.all,
    resumeId: items.resumeId,
    oldestId: items.oldestId,
    ready: () => ready,
    more: () => more,
    /** The time since which the agent is working; `null` when it is idle. */
    workingSince: () => turns.values().next().value ?? null,
    typing: () => now() < typingUntil,
    begin() {
      doubtful = new Set([...drafts.ids(), ...turns.keys()])
    },
    apply,
    /** @param {Awaited<ReturnType<import('./api.js').Api['earlier']>>} older entries and tools oldest first */
    addOlder({ entries, tools, more: evenOlder }) {
      items.addOlder(entries)
      for (const tool of tools) items.putTool(tool, turns.has(tool.turnId))
      more = evenOlder
      onChange()
    },
    /**
     * @param {string} key
     * @param {string} text
     * @param {number} at
     * @param {SendState} state
     * @param {readonly import('./uploads.js').LocalFile[]} files
     */
    addOwn(key, text, at, state, files) {
      items.append({ kind: 'user', key, text, at, turnId: '', state, problem: '', files: files.map(shownFile) })
      onChange()
    },
    /** @param {string} key @param {SendState} state @param {string} [problem] */
    setSendState(key, state, problem = '') {
      items.change(key, (item) => withSendState(item, state, problem))
      onChange()
    },
    /** @param {string} key */
    drop(key) {
      items.remove(key)
      onChange()
    },
  }

  /** @param {LiveEvent} event */
  function apply(event) {
    switch (event.type) {
      case 'entry':
        addEntry(event.entry)
        break
      case 'draft':
        doubtful.delete(event.id)
        drafts.show(event)
        break
      case 'draft-gone':
        drafts.drop(event.id)
        break
      case 'turn':
        if (event.state === 'running') beginTurn(event.turnId)
        else endTurn(event.turnId)
        break
      case 'tool':
        items.putTool(event, turns.has(event.turnId))
        break
      case 'ready':
        for (const id of doubtful) {
          drafts.drop(id)
          endTurn(id)
        }
        doubtful.clear()
        if (!ready) more = event.more
        ready = true
        break
      case 'typing':
        typingUntil = now() + typingMs
        break
      default:
        return
    }
    onChange()
  }

  /** @param {WireEntry} entry */
  function addEntry(entry) {
    const isNew = items.markShown(entry.id)
    // A question may have been settled while the page was disconnected.
    if (!isNew && entry.question === undefined) return
    const item = itemOf(entry)
    if (item.kind === 'user') {
      // Messages of this page are known by the id that the page created.
      const own = items.all().find(({ kind, key }) => kind === 'user' && key === entry.messageId)
      items.put({
        ...item,
        // The page has these files already.
        files: own?.kind === 'user' ? withPaths(own.files, item.files) : item.files,
        key: own?.key ?? item.key,
        state: own?.kind === 'user' && own.state === 'queued' ? 'queued' : 'sent',
      })
      if (own !== undefined) onStored(own.key)
      return
    }
    // The reply replaces its draft.
    const draft = item.kind === 'agent' ? drafts.ofTurn(item.turnId) : undefined
    items.put({ ...item, key: draft?.key ?? item.key })
    if (draft !== undefined) draft.key = null
    typingUntil = 0
    if (ready && isNew) onReply(entry)
  }

  /** @param {string} turnId */
  function beginTurn(turnId) {
    doubtful.delete(turnId)
    if (!turns.has(turnId)) turns.set(turnId, now())
    items.unqueue()
  }

  /** @param {string} turnId */
  function endTurn(turnId) {
    if (!turns.delete(turnId)) return
    typingUntil = 0
    items.endTurn(turnId)
    items.unqueue()
  }
}
