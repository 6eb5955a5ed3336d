/**
 * Passes updates of Telegram to the gateway, from polling or a webhook, and answers button presses. For polling it remembers which
 * updates are stored, and so may be confirmed.
 */
import {
  isHermesError,
  isRecord,
  messageOf,
  type PlatformAdapter,
  type PressResult,
  type SessionSource,
  targetOf,
} from '#sdk'
import type { TelegramAccount } from '../account.ts'
import type { NormalizeContext } from './message.ts'
import { chatIdOf, type InboundEvent, normalize } from './normalize.ts'
import { asNumber, asRecord } from './payload.ts'

interface IngestState {
  readonly account: Pick<TelegramAccount, 'context' | 'api' | 'stopping'>
  readonly normalizeContext: NormalizeContext
  readonly send: PlatformAdapter['send']
}

/**
 * Resolves when every update is stored, refused or a duplicate, so that it can be confirmed to Telegram. Rejects when one
 * could not be stored. Telegram then delivers all of them again, and the gateway drops those that it stored as duplicates.
 */
export type Ingest = (updates: readonly unknown[]) => Promise<void>

const tooLargeText = 'This message is too large for me. Please send it as a file, or in parts.'
const unknownButtonResult: PressResult = { status: 'stale', text: 'This button is no longer in use.' }
/** The limit of `answerCallbackQuery`. */
const maxCallbackAnswerChars = 200

/** @param send sends a notice to a chat */
export function createIngest(
  account: IngestState['account'],
  normalizeContext: NormalizeContext,
  send: PlatformAdapter['send'],
): Ingest {
  const state: IngestState = { account, normalizeContext, send }
  /** The latest work of each queue. */
  const queues = new Map<string, Promise<void>>()

  /** Calls may overlap. An event that follows one that could not be stored is not stored either, to keep the order. */
  function ingestAfterEarlier(queue: string, events: readonly InboundEvent[]): Promise<void> {
    const earlier = queues.get(queue)
    const work = earlier === undefined ? ingestInOrder(state, events) : earlier.then(() => ingestInOrder(state, events))
    queues.set(queue, work)
    const mayWait = events.slice(earlier === undefined ? 1 : 0)
    for (const event of mayWait)
      if (event.kind === 'event') account.context.acceptIfDelayed(event.event, event.keys, work)
    const forget = () => {
      if (queues.get(queue) === work) queues.delete(queue)
    }
    work.then(forget, forget)
    return work
  }

  return async (updates) => {
    const byQueue = Map.groupBy(readUpdates(state, updates), queueOf)
    const results = await Promise.allSettled([...byQueue].map(([queue, events]) => ingestAfterEarlier(queue, events)))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }
}

/** The messages of a chat keep their order. The press of a button does not wait for them. */
function queueOf(event: InboundEvent): string {
  return `${event.kind === 'press' ? 'presses' : 'messages'} of ${chatIdOf(event)}`
}

/** An update that cannot be parsed is skipped. Otherwise Telegram would deliver it, and nothing after it, forever. */
function readUpdates(state: IngestState, updates: readonly unknown[]): readonly InboundEvent[] {
  if (updates.some((update) => isRecord(update) && 'business_message' in update)) {
    // An answer would be sent in the name of the owner of the business account, to people on no allow list.
    state.account.context.log.info(
      { event: 'telegram.business_message_ignored' },
      'message of a business account is ignored',
    )
  }
  try {
    return normalize(updates, state.normalizeContext)
  } catch (error) {
    state.account.context.log.error(
      { event: 'telegram.update_unreadable', err: error, updates: updates.length },
      `update cannot be parsed: ${messageOf(error)}`,
    )
    return updates.length > 1 ? updates.flatMap((update) => readUpdates(state, [update])) : []
  }
}

async function ingestInOrder(state: IngestState, events: readonly InboundEvent[]): Promise<void> {
  for (const event of events) await ingestEvent(state, event)
}

async function ingestEvent(state: IngestState, event: InboundEvent): Promise<void> {
  switch (event.kind) {
    case 'event':
      return await acceptMessage(state, event)
    case 'change':
      await unlessTooLarge(state.account.context.change(event.change, event.keys))
      return
    case 'press': {
      const result =
        event.press === undefined ? unknownButtonResult : await state.account.context.questions.press(event.press)
      void answerQuery(state, event.queryId, result)
    }
  }
}

