/**
 * What follows when the message of a person without access was refused: an entry in the trace, and in a direct message a pairing
 * code, at most once in ten minutes each. The model never sees the message, and a group never gets an answer. Loaded with the
 * first refusal.
 */
import { randomBytes } from 'node:crypto'
import { addRefusal } from '../../inbox/trace.ts'
import { createLruCache } from '../../lib/cache.ts'
import { messageOf } from '../../lib/errors.ts'
import { defaultProfile, locateProfile } from '../../lib/profiles.ts'
import type { MessageEvent } from '../../message/event.ts'
import { type SessionSource, targetOf } from '../../message/source.ts'
import { toLabel } from '../../message/untrusted-text.ts'
import { forgetSentTexts, isReplyStored } from '../../outbox/one-time-notices.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { codeSeconds, type Pairing, type PairingRequest, type RequestResult } from '../../pairing/pairing.ts'
import type { AccountPolicy } from '../../platforms/accounts.ts'
import { afterCommit, enlist } from '../../store/query.ts'
import type { Runtime } from '../../store/runtime.ts'

/** Rejects `store/…`; the platform then delivers the message again. */
export type HandleRefusal = (event: MessageEvent, reason: string) => Promise<void>

const quietMs = 600_000
const maxPeople = 5_000
/** Entries and notices of one account in an hour, so that strangers cannot fill the database. */
const windowMs = 3_600_000
const maxEntries = 20
const maxBusyNotices = 5
const keyPrefix = 'pairing:'

type Outcome = RequestResult['status'] | 'waiting' | 'none' | 'failed'

export function createAccessRefusals(
  { home, store, clock, log, failpoint }: Omit<Runtime, 'stopping'>,
  outbox: Pick<Outbox, 'prepare'>,
  pairing: Pairing,
  policyOf: (source: SessionSource) => Pick<AccountPolicy, 'unauthorizedDm'>,
): HandleRefusal {
  const { profile } = locateProfile(home.root)
  const command = profile === defaultProfile ? 'hermes' : `hermes -p ${profile}`
  const handledAt = createLruCache<number>(maxPeople)
  const running = new Map<string, Promise<void>>()
  const entries = createWindow(maxEntries, clock)
  const busyNotices = createWindow(maxBusyNotices, clock)

  async function handle(event: MessageEvent, reason: string): Promise<void> {
    const outcome = await requestAccess(event)
    const { platform, account } = event.source
    const skipped = entries.take(JSON.stringify([platform, account]))
    if (skipped !== undefined) {
      const detail = describe(event.source, reason, outcome, skipped)
      await store.run(() => addRefusal(detail, clock()))
    }
  }

  async function requestAccess(event: MessageEvent): Promise<Outcome> {
    const { source } = event
    const { platform, userId = '', userName = '' } = source
    if (!mayPair(source) || policyOf(source).unauthorizedDm !== 'pair') return 'none'
    const result = tryRequest(platform, userId, userName)
    if (result === undefined) return 'failed'
    if (result.status === 'waiting') return await renew(event, result.request)
    if (result.status === 'created') {
      failpoint?.('pairing:requested')
      await send(event, result.requestId, codeText(command, platform, result.code, clock(), clock()))
    } else if (result.status !== 'limited' && busyNotices.take(platform) !== undefined) {
      await send(event, randomBytes(8).toString('hex'), busyText)
    }
    log.info({ event: 'pairing.requested', platform, user: userId, result: result.status }, 'a person asked for access')
    return result.status
  }

  /** Undefined when the files of the pairing store do not work, which must not hold up other messages of the platform. */
  function tryRequest(platform: string, userId: string, userName: string) {
    try {
      const waiting = pairing.pendingOf(platform, userId)
      if (waiting !== undefined) return { status: 'waiting' as const, request: waiting }
      return pairing.request({ platform, userId, userName: toLabel(userName, 80) })
    } catch (error) {
      log.error(
        { event: 'pairing.request_failed', platform, err: error },
        `a request for access was not stored: ${messageOf(error)}`,
      )
      return undefined
    }
  }

  /**
   * Only the person may know the code. A crash between the request and its reply has lost it; later, the person may have lost
   * it, and gets another one after ten minutes.
   */
  async function renew(event: MessageEvent, { platform, requestId, createdAt }: PairingRequest): Promise<Outcome> {
    const isStored = await store.run(() => isReplyStored(`${keyPrefix}${requestId}`))
    const code = isStored ? pairing.replaceCode(platform, requestId) : pairing.renew(platform, requestId)
    if (code === undefined) return 'waiting'
    const id = isStored ? `${requestId}:${randomBytes(8).toString('hex')}` : requestId
    await send(event, id, codeText(command, platform, code, createdAt, clock()))
    return 'created'
  }

  async function send(event: MessageEvent, id: string, text: string): Promise<void> {
    const { source, messageId: replyTo } = event
    const key = `${keyPrefix}${id}`
    const notice = outbox.prepare({ key, target: targetOf(source), kind: 'notice', text, replyTo })
    await store.run(function* () {
      // The codes of earlier requests.
      yield* forgetSentTexts(keyPrefix)
      yield* afterCommit(() => failpoint?.('pairing:replied'))
      yield* enlist(notice, clock())
    })
  }

  return async (event, reason) => {
    const { platform, account, chatType, userId, chatId } = event.source
    const person = JSON.stringify([platform, account, chatType === 'dm', userId ?? chatId])
    const before = handledAt.get(person)
    if (before !== undefined && Math.abs(clock() - before) < quietMs) return
    const current = running.get(person)
    if (current !== undefined) return await current
    const work = handle(event, reason)
      .then(() => handledAt.set(person, clock()))
      .finally(() => running.delete(person))
    running.set(person, work)
    await work
  }
}

