/**
 * The Slack adapter: composes one account of the platform, and connects and disconnects it.
 *
 *     Slack → connection/socket.ts or webhook.ts → inbound/ingest.ts (normalize.ts) → the gateway
 *     the gateway → outbound/sender.ts (render.ts, stream.ts, edits.ts, files.ts) → connection/api.ts → Slack
 */
import { definePlatform, type PlatformAdapter, type PlatformContext, type SessionSource } from '#sdk'
import { createAccount, type SlackAccount } from './account.ts'
import { createAppManifest } from './connection/app-manifest.ts'
import { fetchIdentity } from './connection/identity.ts'
import { createSocketConnection, type Envelope, type SocketConnection, SocketError } from './connection/socket.ts'
import { createWebhookRoute } from './connection/webhook.ts'
import { diagnose, invite } from './diagnose.ts'
import { toConnectError } from './errors.ts'
import { resolveAttachmentUrl } from './inbound/attachment-url.ts'
import { type CatchUp, createCatchUp } from './inbound/catch-up.ts'
import type { NormalizeContext } from './inbound/context.ts'
import { createIngest, type Ingest } from './inbound/ingest.ts'
import { recordAt, textAt } from './inbound/payload.ts'
import type { WorkspaceIdentity } from './inbound/source.ts'
import { createStoredMessages } from './inbound/stored-messages.ts'
import { createEditThrottle } from './outbound/edit-throttle.ts'
import { ephemeralResponse } from './outbound/ephemeral.ts'
import { createSender, type Sender } from './outbound/sender.ts'
import { createTypingStatus } from './outbound/typing-status.ts'

export function createAdapter(context: PlatformContext): PlatformAdapter {
  const account = createAccount(context)
  const { call, stopping } = account
  const status = createTypingStatus(account)
  const editThrottle = createEditThrottle(context.clock)
  const sender = createSender(account, editThrottle, status)
  let socket: SocketConnection | undefined

  return {
    ...sender,
    get draftIntervalMs() {
      return editThrottle.intervalMs()
    },
    drawsCursor: true,
    sendsAttachments: true,
    showsButtons: true,
    typing: status.typing,
    activity: status.activity,
    locate: (attachment, until) => resolveAttachmentUrl(attachment, account, until),
    heldRoles: (source, _names, until) => heldRoles(account, source, until),
    findChats: async (_name, until) => (await import('./inbound/channels.ts')).findChannels(call, until),
    async connect(until) {
      const { ingest, catchUp } = await signIn(account, sender, until)
      const { transport } = account.options
      if (transport.mode === 'http') context.route(createWebhookRoute(context, transport.signingSecret, ingest))
      else {
        socket = createSocket(account, ingest, catchUp)
        if (stopping.signal.aborted) await socket.stop()
        await openSocket(socket, until)
      }
      stopping.signal.throwIfAborted()
      receive(account, catchUp)
    },
    async disconnect() {
      stopping.abort()
      await socket?.stop()
    },
  }
}

/** Rejects if Slack does not tell. An administrator of another workspace, in a shared channel, is none of this one. */
async function heldRoles({ call, identity }: SlackAccount, { userId }: SessionSource, signal: AbortSignal) {
  const result = await call('users.info', { user: userId }, signal)
  if (!result.ok) throw new Error(`users.info: ${result.failure.error}`)
  const user = recordAt(result.data, 'user')
  const isAdmin = user?.['is_admin'] === true || user?.['is_owner'] === true
  return isAdmin && textAt(user, 'team_id') === identity?.teamId ? ['admins'] : []
}

/** Learns who the bot is. Live events wait from now on, because the first one can arrive. */
async function signIn(
  account: SlackAccount,
  sender: Sender,
  signal: AbortSignal,
): Promise<{ readonly ingest: Ingest; readonly catchUp: CatchUp }> {
  const identity = await fetchIdentity(account.call, signal)
  const cursors = await account.context.catchUp.cursors()
  account.identity = identity
  account.names.set(identity.botUserId, identity.botName ?? identity.botUserId)
  account.threads.recordCursors(cursors.keys())
  const normalizeContext = createNormalizeContext(account, identity)
  const catchUp = createCatchUp(account, createStoredMessages(account, normalizeContext), sender.send)
  catchUp.hold()
  return { ingest: createIngest(account, normalizeContext, catchUp), catchUp }
}

function createNormalizeContext(
  { context, options, threads, names }: SlackAccount,
  identity: WorkspaceIdentity,
): NormalizeContext {
  return {
    platform: context.platform,
    account: context.account,
    identity,
    rules: options.rules,
    isCommand: (name) =>
      context.menu.commands().some((command) => command.name === name || command.aliases?.includes(name) === true),
    hasJoinedThread: threads.has,
    nameOf: names.get,
    now: context.clock,
  }
}

/** The account is connected: fetches what was missed. */
function receive({ context, identity, options }: SlackAccount, catchUp: CatchUp): void {
  context.connection.received()
  context.log.info(
    { event: 'slack.signed_in', workspace: identity?.teamName, mode: options.transport.mode },
    'signed in to Slack',
  )
  catchUp.run()
  // `!name` is a command only for known names, and those of skills are read here.
  context.menu.complete().catch((error: unknown) => {
    context.log.warn({ event: 'slack.commands_failed', err: error }, 'not all names of commands are known')
  })
}

function createSocket({ context, transport }: SlackAccount, ingest: Ingest, catchUp: CatchUp): SocketConnection {
  return createSocketConnection(context, transport.openSocket, {
    onEnvelope: (envelope) => handleEnvelope(context, envelope, ingest),
    onDisconnected: catchUp.hold,
    onReconnected: catchUp.run,
  })
}

async function openSocket(socket: SocketConnection, signal: AbortSignal): Promise<void> {
  try {
    await socket.connect(signal)
  } catch (error) {
    throw error instanceof SocketError ? toConnectError(error.failure, 'app_token') : error
  }
}

/** Never rejects. */
async function handleEnvelope({ log }: PlatformContext, envelope: Envelope, ingest: Ingest): Promise<void> {
  const { body, retries } = envelope
  if (retries > 0) log.info({ event: 'slack.event_repeated', retry: retries }, 'Slack delivers an event again')
  const { acknowledge, reply } = await ingest.ingest(body)
  if (!acknowledge) return
  try {
    await envelope.acknowledge(reply === undefined ? undefined : ephemeralResponse(reply))
  } catch (error) {
    // The socket has closed. Slack delivers the event again, and the gateway drops it as a duplicate.
    log.debug({ event: 'slack.acknowledge_failed', err: error }, 'event could not be acknowledged')
  }
}

export default definePlatform({ createAdapter, appManifest: createAppManifest, diagnose, invite })
