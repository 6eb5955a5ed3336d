/**
 * A request of a script to send a message (`hermes send`, `POST /api/send`). The token of the gateway authorises it, so it may
 * send to every chat.
 */
import { createHash } from 'node:crypto'
import { isAbsolute } from 'node:path'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { uuid7 } from '../../lib/ids.ts'
import { tokenAuthority } from '../../message/authority.ts'
import type { Target } from '../../message/source.ts'
import { forgetDeadTarget } from '../../outbox/dead-targets.ts'
import type { DeliveryState } from '../../outbox/delivery-state.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { chatOf } from '../../outbox/queries.ts'
import type { Runtime } from '../../store/runtime.ts'
import { mediaProblem, prepareDelivery } from './deliver.ts'
import { writeLocalOutput } from './local-output.ts'
import { type Destination, type Destinations, formatTarget, resolveTarget } from './resolve-target.ts'
import type { SendRequest } from './send-body.ts'
import { waitForDelivery } from './wait-for-delivery.ts'

type SendingGateway = Destinations & Pick<Runtime, 'home'>

/**
 * `sent`: the platform has confirmed it. `saved`: it is in a file. `queued`: it is stored and will be sent, but the platform
 * has not confirmed it in time. `failed`: the platform has refused it. `skipped`: the chat takes no messages any more.
 */
export interface SendResultReport {
  /** The target as it was requested. */
  readonly target: string
  readonly status: 'sent' | 'saved' | 'queued' | 'failed' | 'skipped'
  /** The chat that was found: `<platform>:<chat_id>[:<thread_id>]`. */
  readonly chat?: string
  readonly messageIds?: readonly string[]
  readonly path?: string
  readonly error?: string
}

/**
 * Sends one message to all targets and resolves with what happened to each. Nothing is sent when one target is invalid.
 * Rejects `http/bad-request`, `delivery/no-target` or `store/…`.
 */
export async function sendRequest(
  gateway: SendingGateway,
  outbox: Pick<Outbox, 'prepare'>,
  request: SendRequest,
  signal: AbortSignal,
): Promise<readonly SendResultReport[]> {
  checkContent(request)
  const destinations: { readonly target: string; readonly destination: Destination }[] = []
  for (const target of request.targets) {
    const destination = await resolveTarget(gateway, target, undefined, signal)
    if ('problem' in destination) throw new HermesError('delivery/no-target', `(${target}: ${destination.problem})`)
    destinations.push({ target, destination })
  }
  return await Promise.all(
    destinations.map(({ target, destination }) => sendTo(gateway, outbox, request, target, destination, signal)),
  )
}

/** One for each chat. */
function keyOf(key: string, chat: Target): string {
  return createHash('sha256')
    .update(`${formatTarget(chat)} ${key}`)
    .digest('hex')
    .slice(0, 32)
}

function checkContent({ text, media }: SendRequest): void {
  if (text.trim() === '' && media.length === 0)
    throw new HermesError('http/bad-request', 'There is neither a text nor a file to send.')
  for (const path of media) {
    const problem = isAbsolute(path) || /^https?:\/\//.test(path) ? mediaProblem(path) : `${path} is not absolute`
    if (problem !== undefined) throw new HermesError('http/bad-request', `media: ${problem}`)
  }
}

async function sendTo(
  gateway: SendingGateway,
  outbox: Pick<Outbox, 'prepare'>,
  { text, media, wait, force, key: chosen }: SendRequest,
  target: string,
  destination: Destination,
  signal: AbortSignal,
): Promise<SendResultReport> {
  const now = gateway.clock()
  if (destination.kind === 'local') return saveLocally(gateway, target, [text, ...media].join('\n').trim(), now)
  const chat = destination.target
  if (force) await gateway.store.run(() => forgetDeadTarget(chatOf(chat)))
  const key = `send:${chosen === undefined ? uuid7(now) : keyOf(chosen, chat)}`
  const content = { key, text, kind: 'notice' as const, media, authority: tokenAuthority }
  await gateway.store.commit(prepareDelivery(outbox, chat, content), gateway.clock)
  const fields = { platform: chat.platform, chat: chat.chatId, key }
  gateway.log.info({ event: 'delivery.requested', ...fields }, 'a script sends a message')
  const state = await waitForDelivery(
    gateway.store,
    key,
    gateway.platforms.adapter(chat) === undefined ? 0 : wait * 1_000,
    signal,
  )
  return toReport(gateway, target, chat, state)
}

function saveLocally({ home }: Pick<Runtime, 'home'>, target: string, text: string, now: number): SendResultReport {
  try {
    return { target, status: 'saved', path: writeLocalOutput(home, 'misc', text, now) }
  } catch (error) {
    return { target, status: 'failed', error: messageOf(error) }
  }
}

const statusOf = { sent: 'sent', open: 'queued', dead: 'failed', dropped: 'skipped' } as const

function toReport(
  { platforms }: Destinations,
  target: string,
  resolved: Target,
  { state, messageIds, error }: DeliveryState,
): SendResultReport {
  const waiting =
    state === 'open' && platforms.adapter(resolved) === undefined ? `${resolved.platform} is not connected` : ''
  const reason = error === '' ? waiting : error
  return {
    target,
    status: statusOf[state],
    chat: formatTarget(resolved),
    ...(messageIds.length === 0 ? {} : { messageIds }),
    ...(reason === '' ? {} : { error: reason }),
  }
}
