/**
 * The connection to one MCP server: started with the first request, stopped when it is not used, and started again after a
 * failure, with growing pauses.
 */
import {
  Client,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { Logger } from '../../lib/log.ts'
import { backoffMs, linkAbortSignal, raceAbort, sleep, withTimeout } from '../../lib/timers.ts'
import type { AskUser } from '../tools/clarify.ts'
import { checkTools, type ServerCatalogue } from './catalogue.ts'
import type { McpServerConfig } from './config.ts'
import type { AnswerElicitation } from './elicitation.ts'
import { createErrorLines, type ErrorLines } from './error-lines.ts'
import { McpServerError } from './mcp-server-error.ts'
import type { AnswerSampling } from './sampling.ts'
import { toCallFailure, toStartFailure } from './sdk-errors.ts'
import type { ServerTransport } from './transport.ts'

export interface ConnectionDeps {
  readonly name: string
  readonly settings: McpServerConfig
  readonly version: string
  /** The transport to the server. Rejects when it cannot be made. */
  open(onErrorLine: (line: string) => void): Promise<ServerTransport>
  /** Answers requests of the server for a text of a model; absent where it may not ask. */
  readonly answerSampling?: AnswerSampling | undefined
  /** The server has listed what it offers: at each start, and when it says that it has changed. */
  onCatalogue(catalogue: ServerCatalogue): void
  /** ms */
  readonly clock: () => number
  readonly random: () => number
  readonly log: Logger
}

export interface ServerRequest {
  readonly method: 'tools/call' | 'resources/list' | 'resources/read' | 'prompts/list' | 'prompts/get'
  readonly params: Readonly<Record<string, unknown>>
}

export interface ServerConnection {
  /**
   * Starts the server if it does not run. `askUser` asks the person of the call what the server wants to know. Rejects with
   * `McpServerError`, or with the reason of the signal.
   */
  request(request: ServerRequest, signal: AbortSignal, askUser?: AskUser): Promise<unknown>
  /** Starts the server if it does not run, and returns what it offers. Rejects as `request`. */
  catalogue(signal: AbortSignal): Promise<ServerCatalogue>
  /** Why the last start failed; '' after a start that did not. */
  problem(): string
  isRunning(): boolean
  /** Ends the server. The next request rejects. */
  close(): Promise<void>
}

interface Session {
  readonly client: Client
  readonly transport: ServerTransport
  readonly startedAt: number
  readonly errorLines: ErrorLines
  catalogue: ServerCatalogue
}

const minBackoffMs = 1_000
const maxBackoffMs = 300_000
/** A server that ends sooner counts as one that failed to start. */
const stableMs = 60_000
/** Timeouts in a row after which the server is started again. */
const maxTimeouts = 3
/** Between two readings of a list that changes all the time. */
const minRefreshMs = 1_000
const maxPages = 64
/** Many more than the answers and notifications of a server that works. */
const maxMessages = 5_000
const floodWindowMs = 10_000

const anyResult = z.looseObject({})

export function createServerConnection(deps: ConnectionDeps): ServerConnection {
  const { name, settings, clock, log } = deps
  let session: Session | undefined
  let starting: Promise<Session> | undefined
  let failures = 0
  let retryAt = 0
  let problem = ''
  let active = 0
  let timeouts = 0
  const calls = new Set<RunningCall>()
  const answerElicitation = createElicitation(name, calls, log)
  /** Aborts with the failure of everyone who waits for the start. */
  const closing = new AbortController()
  let idleTimer: NodeJS.Timeout | undefined

  const failed = (reason: string) => {
    failures += 1
    problem = reason
    // At least half of it, so that a server that dies at once is not started in a loop.
    const pause = minBackoffMs + backoffMs(failures, minBackoffMs, maxBackoffMs, () => 0.5 + deps.random() / 2)
    retryAt = clock() + (failures === 1 ? 0 : pause)
    log.warn({ event: 'mcp.failed', server: name, reason, failures }, 'an MCP server cannot be used')
  }

  const ended = (which: Session) => {
    if (session !== which) return
    session = undefined
    clearTimeout(idleTimer)
    if (clock() - which.startedAt < stableMs)
      failed(`The MCP server ${name} ended by itself.${which.errorLines.summary()}`)
    else log.warn({ event: 'mcp.ended', server: name }, 'an MCP server ended by itself')
  }

  const start = async (): Promise<Session> => {
    const wait = retryAt - clock()
    if (wait > 0)
      throw new McpServerError('unreachable', `${problem} It is tried again in ${Math.ceil(wait / 1_000)} seconds.`)
    try {
      const started = await startSession(deps, answerElicitation, closing.signal)
      started.client.onclose = () => ended(started)
      session = started
      problem = ''
      timeouts = 0
      log.info({ event: 'mcp.started', server: name, tools: started.catalogue.tools.length }, 'an MCP server runs')
      deps.onCatalogue(started.catalogue)
      followChanges(deps, started, () => session === started)
      return started
    } catch (error) {
      const failure = toStartFailure(name, error)
      // The server has not failed: no one waited for it any more.
      if (!closing.signal.aborted) failed(failure.message)
      throw failure
    }
  }

  const stopSession = async (reason: string): Promise<void> => {
    const stopped = session
    session = undefined
    clearTimeout(idleTimer)
    if (stopped === undefined) return
    log.info({ event: 'mcp.stopped', server: name, reason }, 'an MCP server was stopped')
    await closeSession(stopped)
  }

  const running = async (signal: AbortSignal): Promise<Session> => {
    if (closing.signal.aborted)
      throw new McpServerError('unreachable', `The MCP server ${name} is not configured any more.`)
    const { max_lifetime_seconds: lifetime } = settings
    if (session !== undefined && lifetime > 0 && active <= 1 && clock() - session.startedAt > lifetime * 1_000)
      await stopSession('max_lifetime_seconds')
    if (session !== undefined) return session
    starting ??= start().finally(() => {
      starting = undefined
    })
    return await raceAbort(starting, signal)
  }

  const whileActive = async <T>(work: () => Promise<T>): Promise<T> => {
    active += 1
    clearTimeout(idleTimer)
    try {
      return await work()
    } finally {
      active -= 1
      const { idle_timeout_seconds: idle } = settings
      clearTimeout(idleTimer)
      if (active === 0 && idle > 0) {
        idleTimer = setTimeout(() => void stopSession('idle'), Math.min(idle * 1_000, 2 ** 31 - 1))
        idleTimer.unref()
      }
    }
  }

  const send = async ({ client }: Session, request: ServerRequest, signal: AbortSignal, askUser?: AskUser) => {
    const call = startCall(settings.timeout, signal, askUser)
    calls.add(call)
    try {
      const params = { ...request.params }
      const result = await client.request({ method: request.method, params }, anyResult, {
        signal: call.signal,
        timeout: maxTimerMs,
      })
      timeouts = 0
      failures = 0
      return result
    } catch (error) {
      signal.throwIfAborted()
      throw call.signal.aborted ? call.signal.reason : error
    } finally {
      calls.delete(call)
      call.end()
    }
  }

  return {
    request: (request, signal, askUser) =>
      whileActive(async () => {
        let current = await running(signal)
        try {
          try {
            return await send(current, request, signal, askUser)
          } catch (error) {
            // The server has forgotten the session, as after its restart, so it has done nothing.
            if (!(error instanceof SdkHttpError) || error.status !== 404) throw error
            if (session === current) await stopSession('its session is over')
            current = await running(signal)
            return await send(current, request, signal, askUser)
          }
        } catch (error) {
          signal.throwIfAborted()
          const failure = toCallFailure(name, error, settings.timeout)
          timeouts = failure.code === 'timeout' ? timeouts + 1 : 0
          if (timeouts >= maxTimeouts && session === current) await stopSession('it does not answer')
          throw failure
        }
      }),
    catalogue: (signal) => whileActive(async () => (await running(signal)).catalogue),
    problem: () => problem,
    isRunning: () => session !== undefined,
    async close() {
      closing.abort(new McpServerError('unreachable', `The MCP server ${name} was stopped.`))
      await starting?.catch(() => undefined)
      await stopSession('closed')
    },
  }
}

/** A request that waits for its answer, within `timeout` seconds without the time in which a person is asked. */
interface RunningCall {
  readonly signal: AbortSignal
  readonly askUser: AskUser | undefined
  end(): void
}

/** The longest time of a timer. */
const maxTimerMs = 2 ** 31 - 1

function startCall(timeout: number, signal: AbortSignal, askUser: AskUser | undefined): RunningCall {
  const linked = linkAbortSignal(signal)
  let timer: NodeJS.Timeout | undefined
  let isEnded = false
  const start = () => {
    if (isEnded) return
    const reason = new SdkError(SdkErrorCode.RequestTimeout, 'the request took too long')
    timer = setTimeout(() => linked.abort(reason), Math.min(timeout * 1_000, maxTimerMs))
  }
  start()
  return {
    signal: linked.signal,
    askUser:
      askUser &&
      (async (question, questionSignal) => {
        clearTimeout(timer)
        try {
          return await askUser(question, AbortSignal.any([questionSignal, linked.signal]))
        } finally {
          start()
        }
      }),
    end() {
      isEnded = true
      clearTimeout(timer)
      linked.release()
    },
  }
}

/** A server does not say to which of its calls a question belongs. */
function createElicitation(server: string, calls: ReadonlySet<RunningCall>, log: Logger): AnswerElicitation {
  return async (params, signal) => {
    const { answerElicitation } = await import('./elicitation.ts')
    const [call, ...others] = calls
    const askUser = others.length === 0 ? call?.askUser : undefined
    return await answerElicitation(server, askUser, log, params, signal)
  }
}

/**
 * Rejects when the server has not started and listed its tools in time, and as soon as `closing` aborts. Before it rejects, it
 * ends what it has started.
 */
async function startSession(
  deps: ConnectionDeps,
  answerElicitation: AnswerElicitation,
  closing: AbortSignal,
): Promise<Session> {
  const { name, settings, version, answerSampling, clock, log } = deps
  const errorLines = createErrorLines(name, log)
  const client = new Client(
    { name: 'hermes-gateway', version },
    {
      capabilities: {
        ...(answerSampling === undefined ? {} : { sampling: {} }),
        ...(settings.elicitation.enabled ? { elicitation: { form: {} } } : {}),
      },
    },
  )
  if (answerSampling !== undefined)
    client.setRequestHandler('sampling/createMessage', ({ params }, { mcpReq }) =>
      answerSampling(params, mcpReq.signal),
    )
  if (settings.elicitation.enabled)
    client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) => answerElicitation(params, mcpReq.signal))
  client.onerror = (error) =>
    log.debug({ event: 'mcp.error', server: name, err: error }, 'an MCP server reported an error')
  const time = settings.connect_timeout * 1_000
  const ending = linkAbortSignal(closing)
  const { signal } = ending
  const late = setTimeout(
    () => ending.abort(new Error(`it did not start within ${settings.connect_timeout} seconds`)),
    time,
  )
  let transport: ServerTransport | undefined
  try {
    transport = await openTransport(deps.open(errorLines.add), signal)
    await raceAbort(client.connect(transport, { timeout: time }), signal)
    limitMessages(transport, () => void client.close())
    const catalogue = await raceAbort(readCatalogue(client, signal), signal)
    return { client, transport, startedAt: clock(), errorLines, catalogue }
  } catch (error) {
    await client.close().catch(() => undefined)
    await transport?.close().catch(() => undefined)
    throw toStartFailure(name, error, { sandbox: transport?.sandbox, said: errorLines.summary() })
  } finally {
    clearTimeout(late)
    ending.release()
  }
}

