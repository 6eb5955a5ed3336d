/**
 * Hands what a payload of Slack says to the gateway.
 */
import { type AcceptResult, isHermesError, type PlatformContext } from '#sdk'
import type { SlackAccount } from '../account.ts'
import { sendEphemeral } from '../outbound/ephemeral.ts'
import type { InboundEvent, NormalizeContext } from './context.ts'
import { normalize } from './normalize.ts'
import { asRecord, recordAt, textAt, tsAt } from './payload.ts'
import { withThreadContext } from './thread-context.ts'

/** Reads a payload, after a look into the stored messages if the bot may take part in its thread. Never rejects. */
export async function readPayload(
  payload: unknown,
  { threads }: SlackAccount,
  normalizeContext: NormalizeContext,
): Promise<InboundEvent> {
  const thread = threadToLookUp(payload, normalizeContext)
  if (thread !== undefined) await threads.lookUp(thread.channel, thread.ts)
  return normalize(payload, normalizeContext)
}

/** Rejects when a later attempt may succeed. */
export async function acceptMessage(
  { event: message, keys, cursor }: Extract<InboundEvent, { kind: 'message' }>,
  account: SlackAccount,
  normalizeContext: NormalizeContext,
): Promise<AcceptResult['status'] | 'too-large'> {
  const event = await withThreadContext(message, account, normalizeContext)
  try {
    const { status } = await account.context.accept(event, keys, cursor)
    if (status !== 'refused') account.threads.recordIngested(event.source)
    return status
  } catch (error) {
    if (!isHermesError(error, 'inbox/too-large')) throw error
    // A repeated delivery would fail again.
    void sendEphemeral(account, event.source, `${error.meaning} ${error.hint}`)
    return 'too-large'
  }
}

/** Rejects when a later attempt may succeed. */
export async function acceptChange(
  { change, keys }: Extract<InboundEvent, { kind: 'change' }>,
  { change: store, log }: PlatformContext,
): Promise<void> {
  try {
    await store(change, keys)
  } catch (error) {
    if (!isHermesError(error, 'inbox/too-large')) throw error
    // The stored message remains unchanged.
    log.warn(
      { event: 'slack.change_too_large', change: change.kind, reason: error.message },
      'change of a message is too large',
    )
  }
}

/** No message can be stored at present: the disk is full, or the gateway is starting or stopping. */
export function isStoreUnavailable(error: unknown): boolean {
  return isHermesError(error) && (error.code.startsWith('store/') || error.code === 'http/starting')
}

/** The thread for which normalisation must know whether the bot takes part in it. */
function threadToLookUp(payload: unknown, { rules }: NormalizeContext): { channel: string; ts: string } | undefined {
  if (!rules.requireMention || rules.strictMention) return undefined
  const event = recordAt(asRecord(payload), 'event')
  const changed = recordAt(event, 'message')
  const ts = tsAt(event, 'thread_ts') ?? tsAt(changed, 'thread_ts')
  const channel = textAt(event, 'channel')
  if (ts === undefined || channel === undefined || channel.startsWith('D')) return undefined
  return { channel, ts }
}
