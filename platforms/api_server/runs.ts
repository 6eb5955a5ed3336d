/**
 * `/v1/runs` (contract `hermes.md` §5): work that no connection waits for. A run is a stored message; it survives a crash of the
 * gateway, and its state and events can be read at any time. Loaded with the first run.
 */
import type { PlatformContext, TurnResult } from '#sdk'
import { ApiError } from './errors.ts'
import { type Exchange, findExchange, openExchange } from './exchanges.ts'
import { responseUsage, statusOf } from './format-exchange.ts'
import { parseExchangeRequest } from './parse-response-request.ts'
import { acceptExchange } from './responses.ts'
import { listRun, listRuns, unlistRun } from './run-list.ts'
import { createRunLog, type RunLog } from './run-log.ts'
import {
  type AskingRun,
  answerApproval,
  answerClarify,
  createQuestionEvents,
  type QuestionEvents,
  waitingState,
} from './run-questions.ts'
import type { ApiServer, Runs } from './server.ts'
import { createTextDelta, type TextDelta } from './text-delta.ts'
import { sessionHeaders, streamHeaders, tooManyRequests } from './turn-requests.ts'

/** A run that has events. */
interface KnownRun {
  readonly log: RunLog
  readonly questions: QuestionEvents
}

interface TrackedRun extends KnownRun {
  /** Waits for the end of the run, in the background. */
  follow(run: AcceptedRun): void
  /** For a run that was not accepted. */
  discard(): void
}

type AcceptedRun = Exchange & { readonly seq: number }

/** How long the events of a run that has ended can be read one by one. */
const keepEventsMs = 5 * 60_000

export function createRuns(server: ApiServer): Runs {
  const { context, waiting, turns, closed } = server
  const { keepAliveMs, maxRuns } = server.options
  const known = new Map<string, KnownRun>()
  let starting = 0
  let active = 0

  async function follow(run: AcceptedRun, log: RunLog, release: () => void): Promise<void> {
    try {
      const result = await context.turns.waitForResult(run.seq, closed)
      log.append(endOf(result))
    } catch (error) {
      if (!closed.aborted)
        context.log.error(
          { event: 'api_server.run_lost', seq: run.seq, err: error },
          'result of a run could not be read',
        )
    }
    release()
    log.end()
    active--
    setTimeout(() => known.delete(run.id), keepEventsMs).unref()
  }

  /** Collects the events of a run that has not ended. */
  function track({ chatId, key, id }: Pick<Exchange, 'chatId' | 'key' | 'id'>, hasMissed: boolean): TrackedRun {
    const log = createRunLog({ clock: context.clock, hasMissed })
    let accepted: AskingRun | undefined
    const questions = createQuestionEvents(context, () => accepted, log.append)
    let delta: TextDelta = createTextDelta()
    const append = (text: string) => {
      if (text !== '') log.appendText(text)
    }
    known.set(id, { log, questions })
    const release = waiting.add({
      chatId,
      messageId: key,
      isLive: true,
      onText: (text) => append(delta.next(text)),
      onInterimText(text) {
        append(delta.finish(text))
        delta = createTextDelta()
        log.append({ event: 'message.interim', text })
      },
      onToolProgress({ tool, label, toolCallId, status }) {
        const event = status === 'running' ? 'tool.started' : 'tool.completed'
        log.append({ event, tool, tool_call_id: toolCallId, preview: label, error: status === 'failed' })
      },
      onQuestions: () => void questions.check(),
    })
    active++
    return {
      log,
      questions,
      follow(run) {
        accepted = run
        void questions.check()
        void follow(run, log, release)
      },
      discard() {
        release()
        known.delete(id)
        log.end()
        active--
      },
    }
  }

  async function find(id: string): Promise<{ readonly run: AcceptedRun; readonly result: TurnResult | undefined }> {
    const run = await findExchange(context, 'run', id)
    const result = run === undefined ? null : await context.turns.findResult(run.seq)
    if (run !== undefined && result !== null) return { run, result }
    throw new ApiError(404, `Run with id '${id.slice(0, 100)}' not found.`, { param: 'run_id', code: 'run_not_found' })
  }

  function eventsOf(run: AcceptedRun, result: TurnResult | undefined, after: string | null): Response {
    let log = known.get(run.id)?.log
    if (log === undefined && result === undefined) {
      // It runs since before the start of the gateway.
      const tracked = track(run, true)
      tracked.follow(run)
      log = tracked.log
    }
    log ??= endedLog(result, context.clock)
    const body = log.read({ after, runId: run.id, keepAliveMs })
    // Without this status a client that connects again whenever a stream ends would do so for ever.
    return body === undefined ? new Response(null, { status: 204 }) : new Response(body, { headers: streamHeaders })
  }

  /** Null when the gateway has its message no longer. */
  async function describe(run: AcceptedRun): Promise<object | null> {
    const result = await context.turns.findResult(run.seq)
    return result === null ? null : await runObject(context, run, result)
  }

  return {
    async create(request) {
      const asked = parseExchangeRequest('run', await request.bytes(), request.headers)
      turns.admit()
      if (active + starting >= maxRuns) throw tooManyRequests(maxRuns, 'concurrent runs')
      starting++
      try {
        const files = await turns.storeFiles(asked, request.signal)
        const { exchange, message } = await openExchange(context, 'run', { ...asked, store: true }, files)
        const headers = sessionHeaders(message.event)
        if (exchange.seq === null && !known.has(exchange.id)) {
          const tracked = track(exchange, false)
          try {
            await listRun(context, exchange)
            const seq = await acceptExchange(server, exchange, message)
            tracked.follow({ ...exchange, seq })
          } catch (error) {
            tracked.discard()
            await unlistRun(context, exchange)
            throw error
          }
        }
        const answer = { run_id: exchange.id, status: 'started', session_id: exchange.chatId }
        return Response.json(answer, { status: 202, headers })
      } finally {
        starting--
      }
    },
    list: async (request) => Response.json(await listRuns(context, new URL(request.url).searchParams, describe)),
    async get(request) {
      const { id, action } = partsOf(request)
      const { run, result } = await find(id)
      if (action === 'events') return eventsOf(run, result, request.headers.get('last-event-id'))
      return Response.json(await runObject(context, run, result))
    },
    async act(request) {
      const { id, action } = partsOf(request)
      const { run, result } = await find(id)
      if (action === 'approval') {
        const { log, questions } = known.get(id) ?? {}
        const events = { append: log?.append, answering: questions?.answering }
        return await answerApproval(context, run, await request.bytes(), events)
      }
      if (action === 'clarify') return await answerClarify(context, run, await request.bytes())
      if (result !== undefined) return Response.json({ run_id: id, status: runStatus(result) })
      await context.turns.stop(run.seq)
      return Response.json({ run_id: id, status: 'stopping' })
    },
  }
}

