/**
 * Delivers a message to a target that no conversation waits in: for scripts, hooks and the tool `send_message`. It is stored
 * before it is sent, and skipped where the chat takes no messages any more.
 */
import { join } from 'node:path'
import { ensureDirectory, writeFileAtomic } from '../../lib/files.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { Authority } from '../../message/authority.ts'
import type { Target } from '../../message/source.ts'
import { type DeliveryState, findDeliveryState } from '../../outbox/delivery-state.ts'
import type { Outbox, PreparedReply, Reply } from '../../outbox/outbox.ts'
import type { Store } from '../../store/store.ts'

export interface DeliveryContent {
  /** Never used twice: a second delivery with the same key sends nothing. */
  readonly key: string
  /** Markdown. A `notice` attaches no files that the text names, because it may come from strangers. */
  readonly text: string
  readonly kind: Reply['kind']
  /** Paths or addresses of files. */
  readonly media?: readonly string[]
  /** Who causes it; may be sent only files that this person may read. */
  readonly authority?: Authority
  readonly sessionKey?: string
}

/** Prepares the message and its files. The caller yields `write` in its transaction. Never throws. */
export function prepareDelivery(
  outbox: Pick<Outbox, 'prepare'>,
  target: Target,
  { key, text, kind, media = [], authority, sessionKey }: DeliveryContent,
): PreparedReply {
  const common = {
    target,
    isUnsolicited: true,
    ...(authority === undefined ? {} : { authority }),
    ...(sessionKey === undefined ? {} : { sessionKey }),
  }
  const parts: PreparedReply[] = []
  if (text.trim() !== '') parts.push(outbox.prepare({ ...common, key, kind, text }))
  if (media.length > 0)
    parts.push(outbox.prepare({ ...common, key: `${key}:media`, kind: 'reply', text: media.map(mediaTag).join('\n') }))
  return {
    *write(now) {
      for (const part of parts) yield* part.write(now)
    },
    committed() {
      for (const part of parts) part.committed()
    },
    rolledBack() {
      for (const part of parts) part.rolledBack()
    },
  }
}

/** Stores a delivery on its own. Rejects `store/…`. */
export async function storeDelivery(store: Store, prepared: PreparedReply, now: number): Promise<void> {
  try {
    await store.run(() => prepared.write(now))
  } catch (error) {
    prepared.rolledBack()
    throw error
  }
  prepared.committed()
}

/** Why a path cannot be sent; undefined if it can be written in a tag. */
export function mediaProblem(path: string): string | undefined {
  if (/[\r\n]/.test(path) || (path.includes('"') && path.includes("'") && path.includes('`')))
    return `${JSON.stringify(path)} cannot be sent: rename the file`
  return undefined
}

function mediaTag(path: string): string {
  const quote = ['"', "'", '`'].find((one) => !path.includes(one)) ?? '"'
  return `MEDIA:${quote}${path}${quote}`
}

/**
 * Writes a message for the target `local` into `cron/output/<id>/` of the home, and returns the path. Throws the system's
 * error.
 */
export function writeLocalOutput(home: HomeLayout, id: string, text: string, now: number): string {
  const folder = join(home.root, 'cron', 'output', id.replace(/[^\w-]/g, '_') || 'misc')
  ensureDirectory(folder)
  const path = join(folder, `${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}.md`)
  writeFileAtomic(path, `${text}\n`, 0o600)
  return path
}

export interface WaitForDeliveryDeps {
  readonly store: Store
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

const firstPollMs = 25
const maxPollMs = 500

/** Resolves when the platform has answered for all messages, or after `timeoutMs`, or when the signal aborts. */
export async function waitForDelivery(
  { store, sleep }: WaitForDeliveryDeps,
  key: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<DeliveryState> {
  let pauseMs = firstPollMs
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    const state = await store.run(() => findDeliveryState(key))
    if (state.state !== 'open' || waitedMs >= timeoutMs || signal.aborted) return state
    pauseMs = Math.min(pauseMs * 2, maxPollMs)
    await sleep(pauseMs, signal)
  }
}