/** Groups get no answer, and a bot is no person. */
function mayPair({ chatType, isBot, userId }: SessionSource): boolean {
  return chatType === 'dm' && isBot !== true && userId !== undefined && userId !== ''
}

/** Counts per key in a time window. `take` returns how many were skipped since the last one, or undefined for one too many. */
function createWindow(limit: number, clock: () => number) {
  const windows = new Map<string, { readonly since: number; count: number; skipped: number }>()
  return {
    take(key: string): number | undefined {
      const now = clock()
      const known = windows.get(key)
      const isOpen = known !== undefined && Math.abs(now - known.since) < windowMs
      const window = isOpen ? known : { since: now, count: 0, skipped: known?.skipped ?? 0 }
      windows.set(key, window)
      window.count += 1
      if (window.count > limit) {
        window.skipped += 1
        return undefined
      }
      const { skipped } = window
      window.skipped = 0
      return skipped
    },
  }
}

/** @param requestedAt ms; the code ends one hour later */
function codeText(command: string, platform: string, code: string, requestedAt: number, now: number): string {
  const minutes = Math.min(60, Math.max(1, Math.floor((requestedAt + codeSeconds * 1_000 - now) / 60_000)))
  return `Hi! I don't recognize you yet.\n\nHere's your pairing code: \`${code}\`\n\nAsk the owner of this bot to run:\n\`${command} pairing approve ${platform} ${code}\`\n\nThe code is valid for ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}. If you lose it, write again after ten minutes: you get a new one, and this one ends.`
}

const busyText = 'Too many people ask for access right now. Please try again later.'

const outcomes: Readonly<Record<Outcome, string>> = {
  created: '; a pairing code was sent',
  waiting: '; a request for access waits',
  limited: '; the person asked within ten minutes',
  full: '; three other requests wait (hermes pairing list)',
  locked: '; pairing is locked after wrong codes',
  failed: '; the pairing store does not work (see the log)',
  none: '',
}

function describe(
  { platform, chatType, chatId, userId, userName }: SessionSource,
  reason: string,
  outcome: Outcome,
  skipped: number,
): string {
  const who = `${platform} user ${toLabel(userId ?? 'unknown', 80)}${userName === undefined ? '' : ` (${toLabel(userName, 80)})`}`
  const others = skipped === 0 ? '' : ` (${skipped} others were not recorded before)`
  return `${who} in ${chatType === 'dm' ? 'a direct message' : `${chatType} ${toLabel(chatId, 80)}`}: ${reason}${outcomes[outcome]}${others}`
}