function runStatus(result: TurnResult | undefined): string {
  const status = statusOf(result)
  if (status === 'in_progress') return 'running'
  return status === 'incomplete' ? 'completed' : status
}

async function runObject(context: PlatformContext, run: AcceptedRun, result: TurnResult | undefined): Promise<object> {
  const { id, createdAt, chatId, model, metadata } = run
  const { event = 'run.started', ...end } = result === undefined ? {} : endOf(result)
  const common = { created_at: createdAt, session_id: chatId, model, metadata }
  const waits = result === undefined ? await waitingState(context, run) : {}
  return { object: 'hermes.run', run_id: id, status: runStatus(result), ...common, ...end, last_event: event, ...waits }
}

function endOf(result: TurnResult): { readonly event: string } {
  const { text, errorCode, cutOff } = result
  const usage = responseUsage(result.usage)
  switch (runStatus(result)) {
    case 'completed':
      return { event: 'run.completed', ...{ output: text, usage, incomplete_reason: cutOff ?? null } }
    case 'failed':
      return { event: 'run.failed', ...{ error: text, code: errorCode ?? 'agent/failed', usage } }
    default:
      return { event: 'run.cancelled', ...{ usage } }
  }
}

function endedLog(result: TurnResult | undefined, clock: () => number): RunLog {
  const log = createRunLog({ clock, hasMissed: true })
  if (result !== undefined) log.append(endOf(result))
  log.end()
  return log
}

function partsOf(request: Request): { readonly id: string; readonly action: string } {
  const [id = '', action = ''] = new URL(request.url).pathname.slice('/v1/runs/'.length).split('/')
  return { id, action }
}