async function acceptMessage(
  state: IngestState,
  { event, keys, parts = [] }: Extract<InboundEvent, { kind: 'event' }>,
): Promise<void> {
  const { context } = state.account
  const accepted = await unlessTooLarge(context.accept(event, keys))
  if (accepted === 'too-large') void sendTooLargeNotice(state, event.source)
  // Some parts of the album were accepted earlier. The others are not stored yet.
  else if (accepted.status === 'duplicate')
    for (const part of parts) await unlessTooLarge(context.accept(part.event, part.keys))
}

async function unlessTooLarge<T>(work: Promise<T>): Promise<T | 'too-large'> {
  try {
    return await work
  } catch (error) {
    if (isHermesError(error, 'inbox/too-large')) return 'too-large'
    throw error
  }
}

/** Runs in the background. Never rejects. */
async function sendTooLargeNotice(state: IngestState, source: SessionSource): Promise<void> {
  const { context, stopping } = state.account
  const { chatId: chat, messageId: replyTo } = source
  const target = targetOf(source)
  try {
    const result = await context.rateLimited(target, stopping.signal, (signal) =>
      state.send({ deliveryId: '', target, text: tooLargeText, kind: 'notice', replyTo }, signal),
    )
    if (!result.success) {
      context.log.info(
        { event: 'telegram.notice_failed', chat, reason: result.error },
        'notice about a too large message failed',
      )
    }
  } catch (error) {
    if (!stopping.signal.aborted)
      context.log.warn({ event: 'telegram.notice_failed', chat, err: error }, 'notice about a too large message failed')
  }
}

/** Never rejects. Telegram refuses the answer to an old press, and the user no longer waits for it. */
async function answerQuery(state: IngestState, queryId: string, { text }: PressResult): Promise<void> {
  const { api, stopping } = state.account
  const shown = text.slice(0, maxCallbackAnswerChars).toWellFormed()
  try {
    await api.call('answerCallbackQuery', { callback_query_id: queryId, text: shown }, stopping.signal)
  } catch (error) {
    state.account.context.log.debug(
      { event: 'telegram.press_answer_failed', err: error },
      `button press cannot be answered: ${messageOf(error)}`,
    )
  }
}

/**
 * The updates that Telegram has delivered and that are not confirmed. One whose storing takes long, such as behind a slow
 * plugin, delays the confirmation of later updates, but not their storing.
 */
export interface UnconfirmedUpdates {
  /** Returns the updates of a response that must be stored: neither stored already nor being stored. */
  selectNew(updates: readonly unknown[]): readonly unknown[]
  /** Starts to store updates. Never rejects: `takeFailure` returns the error. */
  store(updates: readonly unknown[]): void
  /** Resolves when nothing is being stored; undefined if that is the case now. */
  settled(): Promise<unknown> | undefined
  /** The error of the last attempt that failed since the previous call. */
  takeFailure(): { readonly error: unknown } | undefined
  /** The last update before the first one that is not stored. Forgets the updates up to it. */
  takeConfirmable(): number | undefined
}

type UpdateState = 'storing' | 'stored' | 'failed'

/** @param ingest resolves when all updates are stored */
export function createUnconfirmedUpdates(ingest: (updates: readonly unknown[]) => Promise<void>): UnconfirmedUpdates {
  const states = new Map<number, UpdateState>()
  const work = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | undefined

  function setStates(updates: readonly unknown[], state: UpdateState): void {
    for (const update of updates) {
      const id = idOf(update)
      if (id !== undefined) states.set(id, state)
    }
  }

  async function run(updates: readonly unknown[]): Promise<void> {
    try {
      await ingest(updates)
      setStates(updates, 'stored')
    } catch (error) {
      setStates(updates, 'failed')
      failure = { error }
    }
  }

  return {
    selectNew: (updates) =>
      updates.filter((update) => {
        const state = states.get(idOf(update) ?? -1)
        return state === undefined || state === 'failed'
      }),
    store(updates) {
      setStates(updates, 'storing')
      const storing = run(updates).finally(() => work.delete(storing))
      work.add(storing)
    },
    settled: () => (work.size === 0 ? undefined : Promise.all(work)),
    takeFailure() {
      const taken = failure
      failure = undefined
      return taken
    },
    takeConfirmable() {
      let last: number | undefined
      for (const id of [...states.keys()].sort((a, b) => a - b)) {
        if (states.get(id) !== 'stored') break
        states.delete(id)
        last = id
      }
      return last
    },
  }
}

function idOf(update: unknown): number | undefined {
  const id = asNumber(asRecord(update)['update_id'])
  return id !== undefined && Number.isSafeInteger(id) && id >= 0 ? id : undefined
}

/** Whether Telegram numbered any of these updates, so that they can be confirmed. */
export function haveIds(updates: readonly unknown[]): boolean {
  return updates.some((update) => idOf(update) !== undefined)
}
