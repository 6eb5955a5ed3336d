/**
 * Hands in what came from Telegram, whichever way it came, and answers what must be answered at once.
 */
import {
  isHermesError,
  messageOf,
  type PlatformContext,
  type PressResult,
  type SendResult,
  type SessionSource,
  targetOf,
} from '#sdk'
import type { NormalizeContext } from './context.ts'
import { chatIdOf, type InboundEvent, normalize } from './normalize.ts'

export interface IngestDeps {
  readonly context: Pick<PlatformContext, 'accept' | 'change' | 'press' | 'rateLimited' | 'log'>
  readonly normalizeContext: NormalizeContext
  /** Shows a line to whoever pressed a button. May throw: they are not told then. */
  answerCallbackQuery(queryId: string, text: string, signal: AbortSignal): Promise<unknown>
  /** Says something in a chat. */
  sendNotice(source: SessionSource, text: string, signal: AbortSignal): Promise<SendResult>
  /** Aborts when the account is disconnected. */
  readonly signal: AbortSignal
}

/**
 * Resolves when all of the updates are on disk, refused or known already: then Telegram may be told "got it". Rejects when
 * anything could not be stored; what was stored meanwhile is recognised when it comes again.
 */
export type Ingest = (updates: readonly unknown[]) => Promise<void>

const tooLargeText = 'This message is too large for me. Please send it as a file, or in parts.'
const staleButtonText = 'This button is no longer in use.'
/** Telegram takes so many characters for a line above the chat. */
const maxCallbackAnswerChars = 200

export function createIngest(deps: IngestDeps): Ingest {
  const { context, normalizeContext, signal } = deps
  const { log } = context

  return async (updates) => {
    const chats = Map.groupBy(read(updates), chatIdOf)
    const all = await Promise.allSettled([...chats.values()].map(inOrder))
    for (const one of all) if (one.status === 'rejected') throw one.reason
  }

  /** One that cannot be read must not stop all those behind it for ever. */
  function read(updates: readonly unknown[]): readonly InboundEvent[] {
    try {
      return normalize(updates, normalizeContext)
    } catch (error) {
      log.error({ error, updates: updates.length }, `an update could not be read: ${messageOf(error)}`)
      return updates.length > 1 ? updates.flatMap((update) => read([update])) : []
    }
  }

  async function inOrder(intakes: readonly InboundEvent[]): Promise<void> {
    for (const intake of intakes) await handIn(intake)
  }

  async function handIn(intake: InboundEvent): Promise<void> {
    switch (intake.kind) {
      case 'event':
        return await acceptEvent(intake)
      case 'change':
        await unlessTooLarge(context.change(intake.change, intake.keys))
        return
      case 'press': {
        const answer = intake.press === undefined ? staleAnswer : await context.press(intake.press)
        void answerQuery(intake.queryId, answer)
      }
    }
  }

  async function acceptEvent({ event, keys, parts = [] }: Extract<InboundEvent, { kind: 'event' }>): Promise<void> {
    const accepted = await unlessTooLarge(context.accept(event, keys))
    if (accepted === 'too-large') void explain(event.source)
    // Some parts of the album came in before the others: those are not known yet.
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

  /** Never rejects, and nothing waits for it. */
  async function explain(source: SessionSource): Promise<void> {
    try {
      const result = await context.rateLimited(targetOf(source), signal, (call) =>
        deps.sendNotice(source, tooLargeText, call),
      )
      if (!result.success)
        log.info({ chat: source.chatId, error: result.error }, 'nobody could be told that a message is too large')
    } catch (error) {
      if (!signal.aborted) log.warn({ error, chat: source.chatId }, 'nobody could be told that a message is too large')
    }
  }

  /** Never rejects: a press that is too old cannot be answered, and needs none. */
  async function answerQuery(queryId: string, { text }: PressResult): Promise<void> {
    try {
      await deps.answerCallbackQuery(queryId, text.slice(0, maxCallbackAnswerChars).toWellFormed(), signal)
    } catch (error) {
      log.debug({ error }, `the press of a button could not be answered: ${messageOf(error)}`)
    }
  }
}

const staleAnswer: PressResult = { status: 'stale', text: staleButtonText }
