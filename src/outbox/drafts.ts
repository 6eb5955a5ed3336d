/**
 * Live drafts: shows a reply while the model writes it, as a message that is edited at a limited rate, or as a native draft
 * of the platform, which vanishes by itself. A draft never delays the model.
 */
import { messageOf } from '../lib/errors.ts'
import type { OutboundMessage, SendResult } from '../message/outbound.ts'
import { mayBecomeNarration, mayBecomeSilence } from '../message/silence.ts'
import type { OutboxConfig } from './config.ts'
import type { OutboxContext, Sender } from './context.ts'
import type { Draft, DraftAddress, DraftOptions, Drafts } from './draft.ts'
import { visibleDraftText } from './extract-media.ts'
import { callWithTimeout } from './platform-calls.ts'
import { type Chat, chatOf, storeDraft } from './queries.ts'
import type { Permit } from './rate-limiter.ts'
import { formatDraftText } from './split-message.ts'

/** The state that all drafts share. */
interface DraftRegistry {
  readonly context: OutboxContext
  /** By `draftKey`: the platform's id of the draft. */
  readonly addresses: Map<string, string>
  /** The id of the latest native draft. */
  lastNativeId: number
  /** Drafts that are calling the platform or waiting to do so. */
  readonly active: Set<Draft>
  /** Whether replies of the chat are still to be sent. A draft appears after them. */
  isBusy(chat: Chat): boolean
}

/** How replies are streamed (contract §3.7): `mode` implies that streaming is on, `transport` alone does not. */
export function streamingMethod({ streaming }: OutboxConfig): 'auto' | 'draft' | 'edit' | 'off' {
  const { enabled, mode, transport } = streaming
  return mode ?? (enabled ? transport : 'off')
}

/** The addresses of status messages are stored as those of drafts, with parts from this number. */
export const firstStatusPart = 1_000_000

export function createDrafts(context: OutboxContext, isBusy: (chat: Chat) => boolean): Drafts {
  const tracked = new Set<Promise<void>>()
  const registry: DraftRegistry = { context, addresses: new Map(), lastNativeId: 0, active: new Set(), isBusy }

  function addressOf(turnId: string, part: number): DraftAddress | null {
    const platformId = registry.addresses.get(draftKey({ turnId, part }))
    return platformId === undefined ? null : toAddress(platformId, '', part)
  }

  return {
    addressOf,
    open(options) {
      const method = streamingMethod(context.settings())
      const isEnabled = method !== 'off'
      const sender = isEnabled ? context.availableSender(chatOf(options.target)) : undefined
      const isShown = sender !== undefined && sender.showsDrafts?.(options.target) !== false
      const isNative = isShown && method !== 'edit' && sender.nativeDrafts?.isSupported(options.target) === true
      if (isShown && (isNative || sender.edit !== undefined))
        return createDraft(registry, options, { showsProvisionalText: sender.appendsDrafts !== true, isNative })
      // The turn may have shown a draft before a restart, which the final reply must still replace.
      const { turnId, part = 0, resumed = false } = options
      const isConnected = sender !== undefined
      if (addressOf(turnId, part) === null && (!isEnabled || !resumed || isConnected)) return null
      return {
        showsProvisionalText: false,
        update: () => undefined,
        close: async () => addressOf(turnId, part) ?? lostAddress(options),
        wasShown: () => addressOf(turnId, part) !== null,
      }
    },
    restore(stored) {
      for (const { turn_id: turnId, part, platform_id } of stored)
        registry.addresses.set(draftKey({ turnId, part }), platform_id)
    },
    forget: (turnId, part) => void registry.addresses.delete(draftKey({ turnId, part })),
    leftStatuses(turnId) {
      const indexes: number[] = []
      for (const key of registry.addresses.keys()) {
        const index = key.startsWith(`${turnId}:`) ? Number(key.slice(turnId.length + 1)) - firstStatusPart : -1
        if (index >= 0) indexes.push(index)
      }
      return indexes
    },
    track(work) {
      tracked.add(work)
      void work.finally(() => tracked.delete(work))
    },
    async close() {
      await Promise.all([...[...registry.active].map((draft) => draft.close()), ...tracked])
    },
  }
}

function toAddress(platformId: string, shownText: string, part = 0): DraftAddress {
  return { platformId, shownText, ...(part === 0 ? {} : { part }) }
}

function lostAddress(options: Pick<DraftOptions, 'turnId' | 'part'>): DraftAddress {
  return { ...toAddress(lostDraftAddress(options), '', options.part), deliveryId: deliveryIdOf(options) }
}

