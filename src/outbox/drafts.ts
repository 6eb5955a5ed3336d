/**
 * Opens drafts where they can be shown, and knows the addresses of those that were.
 */

import type { OutboxContext } from './context.ts'
import { createDraft, type Draft, type DraftAddress, type DraftOptions, type DraftRegistry } from './draft.ts'
import type { Chat } from './queries.ts'
import { chatOf } from './sender.ts'

export interface Drafts {
  /** Null when there is nothing to show a growing reply on, and no earlier draft of the turn to replace. */
  open(options: DraftOptions): Draft | null
  addressOf(turnId: string): DraftAddress | null
  /** Addresses from before a restart. */
  restore(stored: readonly { turn_id: string; platform_id: string }[]): void
  /** The final answer has taken the address over. */
  forget(turnId: string): void
  /** Ends all drafts; resolves after their last calls. */
  close(): Promise<void>
}

/** `busy` says whether replies of a chat still wait to be sent: a draft begins after them. */
export function createDrafts(context: OutboxContext, busy: (chat: Chat) => boolean): Drafts {
  const registry: DraftRegistry = { addresses: new Map(), active: new Set(), isBusy: busy }

  function addressOf(turnId: string): DraftAddress | null {
    const platformId = registry.addresses.get(turnId)
    return platformId === undefined ? null : { platformId, shownText: '' }
  }

  return {
    addressOf,
    open(options) {
      const chat = chatOf(options.target)
      const { enabled, mode, transport } = context.settings().streaming
      const wanted = enabled && mode !== 'off' && transport !== 'off'
      const canShow = wanted && context.availableSender(chat)?.edit !== undefined
      if (canShow) return createDraft(context, registry, options)
      // People have seen a draft of this turn before a restart: its final answer must replace it all the same.
      if (addressOf(options.turnId) === null) return null
      return { update: () => undefined, close: async () => addressOf(options.turnId) }
    },
    restore(stored) {
      for (const { turn_id, platform_id } of stored) registry.addresses.set(turn_id, platform_id)
    },
    forget: (turnId) => void registry.addresses.delete(turnId),
    async close() {
      await Promise.all([...registry.active].map((draft) => draft.close()))
    },
  }
}
