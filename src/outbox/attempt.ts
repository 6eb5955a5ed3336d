/**
 * One try to deliver one row, and what must be done first where an earlier try may have arrived.
 */
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { OutboundMessage, SendResult } from '../message/outbound.ts'
import type { MessageLimits } from '../platforms/adapter.ts'
import { measureOf } from './measure.ts'
import type { OutboxRow } from './queries.ts'
import { bounded, messageOfRow, type Sender } from './sender.ts'

/** Stands in front of a message that may have been delivered before. */
const duplicateLabel = '♻️ May be a duplicate:'

export interface Attempt {
  readonly result: SendResult
  /** Whether the platform may have the message although the result does not say so. */
  readonly doubt: boolean
}

interface Line {
  readonly sender: Sender
  readonly limits: MessageLimits
  /** Aborts at the hard end of a stop. */
  readonly halt: AbortSignal
  readonly log: Logger
}

/** Delivers a claimed row. Never throws: what an adapter throws is a temporary failure of unknown effect. */
export async function attemptRow(row: OutboxRow, line: Line): Promise<Attempt> {
  const { sender, halt } = line
  const message = messageOfRow(row)
  const free = sender.idempotentSends === true
  try {
    if (row.op === 'edit') return { result: await edit(row.target, message, line), doubt: false }
    if (row.doubt === 1 && !free) return await repeat(message, line)
    return answered(await bounded(halt, (signal) => sender.send(message, signal)), false, free)
  } catch (error) {
    line.log.warn({ error, outbox: row.id }, `the platform failed while taking a message: ${messageOf(error)}`)
    const doubt = row.op === 'send' && !free
    return { result: { success: false, problem: 'temporary', error: messageOf(error) }, doubt }
  }
}

async function edit(target: string | null, message: OutboundMessage, { sender, halt }: Line): Promise<SendResult> {
  const call = sender.edit?.bind(sender)
  if (target === null || call === undefined) return cannotEdit
  return await bounded(halt, (signal) => call(target, message, true, signal))
}

const cannotEdit: SendResult = { success: false, problem: 'rejected', error: 'the platform cannot edit messages' }

/** `maybe`: an earlier try may have arrived. `free`: repeating costs nobody anything. */
function answered(result: SendResult, maybe: boolean, free: boolean): Attempt {
  const lost = !result.success && result.maybeSent === true && !free
  return { result, doubt: maybe || lost }
}

/** Asks the platform whether it has the message; where it cannot say, people are told that they may see it twice. */
async function repeat(message: OutboundMessage, line: Line): Promise<Attempt> {
  const { sender, halt } = line
  const found = await bounded(halt, async (signal) => (await sender.resolveUnknown?.(message, signal)) ?? 'unknown')
  if (found === 'unknown') return answered(await sendLabelled(message, line), true, false)
  if (!found.sent) return answered(await bounded(halt, (signal) => sender.send(message, signal)), false, false)
  const { messageId } = found
  return { result: { success: true, ...(messageId === undefined ? {} : { messageId }) }, doubt: false }
}

/** The label stands in the message itself, or before it where the message is full. */
async function sendLabelled(message: OutboundMessage, { sender, limits, halt }: Line): Promise<SendResult> {
  const text = `${duplicateLabel}\n\n${message.text}`
  if (measureOf(limits.unit)(text) <= limits.maxChars) {
    return await bounded(halt, (signal) => sender.send({ ...message, text }, signal))
  }
  const label = { ...message, deliveryId: `${message.deliveryId}:label`, text: duplicateLabel, kind: 'notice' as const }
  const announced = await bounded(halt, (signal) => sender.send(label, signal))
  if (!announced.success) return announced
  return await bounded(halt, (signal) => sender.send(message, signal))
}
