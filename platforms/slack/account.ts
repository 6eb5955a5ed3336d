/**
 * One account: its parts, joined. Who we are, what comes in, what goes out, and the beginning and end of it.
 */
import { messageOf, type PlatformAdapter, type PlatformContext, pause, type SessionSource, targetOf } from '#sdk'
import type { Identity } from './address.ts'
import type { Upload } from './files.ts'
import { catchUp } from './history.ts'
import { createHttpEvents } from './http-events.ts'
import { connectError, identify } from './identity.ts'
import type { View } from './incoming.ts'
import { locateFile } from './locate.ts'
import { createNames } from './names.ts'
import type { SlackOptions } from './options.ts'
import { createPace } from './pace.ts'
import { createReceiver, type Receiver } from './receive.ts'
import { renderLine } from './render.ts'
import { createSender } from './sender.ts'
import { createSocket, type Envelope, type OpenSocket, type Socket, SocketFailure } from './socket.ts'
import { createStatus } from './status.ts'
import { createStreams } from './stream.ts'
import { withEarlier } from './thread-start.ts'
import { createThreads, type Threads } from './threads.ts'
import { type ApiCall, createWeb } from './web.ts'

/** The ways to Slack. */
export interface Network {
  /** A call with the bot token. */
  readonly call: ApiCall
  readonly openSocket: OpenSocket
  readonly upload: Upload
}

const retryHistoryMs = 10_000

