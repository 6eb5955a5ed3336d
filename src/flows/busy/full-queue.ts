/**
 * Messages for which the queue of their conversation has no room. Each ends as failed; one notice for a burst says how many
 * were not taken. That it is due is stored with the messages, so that a restart does not lose it.
 */

import { resultWithoutModel } from '../../inbox/queries.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { takeRefused } from '../../inbox/waiting-messages.ts'
import { isTransientError } from '../../lib/errors.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import { type SessionSource, targetOf } from '../../message/source.ts'
import type { TurnResult } from '../../message/turn-result.ts'
import { toMarkdownLabel } from '../../message/untrusted-text.ts'
import { enlist, type TransactionPart } from '../../store/query.ts'
import type { BusyDeps } from './deps.ts'

/** A burst ends when no message was refused for this time. */
const quietMs = 1_000
/** A longer burst gets several notices. */
const maxBurstMs = 10_000

export function refusedResult(limit: number): TurnResult {
  const text = `The message was not taken: ${limit} messages of its sender already wait in this conversation.`
  return { ...resultWithoutModel('failed', text), errorCode: 'inbox/queue-full' }
}

interface RefusedMessage {
  readonly seq: number
  readonly event: MessageEvent
}

export function createFullQueueNotices({ store, outbox, settings, stopping, clock, log }: BusyDeps) {
  const bursts = new Map<SessionKey, { readonly since: number; timer: NodeJS.Timeout }>()

  async function announce(key: SessionKey): Promise<void> {
    bursts.delete(key)
    // The next start announces them.
    if (stopping.aborted) return
    try {
      await store.run(function* () {
        const refused = yield* takeRefused(key)
        const messages = refused.map(({ seq, payload }) => ({ seq, event: parseStoredEvent(payload) }))
        // In a conversation of several people, each one is told.
        for (const ofSender of Map.groupBy(messages, ({ event }) => event.source.userId).values()) {
          const notice = prepareNotice(ofSender)
          if (notice !== undefined) yield* enlist(notice, clock())
        }
      })
    } catch (error) {
      log.error({ event: 'inbox.refusal_not_announced', session: key, err: error }, 'a notice could not be stored')
      if (isTransientError(error)) schedule(key)
    }
  }

  function prepareNotice(messages: readonly RefusedMessage[]): TransactionPart | undefined {
    const last = messages.at(-1)
    if (last === undefined) return undefined
    const { source, messageId } = last.event
    return outbox.prepare({
      key: `refused:${last.seq}`,
      target: targetOf(source),
      kind: 'notice',
      text: refusalText(addressed(source), messages.length, settings().display.busy_queue_limit),
      replyTo: messageId,
    })
  }

  /** Returns whether a burst begins. */
  function schedule(key: SessionKey): boolean {
    const now = clock()
    const known = bursts.get(key)
    if (known !== undefined && now - known.since >= maxBurstMs) return false
    clearTimeout(known?.timer)
    const timer = setTimeout(() => void announce(key), quietMs)
    timer.unref()
    bursts.set(key, { since: known?.since ?? now, timer })
    return known === undefined
  }

  return { schedule, announce }
}

/** Where others read it, the notice says whose messages it means. */
function addressed({ chatType, userName = '' }: SessionSource): string {
  return chatType === 'dm' || userName === '' ? '' : `${toMarkdownLabel(userName)}, `
}

function refusalText(name: string, count: number, limit: number): string {
  const what = count === 1 ? 'your last message' : `your last ${count} messages`
  return `⚠️ ${name}I did not take ${what}: ${limit} of your messages already wait in this conversation. Send again what is still needed when I have answered, or \`/stop\` first.`
}
