/**
 * The drafts of replies as the gateway has them, shown as items until the reply or the end of the draft replaces them.
 */

/** @param {{ items: ReturnType<typeof import('./item-list.js').createItemList>, now: () => number }} options */
export function createDrafts({ items, now }) {
  /** `key` is null while none is shown. @type {Map<string, { turnId: string, text: string, key: string | null }>} */
  const drafts = new Map()
  return {
    ids: () => drafts.keys(),
    /** @param {import('../protocol.ts').DraftEvent} event */
    show({ id, turnId, at, text: rest }) {
      const draft = drafts.get(id) ?? { turnId, text: '', key: `draft:${id}` }
      draft.text = draft.text.slice(0, at) + rest
      drafts.set(id, draft)
      if (draft.key === null || draft.text.trim() === '') return
      items.put({ kind: 'agent', key: draft.key, text: draft.text, at: now(), turnId, live: true, files: [] })
    },
    /** @param {string} id */
    drop(id) {
      const draft = drafts.get(id)
      drafts.delete(id)
      if (draft !== undefined && draft.key !== null) items.remove(draft.key)
    },
    /** The shown draft of a turn. @param {string} turnId */
    ofTurn(turnId) {
      return [...drafts.values()].find((draft) => turnId !== '' && draft.turnId === turnId && draft.key !== null)
    },
  }
}