export function createAccount(context: PlatformContext, options: SlackOptions, network: Network): PlatformAdapter {
  const { log, clock } = context
  const ended = new AbortController()
  const call = createWeb({
    call: network.call,
    clock,
    ended: ended.signal,
    onRefused(error) {
      // While it connects, the connect says it itself.
      if (identity !== undefined) context.refused(`bot_token: ${error}`)
    },
  })
  const names = createNames({ call, log, signal: ended.signal })
  const { paced } = context
  const status = createStatus({ call, text: options.typingText, clock, paced, log, signal: ended.signal })
  let identity: Identity | undefined
  let threads: Threads | undefined
  let socket: Socket | undefined
  /** Runs that fetch what was missed; while there is one, live messages mark nothing as read. */
  let catching = 0

  const pace = createPace(clock)
  const streams = createStreams({
    call,
    clock,
    log,
    teamId: () => identity?.teamId ?? '',
    grew: (ts) => pace.changed(ts, 'frame'),
    askedBy: (channel, threadTs) => threads?.askedBy(channel, threadTs),
  })
  const sender = createSender({
    call,
    streams,
    richBlocks: options.richBlocks,
    upload: network.upload,
    clock,
    grew: (ts) => pace.changed(ts, 'edit'),
    posted(channel, threadTs) {
      threads?.posted(channel, threadTs)
      status.posted(channel, threadTs)
    },
  })

  return {
    ...sender,
    get draftIntervalMs() {
      return pace.intervalMs()
    },
    drawsCursor: true,
    sendsAttachments: true,
    showsButtons: true,
    typing: status.typing,
    activity: status.activity,
    locate: (attachment, signal) => locateFile(attachment, { ...options, call }, signal),
    connect,
    async disconnect() {
      ended.abort()
      await socket?.stop()
    },
  }

  async function connect(signal: AbortSignal): Promise<void> {
    const me = await identify(call, signal)
    const marks = await context.marks()
    identity = me
    const joined = createThreads({
      history: (chatId, query) => context.history(chatId, query),
      places: marks.keys(),
      log: (reason) => log.debug({ reason }, 'whether the bot takes part in a thread is not known'),
    })
    threads = joined
    const view = viewOf(me, joined)
    const receiver = createReceiver({
      gateway: context,
      view,
      threads: joined,
      log,
      withEarlier: (event) => withEarlier(event, { call, view, signal: ended.signal }),
      marksHeld: () => catching > 0,
      tell,
    })
    const takeMissed = () => void fetchMissed(receiver)
    // Before the first event can come: it must not mark what lies before it as read.
    catching += 1
    try {
      if (options.transport.mode === 'http') openRoute(receiver, options.transport.signingSecret)
      else await openFirstSocket(receiver, takeMissed, signal)
    } finally {
      catching -= 1
    }
    ended.signal.throwIfAborted()
    context.received()
    log.info({ workspace: me.teamName, mode: options.transport.mode }, 'signed in to Slack')
    takeMissed()
  }

  function openRoute(receiver: Receiver, signingSecret: string): void {
    const { account, received: alive, health } = context
    context.route(createHttpEvents({ account, signingSecret, receiver, clock, log, health, alive, ephemeral }))
  }

  async function openFirstSocket(receiver: Receiver, regained: () => void, signal: AbortSignal): Promise<void> {
    const events = { alive: () => context.received(), envelope: (envelope: Envelope) => take(envelope, receiver) }
    const health: PlatformContext['health'] = (state, reason) => context.health(state, reason)
    const refused = (error: string) => context.refused(`app_token: ${error}`)
    socket = createSocket({ open: network.openSocket, events, health, refused, regained, pause, clock, log })
    if (ended.signal.aborted) await socket.stop()
    try {
      await socket.connect(signal)
    } catch (error) {
      throw error instanceof SocketFailure ? connectError(error.failure, 'app_token') : error
    }
  }

  /** Never rejects. */
  async function take(envelope: Envelope, receiver: Receiver): Promise<void> {
    const { body, retries } = envelope
    if (retries > 0) log.info({ retry: retries }, 'Slack delivers an event again')
    const { acknowledge, reply } = await receiver.receive(body)
    if (!acknowledge) return
    try {
      await envelope.acknowledge(reply === undefined ? undefined : ephemeral(reply))
    } catch (error) {
      // The socket has gone meanwhile: the event comes again, and its key is known.
      log.debug({ error: messageOf(error) }, 'an event could not be acknowledged')
    }
  }

  /** What was written while nobody listened. Never rejects. */
  async function fetchMissed(receiver: Receiver): Promise<void> {
    const { signal } = ended
    catching += 1
    while (!signal.aborted) {
      try {
        const { takeStored } = receiver
        await catchUp({ call, marks: () => context.marks(), take: takeStored, clock, pause, log, signal })
        break
      } catch (error) {
        if (signal.aborted) break
        log.warn({ error }, `what was written meanwhile could not be stored, trying again: ${messageOf(error)}`)
        await pause(retryHistoryMs, signal)
      }
    }
    catching -= 1
  }

  function viewOf(me: Identity, joined: Threads): View {
    return {
      platform: context.platform,
      account: context.account,
      identity: me,
      rules: options.rules,
      isCommand: (name) => context.commands().some((command) => command.name === name),
      participates: joined.participates,
      nameOf: names.of,
      now: clock,
    }
  }

  /** Only this person sees it. Never rejects. */
  async function tell(source: SessionSource, text: string): Promise<void> {
    const { chatId: channel, threadId, userId } = source
    if (userId === undefined) return
    const thread = threadId === undefined ? {} : { thread_ts: threadId }
    try {
      await context.paced(targetOf(source), ended.signal, async (signal) => {
        const args = { channel, user: userId, text: renderLine(text), ...thread }
        const answer = await call('chat.postEphemeral', args, signal)
        if (!answer.ok) log.debug({ error: answer.failure.error }, 'a person could not be told something')
        return answer.ok ? { success: true } : { success: false, ...answer.failure }
      })
    } catch (error) {
      log.debug({ error: messageOf(error) }, 'a person could not be told something')
    }
  }
}

function ephemeral(text: string): { readonly response_type: 'ephemeral'; readonly text: string } {
  return { response_type: 'ephemeral', text: renderLine(text) }
}
