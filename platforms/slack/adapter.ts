/**
 * The Slack adapter: composes one account of the platform, and connects and disconnects it.
 *
 *     Slack → connection/socket.ts or webhook.ts → inbound/ingest.ts (normalize.ts) → the gateway
 *     the gateway → outbound/sender.ts (render.ts, stream.ts, edits.ts, files.ts) → connection/api.ts → Slack
 */
import {
  type DiagnosticContext,
  definePlatform,
  type PlatformAdapter,
  type PlatformContext,
  type SessionSource,
  sleep,
} from '#sdk'
import { type ApiCall, createApi } from './connection/api.ts'
import { createAppManifest } from './connection/app-manifest.ts'
import { fetchIdentity } from './connection/identity.ts'
import { createSocketConnection, type Envelope, type SocketConnection, SocketError } from './connection/socket.ts'
import { createSilentApiCall, createTransport, type SlackTransport } from './connection/transport.ts'
import { createWebhookRoute } from './connection/webhook.ts'
import { diagnose } from './diagnose.ts'
import { toConnectError } from './errors.ts'
import { resolveAttachmentUrl } from './inbound/attachment-url.ts'
import { type CatchUp, createCatchUp } from './inbound/catch-up.ts'
import type { NormalizeContext } from './inbound/context.ts'
import { createIngest, type Ingest } from './inbound/ingest.ts'
import { createJoinedThreads, type JoinedThreads } from './inbound/joined-threads.ts'
import { createNames, type Names } from './inbound/names.ts'
import { recordAt, textAt } from './inbound/payload.ts'
import type { WorkspaceIdentity } from './inbound/source.ts'
import { withThreadContext } from './inbound/thread-context.ts'
import { parseOptions, type SlackOptions } from './options.ts'
import { createEditThrottle } from './outbound/edit-throttle.ts'
import { ephemeralResponse, sendEphemeral } from './outbound/ephemeral.ts'
import { createSender, type Sender } from './outbound/sender.ts'
import { reportSkipped } from './outbound/skipped-notice.ts'
import { createStreams } from './outbound/stream.ts'
import { createTypingStatus } from './outbound/typing-status.ts'

/** What connecting an account needs, and what it sets. */
interface Account {
  readonly context: PlatformContext
  readonly options: SlackOptions
  readonly transport: SlackTransport
  readonly call: ApiCall
  readonly names: Names
  readonly stopping: AbortController
  identity: WorkspaceIdentity | undefined
  threads: JoinedThreads | undefined
  socket: SocketConnection | undefined
}

export function createAdapter(context: PlatformContext): PlatformAdapter {
  const options = parseOptions(context.options, context.account)
  const account = createAccount(context, options)
  const { call, transport, stopping } = account
  const { clock, log } = context
  const { signal } = stopping
  const status = createTypingStatus({
    call,
    text: options.typingText,
    tools: options.liveStatus,
    clock,
    rateLimited: context.rateLimited,
    log,
    signal,
  })
  const editThrottle = createEditThrottle(clock)
  const streams = createStreams({
    call,
    clock,
    log,
    teamId: () => account.identity?.teamId ?? '',
    onFrame: (ts) => editThrottle.recordEdit(ts, 'frame'),
    lastAuthorOf: (channel, threadTs) => account.threads?.lastAuthorOf(channel, threadTs),
  })
  const sender = createSender({
    call,
    streams,
    richBlocks: options.richBlocks,
    upload: transport.upload,
    clock,
    onDraftEdited: (ts) => editThrottle.recordEdit(ts, 'edit'),
    onPosted(channel, threadTs) {
      account.threads?.recordPosted(channel, threadTs)
      status.posted(channel, threadTs)
    },
  })
  const { botToken, trustedOrigin, fileHosts } = options

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
    locate: (attachment, until) =>
      resolveAttachmentUrl(attachment, { call, botToken, trustedOrigin, fileHosts }, until),
    heldRoles: (source, _names, until) => heldRoles(account, source, until),
    findChats: async (_name, until) => (await import('./inbound/channels.ts')).findChannels(call, until),
    connect: (until) => connect(account, sender, until),
    async disconnect() {
      stopping.abort()
      await account.socket?.stop()
    },
  }
}

function createAccount(context: PlatformContext, options: SlackOptions): Account {
  const { clock, log } = context
  const transport = createTransport(options, log)
  const stopping = new AbortController()
  const call = createApi({
    call: transport.call,
    clock,
    stopping: stopping.signal,
    onRefused(error) {
      // Before the account is connected, `connect` rejects with the same error.
      if (account.identity !== undefined) context.connection.refused(`bot_token: ${error}`)
    },
  })
  const account: Account = {
    context,
    options,
    transport,
    call,
    names: createNames({ call, log, signal: stopping.signal }),
    stopping,
    identity: undefined,
    threads: undefined,
    socket: undefined,
  }
  return account
}

/** Rejects if Slack does not tell. An administrator of another workspace, in a shared channel, is none of this one. */
async function heldRoles({ call, identity }: Account, { userId }: SessionSource, signal: AbortSignal) {
  const result = await call('users.info', { user: userId }, signal)
  if (!result.ok) throw new Error(`users.info: ${result.failure.error}`)
  const user = recordAt(result.data, 'user')
  const isAdmin = user?.['is_admin'] === true || user?.['is_owner'] === true
  return isAdmin && textAt(user, 'team_id') === identity?.teamId ? ['admins'] : []
}

