/**
 * The OpenAI-compatible API as a platform. A request is a message, and its chat is the session that the client names.
 */
import {
  definePlatform,
  type OutboundMessage,
  type PlatformAdapter,
  type PlatformContext,
  type SendResult,
  type TurnActivity,
} from '#sdk'
import type { serve } from './api.ts'
import { createPendingRequests } from './pending-requests.ts'
import type { ApiServer, ApiServerOptions, Runs } from './server.ts'

export default definePlatform({ createAdapter: (context) => createApiServer(context) })

const defaultOptions: ApiServerOptions = { maxConcurrent: 64, maxRuns: 10, keepAliveMs: 15_000 }

type ApiHandler = Parameters<typeof serve>[0]

/** ms */
const draftIntervalMs = 30

export function createApiServer(context: PlatformContext, given: Partial<ApiServerOptions> = {}): PlatformAdapter {
  const configured = context.options['max_concurrent_runs']
  const options = {
    ...defaultOptions,
    ...(typeof configured === 'number' ? { maxRuns: Math.max(1, configured) } : {}),
    ...given,
  }
  const waiting = createPendingRequests()
  const created = Math.floor(context.clock() / 1000)
  /** Aborts when the gateway stops. Pending requests fail; their turns continue. */
  let closing = new AbortController()
  let handler: ReturnType<typeof load> | undefined

  async function load(closed: AbortSignal) {
    const api = await import('./api.ts')
    const server = await createServer(closed)
    return (name: ApiHandler, request: Request) => api.serve(name, server, request)
  }

  async function createServer(closed: AbortSignal): Promise<ApiServer> {
    const { createTurnRequests } = await import('./turn-requests.ts')
    const turns = createTurnRequests(context, { maxConcurrent: options.maxConcurrent, closed })
    let runs: Promise<Runs> | undefined
    const shared: ApiServer = {
      ...{ context, options, created, waiting, turns, closed },
      runs() {
        runs ??= import('./runs.ts').then(({ createRuns }) => createRuns(shared))
        return runs
      },
    }
    return shared
  }

  const describe = async () => (await import('./descriptions.ts')).descriptions

  const route = (method: 'GET' | 'POST' | 'DELETE', path: string, name: ApiHandler) =>
    context.route({
      method,
      path,
      access: 'token',
      async handle(request) {
        // Node takes 30 µs to find a module that is loaded.
        handler ??= load(closing.signal)
        return await (await handler)(name, request)
      },
      describe,
    })

  const show = (messageId: string, message: OutboundMessage): SendResult => {
    const { kind, turnId, replyTo, text, interim } = message
    // Questions, and what became of them.
    if (kind === 'notice') waiting.publishQuestions(message.target.chatId)
    if (kind === 'draft') waiting.publishText(turnId, replyTo, text)
    if (interim === true) waiting.publishInterimText(turnId, replyTo, text)
    // The client receives the reply with the result of the turn. Without a client it stays in the session.
    return { success: true, messageId }
  }

  return {
    limits: { maxChars: 50_000_000, unit: 'utf16' },
    // Nothing is left of a draft that a reply would have to replace, so that it costs no transaction.
    nativeDrafts: {
      isSupported: () => true,
      intervalMs: draftIntervalMs,
      show: async (draftId, message) => show(`draft:${draftId}`, message),
    },
    draftIntervalMs,
    idempotentSends: true,
    drawsCursor: true,
    appendsDrafts: true,
    showsDrafts: ({ chatId }) => waiting.hasLive(chatId),
    // Clients of runs read the questions from their state. Their texts therefore name no commands.
    showsButtons: true,

    async connect() {
      closing = new AbortController()
      handler = undefined
      route('POST', '/v1/chat/completions', 'completions')
      route('GET', '/v1/models', 'models')
      route('GET', '/v1/models/*', 'model')
      route('POST', '/v1/responses', 'createResponse')
      route('GET', '/v1/responses/{response_id}', 'getResponse')
      route('DELETE', '/v1/responses/{response_id}', 'deleteResponse')
      route('POST', '/v1/runs', 'createRun')
      route('GET', '/v1/runs', 'listRuns')
      route('GET', '/v1/runs/{run_id}', 'getRun')
      route('GET', '/v1/runs/{run_id}/events', 'getRun')
      for (const action of ['stop', 'cancel', 'approval', 'clarify'])
        route('POST', `/v1/runs/{run_id}/${action}`, 'actOnRun')
      route('GET', '/v1/capabilities', 'capabilities')
      route('POST', '/v1/embeddings', 'embeddings')
    },

    async disconnect() {
      closing.abort()
    },

    async send(message) {
      return show(message.deliveryId, message)
    },

    async edit(messageId, message) {
      return show(messageId, message)
    },

    activity({ chatId }, activity) {
      switch (activity.kind) {
        case 'turn-started':
          waiting.turnStarted(chatId, activity.turnId)
          break
        case 'turn-ended':
          waiting.turnEnded(activity.turnId)
          break
        default:
          waiting.publishToolProgress(activity.turnId, toProgress(activity))
          if (activity.kind === 'tool-ended') waiting.publishQuestions(chatId)
      }
    },
  }
}

function toProgress(activity: Extract<TurnActivity, { kind: 'tool-started' | 'tool-ended' }>) {
  const { tool, callId: toolCallId } = activity
  if (activity.kind === 'tool-started') return { tool, toolCallId, label: activity.label, status: 'running' as const }
  return {
    tool,
    toolCallId,
    label: activity.summary,
    status: activity.ok ? ('completed' as const) : ('failed' as const),
  }
}
