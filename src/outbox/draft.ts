/**
 * A reply that people see growing: the newest text is shown at a gentle pace, and nothing of it holds up the model.
 */
import { messageOf } from '../lib/errors.ts'
import type { OutboundMessage, SendResult } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { OutboxContext } from './context.ts'
import { storeDraft } from './draft-queries.ts'
import { formatDraftText } from './draft-text.ts'
import { visibleDraftText } from './extract-media.ts'
import type { Chat } from './queries.ts'
import type { Permit } from './rate-limiter.ts'
import { callWithTimeout, chatOf, type Sender } from './sender.ts'

/** Where a draft stands, for the final answer to replace it. */
export interface DraftAddress {
  readonly platformId: string
  /** What it shows right now, cursor and all; '' when that is not known. */
  readonly shownText: string
}

export interface Draft {
  /** Takes the whole text so far; only the newest is kept. Returns at once and never throws. */
  update(fullText: string): void
  /** Ends the draft. Resolves after the last call in flight; null when people have seen nothing. May be called twice. */
  close(): Promise<DraftAddress | null>
}

export interface DraftOptions {
  readonly target: Target
  readonly turnId: string
  /** The platform's id of the message that is being answered. */
  readonly replyTo?: string
  /** The turn began before a restart: a draft may stand there whose address was never heard. */
  readonly resumed?: boolean
}

/** What the drafts of the room know together. */
export interface DraftRegistry {
  /** By turn id, also from before a restart: the platform's id of the draft. */
  readonly addresses: Map<string, string>
  /** Drafts with a call or a pause going on. */
  readonly active: Set<Draft>
  /** Whether earlier replies of the chat still wait to be sent. */
  isBusy(chat: Chat): boolean
}

/**
 * Whoever reads the stored history puts the end of an answer to what was streamed: there the words stay as they are.
 * Elsewhere the files that a reply names are taken out of its drafts as they are out of the answer.
 */
function keepsMediaTags({ idempotentSends, sendsAttachments }: Sender): boolean {
  return idempotentSends === true && sendsAttachments !== true
}

/** So often in a row may the platform refuse before the draft is left alone. */
const maxFailures = 3
/** The end of a turn waits for the last call of its draft, so this is shorter than for a reply. */
const callTimeoutMs = 15_000