/** A transport that comes after the signal is closed. */
async function openTransport(opening: Promise<ServerTransport>, signal: AbortSignal): Promise<ServerTransport> {
  try {
    return await raceAbort(opening, signal)
  } catch (error) {
    if (signal.aborted)
      void opening.then(
        (transport) => transport.close(),
        () => undefined,
      )
    throw error
  }
}

/** Ends the connection when the server sends messages without end. */
function limitMessages(transport: ServerTransport, end: () => void): void {
  const receive = transport.onmessage
  let windowStart = 0
  let count = 0
  transport.onmessage = (message, extra) => {
    const now = performance.now()
    if (now - windowStart > floodWindowMs) [windowStart, count] = [now, 0]
    count += 1
    if (count <= maxMessages) return receive?.(message, extra)
    if (count > maxMessages + 1) return
    transport.onerror?.(
      new Error(`the server sent more than ${maxMessages} messages in ${floodWindowMs / 1_000} seconds`),
    )
    end()
  }
}

/** Rejects with an error of the SDK, or the reason of the signal. */
async function readCatalogue(client: Client, signal: AbortSignal): Promise<ServerCatalogue> {
  const capabilities = client.getServerCapabilities() ?? {}
  const listed = capabilities.tools === undefined ? [] : await listTools(client, signal)
  return {
    ...checkTools(listed),
    resources: capabilities.resources !== undefined,
    prompts: capabilities.prompts !== undefined,
  }
}

