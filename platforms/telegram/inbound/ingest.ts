/**
 * Passes updates of Telegram to the gateway, from polling or a webhook, and answers button presses.
 */
import {
  isHermesError,
  isRecord,
  messageOf,
  type PlatformContext,
  type PressResult,
  type SendResult,
  type SessionSource,
  targetOf,
} from '#sdk'
import type { NormalizeContext } from './message.ts'
import { chatIdOf, type InboundEvent, normalize } from './normalize.ts'

export interface IngestDeps {
  readonly context: Pick<PlatformContext, 'accept' | 'acceptIfDelayed' | 'change' | 'questions' | 'rateLimited' | 'log'>
  readonly normalizeContext: NormalizeContext
  /** Shows a short text to the user who pressed a button. May throw; the user then sees nothing. */
  answerCallbackQuery(queryId: string, text: string, signal: AbortSignal): Promise<unknown>
  /** Sends a notice to a chat. */
  sendNotice(source: SessionSource, text: string, signal: AbortSignal): Promise<SendResult>
  /** Aborts when the account is disconnected. */
  readonly signal: AbortSignal
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

export function createIngest(deps: IngestDeps): Ingest {
  /** The latest work of each queue. */
  const queues = new Map<string, Promise<void>>()

  /** Calls may overlap. An event that follows one that could not be stored is not stored either, to keep the order. */
  function ingestAfterEarlier(queue: string, events: readonly InboundEvent[]): Promise<void> {
    const earlier = queues.get(queue)
    const work = earlier === undefined ? ingestInOrder(deps, events) : earlier.then(() => ingestInOrder(deps, events))
    queues.set(queue, work)
    const mayWait = events.slice(earlier === undefined ? 1 : 0)
    for (const event of mayWait) if (event.kind === 'event') deps.context.acceptIfDelayed(event.event, event.keys, work)
    const forget = () => {
      if (queues.get(queue) === work) queues.delete(queue)
    }
    work.then(forget, forget)
    return work
  }

  return async (updates) => {
    const byQueue = Map.groupBy(readUpdates(deps, updates), queueOf)
    const results = await Promise.allSettled([...byQueue].map(([queue, events]) => ingestAfterEarlier(queue, events)))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }
}

/** The messages of a chat keep their order. The press of a button does not wait for them. */
function queueOf(event: InboundEvent): string {
  return `${event.kind === 'press' ? 'presses' : 'messages'} of ${chatIdOf(event)}`
}

/** An update that cannot be parsed is skipped. Otherwise Telegram would deliver it, and nothing after it, forever. */
function readUpdates(deps: IngestDeps, updates: readonly unknown[]): readonly InboundEvent[] {
  if (updates.some((update) => isRecord(update) && 'business_message' in update)) {
    // An answer would be sent in the name of the owner of the business account, to people on no allow list.
    deps.context.log.info({ event: 'telegram.business_message_ignored' }, 'message of a business account is ignored')
  }
  try {
    return normalize(updates, deps.normalizeContext)
  } catch (error) {
    deps.context.log.error(
      { event: 'telegram.update_unreadable', err: error, updates: updates.length },
      `update cannot be parsed: ${messageOf(error)}`,
    )
    return updates.length > 1 ? updates.flatMap((update) => readUpdates(deps, [update])) : []
  }
}

async function ingestInOrder(deps: IngestDeps, events: readonly InboundEvent[]): Promise<void> {
  for (const event of events) await ingestEvent(deps, event)
}

async function ingestEvent(deps: IngestDeps, event: InboundEvent): Promise<void> {
  switch (event.kind) {
    case 'event':
      return await acceptMessage(deps, event)
    case 'change':
      await unlessTooLarge(deps.context.change(event.change, event.keys))
      return
    case 'press': {
      const result = event.press === undefined ? unknownButtonResult : await deps.context.questions.press(event.press)
      void answerQuery(deps, event.queryId, result)
    }
  }
}

async function acceptMessage(
  deps: IngestDeps,
  { event, keys, parts = [] }: Extract<InboundEvent, { kind: 'event' }>,
): Promise<void> {
  const { context } = deps
  const accepted = await unlessTooLarge(context.accept(event, keys))
  if (accepted === 'too-large') void sendTooLargeNotice(deps, event.source)
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
async function sendTooLargeNotice(deps: IngestDeps, source: SessionSource): Promise<void> {
  const { context, signal, sendNotice } = deps
  const chat = source.chatId
  try {
    const result = await context.rateLimited(targetOf(source), signal, (call) => sendNotice(source, tooLargeText, call))
    if (!result.success) {
      context.log.info(
        { event: 'telegram.notice_failed', chat, reason: result.error },
        'notice about a too large message failed',
      )
    }
  } catch (error) {
    if (!signal.aborted)
      context.log.warn({ event: 'telegram.notice_failed', chat, err: error }, 'notice about a too large message failed')
  }
}

/** Never rejects. Telegram refuses the answer to an old press, and the user no longer waits for it. */
async function answerQuery(deps: IngestDeps, queryId: string, { text }: PressResult): Promise<void> {
  try {
    await deps.answerCallbackQuery(queryId, text.slice(0, maxCallbackAnswerChars).toWellFormed(), deps.signal)
  } catch (error) {
    deps.context.log.debug(
      { event: 'telegram.press_answer_failed', err: error },
      `button press cannot be answered: ${messageOf(error)}`,
    )
  }
}
