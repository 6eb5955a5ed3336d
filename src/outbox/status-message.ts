/**
 * A message that shows what a turn does and is edited while it changes. It is not part of the conversation: it is not stored,
 * and it neither delays nor breaks a turn. Its address is stored, so that a turn that is resumed after a crash ends it.
 * Loaded when the first one is shown.
 */
import { messageOf } from '../lib/errors.ts'
import type { OutboundMessage, SendResult } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { OutboxContext, Sender } from './context.ts'
import type { Drafts } from './draft.ts'
import { firstStatusPart } from './drafts.ts'
import { callWithTimeout } from './platform-calls.ts'
import { type Chat, chatOf, deleteDraft, storeDraft } from './queries.ts'
import { fitEnd, graphemeBoundary, measureOf } from './split-message.ts'

export interface StatusMessage {
  /** Whether the platform can edit it. Otherwise it keeps its first text. */
  readonly canChange: boolean
  /** Takes the newest text, Markdown. Returns at once and never throws. */
  update(text: string): void
  /**
   * Shows the last text, or removes the message where this is wanted and the platform can. A message that has not appeared
   * yet never appears. Returns at once. Later calls have no effect.
   */
  end(text: string, options?: { readonly remove?: boolean }): void
}

export interface StatusOptions {
  readonly target: Target
  readonly turnId: string
  /** The number of the status message in its turn, from 0. */
  readonly index: number
  /** What ends earlier than this is not shown, ms. */
  readonly delayMs: number
}

/** Consecutive failures after which a message is not updated any more. */
const maxFailures = 3
/** Replies of the chat wait for a call in flight, so the limit is lower than theirs. */
const callTimeoutMs = 15_000
/** Between two edits, where neither the platform nor the configuration asks for more. */
const minIntervalMs = 1_000
/** Between two looks whether earlier replies of the chat have been sent. */
const busyRetryMs = 250
/** Between two looks whether the platform is connected, and how often. */
const reconnectRetryMs = 1_000
const maxReconnectRetries = 120

interface StatusState {
  readonly context: OutboxContext
  readonly drafts: Drafts
  readonly options: StatusOptions
  readonly chat: Chat
  readonly part: number
  /** Aborts when the message is not to appear any more. */
  readonly cancelled: AbortController
  /** Aborts with `cancelled` and when the gateway stops. */
  readonly waiting: AbortSignal
  isBusy(chat: Chat): boolean
  latest: string
  removes: boolean
  isRemoved: boolean
  shown: string | undefined
  address: string | undefined
  isSending: boolean
  hasEnded: boolean
  failures: number
  reconnectRetries: number
  nextAt: number
}

export function openStatusMessage(
  context: OutboxContext,
  drafts: Drafts,
  isBusy: (chat: Chat) => boolean,
  options: StatusOptions,
): StatusMessage {
  const chat = chatOf(options.target)
  const part = firstStatusPart + options.index
  const address = drafts.addressOf(options.turnId, part)?.platformId
  const cancelled = new AbortController()
  const state: StatusState = {
    context,
    drafts,
    options,
    chat,
    part,
    cancelled,
    waiting: AbortSignal.any([cancelled.signal, context.drainSignal]),
    isBusy,
    latest: '',
    removes: false,
    isRemoved: false,
    shown: undefined,
    address,
    isSending: false,
    hasEnded: false,
    failures: 0,
    reconnectRetries: 0,
    nextAt: address === undefined ? context.clock() + options.delayMs : 0,
  }
  let isRunning = false

  async function run(): Promise<void> {
    try {
      while (hasWork(state)) await step(state)
      if (state.hasEnded) await forget(state)
    } catch (error) {
      const { platform, chatId } = chat
      context.log.warn({ event: 'outbox.status_failed', platform, chat: chatId, err: error }, messageOf(error))
      state.failures = maxFailures
    } finally {
      isRunning = false
    }
  }

  function start(): void {
    if (isRunning) return
    isRunning = true
    drafts.track(run())
  }

  return {
    canChange: context.availableSender(chat)?.edit !== undefined,
    update(text) {
      if (state.hasEnded) return
      state.latest = text
      start()
    },
    end(text, { remove = false } = {}) {
      if (state.hasEnded) return
      state.hasEnded = true
      state.latest = text
      state.removes = remove
      if (state.address === undefined && !state.isSending) cancelled.abort()
      start()
    },
  }
}

function hasWork(state: StatusState): boolean {
  const { context, latest, shown, address, hasEnded, removes, isRemoved, failures } = state
  if (failures >= maxFailures || isRemoved || context.drainSignal.aborted) return false
  if (hasEnded && address === undefined) return false
  return removes || (latest !== '' && latest !== shown)
}