export function createDraft(context: OutboxContext, registry: DraftRegistry, options: DraftOptions): Draft {
  const { target, turnId } = options
  const chat = chatOf(target)
  const closing = new AbortController()
  let latest = ''
  /** The text that was looked at last: there is nothing to do until another comes. */
  let processed: string | undefined = ''
  /** What the platform shows; undefined when that is not known. */
  let shown: string | undefined
  /** As much is shown as a draft may show. */
  let full = false
  let failures = 0
  /** A first draft may have arrived that we have no address of. */
  let maybeSent = false
  let lookedUp = options.resumed !== true
  let closed = false
  let nextAt = 0
  /** Multiplies the pause between two edits. */
  let backoffFactor = 1
  let busy = false
  let running = Promise.resolve()

  const draft: Draft = {
    update(fullText) {
      if (closed || full || context.drainSignal.aborted) return
      latest = fullText
      if (busy) return
      busy = true
      running = run()
    },
    async close() {
      closed = true
      closing.abort()
      await running
      const platformId = registry.addresses.get(turnId)
      return platformId === undefined ? null : { platformId, shownText: shown ?? '' }
    },
  }
  return draft

  /** Shows what is new until nothing is. Never rejects. */
  async function run(): Promise<void> {
    registry.active.add(draft)
    try {
      while (!closed && latest !== processed && context.availableSender(chat) !== undefined) {
        const waitMs = nextAt - context.clock()
        if (waitMs > 0) await context.sleep(waitMs, closing.signal)
        else await showWhenPermitted()
      }
    } catch (error) {
      stopUpdates(messageOf(error))
    } finally {
      registry.active.delete(draft)
      busy = false
    }
  }

  /** Shows what is newest when the chat may be called; until then only the wish to show something waits. */
  async function showWhenPermitted(): Promise<void> {
    const permit =
      context.rateLimiter.tryAcquire(chat, 'draft') ??
      (await context.rateLimiter.acquire(chat, 'draft', closing.signal))
    if (permit === undefined) return
    try {
      const sender = closed ? undefined : context.availableSender(chat)
      if (sender === undefined) return
      processed = latest
      const text = textToShow(sender)
      if (text !== undefined) await show(sender, text, permit)
    } finally {
      permit.release()
    }
  }

  /** Undefined when there is nothing new, or too little for a first sight. */
  function textToShow(sender: Sender): string | undefined {
    const { buffer_threshold: threshold, cursor } = context.settings().streaming
    const text = keepsMediaTags(sender) ? latest : visibleDraftText(latest)
    // A new message must not overtake earlier ones; the next update looks again.
    const early = () => text.trim().length < threshold || registry.isBusy(chat)
    if (text === '' || (!registry.addresses.has(turnId) && early())) return undefined
    const next = formatDraftText(text, context.limits(chat), sender.drawsCursor === true ? '' : cursor)
    full = next.full
    return next.text === shown ? undefined : next.text
  }

  async function show(sender: Sender, text: string, slot: Permit): Promise<void> {
    const address = registry.addresses.get(turnId)
    const message: OutboundMessage = {
      deliveryId: `draft:${turnId}`,
      target,
      text,
      kind: 'draft',
      turnId,
      ...(options.replyTo === undefined || context.replyPolicy(chat).replyTo === 'off'
        ? {}
        : { replyTo: options.replyTo }),
    }
    if (address === undefined && !lookedUp) return findLostDraft(sender, message)
    const interval = sender.draftIntervalMs ?? context.settings().streaming.edit_interval * 1_000
    nextAt = context.clock() + interval * backoffFactor
    const result = await call(sender, message, address)
    slot.record(result, context.clock())
    if (!result.success) return onFailure(result, address, sender)
    failures = 0
    shown = text
    if (address !== undefined) return
    if (result.messageId === undefined) return stopUpdates('the platform did not name the message')
    await remember(result.messageId)
  }

  /** Asks for a first draft whose address was lost, so that no second one is put beside it. */
  async function findLostDraft(sender: Sender, message: OutboundMessage): Promise<void> {
    lookedUp = true
    processed = undefined
    const found = await callWithTimeout(
      context.abortSignal,
      async (signal) => (await sender.resolveUnknown?.(message, signal)) ?? 'unknown',
      callTimeoutMs,
    )
    if (found !== 'unknown' && found.sent && found.messageId !== undefined) await remember(found.messageId)
    else if (maybeSent && (found === 'unknown' || found.sent)) stopUpdates('whether the draft has arrived is unknown')
  }

  async function call(sender: Sender, message: OutboundMessage, address: string | undefined): Promise<SendResult> {
    const edit = sender.edit?.bind(sender)
    if (address !== undefined && edit === undefined) {
      return { success: false, problem: 'rejected', error: 'the platform cannot edit messages' }
    }
    try {
      const deliver = (signal: AbortSignal) =>
        address === undefined || edit === undefined
          ? sender.send(message, signal)
          : edit(address, message, false, signal)
      return await callWithTimeout(context.abortSignal, deliver, callTimeoutMs)
    } catch (error) {
      return { success: false, problem: 'temporary', error: messageOf(error), maybeSent: true }
    }
  }

  function onFailure(
    result: Exclude<SendResult, { success: true }>,
    address: string | undefined,
    sender: Sender,
  ): void {
    failures++
    processed = undefined
    if (result.problem === 'rate-limited') {
      // Each limit holds back the answer, too: this draft comes half as often from here on.
      backoffFactor *= 2
    } else if (address !== undefined) {
      shown = undefined
    }
    if (address === undefined && result.maybeSent === true && sender.idempotentSends !== true) {
      maybeSent = true
      lookedUp = false
    }
    if (failures >= maxFailures || result.problem === 'unauthorised') stopUpdates(result.error)
  }

  /** The address outlives a crash, so that the resumed turn goes on in the same message. */
  async function remember(messageId: string): Promise<void> {
    context.failpoint('draft:sent')
    registry.addresses.set(turnId, messageId)
    await context.store.run(() => storeDraft(turnId, chat, messageId, context.clock()))
    context.failpoint('draft:stored')
  }

  function stopUpdates(reason: string): void {
    if (!closed) context.log.info({ ...chat, turn: turnId, reason }, 'the reply is not shown while it grows')
    closed = true
  }
}