const toolPage = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() })

/** Returns the tools as the server sends them: one invalid tool must not hide the others. */
async function listTools(client: Client, signal: AbortSignal): Promise<readonly unknown[]> {
  const tools: unknown[] = []
  const cursors = new Set<string>()
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor }
    const { tools: more, nextCursor } = await client.request({ method: 'tools/list', params }, toolPage, { signal })
    tools.push(...more)
    if (nextCursor === undefined || nextCursor === null || cursors.has(nextCursor)) break
    cursors.add(nextCursor)
    cursor = nextCursor
  }
  return tools
}

/** Reads the list again when the server says that it has changed: once for all changes in a second. */
function followChanges(
  { name, settings, onCatalogue, log }: ConnectionDeps,
  session: Session,
  isCurrent: () => boolean,
) {
  let isScheduled = false
  session.client.setNotificationHandler('notifications/tools/list_changed', async () => {
    if (isScheduled) return
    isScheduled = true
    await sleep(minRefreshMs)
    isScheduled = false
    if (!isCurrent()) return
    try {
      session.catalogue = await readCatalogue(session.client, AbortSignal.timeout(settings.connect_timeout * 1_000))
      log.info(
        { event: 'mcp.tools_changed', server: name, tools: session.catalogue.tools.length },
        'an MCP server has other tools',
      )
      onCatalogue(session.catalogue)
    } catch (error) {
      log.warn(
        { event: 'mcp.list_failed', server: name, err: error },
        'the tools of an MCP server could not be read again',
      )
    }
  })
}

const endSessionMs = 1_000

async function closeSession({ client, transport }: Session): Promise<void> {
  client.onclose = () => undefined
  if (transport instanceof StreamableHTTPClientTransport)
    await withTimeout(
      transport.terminateSession().catch(() => undefined),
      endSessionMs,
    )
  await client.close().catch(() => undefined)
  await transport.close().catch(() => undefined)
}