/** Waits until the next call is due and permitted before it chooses the text, so that the newest one is shown. */
async function step(state: StatusState): Promise<void> {
  const { context, chat, waiting, nextAt } = state
  const waitMs = nextAt - context.clock()
  if (waitMs > 0) return await context.sleep(waitMs, waiting)
  if (context.availableSender(chat) === undefined) return await waitForPlatform(state)
  if (state.address === undefined && state.isBusy(chat)) return await context.sleep(busyRetryMs, waiting)
  const permit =
    context.rateLimiter.tryAcquire(chat, 'draft') ?? (await context.rateLimiter.acquire(chat, 'draft', waiting))
  if (permit === undefined) return
  try {
    const sender = context.availableSender(chat)
    if (sender === undefined || !hasWork(state)) return
    state.nextAt = context.clock() + intervalOf(context, sender)
    const { latest } = state
    const operation = operationOf(state, sender)
    if (operation === undefined) {
      state.shown = latest
      state.removes = false
      return
    }
    state.isSending = true
    const result = await callSender(state, latest, operation)
    state.isSending = false
    permit.record(result, context.clock())
    if (result.success) await recordSuccess(state, latest, operation, result)
    else recordFailure(state, result)
  } finally {
    permit.release()
  }
}

async function waitForPlatform(state: StatusState): Promise<void> {
  state.reconnectRetries += 1
  if (state.reconnectRetries > maxReconnectRetries) state.failures = maxFailures
  else await state.context.sleep(reconnectRetryMs, state.waiting)
}

function intervalOf({ settings }: OutboxContext, { draftIntervalMs = 0 }: Sender): number {
  return Math.max(minIntervalMs, draftIntervalMs, settings().streaming.edit_interval * 1_000)
}

/** A call of the adapter; undefined when the platform cannot change the message. */
interface Operation {
  readonly kind: 'send' | 'edit' | 'remove'
  run(message: OutboundMessage, signal: AbortSignal): Promise<SendResult>
}

function operationOf(state: StatusState, sender: Sender): Operation | undefined {
  const { address, latest, shown, removes } = state
  const { target } = state.options
  const edit = sender.edit?.bind(sender)
  const remove = sender.remove?.bind(sender)
  if (address === undefined) return { kind: 'send', run: (message, signal) => sender.send(message, signal) }
  if (removes && remove !== undefined)
    return { kind: 'remove', run: (_message, signal) => remove(target, address, signal) }
  if (edit === undefined || latest === '' || latest === shown) return undefined
  return { kind: 'edit', run: (message, signal) => edit(address, message, true, signal) }
}

async function callSender(
  { context, chat, options, part }: StatusState,
  text: string,
  { run }: Operation,
): Promise<SendResult> {
  const { target, turnId } = options
  const deliveryId = `status:${turnId}:${part - firstStatusPart}`
  const message = { deliveryId, target, text: fitText(context, chat, text), kind: 'notice' as const, turnId }
  try {
    return await callWithTimeout(context.abortSignal, (signal) => run(message, signal), callTimeoutMs)
  } catch (error) {
    return { success: false, problem: 'temporary', error: messageOf(error), maybeSent: true }
  }
}

/** Without secrets, and cut to one message. */
function fitText({ secretFilter, limits }: OutboxContext, chat: Chat, text: string): string {
  const { maxChars, unit } = limits(chat)
  const whole = secretFilter.withhold(text)
  const end = fitEnd(whole, 0, maxChars, measureOf(unit))
  return whole.slice(0, graphemeBoundary(whole, 0, end)).toWellFormed()
}

function recordFailure(state: StatusState, { problem, error: reason }: Extract<SendResult, { success: false }>): void {
  const { context, chat, options, address } = state
  // A first message that may have been sent is not sent again.
  const isFinal = problem !== 'rate-limited' && (address === undefined || problem === 'unauthorised')
  state.failures = isFinal ? maxFailures : state.failures + 1
  const { platform, chatId } = chat
  context.log.debug(
    { event: 'outbox.status_not_shown', platform, chat: chatId, turn: options.turnId, reason },
    'a status message could not be shown',
  )
}

async function recordSuccess(
  state: StatusState,
  text: string,
  { kind }: Operation,
  { messageId }: Extract<SendResult, { success: true }>,
): Promise<void> {
  const { context, chat, options, part } = state
  state.failures = 0
  state.shown = text
  state.isRemoved = kind === 'remove'
  if (kind !== 'send') return
  if (messageId === undefined) {
    // Without an id it can never be changed.
    state.failures = maxFailures
    return
  }
  state.address = messageId
  const stored = { turn_id: options.turnId, part, platform_id: messageId }
  await context.store.run(() => storeDraft(stored, chat, context.clock()))
}

async function forget({ context, drafts, options: { turnId }, part, address }: StatusState): Promise<void> {
  if (address === undefined) return
  drafts.forget(turnId, part)
  if (context.drainSignal.aborted) return
  await context.store.run(() => deleteDraft(turnId, part))
}
