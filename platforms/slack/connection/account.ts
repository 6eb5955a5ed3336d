/**
 * One account: its parts, joined. Who we are, what comes in, what goes out, and the beginning and end of it.
 */
import { messageOf, type PlatformAdapter, type PlatformContext, type SessionSource, sleep, targetOf } from '#sdk'
import { resolveAttachmentUrl } from '../inbound/attachment-url.ts'
import { catchUp } from '../inbound/catch-up.ts'
import type { NormalizeContext } from '../inbound/context.ts'
import { createIngest, type Ingest } from '../inbound/ingest.ts'
import { createJoinedThreads, type JoinedThreads } from '../inbound/joined-threads.ts'
import type { WorkspaceIdentity } from '../inbound/source.ts'
import { withThreadContext } from '../inbound/thread-context.ts'
import { createUserNames } from '../inbound/user-names.ts'
import type { SlackOptions } from '../options.ts'
import { createEditThrottle } from '../outbound/edit-throttle.ts'
import type { UploadFile } from '../outbound/files.ts'
import { renderPlainText } from '../outbound/render.ts'
import { createSender } from '../outbound/sender.ts'
import { createStreams } from '../outbound/stream.ts'
import { createTypingStatus } from '../outbound/typing-status.ts'
import { createApi, type RawApiCall } from './api.ts'
import { fetchIdentity, toConnectError } from './identity.ts'
import { createSocketConnection, type Envelope, type OpenSocket, type SocketConnection, SocketError } from './socket.ts'
import { createWebhookRoute } from './webhook.ts'

/** The ways to Slack. */
export interface SlackTransport {
  /** A call with the bot token. */
  readonly call: RawApiCall
  readonly openSocket: OpenSocket
  readonly upload: UploadFile
}

const catchUpRetryMs = 10_000

