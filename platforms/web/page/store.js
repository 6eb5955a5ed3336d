/**
 * The state of the chat: the items of the conversation, and what is in progress.
 *
 * Items are replaced, never changed, so that views detect changes by identity.
 */

import { insert, itemOf } from './items.js'

/** @typedef {import('../protocol.ts').LiveEvent} LiveEvent */
/** @typedef {import('../protocol.ts').WireEntry} WireEntry */
/** @typedef {import('../protocol.ts').ToolEvent} ToolEvent */
/** @typedef {import('./items.js').Item} Item */
/** @typedef {import('./items.js').SendState} SendState */

/**
 * Two entries of the same millisecond may be stored in a different order than their ids. A new stream therefore starts a few
 * entries back, and known entries are skipped.
 */
const overlap = 20

/** How long a `typing` event is valid, ms. The gateway repeats it every few seconds. */
export const typingMs = 8_000

/** @param {{ now: () => number, onChange: () => void, onReply: (text: string) => void, onStored: (key: string) => void }} options */
export function createStore({ now, onChange, onReply, onStored }) {
  /** @type {readonly Item[]} */
  let items = []
  /** Ids of shown entries. */
  const shown = new Set()
  /** Drafts as the gateway has them; `key` is null while none is shown. @type {Map<string, { turnId: string, text: string, key: string | null }>} */
  const drafts = new Map()
  /** Running turns, with the time they were first seen. @type {Map<string, number>} */
  const turns = new Map()
  /** What was live before the stream broke and has not been confirmed. @type {Set<string>} */
  let doubtful = new Set()
  /** The newest entries, the newest last. @type {string[]} */
  let latest = []
  let ready = false
  let more = false
  let typingUntil = 0

  return {
    items: () => items,
    /** The entry after which a new stream starts. */
    resumeId: () => latest[0],
    oldestId,
    ready: () => ready,
    more: () => more,
    /** The time since which the agent is working; `null` when it is idle. */
    workingSince: () => turns.values().next().value ?? null,
    typing: () => now() < typingUntil,
    begin() {
      doubtful = new Set([...drafts.keys(), ...turns.keys()])
    },
    apply,
    addOlder,
    /** @param {string} key @param {string} text @param {number} at @param {SendState} state */
    addOwn(key, text, at, state) {
      items = [...items, { kind: 'user', key, text, at, turnId: '', state, problem: '' }]
      onChange()
    },
    /** @param {string} key @param {SendState} state @param {string} [problem] */
    setSendState(key, state, problem = '') {
      change(key, (item) => {
        if (item.kind !== 'user') return item
        // A message in the history was sent, even if the response was lost.
        if (item.entryId !== undefined && state !== 'sent' && state !== 'queued') return item
        return { ...item, state, problem }
      })
    },
    /** @param {string} key */
    drop(key) {
      items = items.filter((item) => item.key !== key)
      onChange()
    },
  }

  /** The first entry of the history. */
  function oldestId() {
    for (const item of items) if (item.kind !== 'activity' && item.entryId !== undefined) return item.entryId
    return undefined
  }

  /** @param {LiveEvent} event */
  function apply(event) {
    switch (event.type) {
      case 'entry':
        addEntry(event.entry)
        break
      case 'draft':
        showDraft(event)
        break
      case 'draft-gone':
        dropDraft(event.id)
        break
      case 'turn':
        if (event.state === 'running') beginTurn(event.turnId)
        else endTurn(event.turnId)
        break
      case 'tool':
        showTool(event)
        break
      case 'ready':
        for (const id of doubtful) {
          dropDraft(id)
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
    if (shown.has(entry.id)) return
    shown.add(entry.id)
    latest = [...latest, entry.id].slice(-overlap)
    const item = itemOf(entry)
    if (item.kind === 'user') {
      // Messages of this page are known by the id that the page created.
      const own = items.find(({ kind, key }) => kind === 'user' && key === entry.messageId)
      put({
        ...item,
        key: own?.key ?? item.key,
        state: own?.kind === 'user' && own.state === 'queued' ? 'queued' : 'sent',
      })
      if (own !== undefined) onStored(own.key)
      return
    }
    // The reply replaces its draft.
    const draft = item.kind === 'agent' ? draftOf(item.turnId) : undefined
    put({ ...item, key: draft?.key ?? item.key })
    if (draft !== undefined) draft.key = null
    typingUntil = 0
    if (ready) onReply(entry.text)
  }

  /** @param {import('../protocol.ts').DraftEvent} event */
  function showDraft({ id, turnId, at, text: rest }) {
    doubtful.delete(id)
    const draft = drafts.get(id) ?? { turnId, text: '', key: `draft:${id}` }
    draft.text = draft.text.slice(0, at) + rest
    drafts.set(id, draft)
    if (draft.key === null || draft.text.trim() === '') return
    put({ kind: 'agent', key: draft.key, text: draft.text, at: now(), turnId, live: true })
  }

  /** @param {string} id */
  function dropDraft(id) {
    const draft = drafts.get(id)
    drafts.delete(id)
    if (draft !== undefined && draft.key !== null) items = items.filter((item) => item.key !== draft.key)
  }

  /** @param {string} turnId */
  function draftOf(turnId) {
    return [...drafts.values()].find((draft) => turnId !== '' && draft.turnId === turnId && draft.key !== null)
  }

  /** @param {string} turnId */
  function beginTurn(turnId) {
    doubtful.delete(turnId)
    if (!turns.has(turnId)) turns.set(turnId, now())
    unqueue()
  }

  /** @param {string} turnId */
  function endTurn(turnId) {
    if (!turns.delete(turnId)) return
    typingUntil = 0
    change(`turn:${turnId}`, (item) => (item.kind === 'activity' ? { ...item, running: false } : item))
    unqueue()
  }

  function unqueue() {
    items = items.map((item) => (item.kind === 'user' && item.state === 'queued' ? { ...item, state: 'sent' } : item))
  }

  /** @param {ToolEvent} event */
  function showTool(event) {
    const key = `turn:${event.turnId}`
    const known = items.find((item) => item.key === key)
    const tools = known?.kind === 'activity' ? known.tools : []
    const next = tools.some((tool) => tool.callId === event.callId)
      ? tools.map((tool) => (tool.callId === event.callId ? event : tool))
      : [...tools, event]
    const draft = known === undefined ? draftOf(event.turnId) : undefined
    put({ kind: 'activity', key, at: now(), turnId: event.turnId, tools: next, running: true }, draft?.key ?? undefined)
  }

  /** @param {readonly WireEntry[]} entries oldest first @param {boolean} evenOlder */
  function addOlder(entries, evenOlder) {
    /** @type {readonly Item[]} */
    let older = []
    for (const entry of entries) {
      if (shown.has(entry.id)) continue
      shown.add(entry.id)
      older = insert(older, itemOf(entry))
    }
    items = [...older, ...items]
    more = evenOlder
    onChange()
  }

  /** Replaces the item with the same key, or adds it. @param {Item} item @param {string} [beforeKey] */
  function put(item, beforeKey) {
    const known = items.findIndex(({ key }) => key === item.key)
    items = known === -1 ? insert(items, item, beforeKey) : items.with(known, item)
  }

  /** @param {string} key @param {(item: Item) => Item} next */
  function change(key, next) {
    items = items.map((item) => (item.key === key ? next(item) : item))
    onChange()
  }
}