function draftKey({ turnId, part = 0 }: Pick<DraftOptions, 'turnId' | 'part'>): string {
  return part === 0 ? turnId : `${turnId}:${part}`
}

function deliveryIdOf(draft: Pick<DraftOptions, 'turnId' | 'part'>): string {
  return `draft:${draftKey(draft)}`
}

/** An adapter may use the delivery id as the platform id of a message, so the address of a lost draft differs from it. */
const lostPrefix = 'lost:'

/** Stands for the platform id of a draft while that id is not known. */
function lostDraftAddress(draft: Pick<DraftOptions, 'turnId' | 'part'>): string {
  return lostPrefix + deliveryIdOf(draft)
}

/** The delivery id of a lost draft of this turn; undefined for the platform id of a message. */
export function lostDeliveryId(address: string, turnId: string | null | undefined): string | undefined {
  if (turnId === null || turnId === undefined) return undefined
  const whole = lostDraftAddress({ turnId })
  const isLost = address === whole || address.startsWith(`${whole}:`)
  return isLost ? address.slice(lostPrefix.length) : undefined
}

/** Consecutive failures after which a draft is no longer updated. */
const maxFailures = 3
/** The ids of native drafts are positive and fit into 31 bits. */
const maxNativeId = 0x7fff_ffff
/** The end of a turn waits for the last call of its draft, so the limit is lower than for a reply. */
const callTimeoutMs = 15_000

interface DraftState {
  readonly registry: DraftRegistry
  readonly options: DraftOptions
  readonly chat: Chat
  readonly closing: AbortController
  closed: boolean
  /** The newest text of the model. */
  latest: string
  /** The text that was evaluated last; nothing is done until a different one arrives. */
  processed: string | undefined
  /** The text that the platform shows; `undefined` when it is not known. */
  shown: string | undefined
  /** When the draft was first shown, ms. */
  shownSince: number | undefined
  /** The id of a native draft; undefined while a message is edited. */
  nativeId: number | undefined
  /** The message cannot show more text. */
  isFull: boolean
  failures: number
  /** Whether the first message may have been sent without its address being known. */
  isUnconfirmed: boolean
  /** Whether the platform was asked for a message of unknown address, or there is none. */
  lookedUp: boolean
  nextUpdateAt: number
  /** Multiplies the delay between two edits. */
  backoffFactor: number
}

function createDraft(
  registry: DraftRegistry,
  options: DraftOptions,
  { showsProvisionalText, isNative }: { showsProvisionalText: boolean; isNative: boolean },
): Draft {
  // A message that was shown before a restart is continued.
  const startsNative = isNative && !registry.addresses.has(draftKey(options))
  if (startsNative) registry.lastNativeId = (registry.lastNativeId % maxNativeId) + 1
  const state: DraftState = {
    registry,
    options,
    chat: chatOf(options.target),
    closing: new AbortController(),
    closed: false,
    latest: '',
    processed: '',
    shown: undefined,
    shownSince: undefined,
    nativeId: startsNative ? registry.lastNativeId : undefined,
    isFull: false,
    failures: 0,
    isUnconfirmed: false,
    lookedUp: options.resumed !== true,
    nextUpdateAt: 0,
    backoffFactor: 1,
  }
  let isRunning = false
  let running = Promise.resolve()

  /** Shows new text until there is none left. Never rejects. */
  async function run(): Promise<void> {
    registry.active.add(draft)
    try {
      while (hasUpdate(state)) await showUpdate(state)
    } catch (error) {
      stopUpdates(state, messageOf(error))
    } finally {
      registry.active.delete(draft)
      isRunning = false
    }
  }

  const draft: Draft = {
    showsProvisionalText,
    update(fullText) {
      if (state.closed || state.isFull || registry.context.drainSignal.aborted) return
      state.latest = fullText
      if (isRunning) return
      isRunning = true
      running = run()
    },
    async close() {
      state.closed = true
      state.closing.abort()
      await running
      const platformId = registry.addresses.get(draftKey(options))
      if (platformId !== undefined) {
        const { shown = '', shownSince } = state
        return { ...toAddress(platformId, shown, options.part), shownSince }
      }
      return mayBeLost(state) ? lostAddress(options) : null
    },
    wasShown: () => state.shownSince !== undefined || registry.addresses.has(draftKey(options)),
  }
  return draft
}

/** Whether a message may be in the chat, and its platform can be asked for it. Its cursor would stay beside the reply. */
function mayBeLost({ chat, lookedUp, registry }: DraftState): boolean {
  if (lookedUp) return false
  const sender = registry.context.availableSender(chat)
  return sender === undefined || (sender.resolveUnknown !== undefined && sender.idempotentSends !== true)
}

