/**
 * Tells people who write while the gateway finishes its turns before it stops that their message waits for the next start.
 * Loaded with the first such message.
 */
import type { MessageEvent } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import { type SessionSource, targetOf } from '../../message/source.ts'
import { isInteractive } from './decide.ts'
import type { BusyDeps } from './deps.ts'

/** Each conversation is told once. Never rejects. */
export function createDrainNotices(
  { store, outbox, settings, clock, log }: Pick<BusyDeps, 'store' | 'outbox' | 'settings' | 'clock' | 'log'>,
  sessionKeyOf: (source: SessionSource) => SessionKey,
): (event: MessageEvent) => Promise<void> {
  const told = new Set<SessionKey>()

  return async (event) => {
    const target = targetOf(event.source)
    if (!isInteractive(event) || !settings().display.busy_ack_enabled) return
    const key = sessionKeyOf(event.source)
    if (told.has(key)) return
    told.add(key)
    const notice = outbox.prepare({ key: `drain:${clock()}:${key}`, target, kind: 'notice', text: drainText })
    try {
      await store.commit(notice, clock)
    } catch (error) {
      log.error({ event: 'inbox.drain_not_announced', session: key, err: error }, 'a notice could not be stored')
    }
  }
}

const drainText = '⏳ The gateway is about to stop. Your message is stored: I read it when the gateway runs again.'
