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
import { type CompletionOptions, createCompletions } from './completions.ts'
import { ApiError, errorResponse, toApiError } from './errors.ts'
import { modelEntry, modelList } from './format-response.ts'
import { createPendingRequests } from './pending-requests.ts'

export default definePlatform({ createAdapter: (context) => createApiServer(context) })

const defaultOptions: CompletionOptions = { maxConcurrent: 64, keepAliveMs: 15_000 }

export function createApiServer(context: PlatformContext, options: Partial<CompletionOptions> = {}): PlatformAdapter {
  const waiting = createPendingRequests()
  const completions = createCompletions(context, waiting, { ...defaultOptions, ...options })
  const created = Math.floor(context.clock() / 1000)
  const model = () => context.info().model || context.info().provider

  const show = (messageId: string, { kind, turnId, replyTo, text, interim }: OutboundMessage): SendResult => {
    if (kind === 'draft') waiting.publishText(turnId, replyTo, text)
    if (interim === true) waiting.publishInterimText(turnId, replyTo, text)
    // The client receives the reply with the result of the turn. Without a client it stays in the session.
    return { success: true, messageId }
  }

  return {
    limits: { maxChars: 50_000_000, unit: 'utf16' },
    draftIntervalMs: 30,
    idempotentSends: true,
    drawsCursor: true,
    appendsDrafts: true,

    async connect() {
      completions.open()
      context.route({
        method: 'POST',
        path: '/v1/chat/completions',
        access: 'token',
        handle: (request) => withErrorResponse(() => completions.handle(request)),
      })
      context.route({
        method: 'GET',
        path: '/v1/models',
        access: 'token',
        handle: () => Response.json(modelList(model(), created)),
      })
      context.route({
        method: 'GET',
        path: '/v1/models/*',
        access: 'token',
        handle: (request) => withErrorResponse(async () => Response.json(findModel(request, model(), created))),
      })
    },

    async disconnect() {
      completions.close()
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
      }
    },
  }
}

/** Converts errors that the client can act on. The server logs the others. */
async function withErrorResponse(handle: () => Promise<Response>): Promise<Response> {
  try {
    return await handle()
  } catch (error) {
    const known = toApiError(error)
    if (known === null) throw error
    return errorResponse(known)
  }
}

function findModel(request: Request, model: string, created: number): unknown {
  const { pathname } = new URL(request.url)
  const asked = pathname.slice('/v1/models/'.length)
  if (asked === model || asked === encodeURIComponent(model)) return modelEntry(model, created)
  throw new ApiError(404, `The model '${asked}' does not exist; this gateway uses '${model}'.`, {
    param: 'model',
    code: 'model_not_found',
  })
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