function hasUpdate({ chat, closed, latest, processed, registry }: DraftState): boolean {
  return !closed && latest !== processed && registry.context.availableSender(chat) !== undefined
}

/** Waits until the next edit is due and permitted before it chooses the text, so that the newest one is shown. */
async function showUpdate(state: DraftState): Promise<void> {
  const { chat, closing, nextUpdateAt } = state
  const { context } = state.registry
  const waitMs = nextUpdateAt - context.clock()
  if (waitMs > 0) return await context.sleep(waitMs, closing.signal)
  const permit =
    context.rateLimiter.tryAcquire(chat, 'draft') ?? (await context.rateLimiter.acquire(chat, 'draft', closing.signal))
  if (permit === undefined) return
  try {
    const sender = state.closed ? undefined : context.availableSender(chat)
    if (sender === undefined) return
    state.processed = state.latest
    const text = selectText(state, sender)
    if (text !== undefined) await show(state, sender, text, permit)
  } finally {
    permit.release()
  }
}

/** A fast test for texts that can become the token of silence. */
const silenceHint = /^\s*[[sn静沉]/i
/** The same for texts that may only say that they are silent. */
const narrationHint = /^\s*[.…🔇*_~`([{]/u

/** Adapters that accept updates this often, ms, show a stream. The others edit a message. */
const maxLiveIntervalMs = 100

function isLive({ draftIntervalMs = Number.POSITIVE_INFINITY }: Sender): boolean {
  return draftIntervalMs <= maxLiveIntervalMs
}

/** The delay until the next update of a draft, ms. */
function intervalOf({ nativeId, registry }: DraftState, sender: Sender): number {
  if (nativeId !== undefined && sender.nativeDrafts !== undefined) return sender.nativeDrafts.intervalMs
  const configured = registry.context.settings().streaming.edit_interval * 1_000
  const { draftIntervalMs } = sender
  return draftIntervalMs === undefined || (!isLive(sender) && draftIntervalMs < configured)
    ? configured
    : draftIntervalMs
}

/** `undefined` when the visible text has not changed, or is too short for the first message. */
function selectText(state: DraftState, sender: Sender): string | undefined {
  const { chat, latest, registry } = state
  const { context } = registry
  const { buffer_threshold: threshold, cursor } = context.settings().streaming
  const allowed = context.secretFilter.withholdPartial(latest)
  const text = keepsMediaTags(sender) ? allowed : visibleDraftText(allowed)
  if (text === '') return undefined
  const isNative = state.nativeId !== undefined
  if (isNative ? state.shown === undefined : !registry.addresses.has(draftKey(state.options))) {
    // A page or a client that reads a stream shows every character. The threshold is for messages that are edited.
    const minChars = isLive(sender) ? 1 : threshold
    if (text.trim().length < minChars || mayStaySilent(text)) return undefined
    // A new message must not overtake earlier ones. The next update tries again.
    if (registry.isBusy(chat)) return undefined
  }
  const drawsCursor = isNative || sender.drawsCursor === true
  const draftText = formatDraftText(text, context.limits(chat), drawsCursor ? '' : cursor)
  state.isFull = draftText.isFull
  return draftText.text === state.shown ? undefined : draftText.text
}

function mayStaySilent(text: string): boolean {
  return (silenceHint.test(text) && mayBecomeSilence(text)) || (narrationHint.test(text) && mayBecomeNarration(text))
}

/**
 * A platform that reads the stored history appends the end of a reply to the streamed text, which therefore stays
 * unchanged. Elsewhere the media tags are removed from drafts as they are from the reply.
 */
function keepsMediaTags({ idempotentSends, sendsAttachments }: Sender): boolean {
  return idempotentSends === true && sendsAttachments !== true
}

async function show(state: DraftState, sender: Sender, text: string, permit: Permit): Promise<void> {
  const { options, registry } = state
  const { context } = registry
  const address = registry.addresses.get(draftKey(options))
  const message = toMessage(state, text)
  const { nativeId } = state
  if (nativeId === undefined && address === undefined && !state.lookedUp)
    return await continueLostDraft(state, sender, message)
  state.nextUpdateAt = context.clock() + intervalOf(state, sender) * state.backoffFactor
  const result = await callSender(context, sender, message, { nativeId, address })
  permit.record(result, context.clock())
  if (!result.success) return handleFailure(state, result, address, sender)
  state.failures = 0
  state.shown = text
  state.shownSince ??= context.clock()
  if (nativeId !== undefined || address !== undefined) return
  if (result.messageId === undefined) return stopUpdates(state, 'the platform returned no message id')
  await storeAddress(state, result.messageId)
}

function toMessage({ chat, options, registry }: DraftState, text: string): OutboundMessage {
  const { target, turnId, replyTo } = options
  const policy = registry.context.replyPolicy(chat).replyTo
  const refersToQuestion = policy === 'all' || (policy === 'first' && (options.part ?? 0) === 0)
  return {
    deliveryId: deliveryIdOf(options),
    target,
    text,
    kind: 'draft',
    turnId,
    ...(refersToQuestion && replyTo !== undefined ? { replyTo } : {}),
  }
}

/** Looks for a first message whose address was lost, so that no second one is sent. Rejects when the lookup fails. */
async function continueLostDraft(state: DraftState, sender: Sender, message: OutboundMessage): Promise<void> {
  state.processed = undefined
  const { findLostDraft } = await import('./lost-drafts.ts')
  const draft = await findLostDraft(sender, message, state.registry.context.abortSignal)
  state.lookedUp = true
  if (typeof draft === 'object') await storeAddress(state, draft.messageId)
  else if (draft === 'unknown' && state.isUnconfirmed) stopUpdates(state, 'it is unknown whether the draft was sent')
}

async function callSender(
  context: OutboxContext,
  sender: Sender,
  message: OutboundMessage,
  { nativeId, address }: { nativeId: number | undefined; address: string | undefined },
): Promise<SendResult> {
  const edit = sender.edit?.bind(sender)
  const { nativeDrafts } = sender
  if (nativeId === undefined ? edit === undefined : nativeDrafts === undefined)
    return { success: false, problem: 'rejected', error: 'the platform cannot edit messages' }
  try {
    const call = (signal: AbortSignal) => {
      if (nativeId !== undefined && nativeDrafts !== undefined) return nativeDrafts.show(nativeId, message, signal)
      return address === undefined || edit === undefined
        ? sender.send(message, signal)
        : edit(address, message, false, signal)
    }
    return await callWithTimeout(context.abortSignal, call, callTimeoutMs)
  } catch (error) {
    return { success: false, problem: 'temporary', error: messageOf(error), maybeSent: true }
  }
}

function handleFailure(
  state: DraftState,
  result: Exclude<SendResult, { success: true }>,
  address: string | undefined,
  sender: Sender,
): void {
  state.processed = undefined
  if (state.nativeId !== undefined && result.problem === 'rejected') {
    continueWithMessage(state, sender, result.error)
    return
  }
  state.failures += 1
  if (result.problem === 'rate-limited') {
    // Each limit delays the reply, too, so this draft is updated half as often from now on.
    state.backoffFactor *= 2
  } else if (address !== undefined) {
    state.shown = undefined
  }
  if (
    state.nativeId === undefined &&
    address === undefined &&
    result.maybeSent === true &&
    sender.idempotentSends !== true
  ) {
    state.isUnconfirmed = true
    state.lookedUp = false
  }
  if (state.failures >= maxFailures || result.problem === 'unauthorised') stopUpdates(state, result.error)
}

/** The platform refuses a native draft here. A draft that was shown before vanishes by itself. */
function continueWithMessage(state: DraftState, { edit }: Sender, reason: string): void {
  const { chat, options, registry } = state
  state.nativeId = undefined
  state.shown = undefined
  registry.context.log.info(
    { event: 'outbox.native_draft_refused', ...chat, turn: options.turnId, reason },
    'the platform refused a native draft; the reply is streamed by edits of a message',
  )
  if (edit === undefined) stopUpdates(state, reason)
}

/** Stores the address, so that a turn that is resumed after a crash continues in the same message. */
async function storeAddress({ chat, options, registry }: DraftState, messageId: string): Promise<void> {
  const { context } = registry
  context.failpoint?.('draft:sent')
  const { turnId, part = 0 } = options
  registry.addresses.set(draftKey(options), messageId)
  await context.store.run(() => storeDraft({ turn_id: turnId, part, platform_id: messageId }, chat, context.clock()))
  context.failpoint?.('draft:stored')
}

function stopUpdates(state: DraftState, reason: string): void {
  const { chat, closed, options, registry } = state
  if (!closed) {
    registry.context.log.info(
      { event: 'outbox.draft_stopped', ...chat, turn: options.turnId, reason },
      'the reply is not shown while it is written',
    )
  }
  state.closed = true
}