export function createAccount(
  context: PlatformContext,
  options: SlackOptions,
  network: SlackTransport,
): PlatformAdapter {
  const { log, clock } = context
  const stopping = new AbortController()
  const call = createApi({
    call: network.call,
    clock,
    stopping: stopping.signal,
    onRefused(error) {
      // While it connects, the connect says it itself.
      if (identity !== undefined) context.refused(`bot_token: ${error}`)
    },
  })
  const names = createUserNames({ call, log, signal: stopping.signal })
  const { rateLimited } = context
  const status = createTypingStatus({
    call,
    text: options.typingText,
    clock,
    paced: rateLimited,
    log,
    signal: stopping.signal,
  })
  let identity: WorkspaceIdentity | undefined
  let threads: JoinedThreads | undefined
  let socket: SocketConnection | undefined
  /** Runs that fetch what was missed; while there is one, live messages mark nothing as read. */
  let activeCatchUps = 0

  const editThrottle = createEditThrottle(clock)
  const streams = createStreams({
    call,
    clock,
    log,
    teamId: () => identity?.teamId ?? '',
    onFrame: (ts) => editThrottle.recordEdit(ts, 'frame'),
    lastAuthorOf: (channel, threadTs) => threads?.lastAuthorOf(channel, threadTs),
  })
  const sender = createSender({
    call,
    streams,
    richBlocks: options.richBlocks,
    upload: network.upload,
    clock,
    onDraftEdited: (ts) => editThrottle.recordEdit(ts, 'edit'),
    onPosted(channel, threadTs) {
      threads?.recordPosted(channel, threadTs)
      status.posted(channel, threadTs)
    },
  })

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
    locate: (attachment, signal) => resolveAttachmentUrl(attachment, { ...options, call }, signal),
    connect,
    async disconnect() {
      stopping.abort()
      await socket?.stop()
    },
  }

  async function connect(signal: AbortSignal): Promise<void> {
    const me = await fetchIdentity(call, signal)
    const marks = await context.cursors()
    identity = me
    const joinedThreads = createJoinedThreads({
      history: (chatId, query) => context.history(chatId, query),
      markedPlaces: marks.keys(),
      log: (reason) => log.debug({ reason }, 'whether the bot takes part in a thread is not known'),
    })
    threads = joinedThreads
    const normalizeContext = createNormalizeContext(me, joinedThreads)
    const receiver = createIngest({
      gateway: context,
      normalizeContext,
      threads: joinedThreads,
      log,
      withThreadContext: (event) => withThreadContext(event, { call, normalizeContext, signal: stopping.signal }),
      isCatchingUp: () => activeCatchUps > 0,
      sendEphemeral,
    })
    const startCatchUp = () => void runCatchUp(receiver)
    // Before the first event can come: it must not mark what lies before it as read.
    activeCatchUps += 1
    try {
      if (options.transport.mode === 'http') openRoute(receiver, options.transport.signingSecret)
      else await openFirstSocket(receiver, startCatchUp, signal)
    } finally {
      activeCatchUps -= 1
    }
    stopping.signal.throwIfAborted()
    context.received()
    log.info({ workspace: me.teamName, mode: options.transport.mode }, 'signed in to Slack')
    startCatchUp()
  }

  function openRoute(ingest: Ingest, signingSecret: string): void {
    const { account, received: onActivity, health } = context
    context.route(
      createWebhookRoute({ account, signingSecret, ingest, clock, log, health, onActivity, ephemeralResponse }),
    )
  }

  async function openFirstSocket(receiver: Ingest, onReconnected: () => void, signal: AbortSignal): Promise<void> {
    const events = {
      onActivity: () => context.received(),
      onEnvelope: (envelope: Envelope) => handleEnvelope(envelope, receiver),
    }
    const health: PlatformContext['health'] = (state, reason) => context.health(state, reason)
    const onUnauthorised = (error: string) => context.refused(`app_token: ${error}`)
    socket = createSocketConnection({
      open: network.openSocket,
      events,
      health,
      onUnauthorised,
      onReconnected,
      sleep,
      clock,
      log,
    })
    if (stopping.signal.aborted) await socket.stop()
    try {
      await socket.connect(signal)
    } catch (error) {
      throw error instanceof SocketError ? toConnectError(error.failure, 'app_token') : error
    }
  }

  /** Never rejects. */
  async function handleEnvelope(envelope: Envelope, receiver: Ingest): Promise<void> {
    const { body, retries } = envelope
    if (retries > 0) log.info({ retry: retries }, 'Slack delivers an event again')
    const { acknowledge, reply } = await receiver.ingest(body)
    if (!acknowledge) return
    try {
      await envelope.acknowledge(reply === undefined ? undefined : ephemeralResponse(reply))
    } catch (error) {
      // The socket has gone meanwhile: the event comes again, and its key is known.
      log.debug({ error: messageOf(error) }, 'an event could not be acknowledged')
    }
  }

  /** What was written while nobody listened. Never rejects. */
  async function runCatchUp(receiver: Ingest): Promise<void> {
    const { signal } = stopping
    activeCatchUps += 1
    while (!signal.aborted) {
      try {
        const { ingestStored } = receiver
        await catchUp({ call, marks: () => context.cursors(), ingestStored, clock, sleep, log, signal })
        break
      } catch (error) {
        if (signal.aborted) break
        log.warn({ error }, `what was written meanwhile could not be stored, trying again: ${messageOf(error)}`)
        await sleep(catchUpRetryMs, signal)
      }
    }
    activeCatchUps -= 1
  }

  function createNormalizeContext(me: WorkspaceIdentity, joined: JoinedThreads): NormalizeContext {
    return {
      platform: context.platform,
      account: context.account,
      identity: me,
      rules: options.rules,
      isCommand: (name) => context.commands().some((command) => command.name === name),
      hasJoinedThread: joined.has,
      userNameOf: names.get,
      now: clock,
    }
  }

  /** Only this person sees it. Never rejects. */
  async function sendEphemeral(source: SessionSource, text: string): Promise<void> {
    const { chatId: channel, threadId, userId } = source
    if (userId === undefined) return
    const thread = threadId === undefined ? {} : { thread_ts: threadId }
    try {
      await context.rateLimited(targetOf(source), stopping.signal, async (signal) => {
        const args = { channel, user: userId, text: renderPlainText(text), ...thread }
        const answer = await call('chat.postEphemeral', args, signal)
        if (!answer.ok) log.debug({ error: answer.failure.error }, 'a person could not be told something')
        return answer.ok ? { success: true } : { success: false, ...answer.failure }
      })
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'a person could not be told something')
    }
  }
}

function ephemeralResponse(text: string): { readonly response_type: 'ephemeral'; readonly text: string } {
  return { response_type: 'ephemeral', text: renderPlainText(text) }
}