async function connect(account: Account, sender: Sender, signal: AbortSignal): Promise<void> {
  const { context, options, call, stopping } = account
  const identity = await fetchIdentity(call, signal)
  const cursors = await context.catchUp.cursors()
  account.identity = identity
  account.names.set(identity.botUserId, identity.botName ?? identity.botUserId)
  const threads = createJoinedThreads({
    history: (chatId, query) => context.chats.history(chatId, query),
    cursorKeys: cursors.keys(),
    log: context.log,
  })
  account.threads = threads
  const { ingest, catchUp } = createInbound(account, sender, identity, threads)
  // Before the first event can arrive.
  catchUp.hold()
  if (options.transport.mode === 'http') openRoute(account, ingest, options.transport.signingSecret)
  else await openSocket(account, ingest, catchUp, signal)
  stopping.signal.throwIfAborted()
  context.connection.received()
  context.log.info(
    { event: 'slack.signed_in', workspace: identity.teamName, mode: options.transport.mode },
    'signed in to Slack',
  )
  catchUp.run()
  // `!name` is a command only for known names, and those of skills are read here.
  context.menu.complete().catch((error: unknown) => {
    context.log.warn({ event: 'slack.commands_failed', err: error }, 'not all names of commands are known')
  })
}

function createInbound(
  account: Account,
  sender: Sender,
  identity: WorkspaceIdentity,
  threads: JoinedThreads,
): { readonly ingest: Ingest; readonly catchUp: CatchUp } {
  const { context, options, call, names, stopping } = account
  const { signal } = stopping
  const normalizeContext: NormalizeContext = {
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
  const ingest = createIngest({
    gateway: context,
    normalizeContext,
    threads,
    log: context.log,
    resolveMentions: names.resolveMentions,
    withThreadContext: (event) => withThreadContext(event, { call, normalizeContext, signal }),
    whenCaughtUp: (place) => catchUp.ready(place),
    onNotStored: (place, ts) => catchUp.refetch(place, Number(ts)),
    sendEphemeral: (source, text) => sendEphemeral({ call, context, signal }, source, text),
  })
  const catchUp = createCatchUp({
    call,
    cursors: () => context.catchUp.cursors(),
    ingestStored: ingest.ingestStored,
    isForBot: ingest.isForBot,
    limit: () => context.catchUp.limit(),
    reportSkipped: (place, counts) => reportSkipped({ context, send: sender.send, signal }, place, counts),
    clock: context.clock,
    random: Math.random,
    sleep,
    log: context.log,
    signal,
  })
  return { ingest, catchUp }
}

function openRoute({ context }: Account, ingest: Ingest, signingSecret: string): void {
  const { account, connection, clock, log } = context
  const { received: onActivity, health } = connection
  context.route(
    createWebhookRoute({ account, signingSecret, ingest, clock, log, health, onActivity, ephemeralResponse }),
  )
}

async function openSocket(account: Account, ingest: Ingest, catchUp: CatchUp, signal: AbortSignal): Promise<void> {
  const { context, transport, stopping } = account
  const socket = createSocketConnection({
    open: transport.openSocket,
    events: {
      onActivity: () => context.connection.received(),
      onEnvelope: (envelope) => handleEnvelope(account, envelope, ingest),
    },
    health: (state, reason) => context.connection.health(state, reason),
    onUnauthorised: (error) => context.connection.refused(`app_token: ${error}`),
    onDisconnected: catchUp.hold,
    onReconnected: catchUp.run,
    sleep,
    clock: context.clock,
    log: context.log,
  })
  account.socket = socket
  if (stopping.signal.aborted) await socket.stop()
  try {
    await socket.connect(signal)
  } catch (error) {
    throw error instanceof SocketError ? toConnectError(error.failure, 'app_token') : error
  }
}

/** Never rejects. */
async function handleEnvelope({ context }: Account, envelope: Envelope, ingest: Ingest): Promise<void> {
  const { body, retries } = envelope
  if (retries > 0) context.log.info({ event: 'slack.event_repeated', retry: retries }, 'Slack delivers an event again')
  const { acknowledge, reply } = await ingest.ingest(body)
  if (!acknowledge) return
  try {
    await envelope.acknowledge(reply === undefined ? undefined : ephemeralResponse(reply))
  } catch (error) {
    // The socket has closed. Slack delivers the event again, and the gateway drops it as a duplicate.
    context.log.debug({ event: 'slack.acknowledge_failed', err: error }, 'event could not be acknowledged')
  }
}

export default definePlatform({
  createAdapter,
  appManifest: createAppManifest,
  async diagnose({ account, options: accountOptions, gatewayUrl }: DiagnosticContext, signal) {
    const options = parseOptions(accountOptions, account)
    const callWith = (token: string) => {
      const call = createApi({ call: createSilentApiCall(token, options.apiUrl), clock: Date.now, stopping: signal })
      return (method: string) => call(method, {}, signal)
    }
    const appToken = options.transport.mode === 'socket' ? options.transport.appToken : ''
    return await diagnose({
      account,
      options,
      gatewayUrl,
      callWithBotToken: callWith(options.botToken),
      callWithAppToken: callWith(appToken),
    })
  },
})
