/**
 * A reply that people see growing: the newest text is shown at a gentle pace, and nothing of it holds up the model.
 */
import { messageOf } from '../lib/errors.ts'
import type { OutboundMessage, SendResult } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { Slot } from './budget.ts'
import { storeDraft } from './draft-rows.ts'
import { draftText } from './draft-text.ts'
import { textSoFar } from './media.ts'
import type { Chat } from './queries.ts'
import type { Room } from './room.ts'
import { bounded, chatOf, type Sender } from './sender.ts'

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
export interface DraftBook {
  /** By turn id, also from before a restart: the platform's id of the draft. */
  readonly addresses: Map<string, string>
  /** Drafts with a call or a pause going on. */
  readonly active: Set<Draft>
  /** Whether earlier replies of the chat still wait to be sent. */
  busy(chat: Chat): boolean
}

/**
 * Whoever reads the stored history puts the end of an answer to what was streamed: there the words stay as they are.
 * Elsewhere the files that a reply names are taken out of its drafts as they are out of the answer.
 */
function readsHistory({ idempotentSends, sendsAttachments }: Sender): boolean {
  return idempotentSends === true && sendsAttachments !== true
}

/** So often in a row may the platform refuse before the draft is left alone. */
const patience = 3
/** The end of a turn waits for the last call of its draft, so this is shorter than for a reply. */
const callTimeoutMs = 15_000

export function createDraft(room: Room, book: DraftBook, options: DraftOptions): Draft {
  const { target, turnId } = options
  const chat = chatOf(target)
  const closing = new AbortController()
  let latest = ''
  /** The text that was looked at last: there is nothing to do until another comes. */
  let seen: string | undefined = ''
  /** What the platform shows; undefined when that is not known. */
  let shown: string | undefined
  /** As much is shown as a draft may show. */
  let full = false
  let failures = 0
  /** A first draft may have arrived that we have no address of. */
  let lost = false
  let asked = options.resumed !== true
  let over = false
  let nextAt = 0
  /** Multiplies the pause between two edits. */
  let slowness = 1
  let busy = false
  let running = Promise.resolve()

  const draft: Draft = {
    update(fullText) {
      if (over || full || room.quit.aborted) return
      latest = fullText
      if (busy) return
      busy = true
      running = run()
    },
    async close() {
      over = true
      closing.abort()
      await running
      const platformId = book.addresses.get(turnId)
      return platformId === undefined ? null : { platformId, shownText: shown ?? '' }
    },
  }
  return draft

  /** Shows what is new until nothing is. Never rejects. */
  async function run(): Promise<void> {
    book.active.add(draft)
    try {
      while (!over && latest !== seen && room.open(chat) !== undefined) {
        const waitMs = nextAt - room.clock()
        if (waitMs > 0) await room.pause(waitMs, closing.signal)
        else await showInTurn()
      }
    } catch (error) {
      giveUp(messageOf(error))
    } finally {
      book.active.delete(draft)
      busy = false
    }
  }

  /** Shows what is newest when the chat may be called; until then only the wish to show something waits. */
  async function showInTurn(): Promise<void> {
    const slot = room.budget.take(chat, 'draft') ?? (await room.budget.wait(chat, 'draft', closing.signal))
    if (slot === undefined) return
    try {
      const sender = over ? undefined : room.open(chat)
      if (sender === undefined) return
      seen = latest
      const text = textToShow(sender)
      if (text !== undefined) await show(sender, text, slot)
    } finally {
      slot.free()
    }
  }

  /** Undefined when there is nothing new, or too little for a first sight. */
  function textToShow(sender: Sender): string | undefined {
    const { buffer_threshold: threshold, cursor } = room.settings().streaming
    const text = readsHistory(sender) ? latest : textSoFar(latest)
    // A new message must not overtake earlier ones; the next update looks again.
    const early = () => text.trim().length < threshold || book.busy(chat)
    if (text === '' || (!book.addresses.has(turnId) && early())) return undefined
    const next = draftText(text, room.limits(chat), sender.drawsCursor === true ? '' : cursor)
    full = next.full
    return next.text === shown ? undefined : next.text
  }

  async function show(sender: Sender, text: string, slot: Slot): Promise<void> {
    const address = book.addresses.get(turnId)
    const message: OutboundMessage = {
      deliveryId: `draft:${turnId}`,
      target,
      text,
      kind: 'draft',
      turnId,
      ...(options.replyTo === undefined || room.manner(chat).replyTo === 'off' ? {} : { replyTo: options.replyTo }),
    }
    if (address === undefined && !asked) return findFirst(sender, message)
    const interval = sender.draftIntervalMs ?? room.settings().streaming.edit_interval * 1_000
    nextAt = room.clock() + interval * slowness
    const result = await call(sender, message, address)
    slot.heard(result, room.clock())
    if (!result.success) return refused(result, address, sender)
    failures = 0
    shown = text
    if (address !== undefined) return
    if (result.messageId === undefined) return giveUp('the platform did not name the message')
    await remember(result.messageId)
  }

  /** Asks for a first draft whose address was lost, so that no second one is put beside it. */
  async function findFirst(sender: Sender, message: OutboundMessage): Promise<void> {
    asked = true
    seen = undefined
    const found = await bounded(
      room.halt,
      async (signal) => (await sender.resolveUnknown?.(message, signal)) ?? 'unknown',
      callTimeoutMs,
    )
    if (found !== 'unknown' && found.sent && found.messageId !== undefined) await remember(found.messageId)
    else if (lost && (found === 'unknown' || found.sent)) giveUp('whether the draft has arrived is unknown')
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
      return await bounded(room.halt, deliver, callTimeoutMs)
    } catch (error) {
      return { success: false, problem: 'temporary', error: messageOf(error), maybeSent: true }
    }
  }

  function refused(result: Exclude<SendResult, { success: true }>, address: string | undefined, sender: Sender): void {
    failures++
    seen = undefined
    if (result.problem === 'rate-limited') {
      // Each limit holds back the answer, too: this draft comes half as often from here on.
      slowness *= 2
    } else if (address !== undefined) {
      shown = undefined
    }
    if (address === undefined && result.maybeSent === true && sender.idempotentSends !== true) {
      lost = true
      asked = false
    }
    if (failures >= patience || result.problem === 'unauthorised') giveUp(result.error)
  }

  /** The address outlives a crash, so that the resumed turn goes on in the same message. */
  async function remember(messageId: string): Promise<void> {
    room.probe('draft:sent')
    book.addresses.set(turnId, messageId)
    await room.store.run(() => storeDraft(turnId, chat, messageId, room.clock()))
    room.probe('draft:stored')
  }

  function giveUp(reason: string): void {
    if (!over) room.log.info({ ...chat, turn: turnId, reason }, 'the reply is not shown while it grows')
    over = true
  }
}
